"""What is known of one Pod's way: all marks, and the facts that the startup SLI needs.

Everything here merges: marks by the earliest of their kind, runs and pulls as sets, the
Pod's own fields by the newest resourceVersion. So the same observations, in whatever order
and however often, give the same journey.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from node_agent.core.journey.evidence import (
    MOST_INIT_RUNS,
    TERMINAL_PHASES,
    InitRun,
    attempt,
    has_started,
    init_container_names,
    init_runs,
    is_born_bound,
    pod_marks,
    sidecar_names,
    started_by_nanoseconds,
    union_nanoseconds,
)
from node_agent.core.journey.marks import MarkKind, MarkSource, merge_marks
from node_agent.core.journey.pod_kinds import is_stateful, workload_kind
from node_agent.core.journey.pulls import KubeletEvent, Pull, bound_mark, first_pulls, images_pulled
from node_agent.core.objects import Pod
from node_agent.core.operations import SEEN_ANNOTATION, Source, annotation
from node_agent.core.timestamps import unix_nanoseconds

_NOT_OF_STATIC_PODS: Final = (
    MarkKind.CREATED_API,
    MarkKind.QUEUED_SCHEDULER,
    MarkKind.DECIDED_SCHEDULER,
    MarkKind.BOUND_API,
)
"""What their manifests may say all the same, having been made of a Pod's YAML."""
WATCH_KINDS: Final = frozenset(kind for kind in MarkKind if kind.value.source is MarkSource.WATCH)


class FileTimes(msgspec.Struct, frozen=True, gc=False):
    """When the kubelet made its directories for a Pod: Unix nanoseconds, None where not known.

    `container_logs` are those of the containers' log directories, made once the image is
    there and just before the container is.
    """

    data_directory: int | None = None
    log_directory: int | None = None
    container_logs: dict[str, int] = {}


class PodIdentity(msgspec.Struct, frozen=True, gc=False):
    """What of a Pod does not change on its way."""

    namespace: str
    name: str
    uid: str
    source: str
    """``api``, ``file`` or ``http``."""
    workload_kind: str
    qos_class: str
    scheduler_name: str
    containers: tuple[str, ...]
    init_containers: tuple[str, ...]
    """Those that must end."""
    sidecars: tuple[str, ...]
    is_stateful: bool

    @property
    def full_name(self) -> str:
        """The kubelet's name for it: ``<name>_<namespace>``."""
        return f"{self.name}_{self.namespace}"


