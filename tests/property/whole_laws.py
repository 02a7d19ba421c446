"""What must hold of the whole scheduler at any time, at each decision, and in the end."""

from typing import Any

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeColumns
from scheduler_svc.core.effects import BindPod, RunPreBind
from scheduler_svc.core.events import NodeUpserted, ObjectUpserted
from scheduler_svc.core.framework.class_cache import ClassCache
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.scheduler import Scheduler
from tests.builders import SCHEDULER, at
from tests.property.whole_effects import taken_devices
from tests.property.whole_world import KINDS, World, is_pending


def totals_of(classes: ClassCache, pod: PodInfo, columns: NodeColumns) -> Any:
    """Give the totals by Node, or what keeps the Pod from all."""
    evaluation = classes.evaluation(pod)
    prepared = evaluation.prepared
    failure = prepared.failure()
    if failure is not None:
        return failure.message
    if prepared.rejection is not None:
        return prepared.rejection.message
    return {
        name: int(evaluation.totals[row])
        for name, row in columns.rows.items()
        if evaluation.totals[row] != INFEASIBLE
    }


def rebuilt(world: World) -> Scheduler:
    """Make another scheduler that knows the same, assumptions and all."""
    old, new, now = world.scheduler, Scheduler(world.make_profiles()), at(world.seconds)
    for info in filter(None, old.columns.infos):
        new.handle(NodeUpserted(info), now)
    for kind, store in old.cluster.objects.stores.items():
        for stored in store.by_key.values():
            new.handle(ObjectUpserted(kind, stored), now)
    for cached in old.cache.pods():
        row = new.columns.rows.get(old.columns.names[cached.row])
        if not cached.is_assumed:
            new.cache.upsert(cached.pod)
        elif row is not None:
            new.cache.assume(cached.pod, row)
    _copy_assumptions(old.cluster, new.cluster)
    return new


def _copy_assumptions(old: Cluster, new: Cluster) -> None:
    for volume in old.volumes.persistent_volumes.assumed._assumed.values():
        new.volumes.persistent_volumes.assumed.assume(volume)
    for claim in old.volumes.claims._assumed.values():
        new.volumes.claims.assume(claim)
    for key, allocation in old.devices.allocated._in_flight.items():
        new.devices.allocated.launch(key, allocation)


def check_decision(world: World, pod: PodInfo, node_name: str) -> None:
    """What is kept of the Pod's class equals what a scheduler finds that has kept nothing."""
    kept = totals_of(world.scheduler._cycles[SCHEDULER].classes, pod, world.scheduler.columns)
    new = rebuilt(world)
    fresh = totals_of(new._cycles[SCHEDULER].classes, pod, new.columns)
    assert kept == fresh, (pod, kept, fresh)
    assert node_name in fresh


def check(world: World) -> None:
    """Check what holds after everything that happens."""
    world.scheduler.validate()
    taken = taken_devices(world.server)
    assert all(count == 1 for count in taken.values()), taken


def settle(world: World) -> None:
    """Let nothing new happen, in too little time for the flush of waiting Pods to help."""
    for _ in range(14):
        world.pass_time(12)
        while world.step():
            pass
        while world.has_writes:
            world.write(0)
            world.tell_outcome(0)
        world.bind_volumes()
        world.make_ready()
        world.end_pods()
        world.release_claims()
        while any(world.server.watches.values()):
            for kind in KINDS:
                world.watch(kind)


def check_settled(world: World) -> None:
    """Check that nothing is under way, and that a new scheduler would place no Pod.

    It might evict some: who may preempt is told of what rejected him, not of what would stand
    in the way once others were gone; for that there is the flush of waiting Pods.
    """
    check(world)
    statistics = world.scheduler.statistics()
    assert statistics.binding_count == statistics.assumed_pod_count == 0
    assert statistics.queue.in_flight_count == 0
    assert not world.scheduler._evictions.evicted_uids
    waiting = {pod["metadata"]["uid"] for pod in world.server.all("Pod") if is_pending(pod)}
    places = {uid: world.scheduler.queue.place_of(uid) for uid in waiting}
    assert None not in places.values(), places
    new, now = Scheduler(world.make_profiles()), at(world.seconds)
    for kind in KINDS:
        for manifest in world.server.all(kind):
            new.handle(world.server.event(kind, manifest), now)
    for _ in range(len(waiting) + 1):
        for effect in new.step(now) or ():
            assert not isinstance(effect, BindPod | RunPreBind), (effect, places)
    check_room(world)


def check_room(world: World) -> None:
    """No Node has more Pods, or more CPU asked of it, than it offers, by our doing."""
    for node in world.server.all("Node"):
        name, offered = node["metadata"]["name"], node["status"]["allocatable"]
        pods = [pod for pod in world.server.all("Pod") if pod["spec"].get("nodeName") == name]
        ours = [pod for pod in pods if pod["metadata"]["uid"] in world.writers.bound]
        cpus = sum(
            int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for pod in pods
        )
        if ours and len(ours) == len(pods) and name not in world.changed_nodes:
            assert cpus <= int(offered["cpu"])
            assert len(pods) <= int(offered["pods"])
