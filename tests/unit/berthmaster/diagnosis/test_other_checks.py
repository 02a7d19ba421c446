"""Pods that have a Node, Nodes, agents, Events and rights."""

import msgspec
import pytest

from berthmaster.cli.diagnosis.facts import Divergence, EventGroup, RefusedManifest, Unread
from berthmaster.cli.diagnosis.finding import Severity
from berthmaster.cli.diagnosis.node_checks import minor_of
from node_agent.core.divergence.causes import Cause
from tests.unit.berthmaster.diagnosis.clusters import (
    NOW,
    agent,
    installation,
    judged,
    node,
    only,
    replica,
    stopped,
    wrong,
)


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_that_has_lasted_for_half_an_hour_is_told(cause: Cause) -> None:
    web = stopped(cause.value, since=NOW - 1800)
    found = judged(stopped=(web, stopped(cause.value, "db", node_name="n2", since=NOW - 1800)))
    finding = only(found, f"pods-{cause.value.replace('_', '-')}")
    assert finding.severity in (Severity.WARNING, Severity.PROBLEM)
    assert finding.count == 2
    assert finding.what.startswith("2 Pods ")
    assert finding.what.endswith(", on 2 Nodes.")
    assert finding.why
    assert finding.objects == ("shop/db on n2", "shop/web on n1")
    assert finding.next_command.partition(" ")[0] in ("kubectl", "berthmaster")
    assert "{" not in finding.next_command
    assert "running" not in found


@pytest.mark.parametrize(
    "cause",
    [
        cause
        for cause in Cause
        if cause not in (Cause.REFUSED, Cause.CRASH_LOOP)  # which need no time to be wrong
    ],
)
def test_a_pod_that_was_bound_a_moment_ago_is_starting(cause: Cause) -> None:
    found = judged(stopped=(stopped(cause.value, since=NOW - 9),))
    assert wrong(found) == set()
    assert only(found, "running").severity is Severity.OK


def test_what_was_refused_long_ago_is_history() -> None:
    found = judged(stopped=(stopped("refused", since=NOW - 86400),))
    assert wrong(found) == set()
    assert only(found, "pods-refused").severity is Severity.NOTE


def test_one_pod_is_told_in_the_singular() -> None:
    [finding] = judged(stopped=(stopped("kubelet_silent"),))["pods-kubelet-silent"]
    assert finding.what == ("1 Pod is bound, and its kubelet has reported nothing of it (Node n1).")
    [finding] = judged(stopped=(stopped("crash_loop"),))["pods-crash-loop"]
    assert finding.what == "1 Pod ends again and again (Node n1)."
    assert finding.next_command.startswith("kubectl -n shop logs web ")


def test_on_a_node_that_is_not_ready_the_node_is_the_cause() -> None:
    nodes = (node("n1", ready="Unknown"), node("n2"))
    found = judged(nodes=nodes, stopped=(stopped("readiness_probe"), stopped("refused", "db")))
    assert {"pods-kubelet-unreachable", "pods-refused", "nodes-not-ready"} <= set(found)
    assert "pods-readiness-probe" not in found


def test_a_cause_of_a_newer_agent_is_told_as_unknown() -> None:
    assert "pods-unknown" in judged(stopped=(stopped("from_the_future"),))


def test_divergences_are_told_by_kind() -> None:
    each = Divergence(
        node_name="n1", kind="missing_in_kubelet", pod="a/b", detail="Unseen.", age_seconds=40
    )
    finding = only(judged(divergences=(each,)), "kubelet-diverges")
    assert finding.severity is Severity.WARNING
    assert finding.detail == ("a/b on n1: Unseen.",)
    assert "/nodes/n1/proxy/pods" in finding.next_command
    assert finding.since_seconds == 40


def test_a_divergence_that_may_pass_by_itself_is_nothing_wrong() -> None:
    young = Divergence(
        node_name="n1", kind="unknown_to_kubelet", pod="a/b", detail="Ends.", age_seconds=29
    )
    assert only(judged(divergences=(young,)), "kubelet-diverges").severity is Severity.NOTE
    old = msgspec.structs.replace(young, age_seconds=30)
    finding = only(judged(divergences=(young, old)), "kubelet-diverges")
    assert finding.severity is Severity.WARNING


def test_manifests_that_give_no_pod_are_told() -> None:
    each = RefusedManifest(node_name="n1", place="/etc/k/web.yaml", message="no name")
    finding = only(judged(refused_manifests=(each,)), "manifests-refused")
    assert finding.severity is Severity.WARNING
    assert finding.what == "Of 1 manifest no static Pod is made."
    assert finding.detail == ("/etc/k/web.yaml on n1: no name",)
    assert finding.next_command.endswith("# on n1")


