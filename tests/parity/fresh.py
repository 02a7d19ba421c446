"""Fresh snapshots: made, asked about, compared, and shrunk where the answers differ."""

import json
import random
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple

from scheduler_svc.shell.config import Configuration, ExtensionPoint
from scheduler_svc.shell.config.arguments import DefaultPreemptionArgs
from tests.parity.comparison import Comparison
from tests.parity.generator.configurations import configuration
from tests.parity.generator.families import FAMILIES, snapshot
from tests.parity.generator.manifests import is_pending
from tests.parity.generator.nodes import MOST_NODES, ROOMY
from tests.parity.oracle_program import Oracle, OracleError
from tests.parity.recorded import CONFIGS, Explainer, read_configuration
from tests.parity.shrinking import shrink

Items = list[dict[str, Any]]
Answer = dict[str, Any]

CONFIGURATIONS: Final = ("", *sorted(path.stem for path in CONFIGS.glob("*.yaml")))
SEQUENCE_PODS: Final = 200
_MORE_TRIES: Final = 8
_TRIES_TO_SHRINK: Final = 1
_WHOLE_PERCENT: Final = 100
_OTHER_SCHEDULER: Final = 0.25


class Disagreement(NamedTuple):
    """A Pod about which the answers differ, in the smallest snapshot that shows it."""

    name: str
    pod: str
    items: Items
    difference: str

    def save(self, folder: Path) -> Path:
        """Write the snapshot."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": self.items}, indent=1)
        )
        return path


class Peers:
    """kube-scheduler's framework and ours, under one configuration; None: the default."""

    def __init__(self, program: Path, config: Path | None = None) -> None:
        self.config = config
        self.oracle = Oracle(program, config)
        read = read_configuration(config)
        self.explainer = Explainer(read)
        self._limits_search = _limits_search(read)
        self._scoring_alone = _scoring_alone(read)

    def compare(
        self, items: Items, tries: int = _MORE_TRIES
    ) -> tuple[Counter[str], dict[str, str]]:
        """Give what was compared, and by Pod how the answers differ.

        kube-scheduler goes through some things in the order of a map (PersistentVolumes that
        match equally well), so it is asked again before it is said to differ.
        """
        compared, differences = self.compare_with(items, self.oracle.answers(items))
        for _ in range(tries if differences else 0):
            again = self.compare_with(items, self.oracle.answers(items))[1]
            differences = {pod: text for pod, text in differences.items() if pod in again}
            if not differences:
                break
        return compared, differences

    def compare_with(
        self, items: Items, answers: list[Answer]
    ) -> tuple[Counter[str], dict[str, str]]:
        """Compare answers that were given before."""
        comparison = Comparison(
            items,
            self.explainer.missing,
            takes_any_candidate=self._limits_search,
            scoring_alone=self._scoring_alone,
        )
        compared, differences = Counter[str](), {}
        ours = self._ours(items)
        for theirs in answers:
            pod = theirs["pod"]
            try:
                compared += comparison.compare(theirs, ours[pod])
            except (AssertionError, KeyError) as error:
                differences[pod] = _text(error)
        return compared, differences

    def _ours(self, items: Items) -> dict[str, Answer]:
        return {answer["pod"]: answer for answer in self.explainer.answers(items)}

    def differ(self, pod: str, difference: str) -> Callable[[Items], bool]:
        """Give a function that tells whether a snapshot shows the same kind of difference."""
        kind = kind_of(difference)

        def shows(items: Items) -> bool:
            try:
                found = self.compare(items, _TRIES_TO_SHRINK)[1].get(pod)
                return found is not None and kind_of(found) == kind
            except (OracleError, ValueError, KeyError, TypeError):
                return False  # no snapshot any more

        return shows

    def shrunk(self, name: str, pod: str, items: Items, difference: str) -> Disagreement:
        """Find the smallest snapshot in which the answers about a Pod differ in that way."""
        smallest = shrink(items, self.differ(pod, difference))
        found = self.compare(smallest)[1].get(pod, f"{difference} (not each time)")
        return Disagreement(name, pod, smallest, found)

    def replay(self, path: Path) -> str:
        """Give the commands that show the disagreement again."""
        config = [] if self.config is None else ["--config", str(self.config)]
        ours = [
            "berthmaster",
            "explain",
            "--snapshot",
            str(path),
            *config,
            "--preempt",
            "-o",
            "json",
        ]
        return f"{shlex.join(self.oracle.command(path))}\n{shlex.join(ours)}"


