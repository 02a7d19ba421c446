"""What holds for every cluster, whatever is wrong with it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from berthmaster.cli.diagnosis.facts import (
    DaemonPod,
    Facts,
    Installation,
    LeaseState,
    LiveAnswer,
    NodeState,
    PendingPod,
    StoppedPod,
    Unread,
)
from berthmaster.cli.diagnosis.finding import OBJECTS_TOLD, Severity
from berthmaster.cli.diagnosis.judgement import is_wrong, judge, verdict
from berthmaster.cli.diagnosis.report import Report, render, report_of
from berthmaster.cli.diagnosis.room import room_left, takes_pods
from node_agent.core.divergence.causes import Cause
from tests.unit.berthmaster.diagnosis.clusters import HEALTHY, NOW

names = st.sampled_from(["a", "b", "c", "berthmaster", "default-scheduler", "x_y"])
times = st.one_of(st.none(), st.floats(NOW - 1e6, NOW + 100))
past = st.floats(NOW - 1e6, NOW + 100)
amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "pods", "x/y"]), st.integers(0, 2**40))
daemons = st.builds(
    DaemonPod,
    namespace=names,
    name=names,
    node_name=names,
    host_name=names,
    version=st.sampled_from(["", "1.0", "2.0", "dev"]),
    is_ready=st.booleans(),
    is_ending=st.booleans(),
    last_restart=times,
    created=past,
)
leases = st.builds(
    LeaseState,
    namespace=names,
    name=names,
    holder=st.sampled_from(["", "a_1", "zz"]),
    duration_seconds=st.integers(1, 60),
    renewed=times,
    was_renewed=st.sampled_from([None, True, False]),
)
installations = st.builds(
    Installation,
    names=st.lists(names, min_size=1, max_size=2, unique=True).map(tuple),
    lease_key=st.sampled_from(["", "a/b"]),
    lease=st.one_of(st.none(), leases),
    lease_is_known=st.booleans(),
    replicas=st.lists(daemons, max_size=3).map(tuple),
)
pending_pods = st.builds(
    PendingPod,
    namespace=names,
    name=names,
    scheduler_name=names,
    created=past,
    reason=st.sampled_from(["", "Unschedulable", "SchedulingGated", "SchedulerError"]),
    message=st.sampled_from(["", "0/2 nodes are available: 2 Insufficient cpu.", "odd, text"]),
    since=times,
    gates=st.lists(names, max_size=2).map(tuple),
    nominated_node=st.sampled_from(["", "a"]),
    requests=amounts.map(lambda each: tuple(sorted(each.items()))),
)
stopped_pods = st.builds(
    StoppedPod,
    namespace=names,
    name=names,
    node_name=names,
    scheduler_name=names,
    cause=st.sampled_from([*(cause.value for cause in Cause), "new"]),
    detail=st.sampled_from(["", "It is so."]),
    since=times,
)
nodes = st.builds(
    NodeState,
    name=names,
    created=past,
    ready=st.sampled_from(["True", "False", "Unknown", ""]),
    ready_since=times,
    silent_seconds=st.sampled_from([None, 41.0]),
    bad_conditions=st.sampled_from([(), ("DiskPressure",)]),
    is_cordoned=st.booleans(),
    taints=st.sampled_from([(), ("k=v:NoSchedule",), ("node.kubernetes.io/not-ready:NoExecute",)]),
    kubelet_version=st.sampled_from(["", "v1.36.3", "v1.20.0"]),
    allocatable=amounts,
    used=amounts,
)
clusters = st.builds(
    Facts,
    now=st.just(NOW),
    kubernetes_version=st.sampled_from(["v1.36.3", ""]),
    installations=st.lists(installations, max_size=2).map(tuple),
    kube_scheduler=st.one_of(st.none(), leases),
    pending=st.one_of(st.none(), st.lists(pending_pods, max_size=40).map(tuple)),
    stopped=st.lists(stopped_pods, max_size=8).map(tuple),
    bound_count=st.integers(0, 9),
    nodes=st.one_of(st.none(), st.lists(nodes, max_size=4).map(tuple)),
    evicting_nodes=st.sampled_from([frozenset(), frozenset({"a"})]),
    usage_is_known=st.booleans(),
    agents=st.lists(daemons, max_size=3).map(tuple),
    wanted_agents=st.sampled_from([None, 0, 2]),
    judged_names=st.frozensets(names, max_size=2),
    live=st.dictionaries(
        st.sampled_from(["a/b", "b/c"]), st.builds(LiveAnswer, fits_on=st.integers(0, 3))
    ),
    unread=st.sampled_from([(), (Unread(resource="pods", verb="list", reason="no"),)]),
)


@given(clusters)
def test_every_finding_says_what_and_why_and_the_worst_comes_first(facts: Facts) -> None:
    findings = judge(facts)
    ranks = [finding.severity.rank for finding in findings]
    assert ranks == sorted(ranks)
    for finding in findings:
        assert finding.what.endswith((".", "?"))
        assert "{" not in finding.what + finding.why
        assert "  " not in finding.what
        assert len(finding.objects) <= OBJECTS_TOLD
        assert finding.since_seconds is None or finding.since_seconds >= 0
        if finding.severity in (Severity.PROBLEM, Severity.WARNING):
            assert finding.why
    assert judge(facts) == findings
    assert is_wrong(findings) == (verdict(findings) in (Severity.PROBLEM, Severity.WARNING))


@given(clusters)
def test_every_pod_without_a_node_is_counted_at_most_once(facts: Facts) -> None:
    counted = sum(f.count for f in judge(facts) if f.area == "pending")
    assert counted <= len(facts.pending or ())
    young = replace(facts, pending=(*(facts.pending or ()), OLD_AND_UNSEEN))
    assert sum(f.count for f in judge(young) if f.area == "pending") == counted + 1


OLD_AND_UNSEEN = PendingPod(
    namespace="z", name="z", scheduler_name="nobody-serves-this", created=NOW - 1e5
)


@given(clusters)
def test_a_report_is_json_that_can_be_read_back(facts: Facts) -> None:
    findings = judge(facts)
    report = report_of(facts, findings)
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
    assert sum(report.counts.values()) == len(findings)
    render(facts, findings)


@given(st.lists(nodes, max_size=6))
def test_room_is_that_of_the_nodes_that_take_pods(all_nodes: list[NodeState]) -> None:
    usable = [node for node in all_nodes if takes_pods(node, NOW)]
    assert room_left(all_nodes, NOW) == room_left(usable, NOW)
    for each in room_left(all_nodes, NOW):
        frees = [
            max(n.allocatable.get(each.resource, 0) - n.used.get(each.resource, 0), 0)
            for n in usable
        ]
        assert each.free == sum(frees)
        assert each.largest_free == max(frees)
        assert each.largest_free <= each.largest_allocatable <= each.allocatable


def test_a_healthy_cluster_raises_no_alarm() -> None:
    findings = judge(HEALTHY)
    assert {f.severity for f in findings} == {Severity.OK}
    assert not is_wrong(findings)
    assert verdict([]) is Severity.OK
