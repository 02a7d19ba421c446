"""Volumes by class: open ones, and those kept for a claim."""

import pytest

from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.storage_objects import ClaimReference, PersistentVolume
from scheduler_svc.core.volumes.node_rows import NodeRows
from scheduler_svc.core.volumes.persistent_volumes import (
    LOCAL_NODE_COUNT,
    AlikeVolumes,
    LocalVolumes,
    PersistentVolumes,
    VolumeKind,
    kind_of,
)
from tests.builders import make_columns, make_node_info, term, where
from tests.storage import HOSTNAME, make_claim, make_volume

GIB = 2**30 * 10**9


def known(*told: PersistentVolume) -> tuple[ObjectStore, PersistentVolumes]:
    store = ObjectStore()
    volumes = PersistentVolumes(store)
    for volume in told:
        store.upsert(volume)
    return store, volumes


def open_names(volumes: PersistentVolumes, storage_class: str = "slow") -> list[str]:
    """Name the open volumes of a class."""
    rows = NodeRows(NodeColumns())
    return [
        volume.name
        for alike in volumes.of_class(storage_class).open.values()
        for volume in alike.local(rows).volumes
    ]


def test_open_volumes_are_available_and_nobodys() -> None:
    _, volumes = known(
        make_volume("a"),
        make_volume("b", storage_class="fast"),
        make_volume("c", phase="Pending"),
        make_volume("d", is_terminating=True),
        make_volume("e", claim="data"),
    )
    assert open_names(volumes) == ["a"]
    assert open_names(volumes, "fast") == ["b"]
    assert volumes.get("c") is not None
    assert volumes.get("x") is None


def test_volumes_kept_for_a_claim_by_name() -> None:
    anyone = ClaimReference("default", "data")
    later, former = make_volume("b", claim="data", phase="Bound"), make_volume("a")
    another = make_volume("c", claim_ref=ClaimReference("default", "data", "uid-former"))
    unspecific = make_volume("a", claim_ref=anyone)
    store, volumes = known(later, former, another)
    assert volumes.of_class("slow").kept_for(make_claim("data")) == [later]
    store.upsert(unspecific)
    assert volumes.of_class("slow").kept_for(make_claim("data")) == [unspecific, later]
    assert volumes.of_class("slow").kept_for(make_claim("other")) == []
    for name in ("a", "b", "c"):
        store.delete(name)
    assert volumes.of_class("slow").kept == {}


def test_a_volume_that_goes() -> None:
    store, volumes = known(make_volume("a"), make_volume("c", phase="Pending"))
    store.delete("a")
    store.delete("c")
    assert volumes.of_class("slow").open == {}


@pytest.mark.parametrize("phase", ["Available", "Bound"])
def test_the_version_changes_with_each_volume_of_the_class(phase: str) -> None:
    store, volumes = known()
    slow, fast = volumes.of_class("slow"), volumes.of_class("fast")
    versions = [slow.version]
    store.upsert(make_volume("a"))
    versions.append(slow.version)
    store.upsert(make_volume("a", phase=phase))
    versions.append(slow.version)
    volumes.assumed.assume(make_volume("a", claim="data"))
    versions.append(slow.version)
    store.delete("a")
    versions.append(slow.version)
    assert len(set(versions)) == len(versions)
    assert fast.version == 0


def test_assumed_volumes_are_not_open_any_more() -> None:
    store, volumes = known(make_volume("a"))
    kept = make_volume("a", claim="data")
    volumes.assumed.assume(kept)
    assert volumes.of_class("slow").open == {}
    assert volumes.of_class("slow").kept_for(make_claim("data")) == [kept]
    volumes.assumed.revert(kept)
    assert open_names(volumes) == ["a"]
    assert volumes.of_class("slow").kept == {}
    assert store.version == 1


def test_kinds_of_volumes() -> None:
    modes = ("ReadWriteOnce", "ReadOnlyMany")
    block = make_volume(
        size="2Gi", volume_mode="Block", volume_attributes_class_name="gold", access_modes=modes
    )
    assert kind_of(block) == VolumeKind(2 * GIB, "Block", "gold", modes)
    assert kind_of(make_volume()) == VolumeKind(GIB, "Filesystem", "", ("ReadWriteOnce",))
    _, volumes = known(block, make_volume("a"), make_volume("b"))
    assert sorted(volumes.of_class("slow").open) == [kind_of(make_volume()), kind_of(block)]


def pairs(columns: NodeColumns, local: LocalVolumes) -> list[tuple[str, str]]:
    """Give volumes and the Nodes that reach them."""
    return [
        (local.volumes[owner].name, columns.names[row])
        for owner, row in zip(local.owners, local.rows, strict=True)
    ]


def test_volumes_by_the_nodes_that_reach_them() -> None:
    names = [f"n{number}" for number in range(LOCAL_NODE_COUNT + 2)]
    columns = make_columns([make_node_info(name, labels={HOSTNAME: name}) for name in names])
    rows, alike = NodeRows(columns), AlikeVolumes()
    alike.add(make_volume("d"))
    alike.add(make_volume("c", on=term(where(HOSTNAME, "Exists"))))
    alike.add(make_volume("b", on=term(where(HOSTNAME, "In", "n1", "n2"))))
    alike.add(make_volume("a", on="n1"))
    local = alike.local(rows)
    assert pairs(columns, local) == [("a", "n1"), ("b", "n1"), ("b", "n2")]
    assert [local.volumes[index].name for index in local.wide] == ["c", "d"]
    assert alike.local(rows) is local
    # A volume that is taken is only marked.
    alike.remove("b")
    assert alike.local(rows) is local
    assert local.is_open.tolist() == [True, False, True, True]
    alike.add(make_volume("b", on="n3"))
    assert pairs(columns, alike.local(rows)) == [("a", "n1"), ("b", "n3")]
    columns.remove_node("n1")
    assert pairs(columns, alike.local(rows)) == [("b", "n3")]
    assert len(alike) == 4


def test_a_volume_that_goes_before_anybody_has_asked() -> None:
    alike = AlikeVolumes()
    alike.add(make_volume("a"))
    alike.remove("a")
    assert len(alike) == 0
