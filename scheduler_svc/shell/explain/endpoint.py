"""The running scheduler explains itself, over its HTTPS port and under its authorisation.

==========================================  ==================================================
``GET /explain/pods/NAMESPACE/NAME``        an `Explanation`: how the Pod stands now, and the
                                            decisions about it that are remembered
``POST /explain/pods``                      an `Answer` about a Pod that does not exist, whose
                                            manifest (JSON) is the body
``GET /explain/pending``                    an `Answer` about each pending Pod, one a line
``GET /explain/decisions/ID``               a `Decision`, if it is remembered
==========================================  ==================================================

``?preempt=true`` asks what would make room, ``?namespace=NAME`` about one namespace's pending Pods.
Plugins are asked in the event loop, which owns the
core, and for one Pod at a time; the answer is put into words in a thread. Between two Pods the
loop has as much time for its work as the last one took.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec
from aiohttp import web

from kubeio.serving import HttpsServer
from scheduler_svc.core.errors import InputError
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.core.scheduler import Scheduler
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.explain.answer import Answer, with_gate
from scheduler_svc.shell.explain.asking import (
    Asked,
    Profiles,
    ask,
    put_into_words,
    with_served_names,
)
from scheduler_svc.shell.explain.kinds import POD, decode_manifest
from scheduler_svc.shell.explain.memory import Decision, DecisionMemory

MAX_BODY_BYTES: Final = 1024 * 1024
_JSON: Final = "application/json"
_JSON_LINES: Final = "application/x-ndjson"


class Explanation(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a pending Pod stands now (None: it is not pending), and what was decided about it.

    `node_name` is the Node it is on. Where it is neither: the schedulerNames that are served, of
    which its own may be none.
    """

    answer: Answer | None = None
    node_name: str = msgspec.field(default="", name="nodeName")
    decisions: tuple[Decision, ...] = ()
    served_names: tuple[str, ...] = msgspec.field(name="servedSchedulerNames", default=())


class ExplainEndpoint:
    """Answers questions about a scheduler's current state and its last decisions.

    Parameters
    ----------
    is_listed
        Whether the cluster is known; before that there are no answers.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        profiles: Profiles,
        memory: DecisionMemory,
        *,
        is_listed: Callable[[], bool],
    ) -> None:
        self._scheduler = scheduler
        self._profiles = profiles
        self._memory = memory
        self._is_listed = is_listed
        self._turn = asyncio.Lock()

    def add_to(self, server: HttpsServer) -> None:
        """Add the routes, before the server starts."""
        for method, path, handler in (
            ("GET", "/explain/pods/{namespace}/{name}", self._explain_pod),
            ("POST", "/explain/pods", self._explain_new_pod),
            ("GET", "/explain/pending", self._explain_pending),
            ("GET", "/explain/decisions/{id}", self._tell_decision),
        ):
            server.add_route(method, path, self._once_listed(handler))

    def _once_listed(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if not self._is_listed():
                return _refuse(503, "the cluster has not been listed yet")
            return await handler(request)

        return handle

    async def _explain_pod(self, request: web.Request) -> web.Response:
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        decisions = tuple(self._memory.of_pod(key))
        pod, node_name = self._find(key)
        if pod is not None:
            body = await self._answer(pod, request, decisions)
        elif node_name or decisions:
            served = () if node_name else self._profiles.names
            body = _encode(
                Explanation(node_name=node_name, decisions=decisions, served_names=served)
            )
        else:
            return _refuse(
                404,
                f"no Pod {key} of this scheduler's is known, and no decision; it serves the "
                f"schedulerNames {', '.join(self._profiles.names)}",
            )
        return web.Response(body=body, content_type=_JSON)

    async def _explain_new_pod(self, request: web.Request) -> web.Response:
        body = b""
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return _refuse(413, f"a Pod has at most {MAX_BODY_BYTES} bytes")
        try:
            pod = _read_pod(body, self._profiles.annotations)
        except InputError as error:
            return _refuse(400, str(error))
        return web.Response(body=await self._answer(pod, request), content_type=_JSON)

    async def _explain_pending(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": _JSON_LINES})
        await response.prepare(request)
        namespace = request.query.get("namespace", "")
        for uid in list(self._scheduler.pending):
            pod = self._scheduler.pending.get(uid)
            if pod is None or (namespace and pod.namespace != namespace):
                continue
            if uid not in self._scheduler.cache:
                began = time.monotonic()
                await response.write(await self._answer(pod, request) + b"\n")
                await asyncio.sleep(time.monotonic() - began)
        await response.write_eof()
        return response

    async def _tell_decision(self, request: web.Request) -> web.Response:
        decision = self._memory.find(request.match_info["id"])
        if decision is None:
            return _refuse(404, "no such decision is remembered (by this replica, any more)")
        return web.Response(body=_encode(decision), content_type=_JSON)

    def _find(self, key: str) -> tuple[PodInfo | None, str]:
        """Give a pending Pod, or the Node that it is on. O(Pods), some milliseconds."""
        for pod in self._scheduler.pending.values():
            if pod.key == key and pod.uid not in self._scheduler.cache:
                return pod, ""
        columns = self._scheduler.columns
        for cached in self._scheduler.cache.pods():
            if cached.pod.key == key:
                return None, columns.names[cached.row]
        return None, ""

    async def _answer(
        self, pod: PodInfo, request: web.Request, decisions: tuple[Decision, ...] | None = None
    ) -> bytes:
        preempt = request.query.get("preempt") == "true"
        async with self._turn:
            asked = ask(self._profiles, pod, self._scheduler, read_now(), preempt=preempt)
            if isinstance(asked, Answer):
                asked = with_served_names(asked, self._profiles, pod)
            gate = self._profiles.gate_of(pod)
            # The core goes on while the answer is put into words: a row may get another Node.
            names = list(self._scheduler.columns.names)
            add_gate = partial(with_gate, gate=gate, pod=pod)
            return await asyncio.to_thread(_tell, asked, names, add_gate, decisions)


def _tell(
    asked: Asked,
    names: list[str],
    add_gate: Callable[[Answer], Answer],
    decisions: tuple[Decision, ...] | None,
) -> bytes:
    answer = add_gate(put_into_words(asked, names))
    return _encode(answer if decisions is None else Explanation(answer, decisions=decisions))


def _read_pod(body: bytes, annotations: frozenset[str]) -> PodInfo:
    try:
        manifest = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise InputError(f"the body is no manifest: {error}") from error
    if (manifest.get("apiVersion"), manifest.get("kind")) != ("v1", POD):
        raise InputError("the body is no Pod (apiVersion v1)")
    decoded = decode_manifest(manifest)
    if decoded is None:
        raise InputError("the body is no Pod (apiVersion v1)")
    return PodInterner(annotations).intern(decoded.content)


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value)


def _refuse(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")
