"""``/metrics/resources`` beside what kube-scheduler showed of the same Pods."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import aiohttp
import msgspec
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from kubeio.serving import HttpsServer
from kubeio.serving_options import ServingOptions
from scheduler_svc.core.objects import Pod
from scheduler_svc.core.pods import PodInfo, PodInterner
from scheduler_svc.shell.metrics import pod_resource_metrics
from scheduler_svc.shell.metrics.pod_resource_metrics import PATH, PodResourceEndpoint, render
from tests.builders import make_pod_info

DATA: Final = Path(__file__).parents[4] / "data/metrics"

Series = tuple[str, tuple[tuple[str, str], ...]]


def recorded_pods() -> list[PodInfo]:
    interner = PodInterner()
    lines = (DATA / "resources-pods.jsonl").read_bytes().splitlines()
    return [interner.intern(msgspec.json.decode(line, type=Pod)) for line in lines]


def samples(text: str) -> dict[Series, float]:
    found = list(_samples(text))
    assert len(found) == len(dict(found))
    return dict(found)


def _samples(text: str) -> Iterator[tuple[Series, float]]:
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        for sample in family.samples:
            yield (sample.name, tuple(sorted(sample.labels.items()))), sample.value


def test_shows_what_kube_scheduler_shows() -> None:
    theirs = samples((DATA / "resources-1.36.3.txt").read_text())
    assert samples("".join(render(recorded_pods()))) == pytest.approx(theirs, rel=1e-12)
    assert len(theirs) == 34


def test_pods_are_written_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = recorded_pods()
    whole = list(render(pods))
    monkeypatch.setattr(pod_resource_metrics, "SLICE_PODS", 3)
    sliced = list(render(pods))
    assert len(sliced) == 2 * (1 + 4)
    assert "".join(sliced) == "".join(whole)


@pytest.mark.parametrize(
    ("resource", "unit"),
    [
        ("cpu", "cores"),
        ("memory", "bytes"),
        ("hugepages-2Mi", "bytes"),
        ("attachable-volumes-x", "integer"),
        ("example.com/gpu", ""),
    ],
)
def test_units(resource: str, unit: str) -> None:
    text = "".join(render([make_pod_info(requests={resource: 1})]))
    [(_, labels)] = samples(text)
    assert dict(labels)["unit"] == unit


def test_any_text_is_a_label() -> None:
    name = 'a"b\\c\nd'
    text = "".join(render([make_pod_info(requests={"cpu": 1}, scheduler=name)]))
    [(_, labels)] = samples(text)
    assert dict(labels)["scheduler"] == name


@pytest.mark.parametrize("is_leading", [True, False])
async def test_only_the_leader_shows_anything(is_leading: bool) -> None:
    server = HttpsServer(
        ServingOptions(bind_address="127.0.0.1", port=0), registry=CollectorRegistry(), configz=dict
    )
    pods = recorded_pods()
    PodResourceEndpoint(lambda: pods, is_leading=lambda: is_leading).add_to(server)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with server, aiohttp.ClientSession() as session, asyncio.timeout(10):
        url = f"https://127.0.0.1:{server.port}{PATH}"
        async with session.get(url, ssl=context) as response:
            assert response.status == 200
            assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            text = await response.text()
    assert text == ("".join(render(pods)) if is_leading else "")
