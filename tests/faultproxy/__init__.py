"""A proxy before a real API server that breaks what it is told to break.

    async with FaultProxy(url, ca_path=ca, token=token, directory=tmp_path) as proxy:
        proxy.add(LoseAnswer(Match(method="POST", path=r"/binding$"), times=1))
        ...  # a client with proxy.kubeconfig_path

Faults are matched to requests one by one, so a test says exactly which answer gets
lost. Everything else passes through unchanged.
"""

from tests.faultproxy.faults import (
    Cut,
    Delay,
    End,
    Fault,
    HalfOpen,
    Inject,
    LoseAnswer,
    LoseRequest,
    Match,
    Respond,
    Silence,
)
from tests.faultproxy.proxy import FaultProxy, RequestRecord
from tests.faultproxy.waiting import wait_until, wait_until_async

__all__ = [
    "Cut",
    "Delay",
    "End",
    "Fault",
    "FaultProxy",
    "HalfOpen",
    "Inject",
    "LoseAnswer",
    "LoseRequest",
    "Match",
    "RequestRecord",
    "Respond",
    "Silence",
    "wait_until",
    "wait_until_async",
]
