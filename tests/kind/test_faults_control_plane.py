"""The leader deleted, the API server restarted, tokens and certificates rotated."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from deploy.kind.chart import NAMESPACE
from kubeio.certificates import make_self_signed
from tests.integration.scheduler_process import SchedulerProcess
from tests.kind.api import temporary
from tests.kind.audit import Audited, assert_none_flushed
from tests.kind.cluster import CommandError, KindCluster
from tests.kind.objects import pod
from tests.kind.pods import path_of_pods, wait_pod_running
from tests.kind.waiting import wait_for

pytestmark = pytest.mark.usefixtures("whole")

# At once, unless it has been restarted within the last ten minutes, too.
RESTART_SECONDS: Final = 180.0
ACCOUNT: Final = "berthmaster-scheduler"
ROTATING: Final = "rotating"
CERTIFICATE: Final = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
TOKEN_REQUEST: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
UNAUTHORIZED: Final = 'rest_client_requests_total{code="401"'


@pytest.mark.parametrize("grace_seconds", [None, 0], ids=["in good order", "at once"])
def test_another_leads_when_the_leaders_pod_is_deleted(
    cluster: KindCluster, pods: Audited, grace_seconds: int | None
) -> None:
    leader = wait_for("a leader", cluster.leader)
    pods.create("before", 5)
    cluster.api.delete(path_of_pods(NAMESPACE, leader), grace_seconds=grace_seconds)
    pods.create("meanwhile", 10)
    pods.wait_running()
    assert cluster.leader() not in (None, leader)
    pods.check()
    assert_none_flushed(cluster)


def test_restart_of_the_api_server_loses_nothing(cluster: KindCluster, pods: Audited) -> None:
    before = api_server(cluster)
    pods.create("before", 15)
    cluster.on_node(cluster.control_plane, "crictl", "--timeout=30s", "stop", "--timeout=0", before)

    def is_another() -> bool:
        return api_server(cluster) not in ("", before) and is_ready(cluster)

    wait_for("another API server is ready", is_another, timeout_seconds=RESTART_SECONDS)
    pods.create("after", 5)
    pods.wait_running()
    pods.check()
    assert_none_flushed(cluster)


def api_server(cluster: KindCluster) -> str:
    """Give the id of the running container, as the runtime has it."""
    question = ("crictl", "ps", "--name=^kube-apiserver$", "--state=running", "--quiet")
    return cluster.on_node(cluster.control_plane, *question)


def is_ready(cluster: KindCluster) -> bool:
    """Ask whether the API server says so."""
    try:
        return cluster.kubectl("get", "--raw", "/readyz") == "ok"
    except CommandError:
        return False


class Rotating(SchedulerProcess):
    """A scheduler on this machine, as the chart's account, whose files are replaced."""

    def __init__(self, cluster: KindCluster, folder: Path) -> None:
        self._token = folder / "token"
        self._pair = folder / "pair.pem"
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"tokenFile": self._token.name}
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config))
        super().__init__(
            folder / "log",
            *("--kubeconfig", str(kubeconfig), "--leader-elect=false", "-v", "2"),
            *("--scheduler-name", ROTATING, "--authorization", "none"),
            *("--bind-address", "127.0.0.1", "--secure-port", "0"),
            *("--tls-cert-file", str(self._pair), "--tls-private-key-file", str(self._pair)),
        )

    def write_token(self, token: str) -> None:
        """Give it a token in the place of the one before."""
        replace(self._token, token)

    def write_certificate(self) -> str:
        """Give it another certificate to serve with; give that as PEM."""
        pair = make_self_signed(("localhost",)).decode()
        replace(self._pair, pair)
        begin, end = pair.index(CERTIFICATE[0]), pair.index(CERTIFICATE[1])
        return pair[begin : end + len(CERTIFICATE[1])]

    def served_certificate(self) -> str:
        """Give the certificate that a new connection is shown, as PEM."""
        port = int(self.wait_line("Serving securely").rpartition("port=")[2])
        return ssl.get_server_certificate(("127.0.0.1", port), timeout=10).strip()

    def has_been_refused(self) -> bool:
        """Tell whether the API server has not known who it is."""
        status, text = self.get("/metrics")
        assert status == 200, text
        return UNAUTHORIZED in text


def replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, as Secrets and tokens are mounted."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


@pytest.fixture
def revocable(cluster: KindCluster, namespace: str) -> Iterator[tuple[str, str]]:
    """Name two Secrets that tokens can be tied to, and die with."""
    names = (f"{namespace}-first", f"{namespace}-second")
    secrets = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": NAMESPACE},
        }
        for name in names
    ]
    with temporary(cluster.api, *secrets):
        yield names


def tied_token(cluster: KindCluster, secret: str) -> str:
    """Have a token of the schedulers' account for ten minutes, as long as the Secret is there."""
    path = f"/api/v1/namespaces/{NAMESPACE}"
    uid = cluster.api.get(f"{path}/secrets/{secret}")["metadata"]["uid"]
    tied = {"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": uid}
    wanted = {"spec": {"expirationSeconds": 600, "boundObjectRef": tied}}
    status, made = cluster.api.request(
        "POST", f"{path}/serviceaccounts/{ACCOUNT}/token", {**TOKEN_REQUEST, **wanted}
    )
    assert status == 201, made
    return str(made["status"]["token"])


def is_refused(cluster: KindCluster, token: str) -> bool:
    """Ask whether the API server knows a token no more."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    status, told = cluster.api.request(
        "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {**review, "spec": {"token": token}}
    )
    assert status == 201, told
    return not told["status"].get("authenticated", False)


def test_rotated_token_and_certificate_are_taken_up_without_a_restart(
    cluster: KindCluster, namespace: str, revocable: tuple[str, str], tmp_path: Path
) -> None:
    first, second = revocable
    old = tied_token(cluster, first)
    process = Rotating(cluster, tmp_path)
    process.write_token(old)
    certificate = process.write_certificate()
    with process:
        cluster.api.create(pod("with-first", namespace, schedulerName=ROTATING))
        wait_pod_running(cluster, namespace, "with-first")
        assert process.served_certificate() == certificate
        pid = process.pid

        cluster.api.delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/{first}")
        wait_for("the old token is refused", lambda: is_refused(cluster, old))
        # Its watches go on; what it writes is refused.
        cluster.api.create(pod("with-second", namespace, schedulerName=ROTATING))
        wait_for("it has been refused", process.has_been_refused)
        assert "nodeName" not in cluster.api.get(path_of_pods(namespace, "with-second"))["spec"]
        process.write_token(tied_token(cluster, second))
        certificate = process.write_certificate()
        wait_pod_running(cluster, namespace, "with-second")
        wait_for("the new certificate", lambda: process.served_certificate() == certificate)
        assert process.pid == pid
        [event] = wait_for(
            "the Scheduled event",
            lambda: cluster.events_of(namespace, "with-second", reason="Scheduled"),
        )
        assert event["reportingComponent"] == ROTATING