def test_no_nodes_and_no_usable_nodes() -> None:
    assert only(judged(nodes=()), "no-nodes").severity is Severity.PROBLEM
    nodes = (node("n1", is_cordoned=True), node("n2", ready="False"))
    found = judged(nodes=nodes)
    assert only(found, "no-usable-nodes").severity is Severity.PROBLEM
    assert "room" not in found


def test_nodes_that_are_not_ready() -> None:
    sick = node("n2", ready="Unknown", ready_since=NOW - 120, ready_message="Kubelet stopped.")
    found = judged(nodes=(node("n1"), sick))
    finding = only(found, "nodes-not-ready")
    assert finding.what == "1 of 2 Nodes is not ready."
    assert finding.since_seconds == 120
    assert finding.detail == ("Kubelet stopped. (1)",)
    joining = node("n2", ready="False", created=NOW - 20)
    assert wrong(judged(nodes=(node("n1"), joining))) == set()


def test_a_node_whose_kubelet_is_silent_takes_no_pods_before_it_is_called_not_ready() -> None:
    silent = node("n2", silent_seconds=43.0)
    found = judged(nodes=(node("n1"), silent), stopped=(stopped("not_seen", node_name="n2"),))
    finding = only(found, "nodes-silent")
    assert finding.severity is Severity.WARNING
    assert finding.what == "On 1 of 2 Nodes the kubelet has stopped renewing its Lease."
    assert (finding.objects, finding.since_seconds) == (("n2",), 43)
    assert only(found, "nodes").what == "1 of 2 Nodes can take new Pods."
    assert only(found, "room").what.startswith("Room left: cpu 3 free, 3 on one Node")
    # What is said of Pods there may be old.
    assert only(found, "pods-kubelet-unreachable").objects == ("shop/web on n2",)
    assert "no-usable-nodes" in judged(nodes=(silent,))


def test_a_node_that_never_had_a_kubelet_is_no_room_once_it_is_late() -> None:
    late = judged(nodes=(node("n1"), node("n2", ready="")))
    assert only(late, "nodes-not-ready").objects == ("n2",)
    assert only(late, "nodes").what == "1 of 2 Nodes can take new Pods."
    joining = judged(nodes=(node("n1"), node("n2", ready="", created=NOW - 20)))
    assert only(joining, "nodes").what == "2 of 2 Nodes can take new Pods."


def test_pressure_cordons_and_taints() -> None:
    nodes = (
        node("n1", bad_conditions=("DiskPressure",)),
        node("n2", is_cordoned=True, taints=("node.kubernetes.io/unschedulable:NoSchedule",)),
        node("n3", taints=("dedicated=batch:NoSchedule",)),
    )
    found = judged(nodes=nodes, agents=())
    assert wrong(found) == {"nodes-under-pressure"}
    assert only(found, "nodes-cordoned").objects == ("n2",)
    assert only(found, "nodes-cordoned").next_command == (
        "kubectl get nodes --field-selector spec.unschedulable=true"
    )
    tainted = only(found, "nodes-tainted")
    assert tainted.objects == ("n3",)
    assert tainted.detail == ("dedicated=batch:NoSchedule: 1 Node",)


def test_taints_of_the_control_plane_are_no_news() -> None:
    taint = "node-role.kubernetes.io/control-plane:NoSchedule"
    first = node("n1", taints=(taint,))
    usual = only(judged(nodes=(first, node("n2"))), "nodes-tainted")
    assert usual.severity is Severity.OK
    assert usual.what == f"1 of 2 Nodes has taints: {taint}."
    own = node("n2", taints=("dedicated=batch:NoSchedule",))
    found = only(judged(nodes=(first, own)), "nodes-tainted")
    assert found.severity is Severity.NOTE
    assert len(found.detail) == 2


@pytest.mark.parametrize(
    ("version", "is_skewed"),
    [("v1.36.0", False), ("v1.33.9", False), ("v1.32.0", True), ("v1.37.0", True), ("odd", False)],
)
def test_versions_of_kubelets(version: str, is_skewed: bool) -> None:
    found = judged(nodes=(node("n1"), node("n2", kubelet_version=version)))
    assert ("kubelet-version-skew" in found) is is_skewed


def test_versions_are_read() -> None:
    assert minor_of("v1.36.3-gke.4") == (1, 36)
    assert minor_of("") is None


