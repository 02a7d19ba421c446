"""Tells how much of kube-scheduler's in-tree plugins random snapshots reach.

After ``GOCOVERDIR=DIR python -m tests.parity --cover`` run ``python -m tests.parity.reach DIR``.
What is no part of deciding about a Pod is left out: hints, writes before a Binding, gangs, the
copying of states, and what is behind features that are off.
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

_PLUGINS: Final = "k8s.io/kubernetes/pkg/scheduler/framework/plugins/"
_NOT_DECIDING: Final = re.compile(
    r"^(isSchedulable\w*|isPodSchedulable\w*|EventsToRegister|\w*[Rr]eserve\w*|PreBind\w*|Bind\w*"
    r"|PostBind|bind\w*|patch\w*|create\w*|delete\w*|revert\w*|Revert\w*|Assume\w*|assume\w*"
    r"|Restore|checkBindings|Clone|SignPod\w*|Sign\w*|Name|String|MarshalLog|format\w*|list\w*"
    r"|on(Add|Update|Delete)|PreEnqueue|\w*Placement\w*|\w*PodGroup\w*|\w*BindingCondition\w*"
    r"|waitFor\w*|isClaimTimeout|isPodReadyForBinding|Signal\w*|MaybeRemove\w*|removeDevices)$"
)
_NOT_DECIDING_FILES: Final = re.compile(
    r"(test_utils|fake_binder|passive_assume_cache|gangscheduling|podgroup\w*|topologyaware"
    r"|nodeallocatabledynamicresources|schedulinggates|defaultbinder|volumebinding/scorer)"
)
_BLOCK: Final = re.compile(r"^(\S+):(\d+)\.\d+,\d+\.\d+ (\d+) (\d+)$")
_FUNCTION: Final = re.compile(r"^(\S+):(\d+):\s+(\S+)\s")


class Block(NamedTuple):
    """Statements that are reached together, or not."""

    file: str
    line: int
    statements: int
    is_reached: bool


def main(directory: str) -> None:
    """Print the share of statements reached in each plugin."""
    profile = Path(directory) / "profile.txt"
    _go("tool", "covdata", "textfmt", f"-i={directory}", f"-o={profile}")
    functions = _functions(_go("tool", "cover", f"-func={profile}"))
    total, reached = Counter[str](), Counter[str]()
    for block in _blocks(profile.read_text()):
        starts, names = functions[block.file]
        name = names[bisect_right(starts, block.line) - 1]
        if not _NOT_DECIDING.match(name) and not _NOT_DECIDING_FILES.search(block.file):
            plugin = block.file.removeprefix(_PLUGINS).rpartition("/")[0]
            total[plugin] += block.statements
            reached[plugin] += block.statements * block.is_reached
    for plugin, count in sorted(total.items()):
        sys.stdout.write(
            f"{plugin:32} {reached[plugin]:5} of {count:5} {reached[plugin] / count:7.1%}\n"
        )
    share = reached.total() / total.total()
    sys.stdout.write(f"{'all':32} {reached.total():5} of {total.total():5} {share:7.1%}\n")


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
    main(sys.argv[1])
