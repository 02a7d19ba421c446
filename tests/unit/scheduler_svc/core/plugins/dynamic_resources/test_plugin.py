"""DynamicResources from the queue to the Binding."""

from typing import Any

import numpy as np
import pytest

from scheduler_svc.core.cluster import Cluster
from scheduler_svc.core.cluster_objects import ObjectKind
from scheduler_svc.core.devices.writes import BindClaims, ReleaseClaims
from scheduler_svc.core.framework.cluster_evaluation import evaluation_of
from scheduler_svc.core.framework.evaluation import INFEASIBLE
from scheduler_svc.core.framework.interface import PreBindWork
from scheduler_svc.core.framework.prepared import prepare
from scheduler_svc.core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_svc.core.status import SKIP, SUCCESS, Code
from tests.builders import make_node_info, make_profile
from tests.device_builders import (
    DRIVER,
    allocation,
    claim_spec,
    container,
    device,
    device_cluster,
    drop,
    first_available,
    make_claim,
    make_claiming_pod,
    make_class,
    make_slice,
    put,
    request,
    result,
    used_by,
    wanted,
)
from tests.unit.scheduler_svc.core.plugins.dynamic_resources.staging import POINTS, Stage

GPU = "example.com/gpu"
NODES = [make_node_info("n1"), make_node_info("n2")]
OWNER = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
MADE = {
    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [OWNER],
}


def local(node: str, *devices: dict[str, Any]) -> Any:
    return make_slice(node, devices or [device("d0")], nodeName=node)


def stage(*objects: Any, nodes: Any = NODES, **arguments: Any) -> Stage:
    return Stage(device_cluster(nodes, *objects), **arguments)


def test_a_pod_goes_where_its_devices_are() -> None:
    here = stage(local("n2"), make_claim("c"))
    assert here.verdict(make_claiming_pod("p", "c")) == {
        "n1": "cannot allocate all claims",
        "n2": 0,
    }


def test_a_pod_without_claims_is_of_no_interest() -> None:
    here = stage()
    pod = make_claiming_pod("p")
    assert here.verdict(pod) == {"n1": 0, "n2": 0}
    assert here.plugin.projection(pod, here.cluster) is None
    unneeded = make_claiming_pod("q", generated={"g": ""})
    assert here.plugin.projection(unneeded, here.cluster) is None
    assert here.verdict(unneeded) == {"n1": 0, "n2": 0}
    reserve(here, pod)
    reserve(here, unneeded)


def test_what_keeps_a_pod_waiting_is_told_before_any_node() -> None:
    here = stage()
    pod = make_claiming_pod("p", "c")
    text = 'could not find ResourceClaim "default/c"'
    assert here.verdict(pod) == {"": text}
    assert here.plugin.projection(pod, here.cluster) == text
    assert here.plugin.pre_score(pod, here.cluster)[0].code is Code.SKIP
    assert here.plugin.pre_enqueue(pod).message == text
    put(here.cluster, make_claim("c"))
    assert here.plugin.pre_enqueue(pod) == SUCCESS
    assert here.plugin.pre_enqueue(make_claiming_pod("q")) == SUCCESS


def test_an_allocated_claim_can_be_used_where_it_says() -> None:
    elsewhere = {"allocation": allocation(result("d0"), node="n2")}
    anywhere = {"allocation": allocation(result("d1", "net"))}
    here = stage(make_claim("a", status=elsewhere), make_claim("b", status=anywhere))
    assert here.verdict(make_claiming_pod("p", "a", "b")) == {
        "n1": "resourceclaim not available on the node",
        "n2": 0,
    }
    assert here.verdict(make_claiming_pod("q", "b")) == {"n1": 0, "n2": 0}


