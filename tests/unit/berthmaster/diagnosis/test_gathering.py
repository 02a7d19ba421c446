"""What is read of a cluster, page by page, and what becomes of what may not be read."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from berthmaster.cli.diagnosis import gathering, kubelet_leases, leases
from berthmaster.cli.diagnosis.facts import Facts, Scope
from berthmaster.cli.diagnosis.gathering import Request, gather
from berthmaster.cli.diagnosis.judgement import judge
from kubeio.errors import KubeError
from tests.unit.berthmaster.diagnosis.stub_cluster import (
    NODE_LEASES,
    PROXY,
    StubApi,
    add_pod,
    at,
    condition,
    lease,
    pod,
    write_kubeconfig,
)
from tests.unit.kubeio.fake_api import serving

NODE_N2 = {"nodeName": "n2"}


def gathered(api: StubApi, tmp_path: Path, **request: Any) -> Facts:
    async def run() -> Facts:
        async with serving(api.handle) as url:
            path = tmp_path / "kubeconfig"
            write_kubeconfig(path, url)
            return await gather(Request(kubeconfig=str(path), **request), version="1.2.3")

    return asyncio.run(run())


def test_a_healthy_cluster_is_read_and_nothing_is_wrong(tmp_path: Path) -> None:
    facts = gathered(StubApi(), tmp_path)
    [there] = facts.installations
    assert there.names == ("berthmaster", "gpu")
    assert there.lease_key == "infra/prod"
    assert there.lease is not None
    assert there.lease.holder == "prod-a_1"
    assert [replica.version for replica in there.replicas] == ["1.2.3", "1.2.3"]
    assert {f.severity for f in judge(facts)} == {"ok", "note"}
    assert [f.check for f in judge(facts) if f.severity == "note"] == ["nodes-tainted"]
    assert facts.unread == ()
    assert (facts.kubernetes_version, facts.bound_count) == ("v1.36.3", 5)
    assert abs(facts.now - datetime.now(UTC).timestamp()) < 60
    assert facts.nodes is not None
    # Two schedulers and an agent are on n1, of which the agent's container requests nothing.
    assert facts.nodes[0].used["pods"] == 3
    assert facts.nodes[0].allocatable["cpu"] == 4000
    assert facts.nodes[0].taints == ("a=b:NoSchedule",)


def test_pods_without_a_node_are_pending_unless_they_end(tmp_path: Path) -> None:
    api = StubApi()
    message = "0/3 nodes are available: 3 Insufficient cpu."
    unscheduled = condition("PodScheduled", "False", 60, reason="Unschedulable", message=message)
    add_pod(
        api,
        pod("waits", status={"conditions": [unscheduled]}),
        pod("gated", spec={"schedulingGates": [{"name": "q/x"}]}),
        pod("typo", spec={"schedulerName": "berthmastr"}),
        pod("hopes", status={"conditions": [unscheduled], "nominatedNodeName": "n1"}),
        pod("ending", deletionTimestamp=at(1), status={"conditions": [unscheduled]}),
    )
    facts = gathered(api, tmp_path, ask=False)
    assert facts.pending is not None
    by_name = {each.name: each for each in facts.pending}
    assert sorted(by_name) == ["gated", "hopes", "typo", "waits"]
    assert by_name["waits"].message == message
    assert by_name["waits"].reason == "Unschedulable"
    assert dict(by_name["waits"].requests) == {"cpu": 500, "pods": 1}
    assert 50 < facts.now - (by_name["waits"].since or 0) < 80
    assert by_name["gated"].gates == ("q/x",)
    assert by_name["hopes"].nominated_node == "n1"
    assert "berthmastr" not in facts.judged_names


def ended(exit_code: int) -> dict[str, Any]:
    return {"name": "c", "state": {"terminated": {"exitCode": exit_code}}, "ready": False}


def test_of_pods_with_a_node_those_that_do_not_run_are_told(tmp_path: Path) -> None:
    api = StubApi()
    silent = {"conditions": [condition("PodScheduled", "True", 120)]}
    finished = {
        "phase": "Running",
        "startTime": at(500),
        "conditions": [condition("PodReadyToStartContainers", "True"), condition("Ready", "False")],
        "containerStatuses": [ended(0)],
    }
    refused = {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "no cpu",
        "conditions": [condition("PodScheduled", "True", 30)],
    }
    failed = {"phase": "Failed", "reason": "", "containerStatuses": [ended(1)]}
    add_pod(
        api,
        pod("silent", spec={"nodeName": "n2"}, status=silent),
        pod("job", spec={"nodeName": "n2", "restartPolicy": "Never"}, status=finished),
        pod("refused", spec={"nodeName": "n3"}, status=refused),
        pod("failed", spec={"nodeName": "n3"}, status=failed),
    )
    facts = gathered(api, tmp_path, ask=False)
    assert facts.pending == ()
    assert {each.name: each.cause for each in facts.stopped} == {
        "silent": "kubelet_silent",
        "refused": "refused",
    }
    assert facts.nodes is not None
    # Failed Pods take no room any more.
    assert [node.used["cpu"] for node in facts.nodes if node.name == "n2"] == [1000]
    assert "cpu" not in facts.nodes[2].used


def test_one_namespace_is_judged_and_all_take_room(tmp_path: Path) -> None:
    api = StubApi()
    add_pod(api, pod("a"), pod("b", "other"), pod("c", "other", spec={"nodeName": "n2"}))
    api.lists["/api/v1/namespaces/shop/pods"] = []
    api.lists["/api/v1/namespaces/shop/events"] = []
    facts = gathered(api, tmp_path, ask=False, scope=Scope(namespace="shop"))
    assert [each.name for each in facts.pending or ()] == ["a"]
    assert facts.stopped == ()
    assert facts.nodes is not None
    assert facts.nodes[1].used["cpu"] == 500
    assert facts.usage_is_known


def test_in_a_namespace_that_there_is_none_of_something_is_wrong(tmp_path: Path) -> None:
    def found(api: StubApi, namespace: str) -> dict[str, str]:
        api.lists[f"/api/v1/namespaces/{namespace}/pods"] = []
        api.lists[f"/api/v1/namespaces/{namespace}/events"] = []
        facts = gathered(api, tmp_path, ask=False, scope=Scope(namespace=namespace))
        return {finding.check: finding.what for finding in judge(facts)}

    api = StubApi()
    add_pod(api, pod("a", "shop"))
    api.objects["/api/v1/namespaces/empty"] = {"metadata": {"name": "empty"}}
    api.refused = {"/api/v1/namespaces/mine"}
    told = found(api, "shpo")
    assert told["namespace-unknown"] == "There is no namespace 'shpo'."
    assert "pending" not in told
    for namespace in ("shop", "empty", "mine"):
        told = found(api, namespace)
        assert not {"namespace-unknown", "right-missing"} & told.keys()
    # One with Pods is there.
    assert "/api/v1/namespaces/shop" not in [path for path, _ in api.asked]


def test_what_may_not_be_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    api = StubApi()
    add_pod(api, pod("a"))
    api.refused = {"/api/v1/nodes", "/api/v1/events", "/apis/apps/v1/daemonsets"}
    facts = gathered(api, tmp_path, ask=False)
    assert facts.nodes is None
    assert {(each.verb, each.resource) for each in facts.unread} == {
        ("list", "nodes"),
        ("list", "events"),
        ("list", "daemonsets.apps"),
    }
    assert all(each.is_refused for each in facts.unread)
    assert facts.unread[0].reason == "no /api/v1/nodes for you"
    assert [each.name for each in facts.pending or ()] == ["a"]
    assert facts.installations[0].names == ("berthmaster", "gpu")


def test_who_may_see_one_namespace_is_told_of_that(tmp_path: Path) -> None:
    api = StubApi()
    api.refused = {"/api/v1/pods"}
    api.lists["/api/v1/namespaces/shop/pods"] = [pod("a")]
    api.lists["/api/v1/namespaces/shop/events"] = []
    facts = gathered(api, tmp_path, ask=False, scope=Scope(namespace="shop"))
    assert [each.name for each in facts.pending or ()] == ["a"]
    assert not facts.usage_is_known
    everywhere = gathered(api, tmp_path, ask=False)
    assert everywhere.pending is None
    api.refused.add("/api/v1/namespaces/shop/pods")
    nothing = gathered(api, tmp_path, ask=False, scope=Scope(namespace="shop"))
    assert nothing.pending is None
    assert [each.namespace for each in nothing.unread if each.resource == "pods"] == [None, "shop"]


def test_leases_are_read_by_name_where_they_may_not_be_listed(tmp_path: Path) -> None:
    api = StubApi()
    api.refused = {
        f"/apis/coordination.k8s.io/v1/namespaces/{n}/leases" for n in ("infra", "kube-system")
    }
    facts = gathered(api, tmp_path, ask=False)
    assert facts.installations[0].lease is not None
    assert facts.kube_scheduler is not None
    assert facts.unread == ()
    api.refused.add("/apis/coordination.k8s.io/v1/namespaces/infra/leases/prod")
    facts = gathered(api, tmp_path, ask=False)
    assert not facts.installations[0].lease_is_known
    assert [(each.verb, each.resource, each.namespace) for each in facts.unread] == [
        ("get", "leases.coordination.k8s.io", "infra")
    ]
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    api.refused |= {f"{leases}/{name}" for name in ("kube-scheduler", "berthmaster")}
    facts = gathered(api, tmp_path, ask=False)
    # Each right once, whatever it is that was looked for.
    assert sorted(str(each.namespace) for each in facts.unread) == ["infra", "kube-system"]


def test_a_configuration_that_may_not_be_read_leaves_the_lease_that_a_replica_holds(
    tmp_path: Path,
) -> None:
    api = StubApi()
    api.refused = {"/api/v1/namespaces/infra/configmaps/prod"}
    facts = gathered(api, tmp_path, ask=False)
    assert "infra/prod" in {each.lease_key for each in facts.installations}


def test_a_lease_that_seems_stale_is_looked_at_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "SECOND_LOOK_SECONDS", 0.01)
    api = StubApi()
    path = "/apis/coordination.k8s.io/v1/namespaces/infra/leases"
    api.lists[path] = [lease("prod", "prod-a_1", 300)]
    stale = gathered(api, tmp_path, ask=False).installations[0].lease
    assert stale is not None
    assert stale.was_renewed is False

    def renew(asked: str) -> None:
        if asked == f"{path}/prod":
            api.lists[path] = [lease("prod", "prod-a_1", 298)]

    api.on_get = renew
    renewed = gathered(api, tmp_path, ask=False).installations[0].lease
    assert renewed is not None
    assert renewed.was_renewed is True


def silent_nodes(facts: Facts) -> set[str]:
    assert facts.nodes is not None
    return {node.name for node in facts.nodes if node.silent_seconds is not None}


def test_kubelets_that_do_not_renew_their_leases_are_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = StubApi()
    assert silent_nodes(gathered(api, tmp_path, ask=False)) == set()
    monkeypatch.setattr(kubelet_leases, "SECOND_LOOK_SECONDS", 0.0)
    stopped_at, behind, looks = at(50), 300, 0
    api.lists[NODE_LEASES] = [lease("n1", "n1"), lease("n2", "n2"), lease("n3", "n3")]
    api.lists[NODE_LEASES][1]["spec"] |= {"renewTime": stopped_at, "leaseDurationSeconds": 40}

    def tick(path: str) -> None:
        # The clock of n3 is behind, and its kubelet well.
        nonlocal looks
        if path == NODE_LEASES:
            looks += 1
            api.lists[NODE_LEASES][2]["spec"]["renewTime"] = at(behind - looks)

    api.on_get = tick
    facts = gathered(api, tmp_path, ask=False)
    assert silent_nodes(facts) == {"n2"}
    assert facts.nodes is not None
    assert 45 < (facts.nodes[1].silent_seconds or 0) < 80
    # A Lease that runs out later, by its own word, is none that has run out.
    api.lists[NODE_LEASES][1]["spec"]["leaseDurationSeconds"] = 400
    assert silent_nodes(gathered(api, tmp_path, ask=False)) == set()
    # Of a Node that is called not ready already, more need not be said.
    api.lists[NODE_LEASES][1]["spec"]["leaseDurationSeconds"] = 40
    api.lists["/api/v1/nodes"][1]["status"]["conditions"] = [condition("Ready", "Unknown")]
    assert silent_nodes(gathered(api, tmp_path, ask=False)) == set()


def test_without_leases_of_nodes_their_conditions_count(tmp_path: Path) -> None:
    api = StubApi()
    api.lists[NODE_LEASES] = []
    assert silent_nodes(gathered(api, tmp_path, ask=False)) == set()
    api.refused = {NODE_LEASES}
    facts = gathered(api, tmp_path, ask=False)
    assert silent_nodes(facts) == set()
    assert [(each.verb, each.resource, each.namespace) for each in facts.unread] == [
        ("list", "leases.coordination.k8s.io", "kube-node-lease")
    ]


def test_nodes_with_victims_of_preemption_are_known(tmp_path: Path) -> None:
    api = StubApi()
    for name, node_name, status, reason in (
        ("victim", "n1", "True", "PreemptionByScheduler"),
        ("spared", "n2", "False", "PreemptionByScheduler"),
        ("drained", "n3", "True", "EvictionByEvictionAPI"),
    ):
        target = condition("DisruptionTarget", status, reason=reason)
        ready = condition("Ready", "True")
        running = {"phase": "Running", "conditions": [ready, target]}
        add_pod(api, pod(name, "other", spec={"nodeName": node_name}, status=running))
    assert gathered(api, tmp_path, ask=False).evicting_nodes == {"n1"}


def explanation(**fields: Any) -> dict[str, Any]:
    return {"answer": {"pod": "shop/a", **fields}}


def test_the_scheduler_that_leads_is_asked_about_one_pod_of_each_group(tmp_path: Path) -> None:
    api = StubApi()
    add_pod(api, pod("a"), pod("b"), pod("gated", spec={"schedulingGates": [{"name": "q/x"}]}))
    leader = f"{PROXY}/https:prod-a:9443/proxy/explain/pods/shop"
    nodes = {"n1": {"code": "Unschedulable"}, "n2": {"total": 300}}
    api.objects[f"{leader}/a"] = explanation(
        nodes=nodes, preEnqueuePlugin="Q", preEnqueueMessage="wait"
    )
    facts = gathered(api, tmp_path)
    assert list(facts.live) == ["shop/a"]
    live = facts.live["shop/a"]
    assert (live.fits_on, live.node_count, live.gate) == (1, 2, "Q: wait")
    assert facts.live_problem == ""
    asked = [(path, token) for path, token in api.asked if "/explain/" in path]
    assert asked == [(f"{leader}/a", "Bearer t-prod")]


def test_a_scheduler_that_may_not_be_asked_is_a_note(tmp_path: Path) -> None:
    api = StubApi()
    add_pod(api, pod("a"))
    api.refused = {"/api/v1/namespaces/infra/serviceaccounts/prod/token"}
    facts = gathered(api, tmp_path)
    assert facts.live == {}
    assert "for you" in facts.live_problem
    outside = StubApi()
    outside.lists["/api/v1/pods"] = [pod("a")]
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    outside.lists[path].append(lease("berthmaster", "laptop_1"))
    assert "outside the cluster" in gathered(outside, tmp_path).live_problem


def test_agents_say_why_pods_do_not_run(tmp_path: Path) -> None:
    api = StubApi()
    bound = [condition("PodScheduled", "True", 120)]
    add_pod(api, pod("web", spec={"nodeName": "n2"}, status={"conditions": bound}))
    for name in ("n1", "n2", "n3"):
        view: dict[str, Any] = {"divergences": [], "notRunning": [], "refusedManifests": []}
        if name == "n2":
            place = {"namespace": "shop", "name": "web", "uid": "web", "ageSeconds": 40}
            view["notRunning"] = [{**place, "cause": "not_seen", "detail": "Unseen."}]
            view["divergences"] = [
                {**place, "kind": "missing_in_kubelet", "source": "api", "detail": "Unseen."}
            ]
            view["refusedManifests"] = [
                {"source": "file", "place": "/m/a.yaml", "reason": "invalid", "message": "no name"}
            ]
        api.objects[f"{PROXY}/https:agent-{name}:10260/proxy/divergences"] = {
            **view,
            "kubelet": {},
        }
    facts = gathered(api, tmp_path)
    [web] = facts.stopped
    assert (web.cause, web.detail, web.told_by) == ("not_seen", "Unseen.", "agent")
    [divergence] = facts.divergences
    assert (divergence.node_name, divergence.pod) == ("n2", "shop/web")
    [refused] = facts.refused_manifests
    assert (refused.node_name, refused.place, refused.message) == ("n2", "/m/a.yaml", "no name")
    assert facts.asked_agents == 3
    tokens = [token for path, token in api.asked if path.endswith("/divergences")]
    assert tokens == ["Bearer t-a"] * 3
    api.refused = {f"{PROXY}/https:agent-n2:10260/proxy/divergences"}
    again = gathered(api, tmp_path)
    assert again.stopped[0].cause == "kubelet_silent"
    assert "for you" in again.agents_problem


def test_an_agent_is_asked_at_the_port_it_was_told(tmp_path: Path) -> None:
    api = StubApi()
    for agent in api.lists["/api/v1/pods"][2:]:
        agent["spec"]["containers"][0]["args"] = ["agent", "--secure-port=9444"]
    gathered(api, tmp_path)
    asked = {path for path, _ in api.asked if path.endswith("/divergences")}
    assert f"{PROXY}/https:agent-n1:9444/proxy/divergences" in asked


def test_events_of_ours_are_put_together(tmp_path: Path) -> None:
    api = StubApi()

    def event(reason: str, controller: str, message: str, **fields: Any) -> dict[str, Any]:
        involved = {"kind": "Pod", "namespace": "shop", "name": "web"}
        return {
            "reason": reason,
            "reportingComponent": controller,
            "message": message,
            "involvedObject": involved,
            "eventTime": at(60),
            **fields,
        }

    series = {"count": 4, "lastObservedTime": at(5)}
    api.lists["/api/v1/events"] = [
        event("FailedBinding", "berthmaster", "old"),
        event("FailedBinding", "gpu", "other"),
        event("FailedBinding", "berthmaster", "new", series=series),
        event("FailedScheduling", "berthmaster", "told otherwise"),
        event("BackOff", "kubelet", "not ours"),
    ]
    facts = gathered(api, tmp_path, ask=False)
    by_controller = {each.controller: each for each in facts.events}
    assert sorted(by_controller) == ["berthmaster", "gpu"]
    ours = by_controller["berthmaster"]
    assert (ours.count, ours.message, ours.about) == (5, "new", ("shop/web",))
    assert "type=Warning" in api.selectors


def test_who_is_not_known_or_not_answered_is_an_error(tmp_path: Path) -> None:
    class Unknown(StubApi):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            return web.Response(status=401, text=json.dumps({"kind": "Status", "code": 401}))

    with pytest.raises(KubeError, match="does not know you"):
        gathered(Unknown(), tmp_path)
    (tmp_path / "k").write_text((tmp_path / "kubeconfig").read_text())
    with pytest.raises(KubeError, match=r"the API server http://\S+ cannot be asked: "):
        asyncio.run(gather(Request(kubeconfig=str(tmp_path / "k")), version="1"))


def test_a_pod_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    api = StubApi()
    broken = pod("broken", spec={"nodeName": "n2"})
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much"
    add_pod(api, broken, pod("a"))
    facts = gathered(api, tmp_path, ask=False)
    assert [each.name for each in facts.pending or ()] == ["a"]
    assert gathering.PODS.collection == "/api/v1/pods"


def test_who_names_a_scheduler_profile_that_is_run_has_a_scheduler(tmp_path: Path) -> None:
    api = StubApi()
    entry = {"scheduler": "prod-a:10259", "generation": 1}
    api.lists["/apis/berthmaster.dev/v1alpha1/schedulerprofiles"] = [
        {
            "metadata": {"name": name, "uid": name},
            "spec": {"schedulerName": name},
            "status": {"observedBy": entries},
        }
        for name, entries in (("batch", [entry]), ("unseen", []))
    ]
    add_pod(
        api,
        pod("a", spec={"schedulerName": "batch"}),
        pod("b", spec={"schedulerName": "unseen"}),
    )
    facts = gathered(api, tmp_path, ask=False)
    assert "batch" in facts.judged_names
    unknown = [f for f in judge(facts) if f.check == "scheduler-name-unknown"]
    assert [finding.objects for finding in unknown] == [("shop/b",)]


def deleted_profile(name: str, seconds_ago: float) -> dict[str, Any]:
    return {
        "reason": "SchedulerProfileDeleted",
        "message": f"SchedulerProfile {name} was deleted",
        "reportingComponent": name,
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "a"},
        "eventTime": at(seconds_ago),
    }


@pytest.mark.parametrize(
    ("judged_ago", "on", "is_given_up"), [(90, {}, True), (30, {}, False), (30, NODE_N2, False)]
)
def test_a_name_is_given_up_until_somebody_acts_for_it_again(
    judged_ago: int, on: dict[str, str], is_given_up: bool, tmp_path: Path
) -> None:
    api = StubApi()
    spec = {"schedulerName": "packing"}
    said = condition("PodScheduled", "False", 120, reason="Unschedulable", message="0/3 nodes")
    later = condition("PodScheduled", "True" if on else "False", judged_ago, reason="Unschedulable")
    add_pod(
        api,
        pod("a", spec=spec, status={"conditions": [said]}),
        pod("b", spec={**spec, **on}, status={"conditions": [later]}),
    )
    api.lists["/api/v1/events"] = [deleted_profile("packing", 60)]
    facts = gathered(api, tmp_path, ask=False)
    assert ("packing" in facts.given_up_names) is is_given_up
    assert ("packing" not in facts.judged_names) is is_given_up
    unknown = [f for f in judge(facts) if f.check == "scheduler-name-unknown"]
    assert bool(unknown) is is_given_up


def test_a_name_is_not_given_up_where_a_profile_or_a_replica_has_it(tmp_path: Path) -> None:
    api = StubApi()
    entry = {"scheduler": "prod-a:10259", "generation": 1}
    api.lists["/apis/berthmaster.dev/v1alpha1/schedulerprofiles"] = [
        {
            "metadata": {"name": "anew", "uid": "anew"},
            "spec": {"schedulerName": "packing"},
            "status": {"observedBy": [entry]},
        }
    ]
    api.lists["/api/v1/events"] = [deleted_profile("packing", 60), deleted_profile("gpu", 60)]
    facts = gathered(api, tmp_path, ask=False)
    assert facts.given_up_names == {}
    assert "packing" in facts.judged_names
