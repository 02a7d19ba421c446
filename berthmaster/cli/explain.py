"""``berthmaster explain``: why a Pod goes where it goes, or nowhere."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from berthmaster import __version__
from berthmaster.cli.failing import fail
from berthmaster.cli.printing import make_console, print_rendered
from kubeio.daemon import UsageError
from kubeio.errors import ForbiddenError, KubeError
from kubeio.login import KubeConfigError
from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.config import ConfigurationError
from scheduler_svc.shell.custom_plugins import PluginLoadError
from scheduler_svc.shell.explain.alike import Alike, put_together
from scheduler_svc.shell.explain.answer import Answer, without_hints
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


def run(**flags: Any) -> None:
    """Do it; see the command's help."""
    try:
        question = question_of(Flags(**flags))
        show(_told(question), question)
    except (ConfigurationError, PluginLoadError, ProfileError, UsageError, QuestionError) as error:
        fail(error, _BAD_USAGE)
    except (DocumentError, SnapshotError, InputError, KubeConfigError) as error:
        fail(error, _BAD_USAGE)
    except ForbiddenError as error:
        fail(f"{error}; which rights it takes is told in docs/explain.md", _FAILED)
    except (KubeError, SchedulerNotFoundError) as error:
        fail(error, _FAILED)


def _told(question: Question) -> Iterable[Told]:
    if question.source is Source.SCHEDULER:
        return asyncio.run(ask_scheduler(question, user_agent=_USER_AGENT, note=note))
    profiles = load_profiles(question.config_path, question.plugins, note=note)
    if question.source is Source.SNAPSHOT:
        documents = read_documents(question.snapshot)
        snapshot = read_snapshot(documents, note=note, annotations=profiles.annotations)
        if not snapshot.cluster.columns.node_count:
            note("there is no Node in what was read, so nothing fits: save nodes as well")
        answers = answers_about(question, snapshot, profiles)
        return map(without_hints, answers) if question.output == "json" else answers
    return asyncio.run(answers_from_cluster(question, profiles, user_agent=_USER_AGENT, note=note))


def show(told: Iterable[Told], question: Question) -> None:
    """Print what was told, as it comes; in tables, Pods alike are told once."""
    count = (_print_json if question.output == "json" else _print_tables)(told, question)
    if not count and not question.pod_name:
        where = f" in namespace {question.pending_namespace}" if question.pending_namespace else ""
        note(f"no Pod is pending{where}")


def _print_json(told: Iterable[Told], question: Question) -> int:
    del question
    count = 0
    for each in told:
        for part in parts_of(each):
            count += 1
            click.echo(msgspec.json.encode(part))
    return count


def _print_tables(told: Iterable[Told], question: Question) -> int:
    count, console = 0, make_console(_PIPE_WIDTH)
    for each in put_together(told):
        parts = [each] if isinstance(each, Alike) else parts_of(each)
        for part in parts[:_PARTS_SHOWN]:
            count += 1
            if isinstance(part, Decision):
                print_rendered(console, render_decision(part))
            else:
                answer, others = part if isinstance(part, Alike) else (part, ())
                shown = render(answer, best_count=question.best_count, others=others)
                print_rendered(console, shown)
        if len(parts) > _PARTS_SHOWN:
            note(f"{len(parts) - _PARTS_SHOWN} earlier attempts are remembered; -o json has all")
    return count


def parts_of(told: Told) -> Sequence[Answer | Decision]:
    """Give the answer and the decisions that were told, the newest first."""
    if not isinstance(told, Explanation):
        return [told]
    if told.answer is None and told.node_name and not told.decisions:
        note(f"the Pod is on {told.node_name}, and no decision about it is remembered")
    if told.served_names:
        note(
            "the Pod is gone, or nobody here serves its schedulerName (any more; served are: "
            f"{', '.join(told.served_names)}): `berthmaster diagnose` tells which"
        )
    return [*([told.answer] if told.answer else []), *told.decisions]


def note(text: str) -> None:
    """Tell what is no part of the answer."""
    click.echo(f"Note: {text}", err=True)