def test_room_is_told_and_its_lack_warned_of() -> None:
    finding = only(judged(), "room")
    assert finding.what == (
        "Room left: cpu 6 free, 3 on one Node; memory 14Gi free, 7Gi on one Node; pods 214 free, "
        "107 on one Node."
    )
    full = tuple(node(name, used={"cpu": 4000}) for name in ("n1", "n2"))
    finding = only(judged(nodes=full), "nodes-full")
    assert finding.severity is Severity.WARNING
    assert "no cpu left on 2 Nodes" in finding.what
    assert {"room", "nodes-full"}.isdisjoint(judged(usage_is_known=False))
    assert {"room", "nodes"}.isdisjoint(judged(nodes=None))


def test_agents_are_missing_only_where_they_are_wanted() -> None:
    found = judged(agents=(agent("n1"),))
    assert only(found, "agents-missing").objects == ("n2",)
    assert wrong(judged(agents=(agent("n1"),), wanted_agents=1)) == set()
    assert wrong(judged(agents=(agent("n1"),), wanted_agents=None)) == {"agents-missing"}
    new = (node("n1"), node("n2", created=NOW - 5))
    assert wrong(judged(agents=(agent("n1"),), nodes=new)) == set()
    assert wrong(judged(agents=())) == set()


def test_agents_that_are_not_ready() -> None:
    sick = agent("n2", is_ready=False, trouble="CrashLoopBackOff")
    finding = only(judged(agents=(agent("n1"), sick)), "agents-not-ready")
    assert finding.objects == ("berthmaster/agent-n2 on n2",)
    assert finding.detail == ("CrashLoopBackOff",)
    young = agent("n2", is_ready=False, created=NOW - 5)
    assert wrong(judged(agents=(agent("n1"), young))) == set()


def test_versions_of_agents() -> None:
    assert "agent-version-skew" in judged(agents=(agent("n1"), agent("n2", version="2.0")))
    newer = installation(replicas=(replica("scheduler-a", version="2.0"),))
    finding = only(judged(installations=(newer,), own_version="2.0"), "agent-version-skew")
    assert "1.2.3; schedulers have 2.0" in finding.what


def test_warning_events_are_a_note() -> None:
    group = EventGroup(
        reason="FailedBinding",
        controller="berthmaster",
        count=7,
        last=NOW - 60,
        message="no",
        about=("shop/web",),
    )
    finding = only(judged(events=(group,)), "warning-events")
    assert finding.severity is Severity.NOTE
    assert (finding.count, finding.objects) == (1, ("shop/web",))
    assert "7 Warning Events" in finding.what
    assert finding.detail == ("berthmaster: FailedBinding of shop/web (7 times, 60 s ago): no",)
    assert "reportingComponent=berthmaster" in finding.next_command
    assert "warning-events" not in judged()


@pytest.mark.parametrize(
    ("unread", "check", "severity", "command"),
    [
        (
            Unread(resource="pods", verb="list", reason="no"),
            "right-missing",
            Severity.WARNING,
            "kubectl auth can-i list pods -A",
        ),
        (
            Unread(resource="events", verb="list", reason="no", namespace="shop"),
            "right-missing",
            Severity.NOTE,
            "kubectl auth can-i list events -n shop",
        ),
        (
            Unread(resource="events", verb="list", reason="500", is_refused=False),
            "not-read",
            Severity.WARNING,
            "kubectl get events -A",
        ),
    ],
)
def test_what_could_not_be_read_is_named(
    unread: Unread, check: str, severity: Severity, command: str
) -> None:
    finding = only(judged(unread=(unread,)), check)
    assert (finding.severity, finding.next_command) == (severity, command)
    assert finding.why == unread.reason


def test_who_could_not_be_asked_is_a_note() -> None:
    waiting = (stopped("volumes", since=NOW - 5),)
    found = judged(live_problem="403.", agents_problem="401.", stopped=waiting)
    assert wrong(found) == set()
    assert "403." in only(found, "scheduler-not-asked").what
    assert "401." in only(found, "agents-not-asked").what
    asked = only(found, "scheduler-not-asked").next_command
    assert asked.startswith("berthmaster diagnose --server https://HOST:10259 ")
    at_url = judged(live_problem="403.", scheduler_url="https://127.0.0.1:10259")
    asked = only(at_url, "scheduler-not-asked").next_command
    assert asked == "curl -k 'https://127.0.0.1:10259/readyz?verbose'"
    # Without Pods to ask about, nobody misses it.
    assert "agents-not-asked" not in judged(agents_problem="401.")
