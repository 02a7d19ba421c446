"""Pods: what they request, ports, priorities, and where they run."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.manifests import (
    APPS,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)
from tests.parity.generator.nodes import IMAGES

_CPU: Final = ("50m", "100m", "250m", "500m", "1", "1500m", "2")
_MEMORY: Final = ("64Mi", "128Mi", "500M", "1Gi", "2Gi", "3Gi")


def container(r: Random, name: str, *, is_rich: bool) -> Manifest:
    """Make a container; rich ones ask for more kinds of resources."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if chance(r, 0.85):
        requests["cpu"] = r.choice(_CPU)
    if chance(r, 0.85):
        requests["memory"] = r.choice(_MEMORY)
    if is_rich:
        if chance(r, 0.25):
            requests["ephemeral-storage"] = r.choice(["1Gi", "10Gi"])
        if chance(r, 0.25):
            requests["example.com/gpu"] = limits["example.com/gpu"] = r.choice("1124")
        if chance(r, 0.12):
            requests["hugepages-2Mi"] = limits["hugepages-2Mi"] = r.choice(["4Mi", "128Mi"])
            requests.setdefault("cpu", "100m")
        if chance(r, 0.06):
            requests = {"cpu": "0"}
    given = (("requests", requests), ("limits", limits))
    resources = {field: amounts for field, amounts in given if amounts}
    return {"name": name, "image": r.choice(list(IMAGES)), "resources": resources}


def pod(r: Random, name: str, *, is_rich: bool = False, namespace: str = "default") -> Manifest:
    """Make a pending Pod."""
    count = r.choice([1, 1, 1, 2])
    spec: Manifest = {
        "containers": [container(r, f"c{i}", is_rich=is_rich) for i in range(count)],
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    if is_rich:
        _enrich(r, spec)
    made = manifest("v1", "Pod", name, namespace)
    made["metadata"]["labels"] = {"app": r.choice(APPS), "rev": r.choice(["1", "2"])}
    return made | {"spec": spec, "status": {"phase": "Pending"}}


def _enrich(r: Random, spec: Manifest) -> None:
    """Add init containers, sidecars, overhead and requests of the Pod as a whole."""
    if chance(r, 0.3):
        spec["initContainers"] = []
        for number in range(r.choice([1, 2, 3])):
            made = container(r, f"i{number}", is_rich=True)
            if chance(r, 0.4):
                made["restartPolicy"] = "Always"
            spec["initContainers"].append(made)
    if chance(r, 0.15):
        spec["overhead"] = {"cpu": "250m", "memory": "120Mi"}
    if chance(r, 0.1):
        spec["resources"] = {"requests": {"cpu": "3", "memory": "4Gi"}}


def place(r: Random, target: Manifest, nodes: Sequence[Manifest]) -> Manifest:
    """Have a Pod run somewhere."""
    target["spec"]["nodeName"] = name_of(r.choice(nodes))
    start = f"2026-01-01T00:{r.randint(0, 59):02d}:00Z"
    target["status"] = {"phase": "Running", "startTime": start}
    return target


def add_ports(r: Random, target: Manifest) -> None:
    """Have containers and sidecars take ports of the Node."""
    sidecars = [
        c for c in target["spec"].get("initContainers", []) if c.get("restartPolicy") == "Always"
    ]
    for taker in target["spec"]["containers"] + sidecars:
        if chance(r, 0.7):
            taker["ports"] = [_port(r) for _ in range(r.choice([1, 2]))]


def _port(r: Random) -> Manifest:
    port: Manifest = {
        "containerPort": 80,
        "hostPort": r.choice([8080, 8081, 9090]),
        "protocol": r.choice(["TCP", "UDP"]),
    }
    if chance(r, 0.5):
        port["hostIP"] = r.choice(["0.0.0.0", "127.0.0.1", "10.0.0.1"])  # noqa: S104 - manifests
    return port


def prioritize(r: Random, pods: Sequence[Manifest]) -> list[Manifest]:
    """Give Pods priorities; gives budgets for some of them."""
    for target in pods:
        target["spec"]["priority"] = r.choice(
            [5, 50, 500, 2000] if is_pending(target) else [0, 0, 10, 100, 1000]
        )
        if is_pending(target) and chance(r, 0.15):
            target["spec"]["preemptionPolicy"] = "Never"
    return [_budget(r, app) for app in APPS if chance(r, 0.5)]


def _budget(r: Random, app: str) -> Manifest:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    status = {
        "disruptionsAllowed": r.choice([0, 1, 2]),
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
    }
    made = manifest("policy/v1", "PodDisruptionBudget", f"pdb-{app}", "default")
    return made | {"spec": spec, "status": status}


def nominate(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> None:
    """Nominate half of the pending Pods to some Node, where a victim may still be leaving."""
    for target in pods:
        if is_pending(target) and chance(r, 0.5):
            name = name_of(r.choice(nodes))
            target["status"]["nominatedNodeName"] = name
            there = [pod for pod in pods if pod["spec"].get("nodeName") == name]
            if there and chance(r, 0.3):
                _preempt(r, r.choice(there))


def _preempt(r: Random, victim: Manifest) -> None:
    """Have a Pod be on its way out, for another or for a reason of its own."""
    start_ending(r, victim)
    conditions = [
        {"type": "Ready", "status": "False"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
    ]
    victim["status"]["conditions"] = conditions if chance(r, 0.7) else conditions[:1]


def start_ending(r: Random, target: Manifest) -> None:
    """Have a running Pod be on its way out."""
    target["metadata"] |= {
        "deletionTimestamp": f"2026-01-01T01:{r.randint(0, 59):02d}:00Z",
        "deletionGracePeriodSeconds": 30,
        "finalizers": ["example.com/hold"],
    }
