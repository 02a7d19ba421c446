"""A control plane that notes every call, and the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create
from tests.integration.rights.case import HIGH
from tests.integration.rights.kinds import BUILT_IN_GROUPS, define_kinds
from tests.integration.rights.roles import Right, create_account
from tests.integration.scheduler_faults.loop_thread import LoopThread

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@pytest.fixture(scope="package")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Name the file that the API server notes all calls in."""
    return tmp_path_factory.mktemp("audit") / "log"


@pytest.fixture(scope="package")
def plane(audit_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own, whose API server notes all calls."""
    policy = audit_log.with_name("policy.yaml")
    policy.write_text(yaml.safe_dump(_POLICY))
    arguments = (
        *(f"--audit-policy-file={policy}", f"--audit-log-path={audit_log}"),
        # Kubernetes' own PodGroups.
        *("--feature-gates=GenericWorkload=true", f"--runtime-config={BUILT_IN_GROUPS}=true"),
    )
    state_dir = tmp_path_factory.mktemp("rights") / "state"
    with ControlPlane(state_dir, apiserver_args=arguments, reporter=Reporter()) as running:
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        create(running, classes, {"metadata": {"name": HIGH}, "value": 1000})
        define_kinds(running)
        yield running


@pytest.fixture(scope="package")
def loop() -> Iterator[LoopThread]:
    """Give the loop that proxies and stand-ins run in."""
    with LoopThread() as running:
        yield running


@pytest.fixture(scope="package")
def reader(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a token of somebody who may read metrics, and nothing else."""
    rights = [Right("get", path="/metrics"), Right("get", resource="nodes")]
    return create_account(plane, tmp_path_factory.mktemp("reader"), "reader", rights).token
