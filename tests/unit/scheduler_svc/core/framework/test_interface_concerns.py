"""Which Pods, as they come or go, may change what a filter of the cluster says."""

from collections.abc import Mapping

import msgspec
import pytest

from scheduler_svc.core.affinity_objects import (
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from scheduler_svc.core.framework.interface import FilterPlugin
from scheduler_svc.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_svc.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_svc.core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_svc.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_svc.core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.volume_objects import PersistentVolumeClaimVolumeSource, Volume
from tests.builders import make_cluster, make_node_info, make_pod_info


def term(app: str) -> PodAffinityTerm:
    return PodAffinityTerm("zone", LabelSelector({"app": app}))


def demand(app: str) -> PodAffinity:
    return PodAffinity(required=(term(app),))


def app(name: str, namespace: str = "default", **fields: PodAffinity) -> PodInfo:
    return make_pod_info(name, namespace=namespace, labels={"app": name}, **fields)  # type: ignore[arg-type]


def concerned(
    plugin: PodTopologySpread | InterPodAffinity, pod: PodInfo, others: Mapping[str, PodInfo]
) -> set[str]:
    cluster = make_cluster(
        [make_node_info("n", labels={"zone": "a"})],
        [make_pod_info("held", node="n", away=demand("new"))],
    )
    state = plugin.pre_filter(pod, cluster).state
    return {name for name, other in others.items() if plugin.is_concerned_by(state, other)}


def test_spreading_is_concerned_by_pods_that_it_counts() -> None:
    constraints = [
        TopologySpreadConstraint(1, "zone", "DoNotSchedule", LabelSelector({"app": name}))
        for name in ("web", "db")
    ]
    pod = make_pod_info(labels={"app": "web"}, spread=constraints)
    others = {
        "web": app("web"),
        "db": app("db"),
        "cache": app("cache"),
        "elsewhere": app("web", "shop"),
        # Not counted, and yet upstream counts it off.
        "leaving": make_pod_info(labels={"app": "web"}, is_terminating=True),
    }
    assert concerned(PodTopologySpread(), pod, others) == {"web", "db", "leaving"}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (app("new", near=demand("web")), {"web", "away"}),
        (app("new", away=demand("db")), {"db", "away"}),
        (app("new"), {"away"}),
    ],
    ids=["demands to be near", "demands to be away", "demands nothing"],
)
def test_affinity_is_concerned_by_what_is_demanded_and_by_who_demands(
    pod: PodInfo, expected: set[str]
) -> None:
    others = {
        "web": app("web"),
        "db": app("db"),
        "near": app("x", near=demand("new")),
        "away": app("x", away=demand("y")),
    }
    assert concerned(InterPodAffinity(), pod, others) == expected


@pytest.mark.parametrize("plugin", [VolumeRestrictions(), NodeVolumeLimits()])
def test_volumes_are_concerned_by_pods_with_volumes(
    plugin: FilterPlugin,
) -> None:
    claim = Volume(name="v", persistent_volume_claim=PersistentVolumeClaimVolumeSource("c"))
    with_claim = msgspec.structs.replace(make_pod_info(), volumes=(claim,))
    assert plugin.is_concerned_by(None, with_claim)
    assert not plugin.is_concerned_by(None, make_pod_info())


def test_anything_may_concern_a_filter_that_does_not_say() -> None:
    assert NodeResourcesFit().is_concerned_by(None, make_pod_info())
