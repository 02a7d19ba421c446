"""VolumeZone: Pods go where the zone of their volumes is."""

from typing import Any

import pytest

from scheduler_svc.core.plugins.volume_zone import VolumeZone
from scheduler_svc.core.status import SKIP, Status
from scheduler_svc.core.storage_objects import PersistentVolume, StorageClass
from tests.builders import make_node_info
from tests.storage import (
    claiming,
    ephemeral,
    make_claim,
    make_class,
    make_storage_cluster,
    make_volume,
    pod_claiming,
    pod_with,
    tell,
)
from tests.unit.scheduler_svc.core.plugins.asking import (
    UNRESOLVABLE,
    is_queued,
    registered,
)
from tests.unit.scheduler_svc.core.plugins.storage_asking import (
    CLAIM_ADD,
    CLAIM_UPDATE,
    CLASS_ADD,
    VOLUME_ADD,
    VOLUME_UPDATE,
    Answer,
)

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
POD = pod_claiming("data")
NO = (UNRESOLVABLE, ["node(s) had no available volume zone"])


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({ZONE: "a__b"}, {ZONE: "b"}, True),
        ({ZONE: " a __ b "}, {ZONE: "b"}, True),
        ({ZONE: "a__b"}, {ZONE: "c"}, False),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "r"}, True),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a"}, False),
        # Nodes without any of the labels pass.
        ({ZONE: "a"}, {}, True),
        ({ZONE: "a"}, {REGION: "r"}, False),
        # Beta labels of volumes match today's of Nodes, not the other way round.
        ({BETA_ZONE: "a"}, {ZONE: "a"}, True),
        ({BETA_ZONE: "a"}, {ZONE: "b"}, False),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "a", ZONE: "b"}, True),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False),
        ({BETA_REGION: "r"}, {REGION: "r"}, True),
        ({ZONE: "a"}, {BETA_ZONE: "a"}, False),
    ],
)
def test_labels(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    nodes = [make_node_info("n", labels=node)]
    objects = [make_claim(volume="pv"), make_volume(labels=volume)]
    answer = Answer(VolumeZone(), POD, make_storage_cluster(nodes, objects))
    assert answer.nodes == {"n": None if fits else NO}


@pytest.mark.parametrize(
    "objects",
    [
        [make_claim(volume="pv"), make_volume()],
        [make_claim(volume="pv"), make_volume(labels={ZONE: "a____b"})],
        [make_claim(volume="pv"), make_volume(labels={ZONE: ""})],
        [make_claim(), make_class()],
    ],
)
def test_skipped_where_no_volume_says_where_it_is(objects: list[Any]) -> None:
    assert Answer(VolumeZone(), POD, make_storage_cluster(objects=objects)).status == SKIP


def test_ephemeral_claims_are_left_to_volume_binding() -> None:
    cluster = make_storage_cluster()
    pod = pod_with(ephemeral())
    assert Answer(VolumeZone(), pod, cluster).status == SKIP
    assert VolumeZone().projection(pod, cluster) == ()
    assert VolumeZone().projection(pod_with(), cluster) is None


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([make_claim(volume="pv")], 'persistentvolume "pv" not found'),
        (
            [make_claim(storage_class=None)],
            "PersistentVolumeClaim had no pv name and storageClass name",
        ),
        ([make_claim()], 'storageclass.storage.k8s.io "slow" not found'),
        (
            [make_claim(), make_class(mode=None)],
            'VolumeBindingMode not set for StorageClass "slow"',
        ),
        ([make_claim(), make_class(mode="Immediate")], "PersistentVolume had no name"),
    ],
)
def test_what_no_node_can_help(objects: list[Any], reason: str) -> None:
    answer = Answer(VolumeZone(), POD, make_storage_cluster(objects=objects))
    assert answer.status == Status(UNRESOLVABLE, (reason,))


def test_a_claim_without_a_name() -> None:
    answer = Answer(VolumeZone(), pod_with(*claiming("")), make_storage_cluster())
    assert answer.status == Status(UNRESOLVABLE, ("PersistentVolumeClaim had no name",))


@pytest.mark.parametrize(
    "change",
    [
        make_claim(volume="pv"),
        make_claim(volume="other"),
        make_volume(labels={ZONE: "a"}),
        make_class(mode="Immediate"),
    ],
)
@pytest.mark.parametrize("objects", [[], [make_claim()], [make_claim(volume="pv"), make_volume()]])
def test_what_is_read_shows_every_change_of_the_answer(objects: list[Any], change: Any) -> None:
    plugin, cluster = VolumeZone(), make_storage_cluster(objects=objects)
    before = plugin.projection(POD, cluster), plugin.pre_filter(POD, cluster)
    assert plugin.projection(POD, cluster) == before[0]
    tell(cluster, change)
    if plugin.pre_filter(POD, cluster) != before[1]:
        assert plugin.projection(POD, cluster) != before[0]


def test_events() -> None:
    assert registered(VolumeZone()) == {"Node add", "Node label"}


@pytest.mark.parametrize(("name", "queued"), [("data", True), ("other", False)])
def test_claims_that_call_the_pod(name: str, queued: bool) -> None:
    for event in (CLAIM_ADD, CLAIM_UPDATE):
        assert is_queued(VolumeZone(), event, POD, None, make_claim(name)) is queued


@pytest.mark.parametrize(
    ("new", "queued"), [(make_class(), True), (make_class(mode="Immediate"), False)]
)
def test_classes_that_call_the_pod(new: StorageClass, queued: bool) -> None:
    assert is_queued(VolumeZone(), CLASS_ADD, POD, None, new) is queued


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, make_volume(), True),
        (make_volume(), make_volume(phase="Bound"), False),
        (make_volume(), make_volume(labels={ZONE: "a"}), True),
        (make_volume(), make_volume(labels={"tier": "a"}), False),
    ],
)
def test_volumes_that_call_the_pod(
    old: PersistentVolume | None, new: PersistentVolume, queued: bool
) -> None:
    event = VOLUME_ADD if old is None else VOLUME_UPDATE
    assert is_queued(VolumeZone(), event, POD, old, new) is queued