@pytest.mark.parametrize(
    ("conditions", "stamp", "usable"),
    [
        ({}, None, True),
        ({}, "1970-01-01T00:00:00Z", False),
        ({"ready": "True"}, "1970-01-01T00:00:00Z", True),
        ({"broken": "True"}, None, False),
    ],
)
def test_a_claim_whose_devices_are_not_ready_in_time_is_of_no_use(
    conditions: dict[str, str], stamp: str | None, usable: bool
) -> None:
    slow = result("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    given = allocation(slow, **({} if stamp is None else {"allocationTimestamp": stamp}))
    told = [{"type": key, "status": value} for key, value in conditions.items()]
    state = {"driver": "gpu.example", "pool": "n1", "device": "d0", "conditions": told}
    here = stage(make_claim("c", status={"allocation": given, "devices": [state]}))
    here.cluster.wall_seconds = 601
    verdict = 0 if usable else "resourceclaim not available on the node"
    assert here.verdict(make_claiming_pod("p", "c")) == {"n1": verdict, "n2": verdict}


def test_earlier_alternatives_are_preferred() -> None:
    spec = first_available("r", wanted(name="two", count=2), wanted(name="one"))
    here = stage(local("n1"), local("n2", device("d0"), device("d1")), make_claim("c", spec))
    # 8 points for the first, 7 for the second: 7 * 100 // 8.
    assert here.verdict(make_claiming_pod("p", "c")) == {"n1": 87, "n2": 100}
    had = {"allocation": allocation(result("x", request="r/one"))}
    put(here.cluster, make_claim("had", spec, status=had))
    assert here.verdict(make_claiming_pod("q", "had")) == {"n1": 0, "n2": 0}
    # With a claim to be allocated, the points of the other one count as well: 14 and 15.
    assert here.verdict(make_claiming_pod("r", "c", "had")) == {"n1": 93, "n2": 100}
    put(here.cluster, make_claim("plain"))
    assert here.verdict(make_claiming_pod("s", "plain", "had")) == {"n1": 100, "n2": 100}


def test_what_is_wrong_ends_the_attempt() -> None:
    here = stage(local("n1"), make_claim("c", request(allocationMode="Some")))
    text = "claim default/c, request r: unsupported count mode Some"
    failed = {"": f'running "DynamicResources" filter plugin: {text}'}
    assert here.verdict(make_claiming_pod("p", "c")) == failed
    put(here.cluster, make_claim("d", request(allocationMode="Some")))
    assert here.verdict(make_claiming_pod("q", "d"))[""].endswith(text.replace("/c,", "/d,"))


def test_pools_that_contradict_themselves_are_the_reason() -> None:
    here = stage(local("n1", device("d0"), device("d0")), make_claim("c"))
    assert here.verdict(make_claiming_pod("p", "c")) == {
        "n1": "invalid resource pools were encountered",
        "n2": "cannot allocate all claims",
    }


def test_a_full_claim_is_waited_for_unless_quirks_are_followed() -> None:
    users = used_by(*(f"u{number}" for number in range(256)))
    status = {"allocation": allocation(result("d0")), "reservedFor": users}
    pod = make_claiming_pod("p", "c")
    assert stage(make_claim("c", status=status)).verdict(pod) == {"n1": 0, "n2": 0}
    strict = stage(make_claim("c", status=status), upstream_quirks=False)
    assert strict.verdict(pod) == {"": "resourceclaim in use"}


def extended(*objects: Any, offered: str | None = None, **arguments: Any) -> Stage:
    """Give a stage where a class stands for GPUs; n2 offers some itself if `offered`."""
    second = make_node_info("n2", offers={} if offered is None else {GPU: offered})
    gpu = make_class("gpu", extendedResourceName=GPU)
    return stage(gpu, *objects, nodes=[NODES[0], second], **arguments)


def asking(**amounts: str) -> Any:
    requests = {GPU: "1"} | {f"example.com/{name}": amount for name, amount in amounts.items()}
    return make_claiming_pod("p", containers=[container("c", requests)])


def test_extended_resources_are_devices_where_the_node_offers_none() -> None:
    assert extended(local("n1")).verdict(asking()) == {
        "n1": 0,
        "n2": "cannot allocate all claims",
    }
    assert extended(local("n1"), offered="4").verdict(asking()) == {"n1": 0, "n2": 0}
    assert extended(local("n1"), local("n2"), offered="0").verdict(asking()) == {"n1": 0, "n2": 0}


def test_a_resource_that_nobody_stands_for_cannot_be_had() -> None:
    assert extended(local("n1")).verdict(asking(fpga="1")) == {
        "n1": "cannot fit resource",
        "n2": "cannot fit resource",
    }


def test_a_claim_left_over_stands_in_the_way() -> None:
    here = extended(local("n1"), make_claim("old", metadata=MADE))
    text = "cannot schedule extended resource claim"
    assert here.verdict(asking()) == {"n1": text, "n2": text}
    assert here.plugin.reserve(asking(), "n1", here.cluster).code is Code.ERROR


def test_answers_follow_what_nodes_offer() -> None:
    here = extended(local("n1"))
    pod = asking()
    state = here.plugin.pre_filter(pod, here.cluster).state
    assert here.plugin.pre_filter(pod, here.cluster).state is state
    assert here.verdict(pod)["n2"] == "cannot allocate all claims"
    here.cluster.columns.set_node(make_node_info("n2", offers={GPU: "4"}))
    assert here.verdict(pod)["n2"] == 0


def reserve(here: Stage, pod: Any, node: str = "n1") -> None:
    assert here.plugin.reserve(pod, node, here.cluster) == SUCCESS


def work(here: Stage, pod: Any, node: str = "n1") -> BindClaims:
    answer = here.plugin.pre_bind(pod, node, here.cluster)
    assert isinstance(answer, PreBindWork)
    payload: BindClaims = answer.payload
    return payload


def test_of_a_claim_that_is_named_twice_the_first_allocation_counts() -> None:
    here = stage(local("n1", device("d0"), device("d1"), device("d2")), make_claim("c"))
    pod = make_claiming_pod("p", "c", "c")
    reserve(here, pod)
    answer = here.plugin.pre_bind(pod, "n1", here.cluster)
    assert isinstance(answer, PreBindWork)
    allocations = [write.allocation for write in answer.payload.writes]
    assert {r.device for each in allocations for r in each.devices.results} == {"d0"}


def test_reserved_devices_are_taken_until_they_are_given_back() -> None:
    here = stage(local("n1"), make_claim("c"), make_claim("d"))
    pod, other = make_claiming_pod("p", "c"), make_claiming_pod("q", "d")
    reserve(here, pod)
    assert here.verdict(other) == dict.fromkeys(("n1", "n2"), "cannot allocate all claims")
    busy = "resource claim default/c is in the process of being allocated"
    assert here.verdict(make_claiming_pod("r", "c")) == {"": busy}
    assert here.plugin.reserve(make_claiming_pod("r", "c"), "n1", here.cluster).message == busy
    failed = here.plugin.reserve(other, "n1", here.cluster)
    assert failed.message == "claim allocation not found for node"
    here.plugin.unreserve(pod, "n1", here.cluster)
    here.plugin.unreserve(pod, "n1", here.cluster)
    assert here.verdict(other)["n1"] == 0


def test_what_has_been_written_is_taken_though_the_pod_is_turned_back() -> None:
    """Until the watch shows it: somebody else would be given the same device."""
    here = stage(local("n1"), make_claim("c"), make_claim("d"))
    pod, other = make_claiming_pod("p", "c"), make_claiming_pod("q", "d")
    reserve(here, pod)
    work(here, pod)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster) == SUCCESS
    here.plugin.unreserve(pod, "n1", here.cluster)
    assert here.verdict(other)["n1"] == "cannot allocate all claims"
    given = {"allocation": allocation(result("d0"), node="n1")}
    put(here.cluster, make_claim("c", status=given))
    assert here.verdict(other)["n1"] == "cannot allocate all claims"
    put(here.cluster, make_claim("c"))
    assert here.verdict(other)["n1"] == 0


