"""A kubelet's Pods are found by uid, static ones by name."""

from tests.unit.node_agent.core.divergence.views import seen, static_pod, view_of
from tests.unit.node_agent.core.pods import make_pod


def test_an_api_pod_is_found_by_uid() -> None:
    copy = seen("a")
    view = view_of(copy)
    assert view.counterpart(make_pod("a")) is copy
    assert view.counterpart(make_pod("a", uid="other")) is None


def test_a_static_pod_is_found_by_name() -> None:
    copy = static_pod(hash_="theirs")
    view = view_of(copy, seen("a"))
    assert view.counterpart(static_pod(hash_="ours")) is copy
    assert view.counterpart(static_pod("other-n")) is None
    assert view.static_pod("etcd-n_default") is copy
    assert view.static_pod("a_default") is None


def test_pods_are_counted_by_source() -> None:
    view = view_of(static_pod(), seen("a"), seen("b"), make_pod("c"))
    assert view.count_by_source() == {"file": 1, "api": 3}


def test_sources_that_no_kubelet_has_are_counted_together() -> None:
    odd = [make_pod(str(n), annotations={"kubernetes.io/config.source": str(n)}) for n in range(9)]
    assert view_of(seen("a"), *odd).count_by_source() == {"api": 1, "other": 9}
