"""The scheduler process while its watches and lists fail: no Pod is lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane
from tests.faultproxy import Cut, End, Fault, HalfOpen, Inject, Match, Respond, Silence
from tests.integration.scheduler_faults.cluster import Cluster
from tests.integration.scheduler_faults.link import Link
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.integration.scheduler_faults.replicas import Replica
from tests.integration.scheduler_faults.server import Server
from tests.integration.scheduler_faults.stage import Stage, check_cluster, start_scheduler

pytestmark = pytest.mark.integration

EXPIRED = (
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired",'
    b'"message":"too old resource version: 1 (2)","code":410}'
)
WATCH = Match(watch=True, path=r"/(pods|nodes)$")
LIST = Match(method="GET", watch=False, path=r"/(pods|nodes)$", query="limit=[^1]")
"""Pages, and not the single object that tells whether the server has an older past."""


@pytest.fixture(scope="module")
def silenced_cluster(server: Server) -> Iterator[Cluster]:
    """Give a cluster for the scheduler that hears nothing."""
    with Cluster.create(server) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def silenced(
    silenced_cluster: Cluster,
    loop: LoopThread,
    plane: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Replica]:
    """Give a scheduler that hears nothing, and misses what fills its Nodes to the last place.

    It takes 105 s until that is noticed: the other tests are run meanwhile.
    """
    cluster, directory = silenced_cluster, tmp_path_factory.mktemp("silenced")
    arguments = ("--leader-elect=false", "--scheduler-name=silenced")
    with Replica.start(cluster, loop, plane, directory, *arguments) as replica:
        replica.wait_leading()
        cluster.create_nodes("a", pods="10")
        cluster.create_pods([f"before-{n}" for n in range(10)], schedulerName="silenced")
        cluster.wait_bound()
        silent = Silence(match=Match(watch=True, path=r"/pods$"), times=1)
        half_open = HalfOpen(match=Match(watch=True, path=r"/nodes$"), times=1)
        replica.link.add(silent)
        replica.link.add(half_open)
        replica.link.drop()
        replica.link.wait_hits(silent)
        replica.link.wait_hits(half_open)
        cluster.delete_pods([f"before-{n}" for n in range(5)])
        cluster.create_nodes("b", pods="5")
        cluster.create_pods([f"after-{n}" for n in range(10)], schedulerName="silenced")
        yield replica


def break_watches(kind: str) -> Fault:
    """Give a fault for the next watches of Pods and Nodes."""
    faults: dict[str, Fault] = {
        "dropped": Cut(match=WATCH, after_lines=5, times=6),
        "dropped inside a line": Cut(match=WATCH, after_lines=3, extra_bytes=40, times=6),
        "ended": End(match=WATCH, after_lines=5, times=6),
        "garbage": Inject(match=WATCH, after_lines=4, line=b"<html>502</html>", times=6),
        "expired inside": Inject(
            match=WATCH, after_lines=4, line=b'{"type":"ERROR","object":%b}' % EXPIRED, times=6
        ),
        "expired": Respond(match=WATCH, status=410, body=EXPIRED, times=4),
        "throttled": Respond(
            match=WATCH, status=429, headers={"Retry-After": "1"}, body=b"busy", times=2
        ),
        "server error": Respond(match=WATCH, status=500, body=b"etcdserver: lost", times=4),
    }
    return faults[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "dropped",
        "dropped inside a line",
        "ended",
        "garbage",
        "expired inside",
        "expired",
        "throttled",
        "server error",
    ],
)
def test_burst_while_watches_break(stage: Stage, kind: str) -> None:
    """The Pods that are not deleted fill the Nodes: one counted too often would find no room."""
    cluster, link = stage.cluster, stage.link
    cluster.create_nodes(*"abcde", pods="16")
    fault = link.add(break_watches(kind))
    link.drop()
    cluster.create_pods([f"first-{n}" for n in range(60)])
    cluster.create_nodes(*"fghij", pods="4")
    cluster.delete_pods([f"first-{n}" for n in range(0, 60, 3)])
    cluster.create_pods([f"second-{n}" for n in range(60)])
    cluster.wait_bound()
    assert fault.hits >= 2
    assert len(cluster.pods()) == 5 * 16 + 5 * 4
    stage.check()


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 429, "headers": {"Retry-After": "1"}, "body": b"busy"},
        {"status": 500, "body": b"etcdserver: request timed out"},
        {"status": 503, "headers": {"Content-Type": "text/html"}, "body": b"<html>unavailable"},
        {"status": 200, "headers": {"Content-Type": "text/html"}, "body": b"<html>sign in"},
        {"status": 200, "body": b'{"kind":"PodList","metadata":{},"items":null}'},
    ],
    ids=["throttled", "server error", "unavailable", "no JSON", "no list"],
)
def test_burst_while_lists_fail(stage: Stage, answer: dict[str, Any]) -> None:
    """What happens until a list works at last is found out by it, also what is gone."""
    cluster, link = stage.cluster, stage.link
    cluster.create_nodes(*"abcde", pods="4")
    cluster.create_nodes("full", pods="0")
    cluster.create_pods([f"before-{n}" for n in range(20)])
    cluster.wait_bound()
    first = len(link.requests())
    link.add(Respond(match=WATCH, status=410, body=EXPIRED, times=2))
    failing = link.add(Respond(match=LIST, times=4, **answer))
    link.drop()
    link.wait_hits(failing)
    cluster.delete_pods([f"before-{n}" for n in range(10)])
    cluster.delete_node("full")
    cluster.create_nodes("f", pods="8")
    cluster.create_pods([f"after-{n}" for n in range(18)])
    cluster.wait_bound()
    assert failing.hits == 4
    assert len(cluster.pods()) == 5 * 4 + 8
    stage.check()
    if answer["status"] == 429:
        for path in ("/api/v1/pods", "/api/v1/nodes"):
            times = [r.at for r in link.requests(LIST, since=first) if path in r.target]
            assert min(later - earlier for earlier, later in pairwise(times)) >= 1.0


def test_starts_while_nothing_can_be_listed(
    cluster: Cluster, loop: LoopThread, plane: ControlPlane, tmp_path: Path
) -> None:
    cluster.create_nodes("a")
    cluster.create_pods(["p"], schedulerName="late")
    with Link(loop, plane, tmp_path) as link:
        failing = link.add(Respond(match=Match(method="GET"), status=500, body=b"no", times=12))
        arguments = ("--leader-elect=false", "--scheduler-name=late")
        with start_scheduler(link, tmp_path / "log", *arguments) as process:
            process.wait_line("List or watch failed")
            assert process.get("/readyz")[0] == 500
            cluster.wait_bound()
            assert failing.hits == 12
            assert process.get("/readyz") == (200, "ok")


def test_silent_and_half_open_watches(silenced: Replica, silenced_cluster: Cluster) -> None:
    """A watch without a word, not even a bookmark, is dead, though its connection lives."""
    # 105 s without a byte at most, and the first waits after failures.
    silenced_cluster.wait_bound(timeout_seconds=115)
    assert len(silenced_cluster.pods()) == 15
    check_cluster(silenced_cluster, silenced.bindings())
