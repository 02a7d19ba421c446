"""Pods whose scheduling takes work elsewhere: volumes to bind, devices to wait for."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from deploy.controlplane import ControlPlane
from tests.integration.rest import create, request, wait_for
from tests.integration.test_live_devices import CLAIMS as DEVICE_CLAIMS
from tests.integration.test_live_devices import CLASSES as DEVICE_CLASSES
from tests.integration.test_live_devices import (
    DRIVER,
    devices_of,
    publish,
    set_conditions,
    status_of,
)
from tests.integration.test_live_volumes import (
    CLAIMS,
    create_claim,
    create_class,
    create_volume,
    node_of,
    refuse,
    selected_node,
)

PODS: Final = "/api/v1/namespaces/default/pods"
ATTACHED: Final = "example.com/attached"
EXTENDED_RESOURCE: Final = "example.com/gpu"


def prepare_claims(plane: ControlPlane, node: str) -> None:
    """Make classes of volumes and devices, and a Node's devices: one at once, one to wait for."""
    create_class(plane, "local", "kubernetes.io/no-provisioner")
    create_class(plane, "made", "csi.example.com")
    for model, fields in (
        ("fast", {"extendedResourceName": EXTENDED_RESOURCE}),
        ("slow", {}),
    ):
        expression = f'device.attributes["{DRIVER}"].model == "{model}"'
        spec = {"selectors": [{"cel": {"expression": expression}}], **fields}
        create(plane, DEVICE_CLASSES, {"metadata": {"name": model}, "spec": spec})
    awaited = {"bindingConditions": [ATTACHED], "bindingFailureConditions": ["example.com/broken"]}
    publish(
        plane,
        node,
        {"name": "d0", "attributes": {"model": {"string": "fast"}}},
        {"name": "d1", "attributes": {"model": {"string": "slow"}}, **awaited},
    )


def live_with_claims(plane: ControlPlane, node: str, number: int) -> None:
    """Bind a local volume, refuse to make another, serve one device at once and one later."""
    volume, refused, fast, slow = (
        f"{what}-{number}" for what in ("volume", "refused", "fast-device", "slow-device")
    )
    create_volume(plane, volume, node)
    create_claim(plane, volume, "local")
    _create(plane, volume, volumes=[_claimed(volume)])
    create_claim(plane, refused, "made")
    _create(plane, refused, volumes=[_claimed(refused)])
    amounts = {EXTENDED_RESOURCE: "1"}
    _create(plane, fast, resources={"requests": amounts, "limits": amounts})
    exactly = {"deviceClassName": "slow", "count": 1}
    claim = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    create(plane, DEVICE_CLAIMS, {"metadata": {"name": slow}, "spec": claim})
    _create(
        plane,
        slow,
        resources={"claims": [{"name": "device"}]},
        resourceClaims=[{"name": "device", "resourceClaimName": slow}],
    )
    wait_for("a Node is selected", lambda: selected_node(plane, refused))
    wait_for("it is refused", lambda: refuse(plane, refused))
    wait_for("the device is allocated", lambda: devices_of(status_of(plane, slow)))
    set_conditions(plane, slow, ATTACHED)
    for name in (volume, fast, slow):
        wait_for(f"{name} is bound", partial(node_of, plane, name))
    for name in (volume, refused, fast, slow):
        request(plane, "DELETE", f"{PODS}/{name}")
    for path in (f"{CLAIMS}/{volume}", f"{CLAIMS}/{refused}", f"{DEVICE_CLAIMS}/{slow}"):
        request(plane, "DELETE", path)
    wait_for(
        "the device is free", lambda: request(plane, "GET", f"{DEVICE_CLAIMS}/{slow}")[0] == 404
    )


def _claimed(claim: str) -> dict[str, Any]:
    return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}


def _create(plane: ControlPlane, name: str, *, resources: Any = None, **spec: Any) -> None:
    container = {"name": "c", "image": "x", "resources": resources or {}}
    body = {
        "schedulerName": "berthmaster",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [container],
        **spec,
    }
    create(plane, PODS, {"metadata": {"name": name}, "spec": body})
