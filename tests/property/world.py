"""A cluster around a Scheduler: an API server that keeps Pods and Nodes, watches, and Bindings.

Everything takes its time, and things may overtake one another: the watches of Nodes and of
Pods are told one event at a time, and the answers to Bindings come in any order. Each
input of the Scheduler is noted with its effects, so that a run can be replayed.
"""

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.effects import BindPod, Effect, RunPreBind
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    Event,
    NodeDeleted,
    NodeUpserted,
    PermitDecided,
    PodDeleted,
    PodRefused,
    PodUpserted,
    PreBindFinished,
)
from scheduler_svc.core.framework.interface import (
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    PreBindWork,
    ReservePlugin,
)
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import at, make_pod
from tests.property.pools import PENDING_KINDS, node_of, pod_of
from tests.property.profiles import full_profile
from tests.reference.amounts import pod_requests
from tests.reference.cluster import HostedNode

NODE_NAMES: Final = ("n0", "n1", "n2")
OTHER_SCHEDULER: Final = "default-scheduler"
WAIT_SECONDS: Final = 30

_T = TypeVar("_T")


@cache
def requested(kind: str, *, is_placed: bool) -> dict[str, int]:
    """Give what a Pod takes of its Node, by the plain reference."""
    return pod_requests(pod_of(kind, "any"), on_node=is_placed)


@cache
def offered(kind: str) -> dict[str, int]:
    """Give what a Node offers, by the plain reference."""
    return HostedNode(node_of(kind, "any"), []).allocatable


def wants(pod: PodInfo, what: str) -> bool:
    """Whether a Pod is to be treated in a special way."""
    return ("wants", what) in pod.labels


