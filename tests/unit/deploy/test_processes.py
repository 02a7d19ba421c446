"""Which processes are found and signalled: ours, all of them, and no other."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.programs import processes
from deploy.programs.processes import ProcessIdentity

FOREVER = ["sleep", "600"]
IGNORE_SIGTERM = (
    "import signal, sys\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open(sys.argv[1], 'w').close()\n"
    "signal.pause()"
)


class Owner:
    """Starts processes marked with a directory; all are gone when the test ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.children: list[subprocess.Popen[bytes]] = []
        path.mkdir()

    def spawn(self, *command: str, component: str = "sleeper") -> ProcessIdentity:
        child = processes.spawn(
            command or FOREVER,
            owner=self.path,
            component=component,
            log=self.path / "log",
            environment={"PATH": os.environ["PATH"]},
        )
        self.children.append(child)
        identity = processes.identify(child.pid, self.path)
        assert identity is not None
        return identity


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    made = Owner(tmp_path / "owner")
    yield made
    for child in made.children:
        child.kill()
        child.wait()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(FOREVER) as process:
        yield process
        assert process.poll() is None, "a process that isn't ours was ended"
        process.kill()


def wait_for_file(path: Path) -> None:
    deadline_seconds = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline_seconds
        time.sleep(0.005)


def test_marked_processes_are_found(owner: Owner, tmp_path: Path) -> None:
    one, two = owner.spawn(component="one"), owner.spawn(component="two")
    assert set(processes.find(owner.path)) == {one, two}
    assert processes.find(owner.path, "two") == [two]
    assert processes.find(owner.path, but="two") == [one]
    assert processes.find(tmp_path / "another") == []
    # A path that begins alike is another one.
    assert processes.find(Path(f"{owner.path}2")) == []


def test_children_of_marked_processes_are_found_and_ended(owner: Owner) -> None:
    ready = owner.path / "ready"
    owner.spawn("sh", "-c", f"sleep 600 & touch {ready}; wait")
    wait_for_file(ready)
    assert len(processes.find(owner.path)) == 2
    assert processes.terminate_all(owner.path) == 2
    assert processes.find(owner.path) == []


def test_only_the_component_is_ended(owner: Owner, stranger: subprocess.Popen[bytes]) -> None:
    one = owner.spawn(component="one")
    owner.spawn(component="two")
    assert processes.terminate(owner.path, "two") == 1
    assert processes.find(owner.path) == [one]


def test_a_process_that_ignores_sigterm_is_killed(owner: Owner) -> None:
    owner.spawn(sys.executable, "-c", IGNORE_SIGTERM, str(owner.path / "ready"))
    wait_for_file(owner.path / "ready")
    processes.terminate(owner.path, grace_seconds=0.05)
    assert processes.find(owner.path) == []
    assert owner.children[0].wait() == -signal.SIGKILL


def test_a_stopped_process_is_ended_with_sigterm(owner: Owner) -> None:
    identity = owner.spawn()
    processes.send_signal(identity, signal.SIGSTOP)
    processes.terminate(owner.path)
    assert owner.children[0].wait() == -signal.SIGTERM


def test_a_reused_pid_is_not_signalled(stranger: subprocess.Popen[bytes]) -> None:
    started = processes.read_start_ticks(stranger.pid)
    earlier = ProcessIdentity(stranger.pid, started - 1, "kube-apiserver")
    assert processes.send_signal(earlier, signal.SIGKILL) is False
    assert processes.wait_ended([earlier], timeout_seconds=0) is True


def test_a_process_that_is_gone_is_not_signalled(owner: Owner) -> None:
    identity = owner.spawn()
    owner.children[0].kill()
    owner.children[0].wait()
    assert processes.send_signal(identity, signal.SIGTERM) is False
    assert processes.identify(identity.pid, owner.path) is None
    with pytest.raises(ProcessLookupError):
        processes.read_start_ticks(identity.pid)


def test_a_zombie_counts_as_gone(owner: Owner) -> None:
    identity = owner.spawn()
    processes.send_signal(identity, signal.SIGKILL)
    assert processes.wait_ended([identity], timeout_seconds=5)
    assert processes.find(owner.path) == []


def test_waiting_for_a_living_process_ends_in_time(owner: Owner) -> None:
    assert processes.wait_ended([owner.spawn()], timeout_seconds=0.01) is False


def test_a_process_in_another_pid_namespace_is_not_ours(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = owner.spawn()
    monkeypatch.setattr(processes, "_shares_pid_namespace", lambda directory: False)
    assert processes.identify(identity.pid, owner.path) is None


def test_output_goes_to_private_files(owner: Owner) -> None:
    log, output = owner.path / "log", owner.path / "output"
    output.write_text("old")
    output.chmod(0o600)
    child = processes.spawn(
        ["sh", "-c", "echo out; echo error >&2; umask; pwd"],
        owner=owner.path,
        component="shell",
        log=log,
        environment={"PATH": os.environ["PATH"]},
        directory=owner.path.parent,
        output=output,
    )
    child.wait()
    assert output.read_text().splitlines() == ["out", "0077", str(owner.path.parent)]
    assert log.read_text() == "error\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_identity_is_of_pid_and_start(owner: Owner) -> None:
    identity = owner.spawn()
    assert identity.start_ticks == processes.read_start_ticks(identity.pid)
    assert dataclasses.replace(identity, start_ticks=1) != identity
