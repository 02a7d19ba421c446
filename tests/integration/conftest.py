"""The real API server that integration tests talk to, one a test session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.controlplane import ControlPlane, Reporter


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give etcd, kube-apiserver and kube-controller-manager, without kwok.

    Nodes have no heartbeats and are not tainted for it; Pods stay Pending once bound.
    """
    state_dir = tmp_path_factory.mktemp("control-plane") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        yield running


@pytest.fixture(scope="session")
def control_plane_with_kwok(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a second control plane, whose kwok keeps annotated Nodes Ready and runs their Pods."""
    state_dir = tmp_path_factory.mktemp("control-plane-kwok") / "state"
    with ControlPlane(state_dir, with_kwok=True, reporter=Reporter()) as running:
        yield running
