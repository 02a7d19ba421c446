"""The chart's definitions of kinds: installed, left by upgrades, brought up to date by hand."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deploy.controlplane import ControlPlane
from tests.chart.rendering import CHART, ROOT, Helm
from tests.integration.rest import create, read, request, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

RELEASE: Final = ("defining", str(CHART), "--namespace=defined")
NAMES: Final = ("podgroups.scheduling.x-k8s.io", "schedulerprofiles.berthmaster.dev")
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS: Final = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
PROFILES: Final = "/apis/berthmaster.dev/v1alpha1/schedulerprofiles"


def test_there_are_those_that_are_documented() -> None:
    assert tuple(shipped()) == NAMES


def test_files_begin_with_a_separator() -> None:
    """Or `helm show crds` would print one document of them all, of which the last one counts."""
    texts = [path.read_text() for path in (CHART / "crds").iterdir()]
    assert [text[:4] for text in texts] == ["---\n"] * len(NAMES)


def shipped() -> dict[str, Any]:
    """Give the printer columns of the chart's definitions, by name."""
    found = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "crds").iterdir())]
    return {one["metadata"]["name"]: by_name(one) for one in found}


@pytest.fixture
def installing(cluster_helm: Helm) -> Iterator[Helm]:
    """Give helm; uninstall the release in the end."""
    yield cluster_helm
    cluster_helm.run("uninstall", RELEASE[0], RELEASE[2], "--ignore-not-found")


def columns(plane: ControlPlane, name: str) -> Any:
    """Give the printer columns of a definition in the cluster."""
    definition = read(plane, f"{DEFINITIONS}/{name}")
    return by_name(definition)


def by_name(definition: dict[str, Any]) -> dict[str, Any]:
    [version] = definition["spec"]["versions"]
    return {column["name"]: column for column in version["additionalPrinterColumns"]}


def take_a_column(plane: ControlPlane, name: str) -> None:
    """Make a definition one of an older chart."""
    definition = read(plane, f"{DEFINITIONS}/{name}")
    definition["spec"]["versions"][0]["additionalPrinterColumns"].pop()
    status, answer = request(plane, "PUT", f"{DEFINITIONS}/{name}", definition)
    assert status == 200, answer


def documented_command() -> str:
    """Give the one command by which definitions are brought up to date."""
    page = (ROOT / "docs/install.md").read_text()
    [command] = set(re.findall(r"^ {4}(helm show crds .*)$", page, re.MULTILINE))
    assert isinstance(command, str)
    return command


def test_documented_command_brings_definitions_up_to_date(
    installing: Helm,
    helm_program: Path,
    kubectl: Path,
    control_plane: ControlPlane,
    tmp_path: Path,
) -> None:
    installing.run("install", *RELEASE, "--create-namespace")
    for name in NAMES:
        take_a_column(control_plane, name)
    installing.run("upgrade", *RELEASE)
    assert all(columns(control_plane, name) != wanted for name, wanted in shipped().items())
    done = subprocess.run(
        ["/bin/sh", "-euc", documented_command()],
        env={
            "HOME": str(tmp_path),
            "PATH": f"{helm_program.parent}:{kubectl.parent}:/usr/bin:/bin",
            "KUBECONFIG": str(control_plane.kubeconfig_path),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = {name: columns(control_plane, name) for name in NAMES}
    for name, wanted in shipped().items():
        assert found[name] == wanted


def is_served(plane: ControlPlane, path: str) -> bool:
    return request(plane, "GET", path)[0] == 200


def kind_at(path: str) -> dict[str, str]:
    """Give what objects of a collection say of themselves."""
    _, _, group, version, *_ = path.split("/")
    kind = {GROUPS: "PodGroup", PROFILES: "SchedulerProfile"}[path]
    return {"apiVersion": f"{group}/{version}", "kind": kind}


def test_definitions_and_their_objects_outlive_the_release(
    installing: Helm, control_plane: ControlPlane
) -> None:
    installing.run("install", *RELEASE, "--create-namespace")
    for path, spec in ((GROUPS, {"minMember": 2}), (PROFILES, {"schedulerName": "kept"})):
        wait_for(f"{path} is served", partial(is_served, control_plane, path))
        create(control_plane, path, {**kind_at(path), "metadata": {"name": "kept"}, "spec": spec})
    installing.run("uninstall", RELEASE[0], RELEASE[2])
    for path in (GROUPS, PROFILES):
        assert read(control_plane, f"{path}/kept")["metadata"]["name"] == "kept"
        request(control_plane, "DELETE", f"{path}/kept")


def test_other_definition_of_a_kind_is_left_as_it_is(
    installing: Helm, control_plane: ControlPlane
) -> None:
    """As a cluster has it where another project has brought PodGroups."""
    installing.run("install", *RELEASE, "--create-namespace")
    take_a_column(control_plane, NAMES[0])
    before = columns(control_plane, NAMES[0])
    installing.run("uninstall", RELEASE[0], RELEASE[2])
    installing.run("install", *RELEASE)
    assert columns(control_plane, NAMES[0]) == before
