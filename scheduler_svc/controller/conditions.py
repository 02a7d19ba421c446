"""Conditions in a status: what is said, and how it stands beside what others say."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

MESSAGE_LIMIT_CHARACTERS: Final = 32_768
"""The API's."""


class Verdict(NamedTuple):
    """What a condition says; `is_true` None for not known (``Unknown``)."""

    is_true: bool | None
    reason: str
    message: str = ""

    @property
    def status(self) -> str:
        """As the API writes it."""
        return "Unknown" if self.is_true is None else str(self.is_true)


def read_verdict(conditions: object, type_: str) -> Verdict | None:
    """Give what the condition of a type says; None where there is none."""
    found = _find(conditions, type_)
    if found is None:
        return None
    status = found.get("status")
    is_true = status == "True" if status in ("True", "False") else None
    return Verdict(is_true, str(found.get("reason", "")), str(found.get("message", "")))


def merge_conditions(
    conditions: object, verdicts: Mapping[str, Verdict], *, generation: int, now: str
) -> list[dict[str, Any]] | None:
    """Give all conditions with `verdicts`, by type, in them; None where nothing changes.

    Those of other types stay as they are. The time of a transition is `now` where the status
    changes, and stays otherwise.
    """
    known = _conditions(conditions)
    merged = list(known)
    for type_, verdict in verdicts.items():
        before = _find(known, type_)
        after: dict[str, Any] = {
            "type": type_,
            "status": verdict.status,
            "reason": str(verdict.reason),
            "message": verdict.message[:MESSAGE_LIMIT_CHARACTERS],
            "lastTransitionTime": now,
            "observedGeneration": generation,
        }
        if before is None:
            merged.append(after)
            continue
        if before.get("status") == after["status"] and before.get("lastTransitionTime"):
            after["lastTransitionTime"] = before["lastTransitionTime"]
        merged[known.index(before)] = after
    return None if merged == known else merged


def _find(conditions: object, type_: str) -> dict[str, Any] | None:
    return next((each for each in _conditions(conditions) if each.get("type") == type_), None)


def _conditions(conditions: object) -> list[dict[str, Any]]:
    if not isinstance(conditions, Sequence) or isinstance(conditions, str):
        return []
    return [dict(each) for each in conditions if isinstance(each, Mapping)]
