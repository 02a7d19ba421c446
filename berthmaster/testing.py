"""Tests plugins without a cluster: Pods and Nodes in a line, and the real scheduler in a call.

What decides is the core of the running scheduler; only the API server is missing. A plugin
that raises fails the test with its own traceback.

Examples
--------
>>> from berthmaster.testing import cluster, node, pod
>>> world = cluster(nodes=[node("a", labels={"zone": "x"}), node("b")], plugins=[MyPlugin()])
>>> world.schedule(pod(labels={"team": "data"})).node
'a'

What this module offers changes only after a release in which the old way warned.
"""

import asyncio
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from scheduler_svc.core.annotated_objects import AnnotatedPod
from scheduler_svc.core.clock import Now
from scheduler_svc.core.custom_plugins.adapt import adapt, plugin_name, points_of
from scheduler_svc.core.custom_plugins.adapters import Adapter, CustomPreBind
from scheduler_svc.core.custom_plugins.base import BasePlugin
from scheduler_svc.core.custom_plugins.declared import mistakes_in_values
from scheduler_svc.core.custom_plugins.guard import PluginFailedError
from scheduler_svc.core.effects import (
    BindPod,
    Effect,
    EventType,
    RecordEvent,
    RunPreBind,
)
from scheduler_svc.core.events import (
    BindSucceeded,
    FeedUpdated,
    NodeUpserted,
    PermitDecided,
    PodDeleted,
    PodUpserted,
    PreBindFinished,
)
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.verdict import judge
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node
from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.plugins.priority_sort import PrioritySort
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.custom_plugins.loading import (
    CustomPlugins,
    PluginLoadError,
    plugin_mistakes,
)

__all__ = ["Outcome", "Verdict", "World", "cluster", "node", "pod"]

SCHEDULER_NAME: Final = "berthmaster"

Amounts = Mapping[str, str | int]


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Amounts | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
) -> NodeInfo:
    """Make a Node; it offers 8 CPUs, 32 GiB and 110 Pods unless `allocatable` says otherwise."""
    manifest = {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "spec": {"taints": list(taints), "unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": 110, **(allocatable or {})}
        },
    }
    return NodeInfo.from_node(msgspec.convert(manifest, Node))


def pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    requests: Amounts | None = None,
    on: str = "",
    owner: tuple[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> PodInfo:
    """Make a Pod with one container.

    Of `annotations` plugins see those that one of them names in `pod_annotations`.
    `on` is the Node it is on already, `owner` kind and name of its controller, `spec`
    whatever else its manifest shall say, in the API's form.
    """
    owners = []
    if owner is not None:
        owners = [{"kind": owner[0], "name": owner[1], "uid": owner[1], "controller": True}]
    container = {"name": "main", "image": "main", "resources": {"requests": dict(requests or {})}}
    manifest = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
            "ownerReferences": owners,
        },
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [container],
            "nodeName": on,
            **(spec or {}),
        },
    }
    decoded = msgspec.convert(manifest, AnnotatedPod)
    return PodInterner(frozenset(annotations or ())).intern(decoded)


class Outcome(msgspec.Struct, frozen=True):
    """How an attempt ended.

    `node` is where the Pod was bound, "" if it was not; then `message` says why, as the
    Pod's FailedScheduling event does, or what PreEnqueue keeps it out for. `effects` are
    all that the scheduler asked for.
    """

    node: str
    message: str
    effects: tuple[Effect, ...]


class Verdict(msgspec.Struct, frozen=True):
    """What the plugins say of a Pod on each Node.

    `reasons` has the Nodes that were rejected, `scores` by plugin and Node what each
    feasible Node's plugins add to its total (score times weight), `totals` the sums.
    """

    reasons: Mapping[str, tuple[str, ...]]
    scores: Mapping[str, Mapping[str, int]]
    totals: Mapping[str, int]

    @property
    def best(self) -> list[str]:
        """The Nodes with the highest total."""
        highest = max(self.totals.values(), default=0)
        return [name for name, total in self.totals.items() if total == highest]


