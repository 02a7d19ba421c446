"""Calls users' plugins under a watch: how long they take, what they raise, when they hang.

A plugin runs in the scheduler's loop, where nothing else happens meanwhile. A call that is
slower than a budget is counted and logged; one that does not end is ended by an exception
that a thread raises in it (as far as it is Python code: a call into C that does not return
cannot be ended).
"""

import ctypes
import logging
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from prometheus_client import Metric

from kubeio.instruments import Counter, Definition, Histogram, Kind, exponential_buckets
from kubeio.logs import fields
from scheduler_svc.core.custom_plugins.guard import NoAnswerError, PluginFailedError, failure_text

BUDGET_SECONDS: Final = 0.02
LIMIT_SECONDS: Final = 2.0
_LOG_INTERVAL_SECONDS: Final = 10.0
_KINDS_IN_INTERVAL: Final = 8
_MAGNITUDES_SECONDS: Final = (0.1, 1.0)
_ARRIVAL_STEPS: Final = 100

CALL_SECONDS: Final = Definition(
    name="berthmaster_custom_plugin_call_duration_seconds",
    kind=Kind.HISTOGRAM,
    help="How long calls of users' plugins take, each about all Nodes it is asked about at once.",
    labels=("plugin", "point"),
    buckets=exponential_buckets(0.00001, 4, 10),
)
FAILURES: Final = Definition(
    name="berthmaster_custom_plugin_failures_total",
    kind=Kind.COUNTER,
    help="Calls of users' plugins that raised, hung, or gave an answer that is none.",
    labels=("plugin", "point"),
)
SLOW_CALLS: Final = Definition(
    name="berthmaster_custom_plugin_slow_calls_total",
    kind=Kind.COUNTER,
    help="Calls of users' plugins that took longer than 20 ms.",
    labels=("plugin", "point"),
)

_logger = logging.getLogger(__name__)


class PluginTimeoutError(NoAnswerError):
    """Raised in a plugin that does not end, by its class alone: each limit has one."""

    limit_seconds = LIMIT_SECONDS

    def __str__(self) -> str:
        return f"no answer within {self.limit_seconds:g} s"


class _Call(NamedTuple):
    thread_id: int
    deadline_seconds: float


class PluginWatch:
    """The `Guard` of a running scheduler; a context manager that owns the watching thread.

    Calls do not nest and come from one thread.
    """

    def __init__(
        self, *, budget_seconds: float = BUDGET_SECONDS, limit_seconds: float = LIMIT_SECONDS
    ) -> None:
        self._budget_seconds = budget_seconds
        self._limit_seconds = limit_seconds
        self._durations = Histogram(CALL_SECONDS)
        self._failures = Counter(FAILURES)
        self._slow = Counter(SLOW_CALLS)
        self._timeout = type(
            PluginTimeoutError.__name__, (PluginTimeoutError,), {"limit_seconds": limit_seconds}
        )
        self._said_at: dict[tuple[str, str], dict[str, float]] = {}
        self._lock = threading.Lock()
        self._call: _Call | None = None
        self._has_raised = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="plugin watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._thread.join()

    def call(self, plugin: str, point: str, method: Callable[[], Any]) -> Any:
        """Give what `method` gives. Raises `PluginFailedError` where it fails."""
        start = time.perf_counter()
        try:
            return self._call_watched(method)
        except PluginFailedError as error:
            self._failed(plugin, point, error, error.__cause__)
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = PluginFailedError(failure_text(plugin, point, error))
            self._failed(plugin, point, failure, error)
            raise failure from error
        finally:
            self._measured(plugin, point, time.perf_counter() - start)

    def collect(self) -> list[Metric]:
        """Give the families."""
        return [self._durations.collect(), self._failures.collect(), self._slow.collect()]

    def _call_watched(self, method: Callable[[], Any]) -> Any:
        try:
            with self._lock:
                deadline_seconds = time.monotonic() + self._limit_seconds
                self._call = _Call(threading.get_ident(), deadline_seconds)
            return method()
        finally:
            self._end_call()

    def _end_call(self) -> None:
        """Let an exception that was raised too late to meet the plugin arrive, and end here.

        To take it back is no way: CPython 3.11 then looks for it at every step, for ever.
        """
        is_over = False
        while not is_over:
            try:
                with self._lock:
                    self._call = None
                    has_raised, self._has_raised = self._has_raised, False
                for _ in range(_ARRIVAL_STEPS if has_raised else 0):
                    pass
                is_over = True
            except PluginTimeoutError:
                continue

    def _watch(self) -> None:
        while not self._closing.wait(self._limit_seconds / 10):
            with self._lock:
                call = self._call
                now = time.monotonic()
                if call is not None and now > call.deadline_seconds:
                    # Again after a while: a plugin may swallow it.
                    self._call = call._replace(deadline_seconds=now + self._limit_seconds)
                    self._has_raised = True
                    _raise_in(call.thread_id, self._timeout)

    def _failed(
        self, plugin: str, point: str, failure: PluginFailedError, cause: BaseException | None
    ) -> None:
        self._failures.add((plugin, point))
        if self._may_say(plugin, point, _kind_of(failure, cause)):
            _logger.error(
                "Plugin failed",
                exc_info=cause and (type(cause), cause, cause.__traceback__),
                extra=fields(plugin=plugin, point=point, failure=str(failure)),
            )

    def _measured(self, plugin: str, point: str, seconds: float) -> None:
        self._durations.series((plugin, point)).observe(seconds)
        if seconds > self._budget_seconds:
            self._slow.add((plugin, point))
            magnitude = sum(seconds > limit for limit in _MAGNITUDES_SECONDS)
            if self._may_say(plugin, f"slow {point}", str(magnitude)):
                _logger.warning(
                    "Plugin is slow: nothing else is decided meanwhile",
                    extra=fields(plugin=plugin, point=point, seconds=round(seconds, 3)),
                )

    def _may_say(self, plugin: str, what: str, kind: str) -> bool:
        """Say the same again only after a while, and so much: a plugin may fail for every Pod."""
        now = time.monotonic()
        said_at = self._said_at.setdefault((plugin, what), {})
        for old in [k for k, at in said_at.items() if now - at >= _LOG_INTERVAL_SECONDS]:
            del said_at[old]
        if kind in said_at or len(said_at) >= _KINDS_IN_INTERVAL:
            return False
        said_at[kind] = now
        return True


def _kind_of(failure: PluginFailedError, cause: BaseException | None) -> str:
    """Tell failures apart: by type and place of what was raised, else by what is said."""
    if cause is None or cause.__traceback__ is None:
        return str(failure)
    *_, (frame, line) = traceback.walk_tb(cause.__traceback__)
    return f"{type(cause).__name__} at {frame.f_code.co_filename}:{line}"


def _raise_in(thread_id: int, error: type[PluginTimeoutError]) -> None:
    """Raise an error in another thread, at its next step of Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(error))
