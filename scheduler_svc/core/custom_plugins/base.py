"""What users subclass to write a plugin.

Which of the methods a class defines decides at which extension points it stands; names
and order of the points are Kubernetes' (staging/src/k8s.io/kube-scheduler/framework,
v1.36.3).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar, cast

import msgspec

from scheduler_svc.core.columns import Float64Array, Int64Array
from scheduler_svc.core.custom_plugins.guard import cut, shown
from scheduler_svc.core.custom_plugins.node_arrays import Nodes
from scheduler_svc.core.custom_plugins.views import Node, Pod, uid_of
from scheduler_svc.core.framework.cluster_events import EventRegistration
from scheduler_svc.core.framework.interface import Scope
from scheduler_svc.core.labels import BoolArray


class Args(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Base of a plugin's arguments: what stands under `args` of its `pluginConfig`.

    Fields are typed and are written in camelCase in the file; one without a default has
    to be given.
    """


class NoArgs(Args, frozen=True):
    """Of a plugin that takes none."""


A = TypeVar("A", bound=Args)

_TELL: Final = "berthmaster.decisions"


class Reject(msgspec.Struct, frozen=True):
    """A rejection with its reason.

    Set `resolvable` to False where evicting Pods could not change it.
    """

    reason: str
    resolvable: bool = True


class Wait(msgspec.Struct, frozen=True):
    """Of Permit: hold the Pod back until the plugin calls `allow` or `reject` for it.

    After `seconds`, at most 15 minutes, it is rejected.
    """

    seconds: float


class Normalize(Enum):
    """How raw scores become 0 to 100, over the Nodes on which the Pod may run.

    `NONE`: they are 0 to 100 already. The others scale the range from the lowest to the
    highest; if these are equal every Node has 0.
    """

    NONE = auto()
    HIGHER_IS_BETTER = auto()
    LOWER_IS_BETTER = auto()


class FeedApi(Protocol):
    """What a feed may ask of the API server; the scheduler's ServiceAccount must be allowed to."""

    def watch_config_map(self, namespace: str, name: str) -> AsyncIterator[Mapping[str, str]]:
        """Yield a ConfigMap's data now and after each change; empty while there is none."""