class World:
    """A small cluster and its scheduler; see `cluster`."""

    def __init__(self, profile: Profile, caller: "_Unguarded", annotations: frozenset[str]) -> None:
        self._profile = profile
        self._annotations = annotations
        self._caller = caller
        self._scheduler = Scheduler([profile])
        self._seconds = 0.0
        self._pods: dict[str, PodInfo] = {}
        self._nodes: dict[str, str] = {}
        # Plugins may decide on Pods that they hold back in any thread.
        self._decisions: deque[PermitDecided] = deque()
        for plugin in profile.plugins:
            if isinstance(plugin, Adapter):
                plugin.connect(self._decisions.append)

    def add(self, *objects: NodeInfo | PodInfo) -> None:
        """Add or change Nodes and Pods; Pods without a Node wait to be scheduled."""
        for new in objects:
            if isinstance(new, NodeInfo):
                self._scheduler.handle(NodeUpserted(new), self._now())
            else:
                kept = self._as_kept(new)
                self._pods[kept.uid] = kept
                self._scheduler.handle(PodUpserted(kept), self._now())

    def remove(self, gone: PodInfo) -> None:
        """Delete a Pod."""
        self._scheduler.handle(PodDeleted(gone.uid), self._now())

    def feed(self, plugin: str, value: Any) -> None:
        """Let a plugin's feed tell something."""
        self._scheduler.handle(FeedUpdated(SCHEDULER_NAME, plugin, value), self._now())
        self._take_decisions()

    def node_of(self, asked: PodInfo) -> str:
        """Give the Node that a Pod has been bound to by now, "" if to none.

        It may come later than `schedule`, where a plugin lets a Pod wait and then allows it.
        """
        self._take_decisions()
        return self._nodes.get(asked.uid, "")

    def schedule(self, new: PodInfo) -> Outcome:
        """Add a Pod and make attempts until none is due; gives how the last one of it ended."""
        self._caller.refusal = ""
        self.add(new)
        kept_out = self._caller.refusal
        effects: list[Effect] = []
        while (step := self._scheduler.step(self._now())) is not None:
            effects += self._carry_out(step)
            effects += self._take_decisions()
        binding = [e for e in effects if isinstance(e, BindPod) and e.pod.uid == new.uid]
        warnings = [
            e.note
            for e in effects
            if isinstance(e, RecordEvent) and e.type is EventType.WARNING and e.pod.uid == new.uid
        ]
        message = ""
        if not binding:
            message = warnings[-1] if warnings else kept_out
        return Outcome(
            node=binding[-1].node_name if binding else "", message=message, effects=tuple(effects)
        )

    def judge(self, new: PodInfo) -> Verdict:
        """Ask the plugins about a Pod and every Node; nothing is placed."""
        cluster = self._scheduler.cluster
        verdict = judge(prepare(self._profile, self._as_kept(new), cluster), cluster.columns)
        names = cluster.columns.names
        feasible = [names[row] for row in verdict.rows]
        return Verdict(
            reasons={
                names[row]: group.status.reasons
                for group in verdict.diagnosis.groups
                for row in group.rows
            },
            scores={
                plugin: dict(zip(feasible, share.tolist(), strict=True))
                for plugin, share in verdict.shares.items()
            },
            totals=dict(zip(feasible, verdict.totals.tolist(), strict=True)),
        )

    def wait(self, seconds: float) -> None:
        """Let time pass: backoffs end, waits time out."""
        self._seconds += seconds
        self._carry_out(self._scheduler.expire(self._now()))
        self._take_decisions()

    def _as_kept(self, new: PodInfo) -> PodInfo:
        """Leave out the annotations that no plugin names, as the running scheduler does."""
        kept = tuple((key, value) for key, value in new.annotations if key in self._annotations)
        return msgspec.structs.replace(new, annotations=kept)

    def _now(self) -> Now:
        return Now(monotonic_seconds=self._seconds, wall_seconds=1_700_000_000 + self._seconds)

    def _take_decisions(self) -> list[Effect]:
        """Tell the scheduler whom plugins allow and reject."""
        done: list[Effect] = []
        while self._decisions:
            decided = self._scheduler.handle(self._decisions.popleft(), self._now())
            done += self._carry_out(decided)
        return done

    def _carry_out(self, effects: Iterable[Effect]) -> list[Effect]:
        done: list[Effect] = []
        for effect in effects:
            done.append(effect)
            if isinstance(effect, BindPod):
                self._nodes[effect.pod.uid] = effect.node_name
                bound = msgspec.structs.replace(
                    self._pods[effect.pod.uid], node_name=effect.node_name
                )
                done += self._scheduler.handle(BindSucceeded(effect.pod.uid), self._now())
                self._scheduler.handle(PodUpserted(bound), self._now())
            elif isinstance(effect, RunPreBind) and isinstance(effect.payload, CustomPreBind):
                work = effect.payload.plugin.pre_bind(effect.payload.pod, effect.node_name)
                asyncio.run(_awaited(work))
                finished = PreBindFinished(effect.pod.uid, effect.plugin)
                done += self._carry_out(self._scheduler.handle(finished, self._now()))
        return done


