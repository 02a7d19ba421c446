"""The commands ``up``, ``down`` and ``status``: also interrupted, twice, and side by side."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.controlplane import statelock
from deploy.controlplane.components import DEFAULT_PORTS
from deploy.programs import processes
from tests.integration.rest import wait_for

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parents[2]
COMMAND_TIMEOUT_SECONDS = 90
ALL_COMPONENTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kwok"}


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[Path]:
    """Give a state directory, and take down whatever a test leaves there."""
    yield tmp_path / "state"
    processes.terminate_all(tmp_path / "state")


@pytest.fixture(scope="module", autouse=True)
def _programs(control_plane: object) -> None:
    """Have the programs in the cache before: no test here waits for a build."""


def start(command: str, state_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    options = ("--state-dir", str(state_dir), *arguments)
    return subprocess.Popen(
        [sys.executable, "-m", "deploy.controlplane", command, *options],
        cwd=PROJECT,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(command: str, state_dir: Path, *arguments: str) -> tuple[int, str]:
    with start(command, state_dir, *arguments) as process:
        output, _ = process.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
        return process.returncode, output


def running(state_dir: Path) -> dict[str, int]:
    return {process.component: process.pid for process in processes.find(state_dir)}


def test_up_and_down(state_dir: Path) -> None:
    code, output = run("up", state_dir)
    assert code == 0, output
    first = running(state_dir)
    assert set(first) == ALL_COMPONENTS
    assert f"export KUBECONFIG={state_dir}/kubeconfig" in output
    assert f"down --state-dir {state_dir}" in output
    assert "\x1b" not in output

    code, output = run("up", state_dir)
    assert code == 0, output
    assert "already running, and ready" in output
    assert running(state_dir) == first

    code, output = run("status", state_dir)
    assert code == 0, output
    assert len(re.findall(r" ready$", output, re.MULTILINE)) == len(ALL_COMPONENTS)

    (state_dir / "notes.txt").write_text("not made by the control plane")
    code, output = run("down", state_dir)
    assert code == 0, output
    assert running(state_dir) == {}
    assert [path.name for path in state_dir.iterdir()] == ["notes.txt"]


def test_up_restarts_what_died(state_dir: Path) -> None:
    assert run("up", state_dir)[0] == 0
    before = running(state_dir)
    for name in ("kube-apiserver", "kwok"):
        os.kill(before[name], signal.SIGKILL)
    wait_for("both ended", lambda: set(running(state_dir)) == {"etcd", "kube-controller-manager"})
    code, output = run("status", state_dir)
    assert code == 1
    assert re.search(r"kwok +- .* does not run$", output, re.MULTILINE)

    code, output = run("up", state_dir)
    assert code == 0, output
    after = running(state_dir)
    assert set(after) == ALL_COMPONENTS
    kept = ("etcd", "kube-controller-manager")
    assert [after[name] for name in kept] == [before[name] for name in kept]


def test_up_with_other_options_says_so(state_dir: Path) -> None:
    assert run("up", state_dir, "--no-kwok")[0] == 0
    before = running(state_dir)
    assert set(before) == ALL_COMPONENTS - {"kwok"}
    code, output = run("up", state_dir)
    assert code == 1
    assert "take it down first" in output
    assert running(state_dir) == before


def test_two_side_by_side_while_the_default_ports_are_taken(tmp_path: Path) -> None:
    directories = [tmp_path / "one", tmp_path / "two"]
    with ExitStack() as stack:
        for port in DEFAULT_PORTS.values():
            taken = stack.enter_context(socket.socket())
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", port))
                taken.listen()
            except OSError:
                continue  # then somebody else has it, which is as good
        try:
            commands = [stack.enter_context(start("up", path)) for path in directories]
            for command in commands:
                output, _ = command.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
                assert command.returncode == 0, output
            pids = [running(path) for path in directories]
            assert [set(each) for each in pids] == [ALL_COMPONENTS] * 2
            assert run("down", directories[0])[0] == 0
            assert running(directories[0]) == {}
            assert running(directories[1]) == pids[1]
            assert run("status", directories[1])[0] == 0
        finally:
            for path in directories:
                processes.terminate_all(path)


@pytest.mark.parametrize(
    ("started", "number"),
    [
        (0, signal.SIGINT),
        (1, signal.SIGINT),
        (2, signal.SIGINT),
        (4, signal.SIGTERM),
    ],
)
def test_an_interrupted_up_leaves_nothing(
    state_dir: Path, started: int, number: signal.Signals
) -> None:
    with start("up", state_dir) as command:
        wait_for(
            f"{started} processes",
            lambda: has_lock(state_dir) and len(running(state_dir)) >= started,
        )
        command.send_signal(number)
        output, _ = command.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
    assert command.returncode == 128 + number, output
    assert running(state_dir) == {}
    assert not state_dir.exists()


def has_lock(state_dir: Path) -> bool:
    return statelock.StateLock(state_dir / "lock").holder() is not None


@pytest.mark.parametrize("started", [1, 2, 4])
def test_down_ends_what_a_killed_up_has_left(state_dir: Path, started: int) -> None:
    with start("up", state_dir) as command:
        wait_for(f"{started} processes", lambda: len(running(state_dir)) >= started)
        command.kill()
    assert len(running(state_dir)) >= started
    code, output = run("down", state_dir)
    assert code == 0, output
    assert running(state_dir) == {}
    assert not state_dir.exists()


def test_down_ends_an_up_that_is_under_way(state_dir: Path) -> None:
    with start("up", state_dir) as command:
        wait_for("one process", lambda: running(state_dir))
        code, output = run("down", state_dir)
        assert code == 0, output
        command.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
    assert command.returncode == 128 + signal.SIGTERM
    assert running(state_dir) == {}
    assert not state_dir.exists()


def test_down_finds_processes_whose_directory_was_deleted(state_dir: Path) -> None:
    with start("up", state_dir) as command:
        wait_for("one process", lambda: running(state_dir))
        command.kill()

    def is_deleted() -> bool:
        # The process goes on writing files while its directory is being deleted.
        shutil.rmtree(state_dir, ignore_errors=True)
        return not state_dir.exists()

    wait_for("the directory's end", is_deleted)
    assert run("down", state_dir)[0] == 0
    assert running(state_dir) == {}


def test_up_waits_for_another_up(state_dir: Path) -> None:
    with start("up", state_dir) as first:
        wait_for("the first one's lock", lambda: has_lock(state_dir))
        code, output = run("up", state_dir)
        first.communicate(timeout=COMMAND_TIMEOUT_SECONDS)
    assert first.returncode == 0
    assert code == 0, output
    assert f"waiting for process {first.pid} (`up`)" in output
    assert "already running, and ready" in output
    assert set(running(state_dir)) == ALL_COMPONENTS
