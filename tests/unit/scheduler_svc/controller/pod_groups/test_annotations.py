"""What is said of a group's annotations."""

import pytest

from scheduler_svc.controller.conditions import Verdict
from scheduler_svc.controller.pod_groups.annotations import judge_annotations

PACK_BY = {"berthmaster.dev/pack-by": "topology.kubernetes.io/zone"}
MODE = "berthmaster.dev/pack-by-mode"
INVALID = Verdict(
    False,
    "Invalid",
    'metadata.annotations[berthmaster.dev/pack-by-mode]: Unsupported value: "preferred": '
    'supported values: "Preferred", "Required"; until then it is Required',
)
VALID = Verdict(True, "Valid", "the annotations can be followed")


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        PACK_BY,
        {**PACK_BY, MODE: "Required"},
        {**PACK_BY, MODE: "Preferred"},
        {MODE: "preferred"},  # a mode of nothing
        {"berthmaster.dev/pack-by": "", MODE: "preferred"},
    ],
)
def test_what_can_be_followed_is_told_only_after_a_complaint(annotations: dict[str, str]) -> None:
    assert judge_annotations(annotations, None) is None
    assert judge_annotations(annotations, INVALID) == VALID
    assert judge_annotations(annotations, VALID) == VALID


@pytest.mark.parametrize("told", [None, VALID, INVALID])
def test_a_mode_that_there_is_not_is_named_with_those_there_are(told: Verdict | None) -> None:
    assert judge_annotations({**PACK_BY, MODE: "preferred"}, told) == INVALID


def test_of_a_long_value_its_beginning_is_told() -> None:
    verdict = judge_annotations({**PACK_BY, MODE: "x" * 65}, None)
    assert verdict is not None
    assert f'"{"x" * 64}…"' in verdict.message
