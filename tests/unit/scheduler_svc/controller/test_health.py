"""What the probes say: what a restart would help, and what it would not."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions
from scheduler_svc.controller.health import add_checks, add_shutdown_check


class Source:
    """An operator, a census and a watch of Pods, as the checks see them; all is well."""

    def __init__(self) -> None:
        self.beat: float | None = 0.5
        self.stalled: float | None = None
        self.heard: float | None = 10.0
        self.lagging = {"a": 1}
        self.watches: str | None = None
        self.objects: str | None = None
        self.silence: float | None = 30.0
        self.pods: str | None = None
        self.reflector: Source | None = self

    def beat_age_seconds(self) -> float | None:
        return self.beat

    def watch_problem(self) -> str | None:
        return self.watches

    def stalled_seconds(self) -> float | None:
        return self.stalled

    def age_seconds(self) -> float | None:
        return self.heard

    def last_byte_age_seconds(self) -> float | None:
        return self.silence

    def problem(self) -> str | None:
        return self.objects


class Reflector(Source):
    def problem(self) -> str | None:
        return self.pods


def verdicts(source: Source, *, stopping: bool = False) -> dict[str, bool]:
    """Give what each probe answers."""
    watched: Any = source
    server = HttpsServer(
        ServingOptions(port=0), registry=CollectorRegistry(), configz=dict, authorizer=None
    )
    reflector = Reflector()
    reflector.silence, reflector.pods = source.silence, source.pods
    if source.reflector is not None:
        source.reflector = reflector
    add_checks(server, watched, watched, watched)
    add_shutdown_check(server, lambda: stopping)
    return {name: checks.run_all().is_healthy for name, checks in server._checks.items()}


WELL = {"healthz": True, "livez": True, "readyz": True}
ILL = {"healthz": False, "livez": False, "readyz": False}
NOT_READY = {**WELL, "readyz": False}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, WELL),
        ({"beat": None}, WELL),
        ({"beat": 31.0}, ILL),
        ({"stalled": 30.0}, WELL),
        ({"stalled": 61.0}, ILL),
        ({"silence": 300.0}, ILL),
        # Nobody is heard, so it is the API server that is away.
        ({"silence": 300.0, "heard": 300.0}, WELL),
        ({"silence": 300.0, "heard": None}, WELL),
        ({"silence": None}, WELL),
        ({"watches": "podgroups.scheduling.x-k8s.io is not watched yet"}, NOT_READY),
        ({"objects": "3 objects have not been told of yet"}, NOT_READY),
        ({"pods": "pods not listed yet"}, NOT_READY),
        ({"reflector": None}, WELL),
    ],
)
def test_each_trouble_has_its_probe(fields: dict[str, Any], expected: dict[str, bool]) -> None:
    source = Source()
    for name, value in fields.items():
        setattr(source, name, value)
    assert verdicts(source) == expected


def test_who_is_stopping_is_not_ready() -> None:
    assert verdicts(Source(), stopping=True) == NOT_READY
