"""What a Pod's constraints come down to."""

import msgspec
import pytest

from scheduler_svc.core.affinity_objects import (
    LabelRequirement,
    LabelSelector,
    TopologySpreadConstraint,
)
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.label_selectors import EVERYTHING, Selector
from scheduler_svc.core.objects import ObjectMeta
from scheduler_svc.core.plugins.pod_topology_spread import rules
from scheduler_svc.core.plugins.pod_topology_spread.rules import (
    HOSTNAME,
    SYSTEM_CONSTRAINTS,
    ZONE,
    RulesOfPods,
    SpreadConstraint,
    SpreadRules,
)
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.workload_objects import LabelsSpec, Service
from tests.builders import make_pod_info
from tests.unit.scheduler_svc.core.plugins.pod_topology_spread.spreading import (
    IS_WEB,
    WEB,
    hard,
    soft,
)

SELECTS_WEB = Selector((LabelRequirement("app", "In", ("web",)),))


def rules_of(pod: PodInfo, *defaults: TopologySpreadConstraint) -> SpreadRules | None:
    selectors = Cluster().default_selectors
    return RulesOfPods(defaults, is_system_defaulted=False).of(pod, selectors)


def served(selector: dict[str, str]) -> Cluster:
    cluster = Cluster()
    service = Service(ObjectMeta(name="s", namespace="default"), LabelsSpec(selector))
    cluster.objects[ObjectKind.SERVICE].upsert(service)
    return cluster


def test_constraints_are_told_apart_by_what_is_done_when_they_cannot_be_met() -> None:
    pod = make_pod_info(labels=WEB, spread=[soft(HOSTNAME, 2), hard(ZONE), soft(ZONE, 3)])
    found = rules_of(pod)
    assert found is not None
    assert found.hard == (SpreadConstraint(1, ZONE, SELECTS_WEB),)
    assert found.soft == (
        SpreadConstraint(2, HOSTNAME, SELECTS_WEB),
        SpreadConstraint(3, ZONE, SELECTS_WEB),
    )
    assert (found.namespace, found.matches_itself, found.needs_all_keys) == (
        "default",
        (True,),
        True,
    )


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (hard(), SpreadConstraint(1, ZONE, SELECTS_WEB, 1, True, False)),
        (
            hard(min_domains=3, affinity="Ignore", taints="Honor"),
            SpreadConstraint(1, ZONE, SELECTS_WEB, 3, False, True),
        ),
        (
            hard(affinity="Honor", taints="Ignore"),
            SpreadConstraint(1, ZONE, SELECTS_WEB, 1, True, False),
        ),
        (hard(selector=None), SpreadConstraint(1, ZONE, None)),
        (hard(selector=LabelSelector()), SpreadConstraint(1, ZONE, EVERYTHING)),
    ],
)
def test_what_is_not_said_has_a_default(
    constraint: TopologySpreadConstraint, expected: SpreadConstraint
) -> None:
    found = rules_of(make_pod_info(spread=[constraint]))
    assert found is not None
    assert found.hard == (expected,)


@pytest.mark.parametrize(
    ("selector", "keys", "expected"),
    [
        (IS_WEB, ("rev",), {"app": "web", "rev": "1"}),
        (IS_WEB, ("rev", "absent"), {"app": "web", "rev": "1"}),
        (IS_WEB, ("absent",), {"app": "web"}),
        (LabelSelector(), ("rev",), {"rev": "1"}),
        (None, ("rev",), None),
    ],
)
def test_labels_of_the_pod_itself_are_demanded_of_the_others(
    selector: LabelSelector | None, keys: tuple[str, ...], expected: dict[str, str] | None
) -> None:
    pod = make_pod_info(
        labels={"app": "db", "rev": "1"}, spread=[hard(selector=selector, label_keys=keys)]
    )
    found = rules_of(pod)
    assert found is not None
    demanded = None
    if expected is not None:
        pairs = sorted(expected.items())
        demanded = Selector(tuple(LabelRequirement(k, "In", (v,)) for k, v in pairs))
    assert found.hard[0].selector == demanded


