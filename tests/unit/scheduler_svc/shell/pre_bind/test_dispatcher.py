"""The dispatcher of plugins' work: one outcome for each effect, whatever happens."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from scheduler_svc.core.effects import PodReference, RunCleanup, RunPreBind, WithdrawPreBind
from scheduler_svc.core.events import PreBindFinished
from scheduler_svc.shell.pre_bind import PreBindDispatcher
from tests.faultproxy import wait_until


class Volumes(NamedTuple):
    names: tuple[str, ...] = ()


class Devices(NamedTuple):
    names: tuple[str, ...] = ()


def work(number: int, payload: object) -> RunPreBind:
    pod = PodReference("default", f"web-{number}", f"uid-{number}")
    return RunPreBind(pod, "Plugin", "n1", payload)


class Rig:
    """A dispatcher whose handler of volumes holds each Pod until it is let through."""

    def __init__(self) -> None:
        self.outcomes: list[PreBindFinished] = []
        self.is_leading = True
        self.begun: list[str] = []
        self.gate = asyncio.Event()

    async def bind_volumes(self, effect: RunPreBind) -> str:
        self.begun.append(effect.pod.uid)
        await self.gate.wait()
        return ""

    async def refuse(self, effect: RunPreBind) -> str:
        return f"no devices for {effect.pod.name}"

    async def break_down(self, effect: RunPreBind) -> str:
        raise RuntimeError(effect.pod.name)

    @asynccontextmanager
    async def running(
        self,
        *,
        concurrency: int = 2,
        limits: Mapping[type[Any], int] = MappingProxyType({}),
        dry_run: bool = False,
    ) -> AsyncIterator[PreBindDispatcher]:
        async with PreBindDispatcher(
            {Volumes: self.bind_volumes, Devices: self.refuse, str: self.break_down},
            report=self.outcomes.append,
            may_write=lambda: self.is_leading,
            concurrency=concurrency,
            limits=limits,
            dry_run=dry_run,
        ) as dispatcher:
            yield dispatcher


async def test_the_payloads_type_decides_who_does_the_work() -> None:
    rig = Rig()
    rig.gate.set()
    async with rig.running() as dispatcher:
        dispatcher.submit(work(1, Volumes(("a",))))
        dispatcher.submit(work(2, Devices()))
        await wait_until(lambda: len(rig.outcomes) == 2, what="both are done")
    assert sorted(rig.outcomes, key=lambda o: o.uid) == [
        PreBindFinished("uid-1", "Plugin"),
        PreBindFinished("uid-2", "Plugin", "no devices for web-2"),
    ]


async def test_no_more_than_the_limit_are_under_way() -> None:
    rig = Rig()
    async with rig.running(concurrency=2) as dispatcher:
        for number in range(5):
            dispatcher.submit(work(number, Volumes()))
        await wait_until(lambda: len(rig.begun) == 2, what="two have begun")
        for _ in range(10):
            await asyncio.sleep(0)
        assert rig.begun == ["uid-0", "uid-1"]
        assert len(dispatcher) == 5
        rig.gate.set()
        await wait_until(lambda: len(rig.outcomes) == 5, what="all are done")
        assert len(dispatcher) == 0


async def test_work_that_nobody_can_do_fails_at_once() -> None:
    rig = Rig()
    async with rig.running() as dispatcher:
        dispatcher.submit(work(1, 7))
    [outcome] = rig.outcomes
    assert outcome.error == "this scheduler has nobody to carry out a int"


async def test_nothing_is_begun_once_somebody_else_may_lead() -> None:
    rig = Rig()
    rig.is_leading = False
    async with rig.running() as dispatcher:
        dispatcher.submit(work(1, Volumes()))
        await wait_until(lambda: rig.outcomes, what="the work is refused")
    assert rig.begun == []
    assert rig.outcomes == [PreBindFinished("uid-1", "Plugin", "another replica may be leading")]


async def test_a_dry_run_writes_nothing() -> None:
    rig = Rig()
    async with rig.running(dry_run=True) as dispatcher:
        dispatcher.submit(work(1, Volumes()))
    assert rig.outcomes == [PreBindFinished("uid-1", "Plugin", "nothing is written in a dry run")]
    assert rig.begun == []


async def test_draining_waits_for_what_is_under_way_and_gives_up_the_rest() -> None:
    rig = Rig()
    async with rig.running(concurrency=1) as dispatcher:
        dispatcher.submit(work(1, Volumes()))
        dispatcher.submit(work(2, Volumes()))
        await wait_until(lambda: rig.begun, what="the first has begun")
        asyncio.get_running_loop().call_soon(rig.gate.set)
        await dispatcher.drain(5)
        dispatcher.submit(work(3, Volumes()))
    assert rig.begun == ["uid-1"]
    assert {o.uid: o.error for o in rig.outcomes} == {
        "uid-1": "",
        "uid-2": "this replica is stopping",
        "uid-3": "this replica is stopping",
    }


async def test_what_takes_too_long_to_drain_is_cut_short() -> None:
    rig = Rig()
    async with rig.running() as dispatcher:
        dispatcher.submit(work(1, Volumes()))
        await wait_until(lambda: rig.begun, what="it has begun")
        await dispatcher.drain(0)
    [outcome] = rig.outcomes
    assert outcome.error == "this replica is stopping, and the work was cut short"


async def test_leaving_cuts_short_and_gives_up() -> None:
    rig = Rig()
    async with rig.running(concurrency=1) as dispatcher:
        dispatcher.submit(work(1, Volumes()))
        dispatcher.submit(work(2, Volumes()))
        await wait_until(lambda: rig.begun, what="the first has begun")
    assert sorted(o.uid for o in rig.outcomes) == ["uid-1", "uid-2"]
    assert all("stopping" in outcome.error for outcome in rig.outcomes)


async def test_a_handler_that_breaks_ends_the_process() -> None:
    rig = Rig()

    async def run() -> None:
        async with rig.running() as dispatcher:
            dispatcher.submit(work(1, "broken"))
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        await run()
    assert [o.uid for o in rig.outcomes] == ["uid-1"]


async def test_nobody_waits_for_a_cleanup_but_what_goes_wrong_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig, pod = Rig(), PodReference("default", "web", "uid-web")
    rig.gate.set()
    async with rig.running() as dispatcher:
        dispatcher.submit(RunCleanup(pod, "Plugin", Volumes(("a",))))
        dispatcher.submit(RunCleanup(pod, "Plugin", Devices()))
        await wait_until(lambda: len(dispatcher) == 0, what="both are done")
    assert rig.begun == ["uid-web"]
    assert rig.outcomes == []
    (record,) = caplog.records
    assert record.getMessage() == "could not undo a plugin's work"
    assert "no devices for web" in str(vars(record))


async def test_one_type_of_work_keeps_no_other_waiting() -> None:
    rig = Rig()
    async with rig.running(concurrency=1) as dispatcher:
        dispatcher.submit(work(1, Volumes()))
        dispatcher.submit(work(2, Volumes()))
        dispatcher.submit(work(3, Devices()))
        await wait_until(lambda: rig.outcomes, what="devices are refused")
        assert [outcome.uid for outcome in rig.outcomes] == ["uid-3"]
        rig.gate.set()
        await wait_until(lambda: len(rig.outcomes) == 3, what="all are done")


async def test_a_type_of_work_may_have_a_limit_of_its_own() -> None:
    rig = Rig()
    async with rig.running(concurrency=1, limits={Volumes: 3}) as dispatcher:
        for number in range(5):
            dispatcher.submit(work(number, Volumes()))
        await wait_until(lambda: len(rig.begun) == 3, what="three have begun")
        rig.gate.set()
        await wait_until(lambda: len(rig.outcomes) == 5, what="all are done")


async def test_for_one_pod_one_thing_is_done_at_a_time() -> None:
    rig = Rig()
    first = work(1, Volumes())
    async with rig.running(concurrency=9) as dispatcher:
        dispatcher.submit(first)
        dispatcher.submit(RunCleanup(first.pod, "Plugin", Volumes()))
        dispatcher.submit(work(1, Devices()))
        await wait_until(lambda: rig.begun, what="the first has begun")
        for _ in range(10):
            await asyncio.sleep(0)
        assert rig.begun == ["uid-1"]
        assert rig.outcomes == []
        assert len(dispatcher) == 3
        rig.gate.set()
        await wait_until(lambda: len(rig.outcomes) == 2, what="all are done")
        assert len(dispatcher) == 0
    assert rig.begun == ["uid-1", "uid-1"]
    assert [outcome.error for outcome in rig.outcomes] == ["", "no devices for web-1"]


@pytest.mark.parametrize("follows", [True, False], ids=["after other work", "in the queue"])
async def test_work_that_has_not_begun_can_be_withdrawn(follows: bool) -> None:
    rig = Rig()
    held, queued = (
        work(1, Volumes()),
        work(1 if follows else 2, Devices() if follows else Volumes()),
    )
    async with rig.running(concurrency=1) as dispatcher:
        dispatcher.submit(held)
        await wait_until(lambda: rig.begun, what="the first has begun")
        dispatcher.submit(queued)
        dispatcher.submit(WithdrawPreBind(PodReference("default", "x", "uid-9"), "Plugin"))
        dispatcher.submit(WithdrawPreBind(held.pod, "Other"))
        assert rig.outcomes == []
        dispatcher.submit(WithdrawPreBind(queued.pod, "Plugin"))
        [outcome] = rig.outcomes
        assert (outcome.uid, outcome.error) == (queued.pod.uid, "withdrawn before it had begun")
        assert len(dispatcher) == 1
        # What is under way goes on.
        dispatcher.submit(WithdrawPreBind(held.pod, "Plugin"))
        rig.gate.set()
        await wait_until(lambda: len(rig.outcomes) == 2, what="the first is done")
    assert rig.outcomes[1] == PreBindFinished("uid-1", "Plugin")
