"""What is asked: about which Pods, and of whom."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Final

import msgspec

DEFAULT_LEASE: Final = "kube-system/berthmaster"
DEFAULT_PORT: Final = 10259
DEFAULT_NAMESPACE: Final = "default"
DEFAULT_BEST: Final = 5
_PODS: Final = ("pod", "pods")
SUBJECTS: Final = ("pod", "decision")
"""The words that say what is asked about; `pods` is read, too."""


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
    pending_namespace
        Where the pending Pods are that are asked about; "": in all namespaces.
    plugins
        Users' plugins, as the scheduler's flag names them.
    server, server_ca, token_file
        The URL of the running scheduler, the CA of its certificate, and what to show it.
    lease, port
        Else: the Lease that it holds, as namespace/name, and the port its Pod serves on.
    """

    source: Source
    namespace: str = DEFAULT_NAMESPACE
    pending_namespace: str = ""
    pod_name: str = ""
    pod_path: str = ""
    decision_id: str = ""
    snapshot: tuple[str, ...] = ()
    config_path: str = ""
    plugins: tuple[str, ...] = ()
    preempt: bool = False
    output: str = "table"
    best_count: int = DEFAULT_BEST
    kubeconfig: str | None = None
    context: str | None = None
    server: str = ""
    server_ca: str = ""
    token_file: str = ""
    lease: str = DEFAULT_LEASE
    port: int = DEFAULT_PORT

    def is_about(self, pod_key: str) -> bool:
        """Whether a pending Pod is in the namespace that is asked about; `pod_key`: its key."""
        return not self.pending_namespace or pod_key.startswith(f"{self.pending_namespace}/")


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The command line as it was typed; `words` are what is not a flag."""

    words: tuple[str, ...]
    snapshot: tuple[str, ...]
    from_cluster: bool
    pod_path: str | None
    all_pending: bool
    all_namespaces: bool
    namespace: str | None
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
        namespace=flags.namespace or DEFAULT_NAMESPACE,
        pending_namespace=flags.namespace or "",
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
    _check_namespace(flags, asked)
    _check_what_would_be_ignored(flags, source, is_decision=asked[-1])


def _check_namespace(flags: Flags, asked: Sequence[bool]) -> None:
    is_pod, is_new, _, is_decision = asked
    if flags.namespace is not None and flags.all_namespaces:
        raise QuestionError("-n and --all-namespaces exclude each other")
    if flags.namespace is not None and (not flags.namespace or "/" in flags.namespace):
        raise QuestionError(f"-n: {flags.namespace!r} is no namespace's name")
    if flags.all_namespaces and (is_pod or is_new or is_decision):
        raise QuestionError("--all-namespaces: only every pending Pod is asked about so")
    if flags.namespace is not None and is_decision:
        raise QuestionError("-n: a decision's id says which it is")


def _check_what_would_be_ignored(flags: Flags, source: Source, *, is_decision: bool) -> None:
    to_direct = {"--server-ca": flags.server_ca, "--token-file": flags.token_file}
    to_found = {
        "--lease": flags.lease != DEFAULT_LEASE,
        "--secure-port": flags.port != DEFAULT_PORT,
    }
    if source is not Source.SCHEDULER:
        to_running = {"--server": flags.server, **to_direct, **to_found}
        _refuse(to_running, "is of the running scheduler, which is not asked with {source}", source)
    elif flags.server:
        _refuse(to_found, "finds a scheduler, and --server says where it is: give one", source)
    else:
        _refuse(to_direct, "is for a scheduler at --server URL: say which", source)
    if source is Source.SNAPSHOT:
        to_cluster = {"--kubeconfig": flags.kubeconfig, "--context": flags.context}
        _refuse(to_cluster, "is of a cluster, which is not asked with {source}", source)
    if is_decision:
        _refuse({"--preempt": flags.preempt}, "a decision is told as it was made", source)
    if flags.output == "json":
        _refuse({"--best": flags.best != DEFAULT_BEST}, "is of the table; JSON has all", source)


def _refuse(flags: Mapping[str, object], why: str, source: Source) -> None:
    for flag, value in flags.items():
        if value:
            given = "--snapshot" if source is Source.SNAPSHOT else "--from-cluster"
            raise QuestionError(f"{flag}: {why.format(source=given)}")


def _subject(words: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Give the Pod's name, the decision's id, and what is left."""
    if not words:
        return "", "", ()
    first, slash, name = words[0].partition("/")
    rest = tuple(words[1:])
    if first in (*_PODS, "decision"):
        if slash and name:
            return (name, "", rest) if first in _PODS else ("", name, rest)
        if not slash:
            if not rest:
                raise QuestionError(f"{first}: name the one to explain")
            return (rest[0], "", rest[1:]) if first in _PODS else ("", rest[0], rest[1:])
    return "", "", tuple(words)
