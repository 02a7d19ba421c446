"""The demonstration, as users start it: what it says, how it ends, and that nothing stays."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.demo.replicas import PROJECT
from deploy.programs import processes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

END_SECONDS = 150.0


def start(state_dir: Path, output: Path, *arguments: str) -> subprocess.Popen[bytes]:
    # Whoever started this process may have had it ignore SIGINT, which its children would inherit.
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with output.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "deploy.demo", f"--state-dir={state_dir}", *arguments],
                cwd=PROJECT,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
    finally:
        signal.signal(signal.SIGINT, former)


def wait_for_text(
    process: subprocess.Popen[bytes], output: Path, text: str, *, deadline_seconds: float = 90.0
) -> None:
    end = time.monotonic() + deadline_seconds
    while text not in output.read_text():
        assert process.poll() is None, f"ended before {text!r}:\n{output.read_text()}"
        assert time.monotonic() < end, f"no {text!r} in time:\n{output.read_text()}"
        time.sleep(0.05)


def assert_nothing_is_left(state_dir: Path) -> None:
    assert processes.find(state_dir) == []
    assert not state_dir.exists()


def test_everything_is_shown_and_nothing_is_left(tmp_path: Path) -> None:
    state_dir, output = tmp_path / "state", tmp_path / "output"
    process = start(state_dir, output, "--nodes=30", "--pods=150")
    code = process.wait(END_SECONDS)
    text = output.read_text()

    assert code == 0, text
    assert text.count("\n  ok   ") == 8
    assert "FAIL" not in text
    assert re.search(r"^ +148 +Running$", text, re.MULTILINE)
    assert re.search(r"^ +2 +Unschedulable$", text, re.MULTILINE)
    assert re.search(r"scheduler-[12] bound a Pod created after that to node-\d{4}", text)
    assert (
        "too-large-0000: 0/30 nodes are available: 1 node(s) were unschedulable, "
        "23 Insufficient cpu, 6 node(s) had untolerated taint(s). no new claims to deallocate, "
        "preemption: 0/30 nodes are available: 30 Preemption is not helpful for scheduling.\n"
    ) in text
    assert 'scheduler_schedule_attempts_total{profile="berthmaster",result="scheduled"} 148' in text
    assert "\x1b" not in text
    assert_nothing_is_left(state_dir)


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGINT, "starting kube-apiserver"),
        (signal.SIGTERM, "starting 2 schedulers"),
        (signal.SIGINT, "creating 80 Pods"),
    ],
)
def test_an_interrupted_one_leaves_nothing(
    tmp_path: Path, number: signal.Signals, moment: str
) -> None:
    state_dir, output = tmp_path / "state", tmp_path / "output"
    process = start(state_dir, output, "--nodes=10", "--pods=80")
    wait_for_text(process, output, moment)
    process.send_signal(number)
    code = process.wait(30)

    assert code == 128 + number, output.read_text()
    assert f"{number.name}: ended; nothing is left running" in output.read_text()
    assert_nothing_is_left(state_dir)


def test_a_scheduler_that_ends_ends_the_demonstration(tmp_path: Path) -> None:
    state_dir, output = tmp_path / "state", tmp_path / "output"
    process = start(state_dir, output, "--nodes=10", "--pods=80")
    wait_for_text(process, output, "schedulers are ready")
    for name in ("scheduler-1", "scheduler-2"):
        for identity in processes.find(state_dir, name):
            processes.send_signal(identity, signal.SIGKILL)
    code = process.wait(60)
    text = output.read_text()

    assert code == 1, text
    assert re.search(
        r"^error: scheduler-[12] ended by itself \(exit code -9\)$", text, re.MULTILINE
    )
    assert "Listed the cluster" in text  # of the last lines of its log
    assert_nothing_is_left(state_dir)


def test_a_kept_one_is_ended_by_the_command_it_names(tmp_path: Path) -> None:
    state_dir, output = tmp_path / "state", tmp_path / "output"
    process = start(state_dir, output, "--nodes=10", "--pods=80", "--no-kill", "--keep")
    try:
        code = process.wait(END_SECONDS)
        text = output.read_text()
        running = {identity.component for identity in processes.find(state_dir)}
        second = start(state_dir, tmp_path / "second", "--nodes=10", "--pods=80")
        second_code = second.wait(30)
    finally:
        down = ["-m", "deploy.controlplane", "down", "--state-dir", str(state_dir)]
        subprocess.run([sys.executable, *down], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)

    assert code == 0, text
    assert f"python -m deploy.controlplane down --state-dir {state_dir}\n" in text
    assert running >= {"kube-apiserver", "kwok", "scheduler-1", "scheduler-2"}
    assert second_code == 1
    assert "runs or was kept in" in (tmp_path / "second").read_text()
    assert_nothing_is_left(state_dir)
