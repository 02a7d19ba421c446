"""Answers from a snapshot: all its pending Pods, one of them, or Pods that it does not have."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from scheduler_svc.core.errors import InputError
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.configuration_file import read_configuration
from scheduler_svc.shell.custom_plugins import load_custom_plugins
from scheduler_svc.shell.custom_plugins.feeds import feeds_of
from scheduler_svc.shell.explain.admission import DEFAULT_SCHEDULER_NAME, admit
from scheduler_svc.shell.explain.answer import Answer, with_gate
from scheduler_svc.shell.explain.asking import Profiles, explain, with_served_names
from scheduler_svc.shell.explain.documents import read_documents
from scheduler_svc.shell.explain.kinds import POD, Manifest, PriorityClass, decode_manifest
from scheduler_svc.shell.explain.question import Question, QuestionError
from scheduler_svc.shell.explain.reading import is_kubernetes_object
from scheduler_svc.shell.explain.snapshot import Snapshot
from scheduler_svc.shell.profiles import make_profiles
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile, source_of
from scheduler_svc.shell.scheduler_profiles.planning import Planner
from scheduler_svc.shell.scheduler_profiles.validation import plugin_registry
from scheduler_svc.shell.startup import surprises

EXTENDERS_ARE_NOT_ASKED: Final = (
    "extenders are not asked: they may reject Nodes that fit here, and prefer others"
)


FEEDS_ARE_NOT_RUN: Final = "its feed is not run, so it decides without what that would tell"


def load_profiles(
    config_path: str, plugins: Sequence[str] = (), *, note: Callable[[str], None]
) -> Profiles:
    """Make the profiles of a configuration file, or kube-scheduler's own for every Pod.

    Users' plugins are those that are installed, and those that `plugins` names, which are
    enabled in profiles that do not say otherwise.

    Raises
    ------
    ConfigurationError, PluginLoadError, ProfileError, UsageError
        As when a scheduler starts.
    """
    custom = load_custom_plugins(plugins)
    configuration = read_configuration(config_path, custom)
    registry = plugin_registry(custom)
    made = make_profiles(configuration, registry.factories)
    for feed in feeds_of(made.profiles):
        note(f"plugin {feed.adapter.name}: {FEEDS_ARE_NOT_RUN}")
    if made.not_implemented:
        note(f"not implemented yet, so left out: {', '.join(made.not_implemented)}")
    for surprise in custom.surprises:
        note(surprise)
    for surprise in surprises(configuration):
        note(f"{config_path}: {surprise}")
    if configuration.extenders:
        note(f"{config_path}: {EXTENDERS_ARE_NOT_ASKED}")
    return Profiles(
        made.profiles,
        judges_all=not config_path,
        annotations=custom.annotations,
        make_live=partial(
            _make_live, Planner(configuration, registry, serves_default=True), note=note
        ),
    )


def _make_live(
    planner: Planner,
    profiles: Collection[SchedulerProfile],
    *,
    note: Callable[[str], None],
) -> Mapping[str, Profile]:
    """Make what a scheduler that starts now would run of a cluster's SchedulerProfiles."""
    plan = planner.plan(profiles, {})
    for refusal in plan.refusals.values():
        runs = refusal.runs
        instead = "nothing of it is run" if runs is None else f"generation {runs.generation} is run"
        mistakes = "; ".join(mistake.line_in_object for mistake in refusal.mistakes)
        note(f"{source_of(refusal.object_name)}: {instead}: {mistakes}")
    return {name: run.compiled.core for name, run in plan.runs.items()}


def answers_about(question: Question, snapshot: Snapshot, profiles: Profiles) -> Iterator[Answer]:
    """Give the answers that are asked for, one at a time.

    Raises
    ------
    QuestionError, InputError, DocumentError
        Where there is no such Pod, or its manifest is none.
    """
    pods: Iterable[PodInfo] = pending_pods(question, snapshot)
    if question.pod_path:
        manifests = pod_manifests(question.pod_path)
        pods = new_pods(
            manifests, snapshot.priority_classes, question.namespace, profiles.annotations
        )
    elif question.pod_name:
        pods = [named_pod(question, snapshot)]
    return explain_all(pods, question, snapshot, profiles)


def explain_all(
    pods: Iterable[PodInfo], question: Question, snapshot: Snapshot, profiles: Profiles
) -> Iterator[Answer]:
    """Explain Pods, each by itself."""
    now = read_now()
    snapshot.cluster.wall_seconds = now.wall_seconds
    profiles.add_live(snapshot.scheduler_profiles.values())
    profiles.attach(snapshot.cluster)
    for pod in pods:
        answer = explain(profiles, pod, snapshot, now, preempt=question.preempt)
        answer = with_served_names(answer, profiles, pod)
        judged_as_any = profiles.judges_all and not profiles.serves(pod)
        if judged_as_any and pod.key in snapshot.pending:
            answer = replace(
                answer, waits_for_scheduler=pod.scheduler_name or DEFAULT_SCHEDULER_NAME
            )
        yield with_gate(answer, profiles.gate_of(pod), pod)


def pending_pods(question: Question, snapshot: Snapshot) -> list[PodInfo]:
    """Give the pending Pods of the namespace that is asked about, or of all."""
    return [pod for pod in snapshot.pending.values() if question.is_about(pod.key)]


def named_pod(question: Question, snapshot: Snapshot) -> PodInfo:
    """Give the Pod that is asked about. Raises `QuestionError` where it is not pending."""
    key = f"{question.namespace}/{question.pod_name}"
    pod = snapshot.pending.get(key)
    if pod is None:
        raise QuestionError(_no_such_pod(key, snapshot))
    return pod


def _no_such_pod(key: str, snapshot: Snapshot) -> str:
    for cached in snapshot.cache.pods():
        if cached.pod.key == key:
            return f"Pod {key} is not pending: it is on {cached.pod.node_name}"
    return f"there is no Pod {key}; is it in another namespace (-n)?"


def pod_manifests(path: str) -> list[dict[str, Any]]:
    """Read manifests of Pods. Raises `InputError` for other kinds, and where there is none."""
    manifests = []
    for where, content in read_documents([path]):
        if not _is_pod(content):
            found = content.get("kind") if isinstance(content, dict) else type(content).__name__
            raise InputError(f"{where}: a Pod (apiVersion v1) is needed, not {found}")
        manifests.append(content)
    if not manifests:
        raise InputError(f"--pod {path}: there is no Pod in it")
    return manifests


def _is_pod(content: Any) -> bool:
    return is_kubernetes_object(content) and (content["apiVersion"], content["kind"]) == ("v1", POD)


def new_pods(
    manifests: Iterable[Manifest],
    classes: Mapping[str, PriorityClass],
    namespace: str,
    annotations: frozenset[str],
) -> list[PodInfo]:
    """Make Pods that do not exist yet, as the API server would. Raises `InputError`."""
    return read_pods((admit(manifest, classes, namespace) for manifest in manifests), annotations)


def read_pods(manifests: Iterable[Manifest], annotations: frozenset[str]) -> list[PodInfo]:
    """Decode manifests of Pods, and keep the named annotations. Raises `InputError`."""
    interner = PodInterner(annotations)
    decoded = (decode_manifest(manifest) for manifest in manifests)
    return [interner.intern(object_.content) for object_ in decoded if object_ is not None]