def test_devices_that_are_awaited_are_taken_though_the_pod_is_turned_back() -> None:
    slow = device("d0", bindingConditions=["ready"])
    here = stage(local("n1", slow), make_claim("c"), make_claim("d"))
    pod = make_claiming_pod("p", "c")
    reserve(here, pod)
    work(here, pod)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster).code is Code.WAIT
    here.plugin.unreserve(pod, "n1", here.cluster)
    other = make_claiming_pod("q", "d")
    assert here.verdict(other)["n1"] == "cannot allocate all claims"


def test_what_is_written_before_the_binding() -> None:
    shared = {"allocation": allocation(result("x"), node="n1"), "reservedFor": used_by("p")}
    free = {"allocation": allocation(result("y"), node="n1")}
    here = stage(
        local("n1"),
        make_claim("new"),
        make_claim("mine", status=shared),
        make_claim("free", status=free),
    )
    pod = make_claiming_pod("p", "new", "mine", "free")
    reserve(here, pod)
    answer = here.plugin.pre_bind(pod, "n1", here.cluster)
    assert isinstance(answer, PreBindWork)
    assert answer.timeout_seconds == 60
    new, other = answer.payload.writes
    assert (new.name, new.uid) == ("new", "uid-new")
    assert [r.device for r in new.allocation.devices.results] == ["d0"]
    assert (other.name, other.allocation) == ("free", None)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster) == SUCCESS
    released = here.plugin.undo(pod, "n1")
    assert released == ReleaseClaims((("new", "uid-new"), ("free", "uid-free")))
    assert here.plugin.undo(pod, "n1") is None
    assert here.plugin.pre_bind(make_claiming_pod("q"), "n1", here.cluster) == SKIP
    reserve(here, make_claiming_pod("q"))


