import msgspec
import pytest

from benchmarks.core_decisions import run_core
from benchmarks.errors import BenchmarkError
from benchmarks.workloads import CoreWorkload, load_workloads

WORKLOADS = load_workloads()


@pytest.fixture(autouse=True)
def untouched_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the garbage collector of the test process as it is."""
    for name in ("collect", "freeze", "set_threshold"):
        monkeypatch.setattr(f"benchmarks.core_decisions.gc.{name}", lambda *_: None)


def small(name: str, **sizes: int) -> CoreWorkload:
    workload = next(each for each in WORKLOADS.core if each.name == name)
    counts = {"node_count": 30, "pod_count": 60, "class_count": 10, "new_class_count": 5}
    return msgspec.structs.replace(workload, **{**counts, **sizes})


@pytest.mark.parametrize("name", ["uniform", "mixed"])
def test_every_call_is_counted_once_and_first_pods_of_a_class_apart(name: str) -> None:
    workload = small(name)
    pools = WORKLOADS.node_pools[workload.node_pool], WORKLOADS.pod_pools[workload.pod_pool]
    run = run_core(workload, *pools)
    assert run.queue.count == 60
    assert run.step.count == 50
    assert run.new_class_step.count == 10 + 5
    assert run.bound.count == run.confirmed.count == 65
    assert run.known_class_mean == run.queue.mean + run.step.mean + run.bound.mean


def test_a_workload_that_does_not_fit_is_refused() -> None:
    workload = small("uniform", node_count=1, pod_count=200)
    pools = WORKLOADS.node_pools[workload.node_pool], WORKLOADS.pod_pools[workload.pod_pool]
    with pytest.raises(BenchmarkError, match="90 of 200 Pods got no Node"):
        run_core(workload, *pools)
