"""Counts what is there by listing it now and then, and compares with what kopf has told.

Three things come of it that kopf does not give:

- which of our resources the API server serves at all, without a right to read definitions;
- which objects have gone in a gap of a watch: kopf never tells of those;
- whether kopf still tells of changes. An object that is at a newer version in the list than
  kopf has told, and still has not been told of at the next list, means that its watch has
  stalled. No answer from the API server means nothing: that is not kopf's doing.

Only metadata is listed: 0.4 KiB an object.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from kubeio.backoff import Jitter
from kubeio.client import KubeClient
from kubeio.errors import ForbiddenError, KubeError, NotFoundError
from kubeio.logs import fields
from scheduler_svc.controller.custom_resources import ALL_RESOURCES, CustomResource, ObjectKey
from scheduler_svc.controller.holdings import Holdings, version_number

METADATA_ONLY: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)
"""What the client's Accept header is to be."""
PERIOD_SECONDS: Final = (25.0, 30.0)
FIRST_PERIOD_SECONDS: Final = (1.0, 1.5)
"""Until all that is there has been told of."""
FAILED_PERIOD_SECONDS: Final = (2.0, 4.0)
SILENCE_SECONDS: Final = 40.0
"""Without an answer for so long the view may be old."""
PAGE_SIZE: Final = 500

_logger = logging.getLogger(__name__)


class Told(NamedTuple):
    """A state of an object: which object it is, and its version."""

    uid: str
    resource_version: str


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""


class _Item(msgspec.Struct, gc=False):
    metadata: _Metadata


class _ListMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[_Item] | None
    """None where there are none: Go writes null."""


class Count(NamedTuple):
    """What a census has found.

    Attributes
    ----------
    served
        The resources that the API server serves and lets us list.
    states
        Of all objects there are.
    refusal
        Why one of the resources could not be listed; "" if all could.
    """

    served: frozenset[CustomResource]
    states: dict[ObjectKey, Told]
    refusal: str = ""


class Census:
    """Takes the census for ever.

    Parameters
    ----------
    client
        With `METADATA_ONLY` as its Accept header.
    on_served
        Is told when other resources are served than before; first, of those there are.
    on_complete
        Is told when kopf has told of all that a list has shown.
    on_stalled
        Is told when kopf is found not to tell of changes.

    Attributes
    ----------
    is_complete
        True once kopf has told of all that a list has shown.
    lagging
        Objects of the last list that kopf has yet to tell of.
    """

    def __init__(
        self,
        client: KubeClient,
        holdings: Holdings,
        on_served: Callable[[frozenset[CustomResource]], None],
        on_complete: Callable[[], None],
        on_stalled: Callable[[], None],
        *,
        resources: Collection[CustomResource] = ALL_RESOURCES,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._holdings = holdings
        self._on_served = on_served
        self._on_complete = on_complete
        self._on_stalled = on_stalled
        self._resources = resources
        self._jitter = Jitter(seed)
        self._clock = clock
        self._served: frozenset[CustomResource] | None = None
        self._stalled_since: float | None = None
        self._taken_at: float | None = None
        self._problem = "not begun"
        self._is_refused = False
        self.is_complete = False
        self.lagging: dict[ObjectKey, Told] = {}

    def stalled_seconds(self) -> float | None:
        """Seconds since kopf was first found not to tell of something; None if all is well."""
        return None if self._stalled_since is None else self._clock() - self._stalled_since

    def age_seconds(self) -> float | None:
        """Seconds since the last census that worked: since the API server was last heard."""
        return None if self._taken_at is None else self._clock() - self._taken_at

    def problem(self) -> str | None:
        """Say why not all that is there is known; None if it is."""
        age_seconds = self.age_seconds()
        is_silent = age_seconds is None or age_seconds > SILENCE_SECONDS
        if self._problem and (is_silent or self._is_refused):
            return self._problem
        if self.is_complete:
            return None
        return f"{len(self.lagging)} objects have not been told of yet"

    async def run(self) -> None:
        """Take the census until cancelled."""
        while True:
            try:
                await self.take()
            except KubeError as error:
                self._note_problem(str(error))
                period = FAILED_PERIOD_SECONDS
            else:
                period = PERIOD_SECONDS if self.is_complete else FIRST_PERIOD_SECONDS
            await asyncio.sleep(self._jitter.between(*period))

    async def take(self) -> None:
        """List everything, and draw the conclusions. Raises `KubeError`."""
        known = {held.key: held.uid for held in self._holdings.all()}
        count = await self._count()
        self._taken_at = self._clock()
        self._is_refused = bool(count.refusal)
        self._note_problem(count.refusal)
        if count.served != self._served:
            self._served = count.served
            self.is_complete = False
            self._on_served(count.served)
        self._forget_gone(known, count)
        self._compare(count)

    async def _count(self) -> Count:
        served, states, refusal = [], {}, ""
        for resource in self._resources:
            try:
                states.update(await self._list(resource))
            except NotFoundError:
                continue
            except ForbiddenError as error:
                refusal = str(error)
                continue
            served.append(resource)
        return Count(frozenset(served), states, refusal)

    async def _list(self, resource: CustomResource) -> dict[ObjectKey, Told]:
        states: dict[ObjectKey, Told] = {}
        parameters = {"limit": str(PAGE_SIZE)}
        while True:
            page = await self._client.get_json(resource.path.collection, _Page, params=parameters)
            for item in page.items or ():
                found = item.metadata
                key = ObjectKey(resource, found.namespace, found.name)
                states[key] = Told(found.uid, found.resource_version)
            if not page.metadata.continue_token:
                return states
            parameters["continue"] = page.metadata.continue_token

    def _forget_gone(self, known: dict[ObjectKey, str], count: Count) -> None:
        """Take out what was known before the list and is not in it."""
        for key, uid in known.items():
            listed = count.states.get(key)
            if listed is None or listed.uid != uid:
                self._holdings.remove(key, uid)

    def _compare(self, count: Count) -> None:
        """Find what kopf has not told of, and whether that was so the last time."""
        lagging = {
            key: state
            for key, state in count.states.items()
            if not is_told(self._holdings.told_version(key), state)
        }
        overdue = [
            key
            for key, state in self.lagging.items()
            if key in lagging and not is_told(self._holdings.told_version(key), state)
        ]
        self.lagging = lagging
        if not overdue:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = self._clock()
            if self.is_complete:
                _logger.error(
                    "kopf does not tell of changes that a list shows",
                    extra=fields(count=len(overdue), first=overdue[0]),
                )
                self._on_stalled()
        if not lagging and not self.is_complete:
            self.is_complete = True
            self._on_complete()

    def _note_problem(self, problem: str) -> None:
        if problem and problem != self._problem:
            _logger.warning("Cannot list our resources", extra=fields(error=problem))
        self._problem = problem


def is_told(told: Iterable[Any] | None, state: Told) -> bool:
    """Whether what kopf told last of an object is at least as new as a listed state.

    Versions are numbers of one order for all objects, so this holds of a namesake, too.
    """
    if told is None:
        return False
    _, resource_version = told
    return version_number(resource_version) >= version_number(state.resource_version)
