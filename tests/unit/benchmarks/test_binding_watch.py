import pytest

from benchmarks.binding_watch import BindingWatch, WatchedPod, WatchedSpec
from benchmarks.errors import BenchmarkError
from kubeio.changes import Deleted, Upserted
from kubeio.decoding import ObjectMetadata


def pod(name: str, node: str = "") -> Upserted[WatchedPod]:
    metadata = ObjectMetadata(namespace="n", name=name, uid=name, resource_version="1")
    return Upserted(WatchedPod(metadata, WatchedSpec(node)))


def nothing() -> None:
    pass


async def test_a_pod_counts_from_its_first_word_of_a_node() -> None:
    watch = BindingWatch()
    watch.take(pod("a"))
    assert watch.bound_at_seconds == {}
    watch.take(pod("a", "node-1"))
    first = dict(watch.bound_at_seconds)
    watch.take(pod("a", "node-1"))
    watch.take(Deleted("n", "b", "b"))
    assert watch.bound_at_seconds == first
    assert list(first) == ["a"]
    await watch.wait_bound(1, check=nothing, timeout_seconds=1)


async def test_waiting_for_pods_that_are_never_bound_ends() -> None:
    watch = BindingWatch()
    watch.take(pod("a", "node-1"))
    with pytest.raises(BenchmarkError, match="1 of 2 Pods are bound"):
        await watch.wait_bound(2, check=nothing, timeout_seconds=-1)


async def test_waiting_ends_when_the_scheduler_does() -> None:
    def check() -> None:
        raise BenchmarkError("it ended")

    with pytest.raises(BenchmarkError, match="it ended"):
        await BindingWatch().wait_bound(1, check=check, timeout_seconds=60)
