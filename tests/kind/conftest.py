"""One cluster for the session, made as `make kind` makes it, and a namespace for each test."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy.kind import commands
from deploy.kind.chart import NAMESPACE
from deploy.kind.layout import KindDirectory
from deploy.programs.binaries import obtain_binaries
from deploy.programs.errors import DeployError
from deploy.programs.private_files import STATE_ROOT
from deploy.programs.reporting import Reporter, SilentReporter
from tests.kind.audit import Audited
from tests.kind.cluster import READER, CommandError, KindCluster
from tests.kind.gathering import gather
from tests.kind.nodes import wait_whole
from tests.kind.pods import path_of_pods
from tests.kind.waiting import wait_for, wait_none

HERE = Path(__file__).parent
VALUES = HERE / "values.yaml"
LOGS = STATE_ROOT / "kind-logs"
PROGRAMS = ("kind", "kubectl", "helm")
WHY_NOT = "needs Docker and minutes: make kind-test"
TEST_TIMEOUT_SECONDS = 300


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out unless they are asked for by ``-m kind``, as `make kind-test` does."""
    is_wanted = config.option.markexpr == "kind"
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker("kind")
        if not is_wanted:
            item.add_marker(pytest.mark.skip(reason=WHY_NOT))
        if item.get_closest_marker("timeout") is None:
            # Not of the first test alone: making the cluster has limits of its own.
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_SECONDS, func_only=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the cluster says."""
    report = yield
    arguments: dict[str, Any] = getattr(item, "funcargs", {})
    cluster = arguments.get("cluster")
    if report.failed and isinstance(cluster, KindCluster):
        report.sections += gather(cluster, arguments.get("namespace"))
    return report


@pytest.fixture(scope="session")
def kind_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Give pytest-kind's own view of a cluster, made from this checkout: image, chart and all.

    In the place of pytest-kind's fixture, which downloads programs and knows one node. A cluster
    that was there before stays; ``--keep-cluster`` keeps one that is made.
    """
    import pytest_kind  # noqa: PLC0415 - half a second, and only these tests need it

    name = request.config.getoption("cluster_name")
    directory = KindDirectory(STATE_ROOT / f"kind-{name}")
    stays = request.config.getoption("keep_cluster") or directory.load() is not None
    options = commands.UpOptions(
        state_dir=directory.path, name=name, values=(VALUES,), builds_image=True
    )
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        reporter = Reporter(Console(highlight=False, soft_wrap=True))
        try:
            commands.up(options, reporter)
        except DeployError as error:
            reporter.end_progress()
            pytest.exit(f"no cluster to test on: {error}", returncode=1)
    programs = obtain_binaries(PROGRAMS, reporter=SilentReporter())
    # It makes a folder where it is called.
    with contextlib.chdir(tmp_path_factory.mktemp("pytest-kind")):
        cluster = pytest_kind.KindCluster(
            name,
            directory.kubeconfig,
            kind_path=programs["kind"].path,
            kubectl_path=programs["kubectl"].path,
        )
        cluster.create()
    yield cluster
    if request.session.testsfailed:
        logs = LOGS / name
        with contextlib.suppress(CommandError):
            KindCluster(name, directory.kubeconfig, {}).run(
                programs["kind"].path, "export", "logs", str(logs), "--name", name
            )
    if not stays:
        commands.down(directory.path, name, SilentReporter())


@pytest.fixture(scope="session")
def cluster(kind_cluster: Any) -> Iterator[KindCluster]:
    """Give the cluster with Berthmaster in it."""
    programs = obtain_binaries(PROGRAMS, reporter=SilentReporter())
    paths = {name: program.path for name, program in programs.items()}
    made = KindCluster(kind_cluster.name, kind_cluster.kubeconfig_path, paths)
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": READER, "namespace": NAMESPACE},
    }
    if made.api.find(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{READER}") is None:
        made.api.create(account)
    wait_for("a scheduler leads", made.leader)
    yield made
    made.api.close()


@pytest.fixture
def namespace(cluster: KindCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a namespace of the test's own; afterwards its Pods are gone from their Nodes."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    name = f"{words[:40].strip('-')}-{secrets.token_hex(2)}"
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}"
    # Without it no Pod is admitted.
    wait_for(
        "the default ServiceAccount", lambda: cluster.api.find(f"{path}/serviceaccounts/default")
    )
    yield name

    def deleted() -> bool:
        cluster.api.delete(path)
        cluster.api.delete(path_of_pods(name), grace_seconds=1)
        return True

    wait_for("the namespace is being deleted", deleted)
    wait_none("Pods of the test", lambda: cluster.api.items(path_of_pods(name)))


@pytest.fixture
def whole(cluster: KindCluster) -> Iterator[None]:
    """Begin with a cluster that is well, and leave it so: for tests that break something."""
    wait_whole(cluster)
    yield
    wait_whole(cluster)


@pytest.fixture
def pods(cluster: KindCluster, namespace: str) -> Audited:
    """Give the test's Pods, none of which may be lost or bound twice."""
    return Audited(cluster, namespace)
