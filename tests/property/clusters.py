"""Any cluster and any Pod: few names and values, so that they meet.

The API's rules are kept where a plugin relies on them; beyond that anything may be combined.
"""

from typing import Final

from hypothesis import strategies as st

from scheduler_svc.core.objects import (
    Container,
    ContainerImage,
    ContainerPort,
    ContainerStatus,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodCondition,
    PreferredSchedulingTerm,
    QuantityText,
    Requirement,
    ResourceRequirements,
    Taint,
    Toleration,
)
from tests.builders import GPU, PodFields, make_node, make_pod
from tests.reference.settings import Settings, Weights

NODE_NAMES: Final = tuple(f"n{i}" for i in range(6))

_CPU: Final = ("0", "100m", "0.3", "1", "1500m", "2", "3.0001", "1e1")
_MEMORY: Final = ("0", "64Mi", "200Mi", "0.5Gi", "1G", "1Gi", "3Gi", "1500000001")
_HUGE: Final = ("0", "2Mi", "4Mi", "64Mi")
_COUNT: Final = ("0", "1", "2", "3")
_QUANTITIES: Final = {
    "cpu": _CPU,
    "memory": _MEMORY,
    "ephemeral-storage": ("0", "1Gi", "5G"),
    "hugepages-2Mi": _HUGE,
    GPU: _COUNT,
    "vendor.example.com/disk": _COUNT,
    "kubernetes.io/batch": _COUNT,
    "attachable-volumes-csi": _COUNT,
    # Not counted.
    "storage": ("1Gi",),
    "requests.example.com/gpu": _COUNT,
}
_SCORED: Final = ("cpu", "memory", "ephemeral-storage", GPU, "hugepages-2Mi")
_IMAGES: Final = ("busybox:latest", "registry.example:5000/app:latest", "nginx:1", "app@sha256:aa")
_IMAGE_NAMES: Final = ("", "busybox", "registry.example:5000/app", "nginx:1", "app@sha256:aa")
_MIB: Final = 1024 * 1024


def some_of(
    *names: str, values: dict[str, tuple[str, ...]] = _QUANTITIES
) -> st.SearchStrategy[dict[str, QuantityText]]:
    """Give quantities for some of the resources."""
    optional = {name: st.sampled_from(values[name]) for name in names}
    return st.fixed_dictionaries({}, optional=optional).map(dict)


