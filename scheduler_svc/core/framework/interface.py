"""The contracts between the framework and its plugins, one class an extension point.

A plugin works on many Nodes at once: it gets a `NodeView` of K Nodes and returns
arrays of length K. It is asked about a *class* of Pods, all Pods that agree in the
fields the plugins declare (`Plugin.pod_fields`; a Pod's shape always counts), and
what it computes for the class is kept and patched, so a method must depend on
nothing but its arguments.

What an answer depends on is declared as a `Scope`, which decides when it is asked
for again: `SPEC` when the Node's specification changed, `USAGE` also when Pods came
or went on it, `CLUSTER` each time. What else a plugin reads of the cluster must show in
its `projection`, since Pods whose projections differ are of different classes.

Source of the points and their order: staging/src/k8s.io/kube-scheduler/framework
(interface.go), v1.36.3. Differences: arrays instead of one Node a call; reasons are
asked for only when no Node fits.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from enum import Enum, auto
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectName
from scheduler_svc.core.columns import Int64Array, NodeColumns, NodeView
from scheduler_svc.core.framework.cluster_events import ClusterEvent, EventRegistration
from scheduler_svc.core.labels import BoolArray
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Status

MAX_NODE_SCORE = 100

# Scores of any signed integer type.
ScoreArray = npt.NDArray[np.signedinteger[Any]]

# What PreFilter or PreScore prepared for a class; opaque to the framework.
State = Any


class Scope(Enum):
    """What a Filter's or Score's answer for a Node depends on."""

    SPEC = auto()
    USAGE = auto()
    CLUSTER = auto()


class Plugin:
    """Base of all plugins; `name` is upstream's, used in configuration, metrics and texts.

    `pod_fields` names the attributes of `PodInfo`, beside its shape, that the plugin reads.
    `projection_fields` names those, with dots as for `attrgetter`, that are all empty of Pods
    which do not concern its `projection`: of these it is not asked. None: it always is.
    """

    name: ClassVar[str]
    pod_fields: ClassVar[frozenset[str]] = frozenset()
    projection_fields: ClassVar[frozenset[str]] = frozenset()

    def attach(self, cluster: Cluster) -> None:
        """Learn the cluster that PreEnqueue and hints may look things up in.

        What a plugin keeps of Pods between Reserve and their Binding has to be the cluster's: a
        profile that changes may get a new plugin while they are on their way.
        """
        del cluster

    def projection(self, pod: PodInfo, cluster: Cluster) -> Hashable:
        """Give what the plugin reads of the Pod and the cluster beyond shape, fields and Nodes.

        Asked once a cycle, so it has to be cheap for Pods that do not concern the plugin. None
        for those that have nothing in `projection_fields`.
        """
        del pod, cluster
        return None

    def state_size_bytes(self, state: "State") -> int:
        """Give the memory of what a state of scope CLUSTER keeps by Node; asked now and then."""
        del state
        return 0

    def failure(self, state: "State") -> Status | None:
        """Give what went wrong in `filter` or a score, of the first Node by name.

        It ends the attempt, and nothing is kept of the class's evaluation.
        """
        del state
        return None

    def may_fail(self, state: "State") -> bool:
        """Whether `failure` may ever be something for a state; asked once of a class."""
        del state
        return type(self).failure is not Plugin.failure

    def forget_failure(self, state: "State") -> None:
        """Forget what went wrong when it was last asked what would be, were Pods elsewhere."""


class EnqueueExtensions(Plugin, ABC):
    """Names the events that may undo the plugin's rejections.

    A plugin that rejects Pods and does not implement this is asked again after every event.
    """

    @abstractmethod
    def events_to_register(self) -> Sequence[EventRegistration]:
        """Give the events and their hints; none means that no event ever helps."""


class FedPlugin(Plugin, ABC):
    """Decides by something that it is told from outside, by a feed that the shell runs."""

    @abstractmethod
    def take_in(self, value: Any) -> Status:
        """Take in what the feed told; `projection` must show it. An error changes nothing else."""

    @abstractmethod
    def feed_event(self) -> ClusterEvent:
        """Give the event of the feed having told something, of a kind of its own."""


class PreEnqueuePlugin(Plugin, ABC):
    """Decides whether a Pod may enter the queue at all."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Give success, or a rejection with the reason the Pod waits for."""


class QueueSortPlugin(Plugin, ABC):
    """Orders the Pods that wait; exactly one in all profiles."""

    @abstractmethod
    def sort_key(self, pod: PodInfo, timestamp_seconds: float) -> tuple[float, ...]:
        """Give a key: the Pod with the smallest is scheduled first."""


class PreFilterResult(msgspec.Struct, frozen=True):
    """What a PreFilter found: a verdict on the class, a state, perhaps the only Nodes possible.

    `status` Skip leaves the plugin's Filter out; a rejection ends the attempt.
    """

    status: Status = SUCCESS
    state: State = None
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin, ABC):
    """Looks at a class of Pods before any Node."""

    @abstractmethod
    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        """Prepare the class that `pod` stands for."""


class Rejection(msgspec.Struct, frozen=True):
    """A status and the Nodes of a view that have it: bool `(K,)`."""

    status: Status
    nodes: BoolArray

    @classmethod
    def of_all(cls, status: Status, nodes: NodeView) -> "Rejection":
        """Give one status to every Node of the view."""
        return cls(status, np.ones(nodes.count, dtype=np.bool_))


