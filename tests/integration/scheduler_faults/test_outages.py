"""Replicas that die, are cut off or are given another login; an API server that goes away."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane
from tests.faultproxy import Delay, HalfOpen, Match
from tests.integration.rest import wait_for
from tests.integration.scheduler_faults.cluster import Cluster
from tests.integration.scheduler_faults.link import BINDING, Link
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_faults.replicas import Replica, cpu_share
from tests.integration.scheduler_faults.stage import check_cluster, start_scheduler
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

LEASE_SECONDS = 15.0
RENEW_DEADLINE_SECONDS = 10.0
TAKEOVER_SECONDS = 17.0
HANDOVER_SECONDS = 3.0
SHORT_LEASE_SECONDS = 9.0
SHORT_TIMES = (
    *("--leader-elect-lease-duration=9s", "--leader-elect-renew-deadline=6s"),
    "--leader-elect-retry-period=1200ms",
)
"""In the ratios of the defaults, 15 s, 10 s and 2 s."""
FREEZE_SECONDS = 30.0
RBAC = "rbac.authorization.k8s.io"

StartReplica = Callable[..., Replica]


@pytest.fixture
def start_replica(
    cluster: Cluster, loop: LoopThread, plane: ControlPlane, tmp_path: Path
) -> Iterator[StartReplica]:
    """Start replicas that end with the test."""
    with ExitStack() as stack:

        def start(name: str, *flags: str) -> Replica:
            return stack.enter_context(Replica.start(cluster, loop, plane, tmp_path / name, *flags))

        yield start


def test_standby_takes_over_from_a_leader_that_dies(
    cluster: Cluster, start_replica: StartReplica
) -> None:
    """After SIGKILL once the Lease has run out, after SIGTERM at once: it is given back."""
    cluster.create_nodes("a")
    first = start_replica("first")
    first.wait_leading()
    second = start_replica("second")
    second.wait_standing_by()
    cluster.create_pods(["before"])
    cluster.wait_bound()
    first.process.send_signal(signal.SIGKILL)
    cluster.create_pods(["after-kill"])
    third = start_replica("third")
    third.wait_standing_by()
    cluster.wait_bound()
    taken_after_seconds = second.bindings()[0].at - first.renewals()[-1]
    assert LEASE_SECONDS <= taken_after_seconds <= TAKEOVER_SECONDS

    asked = time.monotonic()
    second.process.send_signal(signal.SIGTERM)
    cluster.create_pods(["after-end"])
    cluster.wait_bound()
    assert third.bindings()[0].at - asked <= HANDOVER_SECONDS
    assert second.process.wait_exit() == 0
    check_cluster(cluster, first.bindings() + second.bindings() + third.bindings())
    assert [len(replica.bindings()) for replica in (first, second, third)] == [1, 1, 1]


@pytest.mark.parametrize("cut", ["requests", "everything"])
def test_leader_that_is_cut_off_stops_before_another_begins(
    cluster: Cluster, start_replica: StartReplica, cut: str
) -> None:
    """Pods keep coming; where only requests get lost, its watch still tells it of them."""
    cluster.create_nodes("a", "b")
    first = start_replica("first", *SHORT_TIMES)
    first.wait_leading()
    second = start_replica("second", *SHORT_TIMES)
    second.wait_standing_by()
    cluster.create_pods([f"before-{n}" for n in range(10)])
    cluster.wait_bound()
    if cut == "requests":
        first.link.add(HalfOpen(match=Match(watch=False)))
    else:
        first.link.freeze()
    create_pods_until_bound_by(second, cluster)
    assert first.process.wait_exit() == 1
    cluster.wait_bound()

    assert first.bindings()[-1].at < first.renewals()[-1] + SHORT_LEASE_SECONDS
    assert first.bindings()[-1].at < second.bindings()[0].at
    check_cluster(cluster, first.bindings() + second.bindings())


def test_leader_that_was_paused_binds_nothing_when_it_goes_on(
    cluster: Cluster, start_replica: StartReplica
) -> None:
    """It has decided many Pods, but its Lease has run out, which only its clock can tell it."""
    cluster.create_nodes("a", "b")
    first = start_replica("first", "--bind-concurrency=32", *SHORT_TIMES)
    first.wait_leading()
    second = start_replica("second", *SHORT_TIMES)
    second.wait_standing_by()
    # It is paused while it waits for answers: then no Binding is just about to be sent.
    delay = first.link.add(Delay(match=BINDING, seconds=2.0))
    cluster.create_pods([f"p-{n}" for n in range(100)])
    first.link.wait_hits(delay, 32)
    first.process.send_signal(signal.SIGSTOP)
    cluster.wait_bound()
    first.process.send_signal(signal.SIGCONT)
    cluster.create_pods([f"after-{n}" for n in range(10)])
    assert first.process.wait_exit() == 1
    cluster.wait_bound()
    assert len(first.bindings()) == 32
    check_cluster(cluster, first.bindings() + second.bindings())


def create_pods_until_bound_by(replica: Replica, cluster: Cluster) -> None:
    """Let Pods come all the time, until a replica that stood by has bound some."""
    numbers = count()

    def is_binding() -> bool:
        cluster.create_pods([f"meanwhile-{next(numbers)}"])
        return len(replica.bindings()) > 10

    wait_for("the standby binds", is_binding)


@pytest.mark.timeout(180)
def test_api_server_is_frozen(
    cluster: Cluster,
    start_replica: StartReplica,
    plane: ControlPlane,
) -> None:
    """The leader ends before its Lease could be taken; the others wait, say so, and go on."""
    cluster.create_nodes(*"abcde", pods="80")
    leader = start_replica("leader")
    leader.wait_leading()
    standby = start_replica("standby")
    apart = start_replica("apart", "--leader-elect=false", "--scheduler-name=apart")
    standby.wait_standing_by()
    apart.wait_leading()
    leader.link.add(Delay(match=BINDING, seconds=0.3))
    cluster.create_pods([f"p-{n}" for n in range(390)])
    assert cluster.pending_names()
    begun = time.monotonic()
    plane.freeze("kube-apiserver")
    try:
        assert leader.process.wait_exit() == 1
        assert time.monotonic() < leader.renewals()[-1] + LEASE_SECONDS
        last_binding = leader.bindings()[-1].at
        assert last_binding < leader.renewals()[-1] + RENEW_DEADLINE_SECONDS + 1
        shares = cpu_share([standby.process, apart.process], seconds=12)
        assert max(shares) <= 0.02
        wait_for(
            "it is not ready",
            lambda: "[-]watch-lease failed" in standby.process.get("/readyz?verbose")[1],
        )
        assert standby.process.get("/livez") == (200, "ok")
        time.sleep(max(begun + FREEZE_SECONDS - time.monotonic(), 0))
    finally:
        plane.thaw("kube-apiserver")
    cluster.create_pods([f"apart-{n}" for n in range(10)], schedulerName="apart")
    cluster.wait_bound()
    assert standby.bindings()
    wait_for("it is ready again", lambda: standby.process.get("/readyz")[0] == 200)
    assert apart.process.get("/readyz")[0] == 200
    check_cluster(cluster, leader.bindings() + standby.bindings() + apart.bindings())


def test_api_server_dies_and_comes_back(
    cluster: Cluster, start_replica: StartReplica, plane: ControlPlane
) -> None:
    """In the middle of a burst: of what was under way, nobody knows what was done."""
    cluster.create_nodes(*"abcde", pods="60")
    replica = start_replica("only", "--leader-elect=false")
    replica.wait_leading()
    delay = replica.link.add(Delay(match=BINDING, seconds=0.2))
    cluster.create_pods([f"p-{n}" for n in range(300)])
    replica.link.wait_hits(delay, 40)
    plane.stop_component("kube-apiserver", force=True)
    replica.link.refuse()
    try:
        replica.process.wait_line("List or watch failed")
        replica.link.clear()
        # It does not spin. 260 Pods are tried again meanwhile, each after its backoff: 2 to 3 %.
        assert max(cpu_share([replica.process], seconds=10)) <= 0.1
    finally:
        plane.start_component("kube-apiserver")
    wait_for(
        "it is not ready",
        lambda: "[-]watch-pods failed" in replica.process.get("/readyz?verbose")[1],
    )
    replica.link.accept()
    cluster.wait_bound(timeout_seconds=60)
    # Each view asks again by itself, half a minute apart at most.
    wait_for(
        "it is ready again",
        lambda: replica.process.get("/readyz")[0] == 200,
        timeout_seconds=60,
    )
    check_cluster(cluster, replica.bindings())


def test_token_is_replaced_after_it_was_refused(
    cluster: Cluster, loop: LoopThread, plane: ControlPlane, tmp_path: Path
) -> None:
    """The old one ends with its ServiceAccount, before the new one is there."""
    cluster.create_nodes("a")
    token_path = tmp_path / "token"
    token_path.write_text(make_administrator(cluster, "old"))
    new_token = make_administrator(cluster, "new")
    with Link(loop, plane, tmp_path) as link:
        kubeconfig = json.loads(link.kubeconfig_path.read_text())
        kubeconfig["users"][0]["user"] = {"tokenFile": str(token_path)}
        link.kubeconfig_path.write_text(json.dumps(kubeconfig))
        with start_scheduler(link, tmp_path / "log", "--leader-elect=false") as process:
            process.wait_line("Leading:")
            cluster.create_pods(["before"])
            cluster.wait_bound()
            cluster.server.send("DELETE", service_account_path(cluster, "old"), {})
            numbers = count()

            def is_refused() -> bool:
                cluster.create_pods([f"meanwhile-{next(numbers)}"])
                return any(request.status == 401 for request in link.requests(BINDING))

            wait_for("the old token is refused", is_refused)
            token_path.write_text(new_token)
            cluster.wait_bound()
            check_cluster(cluster, link.requests(BINDING))


def service_account_path(cluster: Cluster, name: str) -> str:
    return f"/api/v1/namespaces/{cluster.name}/serviceaccounts/{name}"


def make_administrator(cluster: Cluster, name: str) -> str:
    """Make a ServiceAccount that may do everything; give a token of it."""
    path = service_account_path(cluster, name)
    cluster.server.send("POST", path.rpartition("/")[0], {"metadata": {"name": name}})
    subject = {"kind": "ServiceAccount", "namespace": cluster.name, "name": name}
    grant_everything(cluster, f"{cluster.name}-{name}", subject)
    token: str = cluster.server.send("POST", f"{path}/token", {"spec": {}})["status"]["token"]
    return token


def grant_everything(cluster: Cluster, name: str, subject: dict[str, str]) -> None:
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    cluster.server.send("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)


def test_client_certificate_is_replaced(
    cluster: Cluster, plane: ControlPlane, tmp_path: Path
) -> None:
    """Whom the old one names may do nothing any more once the new one is there."""
    cluster.create_nodes("a")
    for user in ("first", "second"):
        subject = {"apiGroup": RBAC, "kind": "User", "name": f"{user}.{cluster.name}"}
        grant_everything(cluster, f"{cluster.name}-{user}", subject)
    kubeconfig = tmp_path / "kubeconfig"
    plane.write_client_kubeconfig(kubeconfig, user=f"first.{cluster.name}")
    arguments = ("--kubeconfig", str(kubeconfig), "--bind-address", "127.0.0.1")
    with SchedulerProcess(
        tmp_path / "log", *arguments, "--secure-port=0", "--leader-elect=false", "-v2"
    ) as process:
        process.wait_line("Leading:")
        cluster.create_pods(["before"])
        cluster.wait_bound()
        plane.write_client_kubeconfig(kubeconfig, user=f"second.{cluster.name}")
        path = f"/apis/{RBAC}/v1/clusterrolebindings/{cluster.name}-first"
        cluster.server.send("DELETE", path, {})
        numbers = count()

        def is_bound() -> bool:
            """The ones that come first are refused, and wait for the ends of their backoffs."""
            [name] = cluster.create_pods([f"after-{next(numbers)}"])
            process.wait_line(f"pod={cluster.name}/{name} ")
            return cluster.nodes_by_pod()[name] != ""

        wait_for("the new one is used", is_bound)
