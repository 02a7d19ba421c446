"""As much of an API server as kopf asks: discovery, lists and watches, over plain HTTP."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any, Self

from aiohttp import web

from kubeio.credentials import Credentials
from kubeio.login import Login

GROUP = {
    "metadata": {"namespace": "default", "name": "train", "uid": "u", "resourceVersion": "5"},
    "spec": {"minMember": 1},
}
_RESOURCES: dict[str, list[tuple[str, str, bool]]] = {
    "v1": [("namespaces", "Namespace", False), ("events", "Event", True)],
    "apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition", False)],
    "scheduling.x-k8s.io/v1alpha1": [("podgroups", "PodGroup", True)],
    "berthmaster.dev/v1alpha1": [("schedulerprofiles", "SchedulerProfile", False)],
}


class FakeCluster:
    """Serves one PodGroup and no SchedulerProfile; an async context manager.

    Attributes
    ----------
    watch_status
        What watches are answered with; 200 is an answer that never ends.
    hangs_up
        Whether lists are answered by the end of the connection.
    overlooked
        Names of resources that discovery does not tell of.
    list_count, watch_count
        Requests so far.
    """

    def __init__(self) -> None:
        self.watch_status = 200
        self.hangs_up = False
        self.overlooked: set[str] = set()
        self.list_count = 0
        self.watch_count = 0
        self._stack = AsyncExitStack()
        self._port = 0
        self._ends: set[asyncio.Event] = set()

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._port = runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end_watches()
        await self._stack.aclose()

    async def load_credentials(self) -> Credentials:
        """Log in to it."""

        async def read() -> Login:
            return Login(server_url=f"http://127.0.0.1:{self._port}")

        return Credentials(await read(), read)

    def end_watches(self) -> None:
        """End all watches, as a server does that goes down."""
        for end in self._ends:
            end.set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.strip("/")
        if path == "api":
            return web.json_response({"versions": ["v1"]})
        if path == "apis":
            names = [name.split("/") for name in _RESOURCES if "/" in name]
            return web.json_response({"groups": [_group(*name) for name in names]})
        version = path.removeprefix("apis/").removeprefix("api/")
        if version in _RESOURCES:
            known = [each for each in _RESOURCES[version] if each[0] not in self.overlooked]
            return web.json_response({"resources": [_resource(*each) for each in known]})
        if request.query.get("watch"):
            return await self._watch(request)
        self.list_count += 1
        if self.hangs_up:
            assert request.transport is not None
            request.transport.abort()
        items = [GROUP] if path.endswith("podgroups") else []
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        self.watch_count += 1
        if self.watch_status != 200:
            refusal = {"kind": "Status", "code": self.watch_status, "message": "not now"}
            return web.json_response(refusal, status=self.watch_status)
        answer = web.StreamResponse()
        await answer.prepare(request)
        end = asyncio.Event()
        self._ends.add(end)
        bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}}
        await answer.write(json.dumps(bookmark).encode() + b"\n")
        await end.wait()
        self._ends.discard(end)
        return answer


def _group(name: str, version: str) -> dict[str, Any]:
    told = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [told], "preferredVersion": told}


def _resource(plural: str, kind: str, namespaced: bool) -> dict[str, Any]:
    verbs = ["get", "list", "watch", "patch"]
    names = {"name": plural, "singularName": kind.lower(), "kind": kind}
    return {**names, "namespaced": namespaced, "verbs": verbs}