class FilterPlugin(Plugin, ABC):
    """Says on which Nodes the Pod may run.

    One of scope CLUSTER that `asks_candidates_only` is asked about Nodes that have passed the
    filters before it: for those whose questions cost much, or may fail. One of scope USAGE
    `reads_pods` unless it looks at the columns alone.
    """

    filter_scope: ClassVar[Scope]
    asks_candidates_only: ClassVar[bool] = False
    reads_pods: ClassVar[bool] = True

    def is_concerned_by(self, state: State, pod: PodInfo) -> bool:
        """Whether an answer of scope CLUSTER may change as `pod` comes to a Node or leaves it."""
        del state, pod
        return True

    @abstractmethod
    def filter(self, state: State, nodes: NodeView) -> BoolArray | None:
        """Give bool `(K,)`, True where the Pod may run; None for everywhere."""

    @abstractmethod
    def rejections(self, state: State, nodes: NodeView) -> Sequence[Rejection]:
        """Say why, for a view of Nodes that `filter` rejected; the masks cover it, disjoint."""


class PreScorePlugin(Plugin, ABC):
    """Looks at a class of Pods before its Nodes are scored."""

    @abstractmethod
    def pre_score(self, pod: PodInfo, cluster: Cluster) -> tuple[Status, State]:
        """Give success or Skip, which leaves the plugin's Score out, and a state."""


class ScorePlugin(Plugin, ABC):
    """Ranks the Nodes on which the Pod may run."""

    score_scope: ClassVar[Scope]

    @abstractmethod
    def score(self, state: State, nodes: NodeView) -> Int64Array:
        """Give int64 `(K,)`, 0 to 100."""

    def score_version(self, state: State, columns: NodeColumns) -> Hashable:
        """Give a value that changes when scores change for reasons outside of a Node's scope.

        Asked when a Node's specification has changed, or at each use of the class.
        """
        del state, columns
        return None

    def asks_version_always(self, state: State) -> bool:
        """Whether `score_version` may change while no Node does; asked once of a class."""
        del state
        return False


class NormalizedScorePlugin(ScorePlugin, ABC):
    """A Score whose raw values become 0 to 100 by comparison over the feasible Nodes."""

    @abstractmethod
    def normalize(self, raw: Int64Array, lowest: int, highest: int) -> Int64Array:
        """Give int64 0 to 100 for `raw`, given the extremes over the feasible Nodes.

        Values of Nodes that are not feasible may lie outside of the extremes; what is
        given for them is not used.
        """


class ClusterScorePlugin(Plugin, ABC):
    """Ranks the feasible Nodes by what is on any of them; asked at every use of a class.

    Upstream's one without a PreScore gives every Node a 0 where ours skips
    (`scores_zero_when_skipped`), which shows only where each plugin's share is asked for.
    """

    scores_zero_when_skipped: ClassVar[bool] = False

    @abstractmethod
    def score_feasible(
        self, state: State, nodes: NodeView, feasible: BoolArray
    ) -> ScoreArray | None:
        """Give integers `(K,)`, 0 to 100, normalized; None where upstream's PreScore skips.

        Of a narrow type if that is no trouble: adding them up costs a third.

        `feasible` is bool `(K,)`, with at least one True; what is given for other Nodes is
        not used.
        """


class ReservePlugin(Plugin, ABC):
    """Keeps something of its own for a Pod that has been given a Node."""

    @abstractmethod
    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Set it aside; a rejection or error undoes the attempt."""

    @abstractmethod
    def unreserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> None:
        """Give it back; must be safe to call whether or not `reserve` was."""

    def undo(self, pod: PodInfo, node_name: str) -> Any:
        """Give the payload of work that takes back what PreBind has written, None for none.

        Asked before `unreserve`, of a Pod that was in its binding cycle.
        """
        del pod, node_name


class PermitPlugin(Plugin, ABC):
    """May hold a Pod back after it has been given a Node."""

    @abstractmethod
    def permit(self, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        """Give success, a rejection, or Wait with the seconds to wait at most."""


class PreBindPlugin(Plugin, ABC):
    """Does outside work that must be done before the Pod is bound.

    The work is an effect; its outcome comes back as an event. The core waits for it
    with a deadline and never calls out.
    """

    @abstractmethod
    def pre_bind(self, pod: PodInfo, node_name: str, cluster: Cluster) -> "PreBindWork | Status":
        """Give the work to be done, Skip, success when there is none, or an error."""

    def pre_bind_progress(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Say, once the work is done, whether others have done their part as well.

        Success, an error, or Wait: it is asked again whenever one of `awaited_objects`
        has changed, until the work's time-out.
        """
        del pod, node_name, cluster
        return SUCCESS

    def awaited_objects(
        self, pod: PodInfo, node_name: str, cluster: Cluster
    ) -> Collection[ObjectName] | None:
        """Give the objects, by kind and key, whose change may end the wait; None: any.

        Asked after each Wait, so that thousands of Pods can wait for objects of their own.
        """
        del pod, node_name, cluster
        return None


class PreBindWork(msgspec.Struct, frozen=True):
    """Work for the shell, opaque to the core, and how long it may take.

    `timeout_error` is what is said if it takes longer; "" for a text of the framework's.
    """

    payload: Any
    timeout_seconds: float
    timeout_error: str = ""


class BindPlugin(Plugin, ABC):
    """Decides how the Pod is bound."""

    @abstractmethod
    def bind(self, pod: PodInfo, node_name: str) -> Status:
        """Give success if a Binding shall be posted, or Skip to leave it to the next plugin."""


class PostBindPlugin(Plugin, ABC):
    """Is told of a Pod that has been bound."""

    @abstractmethod
    def post_bind(self, pod: PodInfo, node_name: str) -> None:
        """Take note; nothing can go wrong any more."""
