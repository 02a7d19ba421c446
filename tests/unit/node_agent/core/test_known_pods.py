"""Static Pods and mirrors find each other by name (pkg/kubelet/pod/pod_manager_test.go)."""

import pytest

from node_agent.core.known_pods import KnownPods, PodAndMirror
from node_agent.core.objects import Pod
from node_agent.core.operations import SOURCE_ANNOTATION
from tests.unit.node_agent.core.pods import make_mirror, make_pod


def static(name: str = "a", uid: str = "static-a") -> Pod:
    """Give a Pod of a manifest."""
    return make_pod(name, uid=uid, annotations={SOURCE_ANNOTATION: "file"})


@pytest.fixture
def known() -> KnownPods:
    """Give one that knows nothing."""
    return KnownPods()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_either_half_may_come_first(known: KnownPods, order: tuple[int, int]) -> None:
    pods = [static(), make_mirror()]
    for number in order:
        known.put(pods[number])
    assert known.static_uid("mirror-a") == "static-a"
    assert known.pair(pods[0]) == PodAndMirror(pods[0], pods[1], was_mirror=False)
    assert known.pair(pods[1]) == PodAndMirror(pods[0], pods[1], was_mirror=True)
    assert list(known.pods()) == [pods[0]]
    assert list(known.mirrors()) == [pods[1]]
    assert known.mirror_uids() == {"static-a": "mirror-a"}
    assert list(known.orphan_mirrors()) == []


def test_other_uids_are_their_own(known: KnownPods) -> None:
    known.put(make_pod("b"))
    assert known.static_uid("uid-b") == "uid-b"
    assert known.static_uid("unknown") == "unknown"
    assert known.static_uid("") == ""


def test_pods_are_found(known: KnownPods) -> None:
    pod, mirror = make_pod("b"), make_mirror("a")
    known.put(pod)
    known.put(mirror)
    assert known.pod("uid-b") is pod
    assert known.pod("mirror-a") is None
    assert known.pod_of_name("b_default") is pod
    assert known.pod_of_name("a_default") is None
    assert known.mirror_of_name("a_default") is mirror
    assert known.mirror_of_name("b_default") is None


def test_static_pods_without_a_mirror_are_listed_so(known: KnownPods) -> None:
    known.put(static())
    known.put(make_pod("b"))
    assert known.mirror_uids() == {"static-a": ""}


def test_a_mirror_without_its_pod_is_an_orphan(known: KnownPods) -> None:
    mirror = make_mirror()
    known.put(mirror)
    known.put(static())
    known.remove(static())
    assert list(known.orphan_mirrors()) == [mirror]
    assert known.pair(mirror) == PodAndMirror(None, mirror, was_mirror=True)
    # As in the kubelet, the uid is translated until the mirror goes too.
    assert known.static_uid("mirror-a") == "static-a"
    known.remove(mirror)
    assert known.static_uid("mirror-a") == "mirror-a"
    assert list(known.mirrors()) == []


def test_who_took_over_a_name_keeps_it(known: KnownPods) -> None:
    known.put(static(uid="old"))
    known.put(static(uid="new"))
    known.put(make_mirror(uid="m1"))
    known.put(make_mirror(uid="m2"))
    known.remove(static(uid="old"))
    known.remove(make_mirror(uid="m1"))
    pod, mirror = known.pod_of_name("a_default"), known.mirror_of_name("a_default")
    assert pod is not None
    assert mirror is not None
    assert (pod.metadata.uid, mirror.metadata.uid) == ("new", "m2")
    known.remove(static(uid="old"))
    assert known.pod_of_name("a_default") is pod


def test_removing_what_is_unknown_changes_nothing(known: KnownPods) -> None:
    known.remove(static())
    known.remove(make_mirror())
    assert list(known.pods()) == []
