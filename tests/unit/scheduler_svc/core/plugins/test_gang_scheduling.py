"""Members of a group are kept out of the queue until there are enough of them."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    queue_own_update,
)
from scheduler_svc.core.plugins.gang_scheduling import GangScheduling
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import make_pod_info
from tests.gangs import make_group, make_member


def test_a_pod_on_its_own_passes() -> None:
    plugin = GangScheduling()
    plugin.attach(Cluster())
    assert plugin.pre_enqueue(make_pod_info("a")) is SUCCESS


def test_nobody_is_kept_out_where_there_is_no_cluster() -> None:
    assert GangScheduling().pre_enqueue(make_member("a")) is SUCCESS


def test_members_wait_for_their_group_and_for_one_another() -> None:
    cluster, plugin = Cluster(), GangScheduling()
    plugin.attach(cluster)
    pods = [make_member("a"), make_member("b")]
    cluster.groups.note(pods[0])
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    reason = "pod group gang: PodGroup default/gang does not exist"
    assert plugin.pre_enqueue(pods[0]) == Status(code, (reason,))
    cluster.objects[ObjectKind.POD_GROUP].upsert(make_group(min_count=2))
    reason = "pod group gang: needs 2 Pods, has 1"
    assert plugin.pre_enqueue(pods[0]) == Status(code, (reason,))
    cluster.groups.note(pods[1])
    assert [plugin.pre_enqueue(pod) for pod in pods] == [SUCCESS, SUCCESS]


def test_only_a_change_of_its_own_labels_calls_a_pod() -> None:
    [registration] = GangScheduling().events_to_register()
    label = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_LABEL)
    assert registration.event.matches(label)
    # The API server labels each Pod that is bound: that is to ask nobody.
    of_bound_pod = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
    assert not registration.event.matches(of_bound_pod)
    assert registration.hint is queue_own_update
