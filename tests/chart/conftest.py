"""The programs that check the chart, and a control plane to install it into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from deploy.controlplane import ControlPlane, DeployError, Reporter, obtain_binaries
from tests.chart.cluster import add_kinds
from tests.chart.rendering import Helm

# By the fixtures that give them.
_PROGRAMS: Final = {
    "helm_program": "helm",
    "helm_docs": "helm-docs",
    "kubeconform": "kubeconform",
    "kubectl": "kubectl",
    "untt": "untt",
}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Have what the chosen tests need; minutes where it has to be built, so in no test's time."""
    if session.config.option.collectonly:
        return
    functions = [item for item in session.items if isinstance(item, pytest.Function)]
    fixtures = {name for function in functions for name in function.fixturenames}
    for name in sorted({_PROGRAMS[fixture] for fixture in fixtures & _PROGRAMS.keys()}):
        with suppress(DeployError):  # said by the tests that need it
            obtain_binaries([name], reporter=Reporter(), tells_found=False)


def program(name: str) -> Path:
    """Give where a program is."""
    return obtain_binaries([name], reporter=Reporter(), tells_found=False)[name].path


@pytest.fixture(scope="session")
def helm_program() -> Path:
    return program("helm")


@pytest.fixture(scope="session")
def helm(helm_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give helm, which knows no cluster."""
    return Helm(helm_program, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def helm_docs() -> Path:
    return program("helm-docs")


@pytest.fixture(scope="session")
def kubeconform() -> Path:
    return program("kubeconform")


@pytest.fixture(scope="session")
def kubectl() -> Path:
    return program("kubectl")


@pytest.fixture(scope="session")
def untt() -> Path:
    """Give helm-unittest, which is a program of its own as well as helm's plugin."""
    return program("untt")


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a real API server, which knows the kinds of Prometheus' operator and cert-manager, too.

    What is installed here is in nobody's way.
    """
    state_dir = tmp_path_factory.mktemp("chart-control-plane") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        add_kinds(running)
        yield running


@pytest.fixture(scope="session")
def cluster_helm(
    helm_program: Path, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Helm:
    """Give helm, which installs as the administrator."""
    home = tmp_path_factory.mktemp("helm-in-cluster")
    return Helm(helm_program, home, control_plane.kubeconfig_path)
