"""Tells how much of kube-scheduler's in-tree plugins random snapshots reach.

After ``GOCOVERDIR=DIR python -m tests.parity --cover`` run ``python -m tests.parity.reach DIR``,
with ``--lines`` to see what is not reached. What is no part of deciding about a Pod is left out:
hints, writes before a Binding, gangs, logging, the copying of states, and what is behind
features that are off. What is behind a check for an error is told by itself: most of it guards
against states and arguments that the framework never passes (README.md).
"""

import re
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.parity.oracle_program import SOURCES

_MODULE: Final = "k8s.io/kubernetes"
_PLUGINS: Final = f"{_MODULE}/pkg/scheduler/framework/plugins/"
_NOT_DECIDING: Final = re.compile(
    r"^(isSchedulable\w*|isPodSchedulable\w*|EventsToRegister|\w*[Rr]eserve\w*|PreBind\w*|Bind\w*"
    r"|PostBind|bind\w*|patch\w*|create\w*|delete\w*|revert\w*|Revert\w*|Assume\w*|assume\w*"
    r"|Restore|checkBindings|Clone|SignPod\w*|Sign\w*|Name|String|MarshalLog|format\w*|list\w*"
    r"|on(Add|Update|Delete)|PreEnqueue|\w*Placement\w*|\w*PodGroup\w*|\w*BindingCondition\w*"
    r"|waitFor\w*|isClaimTimeout|isPodReadyForBinding|Signal\w*|MaybeRemove\w*|removeDevices"
    # Parts of hints.
    r"|isFit|Fits|haveAny\w*|hasConstraint\w*|checkTopologyKey\w*|involvedIn\w*|podLabelsMatch\w*"
    # Parts of Reserve and PreBind.
    r"|getBinding|getInitial\w*|update\w*Claim|allUserClaims|set|convert\w*PVCs|getPodName"
    r"|arePodVolumesBound|allInFlight\w*"
    # Features that are off, or that nobody can turn off any more.
    r"|podResourceClaimBindings|ListAllAllocatedDevices|hasRestartable\w*|checkCSIDriver\w*"
    r"|StorageResource|StorageClassName)$"
)
_GUARD: Final = re.compile(
    r"err != nil|errors\.Is\(|!ok\b|!exists\b|[sS]tatus != nil|IsSuccess\(\)|IsNotFound\("
    r"|getErrorAsStatus"
)
_NOT_DECIDING_FILES: Final = re.compile(
    r"(test_utils|fake_binder|passive_assume_cache|gangscheduling|podgroup\w*|topologyaware"
    r"|nodeallocatabledynamicresources|schedulinggates|defaultbinder|volumebinding/scorer)"
)
# What is there for hints, for a feature that is off, or for nobody.
_NOT_DECIDING_PLACES: Final = re.compile(
    r"volumebinding/volume_binding\.go:(PreScore|Score|ScoreExtensions)"
    r"|volumezone/volume_zone\.go:(isPVCRequestedFromPod|getPersistentVolumeClaimNameFromPod)"
    r"|volumebinding/binder\.go:(Len|Less|Swap)|nodevolumelimits/csi_manager\.go:List"
)
_FEATURE: Final = re.compile(
    r"\bfts\.Enable|\bopts\.Enable|\.enable[A-Z]|!\w+\.enabled\b|FeatureGate\.Enabled"
)
_LOG: Final = re.compile(r"loggerV")
_BLOCK: Final = re.compile(r"^(\S+):(\d+)\.\d+,\d+\.\d+ (\d+) (\d+)$")
_FUNCTION: Final = re.compile(r"^(\S+):(\d+):\s+(\S+)\s")


class Block(NamedTuple):
    """Statements that are reached together, or not; `line` is that of the brace before them."""

    file: str
    line: int
    statements: int
    is_reached: bool


