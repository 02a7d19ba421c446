"""Whatever manifests, lists and the kubelet say, however careless: nothing raises, all ends."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.core.agent import NodeAgent
from node_agent.core.divergence.divergences import Divergences
from node_agent.core.divergence.kubelet_view import KubeletView
from node_agent.core.events import PodsListed
from node_agent.core.journey.journey import FileTimes
from node_agent.core.journey.journeys import Journeys
from node_agent.core.objects import Pod
from node_agent.core.operations import (
    MIRROR_ANNOTATION,
    SEEN_ANNOTATION,
    SOURCE_ANNOTATION,
    Source,
)
from node_agent.core.static_pods import Origin, Refusal, static_pods
from node_agent.shell.manifest_text import parse_manifest
from tests.property.node_agent.test_journey import Ledger
from tests.unit.node_agent.core.pods import at, ended, make_pod, running, status

MANIFEST: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "uid": "u",
        "labels": {"app": "web"},
        "annotations": {"a": "b"},
        "creationTimestamp": "2026-06-01T12:00:00Z",
        "ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}],
    },
    "spec": {
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
        "volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": []}}]}}],
        "initContainers": [{"name": "i", "image": "i:1", "restartPolicy": "Always"}],
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
                "envFrom": [{"prefix": "p"}],
                "ports": [{"containerPort": 80, "hostPort": 80}],
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "readinessProbe": {"httpGet": {"port": 80}},
                "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
            }
        ],
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}

Path = tuple[str | int, ...]


def paths(value: Any, path: Path = ()) -> list[Path]:
    """Give the way to each value of a document."""
    if not isinstance(value, dict | list):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(inner for key, item in items for inner in paths(item, (*path, key)))]


def replaced(value: Any, path: Path, by: Any) -> Any:
    """Give the document with another value in one place."""
    if not path:
        return by
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


ODD_VALUES: Sequence[Any] = (
    *(None, True, -1, 2**63, 2**64, 1e300, "", "x", "\0", "é", "a" * 300),
    *([], [None], [[]], ["x"], [{}], {}, {"name": ["x"]}, {"x": {"y": [1]}}),
)


@pytest.mark.parametrize("path", paths(MANIFEST), ids=str)
def test_a_manifest_with_anything_anywhere_is_a_pod_or_refused(path: Path) -> None:
    for value in ODD_VALUES:
        parsed = parse_manifest(msgspec.json.encode(replaced(MANIFEST, path, value)))
        if isinstance(parsed, Refusal):
            assert path == ()
            continue
        for source in (Source.FILE, Source.HTTP):
            pods = static_pods(parsed.document, Origin(source, "/m"), "n")
            assert all(isinstance(pod, Pod) for pod in pods) if isinstance(pods, tuple) else pods


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_document_or_refused(data: bytes) -> None:
    parse_manifest(data)


UIDS = ("u1", "u2", "m")
MIRROR_UID = "m"


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Give a Pod whose uid and name others may have too, in any source."""
    annotations = draw(
        st.fixed_dictionaries(
            {},
            optional={
                SOURCE_ANNOTATION: st.sampled_from(["file", "http", "api"]),
                SEEN_ANNOTATION: st.sampled_from(["2026-06-01T12:00:01Z", "never"]),
            },
        )
    )
    uid = draw(st.sampled_from(UIDS))
    if uid == MIRROR_UID:  # nobody's Pod becomes a mirror later
        annotations[MIRROR_ANNOTATION] = draw(st.sampled_from("hi"))
    deleted = {"deletionTimestamp": "2026-06-01T12:00:05Z", "deletionGracePeriodSeconds": 30}
    return make_pod(
        draw(st.sampled_from("ab")),
        uid=uid,
        annotations=annotations,
        status=draw(
            st.sampled_from(
                [status("Pending"), status("Running", running()), status("Failed", ended())]
            )
        ),
        **(deleted if draw(st.booleans()) else {}),
    )


LISTS = st.lists(pods(), max_size=3)
EVENTS = st.tuples(st.sampled_from([*Source, "kubelet", "files", "expire"]), LISTS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.sampled_from([0, 1, 60])), min_size=8, max_size=40))
def test_names_and_uids_that_are_taken_everywhere_end_nothing(
    told: list[tuple[tuple[str, list[Pod]], int]],
) -> None:
    journeys, divergences = Journeys(Ledger(), finished_limit=2), Divergences(Source)
    agent = NodeAgent(Source, [journeys, divergences])
    second = 0
    for (what, listed), passed in told:
        second += passed
        now = at(second)
        if what in tuple(Source):
            agent.handle(PodsListed(Source(what), tuple(listed), now), now)
        elif what == "kubelet":
            journeys.kubelet_listed(listed, now)
            divergences.kubelet_read(KubeletView(listed, now, frozenset(UIDS)), now)
        elif what == "files":
            for uid in UIDS:
                journeys.files_read(uid, FileTimes(now.wall_nanoseconds), now)
                journeys.events_read(uid, [], now)
        else:
            agent.expire(now)
    for source in Source:
        agent.handle(PodsListed(source, (), at(second)), at(second))
    while agent.next_deadline() is not None:
        second += 60
        agent.expire(at(second))
    assert dict(agent.workers.workers) == {}
    assert journeys.counts()[0] == 0
    assert list(agent.known.pods()) == []
