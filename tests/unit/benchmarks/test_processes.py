import os
import subprocess
import sys

import pytest

from benchmarks.processes import (
    ProcessStat,
    family,
    parse_stat,
    read_cpu,
    read_memory,
    used_since,
    wait_quiet,
)


def test_a_stat_line_is_read_behind_any_name() -> None:
    # proc(5): fields 14 to 17 are utime, stime, cutime, cstime; field 4 is the parent.
    line = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 99 0 0"
    assert parse_stat(line) == ProcessStat(parent_pid=7, ticks=124)


def test_a_family_is_all_descendants_but_those_with_a_name_of_their_own() -> None:
    parents = {1: 0, 2: 1, 3: 2, 4: 1, 5: 4, 9: 0}
    stats = {pid: ProcessStat(parent, 0) for pid, parent in parents.items()}
    assert sorted(family(1, stats)) == [1, 2, 3, 4, 5]
    assert sorted(family(1, stats, {4})) == [1, 2, 3]
    assert family(77, stats) == []


def test_this_process_has_used_cpu_and_has_memory() -> None:
    me = {"me": os.getpid()}
    assert read_cpu(me)["me"] > 0
    memory = read_memory(os.getpid())
    assert 0 < memory.proportional <= memory.resident <= memory.peak_resident


def test_an_ended_process_uses_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert read_cpu({"gone": child.pid}) == {"gone": 0}


def test_use_is_subtracted_by_name() -> None:
    assert used_since({"a": 1.0, "b": 2.0}, {"a": 1.5, "b": 5.0}) == {"a": 0.5, "b": 3.0}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the CPU readings to come, two a second by a clock of the test's own; the last stays."""
    values: list[float] = []
    clock = [0.0]

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    def read(pids: object) -> dict[str, float]:
        return {"a": values.pop(0) if len(values) > 1 else values[0]}

    monkeypatch.setattr("benchmarks.processes.asyncio.sleep", sleep)
    monkeypatch.setattr("benchmarks.processes.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("benchmarks.processes.read_cpu", read)
    return values


async def test_quiet_is_when_next_to_nothing_was_used_for_a_while(readings: list[float]) -> None:
    readings += [0.0, 0.5, 1.0, 1.5, 1.55, 1.6, 1.65]
    assert await wait_quiet({"a": 1}, timeout_seconds=60) == {"a": 1.5}


async def test_quiet_that_never_comes_is_none(readings: list[float]) -> None:
    readings += [float(number) for number in range(100)]
    assert await wait_quiet({"a": 1}, timeout_seconds=10) is None
