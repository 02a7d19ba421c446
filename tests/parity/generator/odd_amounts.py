"""Amounts as odd as the API takes them, and Pods that ask for them in every way there is."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.manifests import Manifest, Random, chance, is_pending

_Amounts = tuple[str | int | float, ...]

_CPU: Final[_Amounts] = (
    *("0", "1", "1e0", "2E0", "1e-1", "1e+0", "0.1", ".5", "1.", "100m", "1500m", "0.0001"),
    *("100000u", "1000000001n", "1n", "+1", "-0", "0.0015", "001", 1, 2, 0.5, 0.1),
)
_MEMORY: Final[_Amounts] = (
    *("0", "1e9", "0.5Gi", "1.5Gi", ".5G", "1073741824000m", "1073741823500m", "128974848"),
    *("129e6", "129M", "100k", "1Ki", "0.1", "1", "1e-3", "500000000000000n", "1E3", "200Mi"),
    *(1073741824, 2.5),
)
_WHOLE: Final[_Amounts] = ("0", "1", "2", "1e0", "2000m", "1k", "4", 1, 3)
_NODE_CPU: Final[_Amounts] = ("0", "1", "2.5", "4e0", "7910m", "16", "1k", "3999999u", 8)
_NODE_MEMORY: Final[_Amounts] = (
    *("0", "1e9", "8Gi", "15.5Gi", "3977Mi", "16e9", "1Ti", "4Pi", "8589934592000m", 8589934592),
)
_NODE_PODS: Final[_Amounts] = ("0", "1", "3", "1e1", "110", "2500m", 110, 250)
_SCALARS: Final = (
    *("example.com/gpu", "example.com/fpga", "hugepages-2Mi", "hugepages-1Gi"),
    *("kubernetes.io/batch", "attachable-volumes-csi-x", "storage", "sub.example.com/x-1"),
    # No names of a quota.
    *("NVIDIA.com/gpu", "example.com/-gpu"),
)
_MODES: Final = ("Infeasible", "Deferred", "")


def odd_amounts(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Change what Nodes offer and what Pods request."""
    for node in nodes:
        _offer(r, node)
    for pod in pods:
        _ask(r, pod["spec"])
        if not is_pending(pod) and chance(r, 0.4):
            _resize(r, pod)
    return []


def _offer(r: Random, node: Manifest) -> None:
    offered = node["status"]["allocatable"]
    for name, amounts in (("cpu", _NODE_CPU), ("memory", _NODE_MEMORY), ("pods", _NODE_PODS)):
        if chance(r, 0.4):
            offered[name] = r.choice(amounts)
    for name in _SCALARS:
        if chance(r, 0.3):
            offered[name] = r.choice(_WHOLE)
    if chance(r, 0.05):
        offered.pop(r.choice(["cpu", "memory", "pods"]), None)
    if chance(r, 0.03):
        del node["status"]["allocatable"]
    elif chance(r, 0.03):
        del node["status"]


def _amounts(r: Random, *, has_scalars: bool = True) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.7):
        made["cpu"] = r.choice(_CPU)
    if chance(r, 0.7):
        made["memory"] = r.choice(_MEMORY)
    if chance(r, 0.1):
        made["ephemeral-storage"] = r.choice(_MEMORY)
    if has_scalars and chance(r, 0.3):
        made[r.choice(_SCALARS)] = r.choice(_WHOLE)
    return made


def _container(r: Random, name: str) -> Manifest:
    made: Manifest = {"name": name, "image": ""}
    kind = r.random()
    if kind < 0.75:
        made["resources"] = {"requests": _amounts(r)}
        if chance(r, 0.3):
            made["resources"]["limits"] = _amounts(r)
    elif kind < 0.85:
        made["resources"] = {"limits": _amounts(r)}
    elif kind < 0.9:
        made["resources"] = {"requests": {}, "limits": None}
    return made


def _ask(r: Random, spec: Manifest) -> None:
    if chance(r, 0.8):
        spec["containers"] = [_container(r, f"c{i}") for i in range(r.choice([1, 1, 2, 3]))]
    if chance(r, 0.35):
        spec["initContainers"] = [_container(r, f"i{i}") for i in range(r.choice([1, 2, 3]))]
        for container in spec["initContainers"]:
            if chance(r, 0.5):
                container["restartPolicy"] = "Always"
    if chance(r, 0.15):
        # Not with what follows: kube-scheduler adds it to a fraction of Mi or Gi each time it asks.
        spec["overhead"] = _amounts(r)
    elif chance(r, 0.3):
        asked = _amounts(r, has_scalars=False)
        if chance(r, 0.3):
            asked[r.choice(["hugepages-2Mi", "hugepages-1Gi"])] = r.choice(_WHOLE)
        spec["resources"] = {r.choice(["requests", "requests", "limits"]): asked}


def _resize(r: Random, pod: Manifest) -> None:
    """Have a running Pod be in the middle of a resize, as a whole or by container."""
    spec, status = pod["spec"], pod["status"]
    for field, containers in (
        ("containerStatuses", spec["containers"]),
        ("initContainerStatuses", spec.get("initContainers", [])),
    ):
        statuses = [
            {"name": container["name"], **_granted(r)} for container in containers if chance(r, 0.8)
        ]
        if statuses:
            status[field] = statuses
    if chance(r, 0.3):
        status |= _granted(r)
    reason = r.choice(_MODES)
    if chance(r, 0.6):
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        status["conditions"] = [condition]
    if chance(r, 0.2):
        in_progress = {"type": "PodResizeInProgress", "status": "True"}
        status.setdefault("conditions", []).append(in_progress)


def _granted(r: Random) -> Manifest:
    made: Manifest = {}
    if chance(r, 0.6):
        made["allocatedResources"] = _amounts(r)
    if chance(r, 0.6):
        made["resources"] = {"requests": _amounts(r)} if chance(r, 0.8) else {}
    return made
