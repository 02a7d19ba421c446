"""What claims demand of each Node, and what would become of them."""

from typing import Any

import pytest

from scheduler_svc.core.affinity_objects import LabelSelector
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.objects import Requirement
from scheduler_svc.core.storage_objects import PersistentVolumeClaim, VolumeIDSource
from scheduler_svc.core.volumes.migration import AWS, ZONE
from scheduler_svc.core.volumes.pod_volumes import (
    NodeDecision,
    Obstacle,
    PodClaims,
    PodVolumes,
    StaticBinding,
)
from tests.builders import make_node_info, term, where
from tests.storage import (
    HOSTNAME,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_storage_cluster,
    make_volume,
)

AWS_KEY = "topology.ebs.csi.aws.com/zone"
NODES = [
    make_node_info("a", labels={HOSTNAME: "a", ZONE: "1"}),
    make_node_info("b", labels={HOSTNAME: "b", ZONE: "2", AWS_KEY: "1"}),
]
MADE = make_class("made", provisioner="csi")
FINE = Obstacle(0)
Claims = list[PersistentVolumeClaim]


def on_nodes(
    objects: list[Any], bound: Claims | None = None, delayed: Claims | None = None
) -> tuple[Cluster, PodVolumes]:
    cluster = make_storage_cluster(NODES, objects)
    claims = PodClaims(tuple(bound or ()), tuple(delayed or ()))
    return cluster, PodVolumes(cluster.volumes, claims)


def obstacles(
    objects: list[Any], bound: Claims | None = None, delayed: Claims | None = None
) -> list[Obstacle]:
    _, volumes = on_nodes(objects, bound, delayed)
    volumes.refresh()
    return [Obstacle(int(value)) for value in volumes.obstacles[:2]]


def decisions(objects: list[Any], delayed: Claims) -> list[NodeDecision]:
    _, volumes = on_nodes(objects, delayed=delayed)
    return [volumes.decision(row) for row in range(2)]


def test_bound_volumes_must_be_reached() -> None:
    claims = [make_claim("x", volume="1"), make_claim("y", volume="2")]
    everywhere, on_a = make_volume("1"), make_volume("2", on="a")
    assert obstacles([everywhere, on_a], claims) == [FINE, Obstacle.UNREACHABLE]
    assert obstacles([everywhere, make_volume("2")], claims) == [FINE, FINE]
    assert obstacles([], []) == [FINE, FINE]


def test_a_volume_that_is_gone_hinders_where_none_before_it_does() -> None:
    claims = [make_claim("x", volume="1"), make_claim("y", volume="2")]
    both = [Obstacle.VOLUME_GONE, Obstacle.UNREACHABLE]
    assert obstacles([make_volume("1", on="a")], claims) == both
    assert obstacles([make_volume("2")], claims) == [Obstacle.VOLUME_GONE] * 2


def test_unbound_claims_need_a_volume_or_a_provisioner() -> None:
    claim = make_claim("x")
    disk = make_volume("disk", on="a")
    assert obstacles([make_class(), disk], delayed=[claim]) == [FINE, Obstacle.NO_VOLUME]
    # A class that has gone meanwhile makes nothing.
    assert obstacles([disk], delayed=[claim]) == [FINE, Obstacle.NO_VOLUME]
    assert obstacles([make_class(provisioner="csi"), disk], delayed=[claim]) == [FINE, FINE]


def test_several_obstacles_on_one_node() -> None:
    bound, delayed = make_claim("x", volume="1"), make_claim("y")
    both = Obstacle.UNREACHABLE | Obstacle.NO_VOLUME
    objects = [make_class(), make_volume("1", on="a", storage_class="other")]
    assert obstacles(objects, [bound], [delayed]) == [Obstacle.NO_VOLUME, both]


@pytest.mark.parametrize(
    ("topologies", "expected"),
    [
        ([], [FINE, FINE]),
        ([{ZONE: ["1"]}], [FINE, Obstacle.NO_VOLUME]),
        ([{ZONE: ["1"], HOSTNAME: ["b"]}], [Obstacle.NO_VOLUME] * 2),
        ([{ZONE: ["1"]}, {HOSTNAME: ["b"]}], [FINE, FINE]),
        # An empty term allows nothing, nor does a label without values.
        ([{}], [Obstacle.NO_VOLUME] * 2),
        ([{ZONE: []}], [Obstacle.NO_VOLUME] * 2),
    ],
)
def test_where_volumes_may_be_made(
    topologies: list[dict[str, list[str]]], expected: list[Obstacle]
) -> None:
    made = make_class("made", provisioner="csi", topologies=topologies)
    claim = make_claim("x", storage_class="made")
    assert obstacles([made], delayed=[claim]) == expected


@pytest.mark.parametrize(
    ("objects", "size", "expected"),
    [
        ([], "1Gi", [FINE, FINE]),
        ([make_driver("csi", tells_capacity=False)], "1Gi", [FINE, FINE]),
        ([make_driver("csi")], "1Gi", [Obstacle.NO_ROOM] * 2),
        ([make_driver("csi")], None, [FINE, FINE]),
        (
            [
                make_driver("csi"),
                make_capacity(topology=LabelSelector({ZONE: "2"}), capacity="1Gi"),
            ],
            "1Gi",
            [Obstacle.NO_ROOM, FINE],
        ),
    ],
)
def test_room_for_volumes_to_be_made(
    objects: list[Any], size: str | None, expected: list[Obstacle]
) -> None:
    claim = make_claim("x", size=size, storage_class="made")
    assert obstacles([MADE, *objects], delayed=[claim]) == expected


