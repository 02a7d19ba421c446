"""Which fields a definition has, from what the API server publishes."""

from typing import Any

import msgspec

from kubeio.response import Response
from scheduler_svc.controller.custom_resources import POD_GROUPS
from scheduler_svc.controller.schemas import has_status, lacking_fields, status_fields
from tests.unit.scheduler_svc.shell.scripted_api import ScriptedApi, ScriptedClient


def document(*fields: str, kind: str = "PodGroup") -> dict[str, Any]:
    status = {"type": "object", "properties": {field: {} for field in fields}}
    schema = {
        "properties": {"status": status},
        "x-kubernetes-group-version-kind": [
            {"group": "scheduling.x-k8s.io", "version": "v1alpha1", "kind": kind}
        ],
    }
    return {"components": {"schemas": {"other": {}, "io.x-k8s.scheduling.PodGroup": schema}}}


def test_the_fields_of_the_status_are_found() -> None:
    assert status_fields(document("phase", "running"), POD_GROUPS) == frozenset(
        {"phase", "running"}
    )


def test_what_does_not_say_is_no_reason_to_leave_anything_out() -> None:
    assert status_fields(document("phase", kind="ElasticQuota"), POD_GROUPS) is None
    assert status_fields(document(), POD_GROUPS) is None
    assert status_fields({}, POD_GROUPS) is None


async def test_what_is_wanted_and_not_there_is_lacking() -> None:
    api = ScriptedApi(Response(200, [], msgspec.json.encode(document("phase", "running"))))
    lacking = await lacking_fields(ScriptedClient(api), POD_GROUPS, ["phase", "conditions"])
    assert lacking == {"conditions"}
    assert api.requests[0].path == "/openapi/v3/apis/scheduling.x-k8s.io/v1alpha1"


async def test_nothing_is_lacking_where_nobody_says() -> None:
    api = ScriptedApi(Response(200, [], b"{}"))
    assert await lacking_fields(ScriptedClient(api), POD_GROUPS, ["phase"]) == set()


async def test_all_is_lacking_where_there_is_no_status_to_write() -> None:
    """Definitions of old have none, whatever fields they name; every write would be a 404."""
    path = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{namespace}/podgroups/{name}"
    published = {**document("phase"), "paths": {path: {}, "/apis/x/others/{name}/status": {}}}
    api = ScriptedApi(Response(200, [], msgspec.json.encode(published)))
    wanted = ["phase", "conditions"]
    assert await lacking_fields(ScriptedClient(api), POD_GROUPS, wanted) == set(wanted)
    assert has_status({"paths": {path: {}, f"{path}/status": {}}}, POD_GROUPS)
    assert has_status({"paths": {"/apis/x/others/{name}": {}}}, POD_GROUPS)
