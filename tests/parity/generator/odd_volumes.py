"""Claims and volumes of odd sizes, modes, classes and places, and drivers with odd limits."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.parity.generator.manifests import (
    HOSTNAME,
    REGION,
    ZONE,
    Manifest,
    Random,
    chance,
    is_pending,
    manifest,
    name_of,
)

_STORAGE: Final = "storage.k8s.io/v1"
_SIZES: Final = ("0", "1", "1e9", "1G", "1Gi", "1.5Gi", "1000m", "2Gi", "9223372036854775807", 5)
_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_CLASSES: Final = ("late", "early", "local", "", "none", "far", "sized")
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_PHASES: Final = ("Available", "Available", "Available", "Pending", "Released", "Failed", "Bound")
_KEYS: Final = (
    *(ZONE, REGION, "failure-domain.beta.kubernetes.io/zone"),
    *("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/other"),
)
_ZONES: Final = ("z-a", "z-b", "", "z-a__z-b", "__", "z-a__", "z-a__z-a", "r1", "r1__z-c")
_MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_IN_TREE: Final = tuple(
    f"kubernetes.io/{plugin}"
    for plugin in (
        *("aws-ebs", "gce-pd", "azure-disk", "azure-file", "cinder", "portworx-volume"),
        "vsphere-volume",
    )
)
_MIGRATED: Final = ",".join(_IN_TREE)
_DRIVERS: Final = ("csi.example", "pd.csi.storage.gke.io", "other.example")


def odd_volumes(r: Random, pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> list[Manifest]:
    """Give Pods volumes; gives all the objects that belong to them."""
    made = [*_classes(r, nodes), *_drivers(r, nodes)]
    for node in nodes:
        _relabel(r, node["metadata"]["labels"])
    made += [_volume(r, f"free-{number}", nodes) for number in range(r.choice([0, 3, 6]))]
    claims: dict[str, list[str]] = {}
    for number, pod in enumerate(pods):
        if not chance(r, 0.75 if is_pending(pod) else 0.3):
            continue
        namespace = pod["metadata"].get("namespace", "default")
        volumes = pod["spec"].setdefault("volumes", [])
        for place in range(r.choice([1, 1, 2, 3])):
            known = claims.setdefault(namespace, [])
            if known and chance(r, 0.15):
                name = r.choice(known)
            else:
                name = f"odd-{number}-{place}"
                known.append(name)
                made += _claim(r, name, namespace, nodes)
            source: Manifest = {"claimName": "" if chance(r, 0.02) else name}
            if chance(r, 0.2):
                source["readOnly"] = True
            volumes.append({"name": f"v{place}", "persistentVolumeClaim": source})
        if chance(r, 0.2):
            volumes.append({"name": "other", **_other(r)})
    return made


def _relabel(r: Random, labels: dict[str, str]) -> None:
    kind = r.random()
    if kind < 0.2:
        labels["failure-domain.beta.kubernetes.io/zone"] = labels.get(ZONE, "z-a")
        labels.pop(ZONE, None)
    elif kind < 0.3:
        labels.pop(REGION, None)
    elif kind < 0.35:
        labels.clear()


def _classes(r: Random, nodes: Sequence[Manifest]) -> list[Manifest]:
    made = [
        _class("early", "csi.example", "Immediate"),
        _class("late", r.choice([*_DRIVERS, *_IN_TREE]), "WaitForFirstConsumer"),
        _class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        _class("sized", "sized.example", "WaitForFirstConsumer"),
        _class("far", "csi.example", "WaitForFirstConsumer"),
    ]
    made[-1]["allowedTopologies"] = [
        {"matchLabelExpressions": [_topology(r, nodes) for _ in range(r.choice([1, 1, 2]))]}
        for _ in range(r.choice([1, 2]))
    ]
    if chance(r, 0.1):
        made[-1]["allowedTopologies"] = [{"matchLabelExpressions": []}]
    if chance(r, 0.2):
        # Which claims without a class would get: nothing to a scheduler.
        made[0]["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    if chance(r, 0.1):
        del made[1]["volumeBindingMode"]
    return [each for each in made if chance(r, 0.95)]


def _class(name: str, provisioner: str, mode: str) -> Manifest:
    fields = {"provisioner": provisioner, "volumeBindingMode": mode}
    return manifest(_STORAGE, "StorageClass", name) | fields


def _topology(r: Random, nodes: Sequence[Manifest]) -> Manifest:
    return r.choice(
        [
            {"key": ZONE, "values": r.sample(["z-a", "z-b", "z-c", "nowhere"], 2)},
            {"key": HOSTNAME, "values": [name_of(r.choice(nodes)), "nowhere"]},
            {"key": "missing", "values": ["x"]},
            {"key": "disk", "values": ["ssd"]},
        ]
    )


def _drivers(r: Random, nodes: Sequence[Manifest]) -> list[Manifest]:
    made = []
    for name in (*_DRIVERS, "sized.example"):
        spec: Manifest = {"storageCapacity": True} if name == "sized.example" else {}
        if chance(r, 0.9):
            made.append(manifest(_STORAGE, "CSIDriver", name, spec=spec))
    for number in range(r.choice([0, 1, 3])):
        fields: Manifest = {"storageClassName": r.choice(["sized", "sized", "late"])}
        if chance(r, 0.9):
            fields["nodeTopology"] = r.choice(
                [
                    {"matchLabels": {ZONE: "z-a"}},
                    {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]},
                    {},
                ]
            )
        for field, probability in (("capacity", 0.9), ("maximumVolumeSize", 0.4)):
            if chance(r, probability):
                fields[field] = r.choice(_SIZES)
        made.append(manifest(_STORAGE, "CSIStorageCapacity", f"odd-{number}", "default", **fields))
    for node in nodes:
        if chance(r, 0.7):
            drivers = [_node_driver(r, name) for name in r.sample(_DRIVERS, r.choice([0, 1, 3]))]
            made.append(manifest(_STORAGE, "CSINode", name_of(node), spec={"drivers": drivers}))
            if chance(r, 0.5):
                migrated = r.choice([_MIGRATED, "", "kubernetes.io/cinder,kubernetes.io/unknown"])
                made[-1]["metadata"]["annotations"] = {_MIGRATED_PLUGINS: migrated}
    return made


def _node_driver(r: Random, name: str) -> Manifest:
    made: Manifest = {"name": name, "nodeID": "id", "topologyKeys": []}
    if chance(r, 0.8):
        made["allocatable"] = r.choice([{}, {"count": 0}, {"count": 1}, {"count": 2}])
    return made


def _claim(r: Random, name: str, namespace: str, nodes: Sequence[Manifest]) -> list[Manifest]:
    claim = manifest("v1", "PersistentVolumeClaim", name, namespace)
    spec: Manifest = {"accessModes": r.sample(_MODES, r.choice([0, 1, 1, 2]))}
    if chance(r, 0.95):
        spec["resources"] = {"requests": {"storage": r.choice(_SIZES)}}
    if chance(r, 0.7):
        spec["volumeMode"] = r.choice(["Filesystem", "Filesystem", "Block", ""])
    kind = r.choice(_CLASSES)
    if chance(r, 0.9):
        spec["storageClassName"] = kind
    if chance(r, 0.15):
        claim["metadata"]["annotations"] = {_CLASS_ANNOTATION: r.choice(_CLASSES)}
    if chance(r, 0.2):
        spec["selector"] = r.choice(
            [
                {},
                {"matchLabels": {"tier": "fast"}},
                {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["fast"]}]},
                {"matchLabels": {"tier": "-fast"}},
            ]
        )
    claim |= {"spec": spec, "status": {"phase": r.choice(["Pending", "Pending", "Lost", ""])}}
    if chance(r, 0.05):
        claim["metadata"] |= {
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["kubernetes.io/pvc-protection"],
        }
    return [claim, *r.choice(_BINDINGS)(r, claim, nodes)]


_Binding = Callable[[Random, Manifest, Sequence[Manifest]], list[Manifest]]


def _unbound(r: Random, claim: Manifest, nodes: Sequence[Manifest]) -> list[Manifest]:
    """No volume yet; perhaps a Node is selected, or one waits that is kept for the claim."""
    if chance(r, 0.2):
        selected = r.choice([name_of(r.choice(nodes)), "nowhere", ""])
        annotations = claim["metadata"].setdefault("annotations", {})
        annotations["volume.kubernetes.io/selected-node"] = selected
    if chance(r, 0.7):
        return []
    volume = _volume(r, f"pv-{name_of(claim)}", nodes)
    volume["spec"]["storageClassName"] = claim["spec"].get("storageClassName", "")
    volume["spec"]["claimRef"] = _reference(r, claim)
    return [volume]


def _bound(r: Random, claim: Manifest, nodes: Sequence[Manifest]) -> list[Manifest]:
    """A volume; perhaps not said by both, or of another claim by now, or gone."""
    volume = _volume(r, f"pv-{name_of(claim)}", nodes)
    claim["spec"]["volumeName"] = name_of(volume)
    if chance(r, 0.9):
        claim["metadata"].setdefault("annotations", {})[_COMPLETED] = r.choice(["yes", "yes", ""])
        claim["status"] = {"phase": "Bound"}
    if chance(r, 0.95):
        volume["spec"]["claimRef"] = _reference(r, claim)
    return [volume] if chance(r, 0.95) else []


_BINDINGS: Final[tuple[_Binding, ...]] = (_unbound, _bound)


def _reference(r: Random, claim: Manifest) -> Manifest:
    metadata = claim["metadata"]
    made = {field: metadata[field] for field in ("namespace", "name", "uid")}
    kind = r.random()
    if kind < 0.15:
        del made["uid"]
    elif kind < 0.2:
        made["uid"] = "another"
    return made


def _volume(r: Random, name: str, nodes: Sequence[Manifest]) -> Manifest:
    volume = manifest("v1", "PersistentVolume", name)
    spec: Manifest = {"accessModes": r.sample(_MODES, r.choice([1, 2, 4]))}
    if chance(r, 0.97):
        spec["capacity"] = {"storage": r.choice(_SIZES)}
    if chance(r, 0.9):
        spec["storageClassName"] = r.choice(["local", "local", *_CLASSES])
    if chance(r, 0.6):
        spec["volumeMode"] = r.choice(["Filesystem", "Block"])
    if chance(r, 0.6):
        spec["nodeAffinity"] = _where(r, nodes)
    handle = r.choice([name, name, "same"])
    spec |= r.choice(
        [
            {"csi": {"driver": r.choice(_DRIVERS), "volumeHandle": handle}},
            {"local": {"path": "/mnt"}},
            {"gcePersistentDisk": {"pdName": handle}},
            {"nfs": {"server": "s", "path": "/"}},
            {"awsElasticBlockStore": {"volumeID": r.choice(["vol-1", "aws://z-a/", handle])}},
            {"azureDisk": {"diskName": handle, "diskURI": f"/disks/{handle}", "kind": "Managed"}},
            {"cinder": {"volumeID": handle}},
            {"portworxVolume": {"volumeID": handle}},
            {"vsphereVolume": {"volumePath": handle}},
            {"azureFile": {"secretName": "s", "shareName": handle}},
        ]
    )
    labels = {}
    if chance(r, 0.4):
        labels["tier"] = r.choice(["fast", "slow"])
    if chance(r, 0.4):
        labels[r.choice(_KEYS)] = r.choice(_ZONES)
    if labels:
        volume["metadata"]["labels"] = labels
    if chance(r, 0.05):
        volume["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        volume["metadata"]["finalizers"] = ["kubernetes.io/pv-protection"]
    return volume | {"spec": spec, "status": {"phase": r.choice(_PHASES)}}


def _where(r: Random, nodes: Sequence[Manifest]) -> Any:
    names = [name_of(r.choice(nodes)) for _ in range(2)]
    expressions: list[Manifest] = [
        {"key": HOSTNAME, "operator": "In", "values": names},
        {"key": ZONE, "operator": "NotIn", "values": ["z-a"]},
        {"key": "gen", "operator": "Lt", "values": ["6"]},
        {"key": "disk", "operator": "Exists"},
        {"key": "missing", "operator": "DoesNotExist"},
    ]
    terms: list[Manifest] = [
        {"matchExpressions": r.sample(expressions, r.choice([1, 1, 2]))}
        for _ in range(r.choice([1, 1, 2]))
    ]
    if chance(r, 0.1):
        terms.append({})
    if chance(r, 0.1):
        field = {"key": "metadata.name", "operator": "In", "values": names[:1]}
        terms[0] |= {"matchFields": [field]}
    return r.choice([{"required": {"nodeSelectorTerms": terms}}] * 9 + [{}])


def _other(r: Random) -> Manifest:
    """Give a volume that is no claim's."""
    return r.choice(
        [
            {"csi": {"driver": r.choice(_DRIVERS)}},
            {"gcePersistentDisk": {"pdName": "same", "readOnly": chance(r, 0.5)}},
            {"awsElasticBlockStore": {"volumeID": "aws://z-a/bad"}},
            {"emptyDir": {}},
            {"configMap": {"name": "c"}},
            {"iscsi": {"targetPortal": "p", "iqn": "", "lun": 0, "readOnly": chance(r, 0.5)}},
            {"rbd": {"monitors": [], "image": "", "readOnly": chance(r, 0.5)}},
            {"rbd": {"monitors": ["m1", "m1"], "image": "", "pool": "p"}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
        ]
    )
