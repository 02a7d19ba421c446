"""A control plane, a link that can be broken, and a scheduler behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.scheduler_faults.cluster import Cluster
from tests.integration.scheduler_faults.link import Link
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_faults.server import Server
from tests.integration.scheduler_faults.stage import Stage, start_scheduler
from tests.integration.scheduler_process import SchedulerProcess


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own: these tests stop it, freeze it, and count what it has."""
    state_dir = tmp_path_factory.mktemp("scheduler-faults") / "state"
    with ControlPlane(state_dir, with_controller_manager=False, reporter=Reporter()) as running:
        yield running


@pytest.fixture(scope="package")
def loop() -> Iterator[LoopThread]:
    """Give the loop that proxies and clients run in."""
    with LoopThread() as running:
        yield running


@pytest.fixture(scope="package")
def server(loop: LoopThread, plane: ControlPlane) -> Iterator[Server]:
    """Give the API server, without a proxy."""
    with Server(loop, str(plane.kubeconfig_path)) as connected:
        yield connected


@pytest.fixture
def cluster(server: Server) -> Iterator[Cluster]:
    """Give a namespace with Nodes of its own, empty."""
    with Cluster.create(server) as made:
        yield made


@pytest.fixture(scope="module")
def link(
    loop: LoopThread, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Link]:
    """Give the way of the module's scheduler to the API server."""
    with Link(loop, plane, tmp_path_factory.mktemp("link")) as made:
        yield made


@pytest.fixture(scope="module")
def process(link: Link, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchedulerProcess]:
    """Give the module's scheduler, which all its tests share."""
    log_path = tmp_path_factory.mktemp("scheduler") / "log"
    with start_scheduler(link, log_path, "--leader-elect=false", "--bind-timeout=2s") as running:
        running.wait_line("Leading:")
        yield running


@pytest.fixture
def stage(cluster: Cluster, link: Link, process: SchedulerProcess) -> Iterator[Stage]:
    """Give an empty cluster with a scheduler, and a link without faults."""
    made = Stage(cluster, link, process)
    yield made
    link.clear()
    made.print_log()
