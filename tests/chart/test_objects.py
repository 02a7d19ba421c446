"""Every object that the chart renders is one that Kubernetes takes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deploy.controlplane import ControlPlane
from tests.chart.cluster import delete
from tests.chart.openapi import LOCATION, write_schemas
from tests.chart.rendering import (
    NAMESPACE,
    VARIANTS,
    Document,
    Helm,
    find,
    values_of,
)
from tests.integration.rest import create, request

pytestmark = pytest.mark.integration

ALL_MONITORING: Final = (
    "--api-versions=monitoring.coreos.com/v1",
    *(
        f"--set=monitoring.{setting}=true"
        for setting in (
            "annotations.enabled",
            "dashboards.enabled",
            "podMonitor.enabled",
            "prometheusRule.enabled",
            "serviceMonitor.enabled",
            "serviceMonitor.resourceMetrics",
        )
    ),
)


@pytest.fixture(scope="module")
def namespaces(control_plane: ControlPlane) -> None:
    """Make the namespace that is installed into."""
    create(control_plane, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})


def all_objects(helm: Helm, variant: str) -> list[Document]:
    return helm.documents(*ALL_MONITORING, values=[values_of(variant)])


def run_on(arguments: Sequence[str], documents: list[Document]) -> subprocess.CompletedProcess[str]:
    text = yaml.safe_dump_all(documents)
    return subprocess.run(
        arguments, input=text, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_schemas_hold(
    helm: Helm, kubeconform: Path, control_plane: ControlPlane, variant: str, tmp_path: Path
) -> None:
    documents = all_objects(helm, variant)
    write_schemas(control_plane, documents, tmp_path)
    command = [str(kubeconform), "-strict", f"-schema-location={tmp_path}/{LOCATION}"]
    done = run_on([*command, "-summary", "-output=json"], documents)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["summary"]["valid"] == len(documents)


def test_schemas_refuse_fields_that_are_unknown(
    helm: Helm, kubeconform: Path, control_plane: ControlPlane, tmp_path: Path
) -> None:
    deployment = find(helm.documents(), "Deployment", component="scheduler")
    deployment["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    write_schemas(control_plane, [deployment], tmp_path)
    command = [str(kubeconform), "-strict", f"-schema-location={tmp_path}/{LOCATION}"]
    done = run_on(command, [deployment])
    assert done.returncode == 1
    assert "imagePolicy" in done.stdout


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.usefixtures("namespaces")
def test_api_server_takes_every_object(
    helm: Helm, kubectl: Path, control_plane: ControlPlane, variant: str
) -> None:
    documents = all_objects(helm, variant)
    command = [
        str(kubectl),
        f"--kubeconfig={control_plane.kubeconfig_path}",
        "apply",
        "--filename=-",
        "--dry-run=server",
        "--validate=strict",
    ]
    done = run_on(command, documents)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # nor does it warn
    assert len(done.stdout.splitlines()) == len(documents)


@pytest.fixture(scope="module")
def restricted(control_plane: ControlPlane) -> str:
    """Give a namespace that takes Pods of the restricted standard only."""
    name = "restricted"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": name, "labels": labels}
    create(control_plane, "/api/v1/namespaces", {"metadata": metadata})
    return name


class TestPodSecurity:
    """The API server's own admission judges the Pods."""

    @staticmethod
    def admit(plane: ControlPlane, namespace: str, pod: dict[str, Any]) -> tuple[int, str]:
        """Ask for a Pod without making it."""
        path = f"/api/v1/namespaces/{namespace}"
        account = pod["spec"].setdefault("serviceAccountName", "default")
        request(plane, "POST", f"{path}/serviceaccounts", {"metadata": {"name": account}})
        body = {"metadata": {"generateName": "try-"}, "spec": pod["spec"]}
        status, answer = request(plane, "POST", f"{path}/pods?dryRun=All", body)
        delete(plane, f"{path}/serviceaccounts/{account}")  # other tests look for what stays
        return status, answer.get("message", "")

    @pytest.mark.parametrize(
        ("kind", "component"),
        [("Deployment", "scheduler"), ("Deployment", "controller"), ("DaemonSet", "agent")],
    )
    @pytest.mark.parametrize("variant", ["default", "own-objects"])
    def test_pods_are_restricted(
        self,
        helm: Helm,
        control_plane: ControlPlane,
        restricted: str,
        kind: str,
        component: str,
        variant: str,
    ) -> None:
        documents = helm.documents(values=[values_of(variant)])
        pod = find(documents, kind, component=component)["spec"]["template"]
        assert self.admit(control_plane, restricted, pod) == (201, "")

    def test_so_is_that_of_helm_test(
        self, helm: Helm, control_plane: ControlPlane, restricted: str
    ) -> None:
        pod = find(helm.documents(), "Pod")
        assert self.admit(control_plane, restricted, pod) == (201, "")

    @pytest.mark.parametrize("mode", ["staticPods", "podFolders"])
    def test_agents_that_read_the_host_are_not_and_say_why(
        self, helm: Helm, control_plane: ControlPlane, restricted: str, mode: str
    ) -> None:
        daemon_set = find(helm.documents(f"--set=agent.{mode}.enabled=true"), "DaemonSet")
        pod = daemon_set["spec"]["template"]
        status, message = self.admit(control_plane, restricted, pod)
        assert status == 403
        reasons = ["restricted volume types", "runAsNonRoot != true", "runAsUser=0"]
        assert [reason for reason in reasons if reason not in message] == []
        assert "capabilities" not in message
        mounts = pod["spec"]["containers"][0]["volumeMounts"]
        of_host = {v["name"] for v in pod["spec"]["volumes"] if "hostPath" in v}
        assert {m["name"] for m in mounts if m.get("readOnly")} >= of_host != set()