class BasePlugin(Generic[A]):
    """What all plugins of users have in common.

    Attributes
    ----------
    name
        In configurations, events, metrics; the class's own name if not set.
    args_type
        The plugin's `Args`.
    args
        The arguments of its profile.
    pod_fields
        What `filter` and `score` read of a Pod's identity: `labels`, `namespace`, `owner`,
        `annotations`, `name`, `uid`. Pods that agree in them and in their specification
        share verdicts and scores, so the fewer the faster.
    pod_annotations
        The annotations that the scheduler shall keep for the plugin.
    scope
        What `filter` and `score` depend on: the Node's own specification (`Scope.SPEC`), also
        the Pods on it (`Scope.USAGE`), or anything in the cluster (`Scope.CLUSTER`).
    normalize
        What is done with scores.
    pre_bind_timeout_seconds
        How long `pre_bind` may take.
    """

    name: ClassVar[str] = ""
    args_type: ClassVar[type[Args]] = NoArgs
    pod_fields: ClassVar[frozenset[str]] = frozenset({"labels", "namespace"})
    pod_annotations: ClassVar[frozenset[str]] = frozenset()
    scope: ClassVar[Scope] = Scope.USAGE
    normalize: ClassVar[Normalize] = Normalize.NONE
    pre_bind_timeout_seconds: ClassVar[float] = 60.0

    def __init__(self, args: A | None = None) -> None:
        self.args: A = cast("A", self.args_type()) if args is None else args

    def allow(self, pod: Pod | str) -> None:
        """Let a Pod go on that `permit` holds back, given itself or its uid.

        May be called in any of the methods, in the feed, and in any thread. Nothing happens
        to a Pod that does not wait for this plugin.
        """
        _decide(self, pod, "")

    def reject(self, pod: Pod | str, reason: str) -> None:
        """Reject a Pod that `permit` holds back; else as `allow`.

        Raises
        ------
        ValueError
            Where no reason is given.
        """
        given: Any = reason
        if not isinstance(given, str) or not given:
            raise ValueError("reject needs a reason, a text")
        _decide(self, pod, cut(reason))

    def pre_enqueue(self, pod: Pod) -> str | None:
        """Give why the Pod must not be scheduled yet; None to let it."""
        raise NotImplementedError

    def sort_key(self, pod: Pod, timestamp_seconds: float) -> tuple[float, ...]:
        """Give a key: the Pod with the smallest is scheduled first.

        `timestamp_seconds` is when it came into the queue, or back to it.
        """
        raise NotImplementedError

    def pre_filter(self, pod: Pod) -> str | Reject | frozenset[str] | None:
        """Look at the Pod before any Node: reject it, name the only Nodes possible, or neither."""
        raise NotImplementedError

    def reserve(self, pod: Pod, node_name: str) -> str | Reject | None:
        """Set something aside for the Pod, or say why not."""
        raise NotImplementedError

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """Give back what `reserve` set aside, if it did."""
        raise NotImplementedError

    def permit(self, pod: Pod, node_name: str) -> str | Reject | Wait | None:
        """Let the Pod go on to be bound, reject it, or hold it back."""
        raise NotImplementedError

    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        """Do outside work that must be done before the Pod is bound; raise if it fails."""
        raise NotImplementedError

    async def undo_pre_bind(self, pod: Pod, node_name: str) -> None:
        """Undo `pre_bind`, which may have been cut short, since the Pod is not bound after all."""
        raise NotImplementedError

    def post_bind(self, pod: Pod, node_name: str) -> None:
        """Take note of a Pod that has been bound."""
        raise NotImplementedError

    def feed(self, api: FeedApi) -> AsyncIterator[Any]:
        """Yield what `on_feed` shall know, for ever: from a watch, a file, an HTTP service.

        An asynchronous generator. It is run again after a while when it ends or raises.
        """
        raise NotImplementedError

    def on_feed(self, value: Any) -> None:
        """Take in a value of `feed`; all Pods are judged anew after that."""
        raise NotImplementedError

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Give the events that may undo the plugin's rejections; every event, if not defined."""
        raise NotImplementedError


def connect(plugin: BasePlugin[Any], tell: Callable[[str, str], None]) -> None:
    """Have `tell` take the uid of each Pod that is decided on, and why it is rejected or ""."""
    # Not by a method: a plugin may have one of that name.
    plugin.__dict__[_TELL] = tell


def _decide(plugin: BasePlugin[Any], pod: Pod | str, reason: str) -> None:
    if not isinstance(pod, Pod | str):
        raise TypeError(f"a Pod or its uid is needed, not {shown(pod)}")
    tell = plugin.__dict__.get(_TELL)
    if tell is not None:
        tell(pod if isinstance(pod, str) else uid_of(pod), reason)


class NodePlugin(BasePlugin[A]):
    """A plugin that looks at one Node at a time: the easy way.

    Cost: some microseconds a Node, when the Node has changed or the Pod is of a new kind.
    """

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        """Give why the Pod may not run on the Node; None if it may."""
        raise NotImplementedError

    def score(self, pod: Pod, node: Node) -> float:
        """Rank the Node: 0 to 100, or anything with `normalize`. Higher is better."""
        raise NotImplementedError


class VectorPlugin(BasePlugin[A]):
    """A plugin that looks at many Nodes at once, as arrays: the fast way.

    `reason` is what users read where `filter` rejects a Node; `resolvable` says whether
    evicting Pods could change it.
    """

    reason: ClassVar[str] = ""
    resolvable: ClassVar[bool] = True

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Give bool `(K,)`: on which of the Nodes the Pod may run."""
        raise NotImplementedError

    def score(self, pod: Pod, nodes: Nodes) -> Int64Array | Float64Array:
        """Rank the Nodes: `(K,)`, 0 to 100, or anything with `normalize`. Higher is better."""
        raise NotImplementedError
