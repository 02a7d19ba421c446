"""PodGroups of both APIs, as decisions need them."""

import msgspec
import pytest

from scheduler_svc.core.group_objects import BuiltInPodGroup, GroupApi, GroupName, Packing, PodGroup
from tests.gangs import make_group


def read(kind: type[PodGroup] | type[BuiltInPodGroup], spec: str) -> PodGroup | BuiltInPodGroup:
    return msgspec.json.decode(f'{{"metadata":{{"name":"g"}},"spec":{spec}}}', type=kind)


def test_a_group_of_scheduler_plugins() -> None:
    text = '{"minMember":3,"minResources":{"cpu":"2"},"scheduleTimeoutSeconds":10}'
    group = read(PodGroup, text)
    assert (group.min_count, group.min_resources, group.hold_seconds) == (3, {"cpu": "2"}, 10)
    assert group.packing is None


@pytest.mark.parametrize("min_count", [-1, 0])
def test_one_member_at_least(min_count: int) -> None:
    assert make_group(min_count=min_count).min_count == 1


def test_a_built_in_group_is_a_gang_or_not() -> None:
    gang = read(BuiltInPodGroup, '{"schedulingPolicy":{"gang":{"minCount":4}}}')
    basic = read(BuiltInPodGroup, '{"schedulingPolicy":{"basic":{}}}')
    assert (gang.min_count, basic.min_count) == (4, 1)
    assert (gang.min_resources, gang.hold_seconds, gang.packing) == (None, None, None)


def test_the_first_topology_of_a_built_in_group_is_required() -> None:
    text = '{"schedulingConstraints":{"topology":[{"key":"rack"},{"key":"zone"}]}}'
    assert read(BuiltInPodGroup, text).packing == Packing("rack")
    assert read(BuiltInPodGroup, '{"schedulingConstraints":{}}').packing is None


def test_packing_is_an_annotation_and_required_unless_it_says_otherwise() -> None:
    assert make_group(pack_by="zone").packing == Packing("zone")
    assert make_group(pack_by="zone", pack_mode="Required").packing == Packing("zone")
    preferred = make_group(pack_by="zone", pack_mode="Preferred").packing
    assert preferred == Packing("zone", is_required=False)
    assert make_group(pack_mode="Preferred").packing is None


def test_a_name_for_people() -> None:
    assert GroupName(GroupApi.BUILT_IN, "ml", "train").key == "ml/train"
