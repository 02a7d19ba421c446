"""Which Pods are members of which group."""

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.group_members import GroupMembers, group_name, is_candidate
from scheduler_svc.core.group_objects import GroupApi, GroupName
from tests.builders import make_pod_info
from tests.gangs import group_named, make_group, make_member

GANG = group_named()


def members(min_count: int = 2) -> GroupMembers:
    objects = ClusterObjects()
    objects[ObjectKind.POD_GROUP].upsert(make_group(min_count=min_count))
    return GroupMembers(objects)


def test_a_pod_without_a_group_is_nothing_to_it() -> None:
    groups = members()
    assert groups.note(make_pod_info("a")) is None
    groups.note(make_member("b"))
    assert groups.note(make_pod_info("a")) is None
    assert list(groups.of(GANG)) == ["uid-b"]
    assert groups.drop("uid-a") is None


def test_members_come_change_and_go() -> None:
    groups = members()
    first, second = make_member("a"), make_member("a", version="2")
    assert groups.note(first) is None
    assert groups.note(second) is first
    assert list(groups.of(GANG).values()) == [second]
    assert groups.drop("uid-a") is second
    assert groups.of(GANG) == {}


def test_a_label_that_changes_moves_the_pod_to_the_other_group() -> None:
    groups = members()
    groups.note(make_member("a"))
    groups.note(make_member("b"))
    assert groups.note(make_member("a", "other")) is None
    assert list(groups.of(GANG)) == ["uid-b"]
    assert list(groups.of(group_named("other"))) == ["uid-a"]
    groups.note(make_pod_info("a"))
    assert groups.of(group_named("other")) == {}


def test_what_is_in_the_way() -> None:
    groups = members(min_count=2)
    groups.note(make_member("a"))
    assert groups.obstacle(GANG) == "needs 2 Pods, has 1"
    groups.note(make_member("b", gates=["wait"]))
    assert groups.obstacle(GANG) == "needs 2 Pods, has 1"
    groups.note(make_member("b"))
    assert groups.obstacle(GANG) == ""
    groups.note(make_member("b", is_terminating=True))
    assert groups.obstacle(GANG) == "needs 2 Pods, has 1"
    assert groups.obstacle(group_named("none")) == "PodGroup default/none does not exist"


def test_those_that_count_are_counted_anew_with_whatever_happens() -> None:
    groups = members(min_count=3)
    versions = [
        make_member("a"),
        make_member("a", gates=["wait"]),
        make_member("a", node="n"),
        make_member("b", is_terminating=True),
        make_member("b"),
        make_member("c", "other"),
        make_member("c"),
        make_pod_info("c"),
        make_member("a", "other"),
        make_member("d", gates=["wait"]),
    ]
    for pod in versions:
        groups.note(pod)
        count = sum(map(is_candidate, groups.of(GANG).values()))
        expected = "" if count >= 3 else f"needs 3 Pods, has {count}"
        assert groups.obstacle(GANG) == expected
    groups.drop("uid-d")
    assert groups.obstacle(GANG) == "needs 3 Pods, has 1"
    groups.drop("uid-b")
    assert groups.obstacle(GANG) == "needs 3 Pods, has 0"


def test_a_pod_on_a_node_counts_whatever_gates_it_had() -> None:
    assert is_candidate(make_member("a", node="n", gates=["wait"]))
    assert not is_candidate(make_member("a", node="n", is_terminating=True))


def test_the_kinds_of_groups() -> None:
    built_in = GroupName(GroupApi.BUILT_IN, "default", "gang")
    assert group_name(ObjectKind.POD_GROUP, "default", "gang") == GANG
    assert group_name(ObjectKind.BUILT_IN_POD_GROUP, "default", "gang") == built_in
    assert group_name(ObjectKind.SERVICE, "default", "gang") is None
