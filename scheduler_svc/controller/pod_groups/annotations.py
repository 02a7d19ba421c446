"""Whether a group's annotations say what they can mean; what they mean is the scheduler's."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.core.group_objects import (
    PACK_BY_ANNOTATION,
    PACK_BY_MODE_ANNOTATION,
    PREFERRED,
)

VALID: Final = "Valid"
"""The type of the condition."""
_REQUIRED: Final = "Required"
_SHOWN_CHARACTERS: Final = 64


class Reason(StrEnum):
    """Of the condition."""

    VALID = "Valid"
    INVALID = "Invalid"


def judge_annotations(annotations: Mapping[str, str], told: Verdict | None) -> Verdict | None:
    """Give what the condition is to say; None where nothing is wrong, nor was said to be.

    Parameters
    ----------
    told
        What it says.
    """
    mode = annotations.get(PACK_BY_MODE_ANNOTATION, _REQUIRED)
    if annotations.get(PACK_BY_ANNOTATION) and mode not in (_REQUIRED, PREFERRED):
        if len(mode) > _SHOWN_CHARACTERS:
            mode = mode[:_SHOWN_CHARACTERS] + "…"
        message = (
            f'metadata.annotations[{PACK_BY_MODE_ANNOTATION}]: Unsupported value: "{mode}": '
            f'supported values: "{PREFERRED}", "{_REQUIRED}"; until then it is {_REQUIRED}'
        )
        return Verdict(False, Reason.INVALID, message)
    return None if told is None else Verdict(True, Reason.VALID, "the annotations can be followed")
