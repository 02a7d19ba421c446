"""The scheduler process while its Bindings fail: every Pod is bound in the end, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.faultproxy import Delay, Fault, HalfOpen, LoseAnswer, LoseRequest, Match, Respond
from tests.integration.rest import wait_for
from tests.integration.scheduler_faults.cluster_checks import SentBinding
from tests.integration.scheduler_faults.link import BINDING
from tests.integration.scheduler_faults.stage import Stage

pytestmark = pytest.mark.integration

POD_COUNT = 90
A_THIRD = Match(method="POST", path=r"/p-\d*[036]/binding$")
"""Of 90 Pods: those whose number ends with 0, 3 or 6."""
STRUCK_COUNT = 27


def burst(stage: Stage, faults: Sequence[Fault]) -> None:
    """Bind as many Pods as there is room for, with faults in the way."""
    stage.cluster.create_nodes(*"abcde", pods=str(POD_COUNT // 5))
    for fault in faults:
        stage.link.add(fault)
    stage.cluster.create_pods([f"p-{n}" for n in range(POD_COUNT)])
    stage.cluster.wait_bound()
    stage.check()


def post_counts(stage: Stage) -> list[int]:
    """Give how many Bindings were sent for each Pod, sorted."""
    names = [SentBinding.of(request).metadata.name for request in stage.bindings()]
    return sorted(names.count(name) for name in set(names))


def test_answers_are_lost(stage: Stage) -> None:
    """What the server did is found out, and is not asked for again."""
    lost = LoseAnswer(match=A_THIRD)
    burst(stage, [lost])
    assert lost.hits == STRUCK_COUNT
    assert post_counts(stage) == [1] * POD_COUNT
    assert not [line for line in stage.log() if "Failed to bind pod" in line]


def test_one_asks_for_all_while_reads_fail(stage: Stage) -> None:
    """What became of the Bindings is to be read; a server that is away is spared, and so are we."""
    read = Match(method="GET", path=r"/p-\d+$")
    lost = LoseAnswer(match=A_THIRD)
    failing = Respond(match=read, status=500, body=b"etcdserver: no leader")
    first = len(stage.link.requests())

    def counts() -> list[int]:
        targets = Counter(request.target for request in stage.link.requests(read, since=first))
        return sorted(targets.values())

    stage.cluster.create_nodes(*"abcde", pods=str(POD_COUNT // 5))
    stage.link.add(lost)
    stage.link.add(failing)
    stage.cluster.create_pods([f"p-{n}" for n in range(POD_COUNT)])
    wait_for("a Pod is read again and again", lambda: max(counts(), default=0) >= 4)
    assert [count for count in counts() if count > 1][1:] == []
    stage.link.clear()
    stage.cluster.wait_bound()
    assert post_counts(stage) == [1] * POD_COUNT
    stage.check()


def test_requests_are_lost(stage: Stage) -> None:
    """What the server did not do is asked for again, at once."""
    lost = LoseRequest(match=A_THIRD, times=STRUCK_COUNT)
    burst(stage, [lost])
    assert lost.hits == STRUCK_COUNT
    assert not [request for request in stage.bindings() if request.status not in (201, None)]


@pytest.mark.parametrize(
    "fault",
    [
        Respond(match=A_THIRD, times=40, status=500, body=b"etcdserver: request timed out"),
        Respond(match=A_THIRD, times=40, status=503, body=b"<html>unavailable"),
        Respond(match=A_THIRD, times=27, status=429, headers={"Retry-After": "1"}, body=b"busy"),
        Respond(match=A_THIRD, times=40, status=403, body=b"forbidden: quota"),
        HalfOpen(match=A_THIRD, times=40),
    ],
    ids=["500", "503", "429", "403", "time-out"],
)
def test_answers_say_no(stage: Stage, fault: Fault) -> None:
    burst(stage, [fault])
    assert fault.hits == fault.times


def test_everything_at_once(stage: Stage) -> None:
    """Each Pod meets another mixture; the server does some of what it is said not to have done."""
    faults: list[Fault] = [
        LoseAnswer(match=Match(method="POST", path=r"[05]/binding$"), times=12),
        LoseRequest(match=Match(method="POST", path=r"[16]/binding$"), times=12),
        Respond(match=Match(method="POST", path=r"[27]/binding$"), times=12, status=500),
        HalfOpen(match=Match(method="POST", path=r"[38]/binding$"), times=6),
        LoseAnswer(match=Match(method="GET", path=r"/p-\d+$"), times=20),
        Respond(match=Match(method="GET", path=r"/p-\d+$"), times=10, status=500),
    ]
    burst(stage, faults)
    assert [fault.hits for fault in faults] == [12, 12, 12, 6, 20, 10]


def test_node_goes_while_bindings_to_it_fail(stage: Stage) -> None:
    """A Binding is not sent again for a Node that is known to be gone.

    The API server would accept it, so whoever sends it must look.
    """
    cluster = stage.cluster
    cluster.create_nodes("gone")
    failing = stage.link.add(LoseRequest(match=BINDING))
    cluster.create_pods([f"p-{n}" for n in range(100)])
    stage.link.wait_hits(failing, 32)
    delete_node_and_wait(stage, "gone")
    stage.link.clear()
    cluster.create_nodes("other")
    cluster.wait_bound()
    assert set(cluster.nodes_by_pod().values()) == {cluster.node_name("other")}
    stage.check()


def test_node_goes_while_bindings_to_it_succeed(stage: Stage) -> None:
    """Pods may be on it whose Bindings were sent before; none is sent once that is known."""
    cluster = stage.cluster
    [gone] = cluster.create_nodes("gone")
    stage.link.add(Delay(match=BINDING, seconds=0.2))
    cluster.create_pods([f"p-{n}" for n in range(200)])
    wait_for("some are bound", lambda: len(cluster.pending_names()) < 150)
    delete_node_and_wait(stage, "gone")
    sent_count = len(stage.bindings())
    cluster.create_nodes("other")
    cluster.wait_bound()
    late = {SentBinding.of(request).target.name for request in stage.bindings()[sent_count:]}
    assert late == {cluster.node_name("other")}
    nodes_by_pod = cluster.nodes_by_pod()
    assert list(nodes_by_pod.values()).count(gone) <= sent_count
    cluster.delete_pods([name for name, node in nodes_by_pod.items() if node == gone])
    stage.check()


def delete_node_and_wait(stage: Stage, name: str) -> None:
    """Delete a Node and wait until the scheduler knows."""
    count = stage.metrics().value("scheduler_cache_size", type="nodes")
    stage.cluster.delete_node(name)
    wait_for(
        "it is known to be gone",
        lambda: stage.metrics().value("scheduler_cache_size", type="nodes") == count - 1,
    )
