"""Preemption on a real API server: kube-scheduler's own end-to-end scenarios, and then some.

Nobody runs Pods here: one that is evicted is gone at once if its grace period is 0, and else
it is terminating until the test removes it, as a kubelet would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.controlplane import ControlPlane, Reporter
from tests.integration.rest import create, read, request, wait_for
from tests.integration.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.integration

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berthmaster"
HOST = "kubernetes.io/hostname"
UNITS = "example.com/fakecpu"
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
PRIORITIES = {"p1": 1, "p2": 2, "p3": 3, "p4": 4}

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def module_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give a control plane of our own, with the controllers, and classes of priorities."""
    state_dir = tmp_path_factory.mktemp("live-preemption") / "state"
    with ControlPlane(state_dir, reporter=Reporter()) as running:
        for name, value in PRIORITIES.items():
            create(running, CLASSES, {"metadata": {"name": name}, "value": value})
        never = {"metadata": {"name": "never"}, "value": 9, "preemptionPolicy": "Never"}
        create(running, CLASSES, never)
        yield running


@pytest.fixture
def plane(module_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give it empty."""
    yield module_plane
    for path in (REPLICA_SETS, BUDGETS, POLICY_BINDINGS, POLICIES):
        request(module_plane, "DELETE", path)
    wait_for("no ReplicaSets", lambda: read(module_plane, REPLICA_SETS)["items"] == [])
    for path in (PODS, SYSTEM_PODS):
        wait_for(f"{path} is empty", partial(emptied, module_plane, path))
    for path in (EVENTS, NODES):
        request(module_plane, "DELETE", path, AT_ONCE)
    request(module_plane, "DELETE", LEASE)


def emptied(plane: ControlPlane, path: str) -> bool:
    """Remove all Pods, finalizers or not; whether there are none left."""
    pods = read(plane, path)["items"]
    for pod in pods:
        if pod["metadata"].pop("finalizers", None):
            request(plane, "PUT", f"{path}/{pod['metadata']['name']}", pod)
        remove(plane, pod["metadata"]["name"], path)
    return not pods


def remove(plane: ControlPlane, name: str, path: str = PODS) -> None:
    """End a Pod as a kubelet does that has stopped it."""
    request(plane, "DELETE", f"{path}/{name}", AT_ONCE)


class Watched(SchedulerProcess):
    """A scheduler whose metrics are looked at."""

    def metric(self, name: str) -> int:
        status, text = self.get("/metrics")
        assert status == 200
        values = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        return int(sum(map(float, values)))


@pytest.fixture
def scheduler(plane: ControlPlane, tmp_path: Path) -> Iterator[Watched]:
    """Give a running scheduler; no Pod may be found by the flush of those that wait too long."""
    with Watched(
        tmp_path / "log",
        *("--kubeconfig", str(plane.kubeconfig_path), "--secure-port", "0", "-v", "2"),
        *("--bind-address", "127.0.0.1", "--authorization", "none"),
    ) as process:
        yield process
        assert process.metric("scheduler_pod_scheduled_after_flush_total") == 0


def create_node(plane: ControlPlane, name: str, units: int = 10) -> None:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", UNITS: str(units)}
    metadata = {"name": name, "labels": {HOST: name}}
    create(plane, NODES, {"metadata": metadata, "status": {"allocatable": allocatable}})


def pod_spec(priority: str, units: int, grace_seconds: int = 0, **fields: Any) -> Manifest:
    amounts = {UNITS: str(units)}
    container = {
        "name": "c",
        "image": "x",
        "resources": {"requests": amounts, "limits": amounts} if units else {},
    }
    return {
        "schedulerName": "berthmaster",
        "priorityClassName": priority,
        "terminationGracePeriodSeconds": grace_seconds,
        "containers": [container],
        **fields,
    }


def create_pod(
    plane: ControlPlane,
    name: str,
    priority: str,
    units: int,
    *,
    path: str = PODS,
    labels: dict[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
    **fields: Any,
) -> None:
    metadata = {"name": name, "labels": labels or {}, "finalizers": list(finalizers)}
    create(plane, path, {"metadata": metadata, "spec": pod_spec(priority, units, **fields)})


def find(plane: ControlPlane, name: str, path: str = PODS) -> Manifest | None:
    status, pod = request(plane, "GET", f"{path}/{name}")
    return pod if status == 200 else None


def node_of(plane: ControlPlane, name: str, path: str = PODS) -> str:
    pod = find(plane, name, path)
    node: str = pod["spec"].get("nodeName", "") if pod else ""
    return node


def nomination(plane: ControlPlane, name: str) -> str:
    node: str = read(plane, f"{PODS}/{name}")["status"].get("nominatedNodeName", "")
    return node


def message(plane: ControlPlane, name: str) -> str:
    conditions = read(plane, f"{PODS}/{name}")["status"].get("conditions", [])
    found = [c["message"] for c in conditions if c["type"] == "PodScheduled" and "message" in c]
    return found[0] if found else ""


def place(plane: ControlPlane, name: str, priority: str, units: int, **fields: Any) -> str:
    """Create a Pod and wait until it has a Node."""
    create_pod(plane, name, priority, units, **fields)
    return placed(plane, name)


def placed(plane: ControlPlane, name: str, path: str = PODS) -> str:
    wait_for(f"{name} is bound", lambda: node_of(plane, name, path))
    return node_of(plane, name, path)


def is_leaving(plane: ControlPlane, name: str) -> bool:
    pod = find(plane, name)
    return pod is None or "deletionTimestamp" in pod["metadata"]


def wait_leaving(plane: ControlPlane, *names: str) -> None:
    for name in names:
        wait_for(f"{name} is evicted", partial(is_leaving, plane, name))


def stay(plane: ControlPlane, *names: str) -> bool:
    return not any(is_leaving(plane, name) for name in names)


def test_a_lower_priority_goes_for_a_high_one_and_medium_ones_stay(
    plane: ControlPlane, scheduler: Watched
) -> None:
    for name in ("n1", "n2"):
        create_node(plane, name)
    place(plane, "low", "p1", 6)
    for number in range(3):
        place(plane, f"medium{number}", "p2", 4)
    first = node_of(plane, "low")
    assert place(plane, "high", "p3", 6) == first
    assert find(plane, "low") is None
    assert stay(plane, "medium0", "medium1", "medium2")
    assert scheduler.metric("scheduler_preemption_attempts_total") >= 1
    assert scheduler.metric("scheduler_preemption_victims_count") == 1
    assert scheduler.metric("scheduler_preemption_victims_sum") == 1


def test_a_critical_pod_preempts(plane: ControlPlane, scheduler: Watched) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 6)
    place(plane, "medium", "p2", 4)
    create_pod(plane, "critical", "system-cluster-critical", 6, path=SYSTEM_PODS)
    assert placed(plane, "critical", SYSTEM_PODS) == "n1"
    assert find(plane, "low") is None
    assert stay(plane, "medium")


def test_of_several_that_preempt_the_highest_comes_first(
    plane: ControlPlane, scheduler: Watched
) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 10, grace_seconds=60)
    create_pod(plane, "medium", "p2", 10)
    wait_for("the medium one is nominated", lambda: nomination(plane, "medium") == "n1")
    create_pod(plane, "high", "p3", 10)
    wait_for("the high one is nominated", lambda: nomination(plane, "high") == "n1")
    wait_for("the medium one is not any more", lambda: nomination(plane, "medium") == "")
    remove(plane, "low")
    assert placed(plane, "high") == "n1"
    assert node_of(plane, "medium") == ""


def test_the_victim_is_told_why(plane: ControlPlane, scheduler: Watched) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 10, finalizers=("example.com/hold",))
    create_pod(plane, "high", "p2", 10)
    wait_leaving(plane, "low")
    low, high = read(plane, f"{PODS}/low"), read(plane, f"{PODS}/high")
    [condition] = [c for c in low["status"]["conditions"] if c["type"] == "DisruptionTarget"]
    assert condition.pop("lastTransitionTime")
    condition.pop("lastProbeTime", None)
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "observedGeneration": low["metadata"]["generation"] - 1,
        "message": "berthmaster: preempting to accommodate a higher priority pod",
    }
    events: list[Manifest] = []

    def preempted() -> list[Manifest]:
        items = read(plane, EVENTS)["items"]
        events[:] = [event for event in items if event["reason"] == "Preempted"]
        return events

    wait_for("the Event is there", preempted)
    [event] = events
    assert (event["type"], event["action"]) == ("Normal", "Preempting")
    assert event["note"] == f"Preempted by pod {high['metadata']['uid']} on node n1"
    assert event["regarding"]["uid"] == low["metadata"]["uid"]
    assert event["related"]["uid"] == high["metadata"]["uid"]


def test_pods_are_preempted_so_that_the_spread_is_kept(
    plane: ControlPlane, scheduler: Watched
) -> None:
    for name in ("n1", "n2"):
        create_node(plane, name)
    place(plane, "high", "p4", 9, labels={"e2e": "spread"})
    first = node_of(plane, "high")
    for number in range(3):
        create_pod(plane, f"low{number}", "p1", 3)
        assert placed(plane, f"low{number}") != first
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"e2e": "spread"}},
    }
    for number in range(2):
        create_pod(
            plane,
            f"medium{number}",
            "p2",
            4,
            labels={"e2e": "spread"},
            topologySpreadConstraints=[constraint],
        )
    assert placed(plane, "medium0") != first
    assert placed(plane, "medium1") != first
    remaining = {pod["metadata"]["name"] for pod in read(plane, PODS)["items"]}
    assert {"high", "medium0", "medium1"} <= remaining
    assert len(remaining) == 3


def test_pods_of_replica_sets_are_preempted_once(plane: ControlPlane, scheduler: Watched) -> None:
    create_node(plane, "n1", units=1000)
    for number, units in ((1, 200), (2, 300), (3, 450)):
        labels = {"rs": f"rs{number}"}
        template = {"metadata": {"labels": labels}, "spec": pod_spec(f"p{number}", units)}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        create(plane, REPLICA_SETS, {"metadata": {"name": f"rs{number}"}, "spec": spec})

    def uids(number: int, *, bound: bool) -> set[str]:
        items = read(plane, f"{PODS}?labelSelector=rs%3Drs{number}")["items"]
        return {p["metadata"]["uid"] for p in items if bool(p["spec"].get("nodeName")) is bound}

    wait_for("all are bound", lambda: all(uids(number, bound=True) for number in (1, 2, 3)))
    third = uids(3, bound=True)
    assert place(plane, "p4", "p4", 500) == "n1"
    wait_for("both are made again", lambda: uids(1, bound=False) and uids(2, bound=False))
    assert uids(1, bound=True) == uids(2, bound=True) == set()
    assert uids(3, bound=True) == third
    assert scheduler.metric("scheduler_preemption_victims_sum") == 2


def test_the_pod_waits_out_its_victims_grace(plane: ControlPlane, scheduler: Watched) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 6, grace_seconds=60)
    place(plane, "other", "p1", 3, grace_seconds=60)
    create_pod(plane, "high", "p2", 10)
    wait_leaving(plane, "low", "other")
    wait_for("it is nominated", lambda: nomination(plane, "high") == "n1")
    # What happens meanwhile lets it look again, and evicts nobody else.
    remove(plane, "other")
    wait_for("it waits for the rest", lambda: "terminating pod" in message(plane, "high"))
    assert nomination(plane, "high") == "n1"
    assert scheduler.metric("scheduler_preemption_victims_count") == 1
    remove(plane, "low")
    assert placed(plane, "high") == "n1"
    assert nomination(plane, "high") == ""


def test_the_room_of_a_nominated_pod_is_not_given_to_lower_ones(
    plane: ControlPlane, scheduler: Watched
) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 6, grace_seconds=60)
    create_pod(plane, "high", "p3", 10)
    wait_for("it is nominated", lambda: nomination(plane, "high") == "n1")
    # There is room for it beside the victim.
    create_pod(plane, "small", "p2", 3)
    wait_for("it is turned away", lambda: "Insufficient" in message(plane, "small"))
    remove(plane, "low")
    assert placed(plane, "high") == "n1"
    assert node_of(plane, "small") == ""
    remove(plane, "high")
    assert placed(plane, "small") == "n1"


def test_a_nomination_that_is_gone_lets_others_in(plane: ControlPlane, scheduler: Watched) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 6, grace_seconds=60)
    create_pod(plane, "high", "p3", 10)
    wait_for("it is nominated", lambda: nomination(plane, "high") == "n1")
    create_pod(plane, "small", "p2", 3)
    wait_for("it is turned away", lambda: "Insufficient" in message(plane, "small"))
    remove(plane, "high")
    assert placed(plane, "small") == "n1"


def test_nobody_is_evicted_where_that_would_not_help(
    plane: ControlPlane, scheduler: Watched
) -> None:
    create_node(plane, "n1")
    place(plane, "low", "p1", 6)
    place(plane, "equal", "p3", 4)
    create_pod(plane, "high", "p3", 7)
    wait_for("it is turned away", lambda: "preemption:" in message(plane, "high"))
    assert message(plane, "high") == (
        f"0/1 nodes are available: 1 Insufficient {UNITS}. no new claims to deallocate, "
        f"preemption: 0/1 nodes are available: 1 Insufficient {UNITS}."
    )
    assert nomination(plane, "high") == ""
    create_pod(plane, "modest", "never", 5)
    wait_for("it is turned away", lambda: "preemptionPolicy" in message(plane, "modest"))
    assert stay(plane, "low", "equal")
    assert scheduler.metric("scheduler_preemption_victims_count") == 0


def test_budgets_are_kept_where_that_is_possible(plane: ControlPlane, scheduler: Watched) -> None:
    for name in ("n1", "n2"):
        create_node(plane, name)
    guarded = place(plane, "guarded", "p1", 10, labels={"app": "guarded"})
    free = place(plane, "free", "p2", 10)
    selector = {"matchLabels": {"app": "guarded"}}
    spec = {"minAvailable": 1, "selector": selector}
    create(plane, BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    budgets = 'berthmaster_watched_objects{resource="poddisruptionbudgets"} 1.0'
    wait_for("the scheduler knows it", lambda: budgets in scheduler.get("/metrics")[1])
    assert place(plane, "high", "p3", 10) == free != guarded
    assert stay(plane, "guarded")


def test_a_victim_whose_status_cannot_be_patched_is_evicted_all_the_same(
    plane: ControlPlane, scheduler: Watched
) -> None:
    deny = "!object.status.conditions.exists(c, c.type == 'DisruptionTarget')"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["pods/status"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"!has(object.status.conditions) || {deny}"}],
    }
    create(plane, POLICIES, {"metadata": {"name": "deny"}, "spec": spec})
    binding = {"policyName": "deny", "validationActions": ["Deny"]}
    create(plane, POLICY_BINDINGS, {"metadata": {"name": "deny"}, "spec": binding})
    create_node(plane, "n1")
    place(plane, "probe", "p1", 0)
    wait_for("statuses are guarded", partial(is_refused, plane, "probe"))
    place(plane, "low", "p1", 10)
    assert place(plane, "high", "p2", 10) == "n1"
    assert find(plane, "low") is None
    scheduler.wait_line("Could not tell a pod why it is evicted")


def is_refused(plane: ControlPlane, name: str) -> bool:
    pod = read(plane, f"{PODS}/{name}")
    condition = {"type": "DisruptionTarget", "status": "True"}
    pod["status"].setdefault("conditions", []).append(condition)
    status, _ = request(plane, "PUT", f"{PODS}/{name}/status", pod)
    return status == 422
