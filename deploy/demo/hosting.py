"""The control plane that a demonstration has for itself: gone at its end, or kept.

One that is to be gone is the library's, and ends with this process, however that ends. One that is
kept is brought up as ``make up`` does it, and outlives this process unless that fails.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path

from deploy.controlplane import ControlPlane, Reporter, commands
from deploy.controlplane.layout import StateDirectory
from deploy.demo.errors import DemoError
from deploy.programs import interrupts, processes


@contextlib.contextmanager
def run_control_plane(state_dir: Path, reporter: Reporter, *, keep: bool) -> Iterator[ControlPlane]:
    """Give a control plane of the demonstration's own, with kwok.

    Raises
    ------
    DemoError
        If one runs there already.
    DeployError
        If it can't be started.
    """
    _make_way(state_dir, reporter)
    if not keep:
        with ControlPlane(state_dir, with_kwok=True, reporter=reporter) as plane:
            yield plane
        return
    commands.up(commands.UpOptions(state_dir=state_dir), reporter)
    plane = ControlPlane(state_dir, with_kwok=True)
    try:
        plane.start(plane.find_binaries)
        yield plane
    except BaseException:
        with interrupts.deferred():
            commands.down(state_dir, reporter)
        raise


def down_command(state_dir: Path) -> str:
    """Write the command that ends what was kept."""
    return f"python -m deploy.controlplane down --state-dir {shlex.quote(str(state_dir))}"


def _make_way(state_dir: Path, reporter: Reporter) -> None:
    """Refuse to disturb what runs; remove what a machine that went down has left."""
    directory = StateDirectory(state_dir)
    if not directory.record.exists():
        return
    if processes.find(directory.path):
        raise DemoError(
            f"a demonstration runs or was kept in {directory.path}; end it first:\n"
            f"  {down_command(state_dir)}"
        )
    commands.down(state_dir, reporter)