def test_the_claim_for_extended_resources_is_made() -> None:
    here = extended(local("n1", device("d0"), device("d1")), make_claim("own"))
    pod = make_claiming_pod("p", "own", containers=[container("c", {GPU: "1"})])
    reserve(here, pod)
    own, made = work(here, pod).writes
    assert own.name == "own"
    assert made.made is not None
    assert [m.request_name for m in made.made.mappings] == ["container-0-request-0"]
    assert made.allocation is not None
    assert [r.device for r in made.allocation.devices.results] == ["d1"]
    here.plugin.unreserve(pod, "n1", here.cluster)
    # Where the Node offers the resource itself, there is no claim for it.
    other = extended(make_claim("own"), local("n2"), offered="4")
    reserve(other, pod, "n2")
    assert [write.name for write in work(other, pod, "n2").writes] == ["own"]


def test_a_pod_waits_until_its_devices_are_ready() -> None:
    slow = device("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    here = stage(local("n1", slow), make_claim("c"), binding_timeout_seconds=100)
    pod = make_claiming_pod("p", "c")
    reserve(here, pod)
    answer = here.plugin.pre_bind(pod, "n1", here.cluster)
    assert isinstance(answer, PreBindWork)
    assert answer.timeout_seconds == 160
    assert answer.timeout_error == "device binding timeout: context deadline exceeded"
    assert answer.payload.announcement == ("waiting for binding conditions for device on node n1")
    assert answer.payload.drivers == answer.payload.awaited_drivers == (DRIVER,)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster).code is Code.WAIT
    awaited = here.plugin.awaited_objects(pod, "n1", here.cluster)
    assert awaited == [(ObjectKind.RESOURCE_CLAIM, "default/c")]
    see(here.cluster)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster).code is Code.WAIT
    see(here.cluster, ready="True")
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster) == SUCCESS
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster) == SUCCESS


def see(cluster: Cluster, **conditions: str) -> None:
    """See the claim allocated, at 1970, with conditions of its device."""
    slow = result("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    given = allocation(slow, node="n1", allocationTimestamp="1970-01-01T00:00:00Z")
    told = [
        {"type": key, "status": value, "reason": "R", "message": "m"}
        for key, value in conditions.items()
    ]
    state = {"driver": "gpu.example", "pool": "n1", "device": "d0", "conditions": told}
    put(cluster, make_claim("c", status={"allocation": given, "devices": [state]}))


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ({"broken": "True"}, 'device binding failed: claim=c, reason=R, message="m"'),
        ({}, "device binding timeout: claim=c"),
    ],
)
def test_waiting_ends_in_failure(conditions: dict[str, str], text: str) -> None:
    slow = device("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    here = stage(local("n1", slow), make_claim("c"))
    pod = make_claiming_pod("p", "c")
    reserve(here, pod)
    work(here, pod)
    here.cluster.wall_seconds = 601
    see(here.cluster, **conditions)
    status = here.plugin.pre_bind_progress(pod, "n1", here.cluster)
    assert (status.code, status.message) == (Code.ERROR, text)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (None, 'resourceclaim "c" not found'),
        ({"metadata": {"uid": "uid-other"}}, 'resourceclaim "c" not found'),
        ({}, 'resourceclaim "c" has lost its devices'),
    ],
    ids=["deleted", "another one", "deallocated"],
)
def test_devices_that_are_lost_are_not_awaited(told: dict[str, Any] | None, text: str) -> None:
    slow = device("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    here = stage(local("n1", slow), make_claim("c"))
    pod = make_claiming_pod("p", "c")
    reserve(here, pod)
    work(here, pod)
    see(here.cluster)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster).code is Code.WAIT
    if told is None:
        drop(here.cluster, make_claim("c"))
    else:
        put(here.cluster, make_claim("c", **told))
    status = here.plugin.pre_bind_progress(pod, "n1", here.cluster)
    assert (status.code, status.message) == (Code.ERROR, text)


