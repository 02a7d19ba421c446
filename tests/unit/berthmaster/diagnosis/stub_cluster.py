"""A cluster's API server as `diagnose` reads it, made of few objects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from kubeio.pod_proxy import PROXIED_AUTHORIZATION

OURS = {"app.kubernetes.io/name": "berthmaster", "app.kubernetes.io/instance": "prod"}
PROXY = "/api/v1/namespaces/infra/pods"
NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
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
            NODE_LEASES: [lease(f"n{n}", f"n{n}") for n in (1, 2, 3)],
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


def add_pod(api: StubApi, *pods: dict[str, Any]) -> None:
    api.lists["/api/v1/pods"] += pods


def write_kubeconfig(path: Path, url: str) -> None:
    cluster = {"name": "c", "cluster": {"server": url}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"token": "mine"}}
    parts = {"clusters": [cluster], "contexts": [context], "users": [user]}
    path.write_text(yaml.safe_dump({"current-context": "c", **parts}))
