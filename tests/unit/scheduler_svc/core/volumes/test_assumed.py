"""The overlay: what is assumed holds until the API server says anything of the object."""

from scheduler_svc.core.cluster_objects import ObjectStore
from scheduler_svc.core.storage_objects import PersistentVolumeClaim
from scheduler_svc.core.volumes.assumed import AssumedObjects
from tests.storage import make_claim

KEY = "default/data"


def make() -> tuple[ObjectStore, AssumedObjects[PersistentVolumeClaim], list[str]]:
    store, changes = ObjectStore(), list[str]()
    return store, AssumedObjects(store, changes.append), changes


def test_an_assumption_hides_what_was_told() -> None:
    store, claims, changes = make()
    told, assumed = make_claim(), make_claim(selected_node="n1")
    assert claims.get(KEY) is None
    store.upsert(told)
    claims.assume(assumed)
    assert (claims.get(KEY), claims.told(KEY)) == (assumed, told)
    assert len(claims) == 1
    claims.revert(assumed)
    assert claims.get(KEY) is told
    assert changes == [KEY, KEY, KEY]


def test_whatever_is_told_ends_an_assumption() -> None:
    store, claims, _ = make()
    store.upsert(make_claim())
    claims.assume(make_claim(selected_node="n1"))
    newer = make_claim(selected_node="n2")
    store.upsert(newer)
    assert claims.get(KEY) is newer
    claims.assume(make_claim(selected_node="n3"))
    store.delete(KEY)
    assert claims.get(KEY) is None
    assert len(claims) == 0


def test_only_the_newest_assumption_can_be_taken_back() -> None:
    store, claims, changes = make()
    store.upsert(make_claim())
    first, second = make_claim(selected_node="n1"), make_claim(selected_node="n2")
    claims.assume(first)
    claims.assume(second)
    claims.revert(first)
    assert claims.get(KEY) is second
    assert len(changes) == 3


def test_nobody_needs_to_listen() -> None:
    store = ObjectStore()
    claims = AssumedObjects[PersistentVolumeClaim](store)
    store.upsert(make_claim())
    assert claims.get(KEY) is not None
