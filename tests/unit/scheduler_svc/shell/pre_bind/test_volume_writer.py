"""The writes that bind volumes; what the API server makes of them is shown by integration tests."""

from typing import Any

import pytest

from kubeio.errors import ConnectionFailedError
from scheduler_svc.core.effects import PodReference, RunPreBind
from scheduler_svc.core.volumes.writes import KeepVolume, ObjectVersion, SelectNode, VolumeWrites
from scheduler_svc.shell.pre_bind import VolumeWriter, volume_writer
from scheduler_svc.shell.pre_bind.volume_writer import TRY_COUNT
from tests.unit.scheduler_svc.shell.scripted_api import OK, ScriptedApi, ScriptedClient, status

POD = PodReference("default", "web", "uid-web")
KEEP = KeepVolume(
    ObjectVersion("", "pv-1", "uid-pv", "7"), ObjectVersion("default", "data", "uid-c", "8"), True
)
SELECT = SelectNode(ObjectVersion("team", "logs", "uid-l", "9"), "n1")
VOLUME_PATH = "/api/v1/persistentvolumes/pv-1"
CLAIM_PATH = "/api/v1/namespaces/team/persistentvolumeclaims/logs"


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_writer, "RETRY_FIRST_SECONDS", 0.0001)


async def write(api: ScriptedApi, **writes: Any) -> str:
    work = RunPreBind(POD, "VolumeBinding", "n1", VolumeWrites(**writes))
    return await VolumeWriter(ScriptedClient(api))(work)


async def test_volumes_are_kept_first_then_nodes_selected() -> None:
    api = ScriptedApi(otherwise=OK)
    assert await write(api, keep=(KEEP,), select=(SELECT,)) == ""
    keeping, selecting = api.requests
    assert (keeping.method, keeping.path) == ("PATCH", VOLUME_PATH)
    assert keeping.body == {
        "metadata": {
            "uid": "uid-pv",
            "resourceVersion": "7",
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
        },
        "spec": {
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": "data",
                "uid": "uid-c",
                "resourceVersion": "8",
            }
        },
    }
    assert (selecting.method, selecting.path) == ("PATCH", CLAIM_PATH)
    assert selecting.body == {
        "metadata": {
            "uid": "uid-l",
            "resourceVersion": "9",
            "annotations": {"volume.kubernetes.io/selected-node": "n1"},
        }
    }


async def test_a_volume_that_its_user_chose_is_not_marked_as_the_controllers() -> None:
    api = ScriptedApi(otherwise=OK)
    chosen = KeepVolume(KEEP.volume, KEEP.claim, by_controller=False)
    assert await write(api, keep=(chosen,)) == ""
    assert api.requests[0].body["metadata"] == {"uid": "uid-pv", "resourceVersion": "7"}


async def test_nothing_to_write_is_no_fault() -> None:
    api = ScriptedApi()
    assert await write(api) == ""
    assert api.requests == []


async def test_the_first_refusal_ends_it_with_the_servers_words() -> None:
    api = ScriptedApi(status(409, "the object has been modified"), otherwise=OK)
    assert await write(api, keep=(KEEP,), select=(SELECT,)) == "the object has been modified"
    assert [request.path for request in api.requests] == [VOLUME_PATH]


async def test_what_may_work_later_is_tried_again() -> None:
    lost = ConnectionFailedError("PATCH: no connection")
    api = ScriptedApi(lost, status(503, "busy"), otherwise=OK)
    assert await write(api, select=(SELECT,)) == ""
    assert len(api.requests) == 3


async def test_it_is_not_tried_for_ever() -> None:
    api = ScriptedApi(otherwise=status(500, "broken"))
    assert await write(api, select=(SELECT,)) == "broken"
    assert len(api.requests) == TRY_COUNT
