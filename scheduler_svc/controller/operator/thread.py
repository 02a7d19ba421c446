"""kopf in a thread with an event loop of its own, supervised from ours.

In our own loop it would take our signal handlers and cancel our tasks when it ends. Should it
end (an answer that it does not expect is fatal to it), it is begun again after a while; that
its watches really tell what happens is for `census` to find out.
"""

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, Final

from kubeio.backoff import Backoff, Jitter
from kubeio.credentials import Credentials
from kubeio.login import KubeConfigError
from kubeio.logs import fields
from scheduler_svc.controller.custom_resources import CustomResource
from scheduler_svc.controller.operator.framework import kopf
from scheduler_svc.controller.operator.login import log_in
from scheduler_svc.controller.operator.logs import quiet_logs
from scheduler_svc.controller.operator.registry import Told, make_registry
from scheduler_svc.controller.operator.settings import operator_settings
from scheduler_svc.controller.operator.watches import Watches

BEAT_SECONDS: Final = 1.0
STOP_SECONDS: Final = 3.0
OVERLOOKED_SECONDS: Final = 30.0
END_SECONDS: Final = 1.0
CANCEL_SECONDS: Final = 0.1
CANCEL_COUNT: Final = 10
FIRST_RESTART_SECONDS: Final = 1.0
LONGEST_RESTART_SECONDS: Final = 30.0

_logger = logging.getLogger(__name__)

LoadCredentials = Callable[[], Awaitable[Credentials]]
"""Gives credentials; called in kopf's thread, since they belong to an event loop."""


class OperatorThread:
    """Runs kopf for some resources until it is cancelled.

    Parameters
    ----------
    tell
        Takes objects; called in the event loop that `run` is called in.

    Attributes
    ----------
    start_count
        How often kopf has been begun.
    """

    def __init__(
        self,
        tell: Told,
        load_credentials: LoadCredentials,
        *,
        user_agent: str,
        seed: int,
    ) -> None:
        self._tell = tell
        self._load_credentials = load_credentials
        self._user_agent = user_agent
        self._seed = seed
        self._beat_at: float | None = None
        self._watches = Watches(())
        self.start_count = 0

    def beat_age_seconds(self) -> float | None:
        """Seconds since kopf's loop last ran a timer; None while none runs."""
        return None if self._beat_at is None else time.monotonic() - self._beat_at

    def watch_problem(self) -> str | None:
        """Say what is not watched that ought to be, and why; None if all is."""
        return self._watches.problem()

    async def run(self, resources: Collection[CustomResource]) -> None:
        """Run kopf, again and again should it end, until cancelled."""
        self._watches = Watches(resources)
        try:
            await self._run_again_and_again(resources)
        finally:
            self._watches = Watches(())

    async def _run_again_and_again(self, resources: Collection[CustomResource]) -> None:
        backoff = Backoff(
            Jitter(self._seed),
            first_seconds=FIRST_RESTART_SECONDS,
            limit_seconds=LONGEST_RESTART_SECONDS,
        )
        while True:
            started = time.monotonic()
            await self._run_once(resources)
            if time.monotonic() - started > 2 * LONGEST_RESTART_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.next_delay())

    async def _run_once(self, resources: Collection[CustomResource]) -> None:
        """Run one thread to its end; when cancelled, end it."""
        self.start_count += 1
        loop = asyncio.get_running_loop()
        stop, ended, watches = threading.Event(), loop.create_future(), self._watches

        def tell(*told: Any) -> None:
            _call_in(loop, self._tell, *told)

        def work() -> None:
            failure = ""
            try:
                asyncio.run(self._operate(resources, tell, watches, stop))
            except Exception as error:  # noqa: BLE001 - whatever it is, kopf is begun again
                failure = f"kopf has failed: {error}"
                _logger.error("kopf has failed; it is begun again", extra=fields(error=error))
            finally:
                watches.note_end(failure)
                gc.collect()  # what it has left half done ends here, and not at some odd moment
                _call_in(loop, _settle, ended)

        thread = threading.Thread(target=work, name="kopf", daemon=True)
        thread.start()
        try:
            await _until_over(ended, watches)
        finally:
            stop.set()
            self._beat_at = None
            await self._wait_for(ended)

    async def _wait_for(self, ended: asyncio.Future[None]) -> None:
        """Give the thread time to end; it keeps nothing that would be lost."""
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.shield(ended)
        except TimeoutError:
            _logger.warning("kopf does not end; it is left behind")

    async def _operate(
        self,
        resources: Collection[CustomResource],
        tell: Told,
        watches: Watches,
        stop: threading.Event,
    ) -> None:
        """Run kopf; this is its thread."""
        quiet_logs()
        asyncio.get_running_loop().set_exception_handler(_note_leftover)
        ending, login = asyncio.Event(), partial(self._log_in, watches)
        beat = asyncio.create_task(self._beat(stop))
        # For peering, which is off. Else kopf asks for the user's name; in a container it has none.
        identity: Any = self._user_agent
        operator = asyncio.create_task(
            kopf.operator(
                registry=make_registry(resources, tell, login, ending.set),
                settings=operator_settings(),
                identity=identity,
                clusterwide=True,
                standalone=True,
                stop_flag=stop,
            )
        )
        try:
            await _until_ended(operator, ending)
        finally:
            stop.set()  # a thread of the loop's executor waits for it, and the loop for that
            beat.cancel()
            await _cancel_the_rest()
        if operator.done() and not operator.cancelled() and (error := operator.exception()):
            raise error

    async def _log_in(self, watches: Watches) -> kopf.AiohttpSession:
        try:
            credentials = await self._load_credentials()
        except KubeConfigError as error:
            watches.note_end(str(error))
            raise kopf.TemporaryError(str(error), delay=LONGEST_RESTART_SECONDS) from error
        return log_in(credentials, watches, user_agent=self._user_agent)

    async def _beat(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self._beat_at = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)


