import asyncio

import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest

from kubeio.instruments import (
    Counter,
    Definition,
    Histogram,
    Kind,
    LoopCollector,
    counter,
    exponential_buckets,
    gauge,
)

CALLS = Definition(name="calls_total", kind=Kind.COUNTER, help="Calls.", labels=("code",))
WAIT = Definition(
    name="wait_seconds",
    kind=Kind.HISTOGRAM,
    help="Waits.",
    labels=("queue",),
    buckets=(0.001, 0.002, 1e-05 * 1000),
)
SIZE = Definition(name="size", kind=Kind.GAUGE, help="Sizes.", labels=("type",))


async def show(*families: Metric) -> list[str]:
    registry = CollectorRegistry()
    registry.register(LoopCollector(lambda: list(families)))
    return generate_latest(registry).decode().splitlines()


async def test_counter_counts_by_label_values() -> None:
    calls = Counter(CALLS)
    calls.add(("200",))
    calls.add(("200",), 2)
    calls.add(("404",), 0)
    assert await show(calls.collect()) == [
        "# HELP calls_total Calls.",
        "# TYPE calls_total counter",
        'calls_total{code="200"} 3.0',
        'calls_total{code="404"} 0.0',
    ]


async def test_histogram_counts_a_bound_itself_in_its_bucket() -> None:
    waits = Histogram(WAIT)
    series = waits.series(("active",))
    for value in (0.0, 0.001, 0.0011, 0.002, 0.01, 0.011, 7.0):
        series.observe(value)
    assert waits.series(("active",)) is series
    assert await show(waits.collect()) == [
        "# HELP wait_seconds Waits.",
        "# TYPE wait_seconds histogram",
        'wait_seconds_bucket{le="0.001",queue="active"} 2.0',
        'wait_seconds_bucket{le="0.002",queue="active"} 4.0',
        'wait_seconds_bucket{le="0.01",queue="active"} 5.0',
        'wait_seconds_bucket{le="+Inf",queue="active"} 7.0',
        'wait_seconds_count{queue="active"} 7.0',
        f'wait_seconds_sum{{queue="active"}} {7.0251!r}',
    ]


async def test_families_of_values_from_elsewhere() -> None:
    assert await show(gauge(SIZE, [(("pods",), 2)]), counter(CALLS, [(("200",), 3)])) == [
        "# HELP size Sizes.",
        "# TYPE size gauge",
        'size{type="pods"} 2.0',
        "# HELP calls_total Calls.",
        "# TYPE calls_total counter",
        'calls_total{code="200"} 3.0',
    ]


def test_exponential_buckets_are_gos() -> None:
    assert exponential_buckets(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
    assert exponential_buckets(1, 2, 5) == (1, 2, 4, 8, 16)


async def test_collects_in_the_event_loop_when_asked_in_another_thread() -> None:
    loop = asyncio.get_running_loop()
    asked_in = []

    def collect() -> list[Metric]:
        asked_in.append(asyncio.get_running_loop())
        return [gauge(SIZE, [(("pods",), 1)])]

    registry = CollectorRegistry()
    registry.register(LoopCollector(collect))
    assert asked_in == []
    text = await asyncio.to_thread(generate_latest, registry)
    assert b'size{type="pods"} 1.0' in text
    assert asked_in == [loop]


async def test_failure_to_collect_reaches_who_asked() -> None:
    def collect() -> list[Metric]:
        raise LookupError("no figures")

    registry = CollectorRegistry()
    registry.register(LoopCollector(collect))
    with pytest.raises(LookupError, match="no figures"):
        await asyncio.to_thread(generate_latest, registry)
