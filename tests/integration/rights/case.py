"""A part of the cluster for one scenario: Nodes and objects that no other scenario's Pods touch."""

from __future__ import annotations

from typing import Any, Final

from deploy.controlplane import ControlPlane
from tests.faultproxy import LoseAnswer, Match
from tests.integration.rest import create, read, request
from tests.integration.rights.kinds import create_profile
from tests.integration.scheduler_faults.link import Link
from tests.integration.scheduler_process import SchedulerProcess

DEFAULT: Final = "/api/v1/namespaces/default"
PODS: Final = f"{DEFAULT}/pods"
NODES: Final = "/api/v1/nodes"
VOLUMES: Final = "/api/v1/persistentvolumes"
VOLUME_CLAIMS: Final = f"{DEFAULT}/persistentvolumeclaims"
STORAGE_CLASSES: Final = "/apis/storage.k8s.io/v1/storageclasses"
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
DEVICES: Final = "/apis/resource.k8s.io/v1"
CLAIMS: Final = f"{DEVICES}/namespaces/default/resourceclaims"
HOSTNAME: Final = "kubernetes.io/hostname"
HIGH: Final = "high"
"""A PriorityClass."""


class Case:
    """Makes objects named after the scenario, for the Pods of one scheduler.

    Parameters
    ----------
    reader
        A token of somebody who may read what the scheduler serves.
    own_token
        A token of the scheduler's own account, as `berthmaster explain` brings.
    """

    def __init__(
        self,
        plane: ControlPlane,
        process: SchedulerProcess,
        link: Link,
        *,
        name: str,
        reader: str = "",
        own_token: str = "",
    ) -> None:
        self.plane = plane
        self.process = process
        self.name = name
        self.reader = reader
        self.own_token = own_token
        self.answers: list[tuple[int, str]] = []
        self._link = link

    def node(self, *, cpu: str = "4") -> None:
        """Create the scenario's Node."""
        labels = {HOSTNAME: self.name}
        node = {"metadata": {"name": self.name, "labels": labels}, "status": _room(cpu)}
        create(self.plane, NODES, node)

    def resize_node(self, cpu: str) -> None:
        """Give the Node another amount of CPU."""
        node = read(self.plane, f"{NODES}/{self.name}")
        node["status"] |= _room(cpu)
        status, answer = request(self.plane, "PUT", f"{NODES}/{self.name}/status", node)
        assert status == 200, answer

    def pod(self, suffix: str = "pod", *, cpu: str = "10m", **spec: Any) -> dict[str, Any]:
        """Create a Pod that only the scenario's Node may have; give it as it was stored."""
        resources = spec.pop("resources", {"requests": {"cpu": cpu}})
        body = {
            "schedulerName": "berthmaster",
            "nodeSelector": {HOSTNAME: self.name},
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "x", "resources": resources}],
            **spec,
        }
        return create(
            self.plane, PODS, {"metadata": {"name": f"{self.name}-{suffix}"}, "spec": body}
        )

    def read_pod(self, suffix: str = "pod") -> dict[str, Any]:
        """Read a Pod."""
        return read(self.plane, f"{PODS}/{self.name}-{suffix}")

    def is_bound(self, suffix: str = "pod") -> bool:
        """Tell whether a Pod has its Node."""
        return bool(self.read_pod(suffix)["spec"].get("nodeName"))

    def has_condition(self, kind: str, suffix: str = "pod") -> bool:
        """Tell whether a Pod's status has a condition."""
        conditions = self.read_pod(suffix)["status"].get("conditions", [])
        return any(condition["type"] == kind for condition in conditions)

    def events(self, suffix: str = "pod") -> list[dict[str, Any]]:
        """Give the Events about a Pod."""
        name = f"{self.name}-{suffix}"
        return [e for e in read(self.plane, EVENTS)["items"] if e["regarding"]["name"] == name]

    def lose_answer_to_binding(self) -> None:
        """Have the answer to the Binding of the scenario's Pod lost."""
        match = Match(method="POST", path=f"/pods/{self.name}-pod/binding$")
        self._link.add(LoseAnswer(match=match, times=1))

    def ask(self, method: str, path: str, body: str | None = None, *, token: str) -> None:
        """Ask the scheduler, and keep its answer."""
        self.answers.append(self.process.request(method, path, body, token=token))

    def knows(self, view: str, collection: str) -> bool:
        """Tell whether the scheduler's view has as many objects as there are."""
        count = len(read(self.plane, collection)["items"])
        _, metrics = self.process.get("/metrics", token=self.reader)
        return f'berthmaster_watched_objects{{resource="{view}"}} {count}.0\n' in metrics

    def storage_class(self, provisioner: str) -> None:
        """Create a class of volumes that wait for their first consumer."""
        storage = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
        create(self.plane, STORAGE_CLASSES, {"metadata": {"name": self.name}, **storage})

    def volume(self) -> None:
        """Create a volume on the scenario's Node."""
        here = {"key": HOSTNAME, "operator": "In", "values": [self.name]}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.name,
            "local": {"path": "/x"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        }
        create(self.plane, VOLUMES, {"metadata": {"name": self.name}, "spec": spec})

    def pod_with_volume(self) -> None:
        """Create a Pod and the claim of a volume that it names."""
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.name,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        create(self.plane, VOLUME_CLAIMS, {"metadata": {"name": self.name}, "spec": claim})
        self.pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": self.name}}])

    def device(self) -> None:
        """Publish a device of the scenario's Node, of a class with an extended resource."""
        driver = f"{self.name}.example.com"
        selector = {"cel": {"expression": f"device.driver == '{driver}'"}}
        spec: dict[str, Any] = {"extendedResourceName": self.extended, "selectors": [selector]}
        create(
            self.plane, f"{DEVICES}/deviceclasses", {"metadata": {"name": self.name}, "spec": spec}
        )
        pool = {"name": self.name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": self.name, "pool": pool, "devices": [{"name": "d0"}]}
        create(
            self.plane, f"{DEVICES}/resourceslices", {"metadata": {"name": self.name}, "spec": spec}
        )

    @property
    def extended(self) -> str:
        """The extended resource that stands for the scenario's devices."""
        return f"example.com/{self.name}"

    def pod_with_claim(self) -> None:
        """Create a claim of a device, and a Pod that names it."""
        exactly = {"deviceClassName": self.name}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        create(self.plane, CLAIMS, {"metadata": {"name": self.name}, "spec": spec})
        self.pod(resourceClaims=[{"name": "d", "resourceClaimName": self.name}])

    def profile(self) -> None:
        """Create a profile to be followed."""
        create_profile(self.plane, self.name)

    def pod_with_extended_resource(self, **spec: Any) -> dict[str, Any]:
        """Create a Pod that asks for a device by its extended resource."""
        amounts = {self.extended: "1"}
        return self.pod(resources={"requests": amounts, "limits": amounts}, **spec)


def _room(cpu: str) -> dict[str, Any]:
    return {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
