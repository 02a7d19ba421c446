"""The programs that check the chart, and a control plane to install it into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.controlplane import BinaryNotFoundError, ControlPlane, Reporter, obtain_binaries
from tests.chart.rendering import Helm


def program(name: str) -> Path:
    """Give where it is; skip the test if it is not here, since building it takes minutes."""
    try:
        return obtain_binaries([name], kinds=("installed", "cache"), reporter=Reporter())[name].path
    except BinaryNotFoundError:
        pytest.skip(f"needs {name}: python -m deploy.controlplane binaries {name}")


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give helm, which knows no cluster."""
    return Helm(program("helm"), tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def helm_docs() -> Path:
    return program("helm-docs")


@pytest.fixture(scope="session")
def kubeconform() -> Path:
    return program("kubeconform")


@pytest.fixture(scope="session")
def untt() -> Path:
    """Give helm-unittest, which is a program of its own as well as helm's plugin."""
    return program("untt")


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a real API server and controllers; what is installed here is in nobody's way."""
    state_dir = tmp_path_factory.mktemp("chart-control-plane") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        yield running


@pytest.fixture(scope="session")
def cluster_helm(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give helm, which installs as the administrator."""
    home = tmp_path_factory.mktemp("helm-in-cluster")
    return Helm(program("helm"), home, control_plane.kubeconfig_path)
