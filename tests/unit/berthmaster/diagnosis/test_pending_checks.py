from typing import Any

import pytest

from berthmaster.cli.diagnosis.facts import LiveAnswer, Scope
from berthmaster.cli.diagnosis.finding import Severity
from berthmaster.cli.diagnosis.pending_checks import groups_of, reasons_of
from tests.unit.berthmaster.diagnosis.clusters import (
    NOW,
    installation,
    judged,
    lease,
    node,
    only,
    pending,
    rejected,
    replica,
    wrong,
)


def test_no_pending_pod_is_ok() -> None:
    assert only(judged(), "pending").severity is Severity.OK


def test_pods_that_could_not_be_read_are_not_judged() -> None:
    assert "pending" not in judged(pending=None)


@pytest.mark.parametrize(
    ("message", "reasons"),
    [
        (
            (
                "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
                "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption "
                "is not helpful for scheduling."
            ),
            "Insufficient cpu, node(s) had untolerated taint(s)",
        ),
        ("0/5000 nodes are available: 5000 Insufficient cpu.", "Insufficient cpu"),
        (
            (
                "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
                "2 No preemption victims found for incoming pod."
            ),
            "Insufficient cpu",
        ),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
        ("", ""),
    ],
)
def test_what_is_said_of_nodes_without_numbers(message: str, reasons: str) -> None:
    assert reasons_of(message) == reasons


def test_pods_that_wait_for_the_same_are_one_finding() -> None:
    many = tuple(
        rejected(
            f"web-{n}",
            message=f"0/{n} nodes are available: {n} Insufficient cpu.",
            since=NOW - 100 - n,
        )
        for n in range(3, 40)
    )
    other = rejected("gpu", message="0/9 nodes are available: 9 Insufficient example.com/gpu.")
    large, small = judged(pending=(*many, other))["pods-unschedulable"]
    assert (large.count, small.count) == (37, 1)
    assert large.what == "37 Pods of berthmaster fit on no Node: Insufficient cpu."
    assert small.what == "1 Pod of berthmaster fits on no Node: Insufficient example.com/gpu."
    assert large.since_seconds == 139
    assert large.objects[0] == "shop/web-39"
    assert len(large.objects) == 20
    assert small.next_command == (
        "berthmaster explain pod gpu -n shop --lease berthmaster/berthmaster"
    )


def test_groups_differ_by_scheduler() -> None:
    groups = groups_of([rejected("a"), rejected("b", scheduler_name="gpu")])
    assert sorted(group[0].scheduler_name for group in groups) == ["berthmaster", "gpu"]


@pytest.mark.parametrize(
    ("age_seconds", "severity"),
    [(3, Severity.WARNING), (29, Severity.WARNING), (30, Severity.PROBLEM)],
)
def test_what_has_just_begun_may_pass(age_seconds: float, severity: Severity) -> None:
    found = judged(pending=(rejected(since=NOW - age_seconds),))
    assert only(found, "pods-unschedulable").severity is severity


def test_a_request_that_no_node_can_meet_is_named() -> None:
    requests = (("cpu", 32000), ("example.com/gpu", 1), ("memory", 2**30), ("pods", 1))
    detail = only(judged(pending=(rejected(requests=requests),)), "pods-unschedulable").detail
    assert "shop/web asks for 32 of cpu; the largest Node has 4 when it is empty." in detail
    assert "shop/web asks for 1 of example.com/gpu, which no Node offers." in detail
    assert len(detail) == 3
    fits_when_empty = rejected(requests=(("cpu", 3500),))
    detail = only(judged(pending=(fits_when_empty,)), "pods-unschedulable").detail
    assert "shop/web asks for 3.5 of cpu; the most that is free on one Node is 3." in detail


def test_room_is_not_told_where_it_is_not_known() -> None:
    pod = rejected(requests=(("cpu", 32000),))
    found = judged(pending=(pod,), usage_is_known=False)
    assert only(found, "pods-unschedulable").detail == (pod.message,)


def test_the_running_scheduler_has_the_last_word() -> None:
    text = "0/2 nodes are available: 2 node(s) had untolerated taint(s)."
    live = {"shop/b": LiveAnswer(node_count=2, fit_error=text)}
    found = judged(pending=(rejected("a", since=NOW - 500), rejected("b")), live=live)
    finding = only(found, "pods-unschedulable")
    assert "untolerated taint(s)" in finding.what
    assert finding.detail == (text,)
    assert "explain pod b " in finding.next_command
    live = {"shop/b": LiveAnswer(node_count=2, fits_on=1)}
    finding = only(judged(pending=(rejected("b"),), live=live), "pods-unschedulable")
    assert "shop/b would fit on 1 of 2 Nodes now." in finding.detail


