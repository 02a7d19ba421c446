"""Manifests of a small cluster in which every plugin has something to say, by telling names."""

from collections.abc import Mapping
from typing import Any, Final

Manifest = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
DRIVER: Final = "gpu.example"
CSI_DRIVER: Final = "csi.example"
SPACES: Final = ("default", "team-a")
NODE_NAMES: Final = ("n0", "n1", "n2", "n3")
CLAIM_NAMES: Final = ("disk0", "disk1", "made0", "once")
DEVICE_CLAIM_NAMES: Final = ("gpu0", "gpu1")
EXTENDED: Final = "example.com/gpu"

_NODES: Final[Mapping[str, tuple[Manifest, Manifest]]] = {
    "zone a": ({"cpu": "4"}, {ZONE: "a"}),
    "zone b": ({"cpu": "4"}, {ZONE: "b"}),
    "small": ({"cpu": "2", "pods": "3"}, {ZONE: "b", "disk": "ssd"}),
    "no zone": ({"cpu": "3"}, {}),
    "tainted": ({"cpu": "4"}, {ZONE: "a"}),
    "closed": ({"cpu": "4"}, {ZONE: "a"}),
}
NODE_KINDS: Final = tuple(_NODES)


def node_manifest(name: str, kind: str) -> Manifest:
    """Give a Node of a kind."""
    amounts, labels = _NODES[kind]
    spec: Manifest = {}
    if kind == "tainted":
        spec["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    if kind == "closed":
        spec["unschedulable"] = True
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "spec": spec,
        "status": {"allocatable": {"memory": "8Gi", "pods": "20", **amounts}},
    }


_WEB: Final = {"matchLabels": {"app": "web"}}


def _spread(key: str, when: str = "DoNotSchedule", **more: Any) -> Manifest:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": _WEB,
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def _affinity(kind: str, key: str, **more: Any) -> Manifest:
    term = {"topologyKey": key, "labelSelector": _WEB, **more}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _preferring(kind: str, key: str) -> Manifest:
    weighted = {"weight": 50, "podAffinityTerm": {"topologyKey": key, "labelSelector": _WEB}}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}}


def _claiming(name: str) -> Manifest:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def _device(name: str) -> Manifest:
    return {"resourceClaims": [{"name": "d", "resourceClaimName": name}]}


_TEAM_A: Final = {"matchLabels": {"team": "a"}}

PODS: Final[Mapping[str, Manifest]] = {
    "plain": {},
    "two cpus": {"cpu": "2"},
    "four cpus": {"cpu": "4"},
    "port": {"port": 80},
    "tolerates": {"tolerations": [{"key": "k", "operator": "Exists"}]},
    "on ssd": {"nodeSelector": {"disk": "ssd"}},
    "spread": _spread(ZONE),
    "spread by host": _spread(HOSTNAME),
    "spread softly": _spread(ZONE, "ScheduleAnyway"),
    "spread by revision": _spread(ZONE, matchLabelKeys=["rev"]),
    "spread over two": _spread(ZONE, minDomains=2),
    "near": _affinity("podAffinity", ZONE),
    "near elsewhere": _affinity("podAffinity", ZONE, namespaceSelector=_TEAM_A),
    "away": _affinity("podAntiAffinity", HOSTNAME),
    "away from all": _affinity("podAntiAffinity", ZONE, namespaceSelector={}),
    "away from team": _affinity("podAntiAffinity", ZONE, namespaceSelector=_TEAM_A),
    "rather near": _preferring("podAffinity", ZONE),
    "rather away": _preferring("podAntiAffinity", HOSTNAME),
    **{name: _claiming(name) for name in CLAIM_NAMES},
    **{name: _device(name) for name in DEVICE_CLAIM_NAMES},
    "extended": {"extended": "1"},
}
POD_KINDS: Final = tuple(PODS)


