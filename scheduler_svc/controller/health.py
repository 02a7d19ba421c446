"""The checks behind ``/livez`` and ``/readyz``, and how what they tell is measured.

``/livez`` fails where a new process would help: kopf's event loop has run no timer for half a
minute; kopf has not told of what two lists in a row have shown, for a minute; or the watch of
Pods has brought no byte for minutes while lists are answered. An API server that is away fails
``/readyz`` only, and so does one that lets kopf watch nothing: it tries again by itself. Our own
event loop needs no check: it is what answers.
"""

from collections.abc import Callable
from typing import Final

from kubeio.serving import HttpsServer
from scheduler_svc.controller.census import SILENCE_SECONDS, Census
from scheduler_svc.controller.operator.thread import OperatorThread
from scheduler_svc.controller.pod_watch import PodWatch

LONGEST_BEAT_SECONDS: Final = 30.0
LONGEST_STALL_SECONDS: Final = 60.0
LONGEST_POD_SILENCE_SECONDS: Final = 240.0
"""The reflector hangs up after 105 s without a byte, and tries again."""


def add_checks(
    server: HttpsServer, operator: OperatorThread, census: Census, pods: PodWatch
) -> None:
    """Add all but those of the Lease."""

    def check_loop() -> str | None:
        age = operator.beat_age_seconds()
        if age is None or age <= LONGEST_BEAT_SECONDS:
            return None
        return f"kopf's event loop has done nothing for {age:.0f} s"

    def check_watch() -> str | None:
        stalled = census.stalled_seconds()
        if stalled is None or stalled <= LONGEST_STALL_SECONDS:
            return None
        return f"kopf has not told of {len(census.lagging)} objects for {stalled:.0f} s"

    def check_pods() -> str | None:
        reflector, heard = pods.reflector, census.age_seconds()
        age = None if reflector is None else reflector.last_byte_age_seconds()
        is_away = heard is None or heard > SILENCE_SECONDS
        if age is None or is_away or age <= LONGEST_POD_SILENCE_SECONDS:
            return None
        return f"nothing heard of pods for {age:.0f} s, though lists are answered"

    server.add_check("kopf-loop", check_loop, healthz=True, livez=True)
    server.add_check("kopf-watch", check_watch, healthz=True, livez=True)
    server.add_check("pod-watch", check_pods, healthz=True, livez=True)
    server.add_check("watches", operator.watch_problem)
    server.add_check("objects", census.problem)
    server.add_check("pods", lambda: _problem_of_pods(pods))


def add_shutdown_check(server: HttpsServer, is_stopping: Callable[[], bool]) -> None:
    """Have ``/readyz`` fail as soon as the process is asked to end."""
    server.add_check("shutdown", lambda: "process is shutting down" if is_stopping() else None)


def _problem_of_pods(pods: PodWatch) -> str | None:
    return None if pods.reflector is None else pods.reflector.problem()
