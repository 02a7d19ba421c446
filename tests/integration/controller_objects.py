"""Objects that the controller tells of, and Pods as schedulers and kubelets leave them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import yaml

from deploy.controlplane import ControlPlane
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

ROOT = Path(__file__).parents[2]
CRDS = ROOT / "charts" / "berthmaster" / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
BUILT_IN_GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
PROFILES = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LABEL = "scheduling.x-k8s.io/pod-group"
NODE = "worker-1"
PATIENCE_SECONDS = 60.0
"""For a status: a controller that was just started imports for seconds on a busy machine."""


class ControllerProcess(SchedulerProcess):
    """``berthmaster controller`` with `arguments`, on a free port; killed on leaving."""

    subcommand = "controller"

    def metric(self, sample: str) -> float:
        """Give a sample's value by its name and labels as they are written; 0 if none."""
        _, text = self.get("/metrics")
        for line in text.splitlines():
            name, _, value = line.rpartition(" ")
            if name == sample:
                return float(value)
        return 0.0

    def write_count(self) -> float:
        """Give how many statuses it has tried to write."""
        _, text = self.get("/metrics")
        name = "berthmaster_controller_status_writes_total{"
        values = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(name)]
        assert values, text
        return sum(map(float, values))

    def wait_settled(self) -> None:
        """Wait until it knows all that is there and has nothing to look at."""
        self.wait_line("Leading:")
        wait_for(
            "all is known",
            lambda: self.get("/readyz")[0] == 200,
            timeout_seconds=PATIENCE_SECONDS,
        )
        wait_for(
            "nothing is to be looked at",
            lambda: self.metric("berthmaster_controller_queue_depth") == 0,
            timeout_seconds=PATIENCE_SECONDS,
        )


def controller(plane: ControlPlane, log_path: Path, *arguments: str) -> ControllerProcess:
    """Give a controller that leads at once; not started yet."""
    return ControllerProcess(
        log_path,
        *("--kubeconfig", str(plane.kubeconfig_path), "--authorization", "none"),
        *("--secure-port", "0", "--bind-address", "127.0.0.1", "-v", "3", *arguments),
    )


def define(plane: ControlPlane, path: Path) -> str:
    """Define a resource, and wait until it is served; give the definition's name."""
    definition = yaml.safe_load(path.read_text())
    create(plane, DEFINITIONS, definition)
    spec = definition["spec"]
    served = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    wait_for(
        "the resource is served",
        lambda: request(plane, "GET", served)[0] == 200,
        timeout_seconds=PATIENCE_SECONDS,
    )
    return str(definition["metadata"]["name"])


def define_all(plane: ControlPlane) -> None:
    """Define the resources of the chart."""
    for path in sorted(CRDS.glob("*.yaml")):
        define(plane, path)


def create_group(plane: ControlPlane, name: str, min_member: int, **spec: Any) -> None:
    body = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": min_member, **spec},
    }
    create(plane, GROUPS, body)


def create_member(plane: ControlPlane, name: str, group: str, **spec: Any) -> None:
    """Create a Pod of a group."""
    pod = {
        "metadata": {"name": name, "labels": {LABEL: group}},
        "spec": {
            "schedulerName": "berthmaster",
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i:1"}],
            **spec,
        },
    }
    create(plane, PODS, pod)


def undefine(plane: ControlPlane) -> None:
    """Remove all definitions of resources, and wait until they are gone."""
    clear(plane, DEFINITIONS)


def delete(plane: ControlPlane, path: str) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    code, answer = request(plane, "DELETE", path, options)
    assert code == 200, answer


def set_status(plane: ControlPlane, path: str, status: dict[str, Any]) -> None:
    """Write a status, as its owner would."""
    stored = read(plane, path)
    stored["status"] = {**stored.get("status", {}), **status}
    code, answer = request(plane, "PUT", f"{path}/status", stored)
    assert code == 200, answer


def refuse(plane: ControlPlane, pod: str, message: str) -> None:
    """Say that a Pod does not fit, as a scheduler does."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
    set_status(plane, f"{PODS}/{pod}", {"conditions": [condition]})


def bind(plane: ControlPlane, pod: str) -> None:
    """Give a Pod a Node, as a scheduler does."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
    }
    create(plane, f"{PODS}/{pod}/binding", binding)


def set_phase(plane: ControlPlane, pod: str, phase: str) -> None:
    """Say what has become of a Pod, as its kubelet does."""
    set_status(plane, f"{PODS}/{pod}", {"phase": phase})


def status_of(plane: ControlPlane, path: str) -> dict[str, Any]:
    status: dict[str, Any] = read(plane, path).get("status", {})
    return status


def condition_of(plane: ControlPlane, path: str, type_: str) -> dict[str, Any]:
    """Give a condition; nothing if it is not there."""
    conditions = status_of(plane, path).get("conditions", [])
    return next((each for each in conditions if each["type"] == type_), {})


def versions(plane: ControlPlane, *collections: str) -> dict[str, str]:
    """Give the resourceVersions of all objects, by their names."""
    return {
        f"{collection}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
        for collection in collections
        for item in read(plane, collection)["items"]
    }


def events_about(plane: ControlPlane, name: str, kind: str = "PodGroup") -> list[dict[str, Any]]:
    """Give the Events about an object, the oldest first."""
    events = [
        event
        for event in read(plane, EVENTS)["items"]
        if (event["regarding"]["kind"], event["regarding"]["name"]) == (kind, name)
    ]
    return sorted(events, key=lambda event: str(event["eventTime"]))


def wait_told(
    plane: ControlPlane, name: str, *reasons: str, kind: str = "PodGroup"
) -> list[dict[str, Any]]:
    """Wait until the Events about an object are for these reasons, in this order; give them.

    Events are written after the status that they tell of, and not all at the controller's end.
    """
    wait_for(
        f"as many Events about {name} as in {reasons}",
        lambda: len(events_about(plane, name, kind)) >= len(reasons),
        timeout_seconds=PATIENCE_SECONDS,
    )
    events = events_about(plane, name, kind)
    assert [event["reason"] for event in events] == list(reasons)
    return events


def clear(plane: ControlPlane, *collections: str) -> None:
    """Delete all objects of some collections, and wait until they are gone."""
    for collection in collections:
        for item in read(plane, collection)["items"]:
            delete(plane, f"{collection}/{item['metadata']['name']}")
        wait_for("all are gone", partial(_is_empty, plane, collection))


def _is_empty(plane: ControlPlane, collection: str) -> bool:
    return not read(plane, collection)["items"]