def test_a_failing_attempt_is_no_lack_of_room() -> None:
    pod = pending(reason="SchedulerError", message="extender: no answer", since=NOW - 60)
    finding = only(judged(pending=(pod,)), "pods-scheduling-fails")
    assert finding.severity is Severity.PROBLEM
    assert finding.detail == ("extender: no answer",)


def test_a_name_that_nobody_serves_has_a_nearest_one() -> None:
    found = judged(pending=(pending("typo", scheduler_name="berthmastr"),))
    finding = only(found, "scheduler-name-unknown")
    assert finding.severity is Severity.PROBLEM
    assert "did you mean 'berthmaster'?" in finding.what
    assert finding.objects == ("shop/typo",)
    far = only(judged(pending=(pending(scheduler_name="zzz"),)), "scheduler-name-unknown")
    assert "known are: berthmaster, default-scheduler" in far.what


def test_a_name_that_somebody_has_acted_for_is_known() -> None:
    pods = (pending(scheduler_name="volcano", created=NOW - 5),)
    assert wrong(judged(pending=pods, judged_names=frozenset({"volcano"}))) == set()
    assert "scheduler-name-unknown" in judged(pending=pods)


@pytest.mark.parametrize(("there", "known"), [(None, True), (None, False)])
def test_kube_schedulers_name_is_doubted_only_where_its_lease_is_known_to_be_missing(
    there: None, known: bool
) -> None:
    found = judged(
        pending=(pending(scheduler_name="default-scheduler"),),
        judged_names=frozenset({"berthmaster"}),
        kube_scheduler=there,
        kube_scheduler_is_known=known,
    )
    assert ("scheduler-name-unknown" in found) is known
    assert ("pods-not-tried" in found) is not known


def test_pods_wait_for_a_leader() -> None:
    free = installation(lease=lease(holder="", renewed=NOW - 99))
    found = judged(installations=(free,), pending=(pending("a"), pending("b", created=NOW)))
    finding = only(found, "pods-without-scheduler")
    assert finding.severity is Severity.PROBLEM
    assert finding.count == 2
    assert "pods-not-tried" not in found


@pytest.mark.parametrize(
    ("scheduler_name", "lease_key", "is_told"),
    [("berthmaster", "", True), ("berthmaster", "infra/mine", False), ("volcano", "", False)],
)
def test_without_a_scheduler_of_ours_nobody_tries_its_pods_again(
    scheduler_name: str, lease_key: str, is_told: bool
) -> None:
    pods = tuple(make(scheduler_name=scheduler_name) for make in (rejected, pending))
    names = frozenset({"berthmaster", "volcano"})
    scope = Scope(lease=lease_key)
    found = judged(installations=(), pending=pods, judged_names=names, scope=scope)
    assert ("nobody tries them" in only(found, "pods-unschedulable").why) is is_told
    assert ("pods-without-scheduler" in found) is is_told
    assert ("pods-not-tried" in found) is not is_told


def test_a_pod_that_the_scheduler_has_said_nothing_of() -> None:
    found = judged(pending=(pending("old"), pending("young", created=NOW - 3)))
    finding = only(found, "pods-not-tried")
    assert finding.severity is Severity.WARNING
    assert finding.objects == ("shop/old",)
    gate = LiveAnswer(gate="DynamicResources: waiting for a claim")
    finding = only(judged(pending=(pending("old"),), live={"shop/old": gate}), "pods-not-tried")
    assert finding.detail == ("shop/old is not tried: DynamicResources: waiting for a claim",)
    assert wrong(judged(pending=(pending("young", created=NOW - 3),))) == set()


@pytest.mark.parametrize(
    ("evicting", "check"), [({"n1"}, "pods-waiting-for-victims"), (set(), "pods-held")]
)
def test_pods_that_wait_for_their_node(evicting: set[str], check: str) -> None:
    pods = (rejected("p", nominated_node="n1", since=NOW - 20),)
    finding = only(judged(pending=pods, evicting_nodes=frozenset(evicting)), check)
    assert finding.severity is Severity.NOTE
    assert finding.objects == ("shop/p on n1",)
    pods = (rejected("p", nominated_node="n1", since=NOW - 400),)
    found = judged(pending=pods, evicting_nodes=frozenset(evicting))
    assert only(found, check).severity is Severity.WARNING