def sequence(
    peers: Peers, family: str, seed: int, pod_count: int = SEQUENCE_PODS
) -> Iterator[tuple[Items, Counter[str], dict[str, str]]]:
    """Decide Pods one after the other, each placed on the first of the best Nodes."""
    items = snapshot(family, seed, pod_count)
    for node in (item for item in items if item["kind"] == "Node"):
        node["status"]["allocatable"].update(ROOMY)
    waiting = [i for i in items if i["kind"] == "Pod" and "nodeName" not in i["spec"]]
    placed = [item for item in items if item not in waiting]
    for pod in waiting:
        pod["status"].pop("nominatedNodeName", None)
        asked = [*placed, pod]
        [answer] = peers.oracle.answers(asked)
        compared, differences = peers.compare_with(asked, [answer])
        if differences:
            compared, differences = peers.compare(asked)
        yield asked, compared, differences
        if answer.get("best"):
            bound = deepcopy(pod)
            bound["spec"]["nodeName"] = answer["best"][0]
            bound["status"] = {"phase": "Running", "startTime": "2026-01-02T00:00:00Z"}
            placed.append(bound)


class RandomConfiguration:
    """A random configuration, and snapshots of random families for it.

    `name` is that of its file in `folder`.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = random.Random(f"configuration:{seed}")
        self._seed = seed
        self.name = f"random-{seed}"
        self.path = folder / f"{self.name}.config.json"
        self._configuration = configuration(self._random)
        folder.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self._configuration, indent=1))

    def snapshots(self, count: int) -> Iterator[tuple[str, Items]]:
        """Give families and snapshots, whose pending Pods name schedulers at random."""
        names = [profile["schedulerName"] for profile in self._configuration["profiles"]]
        for number in range(count):
            family = self._random.choice(FAMILIES)
            items = snapshot(family, self._seed * count + number)
            for pod in (item for item in items if item["kind"] == "Pod" and is_pending(item)):
                if self._random.random() < _OTHER_SCHEDULER:
                    pod["spec"]["schedulerName"] = self._random.choice([*names, "", "nobody"])
            yield family, items


def _limits_search(configuration: Configuration) -> bool:
    """Whether a search for victims may end before it has seen all Nodes of a snapshot."""
    arguments = [profile.args.get("DefaultPreemption") for profile in configuration.profiles]
    return any(
        isinstance(each, DefaultPreemptionArgs)
        and each.min_candidate_nodes_percentage < _WHOLE_PERCENT
        and each.min_candidate_nodes_absolute < MOST_NODES
        for each in arguments
    )


def _scoring_alone(configuration: Configuration) -> frozenset[str]:
    """Give the plugins that skip at PreScore, where that is not enabled but Score is."""
    return frozenset(
        plugin.name
        for profile in configuration.profiles
        for plugin in profile.points[ExtensionPoint.SCORE]
        if plugin.name in ("NodeAffinity", "NodeResourcesBalancedAllocation")
        and plugin.name not in {each.name for each in profile.points[ExtensionPoint.PRE_SCORE]}
    )


def kind_of(difference: str) -> str:
    """Give what differs (a field, or the Node by name), and how: a code, a score, a text."""
    what = difference.partition(":")[0]
    return re.sub(r"n\d+", "node", what) + str("'code'" in difference)


def _text(error: Exception) -> str:
    return str(error) or repr(error)
