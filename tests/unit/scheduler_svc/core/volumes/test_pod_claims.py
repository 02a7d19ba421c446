"""A Pod's claims, sorted, and what is amiss with them."""

from typing import Any

import pytest

from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from scheduler_svc.core.storage_objects import AzureDiskSource
from scheduler_svc.core.volumes.pod_claims import read_for, sort_claims
from scheduler_svc.core.volumes.pod_volumes import PodClaims
from tests.storage import (
    ephemeral,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_storage_cluster,
    make_volume,
    pod_claiming,
    pod_with,
    tell,
)

POD = pod_claiming("data")
UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


def sort(pod: PodInfo, *objects: Any) -> PodClaims | Status:
    return sort_claims(pod, make_storage_cluster(objects=objects).volumes)


def test_bound_and_delayed() -> None:
    bound, delayed = make_claim("a", volume="pv"), make_claim("b")
    pod = pod_claiming("a", "b")
    assert sort(pod, bound, delayed, make_class()) == PodClaims((bound,), (delayed,))
    assert sort(pod_with(), bound) == PodClaims((), ())


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        (
            [make_claim(volume="pv", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
        ),
        ([make_claim(is_terminating=True)], 'persistentvolumeclaim "data" is being deleted'),
        ([make_claim(), make_class(mode="Immediate")], IMMEDIATE),
        ([make_claim()], IMMEDIATE),
        ([make_claim(storage_class=None)], IMMEDIATE),
        # One that names its volume waits for the controller.
        ([make_claim(volume="pv", is_bound=False), make_class()], IMMEDIATE),
    ],
)
def test_what_no_node_can_help(objects: list[Any], reason: str) -> None:
    assert sort(POD, *objects) == Status(UNRESOLVABLE, (reason,))


def test_claims_that_are_made_for_the_pod() -> None:
    pod, slow = pod_with(ephemeral(), name="web"), make_class()
    waiting = (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"'
    )
    assert sort(pod, slow) == Status(UNRESOLVABLE, (waiting,))
    claim = make_claim("web-scratch", owner="uid-web")
    assert sort(pod, slow, claim) == PodClaims((), (claim,))
    foreign = "PVC default/web-scratch was not created for pod default/web (pod is not owner)"
    assert sort(pod, slow, make_claim("web-scratch")) == Status(UNRESOLVABLE, (foreign,))


def test_a_class_without_a_mode_is_an_error() -> None:
    text = 'VolumeBindingMode not set for StorageClass "slow"'
    assert sort(POD, make_claim(), make_class(mode=None)) == Status(Code.ERROR, (text,))


def test_missing_claims_come_before_unbound_ones() -> None:
    pod = pod_claiming("data", "gone")
    reason = 'persistentvolumeclaim "gone" not found'
    assert sort(pod, make_claim()) == Status(UNRESOLVABLE, (reason,))


def test_what_is_assumed_counts() -> None:
    cluster = make_storage_cluster(objects=[make_claim(), make_class()])
    assumed = make_claim(selected_node="n1")
    cluster.volumes.claims.assume(assumed)
    assert sort_claims(POD, cluster.volumes) == PodClaims((), (assumed,))


@pytest.mark.parametrize(
    "change",
    [
        make_claim(volume="other"),
        make_class(),
        make_volume("pv"),
        make_volume("new"),
        make_driver("csi"),
        make_capacity(storage_class="slow", capacity="1Gi"),
    ],
)
@pytest.mark.parametrize(
    "objects",
    [
        [],
        [make_claim()],
        [make_claim(), make_class(provisioner="csi")],
        [make_claim(volume="pv"), make_volume("pv")],
    ],
)
def test_what_is_read_shows_every_change_of_the_outcome(objects: list[Any], change: Any) -> None:
    cluster = make_storage_cluster(objects=objects)
    before, outcome = read_for(POD, cluster.volumes), sort_claims(POD, cluster.volumes)
    assert read_for(POD, cluster.volumes) == before
    tell(cluster, change)
    if sort_claims(POD, cluster.volumes) != outcome:
        assert read_for(POD, cluster.volumes) != before


def test_unrelated_objects_change_nothing() -> None:
    cluster = make_storage_cluster(objects=[make_claim(), make_class(provisioner="csi")])
    before = read_for(POD, cluster.volumes)
    tell(
        cluster,
        make_claim("other"),
        make_class("fast"),
        make_volume(storage_class="fast"),
        make_driver("other"),
        make_capacity(storage_class="fast"),
        make_csi_node("n"),
    )
    assert read_for(POD, cluster.volumes) == before
    tell(cluster, make_volume())
    assert read_for(POD, cluster.volumes) != before


def test_csi_nodes_matter_to_in_tree_volumes() -> None:
    disk = make_volume("pv", azure_disk=AzureDiskSource("/d"))
    cluster = make_storage_cluster(objects=[make_claim(volume="pv"), disk])
    before = read_for(POD, cluster.volumes)
    tell(cluster, make_csi_node("n"))
    assert read_for(POD, cluster.volumes) != before


def test_pods_without_claims_read_nothing() -> None:
    assert read_for(pod_with(), make_storage_cluster().volumes) is None


def test_whose_claim_it_is_depends_on_the_pod() -> None:
    objects = [make_claim("web-scratch", owner="uid-1"), make_class()]
    volumes = make_storage_cluster(objects=objects).volumes
    first, second = (pod_with(ephemeral(), name="web", uid=f"uid-{n}") for n in (1, 2))
    assert read_for(first, volumes) != read_for(second, volumes)