def test_pods_for_which_others_end_are_told_apart_from_those_that_are_held() -> None:
    pods = (
        rejected("preemptor", nominated_node="n1"),
        pending("held", nominated_node="n2"),
        pending("held-too", nominated_node="n2"),
    )
    found = judged(pending=pods, evicting_nodes=frozenset({"n1"}))
    victims = only(found, "pods-waiting-for-victims")
    assert victims.what == "1 Pod waits for room that preemption makes."
    assert victims.objects == ("shop/preemptor on n1",)
    held = only(found, "pods-held")
    assert held.what == "For 2 Pods a Node is chosen, and they are not bound yet."
    assert held.objects == ("shop/held on n2", "shop/held-too on n2")
    assert "may not see" not in held.why
    # Who sees not all Pods cannot tell that none are ending there.
    unsure = judged(pending=pods, usage_is_known=False)
    assert "Pods that you may not see" in only(unsure, "pods-held").why


def test_gated_pods_are_told_by_their_gates() -> None:
    gated = tuple(
        pending(name, reason="SchedulingGated", gates=gates)
        for name, gates in (("a", ("q/x",)), ("b", ("q/x",)), ("c", ("q/y", "q/x")))
    )
    first, second = judged(pending=gated)["pods-gated"]
    assert first.what == "2 Pods are held back by gates: q/x."
    assert second.what == "1 Pod is held back by gates: q/x, q/y."
    assert wrong(judged(pending=gated)) == set()


def test_how_a_pod_is_explained_depends_on_where_its_scheduler_runs() -> None:
    outside = installation(replicas=(), lease=lease(holder="laptop_1"))
    found = judged(installations=(outside,), pending=(rejected(),))
    command = only(found, "pods-unschedulable").next_command
    assert command == "berthmaster explain pod web -n shop --from-cluster"
    url = "https://127.0.0.1:10259"
    found = judged(installations=(outside,), pending=(rejected(),), scheduler_url=url)
    command = only(found, "pods-unschedulable").next_command
    assert command == f"berthmaster explain pod web -n shop --server {url}"


def test_how_a_scheduler_is_asked_is_told_where_it_is_not_the_default() -> None:
    def command(**fields: Any) -> str:
        found = judged(installations=(installation(**fields),), pending=(rejected(),))
        return only(found, "pods-unschedulable").next_command

    plain = "berthmaster explain pod web -n shop"
    assert command(lease_key="kube-system/berthmaster") == plain
    assert command(lease_key="a/b") == f"{plain} --lease a/b"
    replicas = (replica("scheduler-a", port=9443),)
    assert command(lease_key="a/b", replicas=replicas) == (
        f"{plain} --lease a/b --secure-port 9443"
    )


def test_who_may_not_list_nodes_is_not_sent_to_list_them() -> None:
    outside = (installation(replicas=()),)
    found = judged(installations=outside, pending=(rejected(),))
    explain = "berthmaster explain pod web -n shop --from-cluster"
    assert only(found, "pods-unschedulable").next_command == explain
    found = judged(installations=outside, pending=(rejected(),), nodes=None)
    assert only(found, "pods-unschedulable").next_command == "kubectl -n shop describe pod web"


def test_a_scope_has_pods_by_namespace_and_scheduler() -> None:
    assert Scope().has("a", "x")
    assert Scope(namespace="a").has("a", "x")
    assert not Scope(namespace="b").has("a", "x")
    assert not Scope(scheduler_name="y").has("a", "x")


def test_no_room_is_summed_up_over_nodes_that_take_no_pods() -> None:
    cordoned = node("big", is_cordoned=True, allocatable={"cpu": 64000})
    pod = rejected(requests=(("cpu", 32000),))
    found = judged(pending=(pod,), nodes=(node("n1"), cordoned), agents=())
    assert any("largest Node has 4" in line for line in only(found, "pods-unschedulable").detail)


@pytest.mark.parametrize("said", ["", "0/2 nodes are available.", "pod group g: needs 8, 6 fit"])
def test_of_a_name_that_was_given_up_nothing_older_counts(said: str) -> None:
    text = "SchedulerProfile packing was deleted: no profile serves it any more."
    pod = rejected(scheduler_name="packing", message=said, reason="Unschedulable" if said else "")
    gated = pending("gated", scheduler_name="packing", gates=("a/b",))
    found = judged(
        pending=(pod, gated),
        judged_names=frozenset({"packing", "berthmaster"}),
        given_up_names={"packing": text},
    )
    assert wrong(found) == {"scheduler-name-unknown"}
    finding = only(found, "scheduler-name-unknown")
    assert (finding.objects, finding.detail) == (("shop/web",), (text,))
    assert "'packing'," not in finding.what.partition("serve")[2]
    # The text says that a profile of the name would do: then it is not so for ever.
    assert finding.why == "A Pod's schedulerName cannot be changed."
