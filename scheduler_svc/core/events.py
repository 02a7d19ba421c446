"""Everything that can happen, as the shell tells it to the core; past tense.

Objects come decoded and compact (`nodes.NodeInfo`, `pods.PodInfo`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from scheduler_svc.core.cluster_objects import ApiObject, ObjectKind
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.pods import PodInfo


class NodeUpserted(msgspec.Struct, frozen=True, gc=False):
    """A Node is new or has changed."""

    node: NodeInfo


class NodeDeleted(msgspec.Struct, frozen=True, gc=False):
    """A Node is gone."""

    name: str


class PodUpserted(msgspec.Struct, frozen=True, gc=False):
    """A Pod is new or has changed."""

    pod: PodInfo


class PodDeleted(msgspec.Struct, frozen=True, gc=False):
    """A Pod is gone, or has finished and takes no room any more."""

    uid: str


class PodRefused(msgspec.Struct, frozen=True, gc=False):
    """A kubelet has not admitted a Pod that was bound to its Node; the Pod has failed by that.

    `reason` and `message` are the kubelet's, `decision_id` is that of who bound the Pod, "" if
    it has none.
    """

    namespace: str
    name: str
    uid: str
    scheduler_name: str
    node_name: str
    reason: str
    message: str
    decision_id: str = ""


class ObjectUpserted(msgspec.Struct, frozen=True, gc=False):
    """An object that is neither Node nor Pod is new or has changed."""

    kind: ObjectKind
    object: ApiObject


class ObjectDeleted(msgspec.Struct, frozen=True, gc=False):
    """Such an object is gone; `key` as of `cluster_objects.object_key`."""

    kind: ObjectKind
    key: str


class FeedUpdated(msgspec.Struct, frozen=True, gc=False):
    """The feed of a profile's plugin has told something; `value` is the plugin's own."""

    scheduler_name: str
    plugin: str
    value: Any


class ProfileSet(msgspec.Struct, frozen=True, gc=False):
    """A profile is to be served, a `framework.profile.Profile`; one of its name ends with that."""

    profile: Any


class ProfileRemoved(msgspec.Struct, frozen=True, gc=False):
    """A profile is to be served no more; `cause` says why, for people."""

    scheduler_name: str
    cause: str


class BindSucceeded(msgspec.Struct, frozen=True, gc=False):
    """The API server has bound the Pod as asked, or is known to have done so before."""

    uid: str


class BindFailure(StrEnum):
    """Why a Binding did not come about.

    `GONE`: the Pod is deleted, being deleted, or another one has its name. `BOUND_ELSEWHERE`:
    somebody else bound it. `NODE_GONE`: the Node vanished before the Binding was sent.
    `NOT_LEADER`: the Lease could have been taken meanwhile, so nothing was sent.
    `REFUSED`: anything else; the Pod is known to be unbound.
    """

    GONE = "gone"
    BOUND_ELSEWHERE = "bound elsewhere"
    NODE_GONE = "node gone"
    NOT_LEADER = "not leader"
    REFUSED = "refused"


class BindFailed(msgspec.Struct, frozen=True, gc=False):
    """The Pod was not bound by us; `message` is for people.

    `by_extender`: an extender was to bind it.
    """

    uid: str
    failure: BindFailure
    message: str
    by_extender: bool = False


class PreBindFinished(msgspec.Struct, frozen=True, gc=False):
    """A plugin's outside work is done; `error` is empty if it succeeded."""

    uid: str
    plugin: str
    error: str = ""


class PermitDecided(msgspec.Struct, frozen=True, gc=False):
    """A plugin lets a waiting Pod go on, or rejects it with a reason (empty: allowed)."""

    uid: str
    plugin: str
    rejection: str = ""


class EvictionFinished(msgspec.Struct, frozen=True, gc=False):
    """All victims of a preemption have been evicted, or not all can be: why, "" if they were."""

    eviction_id: int
    error: str = ""


class ExtendersAnswered(msgspec.Struct, frozen=True, gc=False):
    """What extenders say of the Nodes that they were asked about.

    `passing` is what all of them left over. `failed` and `unresolvable` are reasons by Node,
    the latter where evicting Pods would not help; a Node may have none. `scores` are sums over
    the extenders, weighted and on the scale of plugins' totals. With an `error` nothing else
    counts. `waited_seconds` is how long the answer took.
    """

    uid: str
    ticket: int
    passing: tuple[str, ...] = ()
    failed: Mapping[str, str] = {}
    unresolvable: Mapping[str, str] = {}
    scores: Mapping[str, int] = {}
    error: str = ""
    waited_seconds: float = 0.0


class VictimUids(msgspec.Struct, frozen=True, gc=False):
    """The Pods that an extender would have go from a Node, and how many of them break a budget."""

    uids: tuple[str, ...]
    violation_count: int


class VictimsAnswered(msgspec.Struct, frozen=True, gc=False):
    """Whom an extender would evict, by Node; what it does not name is not to be done.

    `url` says which extender, for people. With an `error` nothing else counts.
    """

    uid: str
    ticket: int
    victims: Mapping[str, VictimUids] = {}
    url: str = ""
    error: str = ""
    waited_seconds: float = 0.0


ExtenderAnswer = ExtendersAnswered | VictimsAnswered

Outcome = BindFailed | PreBindFinished | PermitDecided | EvictionFinished | ExtenderAnswer
"""What became of something that the core has decided, other than that a Pod is bound."""

Event = (
    NodeUpserted
    | NodeDeleted
    | PodUpserted
    | PodDeleted
    | PodRefused
    | ObjectUpserted
    | ObjectDeleted
    | FeedUpdated
    | ProfileSet
    | ProfileRemoved
    | BindSucceeded
    | Outcome
)
