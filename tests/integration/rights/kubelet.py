"""A stand-in for a kubelet that asks the API server who may see what, as kubelets do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web

from deploy.controlplane import ControlPlane
from kubeio.certificates import ServingCertificate
from tests.integration.rest import create
from tests.integration.scheduler_faults.loop_thread import LoopThread
from tests.unit.kubeio.fake_api import serving
from tests.unit.node_agent.shell.kubelet.stub import StubKubelet

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_SUBRESOURCES: Final = {
    "/pods": ("pods", "proxy"),
    "/runningpods/": ("pods", "proxy"),
    "/configz": ("configz", "proxy"),
    "/metrics": ("metrics",),
}


class AskingKubelet:
    """Has no Pods, and tells so to whom the API server allows it.

    Source: pkg/kubelet/server/auth.go and server.go (`InstallAuthFilter`), v1.36.3.
    """

    def __init__(self, plane: ControlPlane, node_name: str) -> None:
        self._plane = plane
        self._node_name = node_name
        self._stub = StubKubelet()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        token = request.headers["Authorization"].removeprefix("Bearer ")
        refusal = await asyncio.to_thread(self._refusal, token, _SUBRESOURCES[request.path])
        if refusal:
            return web.Response(status=403, text=refusal)
        return await self._stub.answer(request)

    def _refusal(self, token: str, subresources: tuple[str, ...]) -> str:
        review = create(self._plane, _TOKEN_REVIEWS, {"spec": {"token": token}})
        user = review["status"]["user"]
        for subresource in subresources:
            attributes = {
                "verb": "get",
                "resource": "nodes",
                "subresource": subresource,
                "name": self._node_name,
            }
            spec = {
                "user": user["username"],
                "groups": user["groups"],
                "resourceAttributes": attributes,
            }
            if create(self._plane, _ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"]:
                return ""
        asked = " ".join(subresources)
        about = f"user={user['username']}, verb=get, resource=nodes, subresource(s)=[{asked}]"
        return f"Forbidden ({about})\n"


@contextmanager
def kubelet_served(loop: LoopThread, kubelet: AskingKubelet) -> Iterator[str]:
    """Serve over TLS with a certificate that nobody knows, as kubelets do; give the URL."""
    context = ServingCertificate(None, None, names=("127.0.0.1",)).context
    server = serving(kubelet.answer, context=context)
    url = loop.run(server.__aenter__())
    try:
        yield url
    finally:
        loop.run(server.__aexit__(None, None, None))
