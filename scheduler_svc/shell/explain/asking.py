"""Asks the framework about a Pod: which profile, and what each plugin says of each Node."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.clock import Now
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import NodeView
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.verdict import ExplainedAttempt, Verdict, explain_attempt
from scheduler_svc.core.nominator import Nominator
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Code, Status
from scheduler_svc.shell.explain.admission import DEFAULT_SCHEDULER_NAME
from scheduler_svc.shell.explain.answer import (
    Answer,
    NodeAnswer,
    answer_of,
    failed_pre_filter,
    node_answer,
    node_answers,
)
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile

MakeLive = Callable[[Collection[SchedulerProfile]], Mapping[str, Profile]]


class Profiles:
    """Which profile judges a Pod: the one of its schedulerName, or one for all (`judges_all`).

    Given a mapping, by schedulerName, it is looked up in that as it is when asked. `annotations`
    are those of Pods that users' plugins read. `make_live` makes profiles of SchedulerProfiles, by
    schedulerName.
    """

    def __init__(
        self,
        profiles: Sequence[Profile] | Mapping[str, Profile],
        *,
        judges_all: bool,
        annotations: frozenset[str] = frozenset(),
        make_live: MakeLive | None = None,
    ) -> None:
        self.annotations = annotations
        self._make_live = make_live
        self._by_name: Mapping[str, Profile] = (
            profiles
            if isinstance(profiles, Mapping)
            else {profile.scheduler_name: profile for profile in profiles}
        )
        self.judges_all = judges_all
        self._for_all = next(iter(self._by_name.values())) if judges_all else None
        self._live: Mapping[str, Profile] = {}

    def add_live(self, profiles: Collection[SchedulerProfile]) -> None:
        """Take in the SchedulerProfiles of a cluster: Pods that name one are judged by that."""
        if self._make_live is not None:
            self._live = self._make_live(profiles)

    def serves(self, pod: PodInfo) -> bool:
        """Whether there is a SchedulerProfile for the Pod."""
        return pod.scheduler_name in self._live

    def of(self, pod: PodInfo) -> Profile | None:
        """Give the Pod's profile; None if there is none of that name.

        A Pod that names none is the default scheduler's, as the API server would fill in.
        """
        name = pod.scheduler_name or DEFAULT_SCHEDULER_NAME
        return self._live.get(name) or self._for_all or self._by_name.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The schedulerNames that there are profiles for, sorted."""
        return tuple(sorted({*self._by_name, *self._live}))

    def attach(self, cluster: Cluster) -> None:
        """Tell the plugins that hold Pods back which cluster they speak of."""
        for profile in (*self._by_name.values(), *self._live.values()):
            profile.attach(cluster)

    def gate_of(self, pod: PodInfo) -> Status | None:
        """Ask PreEnqueue: give the first refusal with its plugin, None if the Pod may be tried."""
        profile = self.of(pod)
        for plugin in profile.pre_enqueue if profile is not None else ():
            status = plugin.pre_enqueue(pod)
            if status.code is not Code.SUCCESS:
                return Status(status.code, status.reasons, plugin.name)
        return None


class ClusterState(Protocol):
    """A cluster as a scheduler keeps it: Pods on Nodes, and those that are nominated to some."""

    @property
    def cache(self) -> Cache:
        """The Pods that take room."""
        ...

    @property
    def nominator(self) -> Nominator:
        """The pending Pods that room is kept for."""
        ...


Asked = Answer | ExplainedAttempt


def with_served_names(answer: Answer, profiles: Profiles, pod: PodInfo) -> Answer:
    """Add which schedulerNames there are profiles for, where none is for the Pod."""
    return answer if profiles.of(pod) else replace(answer, served_names=profiles.names)


def explain(
    profiles: Profiles, pod: PodInfo, state: ClusterState, now: Now, *, preempt: bool = False
) -> Answer:
    """Judge every Node for a Pod, which changes nothing. O(plugins x Nodes)."""
    asked = ask(profiles, pod, state, now, preempt=preempt)
    return put_into_words(asked, state.cache.columns.names)


def put_into_words(asked: Asked, names: Sequence[str]) -> Answer:
    """Make the answer, from nothing but the arguments; `names` are those of the rows."""
    return asked if isinstance(asked, Answer) else answer_of(asked, names)


def ask(
    profiles: Profiles, pod: PodInfo, state: ClusterState, now: Now, *, preempt: bool = False
) -> Asked:
    """Ask the plugins, and change nothing; what they said is yet to be put into words."""
    profile = profiles.of(pod)
    if profile is None:
        name = pod.scheduler_name or DEFAULT_SCHEDULER_NAME
        return Answer(pod=pod.key, error=f"no profile for scheduler name {name}")
    cache = state.cache
    attempt = explain_attempt(profile, pod, cache, state.nominator, now, with_post_filter=preempt)
    if attempt.failure is None:
        return attempt
    if attempt.prepared.rejection is not None:
        return failed_pre_filter(pod.key, attempt.failure)
    prepared = prepare(profile, pod, cache.cluster)
    return _explain_failure(prepared, cache.cluster, attempt.failure, attempt.verdict)


def _explain_failure(
    prepared: PreparedClass, cluster: Cluster, failure: Status, verdict: Verdict
) -> Answer:
    """Look at one Node after the other, by name, up to the one at which the attempt fails.

    If none does, it is a score that fails, once all Nodes have been filtered.
    """
    columns, nodes = cluster.columns, dict[str, NodeAnswer]()
    names = sorted(name for name, row in columns.rows.items() if columns.live[row])
    if prepared.node_names is not None:
        names = [name for name in names if name in prepared.node_names]
    for name in names:
        status = _first_rejection(prepared, cluster, name)
        if status is not None:
            nodes[name] = node_answer(status)
        found = prepared.failure()
        if found is not None:
            nodes[name], error = node_answer(found), found.message
            break
    else:
        answers, error = node_answers(verdict, columns.names), failure.message
        nodes = {name: answer for name, answer in answers.items() if answer.code}
    return Answer(
        pod=prepared.pod.key,
        pre_filter_nodes=tuple(sorted(prepared.node_names or ())),
        nodes=nodes,
        error=error,
    )


def _first_rejection(prepared: PreparedClass, cluster: Cluster, name: str) -> Status | None:
    columns = cluster.columns
    view = NodeView(columns, columns.rows_of([name]))
    for plugin, state in prepared.filters:
        mask = plugin.filter(state, view)
        if mask is not None and not mask.all():
            for rejection in plugin.rejections(state, view):
                if rejection.nodes.any():
                    code, reasons = rejection.status.code, rejection.status.reasons
                    return Status(code, reasons, plugin.name)
        if plugin.failure(state) is not None:
            return None
    return None