def pod_manifest(
    name: str, kind: str, *, app: str = "web", space: str = "default", priority: int = 0
) -> Manifest:
    """Give a Pod of a kind, for our scheduler."""
    spec = dict(PODS[kind])
    requests = {"cpu": spec.pop("cpu", "1")}
    if "extended" in spec:
        requests[EXTENDED] = spec.pop("extended")
    container: Manifest = {"name": "c", "resources": {"requests": requests}}
    if "port" in spec:
        container["ports"] = [{"hostPort": spec.pop("port"), "containerPort": 80}]
    # Each Pod has a label of its own, as those of StatefulSets do.
    labels = {"app": app, "rev": str(len(name) % 2), "own": name}
    return {
        "metadata": {"name": name, "namespace": space, "labels": labels},
        "spec": {
            "schedulerName": "berthmaster",
            "priority": priority,
            "containers": [container],
            **spec,
        },
        "status": {},
    }


def volume_manifest(name: str, node: str) -> Manifest:
    """Give a volume that one Node reaches."""
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "nodeAffinity": {"required": _only(node)},
        },
        "status": {"phase": "Available"},
    }


def made_volume(name: str, claim: Manifest, node: str) -> Manifest:
    """Give what a provisioner makes for a claim, where it is told."""
    volume = volume_manifest(name, node)
    meta = claim["metadata"]
    volume["spec"]["claimRef"] = {k: meta[k] for k in ("namespace", "name", "uid")}
    volume["spec"]["storageClassName"] = claim["spec"]["storageClassName"]
    volume["spec"]["accessModes"] = claim["spec"]["accessModes"]
    volume["spec"]["csi"] = {"driver": CSI_DRIVER, "volumeHandle": name}
    return volume


def _only(node: str) -> Manifest:
    expression = {"key": HOSTNAME, "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def claim_manifest(name: str, space: str = "default") -> Manifest:
    """Give a claim: one of what there is, or one for which a volume is made."""
    mode = "ReadWriteOncePod" if name == "once" else "ReadWriteOnce"
    return {
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "accessModes": [mode],
            "storageClassName": "local" if name.startswith("disk") else "made",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    }


def device_claim(name: str, space: str = "default") -> Manifest:
    """Give a claim of one device."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {
        "metadata": {"name": name, "namespace": space},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {},
    }


def slice_manifest(node: str, count: int, *, is_slow: bool = False) -> Manifest:
    """Give the devices of a Node; slow ones have to be made ready."""
    slow = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    devices = [{"name": f"d{number}", **(slow if is_slow else {})} for number in range(count)]
    return {
        "metadata": {"name": f"slice-{node}"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": devices,
        },
    }


def fixed_objects() -> list[tuple[str, Manifest]]:
    """Give what is there from the start, with its kind."""
    local = {"provisioner": "kubernetes.io/no-provisioner"}
    made = {"provisioner": CSI_DRIVER}
    mode = {"volumeBindingMode": "WaitForFirstConsumer"}
    extended = {"extendedResourceName": EXTENDED}
    return [
        ("StorageClass", {"metadata": {"name": "local"}, **local, **mode}),
        ("StorageClass", {"metadata": {"name": "made"}, **made, **mode}),
        ("DeviceClass", {"metadata": {"name": "gpu"}, "spec": extended}),
        *(("Namespace", namespace_manifest(space, "a")) for space in SPACES[1:]),
        ("Namespace", namespace_manifest("default", "b")),
    ]


def namespace_manifest(name: str, team: str) -> Manifest:
    """Give a Namespace of a team."""
    return {"metadata": {"name": name, "labels": {"team": team}}}


def budget_manifest(allowed: int) -> Manifest:
    """Give a budget for the Pods of an application."""
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": _WEB},
        "status": {"disruptionsAllowed": allowed},
    }


def service_manifest() -> Manifest:
    """Give a Service, by which its Pods are spread."""
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}},
    }


def csi_node_manifest(node: str, limit: int) -> Manifest:
    """Give how many volumes a Node may have attached."""
    driver = {"name": CSI_DRIVER, "nodeID": node, "allocatable": {"count": limit}}
    return {"metadata": {"name": node}, "spec": {"drivers": [driver]}}
