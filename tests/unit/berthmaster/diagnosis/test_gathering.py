"""What is read of a cluster, page by page, and what becomes of what may not be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from berthmaster.cli.diagnosis import gathering, leases
from berthmaster.cli.diagnosis.facts import Facts, Scope
from berthmaster.cli.diagnosis.gathering import Request, gather
from berthmaster.cli.diagnosis.judgement import judge
from kubeio.errors import KubeError, UnauthorizedError
from kubeio.serving import PROXIED_AUTHORIZATION
from tests.unit.kubeio.fake_api import serving

OURS = {"app.kubernetes.io/name": "berthmaster", "app.kubernetes.io/instance": "prod"}
PROXY = "/api/v1/namespaces/infra/pods"
CONFIG = {
    "leaderElection": {"resourceNamespace": "infra", "resourceName": "prod"},
    "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "gpu"}],
}


def at(seconds_ago: float) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def condition(kind: str, status: str, seconds_ago: float = 600, **fields: str) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": at(seconds_ago), **fields}


def pod(
    name: str,
    namespace: str = "shop",
    *,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": name,
            "creationTimestamp": at(900),
            **metadata,
        },
        "spec": {"schedulerName": "berthmaster", "containers": [container], **(spec or {})},
        "status": {"phase": "Pending", **(status or {})},
    }


def scheduler_pod(name: str) -> dict[str, Any]:
    container = {
        "name": "scheduler",
        "image": "registry/berthmaster:1.2.3",
        "args": ["scheduler", "--config", "/etc/berthmaster/scheduler.yaml", "--secure-port=9443"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/berthmaster"}],
    }
    return pod(
        name,
        "infra",
        spec={
            "schedulerName": "default-scheduler",
            "nodeName": "n1",
            "serviceAccountName": "prod",
            "containers": [container],
            "volumes": [{"name": "config", "configMap": {"name": "prod"}}],
        },
        status={"phase": "Running", "conditions": [condition("Ready", "True")]},
        labels={**OURS, "app.kubernetes.io/component": "scheduler"},
    )


def agent_pod(node_name: str) -> dict[str, Any]:
    container = {"name": "agent", "image": "registry/berthmaster:1.2.3"}
    return pod(
        f"agent-{node_name}",
        "infra",
        spec={"nodeName": node_name, "serviceAccountName": "agent", "containers": [container]},
        status={"phase": "Running", "conditions": [condition("Ready", "True")]},
        labels={**OURS, "app.kubernetes.io/component": "agent"},
    )


def node(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": at(9000)},
        "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [condition("Ready", "True")],
            "nodeInfo": {"kubeletVersion": "v1.36.3"},
        },
    }


def lease(name: str, holder: str, seconds_ago: float = 1) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": at(9000), "resourceVersion": "1"},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": at(seconds_ago),
        },
    }


class StubApi:
    """A cluster: lists by path, two objects a page; paths in `refused` are answered 403."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {
            "/api/v1/nodes": [node("n1"), node("n2"), node("n3")],
            "/api/v1/pods": [
                scheduler_pod("prod-a"),
                scheduler_pod("prod-b"),
                *(agent_pod(f"n{n}") for n in (1, 2, 3)),
            ],
            "/api/v1/events": [],
            "/apis/apps/v1/daemonsets": [{"status": {"desiredNumberScheduled": 3}}],
            "/apis/coordination.k8s.io/v1/namespaces/infra/leases": [lease("prod", "prod-a_1")],
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases": [
                lease("kube-scheduler", "cp_1")
            ],
        }
        self.objects: dict[str, Any] = {
            "/version": {"gitVersion": "v1.36.3"},
            "/api/v1/namespaces/infra/configmaps/prod": {
                "data": {"scheduler.yaml": yaml.safe_dump(CONFIG)}
            },
            "/api/v1/namespaces/infra/serviceaccounts/prod/token": {"status": {"token": "t-prod"}},
            "/api/v1/namespaces/infra/serviceaccounts/agent/token": {"status": {"token": "t-a"}},
        }
        self.refused: set[str] = set()
        self.asked: list[tuple[str, str | None]] = []
        self.selectors: list[str] = []
        self.on_get: Callable[[str], None] = lambda _: None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        self.on_get(path)
        self.asked.append((path, request.headers.get(PROXIED_AUTHORIZATION)))
        if path in self.refused:
            status = {"kind": "Status", "message": f"no {path} for you", "reason": "Forbidden"}
            return web.json_response({**status, "code": 403}, status=403)
        if path in self.lists:
            return self._page(request, self.lists[path])
        if path in self.objects:
            return web.json_response(self.objects[path])
        for collection, items in self.lists.items():
            for item in items:
                if path == f"{collection}/{item.get('metadata', {}).get('name')}":
                    return web.json_response(item)
        missing = {"kind": "Status", "message": "not found", "reason": "NotFound", "code": 404}
        return web.json_response(missing, status=404)

    def _page(self, request: web.Request, items: list[dict[str, Any]]) -> web.StreamResponse:
        selector = request.query.get("fieldSelector", "")
        self.selectors.append(selector)
        if selector == "status.phase=Failed":
            items = [item for item in items if item["status"]["phase"] == "Failed"]
        elif "status.phase!=Failed" in selector:
            items = [item for item in items if item["status"]["phase"] != "Failed"]
        elif selector.startswith("metadata.name="):
            name = selector.removeprefix("metadata.name=").partition(",")[0]
            items = [item for item in items if item["metadata"]["name"] == name]
        assert "limit" in request.query or "metadata.name" in selector
        begin = int(request.query.get("continue", "0"))
        more = begin + 2 < len(items)
        metadata = {"continue": str(begin + 2)} if more else {}
        return web.json_response({"metadata": metadata, "items": items[begin : begin + 2]})


