"""Rarer things about volumes, added to a snapshot that `storage` has made."""

from collections.abc import Callable, Sequence
from typing import Final

from tests.parity.generator.manifests import (
    HOSTNAME,
    ZONE,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)

_STORAGE: Final = "storage.k8s.io/v1"
_ALL: Final = ",".join(
    f"kubernetes.io/{plugin}"
    for plugin in ("gce-pd", "aws-ebs", "azure-disk", "cinder", "portworx-volume")
)
_IN_TREE_CLASS: Final = "in-tree"
_MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"


def corner_storage(
    r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]
) -> list[Manifest]:
    """Give Pods odd volumes; gives the objects that belong to them."""
    made = [*_attachments(r, nodes), *_odd_capacities(r), _in_tree_class(r)]
    for number, pod in enumerate(pods):
        if chance(r, 0.5 if is_pending(pod) else 0.2):
            corner = r.choice(_CORNERS)
            volume, objects = corner(r, pod, f"corner-{number}", nodes)
            pod["spec"].setdefault("volumes", []).append({"name": "corner", **volume})
            made += objects
    return made


def add_to_csi_nodes(r: Random, csi_nodes: Sequence[Manifest]) -> None:
    """Have some Nodes' drivers speak for in-tree plugins, or know no limit."""
    for csi_node in csi_nodes:
        if chance(r, 0.3):
            csi_node["metadata"]["annotations"] = {
                _MIGRATED: r.choice(["", "kubernetes.io/gce-pd,kubernetes.io/aws-ebs", _ALL])
            }
        kind = r.random()
        drivers = csi_node["spec"]["drivers"]
        if kind < 0.2:
            drivers.append(
                {
                    "name": r.choice(["pd.csi.storage.gke.io", "ebs.csi.aws.com"]),
                    "nodeID": name_of(csi_node),
                    "topologyKeys": [],
                    "allocatable": {"count": r.choice([1, 2])},
                }
            )
        elif kind < 0.3:
            del drivers[0]["allocatable"]
        elif kind < 0.4:
            csi_node["spec"]["drivers"] = []


def _attachments(r: Random, nodes: Sequence[Manifest]) -> list[Manifest]:
    return [
        manifest(
            _STORAGE,
            "VolumeAttachment",
            f"attached-{number}",
            spec={
                "attacher": "csi.example" if chance(r, 0.8) else "",
                "nodeName": name_of(r.choice(nodes)),
                "source": {"persistentVolumeName": f"pv-{number}-0"} if chance(r, 0.8) else {},
            },
            status={"attached": True},
        )
        for number in range(r.choice([0, 3]))
    ]


def _odd_capacities(r: Random) -> list[Manifest]:
    """Room for volumes of the class cap: nowhere, or up to a size."""
    kind = r.random()
    fields: Manifest = {"storageClassName": "cap", "capacity": "50Gi"}
    if kind < 0.3:
        fields |= {
            "nodeTopology": {"matchLabels": {}},
            "maximumVolumeSize": r.choice(["2Gi", "9Gi"]),
        }
    elif kind > 0.6:
        return []
    return [manifest(_STORAGE, "CSIStorageCapacity", "cap-odd", "default", **fields)]


