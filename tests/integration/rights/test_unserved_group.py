"""A cluster without devices, whose API server does not know their group."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.controlplane import ControlPlane, Reporter
from scheduler_svc.shell.health import UNSERVED
from tests.integration.rest import create, read, wait_for
from tests.integration.rights.case import NODES, PODS
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

DEVICES = ("deviceclasses", "resourceslices", "resourceclaims")
# Which nobody has defined here.
GROUPS = ("podgroups", "podgroups.scheduling.k8s.io")


def test_pods_are_placed_and_readiness_says_what_is_not_served(tmp_path: Path) -> None:
    # Without the group alone it waits for ResourceSlices for ever; as 1.33 it knows none.
    arguments = ("--emulated-version=1.33", "--runtime-config=resource.k8s.io/v1=false")
    with ControlPlane(
        tmp_path / "state",
        with_controller_manager=False,
        apiserver_args=arguments,
        reporter=Reporter(),
    ) as plane:
        room = {"cpu": "1", "memory": "1Gi", "pods": "9"}
        create(plane, NODES, {"metadata": {"name": "n"}, "status": {"allocatable": room}})
        spec = {"schedulerName": "berthmaster", "containers": [{"name": "c", "image": "x"}]}
        create(plane, PODS, {"metadata": {"name": "p"}, "spec": spec})
        with SchedulerProcess(
            tmp_path / "log",
            *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0"),
            *("--bind-address", "127.0.0.1", "--leader-elect=false"),
        ) as process:
            wait_for("it is bound", lambda: read(plane, f"{PODS}/p")["spec"].get("nodeName"))
            status, text = process.get("/readyz?verbose")
            log = process.log().splitlines()
        assert status == 200, text
        noted = [line for line in text.splitlines() if UNSERVED in line]
        assert noted == [f"[+]watch-{name} ok: {UNSERVED}" for name in (*DEVICES, *GROUPS)]
        [listed] = [line for line in log if "Listed the cluster" in line]
        unserved = listed.rpartition("not_served=")[2].split(",")
        assert sorted(unserved) == sorted((*DEVICES, *GROUPS))
        assert [line for line in log if "resource.k8s.io" in line] == []
        assert [line for line in log if "WARN" in line or "ERROR" in line] == []
