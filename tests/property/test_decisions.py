"""For any cluster and Pod the decision over columns is the one made Node by Node."""

from hypothesis import given

from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.framework.evaluation import INFEASIBLE, Evaluation
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.verdict import Verdict, judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.pods import PodInterner
from tests.builders import make_cache
from tests.property.clusters import clusters, pods, settings_of_plugins
from tests.property.profiles import WEIGHTS, full_profile
from tests.reference.cluster import Cluster
from tests.reference.decision import Rejected, decide
from tests.reference.settings import Settings


def rejected_nodes(verdict: Verdict, columns: NodeColumns) -> dict[str, Rejected]:
    return {
        columns.names[row]: Rejected(
            group.status.plugin, group.status.code.text, group.status.reasons
        )
        for group in verdict.diagnosis.groups
        for row in group.rows
    }


def feasible_nodes(verdict: Verdict, columns: NodeColumns) -> dict[str, dict[str, int]]:
    return {
        columns.names[row]: {
            name: int(share[i]) // WEIGHTS.get(name, 1) for name, share in verdict.shares.items()
        }
        for i, row in enumerate(verdict.rows)
    }


@given(cluster=clusters(), pod=pods("new"), plugins=settings_of_plugins)
def test_columns_decide_as_the_reference_does(
    cluster: tuple[list[Node], list[Pod]], pod: Pod, plugins: Settings
) -> None:
    nodes, running = cluster
    interner = PodInterner()
    cache = make_cache(map(NodeInfo.from_node, nodes), map(interner.intern, running))
    columns = cache.columns
    prepared = prepare(full_profile(plugins), interner.intern(pod), cache.cluster)
    verdict = judge(prepared, columns)

    expected = decide(pod, Cluster.of(nodes, running), plugins)
    assert verdict.diagnosis.pre_filter_message == expected.pre_filter_message
    assert rejected_nodes(verdict, columns) == expected.rejected
    assert feasible_nodes(verdict, columns) == expected.feasible

    evaluation = Evaluation(prepared)
    evaluation.refresh(columns)
    if len(verdict.rows):
        shares = evaluation.shares_at(columns, verdict.rows)
        assert {name: share.tolist() for name, share in shares.items()} == {
            name: share.tolist() for name, share in verdict.shares.items()
        }
    totals = {name: int(evaluation.totals[row]) for name, row in columns.rows.items()}
    if prepared.rejection is None:
        assert {name: total for name, total in totals.items() if total != INFEASIBLE} == {
            name: sum(WEIGHTS.get(plugin, 1) * score for plugin, score in scores.items())
            for name, scores in expected.feasible.items()
        }
