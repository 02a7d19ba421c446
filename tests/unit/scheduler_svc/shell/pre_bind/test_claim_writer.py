"""The writes for claims; what the API server makes of them is shown by integration tests."""

from typing import Any

import msgspec
import pytest

from kubeio.errors import ConnectionFailedError
from kubeio.response import Response
from scheduler_svc.core.device_objects import Allocation
from scheduler_svc.core.devices.extended_resources import RequestMapping
from scheduler_svc.core.devices.writes import (
    BindClaims,
    ClaimWrite,
    Deallocate,
    DeleteClaim,
    MadeClaim,
    ReleaseClaims,
)
from scheduler_svc.core.effects import EventType, PodReference, RecordEvent, RunCleanup, RunPreBind
from scheduler_svc.shell.pre_bind import ClaimWriter, claim_writer
from scheduler_svc.shell.pre_bind.claim_writer import TRY_COUNT
from tests.device_builders import allocation, claim_spec, request, result
from tests.unit.scheduler_svc.shell.registry import Samples
from tests.unit.scheduler_svc.shell.scripted_api import (
    CREATED,
    OK,
    ScriptedApi,
    ScriptedClient,
    status,
)

POD = PodReference("default", "p", "uid-p")
GIVEN = msgspec.convert(allocation(result("d0"), node="n1"), Allocation)
CLAIM = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"
USER = {"resource": "pods", "name": "p", "uid": "uid-p"}
MADE = MadeClaim(
    claim_spec(request("container-0-request-0", count=2), {"name": "odd"}),
    (RequestMapping("c", "example.com/gpu", "container-0-request-0"),),
)
NEW = Response(201, [], b'{"metadata": {"name": "p-extended-resources-x", "uid": "uid-x"}}')
REFUSED = status(422, "field is immutable")


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_writer, "RETRY_FIRST_SECONDS", 0.0001)


class Rig:
    def __init__(self, *answers: Any) -> None:
        self.api = ScriptedApi(*answers, otherwise=OK)
        self.events: list[RecordEvent] = []
        self.writer = ClaimWriter(ScriptedClient(self.api), record=self.events.append)

    async def bind(self, *writes: ClaimWrite, announcement: str = "") -> str:
        work = BindClaims(writes, "berthmaster", announcement)
        return await self.writer.bind(RunPreBind(POD, "DynamicResources", "n1", work))

    @property
    def requests(self) -> list[tuple[str, str, Any]]:
        return [(r.method, r.path, r.body) for r in self.api.requests]


def cleanup(payload: object) -> RunCleanup:
    return RunCleanup(POD, "DynamicResources", payload)


async def test_an_allocation_is_protected_then_written_with_its_user() -> None:
    rig = Rig()
    assert await rig.bind(ClaimWrite("c", "uid-c", GIVEN)) == ""
    protect, write = rig.requests
    finalizers = ["resource.kubernetes.io/delete-protection"]
    assert protect == ("PATCH", CLAIM, {"metadata": {"uid": "uid-c", "finalizers": finalizers}})
    method, path, body = write
    assert (method, path) == ("PATCH", f"{CLAIM}/status")
    stamp = body["status"]["allocation"].pop("allocationTimestamp")
    assert len(stamp) == len("2026-01-01T00:00:00Z")
    assert body == {
        "metadata": {"uid": "uid-c"},
        "status": {
            "reservedFor": [USER],
            "allocation": msgspec.json.decode(msgspec.json.encode(GIVEN)),
        },
    }
    assert rig.events == []


async def test_a_claim_that_has_devices_gets_one_more_user() -> None:
    rig = Rig()
    assert await rig.bind(ClaimWrite("c", "uid-c"), announcement="waiting") == ""
    body = {"metadata": {"uid": "uid-c"}, "status": {"reservedFor": [USER]}}
    assert rig.requests == [("PATCH", f"{CLAIM}/status", body)]
    (event,) = rig.events
    assert (event.pod, event.type) == (POD, EventType.NORMAL)
    assert (event.reason, event.action) == ("BindingConditionsPending", "Scheduling")
    assert (event.note, event.scheduler_name) == ("waiting", "berthmaster")


@pytest.mark.parametrize(
    ("answers", "write", "text"),
    [
        ([REFUSED], ClaimWrite("c", "u"), "add reservation to claim default/c: "),
        ([REFUSED], ClaimWrite("c", "u", GIVEN), "add finalizer to claim default/c: "),
        (
            [OK, REFUSED],
            ClaimWrite("c", "u", GIVEN),
            "add allocation and reservation to claim default/c: ",
        ),
    ],
)
async def test_a_refusal_says_what_was_refused(
    answers: list[Response], write: ClaimWrite, text: str
) -> None:
    rig = Rig(*answers)
    assert await rig.bind(write, ClaimWrite("next", "u")) == f"{text}field is immutable"
    assert len(rig.requests) == len(answers)


