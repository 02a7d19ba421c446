"""The strategies of NodeResourcesFit, with figures worked out by hand."""

import numpy as np
import pytest

from scheduler_svc.core.columns import (
    CPU_ROW,
    EPHEMERAL_STORAGE_ROW,
    MEMORY_ROW,
    SCORED_CPU,
    SCORED_MEMORY,
    UNKNOWN_ROW,
    NodeView,
)
from scheduler_svc.core.framework.resource_scoring import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
    ResourceWeights,
    ScoredResources,
    ScoringStrategy,
    ShapePoint,
    broken_line,
    selection,
)
from tests.builders import GPU, Amounts, make_columns, make_node_info, make_pod_info

# The Node of the tables: half of the CPU and a quarter of the memory are taken.
NODE = make_node_info("n", cpu=10, memory=1000, offers={GPU: 4})
TAKEN = make_pod_info("taken", node="n", requests={"cpu": 5, "memory": 250, GPU: 1})

BIN_PACKING = [ShapePoint(0, 0), ShapePoint(100, 10)]
SPREADING = [ShapePoint(0, 10), ShapePoint(100, 0)]


def score(strategy: ScoringStrategy, requests: Amounts) -> int:
    columns = make_columns([NODE], [TAKEN])
    pod = make_pod_info(requests=requests)
    state = ScoredResources.of(strategy.weights, pod.requests, columns, with_defaults=True)
    scores = strategy.score(state, NodeView(columns, slice(0, 1)))
    assert scores.dtype == np.int64
    return int(scores[0])


@pytest.mark.parametrize(
    ("requests", "weights", "least", "most"),
    [
        pytest.param(
            # CPU: 6 of 10. Memory: 350 of 1000.
            {"cpu": 1, "memory": 100},
            (("cpu", 1), ("memory", 1)),
            (40 + 65) // 2,
            (60 + 35) // 2,
            id="even weights",
        ),
        pytest.param(
            {"cpu": 1, "memory": 100},
            (("cpu", 3), ("memory", 1)),
            (3 * 40 + 65) // 4,
            (3 * 60 + 35) // 4,
            id="uneven weights",
        ),
        pytest.param(
            {"cpu": 6, "memory": 100},
            (("cpu", 1), ("memory", 1)),
            (0 + 65) // 2,
            (100 + 35) // 2,
            id="more than there is",
        ),
        pytest.param(
            # CPU: 5 of 10 with the default of 100m: 5100 of 10000.
            {"memory": 0},
            (("cpu", 1),),
            49,
            51,
            id="a default for what is not requested",
        ),
        pytest.param(
            # 3 of 4 devices.
            {"cpu": 1, GPU: 2},
            (("cpu", 1), (GPU, 5)),
            (40 + 5 * 25) // 6,
            (60 + 5 * 75) // 6,
            id="a scalar resource",
        ),
        pytest.param(
            {"cpu": 1},
            (("cpu", 1), (GPU, 5)),
            40,
            60,
            id="a scalar resource that is not requested does not count",
        ),
        pytest.param(
            {"cpu": 1, "ephemeral-storage": 10, "hugepages-2Mi": 10},
            (("cpu", 1), ("ephemeral-storage", 7), ("hugepages-2Mi", 9)),
            40,
            60,
            id="resources that the Node does not offer do not count",
        ),
        pytest.param(
            {"cpu": 1},
            (("cpu", 1), ("pods", 9)),
            40,
            60,
            id="the number of Pods does not count",
        ),
        pytest.param({"cpu": 1}, ((GPU, 5),), 0, 0, id="no resource is left to count"),
    ],
)
def test_least_and_most_allocated(
    requests: Amounts, weights: ResourceWeights, least: int, most: int
) -> None:
    assert score(LeastAllocated(weights), requests) == least
    assert score(MostAllocated(weights), requests) == most


