"""Reads the recorded decisions, and makes the cluster and the profile they were made with."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.shell.config import Configuration, default_configuration, load_configuration
from scheduler_svc.shell.explain.snapshot import Snapshot, snapshot_of
from scheduler_svc.shell.profiles import make_profiles

CASES: Final = Path(__file__).parent / "cases"
CONFIGS: Final = Path(__file__).parent / "configs"


class Case(msgspec.Struct):
    """A cluster, its pending Pods, and kube-scheduler's answer for each."""

    name: str
    snapshot: Snapshot
    pending: list[tuple[PodInfo, dict[str, Any]]]

    @property
    def cluster(self) -> Cluster:
        """What plugins read."""
        return self.snapshot.cluster


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
        yield case_of(name, items, answers)


def case_of(name: str, items: list[dict[str, Any]], answers: list[dict[str, Any]]) -> Case:
    """Pair each pending Pod of a snapshot with its answer."""
    snapshot = snapshot_of(items)
    by_pod = {answer["pod"]: answer for answer in answers}
    assert by_pod.keys() == snapshot.pending.keys(), f"{name}: answers for other Pods"
    return Case(name, snapshot, [(pod, by_pod[key]) for key, pod in snapshot.pending.items()])


def configuration_of(family: str) -> Configuration:
    """Read the configuration of a family: CONFIG.FAMILY has a file, others the default."""
    name, dot, _ = family.rpartition(".")
    if not dot:
        return default_configuration()
    path = CONFIGS / f"{name}.yaml"
    return load_configuration(path.read_bytes(), path=path.name, known_plugins={})


def profile_of(family: str) -> tuple[Profile, frozenset[str]]:
    """Make a family's profile; name the enabled plugins that there are none of yet."""
    profiles, missing = make_profiles(configuration_of(family))
    return profiles[0], frozenset(missing)
