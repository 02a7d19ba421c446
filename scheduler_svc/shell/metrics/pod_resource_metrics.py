"""``/metrics/resources``: what each Pod requests, and what it is limited to.

A cluster of 150,000 Pods has a million lines: they are written while they are sent, a slice
at a time, in the event loop, so that nothing waits for long and no text is kept.

Source: pkg/scheduler/metrics/resources/resources.go, v1.36.3. Differences: Pods that wait for
other schedulers are not known here, and requests are in the units that the scheduler counts.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from aiohttp import web
from prometheus_client.utils import floatToGoString

from kubeio.instruments import Definition
from kubeio.serving import HttpsServer
from scheduler_svc.core.pods import PodInfo, PodShape
from scheduler_svc.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from scheduler_svc.shell.metrics import metric_table as table

PATH: Final = "/metrics/resources"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SLICE_PODS: Final = 500
_UNITS: Final = {CPU: "cores", MEMORY: "bytes", EPHEMERAL_STORAGE: "bytes", "storage": "bytes"}

Amount = tuple[str, float]


class PodResourceEndpoint:
    """Answers scrapes; with nothing unless this replica leads, so that no Pod counts twice.

    `pods` gives all Pods that have not finished, and is asked once a scrape.
    """

    def __init__(
        self, pods: Callable[[], Iterable[PodInfo]], *, is_leading: Callable[[], bool]
    ) -> None:
        self._pods = pods
        self._is_leading = is_leading

    def add_to(self, server: HttpsServer) -> None:
        """Add the route, before the server starts."""
        server.add_route("GET", PATH, self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
        await response.prepare(request)
        for text in render(list(self._pods())) if self._is_leading() else ():
            await response.write(text.encode())
            await asyncio.sleep(0)
        await response.write_eof()
        return response


def render(pods: Sequence[PodInfo]) -> Iterator[str]:
    """Write both families, some hundred Pods at a time. Cost: 1 µs a line."""
    for definition, amounts in ((table.POD_LIMIT, _limits), (table.POD_REQUEST, _requests)):
        yield _heading(definition)
        ends: dict[PodShape, list[str]] = {}
        for start in range(0, len(pods), SLICE_PODS):
            lines: list[str] = []
            for pod in pods[start : start + SLICE_PODS]:
                shape = pod.shape
                if shape not in ends:
                    ends[shape] = [_end(shape, amount) for amount in amounts(shape) if amount[1]]
                begin = (
                    f'{definition.name}{{namespace="{_escaped(pod.namespace)}",'
                    f'node="{_escaped(pod.node_name)}",pod="{_escaped(pod.name)}",'
                )
                lines += [begin + end for end in ends[shape]]
            yield "".join(lines)


def _heading(definition: Definition) -> str:
    return (
        f"# HELP {definition.name} {definition.help}\n# TYPE {definition.name} {definition.kind}\n"
    )


def _end(shape: PodShape, amount: Amount) -> str:
    """Write what is the same for all Pods of a shape, which is all but their names."""
    resource, value = amount
    number: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return (
        f'priority="{shape.priority}",resource="{_escaped(resource)}",'
        f'scheduler="{_escaped(shape.scheduler_name)}",unit="{_unit(resource)}"}} {number}\n'
    )


def _requests(shape: PodShape) -> list[Amount]:
    requests = shape.requests
    return [
        (CPU, requests.milli_cpu / 1000),
        (EPHEMERAL_STORAGE, requests.ephemeral_storage_bytes),
        (MEMORY, requests.memory_bytes),
        *requests.scalars,
    ]


def _limits(shape: PodShape) -> list[Amount]:
    return [(resource, nano / 10**9) for resource, nano in shape.limits]


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    if resource.startswith("attachable-volumes-"):
        return "integer"
    return _UNITS.get(resource, "")


def _escaped(value: str) -> str:
    """Write a label's value; names that the API server lets pass need nothing done."""
    if '"' in value or "\\" in value or "\n" in value:
        return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return value
