"""Devices on a real API server with the real controllers: claimed, shared, released, awaited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NAMESPACE = "/api/v1/namespaces/default"
PODS, NODES = f"{NAMESPACE}/pods", "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
DEVICES = "/apis/resource.k8s.io/v1"
CLASSES, SLICES = f"{DEVICES}/deviceclasses", f"{DEVICES}/resourceslices"
CLAIMS = f"{DEVICES}/namespaces/default/resourceclaims"
TEMPLATES = f"{DEVICES}/namespaces/default/resourceclaimtemplates"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
DRIVER = "gpu.example.com"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
FINALIZER = "resource.kubernetes.io/delete-protection"


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own, with the controller that makes and releases claims."""
    state_dir = tmp_path_factory.mktemp("live-devices") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it with two Nodes and a class of devices."""
    for name in ("n1", "n2"):
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        create(module_plane, NODES, {"metadata": metadata, "status": {"allocatable": allocatable}})
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    gpu = {"selectors": [selector], "extendedResourceName": "example.com/gpu"}
    create(module_plane, CLASSES, {"metadata": {"name": "gpu"}, "spec": gpu})
    yield module_plane
    for path in (PODS, EVENTS, TEMPLATES, CLAIMS, SLICES, CLASSES, NODES):
        request(module_plane, "DELETE", path, AT_ONCE)
    request(module_plane, "DELETE", LEASE)
    for path in (PODS, CLAIMS):
        wait_until_empty(module_plane, path)


def wait_until_empty(plane: ControlPlane, path: str) -> None:
    wait_for(f"{path} is empty", lambda: read(plane, path)["items"] == [])


def scheduler(plane: ControlPlane, directory: Path, *arguments: str) -> SchedulerProcess:
    return SchedulerProcess(
        directory / "log",
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none", *arguments),
    )


def publish(plane: ControlPlane, node: str, *devices: dict[str, Any]) -> None:
    """Publish the devices of a Node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    create(plane, SLICES, {"metadata": {"name": f"gpu-{node}"}, "spec": spec})


def device(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"model": {"string": "h100"}}, **fields}


def claim_spec(count: int = 1) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "count": count}
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}


def create_claim(plane: ControlPlane, name: str, count: int = 1) -> None:
    create(plane, CLAIMS, {"metadata": {"name": name}, "spec": claim_spec(count)})


def create_pod(plane: ControlPlane, name: str, **claim: str) -> None:
    """Create a Pod with one claim: `resourceClaimName` or `resourceClaimTemplateName`."""
    container: dict[str, Any] = {"name": "c", "image": "x"}
    spec = {
        "schedulerName": "berthmaster",
        "containers": [{**container, "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", **claim}],
    }
    create(plane, PODS, {"metadata": {"name": name}, "spec": spec})


def node_of(plane: ControlPlane, name: str) -> str:
    node: str = read(plane, f"{PODS}/{name}")["spec"].get("nodeName", "")
    return node


def wait_bound(plane: ControlPlane, name: str) -> None:
    wait_for(f"{name} is bound", lambda: node_of(plane, name))


def wait_told(plane: ControlPlane, pod: str, text: str) -> None:
    """Wait until the Pod's condition says so."""

    def is_told() -> bool:
        conditions = read(plane, f"{PODS}/{pod}")["status"].get("conditions", [])
        return any(text in c.get("message", "") for c in conditions)

    wait_for(f"{pod} is told {text!r}", is_told)


def status_of(plane: ControlPlane, claim: str) -> dict[str, Any]:
    status: dict[str, Any] = read(plane, f"{CLAIMS}/{claim}").get("status", {})
    return status


def devices_of(status: dict[str, Any]) -> list[tuple[str, str]]:
    results = status.get("allocation", {}).get("devices", {}).get("results", [])
    return [(result["pool"], result["device"]) for result in results]


def users_of(status: dict[str, Any]) -> set[str]:
    return {user["name"] for user in status.get("reservedFor", [])}


def set_conditions(plane: ControlPlane, claim: str, condition: str) -> None:
    """Say of all devices of a claim that a condition is true, as their driver does."""
    stored = read(plane, f"{CLAIMS}/{claim}")
    told = {
        "type": condition,
        "status": "True",
        "reason": "Told",
        "message": "by the driver",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    stored["status"]["devices"] = [
        {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [told]}
        for result in stored["status"]["allocation"]["devices"]["results"]
    ]
    status, answer = request(plane, "PUT", f"{CLAIMS}/{claim}/status", stored)
    assert status == 200, answer


def test_a_claim_is_allocated_reserved_shared_and_released(
    plane: ControlPlane, tmp_path: Path
) -> None:
    publish(plane, "n2", device("d0"))
    create_claim(plane, "shared")
    create_claim(plane, "other")
    with scheduler(plane, tmp_path):
        create_pod(plane, "first", resourceClaimName="shared")
        wait_bound(plane, "first")
        # The Pod has its Node only once the claim has its device.
        claim = read(plane, f"{CLAIMS}/shared")
        assert devices_of(claim["status"]) == [("n2", "d0")]
        assert users_of(claim["status"]) == {"first"}
        assert FINALIZER in claim["metadata"]["finalizers"]
        assert claim["status"]["allocation"]["allocationTimestamp"]
        term = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]
        assert term["matchFields"][0]["values"] == ["n2"]
        create_pod(plane, "second", resourceClaimName="shared")
        wait_bound(plane, "second")
        assert node_of(plane, "second") == "n2"
        assert users_of(status_of(plane, "shared")) == {"first", "second"}
        create_pod(plane, "third", resourceClaimName="other")
        wait_told(plane, "third", "2 cannot allocate all claims")
        for name in ("first", "second"):
            request(plane, "DELETE", f"{PODS}/{name}", AT_ONCE)
        wait_bound(plane, "third")
        assert devices_of(status_of(plane, "other")) == [("n2", "d0")]