def test_the_first_claim_that_cannot_be_made_says_why() -> None:
    small = make_claim("x", storage_class="slow", size="1Gi")
    large = make_claim("y", storage_class="made", size="2Gi")
    objects = [make_class(), MADE, make_driver("csi")]
    assert obstacles(objects, delayed=[large, small]) == [Obstacle.NO_VOLUME] * 2
    disk = make_volume("disk", on="a")
    expected = [Obstacle.NO_ROOM, Obstacle.NO_VOLUME]
    assert obstacles([*objects, disk], delayed=[large, small]) == expected


def test_a_claim_whose_node_is_selected() -> None:
    chosen = make_claim("x", storage_class="made", selected_node="b")
    assert obstacles([MADE], delayed=[chosen]) == [Obstacle.NO_VOLUME, FINE]
    gone = make_claim("x", storage_class="made", selected_node="gone")
    assert obstacles([MADE], delayed=[gone]) == [Obstacle.NO_VOLUME] * 2
    # It gets no other volume any more, and must still be possible to make.
    disk = make_volume("disk", storage_class="made")
    full = make_driver("csi")
    assert obstacles([MADE, disk, full], delayed=[chosen]) == [
        Obstacle.NO_VOLUME,
        Obstacle.NO_ROOM,
    ]


def test_two_claims_whose_nodes_differ() -> None:
    chosen = [
        make_claim("x", storage_class="made", selected_node="a"),
        make_claim("y", storage_class="made", selected_node="b"),
    ]
    assert obstacles([MADE], delayed=chosen) == [Obstacle.NO_VOLUME] * 2


def test_what_is_to_be_done_on_a_node() -> None:
    to_bind, to_make = make_claim("x"), make_claim("y", storage_class="made")
    disk_a, disk_b = make_volume("1", on="a"), make_volume("2", on="b")
    assert decisions([make_class(), MADE, disk_a, disk_b], [to_bind, to_make]) == [
        NodeDecision((StaticBinding(to_bind, disk_a),), (to_make,)),
        NodeDecision((StaticBinding(to_bind, disk_b),), (to_make,)),
    ]


def test_claims_whose_node_is_selected_are_made_first() -> None:
    to_make = make_claim("x", storage_class="made", size="1Mi")
    chosen = make_claim("y", storage_class="made", selected_node="a")
    assert decisions([MADE], [to_make, chosen])[0].provisions == (chosen, to_make)


def test_the_answer_follows_the_nodes() -> None:
    cluster, volumes = on_nodes([make_volume("1", on="c")], [make_claim("x", volume="1")])
    volumes.refresh()
    first = volumes.obstacles
    volumes.refresh()
    assert volumes.obstacles is first
    cluster.columns.set_node(make_node_info("c", labels={HOSTNAME: "c"}))
    volumes.refresh()
    assert volumes.obstacles[:3].tolist() == [1, 1, 0]
    assert volumes.columns is cluster.columns


def in_zone(zone: str) -> Requirement:
    return where(ZONE, "In", zone)


def test_migrated_volumes_are_reached_by_the_drivers_labels_where_it_runs() -> None:
    disk = make_volume("1", on=term(in_zone("1")), aws_elastic_block_store=VolumeIDSource("vol"))
    claim = make_claim("x", volume="1")
    assert obstacles([disk], [claim]) == [FINE, Obstacle.UNREACHABLE]
    migrated = [make_csi_node("b", migrated=f"other,{AWS}"), make_csi_node("gone", migrated=AWS)]
    assert obstacles([disk, *migrated], [claim]) == [FINE, FINE]


def test_volumes_that_the_driver_cannot_make_sense_of() -> None:
    source = VolumeIDSource("aws://a/x")
    disk = make_volume("1", claim="x", aws_elastic_block_store=source)
    claim = make_claim("x", volume="1")
    assert obstacles([disk], [claim]) == [FINE, FINE]
    objects = [disk, make_csi_node("b", migrated=AWS), make_class()]
    _, volumes = on_nodes(objects, [claim], [make_claim("y")])
    volumes.refresh()
    [(rows, text)] = volumes.errors
    assert rows[:2].tolist() == [False, True]
    assert text.startswith("could not translate pv: failed to translate Kubernetes ID")
    # Where that fails, nothing more is looked at.
    assert volumes.obstacles[:2].tolist() == [Obstacle.NO_VOLUME, FINE]


def test_a_selector_that_makes_no_sense_fails_where_volumes_are_looked_for() -> None:
    large = make_claim("large", size="2Gi", selector=LabelSelector({"tier": "-"}))
    small = make_claim("small", selector=LabelSelector({"tier": "-fast"}))
    waiting = make_claim("waiting", selected_node="a")
    _, volumes = on_nodes([make_class()], [], [large, small, waiting])
    volumes.refresh()
    [(rows, text)] = volumes.errors
    assert rows[:2].tolist() == [True, False]
    assert text.startswith(
        "error creating internal label selector for claim: default/small: "
        'values[0][tier]: Invalid value: "-fast": a valid label must be an empty string'
    )
    # A claim with a selected Node gets a new volume, which is not looked for.
    chosen = make_claim("chosen", selected_node="a", selector=LabelSelector({"tier": "-"}))
    _, volumes = on_nodes([make_class()], [], [chosen])
    volumes.refresh()
    assert not volumes.errors
