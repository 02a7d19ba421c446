"""Answers about the cluster as the API server lists it at this moment."""

from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.explain.answer import Answer
from scheduler_svc.shell.explain.asking import Profiles
from scheduler_svc.shell.explain.listing import Note, admit_by_server, list_cluster
from scheduler_svc.shell.explain.question import Question
from scheduler_svc.shell.explain.reaching import asking_api_server
from scheduler_svc.shell.explain.saved import (
    explain_all,
    named_pod,
    new_pods,
    pending_pods,
    pod_manifests,
    read_pods,
)
from scheduler_svc.shell.explain.snapshot import Snapshot


async def answers_from_cluster(
    question: Question, profiles: Profiles, *, user_agent: str, note: Note
) -> list[Answer]:
    """List the cluster and give the answers that are asked for.

    Raises
    ------
    KubeConfigError, KubeError
        Where there is no login, or no answer.
    QuestionError, InputError, DocumentError, SnapshotError
        Where there is no such Pod, its manifest is none, or an object cannot be used.
    """
    credentials = await Credentials.load(question.kubeconfig, context=question.context)
    async with KubeClient(credentials, user_agent=user_agent) as client:
        with asking_api_server(credentials.server_url):
            return await _answers(client, question, profiles, note)


async def _answers(
    client: KubeClient, question: Question, profiles: Profiles, note: Note
) -> list[Answer]:
    snapshot = await list_cluster(client, note=note, annotations=profiles.annotations)
    pods = pending_pods(question, snapshot)
    if question.pod_path:
        pods = await _admitted(client, question, snapshot, profiles.annotations, note)
    elif question.pod_name:
        pods = [named_pod(question, snapshot)]
    return list(explain_all(pods, question, snapshot, profiles))


async def _admitted(
    client: KubeClient,
    question: Question,
    snapshot: Snapshot,
    annotations: frozenset[str],
    note: Note,
) -> list[PodInfo]:
    manifests = pod_manifests(question.pod_path)
    admitted = await admit_by_server(client, manifests, question.namespace)
    if admitted is not None:
        return read_pods(admitted, annotations)
    note(
        "the API server does not let you create Pods, not even for a dry run: what it would add "
        "to them (limit ranges, runtime classes, webhooks) is not known"
    )
    return new_pods(manifests, snapshot.priority_classes, question.namespace, annotations)
