"""Members are put on Nodes one after the other."""

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.effects import PatchPodCondition
from scheduler_svc.core.framework.cluster_evaluation import ClassEvaluation
from scheduler_svc.core.framework.interface import Plugin, PreFilterPlugin, PreFilterResult, State
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.queue import Place
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import GPU, make_node_info
from tests.gangs import make_group, make_member, make_members
from tests.scripted_plugins import Filtering, Reserving
from tests.unit.scheduler_svc.core.pod_groups.companies import (
    near_small,
    over_zones_whatever_the_affinity,
)
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    TWO_CPUS,
    Stage,
    messages,
    points,
)


def test_members_that_only_fit_when_packed() -> None:
    """Of 5, 5, 4, 3, 3 on two Nodes of 10 a 3 finds no Node where they are spread."""
    nodes = [make_node_info(name, offers={GPU: 10}) for name in ("n1", "n2")]
    stage = Stage(nodes=nodes, groups=[make_group(min_count=5)])
    for number, size in enumerate((5, 5, 4, 3, 3)):
        stage.add(make_member(f"m{number}", requests={GPU: size}))
    stage.run()
    assert len(stage.bound) == 5


def test_company_of_other_members_may_come_later_in_the_order() -> None:
    """The large member wants a small one near it: it is tried again after the small one."""
    nodes = [make_node_info(name, labels={"host": name}) for name in ("n1", "n2")]
    stage = Stage(nodes=nodes, groups=[make_group(min_count=2)])
    stage.add(make_member("large", requests={"cpu": "3"}, near=near_small()))
    stage.add(make_member("small", requests={"cpu": "1"}, labels={"size": "small"}))
    stage.run()
    assert len(set(stage.bound.values())) == 1
    assert len(stage.bound) == 2


def test_members_that_are_to_be_spread_over_what_others_reach() -> None:
    """Of two that only a may have the second has to wait until b has the first of the others."""
    nodes = [make_node_info(zone, cpu=8, labels={"zone": zone}) for zone in ("a", "b")]
    spread = PodTopologySpread()
    plugins = {at: [*points()[at], spread] for at in ("preFilter", "filter")}
    stage = Stage(nodes, [make_group(min_count=4)], plugins=points(**plugins))
    for number, (zone, cpu) in enumerate((("a", "2"), ("a", "2"), ("b", "1"), ("b", "1"))):
        stage.add(
            make_member(
                f"m{number}",
                requests={"cpu": cpu},
                labels={"app": "web"},
                selector={"zone": zone},
                spread=[over_zones_whatever_the_affinity()],
            )
        )
    stage.run()
    assert stage.bound == {"m0": "a", "m1": "a", "m2": "b", "m3": "b"}


class Failing(PreFilterPlugin):
    """Cannot say anything."""

    name = "Failing"

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Fail."""
        return PreFilterResult(Status(Code.ERROR, ("broken",)))


class FailingAtNodes(Filtering):
    """Fails when Nodes are looked at."""

    name = "FailingAtNodes"

    def failure(self, state: State) -> Status | None:
        """Say so."""
        return Status(Code.ERROR, ("broken",))


@pytest.mark.parametrize("plugin", [Failing(), FailingAtNodes()])
def test_an_error_fails_the_whole_group(plugin: Plugin) -> None:
    point = "preFilter" if isinstance(plugin, Failing) else "filter"
    given = [*points()[point], plugin]
    stage = Stage(groups=[make_group(min_count=2)], plugins=points(**{point: given}))
    members = make_members(2)
    stage.add(*members)
    effects = stage.run()
    assert {e.reason for e in effects if isinstance(e, PatchPodCondition)} == {"SchedulerError"}
    [text] = set(messages(effects).values())
    assert text.startswith("pod group gang: needs 2, 0 fit: 2 without a node: ")
    assert text.endswith("broken")
    places = {stage.scheduler.queue.place_of(member.uid) for member in members}
    assert places == {Place.BACKOFF}


def test_a_member_that_fails_is_left_out_if_enough_are_left() -> None:
    stage = Stage(
        groups=[make_group(min_count=1)], plugins=points(reserve=[RefusingOne(Code.ERROR)])
    )
    stage.add(*make_members(2))
    texts = messages(stage.run())
    assert stage.bound == {"gang-0": "n1"}
    assert texts == {"gang-1": 'running Reserve plugin "RefusingOne": not this one'}


def test_a_member_that_is_refused_its_node_stands_in_the_way() -> None:
    stage = Stage(
        groups=[make_group(min_count=2)], plugins=points(reserve=[RefusingOne(Code.UNSCHEDULABLE)])
    )
    stage.add(*make_members(2))
    texts = messages(stage.run())
    assert stage.bound == {}
    assert texts["gang-0"] == (
        "pod group gang: needs 2, 1 fit: 1 without a node: not this one; "
        "0/1 nodes are available: 1 not this one."
    )
    assert len(stage.scheduler.cache) == 0


class RefusingOne(Reserving):
    """Refuses the second member."""

    name = "RefusingOne"

    def __init__(self, code: Code) -> None:
        super().__init__([])
        self._code = code

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Refuse it."""
        super().reserve(pod, node_name, cluster)
        return Status(self._code, ("not this one",)) if pod.name == "gang-1" else SUCCESS


def test_each_choice_is_witnessed() -> None:
    seen: list[str] = []

    def witness(pod: PodInfo, evaluation: ClassEvaluation, columns: NodeColumns, row: int) -> None:
        seen.append(f"{pod.name} on {columns.names[row]} of {int(evaluation.totals[row])}")

    stage = Stage(groups=[make_group(min_count=2)], witness=witness)
    stage.add(*make_members(2, requests=TWO_CPUS))
    stage.run()
    assert [line.split(" of ")[0] for line in seen] == ["gang-0 on n1", "gang-1 on n1"]


def test_of_two_ways_in_vain_the_closer_one_is_told() -> None:
    nodes = [make_node_info(name, offers={GPU: 10}) for name in ("n1", "n2")]
    stage = Stage(nodes=nodes, groups=[make_group(min_count=3)])
    for number, size in enumerate((9, 8, 7)):
        stage.add(make_member(f"m{number}", requests={GPU: size}))
    text = messages(stage.run())["m0"]
    assert text.startswith(f"pod group gang: needs 3, 2 fit: 1 lacks {GPU}; ")
