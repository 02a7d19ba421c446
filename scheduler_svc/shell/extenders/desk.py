"""Carries out what the core asks of extenders.

Questions about Nodes and victims: filter extenders in turn, the errors of those that may be
ignored skipped, then all that prioritize at once. Bindings: an extender's word that it has bound
a Pod is not enough, the API server must show it.

Every Binding ends in exactly one event, also when the process stops, and every question does
until then: what nobody would act on is not told. All questions are under
way at once, so that an extender that hangs holds up only those who ask it; how many calls an
extender gets at once is its client's matter.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from kubeio.logs import V2, V5, fields
from scheduler_svc.core.effects import AskAboutVictims, AskExtenders, BindPod
from scheduler_svc.core.events import (
    BindFailed,
    BindFailure,
    BindSucceeded,
    ExtenderAnswer,
    ExtendersAnswered,
    VictimsAnswered,
)
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.extenders.binding import ExtenderBinding
from scheduler_svc.shell.extenders.client import ExtenderClient
from scheduler_svc.shell.extenders.full_objects import FullObjects
from scheduler_svc.shell.extenders.questions import (
    ask_about_victims,
    ask_to_filter,
    ask_to_prioritize,
)
from scheduler_svc.shell.extenders.wire import ExtenderError
from scheduler_svc.shell.writes.work_queue import WorkQueue

_STOPPING: Final = "this replica is stopping"

_logger = logging.getLogger(__name__)

Work = AskExtenders | AskAboutVictims | BindPod


class ExtenderDesk:
    """Asks extenders; an async context manager that owns its tasks and the clients.

    Parameters
    ----------
    clients
        By the extenders' numbers.
    report
        Takes the outcomes.
    """

    def __init__(
        self,
        clients: Sequence[ExtenderClient],
        objects: FullObjects,
        binding: ExtenderBinding,
        *,
        report: Callable[[ExtenderAnswer | BindSucceeded | BindFailed], None],
    ) -> None:
        self._clients = clients
        self._objects = objects
        self._binding = binding
        self._report = report
        self._work = WorkQueue(self._carry_out, give_up=self._give_up, limit=lambda: sys.maxsize)

    def __len__(self) -> int:
        """Count what is queued or being carried out."""
        return len(self._work)

    async def __aenter__(self) -> Self:
        await self._work.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._work.__aexit__(kind, error, trace)
        finally:
            for client in self._clients:
                await client.close()

    def submit(self, effect: Work) -> None:
        """Begin."""
        if isinstance(effect, BindPod):
            self._binding.begin()
        self._work.submit(effect)

    async def drain(self, timeout_seconds: float) -> None:
        """Begin nothing more; wait for Bindings under way, for so long, and for nothing else."""
        self._work.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._binding.wait_idle()
        await self._work.cancel()

    def _give_up(self, effect: Work) -> None:
        self._finish(effect, _failed(effect, _STOPPING))

    async def _carry_out(self, effect: Work) -> None:
        started = read_monotonic_seconds()
        outcome: Any = _failed(effect, f"{_STOPPING}, and the extender has not answered")
        try:
            outcome = await self._answer(effect)
            if isinstance(outcome, ExtendersAnswered | VictimsAnswered):
                waited = read_monotonic_seconds() - started
                outcome = msgspec.structs.replace(outcome, waited_seconds=waited)
        finally:  # also when cancelled: every effect has its event
            self._finish(effect, outcome)

    def _finish(
        self, effect: Work, outcome: ExtenderAnswer | BindSucceeded | BindFailed | None
    ) -> None:
        if isinstance(effect, BindPod):
            self._binding.end()
        elif self._work.stopping.is_set():
            return
        if outcome is not None:
            self._report(outcome)

    async def _answer(self, effect: Work) -> ExtenderAnswer | BindSucceeded | BindFailed | None:
        try:
            match effect:
                case BindPod(extender=int(number)):
                    return await self._binding.bind(self._clients[number], effect)
                case BindPod():
                    return _failed(effect, "no extender was named")
                case AskExtenders():
                    return await self._ask_about_nodes(effect)
                case AskAboutVictims():
                    return await self._ask_about_victims(effect)
        except ExtenderError as error:
            return _failed(effect, str(error))

    async def _ask_about_nodes(self, effect: AskExtenders) -> ExtendersAnswered:
        pod = await self._objects.pod(effect.pod, effect.pod_version)
        names: Sequence[str] = effect.node_names
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        for number in effect.filters:
            if not names:
                break
            client = self._clients[number]
            try:
                result = await ask_to_filter(client, self._objects, pod, names)
            except ExtenderError as error:
                if not client.config.ignorable:
                    raise
                _ignore("filter", client, effect, error)
                continue
            names = result.passing
            failed.update(result.failed)
            unresolvable.update(result.unresolvable)
        scores: dict[str, int] = {}
        if len(names) > 1:
            clients = [self._clients[number] for number in effect.prioritizes]
            given = await asyncio.gather(*(self._score(c, effect, pod, names) for c in clients))
            for one in given:
                for name, score in one.items():
                    scores[name] = scores.get(name, 0) + score
        return ExtendersAnswered(
            uid=effect.pod.uid,
            ticket=effect.ticket,
            passing=tuple(names),
            failed=failed,
            unresolvable=unresolvable,
            scores=scores,
        )

    async def _score(
        self, client: ExtenderClient, effect: AskExtenders, pod: msgspec.Raw, names: Sequence[str]
    ) -> dict[str, int]:
        try:
            return await ask_to_prioritize(client, self._objects, pod, names)
        except ExtenderError as error:
            _ignore("prioritize", client, effect, error)
            return {}

    async def _ask_about_victims(self, effect: AskAboutVictims) -> VictimsAnswered:
        client = self._clients[effect.extender]
        pod = await self._objects.pod(effect.pod)
        try:
            victims = await ask_about_victims(client, self._objects, pod, effect.victims)
        except ExtenderError as error:
            if client.config.ignorable:
                _ignore("preempt", client, effect, error)
            raise
        return VictimsAnswered(effect.pod.uid, effect.ticket, victims, client.url)


def _failed(effect: Work, text: str) -> ExtenderAnswer | BindFailed:
    uid = effect.pod.uid
    match effect:
        case AskExtenders():
            return ExtendersAnswered(uid, effect.ticket, error=text)
        case AskAboutVictims():
            return VictimsAnswered(uid, effect.ticket, error=text)
        case _:
            return BindFailed(uid, BindFailure.NOT_LEADER, text, by_extender=True)


def _ignore(
    verb: str,
    client: ExtenderClient,
    effect: AskExtenders | AskAboutVictims,
    error: ExtenderError,
) -> None:
    level = V5 if verb == "prioritize" else V2
    _logger.log(
        level,
        "An extender has failed, which is ignored",
        extra=fields(pod=effect.pod.key, extender=client.url, verb=verb, err=str(error)),
    )
