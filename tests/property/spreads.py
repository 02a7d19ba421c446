"""Pods that are to be spread: few labels, keys and namespaces, so that they meet."""

from typing import Final

from hypothesis import strategies as st

from scheduler_svc.core.affinity_objects import (
    LabelRequirement,
    LabelSelector,
    TopologySpreadConstraint,
)
from scheduler_svc.core.objects import Node, Pod, Taint, Toleration
from tests.builders import make_node, make_pod

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
SPACES: Final = ("default", "default", "team-a")

node_labels = st.fixed_dictionaries(
    {},
    optional={
        ZONE: st.sampled_from(["a", "b", ""]),
        HOSTNAME: st.sampled_from(["h0", "h1", "h2", "h3"]),
        "rack": st.sampled_from(["r", "s"]),
        "disk": st.sampled_from(["ssd", "hdd"]),
    },
)
pod_labels = st.fixed_dictionaries(
    {"app": st.sampled_from(["web", "web", "db"])}, optional={"rev": st.sampled_from(["1", "2"])}
)
_requirements = st.one_of(
    st.builds(
        LabelRequirement,
        st.just("app"),
        st.sampled_from(["In", "NotIn"]),
        st.just(("web",)),
    ),
    st.builds(LabelRequirement, st.just("rev"), st.sampled_from(["Exists", "DoesNotExist"])),
)
_selectors = st.builds(
    LabelSelector,
    st.sampled_from([None, None, {"app": "web"}, {"app": "web"}, {}]),
    st.lists(_requirements, max_size=1).map(tuple),
)
_policies = st.sampled_from([None, None, "Honor", "Ignore"])
constraints = st.builds(
    TopologySpreadConstraint,
    max_skew=st.sampled_from([1, 1, 2, 4]),
    topology_key=st.sampled_from([ZONE, HOSTNAME, "rack"]),
    when_unsatisfiable=st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    label_selector=st.none() | _selectors,
    min_domains=st.sampled_from([None, None, 2, 3]),
    node_affinity_policy=_policies,
    node_taints_policy=_policies,
    match_label_keys=st.sampled_from([(), (), ("rev",)]),
)
defaults = st.lists(constraints, max_size=2).map(tuple)
services = st.lists(
    st.sampled_from([{"app": "web"}, {"app": "db", "rev": "1"}, {"rev": "2"}, {}]), max_size=2
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Give a Node."""
    taints = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    effects = draw(st.lists(taints, max_size=1))
    return make_node(
        name, labels=draw(node_labels), taints=[Taint("k", effect) for effect in effects]
    )


@st.composite
def pods(draw: st.DrawFn, name: str, *, node: str = "", is_spread: bool = False) -> Pod:
    """Give a Pod; one that is to be spread may ask for Nodes as well."""
    spread = draw(st.lists(constraints, max_size=3)) if is_spread else []
    selector = draw(st.sampled_from([{}, {}, {"disk": "ssd"}])) if is_spread else {}
    tolerated = is_spread and draw(st.booleans())
    return make_pod(
        name,
        node=node,
        namespace=draw(st.sampled_from(SPACES)),
        labels=draw(pod_labels),
        is_terminating=bool(node) and draw(st.sampled_from([False, False, False, True])),
        spread=spread,
        selector=selector,
        tolerations=[Toleration("k", "Exists")] if tolerated else [],
    )
