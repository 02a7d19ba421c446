"""What has changed, on its way to who judges it.

Nothing is judged before all is known: the Pods of groups have been listed, and kopf has told
of all objects that a census has seen. Half of it would look like groups that lost members, or
like profiles whose names are free.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from kubeio.client import KubeClient
from kubeio.endings import reason_of
from kubeio.errors import ConflictError, KubeError
from kubeio.instruments import Histogram
from kubeio.logs import fields
from scheduler_svc.controller import metric_table as table
from scheduler_svc.controller.custom_resources import (
    SCHEDULER_PROFILES,
    CustomResource,
    ObjectKey,
)
from scheduler_svc.controller.delaying_queue import DelayingQueue
from scheduler_svc.controller.events import EventWriter
from scheduler_svc.controller.holdings import Holdings, hold
from scheduler_svc.controller.pod_groups.members import MemberIndex
from scheduler_svc.controller.pod_groups.reconciler import PodGroupReconciler
from scheduler_svc.controller.pod_groups.status import WRITTEN_FIELDS
from scheduler_svc.controller.profiles.reconciler import ProfileReconciler, Rules
from scheduler_svc.controller.schemas import lacking_fields
from scheduler_svc.controller.status_writer import StatusWriter

SCHEMA_SECONDS: Final = 300.0
"""From one look at a definition to the next: it may be replaced while we run."""
PROFILES: Final = ObjectKey(SCHEDULER_PROFILES, "", "")
"""Stands for all profiles: they are looked at together."""
CONFLICT: Final = "conflict"
"""Why a write failed where somebody else had written first."""

_logger = logging.getLogger(__name__)


class Reconciliation:
    """Holds what is known, and has it judged when it changes.

    Parameters
    ----------
    seed
        Of the jitter of retries.

    Attributes
    ----------
    error_counts
        Of failures to bring a status about, by resource and reason.
    seconds
        From a change to the status that says so.
    """

    def __init__(
        self, writer: StatusWriter, events: EventWriter, rules: Rules, *, seed: int
    ) -> None:
        self._rules = rules
        self._lacking: dict[CustomResource, frozenset[str]] = {}
        self._has_members = False
        self._has_objects = False
        self.error_counts: Counter[tuple[str, str]] = Counter()
        self.seconds = Histogram(table.STATUS_SECONDS)
        self.holdings = Holdings(self._note)
        self.members = MemberIndex(self._note, self._note_members)
        self.queue: DelayingQueue[ObjectKey] = DelayingQueue(
            self._work, on_error=self._note_error, seed=seed
        )
        self.groups = PodGroupReconciler(
            self.holdings,
            self.members,
            writer,
            lacking=self._lacking,
            serves=self._serves,
            submit_event=events.submit,
            note_seconds=self._note_seconds,
        )
        self.profiles = ProfileReconciler(
            self.holdings,
            writer,
            rules,
            submit_event=events.submit,
            note_seconds=self._note_seconds,
        )

    def tell(self, resource: CustomResource, is_gone: bool, body: Mapping[str, Any]) -> None:
        """Take in what kopf tells of an object."""
        held = hold(resource, body)
        if is_gone:
            self.holdings.remove(held.key, held.uid)
        else:
            self.holdings.tell(held)

    def note_objects(self) -> None:
        """Note that all objects have been told of."""
        self._has_objects = True
        self._open_if_ready()

    def note_other_resources(self) -> None:
        """Note that other resources are served: their objects have yet to be told of."""
        self._has_objects = False
        self.queue.close()

    def await_members(self) -> None:
        """Note that the Pods of groups have yet to be listed."""
        self._has_members = False
        self.queue.close()

    def need_no_members(self) -> None:
        """Note that no groups are served."""
        self._note_members()

    def look_at_all(self) -> None:
        """Have everything judged again: we lead now, or the definitions are others."""
        for held in self.holdings.all():
            self._note(held.key)

    async def follow_schemas(self, client: KubeClient, resource: CustomResource) -> None:
        """Keep up with which fields the definition of a resource has, until cancelled."""
        while True:
            try:
                lacking = await lacking_fields(client, resource, WRITTEN_FIELDS)
            except KubeError as error:
                _logger.debug("Cannot read a schema: resource=%s: %s", resource.name, error)
            else:
                if lacking != self._lacking.get(resource, frozenset()):
                    self._lacking[resource] = lacking
                    _logger.info(
                        "The definition of a resource lacks fields; they are not written",
                        extra=fields(resource=resource.name, fields=",".join(sorted(lacking))),
                    )
                    self.look_at_all()
            await asyncio.sleep(SCHEMA_SECONDS)

    def _note_members(self) -> None:
        self._has_members = True
        self._open_if_ready()

    def _open_if_ready(self) -> None:
        if self._has_members and self._has_objects:
            self.queue.open()

    def _note(self, key: ObjectKey) -> None:
        self.queue.put(PROFILES if key.resource == SCHEDULER_PROFILES else key)

    async def _work(self, key: ObjectKey, since: float) -> float | None:
        if key == PROFILES:
            await self.profiles.reconcile_all(since)
            return None
        return await self.groups.reconcile(key, since)

    def _serves(self, scheduler_name: str) -> bool:
        """Whether Pods of a schedulerName are scheduled by Berthmaster, as far as is known."""
        if self._rules.configuration.profile(scheduler_name) is not None:
            return True
        profiles = self.holdings.of(SCHEDULER_PROFILES)
        return any(held.spec.get("schedulerName") == scheduler_name for held in profiles)

    def _note_seconds(self, resource: CustomResource, seconds: float) -> None:
        self.seconds.series((resource.name,)).observe(seconds)

    def _note_error(self, key: ObjectKey, error: KubeError) -> None:
        is_conflict = isinstance(error, ConflictError)
        reason = CONFLICT if is_conflict else reason_of(error)
        self.error_counts[key.resource.name, reason] += 1
        if is_conflict:
            return  # somebody else has written: the watch will tell, and it is looked at again
        _logger.warning(
            "Cannot write a status; it is tried again",
            extra=fields(resource=key.resource.name, object=key, error=str(error)),
        )
