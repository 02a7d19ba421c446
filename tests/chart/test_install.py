"""Releases on a real API server: side by side, in their schedulers' hands, gone without a trace."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from berthmaster.cli.explain_flags import command as explain_command
from deploy.controlplane import ControlPlane
from tests.chart.cluster import (
    Key,
    all_objects,
    delete,
    flow_schema_of,
    is_allowed,
    objects_of,
    start_scheduler,
    token_of,
    write_kubeconfig,
)
from tests.chart.rendering import CHART, Document, Helm, HelmError, find
from tests.chart.test_rights import rights
from tests.integration.rest import create, read, request, wait_for

# Three releases are installed within the first test's time.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

PODS: Final = "/api/v1/namespaces/default/pods"
FLOW_SCHEMAS: Final = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
READER: Final = [{"kind": "ServiceAccount", "name": "default", "namespace": "one"}]


@dataclass(frozen=True)
class Release:
    """A release, and what it is installed with."""

    name: str
    namespace: str
    arguments: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """What the names of its objects begin with."""
        return f"{self.name}-berthmaster"

    @property
    def lease_path(self) -> str:
        """Where its Lease is."""
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        return f"{leases}/{self.full_name}"

    @property
    def account(self) -> str:
        """The ServiceAccount of its scheduler."""
        return f"{self.full_name}-scheduler"


# One release has the cluster's controller, another follows its profiles.
NO_CONTROLLER: Final = "--set=controller.enabled=false"
NO_PROFILES: Final = "--set=schedulerProfiles.enabled=false"
BLUE: Final = Release(
    "blue",
    "one",
    (
        NO_PROFILES,
        f"--set-json=rbac.readers.metrics={json.dumps(READER)}",
        "--set=monitoring.serviceMonitor.enabled=true",
        # So that it is soon lost.
        "--set=scheduler.config.leaderElection.leaseDuration=6s",
        "--set=scheduler.config.leaderElection.renewDeadline=4s",
        "--set=scheduler.config.leaderElection.retryPeriod=1s",
    ),
)
GREEN: Final = Release("green", "one", ("--set=rbac.useSystemRoles=true", NO_CONTROLLER))
# Of the first one's name, so that it has to serve another.
OTHER_BLUE: Final = Release(
    "blue", "two", ("--set=scheduler.schedulerName=third", NO_CONTROLLER, NO_PROFILES)
)
# Helm leaves definitions, and the objects that are of them; the API server adds the second.
DEFINED: Final = {
    ("customresourcedefinitions", "", "schedulerprofiles.berthmaster.dev"),
    ("apiservices", "", "v1alpha1.berthmaster.dev"),
}
SERVED: Final = {BLUE: "blue-berthmaster", GREEN: "green-berthmaster", OTHER_BLUE: "third"}


@pytest.fixture(scope="module")
def installed(cluster_helm: Helm, control_plane: ControlPlane) -> Iterator[dict[Release, Any]]:
    """Install all three; give the objects of each."""
    found = {}
    for release in SERVED:
        where = [release.name, str(CHART), f"--namespace={release.namespace}"]
        cluster_helm.run("install", *where, "--create-namespace", *release.arguments)
        found[release] = objects_of(cluster_helm, release.name, release.namespace)
    yield found
    for release in SERVED:
        where = [release.name, f"--namespace={release.namespace}", "--ignore-not-found"]
        cluster_helm.run("uninstall", *where)


def keys(documents: list[Document]) -> set[tuple[str, str, str]]:
    return {
        (d["kind"], d["metadata"].get("namespace", ""), d["metadata"]["name"]) for d in documents
    }


def test_releases_share_no_object(installed: dict[Release, list[Document]]) -> None:
    found = [keys(documents) for documents in installed.values()]
    assert sum(map(len, found)) == len(set().union(*found))


def test_notes_give_commands_that_fit_the_release(
    installed: dict[Release, list[Document]], cluster_helm: Helm
) -> None:
    notes = cluster_helm.run("get", "notes", BLUE.name, f"--namespace={BLUE.namespace}")
    lines = [line.strip() for line in notes.splitlines()]
    programs = ("kubectl ", "berthmaster explain ")
    [wait, patch, explain] = [line for line in lines if line.startswith(programs)]
    deployment = find(installed[BLUE], "Deployment", component="scheduler")["metadata"]["name"]
    assert f"-n one rollout status deployment/{deployment} && helm -n one test blue" in wait
    template = json.loads(shlex.split(patch)[-1])["spec"]["template"]
    assert template["spec"]["schedulerName"] == SERVED[BLUE]
    program, subcommand, *flags = shlex.split(explain)
    assert (program, subcommand) == ("berthmaster", "explain")
    with explain_command.make_context(subcommand, flags) as context:
        assert context.params["lease"] == f"{BLUE.namespace}/{BLUE.full_name}"


def test_two_releases_cannot_serve_one_name(
    installed: dict[Release, list[Document]], cluster_helm: Helm
) -> None:
    message = "schedulerName third is served by release blue in namespace two"
    with pytest.raises(HelmError, match=message):
        cluster_helm.run(
            *("install", "red", str(CHART), "--namespace=one", NO_CONTROLLER, NO_PROFILES),
            "--set=scheduler.schedulerName=third",
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([NO_PROFILES], "the controller of release blue in namespace one serves the whole cluster"),
        ([NO_CONTROLLER], "SchedulerProfiles are followed by release green in namespace one"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_what_serves_the_whole_cluster_is_there_once(
    cluster_helm: Helm, settings: list[str], message: str
) -> None:
    with pytest.raises(HelmError, match=message):
        cluster_helm.run("install", "red", str(CHART), "--namespace=one", *settings)


def node_of(plane: ControlPlane, pod: str) -> str | None:
    node: str | None = read(plane, pod)["spec"].get("nodeName")
    return node


def test_schedulers_lead_by_leases_of_their_own_and_bind_their_own_pods(
    installed: dict[Release, list[Document]], control_plane: ControlPlane, tmp_path: Path
) -> None:
    """With the accounts' tokens, so with the rights of the roles."""
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {"metadata": {"name": "n0"}, "status": {"allocatable": allocatable}}
    create(control_plane, "/api/v1/nodes", node)
    for release in (BLUE, GREEN):
        spec = {"schedulerName": SERVED[release], "containers": [{"name": "c", "image": "x"}]}
        create(control_plane, PODS, {"metadata": {"name": release.name}, "spec": spec})
    for release in (BLUE, GREEN):
        pod = f"{PODS}/{release.name}"
        with start_scheduler(control_plane, installed[release], tmp_path / release.name) as process:
            wait_for(f"{pod} is bound", partial(node_of, control_plane, pod))
            assert read(control_plane, release.lease_path)["spec"]["holderIdentity"]
            status, text = process.get("/readyz?verbose")
            assert (status, "[-]" in text) == (200, False), text
            assert "forbidden" not in process.log()
        delete(control_plane, pod)
    delete(control_plane, "/api/v1/nodes/n0")


