"""The newest state of each object, whatever order it comes in."""

import pytest

from scheduler_svc.controller.custom_resources import (
    POD_GROUPS,
    SCHEDULER_PROFILES,
    ObjectKey,
)
from scheduler_svc.controller.holdings import Holdings, hold, version_number
from tests.unit.scheduler_svc.controller.members import GROUP, held


@pytest.fixture
def changed() -> list[ObjectKey]:
    return []


@pytest.fixture
def holdings(changed: list[ObjectKey]) -> Holdings:
    return Holdings(changed.append)


def test_what_comes_and_goes_is_told(holdings: Holdings, changed: list[ObjectKey]) -> None:
    first = held(version=1)
    holdings.tell(first)
    holdings.tell(first)
    assert changed == [GROUP]
    assert holdings.get(GROUP) == first
    assert holdings.told_version(GROUP) == ("uid-1", "1")
    holdings.remove(GROUP, "uid-1")
    holdings.remove(GROUP, "uid-1")
    assert changed == [GROUP, GROUP]
    assert holdings.get(GROUP) is None
    assert holdings.told_version(GROUP) is None


def test_an_older_state_does_not_come_back(holdings: Holdings, changed: list[ObjectKey]) -> None:
    """Our own write is answered before the watch tells of what was before it."""
    holdings.tell(held(version=5))
    written = held(version=10, status={"phase": "Pending"})
    holdings.wrote(written)
    holdings.tell(held(version=9))
    assert holdings.get(GROUP) == written
    assert changed == [GROUP, GROUP]
    assert holdings.told_version(GROUP) == ("uid-1", "9")


def test_a_namesake_takes_the_place_of_who_is_gone(holdings: Holdings) -> None:
    """kopf handles objects side by side: the end of the former may come last."""
    holdings.tell(held(uid="old", version=5))
    new = held(uid="new", version=8)
    holdings.tell(new)
    holdings.tell(held(uid="old", version=6))
    holdings.remove(GROUP, "old")
    assert holdings.get(GROUP) == new


def test_a_write_to_who_is_gone_brings_nobody_back(holdings: Holdings) -> None:
    holdings.wrote(held(version=10))
    assert holdings.all() == ()


def test_objects_are_given_by_resource(holdings: Holdings) -> None:
    profile = held("gpu", resource=SCHEDULER_PROFILES, namespace="")
    holdings.tell(held())
    holdings.tell(profile)
    assert holdings.of(SCHEDULER_PROFILES) == [profile]
    assert [each.key for each in holdings.of(POD_GROUPS)] == [GROUP]
    assert len(holdings) == 2


def test_an_object_is_taken_as_the_api_gives_it() -> None:
    metadata = {
        "name": "train",
        "namespace": "default",
        "uid": "uid-1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-11-29T12:00:00Z",
        "managedFields": [{}],
        "annotations": {"berthmaster.dev/pack-by": "zone", "example.com/other": "x"},
    }
    body = {"metadata": metadata, "spec": {"minMember": 2}, "status": {"phase": "Pending"}}
    assert hold(POD_GROUPS, body) == held(
        version=7,
        generation=2,
        spec={"minMember": 2},
        status={"phase": "Pending"},
        annotations={"berthmaster.dev/pack-by": "zone"},
    )
    bare = hold(POD_GROUPS, {"metadata": {**metadata, "annotations": None}, "spec": None})
    assert (bare.spec, bare.status, bare.annotations) == ({}, {}, {})


def test_versions_are_ordered_as_numbers() -> None:
    assert version_number("10") > version_number("9")
    assert version_number("") == version_number("x") == 0


@pytest.mark.parametrize(
    ("key", "path", "text"),
    [
        (
            GROUP,
            "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/train",
            "default/train",
        ),
        (
            ObjectKey(SCHEDULER_PROFILES, "", "gpu"),
            "/apis/berthmaster.dev/v1alpha1/schedulerprofiles/gpu",
            "gpu",
        ),
    ],
)
def test_a_key_knows_its_path(key: ObjectKey, path: str, text: str) -> None:
    assert key.path == path
    assert str(key) == text
