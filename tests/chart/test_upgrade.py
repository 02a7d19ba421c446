"""What an upgrade changes, and what it leaves going."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from deploy.controlplane import ControlPlane
from tests.chart.cluster import Key, all_objects, delete, objects_of, start_scheduler
from tests.chart.rendering import CHART, Document, Helm, find
from tests.integration.rest import create, read, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

RELEASE: Final = "rolling"
NAMESPACE: Final = "upgraded"
FULL_NAME: Final = f"{RELEASE}-berthmaster"
PODS: Final = "/api/v1/namespaces/default/pods"
OURS: Final = f"{PODS}?labelSelector=rolled"
NODE: Final = "/api/v1/nodes/upgraded"
# What the chart promises. A Lease that is not given back would be held for 15 s.
LONGEST_WAIT_SECONDS: Final = 5
PAUSE_SECONDS: Final = 0.2
SWITCHED_ON: Final = (
    "--set=networkPolicy.enabled=true",
    "--set=monitoring.dashboards.enabled=true",
    "--set=rbac.readers.metrics[0].kind=Group,rbac.readers.metrics[0].name=readers",
    "--set=rbac.readers.metrics[0].apiGroup=rbac.authorization.k8s.io",
    "--set=scheduler.plugins.files.a\\.py=x",
)


def upgrade(helm: Helm, *arguments: str) -> list[Document]:
    """Install the release, or upgrade it; give its objects."""
    where = [RELEASE, str(CHART), f"--namespace={NAMESPACE}", "--create-namespace"]
    helm.run("upgrade", "--install", *where, "--reset-values", *arguments)
    return objects_of(helm, RELEASE, NAMESPACE)


@pytest.fixture
def upgrading(cluster_helm: Helm) -> Iterator[Helm]:
    """Give helm; uninstall the release in the end."""
    yield cluster_helm
    cluster_helm.run("uninstall", RELEASE, f"--namespace={NAMESPACE}", "--ignore-not-found")


def keys(documents: list[Document]) -> set[Key]:
    """Give the objects of a manifest as the API server's paths name them."""
    return {
        (
            f"{d['kind'].lower()}s".replace("policys", "policies"),
            d["metadata"].get("namespace", ""),
            d["metadata"]["name"],
        )
        for d in documents
    }


def test_what_is_switched_off_is_gone_and_nothing_else(
    upgrading: Helm, control_plane: ControlPlane
) -> None:
    before = keys(upgrade(upgrading, *SWITCHED_ON))
    after = keys(upgrade(upgrading, "--set=agent.enabled=false"))
    resources = {resource for resource, _, _ in before}
    assert {"daemonsets", "networkpolicies", "clusterrolebindings"} <= {
        resource for resource, _, _ in before - after
    }

    def there() -> set[Key]:
        return {
            key for key in all_objects(control_plane) if key[0] in resources and FULL_NAME in key[2]
        }

    wait_for("the objects of the release are those of its manifest", lambda: there() == after)


def test_no_pod_waits_while_replicas_are_replaced(
    upgrading: Helm, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """As the Deployment's controller does it, with the worst choice: whoever leads goes first."""
    old = upgrade(upgrading)
    new = upgrade(upgrading, "--set=scheduler.config.podMaxBackoffSeconds=5")
    deployment = find(new, "Deployment", component="scheduler")
    rolling_update = deployment["spec"]["strategy"]["rollingUpdate"]
    assert rolling_update == {"maxSurge": 1, "maxUnavailable": 0}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "100000"}
    create(
        control_plane,
        NODE.rpartition("/")[0],
        {"metadata": {"name": "upgraded"}, "status": {"allocatable": allocatable}},
    )
    with ExitStack() as processes:

        def start(documents: list[Document], name: str) -> SchedulerProcess:
            process = start_scheduler(control_plane, documents, tmp_path / name)
            return processes.enter_context(process)

        replicas = [start(old, "first"), start(old, "second")]
        wait_for("both are ready", lambda: all(map(is_ready, replicas)))
        wait_for("one leads", lambda: any(map(leads, replicas)))
        with pods_made_all_the_while(control_plane):
            for replica in sorted(replicas, key=leads, reverse=True):
                instead = start(new, f"instead-of-{replica.pid}")
                wait_for("it is ready", partial(is_ready, instead))
                replica.send_signal(signal.SIGTERM)
                assert replica.wait_exit() == 0
        wait_for("every Pod has a Node", partial(all_are_bound, control_plane))
    waits = [seconds_until_bound(pod) for pod in read(control_plane, OURS)["items"]]
    delete(control_plane, OURS)
    delete(control_plane, NODE)
    assert max(waits) <= LONGEST_WAIT_SECONDS


def is_ready(process: SchedulerProcess) -> bool:
    return process.get("/readyz")[0] == 200


def leads(process: SchedulerProcess) -> bool:
    return "Leading:" in process.log()


@contextmanager
def pods_made_all_the_while(plane: ControlPlane) -> Iterator[None]:
    """Make one Pod after another until the block has ended, and one more."""
    has_ended = threading.Event()

    def make() -> None:
        for number in count():
            is_last = has_ended.wait(PAUSE_SECONDS)
            spec = {"schedulerName": FULL_NAME, "containers": [{"name": "c", "image": "x"}]}
            metadata = {"name": f"rolled-{number}", "labels": {"rolled": ""}}
            create(plane, PODS, {"metadata": metadata, "spec": spec})
            if is_last:
                return

    thread = threading.Thread(target=make)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def all_are_bound(plane: ControlPlane) -> bool:
    return all("nodeName" in pod["spec"] for pod in read(plane, OURS)["items"])


def seconds_until_bound(pod: Document) -> float:
    """Give the time from creation to Binding by the API server's clock, right to a second."""
    [bound] = [c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled"]
    since = datetime.fromisoformat(bound["lastTransitionTime"])
    return (since - datetime.fromisoformat(pod["metadata"]["creationTimestamp"])).total_seconds()
