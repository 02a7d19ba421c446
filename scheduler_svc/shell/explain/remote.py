"""Asks the running scheduler: at a URL, or at the leader's Pod through the API server's proxy.

The leader is found by its Lease, whose holder begins with the name of its Pod.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.errors import InvalidError, KubeError, NotFoundError
from kubeio.lease import LeaseClient
from kubeio.login import KubeConfigError, Login
from kubeio.pod_proxy import proxied, proxied_client, serving_token
from scheduler_svc.core.errors import InputError
from scheduler_svc.shell.explain.answer import Answer
from scheduler_svc.shell.explain.endpoint import Explanation
from scheduler_svc.shell.explain.listing import PODS, Note, admit_by_server
from scheduler_svc.shell.explain.memory import Decision
from scheduler_svc.shell.explain.question import Question, QuestionError
from scheduler_svc.shell.explain.reaching import asking_api_server, asking_scheduler_at
from scheduler_svc.shell.explain.saved import EXTENDERS_ARE_NOT_ASKED, pod_manifests

ANSWER_SECONDS: Final = 300.0
_LEASE_SECONDS: Final = 10.0

Told = Answer | Explanation | Decision


class SchedulerNotFoundError(Exception):
    """There is no scheduler that could be asked; says why, and what to do."""


class _Metadata(msgspec.Struct):
    name: str
    namespace: str


class _PodSpec(msgspec.Struct, rename="camel"):
    service_account_name: str = "default"


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _PodSpec


class _Pods(msgspec.Struct):
    items: list[_Pod]


class _Component(msgspec.Struct):
    extenders: list[msgspec.Raw] = []


class _Configz(msgspec.Struct):
    componentconfig: _Component


class Contact(NamedTuple):
    """How to reach a scheduler: a client, and what its paths begin with."""

    client: KubeClient
    prefix: str


async def ask_scheduler(question: Question, *, user_agent: str, note: Note) -> list[Told]:
    """Give what the running scheduler says.

    Raises
    ------
    KubeConfigError, KubeError, SchedulerNotFoundError
        Where it cannot be reached.
    QuestionError, InputError
        Where it knows no such Pod or decision, or the manifest is none.
    """
    # First what is at hand: who has misspelt a file's name need not wait to be told of it.
    manifests = pod_manifests(question.pod_path) if question.pod_path else []
    async with contact(question, user_agent) as scheduler:
        try:
            if manifests:
                manifests = await _admitted(manifests, question, user_agent, note)
            told = await _ask(scheduler, question, manifests)
            if not question.decision_id and await _has_extenders(scheduler):
                note(EXTENDERS_ARE_NOT_ASKED)
            return told
        except (NotFoundError, InvalidError) as error:
            if error.reason:  # it is the API server that gives one
                raise
            raise QuestionError(error.message.strip()) from error


async def _has_extenders(scheduler: Contact) -> bool:
    """Look into the configuration in effect; who may not see it is told nothing."""
    try:
        configuration = await scheduler.client.get_json(f"{scheduler.prefix}/configz", _Configz)
    except KubeError:
        return False
    return bool(configuration.componentconfig.extenders)


async def _ask(
    scheduler: Contact, question: Question, manifests: Sequence[dict[str, Any]]
) -> list[Told]:
    preempt = {"preempt": "true"} if question.preempt else {}
    if question.decision_id:
        path = f"/explain/decisions/{quote(question.decision_id, safe='')}"
        return [await _get(scheduler, path, {}, Decision)]
    if question.pod_name:
        path = f"/explain/pods/{quote(question.namespace)}/{quote(question.pod_name)}"
        return [await _get(scheduler, path, preempt, Explanation)]
    if manifests:
        return [await _post(scheduler, manifest, preempt) for manifest in manifests]
    namespace = {"namespace": question.pending_namespace} if question.pending_namespace else {}
    response = await scheduler.client.call(
        "GET",
        f"{scheduler.prefix}/explain/pending",
        params=preempt | namespace,
        timeout_seconds=ANSWER_SECONDS,
    )
    answers = (msgspec.json.decode(line, type=Answer) for line in response.body.splitlines())
    # A scheduler of an older version gives all.
    return [answer for answer in answers if question.is_about(answer.pod)]


async def _get(scheduler: Contact, path: str, params: dict[str, str], kind: type[Any]) -> Told:
    told: Told = await scheduler.client.get_json(
        f"{scheduler.prefix}{path}", kind, params=params, timeout_seconds=ANSWER_SECONDS
    )
    return told


async def _post(scheduler: Contact, manifest: dict[str, Any], params: dict[str, str]) -> Answer:
    response = await scheduler.client.call(
        "POST",
        f"{scheduler.prefix}/explain/pods",
        body=msgspec.json.encode(manifest),
        params=params,
        timeout_seconds=ANSWER_SECONDS,
    )
    return msgspec.json.decode(response.body, type=Answer)


async def _admitted(
    manifests: list[dict[str, Any]], question: Question, user_agent: str, note: Note
) -> list[dict[str, Any]]:
    """Have the API server fill in what it would, if it is there and lets us."""
    for manifest in manifests:
        metadata = manifest.get("metadata") or {}
        name = metadata.get("name") or metadata.get("generateName") or "new"
        namespace = metadata.get("namespace") or question.namespace
        manifest["metadata"] = {**metadata, "name": name, "namespace": namespace}
    try:
        credentials = await Credentials.load(question.kubeconfig, context=question.context)
        async with KubeClient(credentials, user_agent=user_agent) as client:
            admitted = await admit_by_server(client, manifests, question.namespace)
    except (KubeConfigError, KubeError) as error:
        note(f"the Pod is taken as it is, without the API server's defaults: {error}")
        return manifests
    if admitted is None:
        note("you may not create Pods: this one is taken as it is, without defaults")
        return manifests
    return admitted


@asynccontextmanager
async def contact(question: Question, user_agent: str) -> AsyncIterator[Contact]:
    """Give the way to the scheduler that a question is for.

    Raises
    ------
    KubeConfigError, KubeError, SchedulerNotFoundError
        Where there is none.
    InputError
        Where the token's file cannot be read.
    """
    if question.server:
        login = await _login_at(question)

        async def read_again() -> Login:
            return login

        credentials = Credentials(login, read_again)
        async with KubeClient(credentials, user_agent=user_agent) as client:
            with asking_scheduler_at(question.server):
                yield Contact(client, "")
        return
    credentials = await Credentials.load(question.kubeconfig, context=question.context)
    async with KubeClient(credentials, user_agent=user_agent) as client:
        with asking_api_server(credentials.server_url):
            pod = await _leader(client, question)
            account = pod.spec.service_account_name
            token = await serving_token(client, pod.metadata.namespace, account)
    async with proxied_client(credentials, token, user_agent=user_agent) as client:
        yield Contact(client, proxied(pod.metadata.namespace, pod.metadata.name, question.port))


async def _login_at(question: Question) -> Login:
    """Make the login for a URL. Certificates of other hosts than this one are checked."""
    host = urlsplit(question.server).hostname or ""
    return Login(
        server_url=question.server.rstrip("/"),
        authorization=await _authorization(question),
        ca_file=question.server_ca or None,
        verify=bool(question.server_ca) or not _is_this_host(host),
    )


def _is_this_host(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _authorization(question: Question) -> str | None:
    """Give the token of the file, else the kubeconfig's, if there is one."""
    if question.token_file:
        return f"Bearer {_read_token(question.token_file)}"
    try:
        credentials = await Credentials.load(question.kubeconfig, context=question.context)
    except KubeConfigError:
        if question.kubeconfig or question.context:
            raise
        return None
    return credentials.authorization


def _read_token(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file {path}: {error}") from error


async def _leader(client: KubeClient, question: Question) -> _Pod:
    """Find the Pod that holds the Lease."""
    namespace, _, name = question.lease.rpartition("/")
    lease = LeaseClient(client, namespace=namespace or "kube-system", name=name)
    record = await lease.get(timeout_seconds=_LEASE_SECONDS)
    if record is None or not record.holder_identity:
        why = "does not exist" if record is None else "is held by nobody"
        raise SchedulerNotFoundError(
            f"the Lease {question.lease} {why}: no scheduler runs, or it has another Lease "
            "(--lease NAMESPACE/NAME), or none (--server URL)"
        )
    hostname = record.holder_identity.rpartition("_")[0]
    selector = {"fieldSelector": f"metadata.name={hostname},status.phase=Running"}
    pods = await client.get_json(PODS.collection, _Pods, params=selector)
    if len(pods.items) != 1:
        count = "no Pod" if not pods.items else "more than one Pod"
        raise SchedulerNotFoundError(
            f"the leader is {record.holder_identity}, and {count} of that name runs here: say "
            "where it serves, with --server https://HOST:PORT, or add --from-cluster to decide here"
        )
    return pods.items[0]
