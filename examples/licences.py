"""Takes a licence from an outside service before a Pod is bound, and gives it back if it is not.

This shows PreBind work against another system: it is awaited, has a time-out, is undone
where the Pod does not come to run after all, and nothing else waits for it meanwhile.
"""

import asyncio
import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from berthmaster.plugin import Args, NodePlugin, Pod, Scope

PRODUCT = "example.com/licence"


class LicencesArgs(Args, frozen=True):
    """Where the service is."""

    url: str
    timeout_seconds: float = 5.0


class Licences(NodePlugin[LicencesArgs]):
    """Has a licence checked out for each Pod that is annotated with a product."""

    args_type = LicencesArgs
    pod_fields = frozenset({"annotations"})
    pod_annotations = frozenset({PRODUCT})
    scope = Scope.SPEC
    pre_bind_timeout_seconds = 30.0

    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        """Check one out; raises where the service refuses: the Pod is tried again later."""
        product = pod.annotations.get(PRODUCT)
        if product:
            await asyncio.to_thread(self._send, "PUT", pod.uid, product)

    async def undo_pre_bind(self, pod: Pod, node_name: str) -> None:
        """Give it back; the service takes it well if there was none."""
        product = pod.annotations.get(PRODUCT)
        if product:
            await asyncio.to_thread(self._send, "DELETE", pod.uid, product)

    def _send(self, method: str, uid: str, product: str) -> None:
        request = Request(
            f"{self.args.url}/licences/{uid}",
            data=json.dumps({"product": product}).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        try:
            urlopen(request, timeout=self.args.timeout_seconds).close()
        except HTTPError as refusal:
            refusal.close()
            raise RuntimeError(f"{self.args.url} answered {refusal.status}") from None