async def _until_over(ended: asyncio.Future[None], watches: Watches) -> None:
    """Wait for the thread's end, or until kopf is seen to have overlooked a resource.

    It looks once, when it begins, at what is served; a kind that was defined a moment ago may
    not be told of yet.
    """
    await asyncio.wait((ended,), timeout=OVERLOOKED_SECONDS)
    if overlooked := watches.never_asked_for():
        names = ",".join(sorted(resource.name for resource in overlooked))
        _logger.warning("kopf has overlooked resources; begun again", extra=fields(resources=names))
    else:
        await asyncio.shield(ended)


async def _until_ended(operator: asyncio.Task[None], ending: asyncio.Event) -> None:
    """Wait for kopf's end, from when it begins to end for so long only.

    A watcher that fails beside another one never ends (kopf 1.45.2): it is cancelled once,
    while it waits for a login that nobody will make any more.
    """
    begun = asyncio.create_task(ending.wait())
    try:
        await asyncio.wait((operator, begun), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((operator,), timeout=END_SECONDS)
    finally:
        begun.cancel()


async def _cancel_the_rest() -> None:
    """Cancel all other tasks of this loop, again and again: some take one for another's."""
    this = asyncio.current_task()
    for _ in range(CANCEL_COUNT):
        tasks = [task for task in asyncio.all_tasks() if task is not this]
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        done, _ = await asyncio.wait(tasks, timeout=CANCEL_SECONDS)
        for task in done:
            if not task.cancelled():
                task.exception()  # it has been told of; unasked, asyncio would tell of it too


def _note_leftover(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Take note of errors that kopf's tasks leave behind; what matters of them it has logged."""
    del loop
    _logger.debug("Left behind by kopf: %s: %r", context.get("message"), context.get("exception"))


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *arguments: Any) -> None:
    """Call something in another thread's loop; once that is closed nobody is interested."""
    try:
        loop.call_soon_threadsafe(call, *arguments)
    except RuntimeError:
        _logger.debug("Told of something after the end")


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
