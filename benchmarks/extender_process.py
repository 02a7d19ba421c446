"""The extender of a shape as a process beside the control plane, and what schedulers are told."""

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.errors import BenchmarkError
from benchmarks.scheduler_process import running
from benchmarks.workloads import ShapeExtender
from deploy.controlplane import ControlPlane

_START_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05


class RunningExtender(msgspec.Struct, frozen=True):
    """One that serves: its process, and its entry in `extenders` of the configuration."""

    pid: int
    entry: dict[str, Any]


class _Server:
    """Runs `extender_server`."""

    name = "extender"
    scheduler_name = ""

    def command(self, plane: ControlPlane) -> Sequence[str | Path]:
        """Give its command line."""
        return (sys.executable, "-m", "benchmarks.extender_server")


@contextlib.contextmanager
def running_extender(
    extender: ShapeExtender | None, plane: ControlPlane
) -> Iterator[RunningExtender | None]:
    """Run the extender of a shape during the block, if it has one."""
    if extender is None:
        yield None
        return
    with running(_Server(), plane) as process:
        log = plane.directory.log(_Server.name)
        deadline_seconds = time.monotonic() + _START_SECONDS
        while not log.read_text().endswith("\n"):
            process.check_alive()
            if time.monotonic() > deadline_seconds:
                raise BenchmarkError("the extender does not say where it serves")
            time.sleep(_POLL_SECONDS)
        entry = {"urlPrefix": f"http://127.0.0.1:{int(log.read_text())}"}
        yield RunningExtender(process.pid, entry | msgspec.to_builtins(extender))
