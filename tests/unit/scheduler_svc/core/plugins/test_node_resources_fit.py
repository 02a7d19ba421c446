"""NodeResourcesFit: room for the Pod, and how much is left."""

import pytest

from scheduler_svc.core.framework.resource_scoring import MostAllocated
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code
from tests.builders import GPU, Amounts, make_cluster, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    NODE_ADD,
    NODE_ALLOCATABLE,
    POD_DELETE,
    POD_SCALE_DOWN,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    filtered,
    is_queued,
    passing,
    registered,
    scored,
)

DISK = "vendor.example.com/disk"
NODE = make_node_info(
    "n", cpu=4, memory=1000, pods=2, offers={"ephemeral-storage": 100, GPU: 2, "hugepages-2Mi": 8}
)
TAKEN = make_pod_info(
    "taken",
    node="n",
    requests={"cpu": 3, "memory": 600, "ephemeral-storage": 50, GPU: 1, "hugepages-2Mi": 8},
)


def verdict(requests: Amounts, *others: PodInfo) -> tuple[Code, list[str]] | None:
    pods = [TAKEN, *others]
    return filtered(NodeResourcesFit(), make_pod_info(requests=requests), [NODE], pods)["n"]


@pytest.mark.parametrize(
    ("requests", "code", "reasons"),
    [
        pytest.param({"cpu": "1001m"}, UNSCHEDULABLE, ["Insufficient cpu"], id="cpu"),
        pytest.param({"memory": 401}, UNSCHEDULABLE, ["Insufficient memory"], id="memory"),
        pytest.param(
            {"ephemeral-storage": 51},
            UNSCHEDULABLE,
            ["Insufficient ephemeral-storage"],
            id="ephemeral storage",
        ),
        pytest.param({GPU: 2}, UNSCHEDULABLE, [f"Insufficient {GPU}"], id="extended resource"),
        pytest.param(
            {"hugepages-2Mi": 1}, UNSCHEDULABLE, ["Insufficient hugepages-2Mi"], id="huge pages"
        ),
        pytest.param(
            {"cpu": 2, "memory": 500, GPU: 2},
            UNSCHEDULABLE,
            ["Insufficient cpu", "Insufficient memory", f"Insufficient {GPU}"],
            id="all that is short is named",
        ),
        pytest.param({"cpu": 5}, UNRESOLVABLE, ["Insufficient cpu"], id="more than there is"),
        pytest.param(
            {"cpu": 2, GPU: 3},
            UNRESOLVABLE,
            ["Insufficient cpu", f"Insufficient {GPU}"],
            id="one of them more than there is",
        ),
        pytest.param({DISK: 1}, UNRESOLVABLE, [f"Insufficient {DISK}"], id="not offered"),
    ],
)
def test_what_does_not_fit(requests: Amounts, code: Code, reasons: list[str]) -> None:
    assert verdict(requests) == (code, reasons)


@pytest.mark.parametrize(
    "requests",
    [
        {},
        {"cpu": 1, "memory": 400, "ephemeral-storage": 50, GPU: 1},
        {"cpu": 0, "hugepages-2Mi": 0, DISK: 0},
        {"storage": "1Ti", "requests.example.com/gpu": 9},
    ],
)
def test_what_fits(requests: Amounts) -> None:
    assert verdict(requests) is None


def test_the_number_of_pods_is_limited() -> None:
    other = make_pod_info("other", node="n")
    assert verdict({}, other) == (UNSCHEDULABLE, ["Too many pods"])
    assert verdict({"cpu": 2}, other) == (UNSCHEDULABLE, ["Too many pods", "Insufficient cpu"])
    assert verdict({"cpu": 5}, other) == (UNRESOLVABLE, ["Too many pods", "Insufficient cpu"])


def test_no_pods_allowed_is_no_reason_never_to_fit() -> None:
    node = make_node_info("n", pods=0)
    assert filtered(NodeResourcesFit(), make_pod_info(), [node]) == {
        "n": (UNSCHEDULABLE, ["Too many pods"])
    }


def test_a_node_over_its_allocatable_takes_pods_that_request_nothing_of_it() -> None:
    over = make_pod_info("over", node="n", requests={"cpu": 9})
    node = make_node_info("n", cpu=1)
    assert passing(NodeResourcesFit(), make_pod_info(requests={"memory": 1}), [node], [over]) == {
        "n"
    }
    assert (
        passing(NodeResourcesFit(), make_pod_info(requests={"cpu": "1m"}), [node], [over]) == set()
    )


