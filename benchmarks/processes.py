"""CPU time and memory of processes, as ``/proc`` tells them (proc(5)).

CPU is counted in ticks of 10 ms: good for a process as a whole, not for a single call.
"""

import asyncio
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import msgspec

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_QUIET_CORES: Final = 0.1
_QUIET_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.5

CpuSeconds = dict[str, float]


class Memory(msgspec.Struct, frozen=True):
    """Of a process and its descendants, in bytes.

    Attributes
    ----------
    resident
        RSS: pages in memory, shared ones counted in full.
    proportional
        PSS: a shared page counts as its part for each process that has it.
    peak_resident
        The most that `resident` ever was (``VmHWM``), each process by itself.
    """

    resident: int
    proportional: int
    peak_resident: int


class ProcessStat(msgspec.Struct, frozen=True):
    """Of one process; `ticks` of its own and of children that it has waited for."""

    parent_pid: int
    ticks: int


def read_cpu(pids: Mapping[str, int]) -> CpuSeconds:
    """Give the CPU seconds that each process and its descendants have used so far.

    A descendant that has a name of its own counts under that one only.
    """
    stats = _read_stats()
    return {
        name: sum(stats[each].ticks for each in family(pid, stats, set(pids.values())))
        / _TICKS_PER_SECOND
        for name, pid in pids.items()
    }


def used_since(before: CpuSeconds, after: CpuSeconds) -> CpuSeconds:
    """Subtract, name by name."""
    return {name: after[name] - before[name] for name in after}


def read_memory(pid: int) -> Memory:
    """Add up the memory of a process and its descendants."""
    resident = proportional = peak = 0
    for each in family(pid, _read_stats()):
        directory = Path("/proc") / str(each)
        try:
            status = _fields(directory / "status")
            resident += status["VmRSS"]
            peak += status["VmHWM"]
            proportional += _fields(directory / "smaps_rollup")["Pss"]
        except (OSError, KeyError):
            continue  # it has just ended
    return Memory(resident, proportional, peak)


async def wait_quiet(pids: Mapping[str, int], *, timeout_seconds: float) -> CpuSeconds | None:
    """Wait until the processes together use next to no CPU; None if they don't stop.

    Quiet is less than a tenth of a core for 2 s: an API server and a scheduler with nothing to do
    use half of that. Gives the reading at the begin of those 2 s.
    """
    deadline_seconds = time.monotonic() + timeout_seconds
    began_seconds, began = time.monotonic(), read_cpu(pids)
    while time.monotonic() < deadline_seconds:
        await asyncio.sleep(_POLL_SECONDS)
        now_seconds, now = time.monotonic(), read_cpu(pids)
        if sum(used_since(began, now).values()) > _QUIET_CORES * _QUIET_SECONDS:
            began_seconds, began = now_seconds, now
        elif now_seconds - began_seconds >= _QUIET_SECONDS:
            return began
    return None


def _read_stats() -> dict[int, ProcessStat]:
    """Read parent and CPU of all processes."""
    stats = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text()
            except OSError:
                continue  # it has just ended
            stats[int(entry.name)] = parse_stat(text)
    return stats


def parse_stat(text: str) -> ProcessStat:
    """Read one ``/proc/<pid>/stat``: the parent, and utime, stime, cutime and cstime together."""
    # The name, in parentheses, may hold spaces and parentheses itself.
    fields = text.rpartition(")")[2].split()
    return ProcessStat(parent_pid=int(fields[1]), ticks=sum(int(field) for field in fields[11:15]))


def family(pid: int, stats: Mapping[int, ProcessStat], others: Collection[int] = ()) -> list[int]:
    """List a process and its descendants but `others` and theirs; empty if it has ended."""
    members = [pid] if pid in stats else []
    for member in members:  # grows while it is gone through
        members += [
            child
            for child, stat in stats.items()
            if stat.parent_pid == member and child not in others
        ]
    return members


def _fields(path: Path) -> dict[str, int]:
    """Read lines like ``VmRSS:  1234 kB`` into bytes."""
    fields = {}
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            fields[name] = int(value.split()[0]) * 1024
    return fields
