"""A Pod is counted everywhere that Pods are counted, and off again."""

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.columns import CPU_ROW
from scheduler_svc.core.label_selectors import EVERYTHING
from scheduler_svc.core.objects import ContainerPort
from scheduler_svc.core.pod_counts import PodQuery, PodTerm
from tests.builders import make_cache, make_node_info, make_pod_info


def test_a_pod_counts_as_usage_as_ports_and_as_one_of_its_kind() -> None:
    cluster = Cluster()
    cluster.columns.set_node(make_node_info("n", cpu=2))
    pod = make_pod_info(requests={"cpu": 1}, ports=[ContainerPort(host_port=80)])
    everybody = cluster.pod_counts.counter(PodQuery((PodTerm(None, EVERYTHING),)))
    row = cluster.columns.rows["n"]

    cluster.count(pod, row, 1)
    assert cluster.columns.free[CPU_ROW, row] == 1000
    assert [port for _, port, _ in cluster.columns.ports.held(row)] == [80]
    assert everybody.tally.counts[row] == 1

    cluster.count(pod, row, -1)
    assert cluster.columns.free[CPU_ROW, row] == 2000
    assert cluster.columns.ports.held(row) == {}
    assert everybody.tally.counts[row] == 0


def test_counts_have_room_for_every_node() -> None:
    cluster = Cluster()
    everybody = cluster.pod_counts.counter(PodQuery((PodTerm(None, EVERYTHING),)))
    first = cluster.columns.row_for("n0")
    cluster.count(make_pod_info("first"), first, 1)
    last = [cluster.columns.row_for(f"n{i}") for i in range(1000)][-1]
    cluster.count(make_pod_info("last"), last, 1)
    assert len(everybody.tally.counts) == cluster.columns.capacity
    assert (everybody.tally.counts[first], everybody.tally.counts[last]) == (1, 1)


def test_the_pods_of_a_node_follow_speculation_on_that_node() -> None:
    there = make_pod_info("there", node="n")
    cache = make_cache([make_node_info("n"), make_node_info("m")], [there])
    n, m = (cache.columns.rows[name] for name in "nm")
    with cache.speculation() as speculation:
        speculation.add(make_pod_info("guest"), m)
        assert [pod.name for pod in cache.cluster.pods_on(n)] == ["there"]
        speculation.remove(there, n)
        assert cache.cluster.pods_on(n) == []
        assert [pod.name for pod in cache.cluster.pods_on(m)] == ["guest"]