class Ledger(ReservePlugin, PermitPlugin, PreBindPlugin, PostBindPlugin):
    """Keeps account of the Pods that are reserved; holds those that want it."""

    name: ClassVar[str] = "Ledger"

    def __init__(self) -> None:
        self.reserved: dict[str, str] = {}

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        assert pod.uid not in self.reserved
        self.reserved[pod.uid] = node_name
        if wants(pod, "rejection") and node_name == NODE_NAMES[0]:
            return Status(Code.UNSCHEDULABLE, ("not here",))
        return SUCCESS

    def unreserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> None:
        assert self.reserved.pop(pod.uid) == node_name

    def permit(self, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        if wants(pod, "permission"):
            return Status(Code.WAIT), WAIT_SECONDS
        return SUCCESS, 0

    def pre_bind(self, pod: PodInfo, node_name: str, cluster: Cluster) -> PreBindWork | Status:
        return PreBindWork("work", WAIT_SECONDS) if wants(pod, "work") else SUCCESS

    def post_bind(self, pod: PodInfo, node_name: str) -> None:
        assert self.reserved.pop(pod.uid) == node_name


class StoredPod(msgspec.Struct):
    """A Pod as the API server has it."""

    name: str
    kind: str
    scheduler: str
    wish: str
    priority: int
    is_gated: bool
    node: str = ""
    is_terminating: bool = False
    is_finished: bool = False
    version: int = 1

    @property
    def uid(self) -> str:
        return f"uid-{self.name}"

    @property
    def is_pending(self) -> bool:
        """Whether somebody has yet to schedule it."""
        return not self.node and not self.is_terminating


class Input(msgspec.Struct, frozen=True):
    """One call of the Scheduler, and what came of it."""

    method: str
    event: Event | None
    now: Now
    effects: list[Effect] | None


def make_scheduler(seed: int = 0) -> tuple[Scheduler, Ledger]:
    """Build a scheduler with all plugins, and one more that keeps account."""
    ledger, plain = Ledger(), full_profile()
    points: dict[str, Sequence[Any]] = {
        "preEnqueue": plain.pre_enqueue,
        "queueSort": [plain.queue_sort],
        "preFilter": plain.pre_filter,
        "filter": plain.filter,
        "preScore": plain.pre_score,
        "score": plain.score,
        "reserve": [ledger],
        "permit": [ledger],
        "preBind": [ledger],
        "bind": plain.bind,
        "postBind": [ledger],
    }
    profile = Profile(plain.scheduler_name, points, plain.weights)
    return Scheduler([profile], seed=seed), ledger


class World:
    """The cluster. Choices are indices: any integer will do."""

    def __init__(self, seed: int = 0) -> None:
        self.scheduler, self.ledger = make_scheduler(seed)
        self.seed = seed
        self.seconds = 0.0
        self.inputs: list[Input] = []
        self.pods: dict[str, StoredPod] = {}
        self.nodes: dict[str, str] = {}  # kind by name
        self.pod_watch: deque[Event] = deque()
        self.node_watch: deque[Event] = deque()
        # What the Scheduler has been told: Nodes' kinds, Pods, and Nodes by uid of Pods that
        # are bound, but have not been seen on their Node.
        self.told_nodes: dict[str, str] = {}
        self.told_pods: dict[str, StoredPod] = {}
        self.told_bound: dict[str, str] = {}
        self.requests: dict[str, BindPod] = {}
        self.outcomes: list[BindSucceeded | BindFailed] = []
        self.works: list[RunPreBind] = []
        self.bound: set[str] = set()
        self.created = 0
        self._interner = PodInterner()
        self._versions: deque[StoredPod | str] = deque()
        self._node_versions: deque[tuple[str, str | None]] = deque()

    # What people and controllers do.

    def set_node(self, name: str, kind: str) -> None:
        """Create or change a Node."""
        self.nodes[name] = kind
        self.node_watch.append(NodeUpserted(NodeInfo.from_node(node_of(kind, name))))
        self._node_versions.append((name, kind))

    def delete_node(self, name: str) -> None:
        """Delete a Node, if it is there; its Pods stay for now."""
        if self.nodes.pop(name, None) is not None:
            self.node_watch.append(NodeDeleted(name))
            self._node_versions.append((name, None))

    def create_pod(
        self,
        kind: str,
        *,
        wish: str = "",
        priority: int = 0,
        is_gated: bool = False,
        node: str = "",
    ) -> None:
        """Create a Pod: one of ours, or with a Node one that another scheduler has placed."""
        self.created += 1
        scheduler = OTHER_SCHEDULER if node else "berthmaster"
        name = f"p{self.created}"
        pod = StoredPod(name, kind, scheduler, wish, priority, is_gated, node=node)
        self.pods[pod.uid] = pod
        self._tell_later(pod)

    def change_pod(self, choice: int) -> None:
        """Change a Pod; a gated one loses its gates."""
        if self.pods:
            pod = self._choose_pod(choice)
            pod.is_gated = False
            self._tell_later(pod)

    def terminate_pod(self, choice: int) -> None:
        """Start to delete a Pod."""
        if self.pods:
            pod = self._choose_pod(choice)
            pod.is_terminating = True
            self._tell_later(pod)

    def remove_pod(self, choice: int) -> None:
        """Delete a Pod for good."""
        if self.pods:
            pod = self._choose_pod(choice)
            del self.pods[pod.uid]
            self.pod_watch.append(PodDeleted(pod.uid))
            self._versions.append(pod.uid)

    def finish_pod(self, choice: int) -> None:
        """Let a Pod that has a Node come to its end."""
        placed = [pod for pod in self.pods.values() if pod.node]
        if placed:
            pod = _choose(placed, choice)
            pod.is_finished = True
            self._tell_later(pod)

    def refuse_pod(self, choice: int, used_milli_cpu: int) -> None:
        """Let a kubelet refuse a Pod; that is told at once, its end by the watch of Pods."""
        placed = [pod for pod in self.pods.values() if pod.node and not pod.is_finished]
        if not placed:
            return
        pod = _choose(placed, choice)
        pod.is_finished = True
        self._tell_later(pod)
        words = (
            "Node didn't have enough resource: cpu, requested: 1, "
            f"used: {used_milli_cpu}, capacity: 4000"
        )
        self._handle(
            PodRefused(
                namespace="default",
                name=pod.name,
                uid=pod.uid,
                scheduler_name=pod.scheduler,
                node_name=pod.node,
                reason="OutOfcpu",
                message=words,
                decision_id="berthmaster-1",
            )
        )

    def steal_pod(self, choice: int, node: str) -> None:
        """Let another scheduler bind a Pod of ours."""
        pending = [pod for pod in self.pods.values() if pod.is_pending and not pod.is_gated]
        if pending:
            pod = _choose(pending, choice)
            pod.node = node
            self._tell_later(pod)

    # What the Scheduler is told, and what it does.

    def watch_pods(self) -> None:
        """Tell the next change of a Pod."""
        if self.pod_watch:
            self._handle(self.pod_watch.popleft())
            version = self._versions.popleft()
            uid = version if isinstance(version, str) else version.uid
            self.told_pods.pop(uid, None)
            if isinstance(version, str) or version.is_finished or version.node:
                self.told_bound.pop(uid, None)
            if not isinstance(version, str) and not version.is_finished:
                self.told_pods[uid] = version

    def watch_nodes(self) -> None:
        """Tell the next change of a Node."""
        if self.node_watch:
            self._handle(self.node_watch.popleft())
            name, kind = self._node_versions.popleft()
            if kind is None:
                del self.told_nodes[name]
            else:
                self.told_nodes[name] = kind

    def created_uids(self) -> list[str]:
        """Give the uids of all Pods that there have been."""
        return [f"uid-p{number}" for number in range(1, self.created + 1)]

    def step(self) -> bool:
        """Let the Scheduler decide one Pod; False if there is none."""
        return self._call("step") is not None

    def pass_time(self, seconds: float) -> None:
        """Let time go by, and what is due be done."""
        self.seconds += seconds
        self._call("expire")

    def serve_binding(self, choice: int, failure: BindFailure | None = None) -> None:
        """Let the API server answer a Binding; `failure` if it is free to refuse."""
        if not self.requests:
            return
        request = self.requests.pop(_choose(sorted(self.requests), choice))
        uid = request.pod.uid
        pod = self.pods.get(uid)
        if pod is None or pod.is_terminating:
            failure = BindFailure.GONE
        elif pod.node:
            failure = BindFailure.BOUND_ELSEWHERE
        if failure is None and pod is not None:
            assert uid not in self.bound
            self.bound.add(uid)
            pod.node = request.node_name
            self._tell_later(pod)
            self.outcomes.append(BindSucceeded(uid))
        elif failure is not None:
            self.outcomes.append(BindFailed(uid, failure, failure.value))

    def tell_outcome(self, choice: int) -> None:
        """Tell the outcome of a Binding."""
        if self.outcomes:
            outcome = self.outcomes.pop(choice % len(self.outcomes))
            told = self.told_pods.get(outcome.uid)
            if isinstance(outcome, BindSucceeded) and told is not None and not told.node:
                self.told_bound[told.uid] = self.ledger.reserved[told.uid]
            self._handle(outcome)

    def decide_permit(self, choice: int, rejection: str = "") -> None:
        """Let a waiting Pod go on, or not."""
        held = [uid for uid, pod in self.told_pods.items() if pod.wish == "permission"]
        if held:
            self._handle(PermitDecided(_choose(held, choice), "Ledger", rejection))

    def finish_work(self, choice: int, error: str = "") -> None:
        """End the work that a Pod waits for."""
        if self.works:
            work = self.works.pop(choice % len(self.works))
            self._handle(PreBindFinished(work.pod.uid, work.plugin, error))

    def _call(self, method: str, event: Event | None = None) -> list[Effect] | None:
        now, reserved = at(self.seconds), set(self.ledger.reserved)
        effects = call(self.scheduler, method, event, now)
        self.inputs.append(Input(method, event, now, effects))
        for effect in effects or ():
            if isinstance(effect, BindPod):
                assert effect.pod.uid not in self.requests
                self.requests[effect.pod.uid] = effect
            elif isinstance(effect, RunPreBind):
                self.works.append(effect)
        for uid, node in self.ledger.reserved.items():
            if uid not in reserved:
                self._check_room(self.told_pods[uid].kind, node)
        return effects

    def _check_room(self, kind: str, node: str) -> None:
        """Make sure that a Pod that has just been given a Node fits there beside all others."""
        decided = {**self.ledger.reserved, **self.told_bound}
        pods = [p for p in self.told_pods.values() if (p.node or decided.get(p.uid)) == node]
        allocatable = offered(self.told_nodes[node])
        assert len(pods) <= allocatable["pods"]
        for resource, amount in requested(kind, is_placed=False).items():
            taken = sum(requested(p.kind, is_placed=bool(p.node)).get(resource, 0) for p in pods)
            assert amount == 0 or taken <= allocatable.get(resource, 0)

    def _handle(self, event: Event) -> None:
        self._call("handle", event)

    def _choose_pod(self, choice: int) -> StoredPod:
        return _choose(list(self.pods.values()), choice)

    def _tell_later(self, pod: StoredPod) -> None:
        pod.version += 1
        version = msgspec.structs.replace(pod)
        self._versions.append(version)
        self.pod_watch.append(PodUpserted(self._interner.intern(self._encode(version))))

    @staticmethod
    def _encode(pod: StoredPod) -> Any:
        fields = PENDING_KINDS[pod.kind].copy()
        fields["version"] = str(pod.version)
        fields["node"] = pod.node
        fields["scheduler"] = pod.scheduler
        fields["priority"] = pod.priority
        fields["gates"] = ["hold"] if pod.is_gated else []
        fields["is_terminating"] = pod.is_terminating
        fields["phase"] = "Succeeded" if pod.is_finished else ""
        fields["labels"] = {"wants": pod.wish}
        return make_pod(pod.name, **fields)


def _choose(candidates: Sequence[_T], choice: int) -> _T:
    return candidates[choice % len(candidates)]


def call(scheduler: Scheduler, method: str, event: Event | None, now: Now) -> list[Effect] | None:
    """Call a method of the Scheduler by name."""
    if method == "step":
        return scheduler.step(now)
    if event is None:
        return scheduler.expire(now)
    return scheduler.handle(event, now)


def replay(inputs: Sequence[Input], seed: int) -> list[list[Effect] | None]:
    """Give a new Scheduler the same inputs; give its effects."""
    scheduler, _ = make_scheduler(seed)
    return [call(scheduler, each.method, each.event, each.now) for each in inputs]
