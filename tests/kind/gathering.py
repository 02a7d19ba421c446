"""What is known of the cluster when a test has failed."""

from __future__ import annotations

from collections.abc import Iterator

from deploy.kind.chart import NAMESPACE, RELEASE
from deploy.programs.errors import DeployError
from tests.kind.cluster import CommandError, KindCluster

LOG_LINES = 120
EVENT_LINES = 60


def gather(cluster: KindCluster, namespace: str | None) -> Iterator[tuple[str, str]]:
    """Give sections of text: Nodes, Pods, those of the test, Events, Berthmaster's logs.

    What cannot be asked, since the API server is away, says so instead.
    """
    yield "nodes", _ask(cluster, "get", "nodes", "-o", "wide")
    yield (
        "taints",
        _ask(cluster, "get", "nodes", "-o", "custom-columns=N:.metadata.name,T:.spec.taints"),
    )
    yield "pods", _ask(cluster, "get", "pods", "--all-namespaces", "-o", "wide")
    if namespace is not None:
        described = _ask(cluster, "describe", "pods", f"--namespace={namespace}")
        yield "pods of the test", described
    newest_last = ("--all-namespaces", "--sort-by=.metadata.creationTimestamp")
    events = _ask(cluster, "get", "events", *newest_last)
    yield "events", "\n".join(events.splitlines()[-EVENT_LINES:])
    for component in ("scheduler", "controller", "agent"):
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component={component}"
        tail = (f"--selector={selector}", f"--tail={LOG_LINES}", "--prefix", "--timestamps=false")
        yield f"log of {component}", _ask(cluster, "logs", f"--namespace={NAMESPACE}", *tail)


def _ask(cluster: KindCluster, *arguments: str) -> str:
    try:
        return cluster.kubectl(*arguments, "--request-timeout=20s")
    except (CommandError, DeployError) as error:
        return f"cannot be told: {error}"
