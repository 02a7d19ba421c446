"""The views of the cluster: one reflector for each resource, all feeding the core's inbox."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from kubeio.changes import Listed, ReflectorEvent
from kubeio.outage import Outage
from kubeio.reflector import Reflector
from kubeio.source import ReflectorClient, Timing
from scheduler_svc.core.events import Event
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.views.decode import node_view, pod_view, priority_class_view
from scheduler_svc.shell.views.object_views import object_views
from scheduler_svc.shell.views.refusals import refusal_view
from scheduler_svc.shell.views.view import View

MAX_SILENCE_SECONDS: Final = 120.0
"""A healthy watch has a bookmark about once a minute; a view that is older is not relied on."""


# What decides most; the many others need not all knock at once while the API server is away.
_FIRST_BACK: Final = frozenset({"nodes", "pods"})
_FIRST_TIMING: Final = Timing(longest_retry_seconds=8.0)
_LATER_TIMING: Final = Timing(first_retry_seconds=2.0)


class Reflectors:
    """Lists and watches Nodes, Pods, PriorityClasses and what plugins read beside them.

    Parameters
    ----------
    put
        Takes the events, in each resource's order.
    plugins
        Names of the enabled plugins, which decide what is watched.
    pod_annotations
        What is kept of the annotations of Pods.
    follow_pods
        Makes the view of Pods one that tells somebody else, too.
    more_views
        By a name for metrics and checks.
    on_listed
        Called when the last of the first lists is complete.
    seed
        Of the jitter; each process its own.

    Attributes
    ----------
    on_more_listed
        Called when the first lists are complete, and after each list since.
    """

    def __init__(
        self,
        client: ReflectorClient,
        *,
        put: Callable[[Event], None],
        plugins: Collection[str],
        pod_annotations: frozenset[str] = frozenset(),
        follow_pods: Callable[[View[PodInfo]], View[PodInfo]] = lambda view: view,
        more_views: Mapping[str, View[Any]] | None = None,
        on_listed: Callable[[], None],
        seed: int,
    ) -> None:
        self._client = client
        self._put = put
        self._on_listed = on_listed
        self._seed = seed
        self._outage = Outage()
        self.on_more_listed: Callable[[], None] = lambda: None
        self._was_listed = False
        self._began_seconds = read_monotonic_seconds()
        views: Mapping[str, View[Any]] = {
            "nodes": node_view(),
            "pods": follow_pods(pod_view(pod_annotations)),
            **object_views(plugins),
            "priorityclasses": priority_class_view(),
            "failed-pods": refusal_view(),
            **(more_views or {}),
        }
        self.by_resource: dict[str, Reflector[Any]] = {}
        for name, view in views.items():
            self._add(name, view)
        self._first = tuple(self.by_resource.values())
        self._group: asyncio.TaskGroup | None = None

    @property
    def is_listed(self) -> bool:
        """Whether all that is watched from the start has been listed once.

        Before that the cluster is not known.
        """
        return all(r.statistics.listed for r in self._first)

    def require(self, plugins: Collection[str]) -> bool:
        """Watch from now on also what these plugins read; whether all of it has been listed."""
        views = object_views(plugins)
        for name, view in views.items():
            if name not in self.by_resource:
                self._add(name, view)
                if self._group is not None:
                    self._start(self._group, name)
        return all(self.by_resource[name].statistics.listed for name in views)

    def _add(self, name: str, view: View[Any]) -> None:
        self.by_resource[name] = Reflector(
            self._client,
            view.query,
            partial(self._deliver, view),
            timing=_FIRST_TIMING if name in _FIRST_BACK else _LATER_TIMING,
            seed=self._seed + len(self.by_resource),
            outage=self._outage,
            clock=read_monotonic_seconds,
        )

    def first_lists(self) -> dict[str, object]:
        """Sum up what has been listed since `run` began, for a line of the log."""
        every = self.by_resource.items()
        unserved = [name for name, reflector in every if reflector.statistics.is_unserved]
        seconds = read_monotonic_seconds() - self._began_seconds
        return {
            "lists": len(self.by_resource) - len(unserved),
            "objects": sum(reflector.statistics.object_count for _, reflector in every),
            "seconds": round(seconds, 2),
            **({"not_served": ",".join(unserved)} if unserved else {}),
        }

    async def run(self) -> None:
        """Keep the views until cancelled."""
        self._began_seconds = read_monotonic_seconds()
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for name in self.by_resource:
                    self._start(group, name)
                await asyncio.Event().wait()
            finally:
                self._group = None

    def _start(self, group: asyncio.TaskGroup, name: str) -> None:
        group.create_task(self.by_resource[name].run(), name=f"reflector {name}")

    def _deliver(self, view: View[Any], change: ReflectorEvent[Any]) -> None:
        event = view.to_event(change)
        if event is not None:
            self._put(event)
        elif isinstance(change, Listed) and self._was_listed:
            self.on_more_listed()
        elif isinstance(change, Listed) and self.is_listed:
            self._was_listed = True
            self._on_listed()
            self.on_more_listed()
