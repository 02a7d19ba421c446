"""Which Pods are kept as the watch told of them, and for how long."""

from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, Upserted
from kubeio.decoding import ObjectDecoder
from scheduler_svc.core.events import PodDeleted, PodUpserted
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.extenders import pending_pods as module
from scheduler_svc.shell.extenders.pending_pods import PendingPods
from scheduler_svc.shell.views.decode import pod_view
from scheduler_svc.shell.views.view import View


def follow(pods: PendingPods) -> View[PodInfo]:
    return pods.follow(pod_view(), lambda pod: pod.scheduler_name == "ours")


def pod(name: str = "p", version: str = "7", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": version}
    containers = [{"name": "c", "image": "x", "env": [{"name": "NOT_READ_BY_US", "value": "1"}]}]
    return {
        "metadata": metadata,
        "spec": {"schedulerName": "ours", "containers": containers, **spec},
    }


def tell(view: View[PodInfo], document: dict[str, Any], kind: str = "ADDED") -> PodInfo:
    line = msgspec.json.encode({"type": kind, "object": document})
    _, decoded = ObjectDecoder(view.query).event(line)
    assert decoded.object is not None
    return decoded.object


def test_a_pod_is_given_once_as_it_was_told() -> None:
    pods = PendingPods()
    tell(follow(pods), pod())
    given = pods.take("uid-p", "7")
    assert given is not None
    assert msgspec.json.decode(given) == pod()
    assert pods.take("uid-p", "7") is None


def test_another_version_is_not_given() -> None:
    pods = PendingPods()
    view = follow(pods)
    tell(view, pod())
    tell(view, pod(version="8"), "MODIFIED")
    assert len(pods) == 1
    assert pods.take("uid-p", "7") is None
    assert len(pods) == 0


@pytest.mark.parametrize("spec", [{"schedulerName": "another"}, {"nodeName": "a"}])
def test_pods_that_nobody_is_asked_about_are_not_kept(spec: dict[str, Any]) -> None:
    pods = PendingPods()
    view = follow(pods)
    tell(view, pod(**spec))
    assert len(pods) == 0
    tell(view, pod())
    tell(view, pod(**spec), "MODIFIED")
    assert len(pods) == 0


def test_a_pod_that_is_gone_is_kept_no_longer() -> None:
    pods = PendingPods()
    view = follow(pods)
    told = tell(view, pod())
    assert view.to_event(Upserted(told)) == PodUpserted(told)
    assert view.to_event(Listed("9")) is None
    assert len(pods) == 1
    tell(view, pod(version="9"), "DELETED")
    assert view.to_event(Deleted("n", "p", "uid-p")) == PodDeleted("uid-p")
    assert len(pods) == 0


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 2)
    pods = PendingPods()
    view = follow(pods)
    for name in ("a", "b", "c"):
        tell(view, pod(name))
    tell(view, pod("a", "8"), "MODIFIED")
    assert [pods.take(f"uid-{name}", "8" if name == "a" else "7") is None for name in "abc"] == [
        False,
        False,
        True,
    ]
