"""What the API server would add to a new Pod, as far as it decides where the Pod may run.

Source: pkg/apis/core/v1/defaults.go, plugin/pkg/admission/{priority,defaulttolerationseconds},
v1.36.3. Left out is what only a cluster knows (limit ranges, runtime classes, webhooks): ask
the API server itself where there is one.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.explain.kinds import Manifest, PriorityClass

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_NO_EXECUTE: Final = "NoExecute"
_GRACE_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_GRACE_SECONDS: Final = 300


def admit(manifest: Manifest, classes: Mapping[str, PriorityClass], namespace: str) -> Manifest:
    """Give the Pod with what the API server would have filled in; `manifest` stays as it is.

    Parameters
    ----------
    classes
        The PriorityClasses there are, by name.
    namespace
        Where the Pod would be created if it does not say.

    Raises
    ------
    InputError
        For a PriorityClass that there is none of, or a Pod without a specification.
    """
    pod: dict[str, Any] = deepcopy(dict(manifest))
    metadata, spec = pod.setdefault("metadata", {}), pod.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        raise InputError("Pod: metadata and spec must be objects")
    metadata["namespace"] = metadata.get("namespace") or namespace
    metadata["name"] = metadata.get("name") or metadata.get("generateName") or "new"
    spec["schedulerName"] = spec.get("schedulerName") or DEFAULT_SCHEDULER_NAME
    for container in _containers(spec):
        _default_requests(container)
        if spec.get("hostNetwork"):
            _default_host_ports(container)
    _default_pools(spec)
    _default_priority(spec, classes)
    _add_grace_tolerations(spec)
    return pod


def _containers(spec: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for field in ("containers", "initContainers"):
        yield from (c for c in spec.get(field) or () if isinstance(c, dict))


def _default_requests(container: dict[str, Any]) -> None:
    """What is limited and not requested is requested as much."""
    resources = container.get("resources")
    if isinstance(resources, dict) and isinstance(resources.get("limits"), dict):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}


def _default_host_ports(container: dict[str, Any]) -> None:
    for port in container.get("ports") or ():
        if isinstance(port, dict) and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)


def _default_pools(spec: dict[str, Any]) -> None:
    for volume in spec.get("volumes") or ():
        disk = volume.get("rbd") if isinstance(volume, dict) else None
        if isinstance(disk, dict):
            disk["pool"] = disk.get("pool") or "rbd"


def _default_priority(spec: dict[str, Any], classes: Mapping[str, PriorityClass]) -> None:
    name = spec.get("priorityClassName")
    if not name:
        chosen = min(
            (c for c in classes.values() if c.global_default),
            key=lambda c: c.value,
            default=None,
        )
    elif name in classes:
        chosen = classes[name]
    elif name in _SYSTEM_PRIORITIES:
        spec.setdefault("priority", _SYSTEM_PRIORITIES[name])
        return
    else:
        known = ", ".join(sorted({*classes, *_SYSTEM_PRIORITIES}))
        raise InputError(f"spec.priorityClassName: no PriorityClass {name}; there are: {known}")
    if chosen is not None:
        spec["priority"] = chosen.value
        spec["preemptionPolicy"] = spec.get("preemptionPolicy") or chosen.preemption_policy


def _add_grace_tolerations(spec: dict[str, Any]) -> None:
    """A Pod stays for a while on a Node that is not ready, unless it says for how long."""
    tolerations = list(spec.get("tolerations") or ())
    for taint in _GRACE_TAINTS:
        if not any(_tolerates(t, taint) for t in tolerations if isinstance(t, dict)):
            tolerations.append(
                {
                    "key": taint,
                    "operator": "Exists",
                    "effect": _NO_EXECUTE,
                    "tolerationSeconds": _GRACE_SECONDS,
                }
            )
    spec["tolerations"] = tolerations


def _tolerates(toleration: Mapping[str, Any], taint: str) -> bool:
    matches_key = toleration.get("key") in (None, "", taint)
    return matches_key and toleration.get("effect") in (None, "", _NO_EXECUTE)
