"""On what the figures were measured, and whether it was busy with something else."""

import os
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from berthmaster import __version__

BUSY_SHARE: Final = 0.1
_LOOK_SECONDS: Final = 1.0
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PROJECT: Final = Path(__file__).resolve().parents[1]
_LIBRARIES: Final = ("aiohttp", "httptools", "msgspec", "numpy", "uvloop")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine and the versions of what runs on it.

    Attributes
    ----------
    used_cores
        Which this process and all that it starts may run on.
    revision
        The commit of the working copy, with ``-dirty`` if it was changed; "" outside of one.
    """

    processor: str
    core_count: int
    used_cores: tuple[int, ...]
    memory_bytes: int
    kernel: str
    python: str
    berthmaster: str
    revision: str
    libraries: dict[str, str]


class Quietness(msgspec.Struct, frozen=True):
    """How busy the machine was before a run.

    Attributes
    ----------
    load_average
        Of the last minute.
    busy_share
        Part of all cores' time that was used during one second in which we did nothing.
    """

    load_average: float
    busy_share: float

    @property
    def warning(self) -> str:
        """What to tell when figures can't be relied on; "" where they can."""
        if self.busy_share <= BUSY_SHARE:
            return ""
        return (
            f"warning: the machine is busy with something else ({self.busy_share:.0%} of its CPU "
            f"just now, load average {self.load_average:.2f}): these figures say little"
        )


class MachineCpu(msgspec.Struct, frozen=True):
    """CPU seconds of all cores together since boot."""

    busy_seconds: float
    all_seconds: float


def describe_machine() -> Machine:
    """Find out where we are."""
    return Machine(
        processor=_processor(),
        core_count=os.cpu_count() or 1,
        used_cores=tuple(sorted(os.sched_getaffinity(0))),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        berthmaster=__version__,
        revision=_revision(),
        libraries={name: metadata.version(name) for name in _LIBRARIES},
    )


def use_cores(count: int) -> None:
    """Keep this process and all that it will start on `count` cores, or all if there are fewer."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def look_around(tell: Callable[[str], None]) -> Quietness:
    """Do nothing for a second, and tell if others did not."""
    before = read_machine_cpu()
    time.sleep(_LOOK_SECONDS)
    quietness = Quietness(os.getloadavg()[0], others_share(before, read_machine_cpu(), 0.0))
    if quietness.warning:
        tell(quietness.warning)
    return quietness


def describe_quietness(before: Sequence[Quietness]) -> str:
    """Say how quiet the machine was before the runs."""
    if not before:
        return "nothing was run"
    busy = sum(1 for quietness in before if quietness.warning)
    most = max(quietness.load_average for quietness in before)
    return f"load average at most {most:.2f}; " + (
        f"the machine was BUSY before {busy} of {len(before)}" if busy else "quiet each time"
    )


def others_share(before: MachineCpu, after: MachineCpu, ours_seconds: float) -> float:
    """Give the part of all cores' time that was used by others than us, who used `ours_seconds`."""
    busy_seconds = after.busy_seconds - before.busy_seconds - ours_seconds
    return max(0.0, busy_seconds) / max(0.01, after.all_seconds - before.all_seconds)


def read_machine_cpu() -> MachineCpu:
    """Read what all cores have done since boot; time stolen by other guests is busy."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    # user nice system idle iowait irq softirq steal
    seconds = [int(field) / _TICKS_PER_SECOND for field in fields]
    return MachineCpu(sum(seconds) - seconds[3] - seconds[4], sum(seconds))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _revision() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],  # noqa: S607 - git of PATH
            cwd=_PROJECT,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
