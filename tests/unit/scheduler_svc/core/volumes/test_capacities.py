"""Room for new volumes, by class and Node."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.storage_objects import CSIStorageCapacity
from tests.builders import make_node_info
from tests.storage import make_capacity, make_storage_cluster, tell, untell

GIB = 2**30 * 10**9
IN_ZONE = LabelSelector({"zone": "1"})
NOT_IN_ZONE = LabelSelector(None, (LabelRequirement("zone", "NotIn", ("1",)),))
EVERYWHERE = LabelSelector()
NODES = [
    make_node_info("a", labels={"zone": "1"}),
    make_node_info("b", labels={"zone": "2"}),
    make_node_info("c"),
]


def enough(nano_bytes: int, *capacities: CSIStorageCapacity) -> set[str]:
    cluster = make_storage_cluster(NODES, capacities)
    volumes, columns = cluster.volumes, cluster.columns
    mask = volumes.capacities.enough("made", nano_bytes, volumes.node_rows, columns.capacity)
    return {name for name, has_room in zip(columns.names, mask, strict=False) if has_room}


@pytest.mark.parametrize(
    ("capacity", "nodes"),
    [
        (make_capacity(topology=IN_ZONE, capacity="1Gi"), {"a"}),
        (make_capacity(topology=NOT_IN_ZONE, capacity="1Gi"), {"b", "c"}),
        (make_capacity(topology=EVERYWHERE, capacity="1Gi"), {"a", "b", "c"}),
        (make_capacity(topology=None, capacity="1Gi"), set()),
        (make_capacity(topology=IN_ZONE, capacity="1023Mi"), set()),
        (make_capacity(topology=IN_ZONE, capacity="5Gi", largest="1Mi"), set()),
        (make_capacity(topology=IN_ZONE, capacity="1Mi", largest="5Gi"), {"a"}),
        (make_capacity(topology=IN_ZONE), set()),
        (make_capacity(topology=IN_ZONE, capacity="1Gi", storage_class="other"), set()),
    ],
)
def test_where_there_is_room_for_a_gibibyte(capacity: CSIStorageCapacity, nodes: set[str]) -> None:
    assert enough(GIB, capacity) == nodes


def test_one_of_several_is_enough() -> None:
    small = make_capacity("1", topology=EVERYWHERE, capacity="1Mi")
    large = make_capacity("2", topology=IN_ZONE, capacity="2Gi")
    assert enough(GIB, small, large) == {"a"}
    assert enough(GIB) == set()


def test_sizes_are_compared_in_whole_bytes() -> None:
    tiny = make_capacity(topology=EVERYWHERE, capacity="1500m")
    assert enough(2 * 10**9, tiny) == {"a", "b", "c"}
    assert enough(2 * 10**9 + 1, tiny) == set()


def test_the_version_changes_with_those_of_the_class() -> None:
    cluster = make_storage_cluster(NODES)
    made = cluster.volumes.capacities.of_class("made")
    versions = [made.version]
    for change in (make_capacity(capacity="1Gi"), make_capacity(capacity="2Gi")):
        tell(cluster, change)
        versions.append(made.version)
    untell(cluster, make_capacity())
    versions.append(made.version)
    assert len(set(versions)) == 4
    assert made.objects == {}
    assert cluster.volumes.capacities.of_class("other").version == 0
