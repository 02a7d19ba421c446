"""Odd ports and images of Pods, and odd moments in the lives of Pods and Nodes."""

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

_ADDRESSES: Final = ("", "0.0.0.0", "127.0.0.1", "::", "::1", "10.0.0.1")  # noqa: S104 - manifests
_DIGEST: Final = "sha256:" + "5" * 64
_NAMES: Final = (
    *("busybox", "busybox:latest", "busybox:1", "docker.io/library/busybox", "registry:5000/a"),
    *("registry:5000/a:latest", "registry:5000/a:v1", f"busybox@{_DIGEST}", "BusyBox:1", ""),
    *(f"registry:5000/a:v1@{_DIGEST}", f"a@{_DIGEST}:latest", "a/b/c", "a/b/c:latest"),
)
_SIZES: Final = (0, 1, 23 * 2**20, 23 * 2**20 + 1, 300_000_000, 1000 * 2**20, 2**40, 5 * 2**60)
_PHASES: Final = ("Running", "Running", "Unknown", "Pending", "Succeeded", "Failed", "", None)
_PRIORITIES: Final = (-2147483648, -1, 0, 1, 1000000000, 2000000000, 2000001000, None)
_STARTS: Final = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2031-05-05T05:05:05Z", None)


def odd_ports(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Have Pods take ports of a Node in odd ways."""
    for pod in pods:
        spec = pod["spec"]
        if chance(r, 0.2):
            spec["hostNetwork"] = True
        if chance(r, 0.3):
            always = {"restartPolicy": "Always"} if chance(r, 0.6) else {}
            spec["initContainers"] = [{"name": "i0", "image": "", **always}]
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            if chance(r, 0.7):
                container["ports"] = [_port(r) for _ in range(r.choice([0, 1, 2, 3]))]
    return []


def _port(r: Random) -> Manifest:
    number = r.choice([80, 81])
    port: Manifest = {"containerPort": number}
    if chance(r, 0.8):
        port["hostPort"] = r.choice([number, 80, 0])
    if chance(r, 0.7):
        port["protocol"] = r.choice(["TCP", "UDP", "SCTP", ""])
    if chance(r, 0.7):
        port["hostIP"] = r.choice(_ADDRESSES)
    if chance(r, 0.2):
        port["name"] = "http"
    return port


def odd_images(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Name images with and without tags, digests and registries, of odd sizes."""
    sizes = {name: r.choice(_SIZES) for name in _NAMES}
    for node in nodes:
        names = r.sample(_NAMES, r.choice([0, 2, 5, len(_NAMES)]))
        images = []
        while names:
            count = r.choice([1, 1, 2, 3])
            images.append(_image(r, names[:count], sizes))
            del names[:count]
        node["status"]["images"] = [*images, {"names": [], "sizeBytes": 7}]
        if chance(r, 0.1):
            del node["status"]["images"]
    for pod in pods:
        spec = pod["spec"]
        spec["containers"] = [_runs(r, f"c{i}") for i in range(r.choice([1, 1, 2, 5]))]
        if chance(r, 0.4):
            spec["initContainers"] = [_runs(r, f"i{i}") for i in range(r.choice([1, 2]))]
        if chance(r, 0.2):
            reference = {"reference": r.choice(_NAMES)}
            spec["volumes"] = [{"name": "v", "image": reference}]
    return []


def _image(r: Random, names: list[str], sizes: dict[str, int]) -> Manifest:
    size = sizes[names[0]] if chance(r, 0.8) else r.choice(_SIZES)
    made: Manifest = {"names": names, "sizeBytes": size}
    if chance(r, 0.05):
        del made["sizeBytes"]
    return made


def _runs(r: Random, name: str) -> Manifest:
    made = {"name": name, "image": r.choice(_NAMES)}
    if chance(r, 0.1):
        del made["image"]
    return made


def odd_lives(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Pods and Nodes that are ending, unready, unknown or finished; odd priorities and budgets."""
    for node in nodes:
        if chance(r, 0.15):
            node["metadata"] |= _ending()
        if chance(r, 0.3):
            status = r.choice(["False", "Unknown"])
            node["status"]["conditions"] = [
                {"type": "Ready", "status": status},
                {"type": "MemoryPressure", "status": "True"},
            ]
        if chance(r, 0.3):
            node.setdefault("spec", {})["podCIDR"] = "10.0.0.0/24"
    names = [name_of(node) for node in nodes]
    for pod in pods:
        _age(r, pod, names)
    if chance(r, 0.4):
        # As who writes manifests by hand leaves it.
        for pod in pods:
            pod["status"].pop("startTime", None)
    return [made for number in range(r.choice([0, 1, 3])) for made in _budget(r, number)]


def _ending() -> Manifest:
    return {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}


def _age(r: Random, pod: Manifest, names: list[str]) -> None:
    spec, status = pod["spec"], pod["status"]
    if chance(r, 0.7):
        _set(spec, "priority", r.choice(_PRIORITIES if chance(r, 0.5) else (0, 10, 100)))
    if chance(r, 0.2):
        spec["preemptionPolicy"] = r.choice(["Never", "PreemptLowerPriority"])
    if chance(r, 0.2):
        pod["metadata"] |= _ending()
    if chance(r, 0.1):
        del pod["metadata"]["labels"]
    if not is_pending(pod):
        _set(status, "phase", r.choice(_PHASES))
        _set(status, "startTime", r.choice(_STARTS))
        return
    if chance(r, 0.3):
        status["nominatedNodeName"] = r.choice([*names, "nowhere", ""])
    if chance(r, 0.1):
        spec["schedulerName"] = ""
    if chance(r, 0.05):
        status["phase"] = r.choice(["Unknown", "Failed"])


def _set(fields: Manifest, name: str, value: str | int | None) -> None:
    """Set a field; None takes it away."""
    if value is None:
        fields.pop(name, None)
    else:
        fields[name] = value


def _budget(r: Random, number: int) -> list[Manifest]:
    expression = {"key": "app", "operator": r.choice(["Exists", "DoesNotExist"])}
    selector = r.choice(
        [
            {"matchLabels": {"app": r.choice(APPS)}},
            {"matchExpressions": [expression]},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
            {},
            None,
        ]
    )
    status: Manifest = {"disruptionsAllowed": r.choice([-1, 0, 1, 3])}
    if chance(r, 0.2):
        status = {}
    spec = {} if selector is None else {"selector": selector}
    namespace = r.choice(["default", "default", "team-a"])
    budget = manifest("policy/v1", "PodDisruptionBudget", f"odd-{number}", namespace)
    return [budget | {"spec": spec, "status": status}]
