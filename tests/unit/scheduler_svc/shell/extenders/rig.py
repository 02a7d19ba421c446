"""Extenders on a real server, and an API server that answers as a test says."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from kubeio.response import Response
from scheduler_svc.core.effects import BindPod, PodReference
from scheduler_svc.shell.config.schema import Extender
from scheduler_svc.shell.extenders.client import ExtenderClient
from scheduler_svc.shell.extenders.metrics import ExtenderMetrics
from scheduler_svc.shell.extenders.plan import PlannedExtender, core_extender
from scheduler_svc.shell.extenders.tls import make_context
from tests.extender_server import Answering, ExtenderServer, serve_extender

POD = PodReference("default", "p", "uid-p")
POD_PATH = "/api/v1/namespaces/default/pods/p"
BINDING = BindPod(POD, "berthmaster", "a", "id-1", 1, 0.0, 0.0, extender=0)


def planned(config: Extender, number: int = 0) -> PlannedExtender:
    return PlannedExtender(core_extender(number, config), config, make_context(config))


@contextmanager
def extender(
    verbs: Mapping[str, Answering], metrics: ExtenderMetrics | None = None, **fields: Any
) -> Iterator[tuple[ExtenderServer, ExtenderClient]]:
    """Give a server and a client that asks it; close the client before the loop ends."""
    with serve_extender(verbs) as server:
        config = Extender(
            url_prefix=server.url,
            filter_verb="filter",
            prioritize_verb="prioritize",
            preempt_verb="preempt",
            bind_verb="bind",
            weight=1,
            node_cache_capable=True,
        )
        config = msgspec.structs.replace(config, **fields)
        yield server, ExtenderClient(planned(config), metrics or ExtenderMetrics())


def pod_json(node: str = "", uid: str = "uid-p") -> Response:
    body = {"metadata": {"name": "p", "uid": uid}, "spec": {"nodeName": node}}
    return Response(200, [], msgspec.json.encode(body))


def pass_all(question: Any) -> Any:
    return {"NodeNames": question["NodeNames"]}