def main(directory: str, *, shows_lines: bool) -> None:
    """Print the share of statements reached in each plugin, and how many more are guarded."""
    profile = Path(directory) / "profile.txt"
    _go("tool", "covdata", "textfmt", f"-i={directory}", f"-o={profile}")
    functions = _functions(_go("tool", "cover", f"-func={profile}"))
    sources, off_until = Sources(), dict[str, int]()
    total, reached, guarded = Counter[str](), Counter[str](), Counter[str]()
    for block in sorted(_blocks(profile.read_text())):
        starts, names = functions[block.file]
        name = names[bisect_right(starts, block.line) - 1]
        place = f"{block.file.removeprefix(_PLUGINS)}:{name}"
        if _NOT_DECIDING.match(name) or _NOT_DECIDING_FILES.search(block.file):
            continue
        if _NOT_DECIDING_PLACES.fullmatch(place) or _LOG.search(sources.line(block)):
            continue
        if not block.is_reached and _FEATURE.search(sources.condition(block)):
            off_until[block.file] = sources.end(block)
        if block.line < off_until.get(block.file, 0):
            continue
        plugin = block.file.removeprefix(_PLUGINS).rpartition("/")[0]
        total[plugin] += block.statements
        reached[plugin] += block.statements * block.is_reached
        if block.is_reached:
            continue
        line = sources.line(block)
        if _GUARD.search(line):
            guarded[plugin] += block.statements
        elif shows_lines:
            where = f"{block.file.removeprefix(_PLUGINS)}:{block.line}"
            sys.stdout.write(f"{where} {name}: {block.statements} after `{line}`\n")
    for plugin, count in sorted(total.items()):
        _tell(plugin, reached[plugin], count, guarded[plugin])
    _tell("all", reached.total(), total.total(), guarded.total())


def _tell(name: str, reached: int, count: int, guarded: int) -> None:
    sys.stdout.write(
        f"{name:24} {reached:5} of {count:5} {reached / count:7.1%}; {guarded:4} behind guards, "
        f"without them {reached / max(count - guarded, 1):7.1%}\n"
    )


class Sources:
    """The sources of the plugins, which are read when they are first asked for."""

    def __init__(self) -> None:
        self._root = Path(_go("list", "-m", "-f", "{{.Dir}}", _MODULE).strip())
        self._lines: dict[str, list[str]] = {}

    def line(self, block: Block) -> str:
        """Give the line that leads to a block."""
        return self._of(block)[block.line - 1].strip()

    def condition(self, block: Block) -> str:
        """Give the line that leads to a block; for an else that of its if."""
        lines = self._of(block)
        number = block.line - 1
        if not lines[number].strip().startswith("} else {"):
            return lines[number]
        indent = _indent(lines[number])
        return next(
            line
            for line in reversed(lines[:number])
            if line.strip().startswith("if ") and _indent(line) == indent
        )

    def end(self, block: Block) -> int:
        """Give the number of the line that closes what a block's line opens."""
        lines = self._of(block)
        indent = _indent(lines[block.line - 1])
        return next(
            number
            for number in range(block.line + 1, len(lines) + 1)
            if lines[number - 1].strip().startswith("}") and _indent(lines[number - 1]) <= indent
        )

    def _of(self, block: Block) -> list[str]:
        if block.file not in self._lines:
            path = self._root / block.file.removeprefix(f"{_MODULE}/")
            self._lines[block.file] = path.read_text().splitlines()
        return self._lines[block.file]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _go(*arguments: str) -> str:
    go = shutil.which("go") or "go"
    done = subprocess.run([go, *arguments], cwd=SOURCES, capture_output=True, text=True, check=True)
    return done.stdout


def _functions(text: str) -> dict[str, tuple[list[int], list[str]]]:
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in text.splitlines():
        match = _FUNCTION.match(line)
        if match is not None:
            found[match[1]].append((int(match[2]), match[3].rpartition(".")[2]))
    return {
        file: ([start for start, _ in sorted(entries)], [name for _, name in sorted(entries)])
        for file, entries in found.items()
    }


def _blocks(text: str) -> Iterator[Block]:
    reached: Counter[tuple[str, int, int]] = Counter()
    for line in text.splitlines():
        match = _BLOCK.match(line)
        if match is not None and match[1].startswith(_PLUGINS):
            reached[match[1], int(match[2]), int(match[3])] += int(match[4])
    for (file, start, statements), count in reached.items():
        yield Block(file, start, statements, count > 0)


if __name__ == "__main__":
    main(sys.argv[1], shows_lines="--lines" in sys.argv[2:])
