"""PostFilter: an allocation that keeps a Pod from every Node is undone, so that others are tried.

Source: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (`PostFilter`),
v1.36.3. Difference: of several such claims the first is taken, not any.
"""

import numpy as np

from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.device_objects import ResourceClaim
from scheduler_svc.core.devices.pod_claims import claims_of
from scheduler_svc.core.devices.writes import Deallocate, DeleteClaim
from scheduler_svc.core.effects import PodReference, RunCleanup
from scheduler_svc.core.framework.post_filter import FailedAttempt, PostFilterResult
from scheduler_svc.core.plugins.dynamic_resources.class_state import UNAVAILABLE, ClassState
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status


def take_back(plugin: str, attempt: FailedAttempt, *, follows_quirks: bool) -> PostFilterResult:
    """Find a claim to be deallocated, or made in an earlier attempt and of no use any more."""
    pod = attempt.pod
    if follows_quirks and plugin not in attempt.prepared.pre_filtered:
        # Another plugin's final no came first, so that upstream's finds no state of its own.
        return PostFilterResult(Status(Code.ERROR, ("not found",)))
    found = claims_of(pod, attempt.cache.cluster.devices)
    if found.is_empty or found.problem:
        return _no("no new claims to deallocate")
    claim = _claim_in_the_way(plugin, attempt)
    if claim is not None:
        meta = claim.metadata
        work = Deallocate(meta.name, meta.uid, meta.resource_version)
        return _no("deallocation of ResourceClaim completed", _cleanup(pod, plugin, work))
    stale = None if found.extended is None else found.extended.stale_claim
    if stale is not None:
        deletion = DeleteClaim(stale.metadata.name, stale.metadata.uid)
        return _no("deletion of ResourceClaim completed", _cleanup(pod, plugin, deletion))
    return _no("still not schedulable")


def _claim_in_the_way(plugin: str, attempt: FailedAttempt) -> ResourceClaim | None:
    """Give an allocated claim that some Node lacks, and that nobody but the Pod uses."""
    state = next((s for p, s in attempt.prepared.filters if p.name == plugin), None)
    if not isinstance(state, ClassState):
        return None
    rows = [
        group.rows
        for group in attempt.diagnosis.groups
        if group.status.plugin == plugin and UNAVAILABLE in group.status.reasons
    ]
    if not rows:
        return None
    nodes = NodeView(attempt.cache.columns, np.concatenate(rows))
    for index, known in enumerate(state.allocated):
        users = {user.uid for user in known.claim.status.reserved_for}
        if users <= {attempt.pod.uid} and not state.reach(index, nodes).all():
            return known.claim
    return None


def _cleanup(pod: PodInfo, plugin: str, work: Deallocate | DeleteClaim) -> RunCleanup:
    return RunCleanup(PodReference(pod.namespace, pod.name, pod.uid), plugin, work)


def _no(reason: str, *effects: RunCleanup) -> PostFilterResult:
    return PostFilterResult(Status(Code.UNSCHEDULABLE, (reason,)), effects=effects)