# More than a Node can have, and in sum more than an int64 holds.
_ENDLESS: Final = {"cpu": "9E", "memory": "8Ei", "ephemeral-storage": "9223372036854775807"}
requests = some_of(*_QUANTITIES) | some_of(
    *_ENDLESS, values={name: (text,) for name, text in _ENDLESS.items()}
)
allocatable = some_of(*_QUANTITIES)
labels = st.fixed_dictionaries(
    {},
    optional={
        "zone": st.sampled_from(["a", "b", ""]),
        "disk": st.sampled_from(["ssd", "hdd"]),
        "gen": st.sampled_from(["1", "5", "-3", "+7", "new", "9223372036854775808"]),
    },
)
taints = st.lists(
    st.builds(
        Taint,
        key=st.sampled_from(["k", "l", "node.kubernetes.io/unschedulable"]),
        value=st.sampled_from(["", "v"]),
        effect=st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ),
    max_size=3,
)
tolerations = st.lists(
    st.builds(
        Toleration,
        key=st.sampled_from(["", "k", "l", "node.kubernetes.io/unschedulable"]),
        operator=st.sampled_from(["", "Equal", "Exists", "Gt"]),
        value=st.sampled_from(["", "v"]),
        effect=st.sampled_from(["", "NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ),
    max_size=3,
)
images = st.lists(
    st.builds(
        ContainerImage,
        names=st.lists(st.sampled_from(_IMAGES), min_size=1, max_size=2).map(tuple),
        size_bytes=st.sampled_from([0, 10 * _MIB, 100 * _MIB + 1, 777_777_777, 3_000 * _MIB]),
    ),
    max_size=3,
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Give a Node."""
    return make_node(
        name,
        pods=draw(st.sampled_from(["0", "1", "3", "110"])),
        cpu=draw(st.sampled_from(_CPU)),
        memory=draw(st.sampled_from(_MEMORY)),
        offers=draw(allocatable),
        labels=draw(labels),
        taints=draw(taints),
        unschedulable=draw(st.sampled_from([False, False, False, True])),
        images=draw(images),
    )


def _expressions() -> st.SearchStrategy[Requirement]:
    key = st.sampled_from(["zone", "disk", "gen", "absent"])
    some = st.lists(st.sampled_from(["a", "b", "", "ssd", "5"]), min_size=1, max_size=2)
    number = st.sampled_from(["-3", "0", "4", "x", "9223372036854775807"])
    return st.one_of(
        st.builds(Requirement, key, st.sampled_from(["In", "NotIn"]), some.map(tuple)),
        st.builds(Requirement, key, st.sampled_from(["Exists", "DoesNotExist"])),
        st.builds(Requirement, key, st.sampled_from(["Gt", "Lt"]), number.map(lambda n: (n,))),
    )


def _fields() -> st.SearchStrategy[Requirement]:
    names = st.lists(st.sampled_from(["n0", "n1", "n2", "unheard-of"]), min_size=1, max_size=2)
    return st.builds(
        Requirement,
        st.sampled_from(["metadata.name", "metadata.name", "metadata.namespace"]),
        st.sampled_from(["In", "In", "NotIn", "Exists"]),
        names.map(tuple),
    )


terms = st.builds(
    NodeSelectorTerm,
    st.lists(_expressions(), max_size=2).map(tuple),
    st.lists(_fields(), max_size=2).map(tuple) | st.just(()),
)
affinities = st.builds(
    NodeAffinity,
    required=st.none() | st.builds(NodeSelector, st.lists(terms, max_size=2).map(tuple)),
    preferred=st.lists(
        st.builds(PreferredSchedulingTerm, st.sampled_from([0, 1, 30, 100]), terms), max_size=3
    ).map(tuple),
)
ports = st.lists(
    st.builds(
        ContainerPort,
        host_port=st.sampled_from([0, 80, 443]),
        host_ip=st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),  # noqa: S104 - data
        protocol=st.sampled_from(["", "TCP", "UDP"]),
    ),
    max_size=2,
)


@st.composite
def containers(draw: st.DrawFn, name: str, *, is_init: bool = False) -> Container:
    """Give a container."""
    amounts = draw(st.none() | requests)
    return Container(
        name=name,
        image=draw(st.sampled_from(_IMAGE_NAMES)),
        resources=None if amounts is None else ResourceRequirements(amounts),
        ports=tuple(draw(ports)),
        restart_policy=draw(st.sampled_from([None, "Always"])) if is_init else None,
    )


@st.composite
def container_statuses(draw: st.DrawFn, name: str) -> ContainerStatus:
    """Give what the kubelet says of a container's resources."""
    granted = draw(st.none() | some_of("cpu", "memory"))
    return ContainerStatus(
        name=name,
        resources=None if granted is None else ResourceRequirements(granted),
        allocated_resources=draw(st.none() | some_of("cpu", "memory")),
    )


@st.composite
def pods(draw: st.DrawFn, name: str, *, node: str = "", has_status: bool = False) -> Pod:
    """Give a Pod; one with a status may be in the middle of a resize."""
    names = [f"c{i}" for i in range(draw(st.integers(1, 2)))]
    init_names = [f"i{i}" for i in range(draw(st.integers(0, 2)))]
    fields: PodFields = {
        "node": node,
        "containers": [draw(containers(n)) for n in names],
        "init_containers": [draw(containers(n, is_init=True)) for n in init_names],
        "tolerations": draw(tolerations),
        "image_volumes": draw(st.lists(st.sampled_from(_IMAGE_NAMES[1:]), max_size=1)),
        "priority": draw(st.integers(0, 3)),
    }
    if draw(st.booleans()):
        fields["selector"] = draw(labels)
    if draw(st.booleans()):
        fields["affinity"] = draw(affinities)
    if draw(st.booleans()):
        fields["overhead"] = draw(some_of("cpu", "memory", GPU))
    if draw(st.booleans()):
        fields["pod_requests"] = draw(some_of("cpu", "memory", "hugepages-2Mi", GPU))
    if has_status and draw(st.booleans()):
        _add_status(draw, fields, names, init_names)
    return make_pod(name, **fields)


def _add_status(
    draw: st.DrawFn, fields: PodFields, names: list[str], init_names: list[str]
) -> None:
    fields["container_statuses"] = [draw(container_statuses(n)) for n in names]
    fields["init_container_statuses"] = [draw(container_statuses(n)) for n in init_names]
    if draw(st.booleans()):
        fields["granted"] = draw(some_of("cpu", "memory", "hugepages-2Mi"))
        fields["allocated"] = draw(some_of("cpu", "memory"))
    reasons = draw(st.lists(st.sampled_from(["Infeasible", "Deferred"]), max_size=2))
    fields["conditions"] = [
        PodCondition(type="PodResizePending", status="True", reason=reason) for reason in reasons
    ]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    """Give Nodes, and Pods that are on them; a few are on a Node that nobody has seen."""
    names = NODE_NAMES[: draw(st.integers(1, 4))]
    count = draw(st.integers(0, 4))
    places = [draw(st.sampled_from((*names, names[0], "unseen"))) for _ in range(count)]
    return (
        [draw(nodes(name)) for name in names],
        [draw(pods(f"p{i}", node=node, has_status=True)) for i, node in enumerate(places)],
    )


_weights: st.SearchStrategy[Weights] = st.lists(
    st.tuples(st.sampled_from(_SCORED), st.sampled_from([1, 2, 100])),
    min_size=1,
    max_size=4,
    unique_by=lambda pair: pair[0],
).map(tuple)
_shapes = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
).map(lambda points: tuple(sorted(points)))

settings_of_plugins = st.builds(
    Settings,
    strategy=st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
    fit_resources=_weights,
    shape=_shapes,
    balanced_resources=st.lists(st.sampled_from(_SCORED), min_size=1, max_size=4, unique=True).map(
        tuple
    ),
    ignored_resources=st.sampled_from([frozenset(), frozenset({GPU})]),
    ignored_groups=st.sampled_from([frozenset(), frozenset({"vendor.example.com"})]),
    added_affinity=st.none() | affinities,
)