def gathered(api: StubApi, tmp_path: Path, **request: Any) -> Facts:
    async def run() -> Facts:
        async with serving(api.handle) as url:
            cluster = {"name": "c", "cluster": {"server": url}}
            context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
            user = {"name": "u", "user": {"token": "mine"}}
            path = tmp_path / "kubeconfig"
            parts = {"clusters": [cluster], "contexts": [context], "users": [user]}
            path.write_text(yaml.safe_dump({"current-context": "c", **parts}))
            return await gather(Request(kubeconfig=str(path), **request), version="1.2.3")

    return asyncio.run(run())


def add_pod(api: StubApi, *pods: dict[str, Any]) -> None:
    api.lists["/api/v1/pods"] += pods


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


def test_pods_are_sorted_by_how_they_stand(tmp_path: Path) -> None:
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
        pod(
            "silent",
            spec={"nodeName": "n2"},
            status={"conditions": [condition("PodScheduled", "True", 120)]},
        ),
        pod(
            "job",
            spec={"nodeName": "n2", "restartPolicy": "Never"},
            status={
                "phase": "Running",
                "startTime": at(500),
                "conditions": [
                    condition("PodReadyToStartContainers", "True"),
                    condition("Ready", "False"),
                ],
                "containerStatuses": [
                    {"name": "c", "state": {"terminated": {"exitCode": 0}}, "ready": False}
                ],
            },
        ),
        pod(
            "refused",
            spec={"nodeName": "n3"},
            status={
                "phase": "Failed",
                "reason": "OutOfcpu",
                "message": "no cpu",
                "conditions": [condition("PodScheduled", "True", 30)],
            },
        ),
        pod(
            "ended",
            spec={"nodeName": "n3"},
            status={
                "phase": "Failed",
                "reason": "",
                "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 1}}}],
            },
        ),
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
    assert {each.name: each.cause for each in facts.stopped} == {
        "silent": "kubelet_silent",
        "refused": "refused",
    }
    assert "berthmastr" not in facts.judged_names
    assert facts.nodes is not None
    assert facts.nodes[1].used["cpu"] == 1000


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
        api.objects[f"{PROXY}/https:agent-{name}:10260/proxy/divergences"] = {
            **view,
            "kubelet": {},
        }
    facts = gathered(api, tmp_path)
    [web] = facts.stopped
    assert (web.cause, web.detail, web.told_by) == ("not_seen", "Unseen.", "agent")
    [divergence] = facts.divergences
    assert (divergence.node_name, divergence.pod) == ("n2", "shop/web")
    assert facts.asked_agents == 3
    tokens = [token for path, token in api.asked if path.endswith("/divergences")]
    assert tokens == ["Bearer t-a"] * 3
    api.refused = {f"{PROXY}/https:agent-n2:10260/proxy/divergences"}
    refused = gathered(api, tmp_path)
    assert refused.stopped[0].cause == "kubelet_silent"
    assert "for you" in refused.agents_problem


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

    with pytest.raises(UnauthorizedError):
        gathered(Unknown(), tmp_path)
    (tmp_path / "k").write_text((tmp_path / "kubeconfig").read_text())
    with pytest.raises(KubeError):
        asyncio.run(gather(Request(kubeconfig=str(tmp_path / "k")), version="1"))


def test_a_pod_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    api = StubApi()
    broken = pod("broken", spec={"nodeName": "n2"})
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much"
    add_pod(api, broken, pod("a"))
    facts = gathered(api, tmp_path, ask=False)
    assert [each.name for each in facts.pending or ()] == ["a"]
    assert gathering.PODS.collection == "/api/v1/pods"