class Journey:
    """One Pod's way. Memory: about 2 KB.

    Attributes
    ----------
    is_measured
        False for a Pod that had started before the agent did: it is shown, not counted.
    was_there_before
        True where the Pod's first state is from before the agent's first list.
    clock_was_set
        True where the node's clock was set on the way: nothing more is counted.
    has_started
        Whether each container has started at least once, be it that nothing tells when.
    was_restarted
        Whether a container was started again.
    """

    __slots__ = (
        "_attempt",
        "_disbelieved",
        "_init_runs",
        "_pulls",
        "_started_by",
        "are_events_read",
        "are_files_read",
        "clock_was_set",
        "has_started",
        "identity",
        "is_measured",
        "marks",
        "was_restarted",
        "was_there_before",
    )

    def __init__(self, identity: PodIdentity) -> None:
        self.identity = identity
        self.marks: dict[MarkKind, int] = {}
        self.is_measured = True
        self.was_there_before = False
        self.clock_was_set = False
        self.has_started = False
        self.was_restarted = False
        self.are_events_read = False
        self.are_files_read = False
        self._attempt: int | None = None
        self._init_runs: frozenset[InitRun] = frozenset()
        self._pulls: dict[str, Pull] = {}
        self._started_by: int | None = None
        self._disbelieved: frozenset[MarkKind] = frozenset()
        if identity.source != Source.API:
            self._disbelieve(_NOT_OF_STATIC_PODS)

    def observe(self, pod: Pod, received_nanoseconds: int) -> bool:
        """Take in a state that the watch told of; tell whether anything is new."""
        self._observe_facts(pod)
        return self._merge(pod_marks(pod, received_nanoseconds))

    def observe_before(self, pod: Pod) -> None:
        """Take in the state of a Pod that was there before the agent was.

        What has happened by then has no watch receipt, now or later.
        """
        self.was_there_before = True
        if pod.status.start_time is not None or pod.status.phase in TERMINAL_PHASES:
            self.is_measured = False
        marks = pod_marks(pod, received_nanoseconds=0)
        self._disbelieve(marks.keys() & WATCH_KINDS)
        self._observe_facts(pod)
        self._merge(marks)

    def observe_kubelet(self, pod: Pod) -> bool:
        """Take in the kubelet's own copy: when it saw the Pod, and its status."""
        marks = pod_marks(pod, None)
        seen = unix_nanoseconds(annotation(pod, SEEN_ANNOTATION))
        if seen is not None:
            marks[MarkKind.KUBELET_SEEN] = seen
        self._observe_facts(pod)
        return self._merge(marks)

    def observe_files(self, times: FileTimes) -> bool:
        """Take in the times of the kubelet's directories."""
        marks = {
            MarkKind.SYNC_STARTED_FILES: times.data_directory,
            MarkKind.VOLUMES_MOUNTED_FILES: times.log_directory,
        }
        known = {kind: at for kind, at in marks.items() if at is not None}
        logs, names = times.container_logs, self.identity.containers
        if names and all(name in logs for name in names):
            known[MarkKind.IMAGES_PULLED_FILES] = max(logs[name] for name in names)
        return self._merge(known)

    def observe_events(self, events: list[KubeletEvent]) -> bool:
        """Take in all Events about the Pod."""
        for name, pull in first_pulls(events).items():
            self._pulls[name] = min(pull, self._pulls.get(name, pull))
        pulled = images_pulled(self._pulls, self.identity.containers)
        return self._merge(pulled | bound_mark(events))

    def observe_gone(self, received_nanoseconds: int) -> bool:
        """Take in that the Pod has left its source."""
        return self._merge({MarkKind.GONE_WATCH: received_nanoseconds})

    @property
    def attempt(self) -> int | None:
        """The scheduling attempt that succeeded; None where nobody wrote it."""
        return self._attempt

    @property
    def init_nanoseconds(self) -> int | None:
        """How long init containers ran, together; None while one of them has not ended.

        Of one that failed and was tried again, the runs that the agent heard of.
        """
        ended = {run.container for run in self._init_runs}
        if not ended.issuperset(self.identity.init_containers):
            return None
        return union_nanoseconds(self._init_runs)

    @property
    def pull_nanoseconds(self) -> int | None:
        """How long images were pulled; None while it is not known of each container.

        The containers of a Pod pull one after the other, so their times add up.
        """
        identity = self.identity
        names = (*identity.containers, *identity.init_containers, *identity.sidecars)
        if any(name not in self._pulls for name in names):
            return None
        return sum(self._pulls[name].nanoseconds for name in names)

    def _observe_facts(self, pod: Pod) -> None:
        if is_born_bound(pod):
            self._disbelieve((MarkKind.BOUND_API,))
        started_by = started_by_nanoseconds(pod)
        if started_by is not None:
            self._started_by = min(started_by, self._started_by or started_by)
            self._drop_pulls_of_restarts(self.marks)
        self.has_started |= has_started(pod)
        self.was_restarted |= any(s.restart_count > 0 for s in pod.status.container_statuses)
        if self.identity.source == Source.API:
            self._attempt = max(self._attempt or 0, attempt(pod) or 0) or None
        runs = self._init_runs.union(init_runs(pod))
        if len(runs) > len(self._init_runs):
            self._init_runs = frozenset(sorted(runs)[:MOST_INIT_RUNS])

    def _merge(self, marks: dict[MarkKind, int]) -> bool:
        believed = {k: at for k, at in marks.items() if k not in self._disbelieved}
        self._drop_pulls_of_restarts(believed)
        return merge_marks(self.marks, believed)

    def _drop_pulls_of_restarts(self, marks: dict[MarkKind, int]) -> None:
        """Leave out Events about images that came after the containers had started.

        They are of a restart; those of the first start have expired, or were never read.
        """
        pulled = marks.get(MarkKind.IMAGES_PULLED_EVENTS)
        if pulled is not None and self._started_by is not None and pulled > self._started_by:
            del marks[MarkKind.IMAGES_PULLED_EVENTS]

    def _disbelieve(self, kinds: Iterable[MarkKind]) -> None:
        """Take no mark of these kinds, now or later: it would not say what they stand for."""
        self._disbelieved |= frozenset(kinds)
        for kind in self._disbelieved:
            self.marks.pop(kind, None)


def identify(pod: Pod, source: str) -> PodIdentity:
    """Read what of a Pod does not change on its way."""
    metadata, spec = pod.metadata, pod.spec
    return PodIdentity(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        source=source,
        workload_kind=workload_kind(pod),
        qos_class=pod.status.qos_class,
        scheduler_name=spec.scheduler_name,
        containers=tuple(container.name for container in spec.containers),
        init_containers=init_container_names(spec),
        sidecars=sidecar_names(spec),
        is_stateful=is_stateful(pod),
    )
