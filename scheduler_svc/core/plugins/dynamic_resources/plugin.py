"""DynamicResources: what to do with a Pod's claims, from the queue to the Binding.

Source: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, v1.36.3.
Differences: searches are limited in steps instead of time; claims are judged by class, and
again for the Pod itself when it is given a Node.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Final

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind, ObjectName, object_key
from scheduler_svc.core.columns import Int64Array, NodeView
from scheduler_svc.core.device_objects import Allocation, ResourceClaim
from scheduler_svc.core.devices.demands import Claim
from scheduler_svc.core.devices.extended_resources import container_demand
from scheduler_svc.core.devices.inventory import DeviceInventory
from scheduler_svc.core.devices.pod_claims import (
    ExtendedNeed,
    PodClaims,
    claims_of,
    unmade_claim,
)
from scheduler_svc.core.devices.readiness import binding_failure, has_timed_out, is_ready
from scheduler_svc.core.devices.results import allocation_of
from scheduler_svc.core.devices.writes import MadeClaim, ReleaseClaims
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.interface import (
    ClusterScorePlugin,
    EnqueueExtensions,
    FilterPlugin,
    PreBindPlugin,
    PreBindWork,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rejection,
    ReservePlugin,
    Scope,
)
from scheduler_svc.core.framework.normalize import normalize_default
from scheduler_svc.core.framework.post_filter import (
    FailedAttempt,
    PostFilterPlugin,
    PostFilterResult,
)
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.plugins.dynamic_resources.class_state import (
    REASONS,
    SUFFICIENT,
    UNAVAILABLE,
    AllocatedClaim,
    ClassState,
    ExtendedOnNode,
    SearchLimits,
)
from scheduler_svc.core.plugins.dynamic_resources.hints import ClaimHints
from scheduler_svc.core.plugins.dynamic_resources.reservations import (
    Reservation,
    Reservations,
    is_awaited,
    readiness,
)
from scheduler_svc.core.plugins.dynamic_resources.taking_back import take_back
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SKIP, SUCCESS, Code, Status

# What a search may look at in a second that upstream would give it: some 40 µs each.
STEPS_PER_SECOND: Final = 10_000
_UNLIMITED: Final = 2**62
DEFAULT_FILTER_TIMEOUT_SECONDS: Final = 10.0
DEFAULT_BINDING_TIMEOUT_SECONDS: Final = 600.0
_WRITE_TIMEOUT_SECONDS: Final = 60.0
_BINDING_TIMEOUT: Final = "device binding timeout: context deadline exceeded"


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PreScorePlugin,
    ClusterScorePlugin,
    ReservePlugin,
    PreBindPlugin,
    EnqueueExtensions,
):
    """Gives claims devices, and keeps Pods waiting for claims.

    Parameters
    ----------
    filter_timeout_seconds
        How much time upstream would give the search on one Node; here a measure of steps.
        0 is no limit.
    binding_timeout_seconds
        How long devices may take until they are ready to be bound.
    """

    name = "DynamicResources"
    projection_fields = frozenset({"claims", "shape.requests.scalars"})
    filter_scope = Scope.CLUSTER
    asks_candidates_only = True
    scores_zero_when_skipped = True

    def __init__(
        self,
        filter_timeout_seconds: float = DEFAULT_FILTER_TIMEOUT_SECONDS,
        binding_timeout_seconds: float = DEFAULT_BINDING_TIMEOUT_SECONDS,
        *,
        upstream_quirks: bool = True,
    ) -> None:
        steps = int(filter_timeout_seconds * STEPS_PER_SECOND) or _UNLIMITED
        self._limits = SearchLimits(steps, follows_quirks=upstream_quirks)
        self._binding_timeout_seconds = binding_timeout_seconds
        self._reservations = Reservations()
        self._hints = ClaimHints(self._reservations)

    def attach(self, cluster: Cluster) -> None:
        """Learn the cluster that claims are looked up in, and share what is kept of Pods there."""
        self._reservations = cluster.devices.kept.setdefault(self.name, self._reservations)
        self._hints.attach(cluster, self._reservations)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Look again when claims, classes, slices or Nodes change in a way that may help."""
        return self._hints.registrations()

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Hold back a Pod some of whose claims are not there."""
        reason = self._hints.obstacle(pod)
        return _unresolvable(reason) if reason else SUCCESS

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give what the Pod's claims ask for or have been given, or what is wrong with them."""
        if not pod.claims and not pod.shape.requests.scalars:
            return None
        found = self._claims_of(pod, cluster)
        return None if found.is_empty else self._token(found, cluster)

    def _claims_of(self, pod: PodInfo, cluster: Cluster) -> PodClaims:
        limits_users = not self._limits.follows_quirks
        return claims_of(pod, cluster.devices, limits_users=limits_users)

    def _token(self, found: PodClaims, cluster: Cluster) -> Hashable:
        if found.problem:
            return found.problem
        inventory = cluster.devices
        claims = tuple(
            inventory.demand(claim.spec)
            if claim.status.allocation is None
            else (
                claim.metadata.uid,
                claim.metadata.resource_version,
                self._is_broken(claim, cluster),
            )
            for claim in found.claims
        )
        extended = found.extended
        stale = extended is not None and extended.stale_claim is not None
        classes = None if extended is None else extended.classes
        return (inventory.class_version, claims, classes, stale)

    def _is_broken(self, claim: ResourceClaim, cluster: Cluster) -> bool:
        """Whether an allocated claim's devices have failed to become ready."""
        if binding_failure(claim):
            return True
        timeout = self._binding_timeout_seconds
        return not is_ready(claim) and has_timed_out(claim, timeout, cluster.wall_seconds)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Skip without claims; reject where one keeps the Pod waiting wherever it goes."""
        found = self._claims_of(pod, cluster)
        if found.is_empty:
            return PreFilterResult(SKIP)
        if found.problem:
            return PreFilterResult(_unresolvable(found.problem))
        return PreFilterResult(SUCCESS, self._shared_state(pod, found, cluster))

    def _shared_state(self, pod: PodInfo, found: PodClaims, cluster: Cluster) -> ClassState:
        states = cluster.devices.states
        key = (self, pod.shape, self._token(found, cluster))
        state = states.get(key)
        if not isinstance(state, ClassState) or state.failure is not None:
            state = states[key] = self._new_state(pod, found, cluster)
        return state

    def _new_state(self, pod: PodInfo, found: PodClaims, cluster: Cluster) -> ClassState:
        inventory = cluster.devices
        allocated = tuple(
            AllocatedClaim(claim, self._is_broken(claim, cluster))
            for claim in found.claims
            if claim.status.allocation is not None
        )
        demands = tuple(
            Claim(claim.key, claim.metadata.uid, inventory.demand(claim.spec))
            for claim in found.claims
            if claim.status.allocation is None
        )
        extended = None
        if found.extended is not None:
            extended = _extended_on_node(pod, found.extended, inventory)
        return ClassState(inventory, self._limits, allocated, demands, extended)

    def filter(self, state: ClassState, nodes: NodeView) -> BoolArray:
        """Pass Nodes that reach what is allocated, and have the devices for what is not."""
        fits: BoolArray = state.verdicts(nodes) == SUFFICIENT
        for index in range(len(state.allocated)):
            fits &= state.reach(index, nodes)
        return fits

    def is_concerned_by(self, state: ClassState, pod: PodInfo) -> bool:
        """Never: devices are held by claims, which outlive a Pod's stay on a Node."""
        del state, pod
        return False

    def state_size_bytes(self, state: ClassState) -> int:
        """Give the memory of the verdicts and scores by Node."""
        return state.size_bytes

    def rejections(self, state: ClassState, nodes: NodeView) -> Sequence[Rejection]:
        """Say what is missing; a claim that cannot be used only where nothing else is."""
        verdicts = state.verdicts(nodes)
        result = [
            Rejection(_unresolvable(reason), verdicts == verdict)
            for verdict, reason in REASONS.items()
        ]
        result.append(Rejection(_unresolvable(UNAVAILABLE), verdicts == SUFFICIENT))
        return result

    def failure(self, state: ClassState | None) -> Status | None:
        """Give what is wrong with a claim, a class or a pool."""
        return None if state is None else state.failure

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Take the devices from a claim that stands in the way and that nobody else uses."""
        return take_back(self.name, attempt, follows_quirks=self._limits.follows_quirks)

    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, ClassState | None]:
        """Skip where no claim names alternatives: all Nodes get 0."""
        found = self._claims_of(pod, cluster)
        if found.is_empty or found.problem:
            return SKIP, None
        state = self._shared_state(pod, found, cluster)
        return (SUCCESS, state) if state.is_scored else (SKIP, None)

    def score_feasible(self, state: ClassState, nodes: NodeView, feasible: BoolArray) -> Int64Array:
        """Prefer Nodes that offer earlier alternatives."""
        raw = state.scores(nodes)
        return normalize_default(raw, int(raw[feasible].max()))

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Search once more, for the Pod's own claims, and take the devices."""
        if not pod.claims and not pod.shape.requests.scalars:
            return SUCCESS
        found = self._claims_of(pod, cluster)
        if found.is_empty:
            return SUCCESS
        if found.problem:
            return Status(Code.ERROR, (found.problem,))
        state = self._new_state(pod, found, cluster)
        solved = state.solve(cluster.columns.rows[node_name], cluster.columns)
        if solved is None:
            return Status(Code.ERROR, ("claim allocation not found for node",))
        flavour, solution = solved
        allocations: dict[str, Allocation] = {}
        for claim, chosen in zip(flavour.claims, solution, strict=True):
            # Of a claim that the Pod names twice the first allocation counts, as upstream.
            allocations.setdefault(claim.uid, allocation_of(claim, chosen, node_name))
        made = None
        if flavour.made is not None:
            made = MadeClaim(flavour.claims[-1].demand.spec, flavour.made.mappings)
        reservation = Reservation(found, allocations, made)
        self._reservations.add(pod.uid, reservation, cluster.devices.allocated)
        return SUCCESS

    def undo(self, pod: PodInfo, node_name: str) -> ReleaseClaims | None:
        """Take the Pod from the users of its claims, if it has been written that it is one."""
        del node_name
        return self._reservations.release(pod.uid)

    def unreserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> None:
        """Give the devices back, unless the claim is already seen to have them."""
        del node_name
        self._reservations.revert(pod.uid, cluster.devices.allocated)

    def pre_bind(self, pod: PodInfo, node_name: str, cluster: Cluster) -> PreBindWork | Status:
        """Have allocations and reservations written; Skip without claims."""
        del cluster
        reservation = self._reservations.get(pod.uid)
        if reservation is None:
            return SKIP
        work = self._reservations.write(pod, node_name, reservation)
        if not is_awaited(reservation):
            return PreBindWork(work, _WRITE_TIMEOUT_SECONDS)
        seconds = _WRITE_TIMEOUT_SECONDS + self._binding_timeout_seconds
        return PreBindWork(work, seconds, _BINDING_TIMEOUT)

    def pre_bind_progress(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Wait for the devices to be ready, where they take their time."""
        del node_name
        reservation = self._reservations.get(pod.uid)
        self._reservations.settle(pod.uid)
        if reservation is not None and is_awaited(reservation):
            timeout = self._binding_timeout_seconds
            status = readiness(pod, reservation, cluster, timeout)
            if status.code is not Code.SUCCESS:
                return status
        self._reservations.finish(pod.uid)
        return SUCCESS

    def awaited_objects(
        self, pod: PodInfo, node_name: str, cluster: Cluster
    ) -> Collection[ObjectName] | None:
        """Give the Pod's claims; any object where one is made whose name is not known yet."""
        del node_name, cluster
        reservation = self._reservations.get(pod.uid)
        if reservation is None or reservation.made is not None:
            return None
        names = (claim.metadata for claim in reservation.claims.claims)
        return [(ObjectKind.RESOURCE_CLAIM, object_key(it.namespace, it.name)) for it in names]


def _extended_on_node(
    pod: PodInfo, need: ExtendedNeed, inventory: DeviceInventory
) -> ExtendedOnNode:
    containers = pod.shape.extended_requests
    return ExtendedOnNode(
        dict(need.amounts),
        dict(need.classes),
        lambda classes: container_demand(containers, classes),
        lambda demand: unmade_claim(pod, demand, inventory),
        is_stale=need.stale_claim is not None,
    )


def _unresolvable(reason: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