def test_claims_of_a_template_get_devices_of_their_own(plane: ControlPlane, tmp_path: Path) -> None:
    publish(plane, "n1", device("d0"), device("d1"))
    publish(plane, "n2", device("d0"))
    template = {"metadata": {"name": "one"}, "spec": {"spec": claim_spec()}}
    create(plane, TEMPLATES, template)
    names = [f"p{number}" for number in range(5)]
    with scheduler(plane, tmp_path) as process:
        for name in names:
            create_pod(plane, name, resourceClaimTemplateName="one")
        wait_for("three are bound", lambda: sum(bool(node_of(plane, n)) for n in names) == 3)
        waiting = [name for name in names if not node_of(plane, name)]
        for name in waiting:
            wait_told(plane, name, "2 cannot allocate all claims")
        statuses = [claim.get("status", {}) for claim in read(plane, CLAIMS)["items"]]
        given = sorted(found for status in statuses for found in devices_of(status))
        assert given == [("n1", "d0"), ("n1", "d1"), ("n2", "d0")]
        # A Pod that goes takes its claim with it; the device is the next one's.
        bound = next(name for name in names if node_of(plane, name))
        request(plane, "DELETE", f"{PODS}/{bound}", AT_ONCE)
        wait_for("another is bound", lambda: any(node_of(plane, name) for name in waiting))
        assert "Traceback" not in process.log()


def test_a_pod_waits_for_the_claim_it_names(plane: ControlPlane, tmp_path: Path) -> None:
    publish(plane, "n1", device("d0"))
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", resourceClaimName="later")
        create_claim(plane, "later")
        wait_bound(plane, "p")
        assert users_of(status_of(plane, "later")) == {"p"}


def test_a_pod_is_bound_once_its_device_is_ready(plane: ControlPlane, tmp_path: Path) -> None:
    slow = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}
    publish(plane, "n1", device("d0", **slow))
    create_claim(plane, "c")
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", resourceClaimName="c")
        wait_for("the claim is allocated", lambda: devices_of(status_of(plane, "c")))

        def notes() -> list[str]:
            return [event.get("note", "") for event in read(plane, EVENTS)["items"]]

        note = "waiting for binding conditions for device on node n1"
        wait_for("the Event", lambda: note in notes())
        assert node_of(plane, "p") == ""
        set_conditions(plane, "c", "attached")
        wait_bound(plane, "p")


def test_a_device_that_fails_is_given_back(plane: ControlPlane, tmp_path: Path) -> None:
    slow = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}
    publish(plane, "n1", device("d0", **slow))
    create_claim(plane, "c")
    with scheduler(plane, tmp_path):
        create_pod(plane, "p", resourceClaimName="c")
        wait_for("the claim is allocated", lambda: devices_of(status_of(plane, "c")))
        set_conditions(plane, "c", "broken")
        wait_told(plane, "p", "device binding failed: claim=c, reason=Told")
        # No Node can use it any more: it is deallocated, and another device is looked for.
        publish(plane, "n2", device("d9"))
        request(plane, "DELETE", f"{SLICES}/gpu-n1")
        wait_bound(plane, "p")
        assert devices_of(status_of(plane, "c")) == [("n2", "d9")]
        assert node_of(plane, "p") == "n2"


def test_an_extended_resource_is_served_by_a_class(plane: ControlPlane, tmp_path: Path) -> None:
    publish(plane, "n2", device("d0"), device("d1"))
    amounts = {"example.com/gpu": "2"}
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "c", "image": "x", "resources": resources}
    spec = {"schedulerName": "berthmaster", "containers": [container]}
    with scheduler(plane, tmp_path):
        create(plane, PODS, {"metadata": {"name": "p"}, "spec": spec})
        wait_bound(plane, "p")
    pod = read(plane, f"{PODS}/p")
    told = pod["status"]["extendedResourceClaimStatus"]
    assert told["requestMappings"] == [
        {
            "containerName": "c",
            "resourceName": "example.com/gpu",
            "requestName": "container-0-request-0",
        }
    ]
    claim = read(plane, f"{CLAIMS}/{told['resourceClaimName']}")
    assert claim["metadata"]["name"].startswith("p-extended-resources-")
    assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert devices_of(claim["status"]) == [("n2", "d0"), ("n2", "d1")]
    assert users_of(claim["status"]) == {"p"}