def _in_tree_class(r: Random) -> Manifest:
    plugin = r.choice(["aws-ebs", "gce-pd", "azure-disk", "cinder", "portworx-volume"])
    fields = {
        "provisioner": f"kubernetes.io/{plugin}",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return manifest(_STORAGE, "StorageClass", _IN_TREE_CLASS) | fields


def _claim(name: str, r: Random, **spec: object) -> Manifest:
    claim = manifest("v1", "PersistentVolumeClaim", name, "default")
    claim["spec"] = {
        "accessModes": [r.choice(["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"])],
        "resources": {"requests": {"storage": r.choice(["1Gi", "5Gi"])}},
        "volumeMode": r.choice(["Filesystem", "Filesystem", "Block"]),
        "storageClassName": "local",
        **spec,
    }
    return claim | {"status": {"phase": "Pending"}}


def _volume_of(claim: Manifest, **spec: object) -> Manifest:
    volume = manifest("v1", "PersistentVolume", f"pv-of-{name_of(claim)}")
    volume["spec"] = {
        "accessModes": ["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"],
        "capacity": {"storage": "10Gi"},
        "storageClassName": claim["spec"].get("storageClassName") or "",
        "volumeMode": claim["spec"]["volumeMode"],
        **spec,
    }
    return volume | {"status": {"phase": "Available"}}


def _bind(claim: Manifest, volume: Manifest) -> None:
    metadata = claim["metadata"]
    reference = {field: metadata[field] for field in ("namespace", "name", "uid")}
    volume["spec"]["claimRef"] = reference
    volume["status"] = {"phase": "Bound"}
    claim["spec"]["volumeName"] = name_of(volume)
    metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["status"] = {"phase": "Bound"}


def _use(claim: Manifest) -> Manifest:
    return {"persistentVolumeClaim": {"claimName": name_of(claim)}}


_Made = tuple[Manifest, list[Manifest]]


def _ending(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A claim that is going, lost, or of a class that is not there."""
    claim = _claim(name, r)
    kind = r.random()
    if kind < 0.35:
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        claim["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
    elif kind < 0.6:
        claim["status"] = {"phase": "Lost"}
    elif kind < 0.8:
        claim["spec"]["storageClassName"] = r.choice(["missing", ""])
    else:
        del claim["spec"]["storageClassName"]
    return _use(claim), [claim]


def _halfway(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A claim that names a volume which is missing, or not bound back yet."""
    claim = _claim(name, r)
    volume = _volume_of(claim)
    claim["spec"]["volumeName"] = name_of(volume)
    if chance(r, 0.4):
        _bind(claim, volume)
        return _use(claim), [claim]
    return _use(claim), [claim, volume]


def _chosen(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A claim whose Node has been selected before, or a volume kept for it."""
    claim = _claim(
        name, r, storageClassName=r.choice(["wffc", "zonal", "local", "cap", _IN_TREE_CLASS])
    )
    if chance(r, 0.5):
        node = name_of(r.choice(nodes))
        claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": node}
        return _use(claim), [claim]
    volume = _volume_of(claim)
    volume["spec"]["claimRef"] = {"namespace": "default", "name": name}
    if chance(r, 0.5):
        volume["spec"]["nodeAffinity"] = _on(r, nodes)
    return _use(claim), [claim, volume]


def _on(r: Random, nodes: Sequence[Manifest]) -> Manifest:
    values = [name_of(node) for node in r.sample(list(nodes), 2)]
    expression = r.choice(
        [
            {"key": HOSTNAME, "operator": "In", "values": values},
            {"key": "disk", "operator": "In", "values": ["ssd"]},
            {"key": "gen", "operator": "Gt", "values": ["4"]},
        ]
    )
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def _selecting(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A claim that chooses among volumes by labels, size and mode."""
    claim = _claim(name, r, selector={"matchLabels": {"tier": "fast"}})
    volumes = []
    for number in range(3):
        volume = _volume_of(claim)
        volume["metadata"]["name"] = f"{name_of(volume)}-{number}"
        volume["metadata"]["uid"] = f"uid-{name_of(volume)}"
        volume["metadata"]["labels"] = {"tier": r.choice(["fast", "slow"])}
        volume["spec"]["capacity"] = {"storage": r.choice(["1Gi", "5Gi", "100Gi"])}
        volume["spec"]["nodeAffinity"] = _on(r, nodes)
        volumes.append(volume)
    return _use(claim), [claim, *volumes]


def _zones(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A bound volume in several zones, or of a class that has them."""
    claim = _claim(name, r, storageClassName="wffc")
    volume = _volume_of(claim, csi={"driver": "csi.example", "volumeHandle": f"h-{name}"})
    _bind(claim, volume)
    key = r.choice(
        [ZONE, *(f"failure-domain.beta.kubernetes.io/{at}" for at in ("zone", "region"))]
    )
    zones = r.choice(["z-a", "z-a__z-b", "z-c", "nowhere"])
    volume["metadata"]["labels"] = {key: zones}
    return _use(claim), [claim, volume]


def _ephemeral(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A volume whose claim is made for this Pod: by it, by another, or not yet."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "wffc"}}
    source = {"ephemeral": {"volumeClaimTemplate": template}}
    if chance(r, 0.3):
        return source, []
    claim = _claim(f"{name_of(pod)}-corner", r, storageClassName="wffc")
    # A running Pod's that is another's fails all attempts that come upon it.
    is_own = chance(r, 0.7 if is_pending(pod) else 0.9)
    uid = pod["metadata"]["uid"] if is_own else "another"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid}
    claim["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    if chance(r, 0.5):
        volume = _volume_of(claim, csi={"driver": "csi.example", "volumeHandle": f"h-{name}"})
        _bind(claim, volume)
        return source, [claim, volume]
    return source, [claim]


def _inline(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A volume of a driver or of an in-tree plugin, written into the Pod."""
    source: Manifest = r.choice(
        [
            {"csi": {"driver": "csi.example"}},
            {"gcePersistentDisk": {"pdName": f"pd-{name}"}},
            {"awsElasticBlockStore": {"volumeID": f"vol-{name}"}},
            {"azureDisk": {"diskName": name, "diskURI": f"/disks/{name}", "kind": "Managed"}},
            {"cinder": {"volumeID": f"vol-{name}"}},
            {"portworxVolume": {"volumeID": f"vol-{name}"}},
            {
                "rbd": {
                    "monitors": r.sample(["m1", "m2", "m3", "m4"], r.randint(1, 3)),
                    "image": "img1",
                }
            },
            {"emptyDir": {}},
        ]
    )
    if chance(r, 0.07):
        source = {"awsElasticBlockStore": {"volumeID": f"aws://z-a/{name}"}}
    return source, []


def _in_tree(r: Random, pod: Manifest, name: str, nodes: Sequence[Manifest]) -> _Made:
    """A bound volume of an in-tree plugin, for which a driver may speak."""
    claim = _claim(name, r, storageClassName="wffc", volumeMode="Filesystem")
    source: Manifest = r.choice(
        [
            {"gcePersistentDisk": {"pdName": f"pd-{name}"}},
            {"awsElasticBlockStore": {"volumeID": f"aws://z-a/vol-{name}"}},
        ]
    )
    volume = _volume_of(claim, **source)
    _bind(claim, volume)
    if chance(r, 0.5):
        volume["metadata"]["labels"] = {ZONE: "z-a"}
    return _use(claim), [claim, volume]


_Corner = Callable[[Random, Manifest, str, Sequence[Manifest]], _Made]

_CORNERS: Final[tuple[_Corner, ...]] = (
    _ending,
    _halfway,
    _chosen,
    _selecting,
    _zones,
    _ephemeral,
    _inline,
    _in_tree,
)
