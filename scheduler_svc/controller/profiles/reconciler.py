"""Brings the statuses of SchedulerProfiles to what they ought to be, and tells of transitions.

A change of one may make another valid or invalid (two may not have one schedulerName), so all
are looked at each time; what was judged once is judged again only if it could come out
otherwise.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from kubeio.logs import V2, fields
from scheduler_svc.controller.conditions import Verdict, read_verdict
from scheduler_svc.controller.custom_resources import (
    SCHEDULER_PROFILES,
    CustomResource,
    ObjectKey,
)
from scheduler_svc.controller.events import NORMAL, WARNING, EventText
from scheduler_svc.controller.holdings import HeldObject, Holdings
from scheduler_svc.controller.profiles.judgement import (
    ACTIVE,
    VALID,
    judge_profile,
    profile_changes,
)
from scheduler_svc.controller.status_writer import StatusWriter
from scheduler_svc.shell.clock import read_now
from scheduler_svc.shell.config import Configuration, Mistake
from scheduler_svc.shell.scheduler_profiles.objects import SchedulerProfile
from scheduler_svc.shell.scheduler_profiles.validation import PluginRegistry, validate
from scheduler_svc.shell.timestamps import format_time

_logger = logging.getLogger(__name__)


class Rules(NamedTuple):
    """What profiles are judged beside: the same as the schedulers'."""

    configuration: Configuration
    registry: PluginRegistry
    serves_default: bool = False


class _Judged(NamedTuple):
    """What a judgement depends on, beside the rules, which stay."""

    uid: str
    generation: int
    claims: tuple[tuple[str, str, frozenset[str]], ...]


class ProfileReconciler:
    """Judges profiles and writes what differs; parameters as for `PodGroupReconciler`."""

    def __init__(
        self,
        holdings: Holdings,
        writer: StatusWriter,
        rules: Rules,
        *,
        submit_event: Callable[[ObjectKey, str, EventText], None],
        note_seconds: Callable[[CustomResource, float], None],
    ) -> None:
        self._holdings = holdings
        self._writer = writer
        self._rules = rules
        self._submit_event = submit_event
        self._note_seconds = note_seconds
        self._judged: dict[ObjectKey, tuple[_Judged, tuple[Mistake, ...]]] = {}
        # None where it is not known.
        self.is_valid: dict[ObjectKey, bool | None] = {}

    async def reconcile_all(self, since: float) -> None:
        """Look at all profiles. Raises the first `KubeError`, after all have been looked at."""
        held = {each.key: each for each in self._holdings.of(SCHEDULER_PROFILES)}
        profiles = {key: read_profile(each) for key, each in held.items()}
        for known in (self._judged, self.is_valid):
            for key in known.keys() - held.keys():
                del known[key]
        errors: list[Exception] = []
        for key, profile in profiles.items():
            mistakes = self._mistakes(key, profile, profiles)
            verdicts = judge_profile(profile, mistakes)
            self.is_valid[key] = verdicts[VALID].is_true
            await asyncio.sleep(0)  # making a profile's plugins takes milliseconds
            try:
                await self._bring_about(held[key], profile, verdicts, since)
            except Exception as error:  # noqa: BLE001 - raised below, once the others are done
                errors.append(error)
        if errors:
            raise errors[0]

    def _mistakes(
        self,
        key: ObjectKey,
        profile: SchedulerProfile,
        profiles: Mapping[ObjectKey, SchedulerProfile],
    ) -> tuple[Mistake, ...]:
        others = [other for name, other in profiles.items() if name != key]
        claims = sorted((*other.seniority, other.claimed_names) for other in others)
        depends_on = _Judged(profile.metadata.uid, profile.metadata.generation, tuple(claims))
        known = self._judged.get(key)
        if known is not None and known[0] == depends_on:
            return known[1]
        rules = self._rules
        mistakes = validate(
            profile,
            others,
            rules.configuration,
            rules.registry,
            serves_default=rules.serves_default,
        )
        self._judged[key] = (depends_on, mistakes)
        return mistakes

    async def _bring_about(
        self,
        held: HeldObject,
        profile: SchedulerProfile,
        verdicts: Mapping[str, Verdict],
        since: float,
    ) -> None:
        now = format_time(read_now().wall_seconds)
        changes = profile_changes(profile, verdicts, held.status, now=now)
        if not changes:
            return
        written = await self._writer.write(held, changes)
        if written.held is None:
            return
        self._note_seconds(held.key.resource, time.monotonic() - since)
        _logger.log(
            V2,
            "Wrote the status of a scheduler profile",
            extra=fields(profile=held.key, valid=verdicts[VALID].status),
        )
        for text in _transitions(held.status.get("conditions"), verdicts):
            self._submit_event(held.key, held.uid, text)
        self._holdings.wrote(written.held)


def read_profile(held: HeldObject) -> SchedulerProfile:
    """Read a profile; its definition's schema has checked what it is made of."""
    document: dict[str, Any] = {
        "metadata": {
            "name": held.key.name,
            "uid": held.uid,
            "resourceVersion": held.resource_version,
            "generation": held.generation,
            "creationTimestamp": held.created_at,
        },
        "spec": held.spec,
        "status": held.status,
    }
    return msgspec.convert(document, SchedulerProfile)


def _transitions(conditions: object, verdicts: Mapping[str, Verdict]) -> Iterator[EventText]:
    """Give an Event for each condition that says something else than before."""
    valid, before = verdicts[VALID], read_verdict(conditions, VALID)
    if before is None or before[:2] != valid[:2] or (not valid.is_true and before != valid):
        type_ = NORMAL if valid.is_true else WARNING
        yield EventText(type_, valid.reason, "Validating", valid.message)
    active, before = verdicts[ACTIVE], read_verdict(conditions, ACTIVE)
    if active.is_true and not (before is not None and before.is_true):
        yield EventText(NORMAL, ACTIVE, "Activating", active.message)
