"""Whether kopf watches what it is to watch, told by the requests that it makes.

kopf tries again and again, in itself or begun anew, and tells nobody. Where there are objects
`census` sees that it tells nothing of them; where there are none, only its requests show it.
"""

import time
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from scheduler_svc.controller.custom_resources import CustomResource

STEADY_SECONDS: Final = 5.0
"""A watch that ends sooner is no success: the server or something before it hangs up."""
PATIENCE_SECONDS: Final = 30.0
"""A watch that ends is begun again; for so long that is nobody's trouble."""


class _State(NamedTuple):
    """Of one resource's watch.

    Attributes
    ----------
    opened_at
        When the newest one began; None if none ever has.
    failing_since
        Since when none has lasted.
    failure
        What went wrong last; "" if nothing has.
    """

    opened_at: float | None = None
    is_open: bool = False
    failing_since: float | None = None
    failure: str = ""


class Watches:
    """Takes note of kopf's requests, in its thread; asked from another one.

    Parameters
    ----------
    resources
        What is to be watched.
    """

    def __init__(
        self,
        resources: Collection[CustomResource],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._states = {resource: _State() for resource in resources}

    def problem(self) -> str | None:
        """Say what is not watched, and why; None if all is."""
        problems = (self._problem(*each) for each in self._states.items())
        return next((problem for problem in problems if problem is not None), None)

    def never_asked_for(self) -> list[CustomResource]:
        """Give what kopf has made no request for, and has had no trouble that would explain it."""
        return [resource for resource, state in self._states.items() if state == _State()]

    def note_request(self, path: str) -> None:
        """Take note that something is asked for: a watch of it that was open has ended."""
        resource = self._resource_at(path)
        if resource is None:
            return
        state, now = self._states[resource], self._clock()
        if state.is_open and state.opened_at is not None:
            lasted_seconds = now - state.opened_at
            since = now if lasted_seconds >= STEADY_SECONDS else state.failing_since
            failure = f"a watch ended after {lasted_seconds:.1f} s"
            state = state._replace(is_open=False, failing_since=since, failure=failure)
        self._states[resource] = _failing(state, now)

    def note_failure(self, path: str, failure: str) -> None:
        """Take note that what was asked for was not given."""
        resource = self._resource_at(path)
        if resource is not None:
            self._states[resource] = self._states[resource]._replace(failure=failure)

    def note_open(self, path: str) -> None:
        """Take note that a watch has begun."""
        resource = self._resource_at(path)
        if resource is not None:
            state = self._states[resource]
            self._states[resource] = state._replace(opened_at=self._clock(), is_open=True)

    def note_end(self, failure: str) -> None:
        """Take note that kopf has ended, and all its watches with it; "" where it says not why."""
        now = self._clock()
        for resource, state in self._states.items():
            ended = state._replace(
                is_open=False, failure=failure or state.failure or "kopf has ended"
            )
            self._states[resource] = _failing(ended, now)

    def _resource_at(self, path: str) -> CustomResource | None:
        """Give the resource of a path; the server's own may stand before it."""
        return next((each for each in self._states if path.endswith(each.path.collection)), None)

    def _problem(self, resource: CustomResource, state: _State) -> str | None:
        now, why = self._clock(), f": {state.failure}" if state.failure else ""
        if state.opened_at is None:
            return f"{resource.name} is not watched yet{why}"
        if state.failing_since is None:
            return None
        is_steady = state.is_open and now - state.opened_at >= STEADY_SECONDS
        failing_seconds = now - state.failing_since
        if is_steady or failing_seconds <= PATIENCE_SECONDS:
            return None
        return f"no watch of {resource.name} has lasted for {failing_seconds:.0f} s{why}"


def _failing(state: _State, now: float) -> _State:
    return state if state.failing_since is not None else state._replace(failing_since=now)
