"""A Secret with a certificate that is replaced: served anew, by the same processes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

import pytest

from deploy.programs.errors import DeployError
from kubeio.self_signed import self_signed_pem
from tests.kind.api import Object
from tests.kind.cluster import AGENT_PORT, SCHEDULER_PORT, KindCluster
from tests.kind.releases import install, second_release
from tests.kind.waiting import wait_for

SECRET: Final = "serving"
HOST: Final = "berthmaster.example"
# The kubelet looks at Secrets once a minute, give or take a half, or when the Pod changes.
TAKEN_UP_SECONDS: Final = 150.0
LOOK_NOW: Final = {"metadata": {"annotations": {"looked-at": "now"}}}
PORTS: Final = {"scheduler": SCHEDULER_PORT, "agent": AGENT_PORT}
END_OF_CERTIFICATE: Final = "-----END CERTIFICATE-----\n"


class Certificate:
    """A certificate for `HOST` and its key; verified by itself alone."""

    def __init__(self) -> None:
        pem = self_signed_pem((HOST,)).decode()
        self.text, end, self._key = pem.partition(END_OF_CERTIFICATE)
        self.text += end

    def data(self) -> dict[str, str]:
        """Give what a Secret of the type ``kubernetes.io/tls`` has."""
        texts = {"tls.crt": self.text, "tls.key": self._key}
        return {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}


@pytest.fixture
def release(cluster: KindCluster) -> Iterator[str]:
    with second_release(cluster, "rotating") as name:
        yield name


def pods_of(cluster: KindCluster, release: str) -> list[Object]:
    selector = f"app.kubernetes.io/instance={release}"
    return cluster.api.items(f"/api/v1/namespaces/{release}/pods", labelSelector=selector)


def serves(cluster: KindCluster, pod: Object, certificate: Certificate) -> bool:
    """Whether a Pod proves to be the host by this very certificate."""
    port = PORTS[pod["metadata"]["labels"]["app.kubernetes.io/component"]]
    # curl takes the certificate from a file.
    script = 'cat > /tmp/"$0".pem && exec curl --silent --fail --cacert /tmp/"$0".pem "$@"'
    there = f"{HOST}:{port}:{pod['status']['podIP']}"
    asked = ("--resolve", there, "--max-time", "10", f"https://{HOST}:{port}/livez")
    name, node = pod["metadata"]["name"], cluster.control_plane
    try:
        cluster.on_node(node, "sh", "-euc", script, name, *asked, given=certificate.text)
    except DeployError:
        return False
    return True


def processes(pods: list[Object]) -> dict[str, tuple[str, int]]:
    """Give which containers run: another id is another process."""
    return {
        pod["metadata"]["name"]: (status["containerID"], status["restartCount"])
        for pod in pods
        for status in pod["status"]["containerStatuses"]
    }


def test_certificate_of_a_secret_is_taken_up_without_a_restart(
    cluster: KindCluster, release: str
) -> None:
    first, second = Certificate(), Certificate()
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": release}})
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": SECRET, "namespace": release},
        "data": first.data(),
    }
    cluster.api.create(secret)
    settings = (f"{component}.tls.existingSecret={SECRET}" for component in PORTS)
    install(cluster, release, *settings)
    pods = pods_of(cluster, release)
    assert len(pods) == 2 + 3  # schedulers, and an agent on each node
    before = processes(pods)
    assert [pod for pod in pods if not serves(cluster, pod, first)] == []
    assert [pod for pod in pods if serves(cluster, pod, second)] == []

    cluster.api.patch(f"/api/v1/namespaces/{release}/secrets/{SECRET}", {"data": second.data()})
    for pod in pods:
        cluster.api.patch(f"/api/v1/namespaces/{release}/pods/{pod['metadata']['name']}", LOOK_NOW)
    wait_for(
        "all serve the new certificate",
        lambda: all(serves(cluster, pod, second) for pod in pods),
        timeout_seconds=TAKEN_UP_SECONDS,
    )
    assert [pod for pod in pods if serves(cluster, pod, first)] == []
    assert processes(pods_of(cluster, release)) == before
