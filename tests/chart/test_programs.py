"""What the Pods' containers are told is what our programs take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from berthmaster.cli.agent_flags import command as agent_command
from berthmaster.cli.root import cli
from tests.chart.rendering import VARIANTS, Document, Helm, find, values_of

pytestmark = pytest.mark.integration

MOUNTED: Final = "/etc/berthmaster"


def container(workload: Document) -> dict[str, Any]:
    """Give the one container of a workload."""
    [found] = workload["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def mount_config_maps(workload: Document, documents: list[Document], root: Path) -> None:
    """Write the files of the chart's ConfigMaps where the container would find them."""
    paths = {mount["name"]: mount["mountPath"] for mount in container(workload)["volumeMounts"]}
    config_maps = {d["metadata"]["name"]: d for d in documents if d["kind"] == "ConfigMap"}
    for volume in workload["spec"]["template"]["spec"]["volumes"]:
        config_map = config_maps.get(volume.get("configMap", {}).get("name"))
        if config_map is not None:
            folder = root / paths[volume["name"]].lstrip("/")
            folder.mkdir(parents=True)
            for name, text in config_map["data"].items():
                (folder / name).write_text(text)


def arguments_of(component: str, documents: list[Document], root: Path) -> list[str]:
    """Give what a Deployment's container is told, with its files under another root."""
    deployment = find(documents, "Deployment", component=component)
    mount_config_maps(deployment, documents, root)
    told: list[str] = container(deployment)["args"]
    return [text.replace(f"={MOUNTED}", f"={root}{MOUNTED}") for text in told]


def effective_configuration(documents: list[Document], root: Path) -> dict[str, Any]:
    """Ask the scheduler what it makes of its flags and files."""
    arguments = arguments_of("scheduler", documents, root)
    done = CliRunner().invoke(cli, [*arguments, "--write-config-to", "-"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    effective: dict[str, Any] = yaml.safe_load(done.stdout)
    return effective


@pytest.mark.parametrize("variant", VARIANTS)
def test_scheduler_takes_its_flags_and_configuration(
    helm: Helm, variant: str, tmp_path: Path
) -> None:
    documents = helm.documents(values=[values_of(variant)])
    name = find(documents, "Deployment", component="scheduler")["metadata"]["name"]
    told = yaml.safe_load(find(documents, "ConfigMap", name)["data"]["scheduler.yaml"])
    effective = effective_configuration(documents, tmp_path)
    assert told["leaderElection"].items() <= effective["leaderElection"].items()
    assert [profile["schedulerName"] for profile in told["profiles"]] == [
        profile["schedulerName"] for profile in effective["profiles"]
    ]


def test_values_go_before_what_is_filled_in_also_where_they_are_false(
    helm: Helm, tmp_path: Path
) -> None:
    effective = effective_configuration(helm.documents(values=[values_of("minimal")]), tmp_path)
    assert effective["leaderElection"]["leaderElect"] is False


def test_plugin_of_the_values_takes_part_with_its_arguments(helm: Helm, tmp_path: Path) -> None:
    documents = helm.documents(values=[values_of("everything")])
    [profile] = effective_configuration(documents, tmp_path)["profiles"]
    assert "Quota" in [plugin["name"] for plugin in profile["plugins"]["multiPoint"]["enabled"]]
    assert {"name": "Quota", "args": {"limit": 3}} in profile["pluginConfig"]


@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - {"minimal"}))
def test_controller_takes_its_flags_and_the_schedulers_configuration(
    helm: Helm, variant: str, tmp_path: Path
) -> None:
    """It reads them all before it looks for a cluster."""
    documents = helm.documents(values=[values_of(variant)])
    arguments = arguments_of("controller", documents, tmp_path)
    done = CliRunner().invoke(cli, [*arguments, f"--kubeconfig={tmp_path}/no-cluster"])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "no-cluster" in done.stderr
    assert "Usage" not in done.stderr


@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - {"minimal"}))
def test_agent_takes_its_flags(helm: Helm, variant: str) -> None:
    daemon_set = find(helm.documents(values=[values_of(variant)]), "DaemonSet")
    subcommand, *flags = container(daemon_set)["args"]
    assert subcommand == "agent"
    with agent_command.make_context(subcommand, flags, obj=None):
        pass  # it would have refused them


def test_node_and_its_address_come_from_the_pod(helm: Helm) -> None:
    """The agent reads them from the environment by these names."""
    environment = container(find(helm.documents(), "DaemonSet"))["env"]
    assert {v["name"]: v["valueFrom"]["fieldRef"]["fieldPath"] for v in environment} == {
        "NODE_NAME": "spec.nodeName",
        "HOST_IP": "status.hostIP",
    }


def test_test_pod_runs_a_command_that_ends_well(helm: Helm) -> None:
    [found] = find(helm.documents(), "Pod")["spec"]["containers"]
    assert CliRunner().invoke(cli, found["args"]).exit_code == 0