@pytest.mark.parametrize(
    ("requests", "weights", "packing", "spreading"),
    [
        pytest.param(
            # CPU: 60 percent. Memory: 35 percent. (60 + 35) / 2 = 47.5; (40 + 65) / 2 = 52.5
            {"cpu": 1, "memory": 100},
            (("cpu", 1), ("memory", 1)),
            48,
            53,
            id="half is rounded up",
        ),
        pytest.param(
            # (60 + 2 * 35) / 3 = 43.33; (40 + 2 * 65) / 3 = 56.67
            {"cpu": 1, "memory": 100},
            (("cpu", 1), ("memory", 2)),
            43,
            57,
            id="to the nearest",
        ),
        pytest.param(
            # More than there is counts as 100 percent. A resource that scores 0 has no weight.
            {"cpu": 90, "memory": 100},
            (("cpu", 1), ("memory", 1)),
            (100 + 35) // 2 + 1,
            65,
            id="a score of 0 does not count",
        ),
        pytest.param(
            {"cpu": 1, "ephemeral-storage": 10},
            (("cpu", 1), ("ephemeral-storage", 7)),
            60,
            40,
            id="not offered",
        ),
        pytest.param(
            # CPU: 99 percent. (99 + 35) / 2; (1 + 65) / 2
            {"cpu": "4900m", "memory": 100},
            (("cpu", 1), ("memory", 1)),
            67,
            33,
            id="a score of 1 does",
        ),
        pytest.param({"cpu": 90}, (("cpu", 1),), 100, 0, id="only scores of 0"),
        pytest.param({"cpu": 1}, ((GPU, 1),), 0, 0, id="no resource is left to count"),
    ],
)
def test_requested_to_capacity_ratio(
    requests: Amounts, weights: ResourceWeights, packing: int, spreading: int
) -> None:
    assert score(RequestedToCapacityRatio(BIN_PACKING, weights), requests) == packing
    assert score(RequestedToCapacityRatio(SPREADING, weights), requests) == spreading


def test_the_default_is_cpu_and_memory_alike() -> None:
    assert LeastAllocated().weights == (("cpu", 1), ("memory", 1))


def test_nodes_that_offer_everything_and_nodes_that_do_not() -> None:
    columns = make_columns(
        [make_node_info("all", cpu=10, memory=1000), make_node_info("no", cpu=0)]
    )
    pod = make_pod_info(requests={"cpu": 1, "memory": 100})
    strategy = LeastAllocated((("cpu", 1), ("memory", 3)))
    state = ScoredResources.of(strategy.weights, pod.requests, columns, with_defaults=True)
    scores = strategy.score(state, NodeView(columns, slice(0, 2)))
    # All: (90 + 3 * 90) / 4. The other has memory alone, 8 GiB of it.
    assert scores.tolist() == [90, 99]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (BIN_PACKING, {0: 0, 1: 1, 55: 55, 100: 100}),
        (SPREADING, {0: 100, 1: 99, 55: 45, 100: 0}),
        (
            # From 10 to 40 percent it rises from 30 to 50, from there on it falls to 0.
            [ShapePoint(10, 3), ShapePoint(40, 5), ShapePoint(70, 0)],
            {0: 30, 10: 30, 11: 30, 13: 32, 39: 49, 40: 50, 41: 49, 69: 2, 70: 0, 100: 0},
        ),
        ([ShapePoint(50, 7)], {0: 70, 50: 70, 100: 70}),
    ],
)
def test_broken_lines(shape: list[ShapePoint], expected: dict[int, int]) -> None:
    assert {utilization: broken_line(shape, utilization) for utilization in expected} == expected


def test_resources_are_chosen_by_row() -> None:
    columns = make_columns([NODE])
    requests = make_pod_info(requests={"cpu": 1, GPU: 2}).requests
    weights = (("cpu", 1), (GPU, 2), ("memory", 3), ("ephemeral-storage", 4), ("example.com/x", 5))
    scored = ScoredResources.of(weights, requests, columns, with_defaults=True)
    gpu = columns.resource_row(GPU)
    assert scored.numbers == (SCORED_CPU, gpu, SCORED_MEMORY, EPHEMERAL_STORAGE_ROW)
    assert scored.weights == (1, 2, 3, 4)
    assert scored.amounts[:, 0].tolist() == [1000, 2, 200 * 2**20, 0]
    real = ScoredResources.of(weights[:3], requests, columns, with_defaults=False)
    assert real.numbers == (CPU_ROW, gpu, MEMORY_ROW)
    assert real.amounts[:, 0].tolist() == [1000, 2, 0]
    assert not real.requests_nothing


def test_a_pod_may_request_nothing_of_what_is_scored() -> None:
    columns = make_columns([NODE])
    for weights in ((("cpu", 1), ("memory", 1)), ((GPU, 1),)):
        scored = ScoredResources.of(weights, make_pod_info().requests, columns, with_defaults=False)
        assert scored.requests_nothing


def test_a_resource_that_nobody_knows_has_the_row_of_zeros() -> None:
    requests = make_pod_info(requests={GPU: 2}).requests
    scored = ScoredResources.of(((GPU, 1),), requests, make_columns(), with_defaults=True)
    assert scored.numbers == (UNKNOWN_ROW,)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([], []), ([3], slice(3, 4)), ([3, 4, 5], slice(3, 6)), ([3, 5], [3, 5]), ([4, 3], [4, 3])],
)
def test_consecutive_rows_are_a_slice(rows: list[int], expected: list[int] | slice) -> None:
    assert selection(rows) == expected
