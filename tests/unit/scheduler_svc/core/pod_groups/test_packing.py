"""All members in one domain."""

import msgspec
import pytest

from scheduler_svc.core.effects import EvictPods
from scheduler_svc.core.events import NodeDeleted, NodeUpserted
from tests.builders import make_node_info, make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.unit.scheduler_svc.core.pod_groups.stages import (
    FOUR_CPUS,
    TWO_CPUS,
    Stage,
    confirm_all,
    messages,
    on,
)


def staged(mode: str = "", min_count: int = 2, sizes: tuple[int, ...] = (1, 2)) -> Stage:
    nodes = [
        make_node_info(f"{zone}{number}", labels={"zone": zone})
        for zone, size in zip("ab", sizes, strict=True)
        for number in range(size)
    ]
    group = make_group(min_count=min_count, pack_by="zone", pack_mode=mode)
    return Stage(nodes=nodes, groups=[group])


def zones(stage: Stage) -> set[str]:
    return {node[0] for node in stage.bound.values()}


def test_the_domain_in_which_the_whole_group_fits() -> None:
    stage = staged()
    stage.add(*make_members(2, requests=FOUR_CPUS))
    stage.run()
    assert zones(stage) == {"b"}


def test_the_one_with_the_least_to_spare() -> None:
    stage = staged()
    stage.add(*make_members(2, requests=TWO_CPUS))
    stage.run()
    assert zones(stage) == {"a"}


def test_no_domain_has_the_room() -> None:
    stage = staged(min_count=3)
    stage.add(*make_members(3, requests=FOUR_CPUS))
    texts = messages(stage.run())
    assert stage.bound == {}
    assert texts["gang-0"].startswith("pod group gang: needs 3, 2 fit: 1 lacks cpu (in one zone); ")
    stage.tell(NodeUpserted(make_node_info("b3", labels={"zone": "b"})))
    stage.wait(2)
    stage.run()
    assert zones(stage) == {"b"}


def test_a_node_that_joins_a_domain_calls_the_group() -> None:
    stage = Stage(nodes=["n1"], groups=[make_group(pack_by="zone")])
    stage.add(*make_members(2))
    assert "no Node has the label zone" in messages(stage.run())["gang-0"]
    stage.wait(5)
    stage.tell(NodeUpserted(make_node_info("n1", labels={"zone": "a"})))
    stage.run()
    assert len(stage.bound) == 2


@pytest.mark.parametrize("loss", ["Node", "member", "member, gracefully"])
def test_whoever_is_bound_to_no_domain_any_more_may_go_to_another(loss: str) -> None:
    stage = staged(min_count=1, sizes=(1, 1))
    first, second = make_members(2, requests=FOUR_CPUS)
    stage.add(first)
    stage.run()
    confirm_all(stage, [first])
    stage.add(second)
    stage.run()
    stage.wait(5)
    stage.run()
    assert list(stage.bound) == ["gang-0"]
    there, elsewhere = (stage.bound["gang-0"], "b0" if stage.bound["gang-0"] == "a0" else "a0")
    if loss == "Node":
        stage.tell(NodeDeleted(there))
    else:
        # What it had is not room for the other.
        stage.tell(NodeUpserted(make_node_info(there, cpu=1, labels={"zone": there[0]})))
        stage.run()
        if loss == "member, gracefully":
            stage.add(msgspec.structs.replace(on(first, there), is_terminating=True))
        else:
            stage.delete(first)
    stage.run()
    assert stage.bound["gang-1"] == elsewhere


def test_preferred_packing_gives_way() -> None:
    stage = staged("Preferred", min_count=3)
    stage.add(*make_members(3, requests=FOUR_CPUS))
    stage.run()
    assert zones(stage) == {"a", "b"}


def test_who_is_left_over_goes_elsewhere_where_packing_is_preferred() -> None:
    stage = staged("Preferred", min_count=2, sizes=(1, 2))
    stage.add(*make_members(3, requests=FOUR_CPUS))
    stage.run()
    assert sorted(stage.bound.values()) == ["a0", "b0", "b1"]


def test_a_node_that_joins_the_domain_calls_who_is_left_over() -> None:
    stage = staged(min_count=2, sizes=(1, 2))
    stage.add(*make_members(3, requests=FOUR_CPUS))
    stage.run()
    stage.wait(5)
    assert sorted(stage.bound.values()) == ["b0", "b1"]
    stage.tell(NodeUpserted(make_node_info("a0", labels={"zone": "b"})))
    stage.run()
    assert sorted(stage.bound.values()) == ["a0", "b0", "b1"]


def test_later_members_join_the_others() -> None:
    stage = staged(min_count=1, sizes=(2, 2))
    [first] = make_members(1, requests={"cpu": "1"})
    stage.add(first)
    stage.run()
    [confirmed] = confirm_all(stage, [first])
    stage.add(make_member("later", requests={"cpu": "1"}))
    stage.run()
    assert stage.bound["later"][0] == confirmed.node_name[0]


def test_nodes_without_the_label_are_no_domain() -> None:
    group = make_group(min_count=1, pack_by="rack")
    stage = Stage(nodes=["n1"], groups=[group])
    stage.add(*make_members(1))
    texts = messages(stage.run())
    assert texts["gang-0"] == "pod group gang: needs 1, 0 fit: no Node has the label rack"
    stage.tell(NodeUpserted(make_node_info("n1", labels={"rack": "1"})))
    stage.wait(2)
    stage.run()
    assert stage.bound == {"gang-0": "n1"}


def test_evictions_stay_in_the_domain_though_others_would_do_less_harm() -> None:
    stage = staged(min_count=2, sizes=(2, 1))
    low = [make_pod_info(f"low{n}", node=n, requests=FOUR_CPUS, priority=1) for n in ("a0", "a1")]
    stage.add(*low, make_pod_info("lowest", node="b0", requests=FOUR_CPUS))
    stage.add(*make_members(2, requests=FOUR_CPUS, priority=10))
    evictions = [e for e in stage.run() if isinstance(e, EvictPods)]
    assert sorted(v.pod.name for e in evictions for v in e.victims) == ["lowa0", "lowa1"]


def test_evictions_stay_in_the_domain() -> None:
    stage = staged(min_count=2, sizes=(2, 1))
    stage.add(*(make_pod_info(f"low{n}", node=n, requests=FOUR_CPUS) for n in ("a0", "a1")))
    stage.add(*make_members(2, requests=FOUR_CPUS, priority=10))
    evictions = [e for e in stage.run() if isinstance(e, EvictPods)]
    assert sorted(v.pod.name for e in evictions for v in e.victims) == ["lowa0", "lowa1"]
