"""What is asked: about which Pods, and of whom."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

import msgspec

DEFAULT_LEASE: Final = "kube-system/berthmaster"
DEFAULT_PORT: Final = 10259


class QuestionError(ValueError):
    """A question that cannot be asked; the text says what to change."""


class Source(Enum):
    """Who knows the cluster."""

    SNAPSHOT = auto()
    CLUSTER = auto()
    SCHEDULER = auto()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question, and how the answer is to be told.

    Attributes
    ----------
    pod_name
        A Pod that exists, in `namespace`; "" where it is not one that is asked about.
    pod_path
        A manifest of one that does not.
    decision_id
        A decision that the scheduler may remember.
    plugins
        Users' plugins, as the scheduler's flag names them.
    server, server_ca, token_file
        The URL of the running scheduler, the CA of its certificate, and what to show it.
    lease, port
        Else: the Lease that it holds, as namespace/name, and the port its Pod serves on.
    """

    source: Source
    namespace: str = "default"
    pod_name: str = ""
    pod_path: str = ""
    decision_id: str = ""
    snapshot: tuple[str, ...] = ()
    config_path: str = ""
    plugins: tuple[str, ...] = ()
    preempt: bool = False
    output: str = "table"
    best_count: int = 5
    kubeconfig: str | None = None
    context: str | None = None
    server: str = ""
    server_ca: str = ""
    token_file: str = ""
    lease: str = DEFAULT_LEASE
    port: int = DEFAULT_PORT


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The command line as it was typed; `words` are what is not a flag."""

    words: tuple[str, ...]
    snapshot: tuple[str, ...]
    from_cluster: bool
    pod_path: str | None
    all_pending: bool
    namespace: str
    config_path: str
    plugins: tuple[str, ...]
    preempt: bool
    output: str
    best: int
    kubeconfig: str | None
    context: str | None
    server: str
    server_ca: str
    token_file: str
    lease: str
    port: int


def question_of(flags: Flags) -> Question:
    """Make sense of the command line. Raises `QuestionError`."""
    pod_name, decision_id, paths = _subject(flags.words)
    if paths and not flags.snapshot:
        raise QuestionError(
            f"{paths[0]}: what is asked about is `pod NAME`, `decision ID`, --all-pending or "
            "--pod FILE; files of a saved cluster come after --snapshot"
        )
    source = _source(flags)
    asked = [bool(pod_name), bool(flags.pod_path), flags.all_pending, bool(decision_id)]
    _check(flags, source, asked)
    return Question(
        source=source,
        namespace=flags.namespace,
        pod_name=pod_name,
        pod_path=flags.pod_path or "",
        decision_id=decision_id,
        snapshot=(*flags.snapshot, *paths),
        config_path=flags.config_path,
        plugins=flags.plugins,
        preempt=flags.preempt,
        output=flags.output,
        best_count=flags.best,
        kubeconfig=flags.kubeconfig,
        context=flags.context,
        server=flags.server,
        server_ca=flags.server_ca,
        token_file=flags.token_file,
        lease=flags.lease,
        port=flags.port,
    )


def _source(flags: Flags) -> Source:
    if flags.snapshot and flags.from_cluster:
        raise QuestionError("--snapshot and --from-cluster exclude each other")
    if flags.snapshot:
        return Source.SNAPSHOT
    return Source.CLUSTER if flags.from_cluster else Source.SCHEDULER


def _check(flags: Flags, source: Source, asked: Sequence[bool]) -> None:
    if sum(asked) > 1:
        raise QuestionError("ask one thing: pod NAME, decision ID, --pod FILE or --all-pending")
    if source is Source.SCHEDULER:
        if not any(asked):
            raise QuestionError(
                "name what to explain: pod NAME, decision ID, --pod FILE or --all-pending (of "
                "the running scheduler), or --snapshot FILE or --from-cluster (every pending Pod)"
            )
        for flag, value in (("--config", flags.config_path), ("--plugin", flags.plugins)):
            if value:
                raise QuestionError(
                    f"{flag}: the running scheduler has its own; add --from-cluster or --snapshot"
                )
    elif asked[-1]:
        raise QuestionError("decision: only the running scheduler remembers any")


def _subject(words: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Give the Pod's name, the decision's id, and what is left."""
    if not words:
        return "", "", ()
    first, slash, name = words[0].partition("/")
    rest = tuple(words[1:])
    if first in ("pod", "decision"):
        if slash and name:
            return (name, "", rest) if first == "pod" else ("", name, rest)
        if not slash:
            if not rest:
                raise QuestionError(f"{first}: name the one to explain")
            return (rest[0], "", rest[1:]) if first == "pod" else ("", rest[0], rest[1:])
    return "", "", tuple(words)
