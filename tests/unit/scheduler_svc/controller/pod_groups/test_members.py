"""What is kept of Pods, and who is in which group."""

from typing import Any

import msgspec
import pytest

from kubeio.changes import Deleted, Listed, Upserted
from kubeio.decoding import ObjectDecoder
from scheduler_svc.controller.custom_resources import BUILT_IN_POD_GROUPS, POD_GROUPS, ObjectKey
from scheduler_svc.controller.pod_groups.members import Member, MemberIndex, members_query

TRAIN = ObjectKey(POD_GROUPS, "ml", "train")
OTHER = ObjectKey(POD_GROUPS, "ml", "other")
BUILT_IN = ObjectKey(BUILT_IN_POD_GROUPS, "ml", "gang")


def read(**parts: Any) -> Member:
    """Decode a Pod as the reflector does."""
    pod = {
        "metadata": {"namespace": "ml", "name": "a", "uid": "u", "resourceVersion": "1"},
        "spec": {"schedulerName": "berthmaster"},
        "status": {"phase": "Pending"},
    }
    pod = {name: {**value, **parts.get(name, {})} for name, value in pod.items()}
    decoder = ObjectDecoder(members_query(with_built_in=True))
    decoded = decoder.item(msgspec.Raw(msgspec.json.encode(pod)))
    assert decoded.object is not None, decoded.problem
    return decoded.object


def labelled(name: str = "train", **metadata: Any) -> dict[str, Any]:
    labels = {"scheduling.x-k8s.io/pod-group": name, "app": "x"}
    return {"labels": labels, **metadata}


def condition(reason: str, message: str = "", status: str = "False") -> dict[str, Any]:
    told = {"type": "PodScheduled", "status": status, "reason": reason, "message": message}
    return {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}, told]}


def test_a_pod_is_a_member_by_its_label_or_its_scheduling_group_or_both() -> None:
    group = {"schedulingGroup": {"podGroupName": "gang"}}
    assert read().groups == ()
    assert read(metadata=labelled()).groups == (TRAIN,)
    assert read(spec=group).groups == (BUILT_IN,)
    assert read(metadata=labelled(), spec=group).groups == (TRAIN, BUILT_IN)
    assert read(metadata=labelled("")).groups == ()


def test_go_writes_null_where_it_has_nothing() -> None:
    assert read(metadata={"labels": None, "ownerReferences": None}).groups == ()
    assert read(metadata=labelled(), status={"conditions": None}).obstacle == ""


@pytest.mark.parametrize(
    ("parts", "field", "value"),
    [
        ({"spec": {"nodeName": "n"}}, "has_node", True),
        ({"status": {"phase": "Running"}}, "phase", "Running"),
        ({"status": {"phase": ""}}, "phase", "Pending"),
        ({}, "scheduler_name", "berthmaster"),
        ({"status": condition("Unschedulable")}, "obstacle", "Unschedulable"),
        ({"status": condition("SchedulingGated")}, "obstacle", "SchedulingGated"),
        ({"status": condition("", status="True")}, "obstacle", ""),
        # The API server sets the Node first: the condition may be of an earlier attempt.
        ({"status": condition("Unschedulable"), "spec": {"nodeName": "n"}}, "obstacle", ""),
        (
            {"status": condition("Unschedulable", "pod group g: needs 2; more")},
            "message",
            "pod group: needs 2",
        ),
    ],
)
def test_what_the_status_needs_is_kept(parts: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read(metadata=labelled(), **parts), field) == value


def test_who_is_ending_is_not_live() -> None:
    ending = read(metadata=labelled(deletionTimestamp="2026-11-30T12:00:00Z"))
    assert ending.is_terminating
    assert not ending.is_live
    assert not read(metadata=labelled(), status={"phase": "Failed"}).is_live
    assert read(metadata=labelled()).is_live


def test_owners_are_named_in_order() -> None:
    owners = [{"name": "b", "kind": "Job"}, {"name": "a", "kind": "Job"}]
    assert read(metadata=labelled(ownerReferences=owners)).owners == "ml/a,ml/b"


def test_only_labelled_pods_are_watched_unless_the_built_in_api_is_served() -> None:
    labelled_only = members_query(with_built_in=False).parameters()
    assert labelled_only == {"labelSelector": "scheduling.x-k8s.io/pod-group"}
    assert members_query(with_built_in=True).parameters() == {}


class Listener:
    """An index, and what it has told."""

    def __init__(self) -> None:
        self.changed: list[ObjectKey] = []
        self.listed_count = 0
        self.index = MemberIndex(self.changed.append, self._note_listed)

    def _note_listed(self) -> None:
        self.listed_count += 1

    def put(self, uid: str, *groups: ObjectKey, **fields: Any) -> list[ObjectKey]:
        """Give the groups that are told of."""
        self.changed.clear()
        self.index.deliver(Upserted(Member(uid, groups, **fields)))
        return list(self.changed)

    def delete(self, uid: str) -> list[ObjectKey]:
        self.changed.clear()
        self.index.deliver(Deleted("ml", "a", uid))
        return list(self.changed)

    def uids(self, group: ObjectKey) -> list[str]:
        return sorted(member.uid for member in self.index.of(group))


def test_groups_are_told_of_when_members_come_change_and_go() -> None:
    listener = Listener()
    assert listener.put("1", TRAIN) == [TRAIN]
    assert listener.put("2", TRAIN) == [TRAIN]
    assert listener.put("2", TRAIN) == []
    assert listener.put("2", TRAIN, has_node=True) == [TRAIN]
    assert listener.uids(TRAIN) == ["1", "2"]
    assert listener.delete("1") == [TRAIN]
    assert listener.delete("1") == []
    assert listener.uids(TRAIN) == ["2"]
    assert listener.delete("2") == [TRAIN]
    assert listener.uids(TRAIN) == []
    assert len(listener.index) == 0


def test_a_member_that_changes_its_group_leaves_the_former() -> None:
    listener = Listener()
    listener.put("1", TRAIN, BUILT_IN)
    assert set(listener.put("1", OTHER, BUILT_IN)) == {TRAIN, OTHER, BUILT_IN}
    assert listener.uids(TRAIN) == []
    assert listener.uids(OTHER) == listener.uids(BUILT_IN) == ["1"]
    assert set(listener.put("1")) == {OTHER, BUILT_IN}


def test_pods_of_no_group_are_not_kept() -> None:
    listener = Listener()
    assert listener.put("1") == []
    assert len(listener.index) == 0
    assert listener.delete("1") == []


def test_the_end_of_a_list_is_told_and_all_can_be_forgotten() -> None:
    listener = Listener()
    listener.put("1", TRAIN)
    listener.index.deliver(Listed("5"))
    assert listener.listed_count == 1
    listener.changed.clear()
    listener.index.clear()
    assert listener.changed == []
    assert list(listener.index.all()) == []