async def test_what_fails_for_now_is_tried_again() -> None:
    rig = Rig(ConnectionFailedError("no way"), status(503, "busy"))
    assert await rig.bind(ClaimWrite("c", "uid-c")) == ""
    assert len(rig.requests) == 3
    for_good = Rig(*[status(503, "busy")] * TRY_COUNT)
    assert await for_good.bind(ClaimWrite("c", "uid-c")) == (
        "add reservation to claim default/c: busy"
    )
    assert len(for_good.requests) == TRY_COUNT


async def test_a_claim_is_made_allocated_and_told() -> None:
    rig = Rig(NEW)
    assert await rig.bind(ClaimWrite(allocation=GIVEN, made=MADE)) == ""
    (method, path, manifest), protect, write, told = rig.requests
    assert (method, path) == ("POST", CLAIM.removesuffix("/c"))
    assert manifest["metadata"] == {
        "namespace": "default",
        "generateName": "p-extended-resources-",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
        ],
    }
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    assert manifest["spec"] == {
        "devices": {"requests": [{"name": "container-0-request-0", "exactly": exactly}]}
    }
    made = f"{CLAIM.removesuffix('/c')}/p-extended-resources-x"
    assert protect[1] == made
    assert write[1] == f"{made}/status"
    assert write[2]["metadata"] == {"uid": "uid-x"}
    assert told == (
        "PATCH",
        "/api/v1/namespaces/default/pods/p/status",
        {
            "metadata": {"uid": "uid-p"},
            "status": {
                "extendedResourceClaimStatus": {
                    "resourceClaimName": "p-extended-resources-x",
                    "requestMappings": [
                        {
                            "containerName": "c",
                            "resourceName": "example.com/gpu",
                            "requestName": "container-0-request-0",
                        }
                    ],
                }
            },
        },
    )


async def test_a_claim_that_is_of_no_use_is_not_left_behind() -> None:
    rig = Rig(NEW, OK, OK, REFUSED)
    text = "update pod default/p ExtendedResourceClaimStatus: field is immutable"
    assert await rig.bind(ClaimWrite(allocation=GIVEN, made=MADE)) == text
    assert [method for method, _, _ in rig.requests][-2:] == ["PATCH", "DELETE"]
    refused = Rig(status(403, "no"))
    answer = await refused.bind(ClaimWrite(allocation=GIVEN, made=MADE))
    assert answer.startswith("create claim for extended resources of default/p: ")
    assert len(refused.requests) == 1


async def test_claims_that_were_made_and_not_are_counted() -> None:
    for rig, status_text in (
        (Rig(NEW, OK, OK, REFUSED), "success"),
        (Rig(status(403, "no")), "failure"),
    ):
        sample = Samples(rig.writer.collect)
        await rig.bind(ClaimWrite(allocation=GIVEN, made=MADE))
        assert sample("scheduler_resourceclaim_creates_total", status=status_text) == 1


async def test_users_are_taken_off_claims() -> None:
    rig = Rig(OK, REFUSED)
    work = ReleaseClaims((("c", "uid-c"), ("d", "uid-d"), ("e", "uid-e")))
    assert await rig.writer.release(cleanup(work)) == "release claim default/d: field is immutable"
    gone = {"$patch": "delete", "uid": "uid-p"}
    body = {"metadata": {"uid": "uid-c"}, "status": {"reservedFor": [gone]}}
    assert rig.requests[0] == ("PATCH", f"{CLAIM}/status", body)
    assert await Rig().writer.release(cleanup(ReleaseClaims((("c", "u"),)))) == ""


async def test_devices_are_taken_from_a_claim_that_is_as_it_was() -> None:
    rig = Rig(CREATED, status(409, "changed"))
    assert await rig.writer.deallocate(cleanup(Deallocate("c", "uid-c", "7"))) == ""
    nothing = {"allocation": None, "reservedFor": None, "devices": None}
    body = {"metadata": {"uid": "uid-c", "resourceVersion": "7"}, "status": nothing}
    assert rig.requests == [("PATCH", f"{CLAIM}/status", body)]
    answer = await rig.writer.deallocate(cleanup(Deallocate("c", "uid-c", "7")))
    assert answer == "deallocate claim default/c: changed"


async def test_a_claim_is_deleted_once_nothing_protects_it() -> None:
    rig = Rig()
    assert await rig.writer.delete(cleanup(DeleteClaim("c", "uid-c"))) == ""
    (_, _, unprotect), (method, path, options) = rig.requests
    assert unprotect == {
        "metadata": {
            "uid": "uid-c",
            "$deleteFromPrimitiveList/finalizers": ["resource.kubernetes.io/delete-protection"],
        }
    }
    assert (method, path) == ("DELETE", CLAIM)
    assert options["preconditions"] == {"uid": "uid-c"}
    refused = Rig(status(403, "no"))
    assert await refused.writer.delete(cleanup(DeleteClaim("c", "uid-c"))) == (
        "delete claim default/c: no"
    )


@pytest.mark.parametrize("answers", [(status(404, "gone"),), (OK, status(404, "gone"))])
async def test_a_claim_that_is_gone_need_not_be_deleted(answers: tuple[Response, ...]) -> None:
    rig = Rig(*answers)
    assert await rig.writer.delete(cleanup(DeleteClaim("c", "uid-c"))) == ""
    assert len(rig.requests) == len(answers)
