import asyncio
import time

import pytest

from kubeio.loop_lag import LoopLag
from tests.faultproxy import wait_until
from tests.unit.scheduler_svc.shell.registry import Samples


async def test_work_that_holds_the_loop_shows_as_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeio.loop_lag.LAG_PROBE_SECONDS", 0.001)
    lag = LoopLag()
    sample = Samples(lag.collect)
    probing = asyncio.create_task(lag.run())
    name = "berthmaster_loop_lag_seconds"
    await wait_until(lambda: sample(f"{name}_count"), what="the first probe")
    before = sample(f"{name}_sum") or 0.0
    time.sleep(0.02)  # noqa: ASYNC251 - this is what is to be seen
    count = sample(f"{name}_count") or 0.0
    await wait_until(lambda: (sample(f"{name}_count") or 0.0) > count, what="the next probe")
    probing.cancel()
    assert (sample(f"{name}_sum") or 0.0) - before >= 0.018