@pytest.mark.parametrize(
    ("selector", "labels", "matches", "counts"),
    [
        (IS_WEB, WEB, True, True),
        (IS_WEB, {"app": "db"}, False, False),
        (LabelSelector(), WEB, True, False),
        (None, WEB, False, False),
    ],
)
def test_what_a_constraint_matches_and_counts(
    selector: LabelSelector | None, labels: dict[str, str], matches: bool, counts: bool
) -> None:
    pod = make_pod_info(labels=labels, spread=[hard(selector=selector)])
    found = rules_of(pod)
    assert found is not None
    constraint = found.hard[0]
    assert found.matches_itself == (matches,)
    assert constraint.counts(pod) is counts
    query = constraint.query("default")
    assert query.matches("default", labels, is_terminating=False) is counts
    assert not query.matches("default", labels, is_terminating=True)
    assert not query.matches("elsewhere", labels, is_terminating=False)
    terminating = make_pod_info(labels=labels, is_terminating=True)
    assert not constraint.counts(terminating)


def test_pods_alike_in_what_matters_share_their_rules() -> None:
    found = RulesOfPods((), is_system_defaulted=False)
    of, selectors = found.of, Cluster().default_selectors
    spread = [hard(label_keys=("rev",))]
    one = of(make_pod_info("a", labels={**WEB, "rev": "1", "index": "0"}, spread=spread), selectors)
    assert one is not None
    two = of(make_pod_info("b", labels={**WEB, "rev": "1", "index": "1"}, spread=spread), selectors)
    assert two is one
    for other in (
        make_pod_info(labels={**WEB, "rev": "2"}, spread=spread),
        make_pod_info(labels={"app": "db", "rev": "1"}, spread=spread),
        make_pod_info(labels={**WEB, "rev": "1"}, spread=spread, namespace="elsewhere"),
        make_pod_info(labels={**WEB, "rev": "1"}, spread=[hard(max_skew=2, label_keys=("rev",))]),
    ):
        different = of(other, selectors)
        assert different is not None
        assert different is not one
        assert different.hard_part != one.hard_part


def test_defaults_are_for_pods_without_constraints_that_something_selects() -> None:
    found = RulesOfPods(SYSTEM_CONSTRAINTS, is_system_defaulted=True)
    cluster, web = served({"app": "web"}), make_pod_info(labels=WEB)
    assert found.of(make_pod_info(labels={"app": "db"}), cluster.default_selectors) is None
    defaulted = found.of(web, cluster.default_selectors)
    assert defaulted is not None
    assert (defaulted.hard, defaulted.needs_all_keys) == ((), False)
    assert defaulted.soft == (
        SpreadConstraint(3, HOSTNAME, SELECTS_WEB),
        SpreadConstraint(5, ZONE, SELECTS_WEB),
    )
    assert found.of(web, cluster.default_selectors) is defaulted
    own = found.of(make_pod_info(labels=WEB, spread=[hard()]), cluster.default_selectors)
    assert own is not None
    assert (own.soft, own.needs_all_keys) == ((), True)


def test_defaults_of_the_profile_may_be_hard_or_none() -> None:
    cluster, web = served({"app": "web"}), make_pod_info(labels=WEB)
    listed = RulesOfPods((hard(max_skew=2, selector=None),), is_system_defaulted=False)
    assert listed.has_hard_defaults
    defaulted = listed.of(web, cluster.default_selectors)
    assert defaulted is not None
    assert defaulted.hard == (SpreadConstraint(2, ZONE, SELECTS_WEB),)
    assert (defaulted.matches_itself, defaulted.needs_all_keys) == ((True,), True)
    empty = RulesOfPods((), is_system_defaulted=False)
    assert not empty.has_hard_defaults
    assert empty.of(web, cluster.default_selectors) is None


def test_defaults_follow_what_selects_the_pod() -> None:
    found = RulesOfPods(SYSTEM_CONSTRAINTS, is_system_defaulted=True)
    cluster, web = served({"app": "web"}), make_pod_info(labels={**WEB, "tier": "front"})
    first = found.of(web, cluster.default_selectors)
    service = Service(ObjectMeta(name="s", namespace="default"), LabelsSpec({"tier": "front"}))
    cluster.objects[ObjectKind.SERVICE].upsert(service)
    second = found.of(web, cluster.default_selectors)
    assert first is not None
    assert second is not None
    assert first.soft[0].selector == SELECTS_WEB
    assert second.soft[0].selector == Selector((LabelRequirement("tier", "In", ("front",)),))


def test_rules_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_MAX_KNOWN", 2)
    found, selectors = RulesOfPods((), is_system_defaulted=False), Cluster().default_selectors
    pod = make_pod_info(labels=WEB, spread=[hard()])
    first = found.of(pod, selectors)
    for number in range(3):
        found.of(make_pod_info(labels={"app": str(number)}, spread=[hard()]), selectors)
    again = found.of(pod, selectors)
    assert first is not None
    assert again is not None
    assert again is not first
    assert msgspec.structs.astuple(again) == msgspec.structs.astuple(first)