def test_each_node_has_its_own_reasons() -> None:
    nodes = [make_node_info("a", cpu=1), make_node_info("b", memory=1), make_node_info("c", cpu=9)]
    pod = make_pod_info(requests={"cpu": 5, "memory": 10})
    assert filtered(NodeResourcesFit(), pod, nodes) == {
        "a": (UNRESOLVABLE, ["Insufficient cpu"]),
        "b": (UNRESOLVABLE, ["Insufficient cpu", "Insufficient memory"]),
        "c": None,
    }


def test_ignored_resources() -> None:
    pod = make_pod_info(requests={GPU: 9, DISK: 9, "hugepages-2Mi": 1})
    everything = NodeResourcesFit()
    assert filtered(everything, pod, [NODE]) == {
        "n": (UNRESOLVABLE, [f"Insufficient {GPU}", f"Insufficient {DISK}"])
    }
    by_name = NodeResourcesFit(ignored_resources=frozenset({GPU, "hugepages-2Mi"}))
    assert filtered(by_name, pod, [NODE], [TAKEN]) == {
        # Only extended resources may be ignored.
        "n": (UNRESOLVABLE, ["Insufficient hugepages-2Mi", f"Insufficient {DISK}"])
    }
    by_group = NodeResourcesFit(
        ignored_resource_groups=frozenset({"vendor.example.com", "example"})
    )
    assert filtered(by_group, pod, [NODE]) == {"n": (UNRESOLVABLE, [f"Insufficient {GPU}"])}


def test_pod_level_requests_count_in_filter_and_not_in_score() -> None:
    pod = make_pod_info(requests={"cpu": 1, "memory": 0}, pod_requests={"cpu": 3, "memory": 0})
    nodes = [make_node_info("small", cpu=2), make_node_info("large", cpu=4, memory=100)]
    assert passing(NodeResourcesFit(), pod, nodes) == {"large"}
    # CPU: 3 of 4 would be left. Memory: all of it.
    assert scored(NodeResourcesFit(), pod, nodes) == {"large": (75 + 100) // 2}


def test_the_default_strategy_prefers_what_is_less_allocated() -> None:
    nodes = [make_node_info("empty", cpu=4, memory=1000), NODE]
    pod = make_pod_info(requests={"cpu": 1, "memory": 100})
    assert scored(NodeResourcesFit(), pod, nodes, [TAKEN]) == {
        "empty": (75 + 90) // 2,
        "n": (0 + 30) // 2,
    }
    most = NodeResourcesFit(MostAllocated((("cpu", 1),)))
    assert scored(most, pod, nodes, [TAKEN]) == {"empty": 25, "n": 100}


def test_pods_that_request_nothing_count_a_little_in_scores() -> None:
    node = make_node_info("n", cpu=1, memory="2000Mi")
    other = make_pod_info("other", node="n")
    # Two Pods with 100m and 200 MiB each.
    assert scored(NodeResourcesFit(), make_pod_info(), [node], [other]) == {"n": (80 + 80) // 2}


@pytest.mark.parametrize(
    ("gone", "queued"),
    [
        (make_pod_info("g", node="n"), True),
        (make_pod_info("g", nominated="n"), True),
        (make_pod_info("g"), False),
    ],
)
def test_a_pod_that_gave_up_its_room(gone: PodInfo, queued: bool) -> None:
    pod = make_pod_info(requests={"cpu": 1})
    assert is_queued(NodeResourcesFit(), POD_DELETE, pod, gone, None) is queued


@pytest.mark.parametrize(
    ("node", "queued"),
    [
        pytest.param(make_node_info("n", cpu=2), True, id="may ever fit"),
        pytest.param(make_node_info("n", cpu=1), False, id="too small when it is empty"),
        pytest.param(make_node_info("n", pods=0), False, id="takes no Pods"),
        pytest.param(make_node_info("another", cpu=1), True, id="a Node that nobody knows"),
    ],
)
def test_room_on_a_node_that_could_never_do(node: NodeInfo, queued: bool) -> None:
    """Deliberately closer than upstream, which calls the Pod whatever Node has room now."""
    plugin, pod = NodeResourcesFit(), make_pod_info(requests={"cpu": 2})
    plugin.attach(make_cluster([node]))
    assert is_queued(plugin, POD_DELETE, pod, placed({"cpu": 1}), None) is queued
    shrunk = placed({"cpu": 2}), placed({"cpu": 1})
    assert is_queued(plugin, POD_SCALE_DOWN, pod, *shrunk) is queued


def placed(requests: Amounts, node: str = "n") -> PodInfo:
    return make_pod_info("other", node=node, requests=requests)


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        pytest.param(placed({"cpu": 2}), placed({"cpu": 1}), True, id="less of what is wanted"),
        pytest.param(placed({"cpu": 2}), placed({}), True, id="none of what is wanted"),
        pytest.param(placed({GPU: 2}), placed({GPU: 1}), True, id="less of a wanted scalar"),
        pytest.param(placed({"memory": 2}), placed({"memory": 1}), False, id="less of another"),
        pytest.param(placed({"cpu": 1}), placed({"cpu": 2}), False, id="more"),
        pytest.param(
            placed({"cpu": 2}, node=""), placed({"cpu": 1}, node=""), False, id="on no Node"
        ),
    ],
)
def test_a_pod_that_takes_less(old: PodInfo, new: PodInfo, queued: bool) -> None:
    pod = make_pod_info(requests={"cpu": 1, GPU: 1})
    assert is_queued(NodeResourcesFit(), POD_SCALE_DOWN, pod, old, new) is queued


