"""Reasons of groups are told apart as `GroupMembers` gives them."""

import pytest

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.group_members import GroupMembers
from scheduler_svc.shell.explain.group_obstacles import is_missing, is_obstacle
from tests.gangs import group_named, make_group


def test_what_keeps_a_group_from_being_tried_is_known() -> None:
    objects = ClusterObjects()
    objects[ObjectKind.POD_GROUP].upsert(make_group("few", min_count=3))
    groups = GroupMembers(objects)
    missing = groups.obstacle(group_named("none"))
    assert is_missing(missing)
    assert is_obstacle(missing)
    few = groups.obstacle(group_named("few"))
    assert not is_missing(few)
    assert is_obstacle(few)


@pytest.mark.parametrize("reason", ["needs 8, 6 fit: 2 lack cpu", "needs 8 Pods, has 6 of them"])
def test_what_a_try_gave_is_no_obstacle(reason: str) -> None:
    assert not is_obstacle(reason)
