"""NodeResourcesBalancedAllocation: 75 where the Pod changes nothing, more where it evens out."""

import pytest

from scheduler_svc.core.framework.resource_scoring import ResourceWeights
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from tests.builders import GPU, Amounts, PodFields, make_node_info, make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import scored

CPU_AND_MEMORY = (("cpu", 1), ("memory", 1))


def score(
    requests: Amounts,
    node: NodeInfo,
    *,
    taken: Amounts | None = None,
    resources: ResourceWeights = CPU_AND_MEMORY,
) -> int | None:
    plugin = NodeResourcesBalancedAllocation(resources)
    pods = [make_pod_info("taken", node="n", requests=taken)] if taken else []
    scores = scored(plugin, make_pod_info(requests=requests), [node], pods)
    return None if scores is None else scores["n"]


NODE = make_node_info("n", cpu=10, memory=1000)


@pytest.mark.parametrize(
    ("requests", "taken", "expected"),
    [
        pytest.param({"cpu": 1, "memory": 100}, None, 75, id="even before and after"),
        pytest.param(
            # Fractions 0.5 and 0: deviation 0.25, balance 75 after 100. 50 + (50 - 25) / 2
            {"cpu": 5},
            None,
            62,
            id="less even",
        ),
        pytest.param(
            # Balance 100 after 75. 50 + (50 + 25) / 2
            {"memory": 500},
            {"cpu": 5},
            87,
            id="more even",
        ),
        pytest.param(
            # Fractions 1 and 0: deviation 0.5, balance 50 after 100. 50 + (50 - 50) / 2
            {"cpu": 10},
            None,
            50,
            id="as uneven as can be",
        ),
        pytest.param(
            # More than there is counts as all of it: 1 and 0.5 after 0.9 and 0.5, so 75 after 80.
            {"cpu": 5},
            {"cpu": 9, "memory": 500},
            72,
            id="more than there is",
        ),
    ],
)
def test_two_resources(requests: Amounts, taken: Amounts | None, expected: int) -> None:
    assert score(requests, NODE, taken=taken) == expected


GPU_NODE = make_node_info("n", cpu=10, memory=1000, offers={GPU: 4, "ephemeral-storage": 100})
FOUR = (("cpu", 1), ("memory", 1), (GPU, 1), ("ephemeral-storage", 1))


@pytest.mark.parametrize(
    ("requests", "resources", "expected"),
    [
        pytest.param(
            # 0.5, 0 and 0: the deviation is the square root of 1/18 = 0.2357, the balance 76.
            {"cpu": 5},
            (("cpu", 1), ("memory", 1), ("ephemeral-storage", 1)),
            50 + (50 + 76 - 100) // 2,
            id="three resources",
        ),
        pytest.param(
            # 0.5, 0, 0.5 and 0: the deviation is 0.25.
            {"cpu": 5, GPU: 2},
            FOUR,
            50 + (50 + 75 - 100) // 2,
            id="four resources",
        ),
        pytest.param(
            # 1, 0, 1 and 0: the deviation is 0.5.
            {"cpu": 10, GPU: 4},
            FOUR,
            50 + (50 + 50 - 100) // 2,
            id="as uneven as can be",
        ),
        pytest.param({"cpu": 5}, (("cpu", 1),), 75, id="one resource cannot be uneven"),
        pytest.param(
            {"cpu": 5},
            (("cpu", 1), (GPU, 1)),
            75,
            id="a scalar resource that is not requested does not count",
        ),
        pytest.param(
            {"cpu": 5, GPU: 0},
            (("cpu", 1), (GPU, 1)),
            75,
            id="nor one that is requested with 0",
        ),
        pytest.param(
            {"cpu": 5}, (("cpu", 1), ("ephemeral-storage", 1)), 62, id="ephemeral storage does"
        ),
    ],
)
def test_other_resources(requests: Amounts, resources: ResourceWeights, expected: int) -> None:
    assert score(requests, GPU_NODE, resources=resources) == expected


def test_resources_that_a_node_does_not_offer_do_not_count() -> None:
    nodes = [
        make_node_info("both", cpu=10, memory=1000),
        make_node_info("cpu", cpu=10, memory=0),
        make_node_info("memory", cpu=0, memory=1000),
        make_node_info("none", cpu=0, memory=0),
    ]
    plugin, pod = NodeResourcesBalancedAllocation(), make_pod_info(requests={"cpu": 5})
    assert scored(plugin, pod, nodes) == {"both": 62, "cpu": 75, "memory": 75, "none": 75}


def test_nodes_that_offer_different_resources_of_many() -> None:
    nodes = [
        make_node_info("three", cpu=10, memory=1000, offers={"ephemeral-storage": 100}),
        make_node_info("two", cpu=10, memory=1000),
        make_node_info("one", cpu=10, memory=0),
    ]
    resources = (("cpu", 1), ("memory", 1), ("ephemeral-storage", 1))
    plugin, pod = NodeResourcesBalancedAllocation(resources), make_pod_info(requests={"cpu": 5})
    # As worked out above: balances of 76, 75 and 100.
    assert scored(plugin, pod, nodes) == {"three": 63, "two": 62, "one": 75}


@pytest.mark.parametrize(
    ("fields", "resources"),
    [
        ({}, CPU_AND_MEMORY),
        ({"requests": {"cpu": 0, "ephemeral-storage": 1, GPU: 1}}, CPU_AND_MEMORY),
        ({"requests": {"cpu": 1}}, ((GPU, 1),)),
    ],
)
def test_a_pod_that_requests_none_of_them_is_skipped(
    fields: PodFields, resources: ResourceWeights
) -> None:
    plugin = NodeResourcesBalancedAllocation(resources)
    assert scored(plugin, make_pod_info(**fields), [GPU_NODE]) is None


def test_pod_level_requests_count() -> None:
    pod = make_pod_info(requests={"cpu": 1}, pod_requests={"cpu": 5})
    assert scored(NodeResourcesBalancedAllocation(), pod, [NODE]) == {"n": 62}


def test_what_other_pods_do_not_request_does_not_count() -> None:
    other = make_pod_info("other", node="n")
    pod = make_pod_info(requests={"cpu": 5})
    assert scored(NodeResourcesBalancedAllocation(), pod, [NODE], [other]) == {"n": 62}


def test_a_node_that_is_far_over_its_allocatable() -> None:
    over = [
        make_pod_info(f"over-{i}", node="n", requests={"memory": "8Ei", "cpu": "9E"})
        for i in range(3)
    ]
    pod = make_pod_info(requests={"cpu": 5, "memory": "8Ei"})
    assert scored(NodeResourcesBalancedAllocation(), pod, [NODE], over) == {"n": 75}


@pytest.mark.parametrize("factor", [1, 2**40])
def test_amounts_that_no_float_holds_a_hundredfold_of(factor: int) -> None:
    node = make_node_info("n", cpu=10, memory=1000 * factor)
    taken = {"cpu": 5}
    assert score({"memory": 500 * factor}, node, taken=taken) == 87
