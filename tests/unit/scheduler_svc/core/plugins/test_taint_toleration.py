"""TaintToleration: taints that keep away, and taints that make a Node worse."""

import pytest

from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Taint, Toleration
from scheduler_svc.core.plugins.taint_toleration import TaintToleration
from tests.builders import make_columns, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    NODE_TAINT,
    POD_TOLERATION,
    UNRESOLVABLE,
    filtered,
    is_queued,
    passing,
    registered,
    scored,
)

PLAIN = make_node_info("plain")
NO_SCHEDULE = make_node_info("no-schedule", taints=[Taint("team", "NoSchedule", "x")])
NO_EXECUTE = make_node_info("no-execute", taints=[Taint("old", "NoExecute")])
PREFER = make_node_info("prefer", taints=[Taint("slow", "PreferNoSchedule")])
NODES = [PLAIN, NO_SCHEDULE, NO_EXECUTE, PREFER]
NO = (UNRESOLVABLE, ["node(s) had untolerated taint(s)"])


def avoided(name: str, count: int) -> NodeInfo:
    """Build a Node with as many PreferNoSchedule taints."""
    taints = [Taint(f"slow-{i}", "PreferNoSchedule") for i in range(count)]
    return make_node_info(name, taints=[*taints, Taint("team", "NoSchedule", "x")])


def test_untolerated_taints_keep_away() -> None:
    assert filtered(TaintToleration(), make_pod_info(), NODES) == {
        "plain": None,
        "no-schedule": NO,
        "no-execute": NO,
        "prefer": None,
    }


@pytest.mark.parametrize(
    ("toleration", "names"),
    [
        (Toleration("team", "Equal", "x"), {"no-schedule"}),
        (Toleration("team", "Equal", "y"), set()),
        (Toleration("team", "Exists", effect="NoExecute"), set()),
        (Toleration("", "Exists", effect="NoExecute"), {"no-execute"}),
        (Toleration("", "Exists"), {"no-schedule", "no-execute"}),
    ],
)
def test_tolerated_taints_do_not(toleration: Toleration, names: set[str]) -> None:
    pod = make_pod_info(tolerations=[toleration])
    assert passing(TaintToleration(), pod, NODES) == {"plain", "prefer"} | names


def test_one_untolerated_taint_is_enough() -> None:
    node = make_node_info("n", taints=[Taint("a", "NoSchedule"), Taint("b", "NoSchedule")])
    pod = make_pod_info(tolerations=[Toleration("a", "Exists")])
    assert filtered(TaintToleration(), pod, [node]) == {"n": NO}


def test_fewer_taints_to_avoid_are_better() -> None:
    nodes = [avoided("none", 0), avoided("one", 1), avoided("three", 3)]
    pod = make_pod_info(tolerations=[Toleration("team", "Exists")])
    assert scored(TaintToleration(), pod, nodes) == {"none": 100, "one": 67, "three": 0}


def test_nodes_alike_have_all_points() -> None:
    pod = make_pod_info(tolerations=[Toleration("team", "Exists")])
    assert scored(TaintToleration(), pod, [PLAIN, avoided("none", 0)]) == {
        "plain": 100,
        "none": 100,
    }
    assert scored(TaintToleration(), pod, [avoided("two", 2)]) == {"two": 0}


@pytest.mark.parametrize(
    ("effect", "score"), [("PreferNoSchedule", 100), ("", 100), ("NoSchedule", 0), ("NoExecute", 0)]
)
def test_only_tolerations_of_the_effect_count_in_scores(effect: str, score: int) -> None:
    toleration = Toleration("slow", "Exists", effect=effect)
    scores = scored(TaintToleration(), make_pod_info(tolerations=[toleration]), [PLAIN, PREFER])
    assert scores == {"plain": 100, "prefer": score}


def test_many_different_sets_of_taints() -> None:
    nodes = [
        make_node_info(f"n{i}", taints=[Taint(str(i), "NoSchedule" if i % 2 else "NoExecute")])
        for i in range(50)
    ]
    pod = make_pod_info(tolerations=[Toleration("7", "Exists"), Toleration("8", "Exists")])
    assert passing(TaintToleration(), pod, [*nodes, PLAIN, PREFER]) == {
        "plain",
        "prefer",
        "n7",
        "n8",
    }
    assert scored(TaintToleration(), pod, [*nodes, PLAIN, PREFER]) == {
        "plain": 100,
        "prefer": 0,
        "n7": 100,
        "n8": 100,
    }


def test_a_view_that_has_none_of_many_sets() -> None:
    nodes = [make_node_info(f"n{i}", taints=[Taint(str(i), "NoSchedule")]) for i in range(50)]
    view = NodeView(make_columns([PLAIN, *nodes]), slice(0, 1))
    mask = TaintToleration().filter((), view)
    assert mask is None or mask.tolist() == [True]


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, PLAIN, True),
        (None, NO_SCHEDULE, False),
        (NO_SCHEDULE, PLAIN, True),
        (NO_SCHEDULE, PREFER, True),
        (NO_SCHEDULE, NO_EXECUTE, False),
        (PLAIN, PREFER, False),
    ],
)
def test_a_node_that_becomes_tolerable(old: NodeInfo | None, new: NodeInfo, queued: bool) -> None:
    event = NODE_ADD if old is None else NODE_TAINT
    assert is_queued(TaintToleration(), event, make_pod_info(), old, new) is queued


def test_own_tolerations_that_change() -> None:
    plugin, pod = TaintToleration(), make_pod_info("a")
    newer = make_pod_info("a", tolerations=[Toleration("team", "Exists")])
    assert is_queued(plugin, POD_TOLERATION, pod, pod, newer)
    assert not is_queued(plugin, POD_TOLERATION, pod, pod, make_pod_info("another"))


def test_events() -> None:
    assert registered(TaintToleration()) == {"Node add", "Node taint", "Pod toleration"}