def test_a_pod_that_wants_less_itself() -> None:
    former, newer = make_pod_info(requests={"cpu": 9}), make_pod_info(requests={"cpu": 1})
    assert is_queued(NodeResourcesFit(), POD_SCALE_DOWN, former, former, newer)


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        pytest.param(None, make_node_info(cpu=2), True, id="new and large enough"),
        pytest.param(None, make_node_info(cpu=1), False, id="new and too small"),
        pytest.param(None, make_node_info(cpu=2, pods=0), False, id="new and takes no Pods"),
        pytest.param(make_node_info(cpu=1), make_node_info(cpu=2), True, id="more CPU"),
        pytest.param(
            make_node_info(cpu=2), make_node_info(cpu=2, memory="9Gi"), False, id="more of another"
        ),
        pytest.param(
            make_node_info(cpu=2, pods=1), make_node_info(cpu=2, pods=2), True, id="more Pods"
        ),
        pytest.param(make_node_info(cpu=3), make_node_info(cpu=2), False, id="less"),
        pytest.param(make_node_info(cpu="1"), make_node_info(cpu="1500m"), False, id="not enough"),
    ],
)
def test_a_node_with_more_room(old: NodeInfo | None, new: NodeInfo, queued: bool) -> None:
    event = NODE_ADD if old is None else NODE_ALLOCATABLE
    pod = make_pod_info(requests={"cpu": 2})
    assert is_queued(NodeResourcesFit(), event, pod, old, new) is queued


def test_a_node_that_begins_to_offer_a_resource() -> None:
    pod = make_pod_info(requests={GPU: 1})
    old, new = make_node_info(), make_node_info(offers={GPU: 1})
    assert is_queued(NodeResourcesFit(), NODE_ALLOCATABLE, pod, old, new)
    assert not is_queued(NodeResourcesFit(), NODE_ALLOCATABLE, pod, new, new)


def test_events() -> None:
    assert registered(NodeResourcesFit()) == {
        "Pod delete",
        "Pod scale-down",
        "Node add",
        "Node allocatable",
    }


@pytest.mark.parametrize("factor", [1, 2**40])
@pytest.mark.parametrize("requested", [0, 1, 399, 400, 401, 1000, 2000])
def test_amounts_that_no_float_holds_are_compared_exactly(factor: int, requested: int) -> None:
    node = make_node_info("n", cpu=4, memory=1000 * factor)
    taken = make_pod_info("taken", node="n", requests={"memory": 600 * factor})
    pod = make_pod_info(requests={"cpu": 0, "memory": requested * factor})
    fits = passing(NodeResourcesFit(), pod, [node], [taken]) == {"n"}
    assert fits is (requested <= 400)
    if fits:
        # CPU is free, of memory what is left; taken and pod count 100m where nothing is said.
        expected = (97 + (400 - requested) // 10) // 2
        assert scored(NodeResourcesFit(), pod, [node], [taken]) == {"n": expected}
