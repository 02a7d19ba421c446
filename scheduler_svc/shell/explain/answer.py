"""The whole answer about one pending Pod: each Node's verdict, and what follows.

`Answer` has the fields and values that kube-scheduler's own framework gives when it is asked
about every Node; what is not set is left out of the JSON.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from scheduler_svc.core.framework.post_filter import PostFilterResult
from scheduler_svc.core.framework.verdict import ExplainedAttempt, Verdict
from scheduler_svc.core.group_texts import read_group_message
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import Status


class NodeAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Node that was rejected (`code`, `plugin`, sorted `reasons`), or is feasible.

    `scores` are each plugin's share of `total`: its score times its weight.
    """

    code: str = ""
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    scores: dict[str, int] = msgspec.field(default_factory=dict)
    total: int | None = None


class PostFilterAnswer(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What was decided about making room; `victims` are names of Pods, sorted."""

    code: str = msgspec.field(name="code")
    message: str = ""
    nominated_node_name: str = ""
    victims: tuple[str, ...] = ()


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What is decided about one Pod.

    Attributes
    ----------
    pod
        namespace/name.
    waits_for_scheduler
        Where the Pod is pending and was judged by a profile for all: its schedulerName.
    pre_enqueue_plugin, pre_enqueue_message
        What keeps the Pod out of the queue; the rest is what follows once it no longer does.
    pod_group_message
        Why the Pod's group was not placed when it was tried last; the rest is of the Pod alone.
    pre_filter_code, pre_filter_message, pre_filter_plugin
        Where the Pod was turned away before any Node was looked at.
    pre_filter_nodes
        The only Nodes that were looked at, sorted; none: all.
    nodes
        By name; Nodes that were not looked at are not there.
    best
        Every Node with the highest total, sorted: a tie may go to any of them.
    fit_error
        The text of the FailedScheduling event.
    error
        Why the attempt failed.
    served_names
        Where no profile is for the Pod: the schedulerNames that there are profiles for, sorted.
    last_message
        Where the Pod fits on some Node: what a scheduler has said of its last attempt, if it had
        none then.
    """

    pod: str
    waits_for_scheduler: str = ""
    pre_enqueue_plugin: str = ""
    pre_enqueue_message: str = ""
    pod_group_message: str = ""
    pre_filter_code: str = ""
    pre_filter_message: str = ""
    pre_filter_plugin: str = ""
    pre_filter_nodes: tuple[str, ...] = ()
    nodes: dict[str, NodeAnswer] = msgspec.field(default_factory=dict)
    best: tuple[str, ...] = ()
    fit_error: str = ""
    post_filter: PostFilterAnswer | None = None
    error: str = ""
    served_names: tuple[str, ...] = msgspec.field(name="servedSchedulerNames", default=())
    last_message: str = ""


def with_gate(answer: Answer, gate: Status | None, pod: PodInfo) -> Answer:
    """Add what keeps the Pod out of the queue, or else what was said of it and contradicts.

    That is why its group was not placed, or why its own last attempt found no Node.
    """
    if gate is not None:
        return replace(answer, pre_enqueue_plugin=gate.plugin, pre_enqueue_message=gate.message)
    if pod.condition is None:
        return answer
    reason, message = pod.condition
    told = read_group_message(message)
    if pod.group is not None and told is not None and told.name == pod.group.name:
        return replace(answer, pod_group_message=told.reason)
    was_tried = reason != "SchedulingGated"
    return replace(answer, last_message=message) if answer.best and was_tried else answer


def without_hints(answer: Answer) -> Answer:
    """Leave out what only helps people on; of a saved cluster, JSON is compared field by field."""
    return replace(answer, served_names=(), last_message="")


def node_answer(status: Status) -> NodeAnswer:
    """Give the answer about Nodes with that status."""
    return NodeAnswer(
        code=status.code.text, plugin=status.plugin, reasons=tuple(sorted(status.reasons))
    )


def node_answers(verdict: Verdict, names: Sequence[str]) -> dict[str, NodeAnswer]:
    """Give each Node that was looked at, by name and in the order of names."""
    nodes: dict[str, NodeAnswer] = {}
    for group in verdict.diagnosis.groups:
        answer = node_answer(group.status)
        nodes.update((names[row], answer) for row in group.rows)
    plugins = list(verdict.shares)
    shares = zip(*(share.tolist() for share in verdict.shares.values()), strict=True)
    rows = verdict.rows.tolist()
    scored = shares if plugins else ((),) * len(rows)
    for row, total, given in zip(rows, verdict.totals.tolist(), scored, strict=True):
        scores = dict(zip(plugins, given, strict=True))
        nodes[names[row]] = NodeAnswer(scores=scores, total=total)
    return dict(sorted(nodes.items()))


def answer_of(attempt: ExplainedAttempt, names: Sequence[str]) -> Answer:
    """Put what plugins said of a Pod, none of which failed, into words.

    `names` are those of the rows, as they were when the plugins were asked.
    """
    prepared, verdict, rejection = attempt.prepared, attempt.verdict, attempt.prepared.rejection
    best = sorted(names[row] for row in verdict.best_rows)
    post_filter = attempt.post_filter
    said = post_filter.status.message if post_filter is not None else ""
    answer = Answer(
        pod=prepared.pod.key,
        best=tuple(best),
        fit_error="" if best else verdict.diagnosis.fit_error(said),
        post_filter=None if post_filter is None else post_filter_answer(post_filter),
    )
    if rejection is not None:
        return replace(
            answer,
            pre_filter_code=rejection.code.text,
            pre_filter_message=rejection.message,
            pre_filter_plugin=rejection.plugin,
        )
    return replace(
        answer,
        pre_filter_nodes=tuple(sorted(prepared.node_names or ())),
        nodes=node_answers(verdict, names),
    )


def failed_pre_filter(pod_key: str, failure: Status) -> Answer:
    """Give the answer about a Pod at which a PreFilter failed."""
    return Answer(
        pod=pod_key,
        pre_filter_code=failure.code.text,
        pre_filter_message=failure.message,
        pre_filter_plugin=failure.plugin,
        error=failure.message,
    )


def post_filter_answer(result: PostFilterResult) -> PostFilterAnswer:
    """Say what would be done to make room."""
    preemption = result.preemption
    return PostFilterAnswer(
        code=result.status.code.text,
        message=result.status.message,
        nominated_node_name=result.nomination or "",
        victims=tuple(sorted(v.key for v in preemption.to_evict)) if preemption else (),
    )