def test_metrics_are_for_the_token_that_the_monitor_tells_prometheus_to_show(
    installed: dict[Release, list[Document]], control_plane: ControlPlane, tmp_path: Path
) -> None:
    monitor = find(installed[BLUE], "ServiceMonitor", component="scheduler")
    shown = monitor["spec"]["endpoints"][0]["authorization"]["credentials"]
    secret = f"/api/v1/namespaces/one/secrets/{shown['name']}"
    wait_for("the token is there", lambda: "data" in read(control_plane, secret))
    token = base64.b64decode(read(control_plane, secret)["data"][shown["key"]]).decode()
    other = token_of(control_plane, "two", "default")
    with start_scheduler(control_plane, installed[BLUE], tmp_path / "blue") as process:
        process.wait_line("Serving securely")
        status, text = process.get("/metrics", token=token)
        assert (status, "scheduler_pending_pods" in text) == (200, True)
        assert process.get("/configz", token=token)[0] == 403
        assert process.get("/metrics", token=other)[0] == 403
        assert process.get("/metrics")[0] == 401


def test_readers_of_metrics_may_read_them(
    installed: dict[Release, list[Document]], control_plane: ControlPlane
) -> None:
    path = ("", "", "/metrics", "get")
    assert is_allowed(control_plane, "system:serviceaccount:one:default", path)
    assert not is_allowed(control_plane, "system:serviceaccount:two:default", path)


def test_system_roles_and_what_is_added_have_every_right(
    installed: dict[Release, list[Document]], control_plane: ControlPlane
) -> None:
    """Those that the other release lists: another version of Kubernetes may take some away."""
    role = find(installed[BLUE], "ClusterRole", f"one.{BLUE.full_name}-scheduler")
    user = f"system:serviceaccount:one:{GREEN.account}"
    wanted = rights(role["rules"])
    assert {right for right in wanted if not is_allowed(control_plane, user, right)} == set()


def test_lease_and_other_requests_are_queued_by_their_flow_schemas(
    installed: dict[Release, list[Document]], control_plane: ControlPlane
) -> None:
    for release in SERVED:
        token = token_of(control_plane, release.namespace, release.account)
        names = f"{FLOW_SCHEMAS}/{release.namespace}.{release.full_name}"
        for path, kind in ((release.lease_path, "lease"), ("/api/v1/pods?limit=1", "requests")):
            schema = read(control_plane, f"{names}-{kind}")
            assert flow_schema_of(control_plane, token, path) == schema["metadata"]["uid"]
            dangling = [c for c in schema["status"]["conditions"] if c["type"] == "Dangling"]
            assert [condition["status"] for condition in dangling] == ["False"]


