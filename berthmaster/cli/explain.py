"""``berthmaster explain``: why a Pod goes where it goes, or nowhere."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec
from rich.console import Console, RenderableType

from berthmaster import __version__
from berthmaster.cli.explain_flags import OPTIONS
from berthmaster.cli.failing import fail
from berthmaster.cli.grouped import GroupedCommand
from kubeio.daemon import UsageError
from kubeio.errors import KubeError
from kubeio.login import KubeConfigError
from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.config import ConfigurationError
from scheduler_svc.shell.custom_plugins import PluginLoadError
from scheduler_svc.shell.explain.answer import Answer
from scheduler_svc.shell.explain.documents import DocumentError, read_documents
from scheduler_svc.shell.explain.endpoint import Explanation
from scheduler_svc.shell.explain.listed import answers_from_cluster
from scheduler_svc.shell.explain.memory import Decision
from scheduler_svc.shell.explain.question import Flags, Question, QuestionError, Source, question_of
from scheduler_svc.shell.explain.reading import SnapshotError, read_snapshot
from scheduler_svc.shell.explain.remote import SchedulerNotFoundError, Told, ask_scheduler
from scheduler_svc.shell.explain.saved import answers_about, load_profiles
from scheduler_svc.shell.explain.tables import render, render_decision
from scheduler_svc.shell.profiles import ProfileError

_FAILED = 1
_BAD_USAGE = 2
_PIPE_WIDTH = 200
_PARTS_SHOWN = 4
"""Of a Pod that waits for long there are hundreds of attempts, most of them alike."""
_USER_AGENT = f"berthmaster/{__version__} explain"


@click.command(cls=GroupedCommand, params=list(OPTIONS))
def command(**flags: Any) -> None:
    """Tell why Pods get the Nodes they get, or none.

    The running scheduler answers from what it knows at this moment, unless a saved cluster is
    given or the cluster is to be listed. Nothing is changed, whoever answers.

    \b
    Examples:
      # every pending Pod of a saved cluster, as kube-scheduler would decide
      kubectl get -A -o yaml nodes,pods,namespaces,services,rs,sts,pv,pvc,sc,csinodes > cluster.yaml
      berthmaster explain --snapshot cluster.yaml
      # under your configuration, with what preemption would do, for scripts
      berthmaster explain --snapshot cluster.yaml --config scheduler.yaml --preempt -o json
      # with a plugin of your own
      berthmaster explain --snapshot cluster.yaml --plugin ./one_a_team.py:OneATeam
      # where would this Pod go now?
      berthmaster explain --from-cluster --pod web.yaml
      # what the running scheduler thinks of a Pod, and why it decided as it did
      berthmaster explain pod web -n shop
      berthmaster explain decision 5d1f02ab-1c
      berthmaster explain --all-pending --server https://127.0.0.1:10259

    \b
    Exit codes: 0 answered, also where a Pod fits nowhere; 1 failed; 2 bad flags or input.
    """
    try:
        question = question_of(Flags(**flags))
        show(_told(question), question)
    except (ConfigurationError, PluginLoadError, ProfileError, UsageError, QuestionError) as error:
        fail(error, _BAD_USAGE)
    except (DocumentError, SnapshotError, InputError, KubeConfigError) as error:
        fail(error, _BAD_USAGE)
    except (KubeError, SchedulerNotFoundError) as error:
        fail(error, _FAILED)


def _told(question: Question) -> Iterable[Told]:
    if question.source is Source.SCHEDULER:
        return asyncio.run(ask_scheduler(question, user_agent=_USER_AGENT, note=note))
    profiles = load_profiles(question.config_path, question.plugins, note=note)
    if question.source is Source.SNAPSHOT:
        documents = read_documents(question.snapshot)
        snapshot = read_snapshot(documents, note=note, annotations=profiles.annotations)
        return answers_about(question, snapshot, profiles)
    return asyncio.run(answers_from_cluster(question, profiles, user_agent=_USER_AGENT, note=note))


def show(told: Iterable[Told], question: Question) -> None:
    """Print what was told, as it comes."""
    count = 0
    for each in told:
        parts = parts_of(each)
        is_json = question.output == "json"
        for part in parts if is_json else parts[:_PARTS_SHOWN]:
            count += 1
            if is_json:
                click.echo(msgspec.json.encode(part))
            elif isinstance(part, Answer):
                print_table(render(part, best_count=question.best_count))
            else:
                print_table(render_decision(part))
        if not is_json and len(parts) > _PARTS_SHOWN:
            note(f"{len(parts) - _PARTS_SHOWN} earlier attempts are remembered; -o json has all")
    if not count and not question.pod_name:
        note("no Pod is pending")


def parts_of(told: Told) -> Sequence[Answer | Decision]:
    """Give the answer and the decisions that were told, the newest first."""
    if not isinstance(told, Explanation):
        return [told]
    if told.answer is None and not told.decisions:
        note(f"the Pod is on {told.node_name}, and no decision about it is remembered")
    return [*([told.answer] if told.answer else []), *told.decisions]


def print_table(renderable: RenderableType) -> None:
    """Print for people: in colours on a terminal, without padding at the ends of lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    with console.capture() as capture:
        console.print(renderable)
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def note(text: str) -> None:
    """Tell what is no part of the answer."""
    click.echo(f"Note: {text}", err=True)
