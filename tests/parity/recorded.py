"""Reads the recorded decisions, and has ours made of the same clusters."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from scheduler_svc.core.clock import Now
from scheduler_svc.shell.config import Configuration, default_configuration, load_configuration
from scheduler_svc.shell.explain.asking import Profiles, explain
from scheduler_svc.shell.explain.snapshot import Snapshot, snapshot_of
from scheduler_svc.shell.profiles import make_profiles

CASES: Final = Path(__file__).parent / "cases"
CONFIGS: Final = Path(__file__).parent / "configs"
# When the cases were recorded: late in 2026, so that a time in 2099 is yet to come.
_NOW: Final = Now(monotonic_seconds=0.0, wall_seconds=1_796_000_000.0)

Items = list[dict[str, Any]]
Answer = dict[str, Any]


class Case(NamedTuple):
    """The objects of a cluster, and kube-scheduler's answer for each pending Pod."""

    name: str
    items: Items
    answers: list[Answer]


def families() -> list[str]:
    """Name the families: FAMILY, or CONFIG.FAMILY for one under another configuration."""
    return sorted({path.name.rsplit("-", 1)[0] for path in CASES.glob("*.snapshot.json.gz")})


def cases(family: str) -> Iterator[Case]:
    """Read all cases of one family."""
    for path in sorted(CASES.glob(f"{family}-[0-9]*.snapshot.json.gz")):
        name = path.name.removesuffix(".snapshot.json.gz")
        with gzip.open(path) as file:
            items = json.load(file)["items"]
        with gzip.open(CASES / f"{name}.answers.jsonl.gz", "rt") as file:
            answers = [json.loads(line) for line in file]
        yield Case(name, items, answers)


def configuration_of(family: str) -> Configuration:
    """Read the configuration of a family: CONFIG.FAMILY has a file, others the default."""
    name, dot, _ = family.rpartition(".")
    return read_configuration(CONFIGS / f"{name}.yaml" if dot else None)


def read_configuration(path: Path | None) -> Configuration:
    """Read a configuration; None: the default."""
    if path is None:
        return default_configuration()
    return load_configuration(path.read_bytes(), path=path.name, known_plugins={})


class Explainer:
    """Makes our answers under one configuration; `missing` are plugins there are none of yet."""

    def __init__(self, configuration: Configuration) -> None:
        made = make_profiles(configuration)
        self.missing = frozenset(made.not_implemented)
        self._profiles = Profiles(made.profiles, judges_all=not configuration.path)

    def answers(self, items: Items) -> list[Answer]:
        """Give the answers about a snapshot's pending Pods, as the JSON that is printed."""
        snapshot = snapshot_of(items)
        return [self._answer(snapshot, key) for key in snapshot.pending]

    def _answer(self, snapshot: Snapshot, key: str) -> Answer:
        pod = snapshot.pending[key]
        answer = explain(self._profiles, pod, snapshot, _NOW, preempt=True)
        decoded: Answer = json.loads(msgspec.json.encode(answer))
        return decoded
