"""The difference between what a group's status says and what it ought to say, as a patch."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from scheduler_svc.controller.conditions import merge_conditions
from scheduler_svc.controller.pod_groups.annotations import VALID
from scheduler_svc.controller.pod_groups.group import SCHEDULED, Group, GroupStatus
from scheduler_svc.controller.pod_groups.judgement import Judgement

CONDITIONS: Final = "conditions"
_FIELDS: Final = {
    "phase": "phase",
    "occupied_by": "occupiedBy",
    "scheduled": "scheduled",
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "schedule_start_time": "scheduleStartTime",
}
"""Names in the API, by ours."""
WRITTEN_FIELDS: Final = frozenset((*_FIELDS.values(), CONDITIONS))
"""Fields that are written, in the API ``scheduling.x-k8s.io``."""


def status_changes(
    group: Group,
    judgement: Judgement,
    conditions: object,
    *,
    generation: int,
    lacking: Collection[str],
    now: str,
) -> dict[str, Any]:
    """Give the fields of the status to write, by their names; none where all is said.

    Parameters
    ----------
    conditions
        As the status has them.
    lacking
        Fields that the cluster's definition of the resource does not have: it would drop
        them, and the next look would find them missing again.
    """
    changes = {} if group.is_built_in else _field_changes(group.status, judgement.status)
    said = {SCHEDULED: judgement.verdict, VALID: judgement.validity}
    verdicts = {type_: verdict for type_, verdict in said.items() if verdict is not None}
    merged = merge_conditions(conditions, verdicts, generation=generation, now=now)
    if merged is not None:
        changes[CONDITIONS] = merged
    return {name: value for name, value in changes.items() if name not in lacking}


def _field_changes(before: GroupStatus, after: GroupStatus) -> dict[str, Any]:
    return {
        name: getattr(after, field)
        for field, name in _FIELDS.items()
        if getattr(before, field) != getattr(after, field)
    }


def dropped_fields(changes: Mapping[str, Any], status: Mapping[str, Any]) -> frozenset[str]:
    """Give the fields that were written and are not in the status that the write has given."""
    return frozenset(name for name in changes if name not in status)
