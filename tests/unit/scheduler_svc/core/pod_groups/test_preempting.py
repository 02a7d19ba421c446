"""A trial that may evict."""

from collections.abc import Sequence

import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.effects import EvictPods
from scheduler_svc.core.pods import PodInfo
from scheduler_svc.core.status import SUCCESS, Code, Status
from tests.builders import make_pod_info
from tests.gangs import make_group, make_member, make_members
from tests.scripted_plugins import Reserving
from tests.unit.scheduler_svc.core.pod_groups.stages import FOUR_CPUS, Stage, messages, points


class RefusingOn(Reserving):
    """Refuses Pods on one Node."""

    name = "RefusingOn"

    def __init__(self, node_name: str) -> None:
        super().__init__([])
        self._node_name = node_name

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Refuse it there."""
        super().reserve(pod, node_name, cluster)
        refused = Status(Code.UNSCHEDULABLE, ("not here",))
        return refused if node_name == self._node_name else SUCCESS


class RefusingPod(Reserving):
    """Refuses one Pod wherever it goes."""

    name = "RefusingPod"

    def reserve(self, pod: PodInfo, node_name: str, cluster: Cluster) -> Status:
        """Refuse it."""
        super().reserve(pod, node_name, cluster)
        return Status(Code.UNSCHEDULABLE, ("not this",)) if pod.name == "refused" else SUCCESS


def low_pods() -> Sequence[PodInfo]:
    return [make_pod_info(f"low-{node}", node=node, requests=FOUR_CPUS) for node in ("n1", "n2")]


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_whoever_is_refused_after_the_victims_are_gone_finds_no_node(node: str) -> None:
    stage = Stage(
        nodes=["n1", "n2"],
        groups=[make_group(min_count=2)],
        placed=low_pods(),
        plugins=points(reserve=[RefusingOn(node)]),
    )
    stage.add(*make_members(2, requests=FOUR_CPUS, priority=10))
    effects = stage.run()
    assert not [e for e in effects if isinstance(e, EvictPods)]
    assert messages(effects)["gang-0"].startswith("pod group gang: needs 2, 0 fit: 2 lack cpu")
    assert {cached.pod.name for cached in stage.scheduler.cache.pods()} == {"low-n1", "low-n2"}


def test_the_others_do_not_count_on_the_victims_of_one_that_is_refused_then() -> None:
    stage = Stage(
        nodes=["n1", "n2"],
        groups=[make_group(min_count=2)],
        placed=low_pods(),
        plugins=points(reserve=[RefusingPod([])]),
    )
    stage.add(
        make_member("refused", requests={"cpu": "4", "memory": "1Gi"}, priority=10),
        make_member("large", requests=FOUR_CPUS, priority=10),
        make_member("small", requests={"cpu": "1"}, priority=10),
    )
    effects = stage.run()
    victims = [v.pod.name for e in effects if isinstance(e, EvictPods) for v in e.victims]
    assert sorted(victims) == ["low-n1", "low-n2"]
