"""Volumes: claims, PersistentVolumes, classes, drivers and their limits."""

from collections.abc import Sequence
from typing import Final

from tests.parity.generator.manifests import (
    HOSTNAME,
    ZONE,
    ZONES,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)

_STORAGE: Final = "storage.k8s.io/v1"
_CLASSES: Final = {
    "immediate": ("csi.example", "Immediate"),
    "wffc": ("csi.example", "WaitForFirstConsumer"),
    "local": ("kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    "zonal": ("csi.example", "WaitForFirstConsumer"),
    "cap": ("cap.csi.example", "WaitForFirstConsumer"),
}
_CLASS_OF: Final = {
    "bound-zone": "wffc",
    "bound-local": "local",
    "bound-csi": "wffc",
    "rwop": "wffc",
}
_KINDS: Final = (*_CLASS_OF, "immediate", "wffc", "local", "zonal", "cap", "missing")


def storage(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give Pods volumes; gives all the objects that belong to them."""
    made = [*_classes(), *_drivers(), *_capacities(r), *_csi_nodes(r, nodes)]
    for number, pod in enumerate(pods):
        if chance(r, 0.75):
            pod["spec"]["volumes"] = []
            for index in range(r.choice([1, 1, 2])):
                made += _volume(r, pod, f"{number}-{index}", nodes)
    for number in range(r.choice([0, 2, 4])):
        made.append(_available(r, f"avail-{number}", nodes))
    _share_a_claim(r, pods)
    return made


def _classes() -> list[Manifest]:
    made = []
    for name, (provisioner, mode) in _CLASSES.items():
        fields = {"provisioner": provisioner, "volumeBindingMode": mode}
        made.append(manifest(_STORAGE, "StorageClass", name) | fields)
        if name == "zonal":
            expressions = [{"key": ZONE, "values": ["z-a", "z-b"]}]
            made[-1]["allowedTopologies"] = [{"matchLabelExpressions": expressions}]
    return made


def _drivers() -> list[Manifest]:
    return [
        manifest(_STORAGE, "CSIDriver", "cap.csi.example", spec={"storageCapacity": True}),
        manifest(_STORAGE, "CSIDriver", "csi.example", spec={}),
    ]


def _capacities(r: Random) -> list[Manifest]:
    return [
        manifest(
            _STORAGE,
            "CSIStorageCapacity",
            f"cap-{zone}",
            "default",
            storageClassName="cap",
            nodeTopology={"matchLabels": {ZONE: zone}},
            capacity=r.choice(["1Gi", "50Gi"]),
        )
        for zone in ZONES
        if chance(r, 0.8)
    ]


def _csi_nodes(r: Random, nodes: Sequence[Manifest]) -> list[Manifest]:
    made = []
    for name in map(name_of, nodes):
        if chance(r, 0.8):
            allocatable = {"count": r.choice([1, 2, 4])}
            driver = {
                "name": "csi.example",
                "nodeID": name,
                "topologyKeys": [],
                "allocatable": allocatable,
            }
            made.append(manifest(_STORAGE, "CSINode", name, spec={"drivers": [driver]}))
    return made


def _volume(r: Random, pod: Manifest, suffix: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give a Pod a volume; gives its claim, and the PersistentVolume if it is bound."""
    kind = r.choice(_KINDS)
    claim = manifest("v1", "PersistentVolumeClaim", f"pvc-{suffix}", "default")
    modes = ["ReadWriteOncePod"] if kind == "rwop" else ["ReadWriteOnce"]
    size, class_name = r.choice(["1Gi", "5Gi", "20Gi"]), _CLASS_OF.get(kind, kind)
    claim["spec"] = {
        "accessModes": modes,
        "storageClassName": class_name,
        "resources": {"requests": {"storage": size}},
        "volumeMode": "Filesystem",
    }
    claim["status"] = {"phase": "Pending"}
    made = [claim] if kind != "missing" else []
    if kind in _CLASS_OF or not is_pending(pod):
        made.append(_bind(r, claim, kind, nodes))
    number = len(pod["spec"]["volumes"])
    source = {"claimName": name_of(claim)}
    pod["spec"]["volumes"].append({"name": f"v{number}", "persistentVolumeClaim": source})
    return made


def _bind(r: Random, claim: Manifest, kind: str, nodes: Sequence[Manifest]) -> Manifest:
    """Bind a claim to a PersistentVolume of its own, which is given."""
    spec, metadata = claim["spec"], claim["metadata"]
    volume = manifest("v1", "PersistentVolume", name_of(claim).replace("pvc", "pv"))
    reference = {field: metadata[field] for field in ("namespace", "name", "uid")}
    volume["spec"] = {
        "accessModes": spec["accessModes"],
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "storageClassName": spec["storageClassName"],
        "volumeMode": "Filesystem",
        "claimRef": reference,
        "csi": {"driver": "csi.example", "volumeHandle": f"handle-{name_of(volume)}"},
    }
    volume["status"] = {"phase": "Bound"}
    if kind == "bound-zone":
        volume["metadata"]["labels"] = {ZONE: r.choice(ZONES)}
    if kind == "bound-local":
        del volume["spec"]["csi"]
        volume["spec"] |= _local(r, nodes)
    spec["volumeName"] = name_of(volume)
    metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["status"] = {"phase": "Bound"}
    return volume


def _local(r: Random, nodes: Sequence[Manifest]) -> Manifest:
    values = [name_of(r.choice(nodes))]
    expressions = [{"key": HOSTNAME, "operator": "In", "values": values}]
    terms = [{"matchExpressions": expressions}]
    affinity = {"required": {"nodeSelectorTerms": terms}}
    return {"local": {"path": "/mnt/disk"}, "nodeAffinity": affinity}


def _available(r: Random, name: str, nodes: Sequence[Manifest]) -> Manifest:
    volume = manifest("v1", "PersistentVolume", name)
    volume["spec"] = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": r.choice(["2Gi", "10Gi", "30Gi"])},
        "storageClassName": "local",
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Delete",
        **_local(r, nodes),
    }
    return volume | {"status": {"phase": "Available"}}


def _share_a_claim(r: Random, pods: Sequence[Manifest]) -> None:
    """Have a pending Pod ask for what a running one has."""
    used = [
        volume["persistentVolumeClaim"]
        for pod in pods
        if not is_pending(pod)
        for volume in pod["spec"].get("volumes", [])
    ]
    pending = [pod for pod in pods if is_pending(pod)]
    if used and pending and chance(r, 0.5):
        volume = {"name": "v0", "persistentVolumeClaim": dict(r.choice(used))}
        pending[0]["spec"]["volumes"] = [volume]


def add_exclusive_disks(r: Random, pods: Sequence[Manifest]) -> None:
    """Give Pods disks that only one Pod of a Node may write to."""
    for pod in pods:
        if chance(r, 0.4):
            read_only = chance(r, 0.5)
            disks: list[Manifest] = [
                {"gcePersistentDisk": {"pdName": r.choice(["pd1", "pd2"])}},
                {"awsElasticBlockStore": {"volumeID": r.choice(["vol1", "vol2"])}},
                {
                    "iscsi": {
                        "targetPortal": "127.0.0.1:3260",
                        "iqn": r.choice(["iqn.a", "iqn.b"]),
                        "lun": 0,
                    }
                },
                {
                    "rbd": {
                        "monitors": r.sample(["m1", "m2", "m3"], 2),
                        "image": r.choice(["img1", "img2"]),
                        "pool": "rbd",
                    }
                },
            ]
            disk = r.choice(disks)
            for source in disk.values():
                source["readOnly"] = read_only
            pod["spec"].setdefault("volumes", []).append({"name": "disk", **disk})
