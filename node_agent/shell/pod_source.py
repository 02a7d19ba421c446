"""What every source of Pods offers, and how refused manifests are kept track of."""

import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from yarl import URL

from kubeio.logs import fields
from node_agent.core.events import PodsListed
from node_agent.core.operations import Source
from node_agent.core.static_pods import Refusal, RefusalReason

Emit = Callable[[PodsListed], Awaitable[None]]
"""Takes a source's list; waits while the sync loop is behind."""

_logger = logging.getLogger(__name__)


class PodSource(Protocol):
    """Hands over all Pods it knows of, again and again."""

    @property
    def source(self) -> Source:
        """Which one it is."""

    async def run(self) -> None:
        """Work until cancelled; what goes wrong is told and tried again."""

    def problem(self) -> str | None:
        """Say why the last list is missing or may be old, None if all is well."""


class RefusedManifests:
    """The manifests that give no Pod as they are now; each is logged when that is news.

    Attributes
    ----------
    counts
        How often a manifest was refused, by reason.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._refusals: dict[str, Refusal] = {}
        self._notices: dict[str, str] = {}
        self.counts: Counter[str] = Counter()

    @property
    def by_place(self) -> Mapping[str, Refusal]:
        """Path or URL of each, and why."""
        return self._refusals

    def note(self, place: str, refusal: Refusal, *, next_step: str = "") -> None:
        """Note that a manifest was refused."""
        self.counts[refusal.reason.value] += 1
        if self._refusals.get(place) == refusal:
            return
        self._refusals[place] = refusal
        is_replaced = refusal.reason is RefusalReason.DUPLICATE
        _logger.log(
            logging.WARNING if is_replaced else logging.ERROR,
            "Manifest replaced by another" if is_replaced else "Manifest refused",
            extra=fields(
                source=self._source.value,
                place=shown_place(place),
                reason=refusal.reason.value,
                err=refusal.message,
                **({"next": next_step} if next_step else {}),
            ),
        )

    def accept(self, place: str, notice: str = "") -> None:
        """Note that a manifest gave its Pods; `notice` is what of it was left out."""
        if self._refusals.pop(place, None) is not None:
            _logger.info(
                "Manifest accepted",
                extra=fields(source=self._source.value, place=shown_place(place)),
            )
        if notice and self._notices.get(place) != notice:
            self._notices[place] = notice
            _logger.warning(
                "Manifest read in part",
                extra=fields(source=self._source.value, place=shown_place(place), notice=notice),
            )

    def forget(self, place: str) -> None:
        """Note that a manifest is gone."""
        self._refusals.pop(place, None)
        self._notices.pop(place, None)

    def keep_only(self, places: set[str]) -> None:
        """Forget the manifests that are not there any more."""
        self._refusals = {k: v for k, v in self._refusals.items() if k in places}
        self._notices = {k: v for k, v in self._notices.items() if k in places}


def shown_place(place: str) -> str:
    """Give a path or URL as it can be written: file names may have any bytes."""
    return os.fsencode(place).decode("utf-8", "backslashreplace")


def shown_url(url: str) -> str:
    """Give a URL without what may be secret in it: user, password, query."""
    return str(URL(url).with_user(None).with_query(None))
