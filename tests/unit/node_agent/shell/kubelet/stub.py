"""A stand-in for a kubelet's endpoints, for tests of what is made of its answers."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from tests.unit.node_agent.core.pods import document

START_METRICS = """\
# HELP kubelet_pod_start_sli_duration_seconds [ALPHA] Duration in seconds to start a pod.
# TYPE kubelet_pod_start_sli_duration_seconds histogram
kubelet_pod_start_sli_duration_seconds_bucket{le="0.5"} 1
kubelet_pod_start_sli_duration_seconds_bucket{le="1"} 3
kubelet_pod_start_sli_duration_seconds_bucket{le="+Inf"} 4
kubelet_pod_start_sli_duration_seconds_sum 7.25
kubelet_pod_start_sli_duration_seconds_count 4
kubelet_pod_worker_start_duration_seconds_bucket{le="0.005"} 9
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.78031e+09
process_virtual_memory_bytes 7.9e+08
"""


def shown(name: str = "a", seen: str = "2026-06-01T12:00:02.125000000Z", **fields: Any) -> Any:
    """Give a Pod's document as a kubelet shows it."""
    annotations = {"kubernetes.io/config.source": "api", "kubernetes.io/config.seen": seen}
    return document(name, **{"annotations": annotations, **fields})


@dataclass
class StubKubelet:
    """Answers what it is told to; `refused` paths with 403, all with 503 while it is `broken`."""

    pods: list[Any] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    metrics: str = START_METRICS
    refused: set[str] = field(default_factory=set)
    broken: bool = False
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.broken:
            return web.Response(status=503, text="no")
        if request.path in self.refused:
            return web.Response(status=403, text="Forbidden")
        match request.path:
            case "/pods":
                return _json({"kind": "PodList", "items": self.pods})
            case "/runningpods/":
                items = [{"metadata": {"uid": uid}} for uid in self.running]
                return _json({"kind": "PodList", "items": items or None})
            case "/configz":
                return _json(
                    {
                        "kubeletconfig": {
                            "staticPodPath": "/etc/kubernetes/manifests",
                            "fileCheckFrequency": "20s",
                            "httpCheckFrequency": "40s",
                        }
                    }
                )
            case "/metrics":
                return web.Response(text=self.metrics)
        return web.Response(status=404)


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
