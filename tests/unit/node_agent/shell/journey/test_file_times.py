"""Birth times come from the disk, or from nowhere."""

import os
import time
from pathlib import Path

import pytest

from node_agent.core.journey.journey import FileTimes, PodIdentity, identify
from node_agent.shell.journey import file_times
from node_agent.shell.journey.file_times import DirectoryTimes, birth_nanoseconds
from tests.unit.node_agent.core.pods import make_pod


@pytest.fixture
def identity() -> PodIdentity:
    spec = {"containers": [{"name": "c"}, {"name": "d"}]}
    return identify(make_pod("a", spec=spec), "api")


def sees_logs(times: DirectoryTimes) -> bool:
    return times.sees_logs


@pytest.fixture
def births(tmp_path: Path) -> None:
    if birth_nanoseconds(tmp_path) is None:
        pytest.skip("this file system keeps no birth times")


@pytest.mark.usefixtures("births")
def test_a_birth_is_not_changed_by_what_comes_after(tmp_path: Path) -> None:
    before = time.time_ns()
    made = tmp_path / "made"
    made.mkdir()
    after = time.time_ns()
    born = birth_nanoseconds(made)
    (made / "entry").mkdir()
    os.utime(made, ns=(0, 0))
    assert born is not None
    # The kernel stamps files with the time of its last tick, up to 10 ms ago.
    assert before - 20_000_000 <= born <= after
    assert birth_nanoseconds(made) == born


@pytest.mark.usefixtures("births")
def test_the_directories_of_a_pod(tmp_path: Path, identity: PodIdentity) -> None:
    pods, logs = tmp_path / "pods", tmp_path / "logs"
    data = pods / "uid-a"
    log = logs / "default_a_uid-a"
    times = DirectoryTimes(str(pods), str(logs))
    assert times.read(identity, "uid-a") == FileTimes()
    assert sees_logs(times) is False
    data.mkdir(parents=True)
    assert times.read(identity, "uid-a") == FileTimes(birth_nanoseconds(data))
    (log / "c").mkdir(parents=True)
    read = times.read(identity, "uid-a")
    assert read == FileTimes(
        birth_nanoseconds(data), birth_nanoseconds(log), {"c": birth_nanoseconds(log / "c") or 0}
    )
    assert read.container_logs["c"] > 0
    assert sees_logs(times) is True
    assert DirectoryTimes("", "").read(identity, "uid-a") == FileTimes()


def test_what_is_not_there_has_no_time(tmp_path: Path) -> None:
    assert birth_nanoseconds(tmp_path / "nothing") is None


def test_a_c_library_without_statx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_times, "_statx", lambda: None)
    assert birth_nanoseconds(tmp_path) is None
