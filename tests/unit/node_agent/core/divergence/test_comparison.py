"""Each kind of difference, and what is none."""

from typing import Any

import pytest

from node_agent.core.divergence.comparison import (
    DivergenceKind,
    Finding,
    compare,
    refusal_of,
    source_of,
)
from node_agent.core.operations import Source
from tests.unit.node_agent.core.divergence.views import known_of, seen, static_pod, view_of
from tests.unit.node_agent.core.pods import make_mirror, make_pod, running, status

CONTAINER = {"name": "c", "image": "i"}


def kinds(findings: list[Finding]) -> list[str]:
    return [finding.kind.value for finding in findings]


def test_equal_views() -> None:
    known = known_of(make_pod("a"), static_pod(hash_="ours"), make_mirror("etcd-n"))
    view = view_of(seen("a"), static_pod())
    assert compare(known, view) == []


def test_a_pod_that_the_kubelet_has_not_seen() -> None:
    (finding,) = compare(known_of(make_pod("a")), view_of())
    assert finding == Finding(
        DivergenceKind.MISSING_IN_KUBELET,
        "api",
        "default",
        "a",
        "uid-a",
        "The kubelet has not seen it.",
    )
    assert finding.key == (DivergenceKind.MISSING_IN_KUBELET, "uid-a")


def test_a_pod_that_has_ended_need_not_be_seen() -> None:
    assert compare(known_of(make_pod("a", status=status("Succeeded"))), view_of()) == []


def test_a_pod_that_none_of_the_sources_has() -> None:
    (finding,) = compare(known_of(), view_of(seen("a")))
    assert (finding.kind, finding.source) == (DivergenceKind.UNKNOWN_TO_AGENT, "api")


def test_a_manifest_that_the_agent_lacks() -> None:
    findings = compare(known_of(make_mirror("etcd-n")), view_of(static_pod()))
    assert kinds(findings) == ["unknown_to_agent"]
    sources = frozenset({Source.API})
    assert compare(known_of(make_mirror("etcd-n")), view_of(static_pod()), sources) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "detail"),
    [
        (
            {"spec": {"containers": [{"name": "c", "image": "i:2"}]}},
            {},
            "Containers are c (i:2) here and c (i) in the kubelet.",
        ),
        ({"spec": {}}, {}, "Containers are none here and c (i) in the kubelet."),
        (
            {"generation": 2},
            {"generation": 1},
            "It is of generation 2 here and of 1 in the kubelet.",
        ),
        ({"labels": {"x": "1"}}, {}, "Its labels differ."),
        ({"annotations": {"x": "1"}}, {"annotations": {"x": "2"}}, "Its annotations differ."),
        ({"generation": 2}, {"generation": 0}, None),
        ({"generation": 2}, {"generation": 2}, None),
        ({"labels": {}}, {}, None),
    ],
)
def test_a_specification_that_is_stale(
    ours: dict[str, Any], theirs: dict[str, Any], detail: str | None
) -> None:
    findings = compare(known_of(make_pod("a", **ours)), view_of(seen("a", **theirs)))
    assert [f.detail for f in findings] == ([] if detail is None else [detail])
    assert {f.kind for f in findings} <= {DivergenceKind.SPEC_DIFFERS}


def test_of_static_pods_only_containers_are_compared() -> None:
    known = known_of(static_pod(hash_="ours", labels={"x": "1"}), make_mirror("etcd-n"))
    assert compare(known, view_of(static_pod())) == []
    other = static_pod(spec={"containers": [{**CONTAINER, "image": "i:2"}]})
    assert kinds(compare(known, view_of(other))) == ["spec_differs"]


@pytest.mark.parametrize(("here", "there"), [(True, False), (False, True)])
def test_a_deletion_that_only_one_knows_of(here: bool, there: bool) -> None:
    deleted: dict[str, Any] = {"deletionTimestamp": "2026-06-01T12:00:30Z"}
    pod = make_pod("a", **(deleted if here else {}))
    findings = compare(known_of(pod), view_of(seen("a", **(deleted if there else {}))))
    assert kinds(findings) == ["deletion_differs"]


def test_a_pod_that_was_refused() -> None:
    refused = status("Failed", reason="OutOfcpu", message="Node didn't have enough resource")
    pod = seen("a", status=refused)
    findings = compare(known_of(make_pod("a", status=refused)), view_of(pod))
    assert kinds(findings) == ["refused"]
    assert findings[0].detail == (
        "The kubelet refused it: OutOfcpu: Node didn't have enough resource"
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (
            status("Failed", reason="NodeAffinity"),
            "The kubelet refused it: NodeAffinity: no message",
        ),
        (status("Failed"), None),
        (status("Failed", running(), reason="Evicted"), None),
        (status("Pending", reason="x"), None),
    ],
)
def test_what_is_a_refusal(state: dict[str, Any], expected: str | None) -> None:
    assert refusal_of(make_pod("a", status=state)) == expected


def test_what_the_runtime_lacks() -> None:
    pod = seen("a", status=status("Running", running("c")))
    known = known_of(make_pod("a"))
    assert compare(known, view_of(pod)) == []
    assert compare(known, view_of(pod, running=frozenset({"uid-a"}))) == []
    (finding,) = compare(known, view_of(pod, running=frozenset()))
    assert finding.kind is DivergenceKind.MISSING_IN_RUNTIME
    assert finding.detail == "c should be running, and the container runtime has no such Pod."
    waiting = seen("a", status=status("Pending"))
    assert compare(known, view_of(waiting, running=frozenset())) == []


def test_what_only_the_runtime_has() -> None:
    (finding,) = compare(known_of(), view_of(running=frozenset({"u9"})))
    assert (finding.kind, finding.uid) == (DivergenceKind.UNKNOWN_TO_KUBELET, "u9")


def test_mirrors() -> None:
    ours = static_pod(hash_="ours")
    view = view_of(static_pod(hash_="h2"))
    assert kinds(compare(known_of(ours), view)) == ["mirror_missing"]
    stale = make_mirror("etcd-n", hash_="h1")
    assert kinds(compare(known_of(ours, stale), view)) == ["mirror_stale"]
    deleting = make_mirror("etcd-n", hash_="h2", deletionTimestamp="2026-06-01T12:00:30Z")
    assert kinds(compare(known_of(ours, deleting), view)) == ["mirror_deleting"]


def test_a_mirror_of_nothing() -> None:
    known = known_of(make_mirror("etcd-n"))
    assert kinds(compare(known, view_of())) == ["mirror_orphan"]
    # Its static Pod is the kubelet's, though the agent does not read the manifest.
    assert compare(known, view_of(static_pod()), frozenset({Source.API})) == []


def test_sources() -> None:
    assert source_of(make_mirror("etcd-n")) == "mirror"
    assert source_of(static_pod()) == "file"
    assert source_of(make_pod("a")) == "api"


def test_a_finding_without_a_uid_is_known_by_name() -> None:
    finding = Finding(DivergenceKind.REFUSED, "file", "default", "a", "", "")
    assert finding.key == (DivergenceKind.REFUSED, "default/a")