@pytest.mark.usefixtures("installed")
def test_lease_of_the_controller_is_queued_as_the_schedulers(control_plane: ControlPlane) -> None:
    account = f"{BLUE.full_name}-controller"
    token = token_of(control_plane, BLUE.namespace, account)
    schema = read(control_plane, f"{FLOW_SCHEMAS}/{BLUE.namespace}.{BLUE.full_name}-lease")
    path = f"{BLUE.lease_path}-controller"
    assert flow_schema_of(control_plane, token, path) == schema["metadata"]["uid"]
    other = flow_schema_of(control_plane, token, "/api/v1/pods?limit=1")
    assert other != schema["metadata"]["uid"]


def test_upgrade_leaves_the_lease_to_its_holder(
    installed: dict[Release, list[Document]], control_plane: ControlPlane, cluster_helm: Helm
) -> None:
    path = BLUE.lease_path
    lease = read(control_plane, path)
    held = {**lease, "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 1}}
    assert request(control_plane, "PUT", path, held)[0] == 200
    where = [BLUE.name, str(CHART), f"--namespace={BLUE.namespace}"]
    cluster_helm.run("upgrade", *where, *BLUE.arguments, "--set=scheduler.replicas=3")
    assert read(control_plane, path)["spec"] == held["spec"]
    deployment = f"/apis/apps/v1/namespaces/one/deployments/{BLUE.full_name}-scheduler"
    assert read(control_plane, deployment)["spec"]["replicas"] == 3


def test_uninstall_leaves_nothing_but_definitions(
    installed: dict[Release, list[Document]],
    control_plane: ControlPlane,
    cluster_helm: Helm,
    tmp_path: Path,
) -> None:
    """Also while somebody leads, who would make his Lease anew."""

    def ours() -> set[Key]:
        return {key for key in all_objects(control_plane) if "berthmaster" in key[2]}

    assert ours() > DEFINED
    with start_scheduler(control_plane, installed[BLUE], tmp_path / "blue") as process:
        process.wait_line("Leading:")
        for release in SERVED:
            cluster_helm.run("uninstall", release.name, f"--namespace={release.namespace}")
        assert process.wait_exit() == 1  # it cannot renew, and nobody has told it to end
    # The garbage collector stands still for half a minute or so where kinds have been defined.
    with suppress(AssertionError):
        wait_for("all else is gone", lambda: ours() == DEFINED, timeout_seconds=75)
    assert ours() == DEFINED


def test_lease_that_somebody_else_made_is_left_alone(
    control_plane: ControlPlane, cluster_helm: Helm
) -> None:
    create(control_plane, "/api/v1/namespaces", {"metadata": {"name": "three"}})
    leases = "/apis/coordination.k8s.io/v1/namespaces/three/leases"
    create(control_plane, leases, {"metadata": {"name": "berthmaster"}, "spec": {}})
    cluster_helm.run("install", "berthmaster", str(CHART), "--namespace=three")
    cluster_helm.run("upgrade", "berthmaster", str(CHART), "--namespace=three")
    cluster_helm.run("uninstall", "berthmaster", "--namespace=three")
    assert read(control_plane, f"{leases}/berthmaster")


def test_admin_of_a_namespace_installs_where_rights_come_from_elsewhere(
    control_plane: ControlPlane, helm_program: Path, tmp_path: Path
) -> None:
    create(control_plane, "/api/v1/namespaces", {"metadata": {"name": "four"}})
    accounts = "/api/v1/namespaces/four/serviceaccounts"
    create(control_plane, accounts, {"metadata": {"name": "admin"}})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    subject = {"kind": "ServiceAccount", "name": "admin", "namespace": "four"}
    binding = {"metadata": {"name": "admin"}, "roleRef": role, "subjects": [subject]}
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/four/rolebindings"
    create(control_plane, bindings, binding)
    write_kubeconfig(control_plane, token_of(control_plane, "four", "admin"), tmp_path / "login")
    helm = Helm(helm_program, tmp_path, tmp_path / "login")
    settings = ("--skip-crds", "--set=rbac.create=false", "--set=flowSchemas.enabled=false")
    for command in ("install", "upgrade"):
        helm.run(command, "ours", str(CHART), "--namespace=four", *settings)
    deployments = read(control_plane, "/apis/apps/v1/namespaces/four/deployments")["items"]
    assert [found["metadata"]["name"] for found in deployments] == [
        "ours-berthmaster-controller",
        "ours-berthmaster-scheduler",
    ]
    helm.run("uninstall", "ours", "--namespace=four")