def test_a_claim_that_was_made_and_is_lost_is_not_awaited() -> None:
    here = extended(local("n1", device("d0", bindingConditions=["ready"])))
    pod = asking()
    reserve(here, pod)
    work(here, pod)
    made = make_claim("p-extended-resources-x", metadata=MADE)
    put(here.cluster, made)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster).code is Code.WAIT
    # A later attempt must not make another one meanwhile.
    assert "in the process of being allocated" in here.verdict(pod)[""]
    drop(here.cluster, made)
    status = here.plugin.pre_bind_progress(pod, "n1", here.cluster)
    assert (status.code, status.message) == (
        Code.ERROR,
        "the claim for extended resources has lost its devices",
    )


def test_the_devices_of_a_claim_that_is_made_are_awaited_as_well() -> None:
    slow = device("d0", bindingConditions=["ready"])
    here = extended(local("n1", slow))
    pod = asking()
    reserve(here, pod)
    work(here, pod)
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster).code is Code.WAIT
    assert here.plugin.awaited_objects(pod, "n1", here.cluster) is None
    given = allocation(result("d0", bindingConditions=["ready"]))
    ready = {
        "driver": "gpu.example",
        "pool": "n1",
        "device": "d0",
        "conditions": [{"type": "ready", "status": "True"}],
    }
    status = {"allocation": given, "devices": [ready]}
    put(here.cluster, make_claim("p-extended-resources-x", metadata=MADE, status=status))
    assert here.plugin.pre_bind_progress(pod, "n1", here.cluster) == SUCCESS


def test_no_limit_of_time_is_no_limit_of_steps() -> None:
    here = stage(local("n1"), make_claim("c"), filter_timeout_seconds=0)
    assert here.verdict(make_claiming_pod("p", "c"))["n1"] == 0
    assert claim_spec() == make_claim("c").spec


def test_only_nodes_that_others_pass_are_searched() -> None:
    """What is wrong with a Node's devices does not matter where the Pod cannot go anyway."""
    slow = device("d0", model="x")
    fault = request(expression='device.attributes["gpu.example"].model == "y" || 1 / 0 == 1')
    closed = make_node_info("n1", unschedulable=True)
    here = stage(local("n1", slow), make_claim("c", fault), nodes=[closed, NODES[1]])
    points: dict[str, Any] = {point: [here.plugin] for point in POINTS}
    cordons = NodeUnschedulable()
    points["preFilter"] = [cordons, here.plugin]
    points["filter"] = [cordons, here.plugin]
    evaluation = evaluation_of(
        prepare(make_profile(points), make_claiming_pod("p", "c"), here.cluster)
    )
    columns = here.cluster.columns
    evaluation.refresh(columns)
    assert evaluation.prepared.failure() is None
    assert all(total == INFEASIBLE for total in evaluation.totals)
    here.cluster.columns.set_node(NODES[0])
    evaluation.refresh(columns)
    failure = evaluation.prepared.failure()
    assert failure is not None
    assert failure.message.endswith("CEL runtime error: division by zero")


def test_kept_evaluations_follow_what_is_reserved() -> None:
    here = stage(local("n1"), local("n2"), *(make_claim(name) for name in ("a", "b", "c")))
    evaluation = evaluation_of(prepare(here.profile, make_claiming_pod("p", "a"), here.cluster))
    columns = here.cluster.columns

    def feasible() -> list[str]:
        evaluation.refresh(columns)
        return [columns.names[row] for row in np.flatnonzero(evaluation.totals != INFEASIBLE)]

    assert feasible() == ["n1", "n2"]
    reserve(here, make_claiming_pod("q", "b"), "n1")
    assert feasible() == ["n2"]
    reserve(here, make_claiming_pod("r", "c"), "n2")
    assert feasible() == []
    here.plugin.unreserve(make_claiming_pod("q", "b"), "n1", here.cluster)
    assert feasible() == ["n1"]


def test_pods_that_come_and_go_change_nothing_and_states_are_small() -> None:
    status = {"allocation": allocation(result("x"), node="n1")}
    here = stage(local("n1"), make_claim("c"), make_claim("d", status=status))
    pod = make_claiming_pod("p", "c", "d")
    state = here.plugin.pre_filter(pod, here.cluster).state
    assert here.plugin.state_size_bytes(state) == 0
    evaluation_of(prepare(here.profile, pod, here.cluster)).refresh(here.cluster.columns)
    # A verdict, a score and one claim's mask.
    assert here.plugin.state_size_bytes(state) == (1 + 8 + 1) * here.cluster.columns.capacity
    assert not here.plugin.is_concerned_by(state, pod)
