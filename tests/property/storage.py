"""Random storage objects and Pods that use them, few enough to meet each other."""

from typing import Any

from hypothesis import strategies as st

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.storage_objects import ClaimReference
from scheduler_svc.core.volume_objects import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    RBDVolumeSource,
    Volume,
)
from tests.builders import make_node_info, term, where
from tests.storage import (
    HOSTNAME,
    claiming,
    csi,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
    pod_with,
)

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
NODE_NAMES = ("n0", "n1", "n2", "n3")
CLASSES = ("local", "made", "told", "now")
CLAIMS = ("c0", "c1", "c2", "c3", "c4")
VOLUMES = ("v0", "v1", "v2", "v3", "v4", "v5")
DRIVERS = ("csi.a", "csi.b", "ebs.csi.aws.com", "pd.csi.storage.gke.io")

nodes_by_name: dict[str, st.SearchStrategy[NodeInfo]] = {
    name: st.fixed_dictionaries(
        {HOSTNAME: st.just(name)},
        optional={ZONE: st.sampled_from("12"), BETA_ZONE: st.sampled_from("12")},
    ).map(lambda labels, name=name: make_node_info(name, labels=labels))  # type: ignore[misc]
    for name in NODE_NAMES
}
nodes = st.sampled_from(NODE_NAMES).flatmap(nodes_by_name.__getitem__)

_expressions = st.one_of(
    st.builds(
        lambda operator, names: where(HOSTNAME, operator, *names),
        st.sampled_from(["In", "In", "NotIn"]),
        st.lists(st.sampled_from(NODE_NAMES), min_size=1, max_size=2),
    ),
    st.builds(lambda zone: where(ZONE, "In", zone), st.sampled_from("12")),
    st.builds(lambda operator: where(ZONE, operator), st.sampled_from(["Exists", "DoesNotExist"])),
)
_terms = st.lists(_expressions, min_size=1, max_size=2).map(lambda found: term(*found))
_sizes = st.sampled_from(["1Gi", "2Gi", "1500M"])
_modes = st.sampled_from([("ReadWriteOnce",), ("ReadWriteOnce",), ("ReadWriteOncePod",)])


@st.composite
def volumes(draw: st.DrawFn) -> Any:
    name = draw(st.sampled_from(VOLUMES))
    owner = draw(st.none() | st.sampled_from(CLAIMS))
    uid = draw(st.sampled_from(["", f"uid-{owner}", "uid-other"]))
    source: dict[str, Any] = {}
    if draw(st.booleans()):
        handle = draw(st.sampled_from(["h1", "h2", name]))
        source["csi"] = csi(handle, draw(st.sampled_from(DRIVERS)))
    return make_volume(
        name,
        size=draw(_sizes),
        storage_class=draw(st.sampled_from(CLASSES)),
        on=draw(st.none() | _terms),
        claim_ref=None if owner is None else ClaimReference("default", owner, uid),
        phase=draw(st.sampled_from(["Available", "Available", "Bound"])),
        labels=draw(st.sampled_from([{}, {ZONE: "1"}, {BETA_ZONE: "1__2"}, {ZONE: "1____2"}])),
        access_modes=draw(_modes),
        is_terminating=draw(st.integers(0, 9)) == 0,
        **source,
    )


@st.composite
def claims(draw: st.DrawFn) -> Any:
    is_bound = draw(st.booleans())
    return make_claim(
        draw(st.sampled_from(CLAIMS)),
        size=draw(_sizes),
        storage_class=draw(st.sampled_from(CLASSES)),
        volume=draw(st.sampled_from(VOLUMES)) if is_bound else "",
        selected_node=draw(st.none() | st.none() | st.sampled_from(NODE_NAMES)),
        access_modes=draw(_modes),
        is_terminating=draw(st.integers(0, 9)) == 0,
    )


_PROVISIONERS = {
    "local": "kubernetes.io/no-provisioner",
    "made": "csi.a",
    "told": "csi.b",
    "now": "csi.a",
}


@st.composite
def classes(draw: st.DrawFn) -> Any:
    name = draw(st.sampled_from(CLASSES))
    topologies = draw(st.sampled_from([[], [], [{ZONE: ["1"]}], [{HOSTNAME: ["n0", "n1"]}]]))
    mode = "Immediate" if name == "now" else "WaitForFirstConsumer"
    return make_class(name, provisioner=_PROVISIONERS[name], mode=mode, topologies=topologies)


csi_nodes = st.builds(
    make_csi_node,
    st.sampled_from(NODE_NAMES),
    st.dictionaries(st.sampled_from(DRIVERS), st.none() | st.integers(0, 2)),
)
drivers = st.builds(
    lambda name, tells: make_driver(name, tells_capacity=tells),
    st.sampled_from(DRIVERS[:2]),
    st.booleans(),
)
capacities = st.builds(
    lambda name, zone, size: make_capacity(
        name, storage_class="told", topology=LabelSelector(zone and {ZONE: zone}), capacity=size
    ),
    st.sampled_from(["k0", "k1"]),
    st.sampled_from([None, "1", "2"]),
    _sizes,
)
attachments = st.builds(
    lambda name, node, volume: make_attachment(name, node, volume, attacher="csi.a"),
    st.sampled_from(["a0", "a1"]),
    st.sampled_from(NODE_NAMES),
    st.sampled_from(VOLUMES),
)
objects = st.one_of(
    volumes(), volumes(), claims(), claims(), classes(), csi_nodes, drivers, capacities, attachments
)

_disks = st.one_of(
    st.builds(
        lambda name, reads: Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(name, reads)),
        st.sampled_from(["d1", "d2"]),
        st.booleans(),
    ),
    st.builds(
        lambda name: Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(name)),
        st.sampled_from(["vol-1", "vol-2"]),
    ),
    st.builds(
        lambda monitors, reads: Volume(rbd=RBDVolumeSource(tuple(monitors), "i", "rbd", reads)),
        st.sets(st.sampled_from(["m1", "m2", "m3"]), min_size=1, max_size=2).map(sorted),
        st.booleans(),
    ),
)
_claim_volumes = st.sampled_from(CLAIMS).map(lambda name: claiming(name)[0])
pod_volumes = st.lists(_claim_volumes | _claim_volumes | _disks, max_size=3, unique=True)


def pods(name: str, *, on_node: bool) -> st.SearchStrategy[PodInfo]:
    """Give Pods of one name, on a Node or waiting for one."""
    where_to = st.sampled_from(NODE_NAMES) if on_node else st.just("")
    return st.builds(
        lambda found, node: pod_with(*found, name=name, node=node), pod_volumes, where_to
    )