def cluster(
    *,
    nodes: Sequence[NodeInfo] = (),
    pods: Sequence[PodInfo] = (),
    plugins: Sequence[BasePlugin[Any]] = (),
    weights: Mapping[str, int] | None = None,
) -> World:
    """Make a cluster whose scheduler has these plugins, and of Kubernetes' own none.

    `weights` are by the plugins' names, 1 if not given.

    Raises
    ------
    PluginLoadError
        Where the running scheduler, too, would refuse a plugin: a line for each reason.

    Warns
    -----
    UserWarning
        Of each method that may be a misspelt one, as the running scheduler does.
    """
    _check(plugins)
    caller = _Unguarded()
    adapters = [adapt(plugin, caller) for plugin in plugins]
    points: dict[str, list[Plugin]] = {"queueSort": [PrioritySort()], "bind": [DefaultBinder()]}
    for adapter in adapters:
        for point in points_of(type(adapter.plugin)):
            _place(points, point, adapter)
    annotations = frozenset().union(*(plugin.pod_annotations for plugin in plugins))
    world = World(Profile(SCHEDULER_NAME, points, weights or {}), caller, annotations)
    world.add(*nodes, *pods)
    return world


def _check(plugins: Sequence[BasePlugin[Any]]) -> None:
    classes: dict[str, type[BasePlugin[Any]]] = {}
    mistakes: list[str] = []
    for plugin in plugins:
        of = type(plugin)
        found = plugin_mistakes(of, classes) or mistakes_in_values(plugin)
        mistakes += [f"{of.__name__}: {mistake}" for mistake in found]
        if not found:
            classes[plugin_name(of)] = of
    if mistakes:
        raise PluginLoadError("\n".join(mistakes))
    for text in CustomPlugins(classes).surprises:
        # As if the test had said it, which is where people look.
        warnings.warn(text, stacklevel=3)


def _place(points: dict[str, list[Plugin]], point: str, adapter: Adapter) -> None:
    if point == "queueSort":
        points[point] = [adapter]
        return
    # Ours prepare at PreFilter and PreScore what they are asked at Filter and Score.
    for name in {"filter": ("preFilter", point), "score": ("preScore", point)}.get(point, (point,)):
        placed = points.setdefault(name, [])
        if adapter not in placed:
            placed.append(adapter)


class _Unguarded:
    """Calls plugins as they are: what they raise is what the test shows.

    An answer that is none, which nothing has raised, ends the attempt as it does in a cluster.
    `refusal` is what the last PreEnqueue said, "" if it let the Pod in.
    """

    def __init__(self) -> None:
        self.refusal = ""

    def call(self, plugin: str, point: str, method: Callable[[], Any]) -> Any:
        """Give what `method` gives, and raise what the plugin's own code raises."""
        del plugin
        try:
            answer = method()
        except PluginFailedError as failure:
            if failure.__cause__ is None:
                raise
            raise failure.__cause__ from None
        if point == "pre_enqueue":
            self.refusal = answer.message
        return answer


async def _awaited(work: Any) -> None:
    await work
