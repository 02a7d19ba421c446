"""Whole Nodes from a view, whole Pods from the API server."""

from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, Upserted
from kubeio.decoding import ObjectDecoder
from kubeio.response import Response
from scheduler_svc.core.effects import PodReference
from scheduler_svc.shell.extenders.full_objects import FullNode, FullObjects
from scheduler_svc.shell.extenders.wire import ExtenderError
from scheduler_svc.shell.views.decode import pod_view
from tests.unit.scheduler_svc.shell.extenders.rig import POD, POD_PATH, pod_json
from tests.unit.scheduler_svc.shell.scripted_api import Answer, ScriptedApi, ScriptedClient, status

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "a",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"rack": "1"},
        "annotations": {"x": "y"},
        "managedFields": [{"manager": "kubelet"}],
    },
    "spec": {"providerID": "p", "taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4"}, "new": [1.5]},
}


def objects(*answers: Answer) -> tuple[ScriptedApi, FullObjects]:
    api = ScriptedApi(*answers, otherwise=status(404, "not found"))
    return api, FullObjects(ScriptedClient(api))


def whole(document: dict[str, Any]) -> FullNode:
    """Decode a Node as the view does."""
    _, some = objects()
    query = some.node_view().query
    assert query.convert is not None
    decoded = msgspec.json.decode(msgspec.json.encode(document), type=query.object_type)
    return query.convert(decoded)


def test_a_node_is_kept_with_all_its_fields_but_managed_ones() -> None:
    node = msgspec.json.decode(whole(NODE).json)
    del NODE["metadata"]["managedFields"]
    assert node["metadata"] == NODE["metadata"]
    assert node["spec"] == NODE["spec"]
    assert node["status"] == NODE["status"]


async def test_nodes_come_from_the_view_and_new_ones_are_read() -> None:
    api, some = objects(Response(200, [], b'{"metadata":{"name":"b"}}'))
    view = some.node_view()
    assert view.to_event(Upserted(FullNode("a", b'{"a":1}'))) is None
    assert view.to_event(Listed("7")) is None
    assert await some.nodes(["a", "b", "gone"]) == {
        "a": msgspec.Raw(b'{"a":1}'),
        "b": msgspec.Raw(b'{"metadata":{"name":"b"}}'),
    }
    assert [r.path for r in api.requests] == ["/api/v1/nodes/b", "/api/v1/nodes/gone"]
    assert view.to_event(Deleted("", "a", "u")) is None
    assert await some.nodes(["a"]) == {}


async def test_a_pod_is_read_as_it_is() -> None:
    api, some = objects(pod_json(), pod_json())
    assert await some.pod(POD) == msgspec.Raw(pod_json().body)
    assert await some.pod(POD, "7") == msgspec.Raw(pod_json().body)
    assert [r.path for r in api.requests] == [POD_PATH] * 2
    assert api.queries == [None, {"resourceVersion": "7"}]


async def test_a_pod_that_the_watch_told_of_is_not_read() -> None:
    api, some = objects()
    view = some.pending.follow(pod_view(), lambda _: True)
    document = {"metadata": {"name": "p", "uid": "uid-p", "resourceVersion": "7"}, "spec": {}}
    line = msgspec.json.encode({"type": "ADDED", "object": document})
    ObjectDecoder(view.query).event(line)
    assert msgspec.json.decode(await some.pod(POD, "7")) == document
    assert api.requests == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (status(404, "x"), 'pods "p" not found'),
        (pod_json(uid="another"), 'pods "p" not found'),
        (status(403, "pods is forbidden"), "pods is forbidden"),
    ],
)
async def test_a_pod_that_cannot_be_read_is_an_error(answer: Answer, text: str) -> None:
    _, some = objects(answer)
    with pytest.raises(ExtenderError, match=text):
        await some.pod(POD)


async def test_of_a_victim_that_is_gone_there_is_its_name() -> None:
    _, some = objects(pod_json(), status(404, "x"))
    gone = PodReference("default", "q", "uid-q")
    pods = await some.pods([POD, gone])
    assert pods[POD.uid] == msgspec.Raw(pod_json().body)
    assert msgspec.json.decode(pods["uid-q"])["metadata"] == {
        "name": "q",
        "namespace": "default",
        "uid": "uid-q",
    }
