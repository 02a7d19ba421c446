"""``make parity``: compare fresh random snapshots with kube-scheduler's own framework.

Exit codes: 0 no disagreement; 1 some, which are told; 2 bad usage or no oracle.
"""

import time
from collections import Counter
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from tests.parity.comparison import LEFT_OUT
from tests.parity.fresh import CONFIGURATIONS, Peers, RandomConfiguration, kind_of, sequence
from tests.parity.generator.families import FAMILIES, snapshot
from tests.parity.oracle_program import OracleError, OraclePanicError, build
from tests.parity.recorded import CONFIGS

FOUND: Final = Path(".state") / "parity"
SEQUENCES: Final = ("mixed", "spread", "interpod", "contention", "everything", "resources")
_SHOWN_KINDS: Final = 10
_SNAPSHOTS_OF_A_CONFIGURATION: Final = 3


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("-n", "--snapshots", "count", default=20, help="Snapshots of each family.")
@click.option("--family", "families", multiple=True, type=click.Choice(FAMILIES), default=FAMILIES)
@click.option(
    "--config", "configs", multiple=True, type=click.Choice(CONFIGURATIONS), default=CONFIGURATIONS
)
@click.option(
    "--random-configs",
    "random_configs",
    default=40,
    help="Random ones, for 3 snapshots each.",
)
@click.option("--seed", default=None, type=int, help="The first seed; else by the clock.")
@click.option(
    "--sequences",
    default=1,
    type=click.IntRange(0, len(SEQUENCES)),
    help="Sequences of 200 Pods, each placed before the next.",
)
@click.option("--oracle", type=click.Path(path_type=Path), help="A program built before.")
@click.option("--cover", is_flag=True, help="Count reached statements; needs GOCOVERDIR.")
def main(
    count: int,
    families: tuple[str, ...],
    configs: tuple[str, ...],
    random_configs: int,
    seed: int | None,
    sequences: int,
    oracle: Path | None,
    cover: bool,
) -> None:
    """Compare fresh random snapshots with kube-scheduler's own framework, Pod by Pod.

    \b
    Examples:
      python -m tests.parity -n 100
      python -m tests.parity --family spread --config "" --seed 17 -n 1 --random-configs 0
    """
    console = Console(highlight=False, soft_wrap=True)
    try:
        program = oracle or build(console, with_coverage=cover)
        run = Run(console, program, int(time.time()) % 10**8 if seed is None else seed)
        for config in configs:
            for family in families:
                run.compare_family(config, family, count)
        run.compare_random_configurations(random_configs)
        for number, family in enumerate(SEQUENCES[:sequences]):
            run.compare_sequence(family, number)
    except OracleError as error:
        console.print(f"Error: {error}")
        raise SystemExit(2) from error
    raise SystemExit(run.finish())


class Run:
    """One run: what was compared, and what differs."""

    def __init__(self, console: Console, program: Path, seed: int) -> None:
        self._console = console
        self._program = program
        self._seed = seed
        self._compared = Counter[str]()
        self._disagreements = 0
        self._shown = set[tuple[str, str]]()
        self._unanswered: list[str] = []

    def compare_family(self, config: str, family: str, count: int) -> None:
        """Compare some snapshots of a family under a configuration."""
        peers = Peers(self._program, CONFIGS / f"{config}.yaml" if config else None)
        title, compared = f"{config or 'default'}.{family}", Counter[str]()
        for seed in range(self._seed, self._seed + count):
            compared += self._compare(peers, f"{title}-{seed}", snapshot(family, seed))
        self._add(title, compared)

    def compare_random_configurations(self, count: int) -> None:
        """Compare some snapshots of random families under each of some random configurations."""
        compared = Counter[str]()
        for seed in range(self._seed, self._seed + count):
            made = RandomConfiguration(seed, FOUND)
            peers, before = Peers(self._program, made.path), self._disagreements
            for family, items in made.snapshots(_SNAPSHOTS_OF_A_CONFIGURATION):
                compared += self._compare(peers, f"{made.name}.{family}", items)
            if self._disagreements == before:
                made.path.unlink()
        self._add("random configurations", compared)

    def _compare(self, peers: Peers, name: str, items: list[dict[str, object]]) -> Counter[str]:
        try:
            compared, differences = peers.compare(items)
        except OraclePanicError as error:
            # It panics where BalancedAllocation scores a resource that a device class stands
            # for: there is nothing to compare with.
            self._unanswered.append(f"{name}: {error}")
            return Counter()
        for pod, difference in differences.items():
            self._tell(peers, f"{name}-{pod.partition('/')[2]}", pod, items, difference)
        return compared

    def _add(self, title: str, compared: Counter[str]) -> None:
        self._compared += compared
        self._console.print(f"{title:32} {_summary(compared)}")

    def compare_sequence(self, family: str, number: int) -> None:
        """Compare a sequence of Pods, each placed before the next."""
        peers, compared = Peers(self._program), Counter[str]()
        for items, found, differences in sequence(peers, family, self._seed + number):
            compared += found
            for pod, difference in differences.items():
                name = f"sequence-{self._seed + number}-{pod.partition('/')[2]}"
                self._tell(peers, name, pod, items, difference)
        self._add("sequence", compared)

    def _tell(
        self, peers: Peers, name: str, pod: str, items: list[dict[str, object]], difference: str
    ) -> None:
        self._disagreements += 1
        kind = (name.partition("-")[0], kind_of(difference))
        if kind in self._shown or len(self._shown) == _SHOWN_KINDS:
            return
        self._shown.add(kind)
        self._console.print(f"\n{name}: the answers about {pod} differ; shrinking the snapshot")
        smallest = peers.shrunk(name, pod, items, difference)
        path = smallest.save(FOUND)
        self._console.print(smallest.difference[:4000] or difference, markup=False)
        kinds = Counter(str(item["kind"]) for item in smallest.items)
        self._console.print(f"{path}: {dict(kinds)}; once more:", markup=False)
        self._console.print(f"{peers.replay(path)}\n", markup=False)

    def finish(self) -> int:
        """Tell the sum; give the exit code."""
        self._console.print(f"{'all':32} {_summary(self._compared)}")
        if self._unanswered:
            first = self._unanswered[0].splitlines()[0]
            self._console.print(
                f"{len(self._unanswered)} snapshots had no answer from kube-scheduler; the first: "
                f"{first[:300]}",
                markup=False,
            )
        if not self._disagreements:
            self._console.print("no disagreement")
            return 0
        self._console.print(f"{self._disagreements} Pods are decided differently")
        return 1


def _summary(compared: Counter[str]) -> str:
    left_out = sum(n for name, n in compared.items() if name.startswith(LEFT_OUT))
    parts = [
        f"{compared[name]} {name}" for name in ("Pods", "rejections", "shares") if compared[name]
    ]
    return ", ".join(parts) + (f" ({left_out} left out)" if left_out else "")


if __name__ == "__main__":
    main()
