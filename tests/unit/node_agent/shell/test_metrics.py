"""What a scrape shows of the shadow: the kubelet's own numbers, as far as they can be inferred.

Case: a static Pod whose manifest goes while the runtime is down (test/e2e_node/
mirror_pod_grace_period_test.go, v1.36.3).
"""

from node_agent.core.agent import NodeAgent
from node_agent.core.events import PodsListed
from node_agent.core.operations import Source
from node_agent.shell.metrics import ShadowMetrics
from tests.unit.node_agent.core.pods import at, make_mirror, make_pod, running, status
from tests.unit.scheduler_svc.shell.registry import Samples


async def test_a_static_pod_that_cannot_be_stopped_is_an_orphan_that_terminates() -> None:
    agent = NodeAgent([Source.FILE, Source.API])
    sample = Samples(ShadowMetrics(agent).collect)
    mirror = make_mirror("a", hash_="h", status=status("Running", running()))

    def working() -> dict[tuple[str, str, str], float]:
        """Give the numbers that are not 0."""
        found = {}
        for lifecycle in ("sync", "terminating", "terminated"):
            for config in ("desired", "orphan"):
                for static in ("", "true"):
                    labels = {"lifecycle": lifecycle, "config": config, "static": static}
                    value = sample("berthmaster_working_pods", **labels)
                    assert value is not None
                    if value:
                        found[lifecycle, config, static] = value
        return found

    agent.handle(PodsListed(Source.FILE, (make_pod("a", uid="s"),), at(0)), at(0))
    agent.handle(PodsListed(Source.API, (mirror,), at(1)), at(1))
    assert working() == {("sync", "desired", "true"): 1}
    assert sample("berthmaster_mirror_pods", state="paired") == 1
    agent.handle(PodsListed(Source.FILE, (), at(2)), at(2))
    assert working() == {("terminating", "orphan", "true"): 1}
    assert sample("berthmaster_mirror_pods", state="orphan") == 1
    assert sample("berthmaster_mirror_pods", state="paired") == 0


async def test_a_pod_that_waits_for_another_is_meant_to_sync() -> None:
    agent = NodeAgent([Source.FILE])
    sample = Samples(ShadowMetrics(agent).collect)
    agent.handle(PodsListed(Source.FILE, (make_pod("a", uid="1"),), at(0)), at(0))
    agent.handle(PodsListed(Source.FILE, (make_pod("a", uid="2"),), at(1)), at(1))
    labels = {"static": "true"}
    name = "berthmaster_working_pods"
    assert sample(name, lifecycle="terminating", config="orphan", **labels) == 1
    assert sample(name, lifecycle="sync", config="desired", **labels) == 1
