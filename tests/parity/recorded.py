"""Reads the recorded decisions, and asks the core for its own."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from scheduler_svc.core.cache import Cache
from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.framework.interface import Plugin
from scheduler_svc.core.framework.profile import Profile
from scheduler_svc.core.framework.resource_scoring import MostAllocated
from scheduler_svc.core.nodes import NodeInfo
from scheduler_svc.core.objects import Node, Pod
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.registry import IN_TREE

CASES: Final = Path(__file__).parent / "cases"

_FILTERS: Final[tuple[str, ...]] = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
)
_SCORES: Final[tuple[str, ...]] = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
_WEIGHTS: Final = {"TaintToleration": 3, "NodeAffinity": 2}


class Case(msgspec.Struct):
    """A cluster, its pending Pods, and kube-scheduler's answer for each."""

    name: str
    cluster: Cluster
    pending: list[tuple[PodInfo, dict[str, Any]]]


def cases(family: str) -> Iterator[Case]:
    """Read all cases of one family."""
    for path in sorted(CASES.glob(f"{family}-*.snapshot.json.gz")):
        name = path.name.removesuffix(".snapshot.json.gz")
        with gzip.open(path) as file:
            items = json.load(file)["items"]
        with gzip.open(CASES / f"{name}.answers.jsonl.gz", "rt") as file:
            answers = {answer["pod"]: answer for answer in map(json.loads, file)}
        yield _case(name, items, answers)


def _case(name: str, items: list[dict[str, Any]], answers: dict[str, dict[str, Any]]) -> Case:
    cache, interner = Cache(Cluster()), PodInterner()
    pending = []
    for item in items:
        if item["kind"] == "Node":
            cache.set_node(NodeInfo.from_node(msgspec.convert(item, Node)))
    for item in items:
        if item["kind"] != "Pod":
            continue
        meta = item["metadata"]
        meta.setdefault("uid", f"{meta['namespace']}/{meta['name']}")
        pod = interner.intern(msgspec.convert(item, Pod))
        if pod.node_name and not pod.is_finished:
            cache.upsert(pod)
        elif not pod.node_name:
            pending.append((pod, answers.pop(pod.key)))
    assert not answers, f"{name}: answers for Pods that are not pending"
    return Case(name, cache.cluster, pending)


def profile_of(family: str) -> Profile:
    """Build the profile under which a family was recorded, of the plugins that there are."""
    plugins = {name: factory() for name, factory in IN_TREE.items()}
    weights, scores = dict(_WEIGHTS), _SCORES
    if family.startswith("most-allocated."):
        strategy = MostAllocated((("cpu", 1), ("memory", 2), ("example.com/gpu", 5)))
        plugins["NodeResourcesFit"] = NodeResourcesFit(strategy)
        weights["NodeResourcesFit"] = 5
        scores = tuple(name for name in _SCORES if name != "NodeResourcesBalancedAllocation")

    def at(names: Sequence[str]) -> list[Plugin]:
        return [plugins[name] for name in names]

    points: dict[str, Sequence[Plugin]] = {
        "queueSort": at(["PrioritySort"]),
        "preFilter": at(_FILTERS),
        "filter": at(_FILTERS),
        "preScore": at(scores),
        "score": at(scores),
    }
    return Profile("default-scheduler", points, weights)
