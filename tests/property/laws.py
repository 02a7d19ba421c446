"""What must hold of a Scheduler in its cluster, at any time and in the end."""

from scheduler_svc.core.queue import Place
from tests.property.pools import node_of, pod_of
from tests.property.world import StoredPod, World, replay
from tests.reference.cluster import Cluster
from tests.reference.decision import decide
from tests.reference.settings import Settings


def check(world: World) -> None:
    """Check what holds after every event, decision and answer."""
    scheduler = world.scheduler
    scheduler.validate()
    for uid in world.created_uids():
        pod = world.told_pods.get(uid)
        if pod is None:
            assert scheduler.queue.place_of(uid) is None
            assert uid not in scheduler.cache
        else:
            _check_place(world, pod)
    # What is set aside for a Pod is given back, or the Pod is on its way to its Node.
    assert len(world.ledger.reserved) == scheduler.statistics().binding_count


def _check_place(world: World, pod: StoredPod) -> None:
    """A Pod that has a Node is in the cache; any other one is in the queue, or assumed."""
    scheduler = world.scheduler
    place, is_cached = scheduler.queue.place_of(pod.uid), pod.uid in scheduler.cache
    if pod.node:
        assert is_cached
        assert not scheduler.cache.is_assumed(pod.uid)
        assert place in (None, Place.IN_FLIGHT)
        return
    # An answer to a Binding may be the first to say that a Pod is gone or bound.
    now = world.pods.get(pod.uid)
    if now is not None and now.is_pending and not pod.is_terminating:
        assert (place not in (None, Place.IN_FLIGHT)) != is_cached
        assert (place is Place.GATED) == pod.is_gated
    else:
        assert place is None or not is_cached or place is Place.IN_FLIGHT


def settle(world: World) -> None:
    """Let nothing new happen, and everything that is under way come to a good end.

    It takes too little time for the flush of the unschedulable pool to help: events alone
    must have brought back every Pod that has become schedulable.
    """
    for _ in range(8):
        while world.pod_watch or world.node_watch:
            world.watch_nodes()
            world.watch_pods()
        world.pass_time(12)
        while world.step():
            pass
        for choice in range(len(world.told_pods)):
            world.decide_permit(choice)
        while world.works:
            world.finish_work(0)
        while world.requests:
            world.serve_binding(0)
        while world.outcomes:
            world.tell_outcome(0)


def check_settled(world: World) -> None:
    """Check that every Pod that fits somewhere is bound, and that a replay would say the same."""
    check(world)
    statistics = world.scheduler.statistics()
    assert statistics.binding_count == statistics.assumed_pod_count == 0
    assert statistics.queue.in_flight_count == 0
    cluster = Cluster.of(
        [node_of(kind, name) for name, kind in world.nodes.items()],
        [pod_of(p.kind, p.name, node=p.node) for p in world.pods.values() if not p.is_finished],
    )
    for pod in world.pods.values():
        if pod.is_pending and not pod.is_gated and pod.wish != "rejection":
            queued = world.scheduler.queue.get(pod.uid)
            assert queued is not None
            assert queued.attempts > 0
            assert queued.unschedulable_plugins or not world.nodes
            assert not decide(pod_of(pod.kind, pod.name), cluster, Settings()).feasible
    assert replay(world.inputs, world.seed) == [each.effects for each in world.inputs]
