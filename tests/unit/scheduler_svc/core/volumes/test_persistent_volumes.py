"""Volumes by class: open ones, and those kept for a claim."""

import pytest

from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.storage_objects import ClaimReference, PersistentVolume
from scheduler_svc.core.volumes.persistent_volumes import PersistentVolumes
from tests.storage import make_claim, make_volume


def known(*told: PersistentVolume) -> tuple[ObjectStore, PersistentVolumes]:
    store = ObjectStore()
    volumes = PersistentVolumes(store)
    for volume in told:
        store.upsert(volume)
    return store, volumes


def test_open_volumes_are_available_and_nobodys() -> None:
    volume = make_volume("a")
    _, volumes = known(
        volume,
        make_volume("b", storage_class="fast"),
        make_volume("c", phase="Pending"),
        make_volume("d", is_terminating=True),
        make_volume("e", claim="data"),
    )
    assert volumes.of_class("slow").open == {"a": volume}
    assert list(volumes.of_class("fast").open) == ["b"]
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
    assert list(volumes.of_class("slow").open) == ["a"]
    assert volumes.of_class("slow").kept == {}
    assert store.version == 1
