"""Status codes and how they read."""

import pytest

from scheduler_svc.core.status import Code, Status


@pytest.mark.parametrize(
    ("code", "number", "text", "is_rejected"),
    [
        (Code.SUCCESS, 0, "Success", False),
        (Code.ERROR, 1, "Error", False),
        (Code.UNSCHEDULABLE, 2, "Unschedulable", True),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, 3, "UnschedulableAndUnresolvable", True),
        (Code.WAIT, 4, "Wait", False),
        (Code.SKIP, 5, "Skip", False),
        (Code.PENDING, 6, "Pending", True),
    ],
)
def test_codes(code: Code, number: int, text: str, is_rejected: bool) -> None:
    assert code == number
    assert code.text == text
    assert code.is_rejected is is_rejected


def test_reasons_are_joined() -> None:
    assert Status(Code.UNSCHEDULABLE, ("Too many pods", "Insufficient cpu")).message == (
        "Too many pods, Insufficient cpu"
    )
    assert Status(Code.SUCCESS).message == ""
