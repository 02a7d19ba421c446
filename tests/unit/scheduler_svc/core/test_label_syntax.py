"""What is wrong with a term is told as kube-scheduler tells it; texts are recorded from it."""

import pytest

from scheduler_svc.core.label_syntax import joined_faults, term_faults
from tests.builders import term, where

SYNTAX = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
LONG = "0" * 64
TOO_LONG = "must be no more than 63 bytes"
NUMBER = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize("value", ["", "a", "A-b_c.9", "5", "0" * 63])
@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_label_values_are_no_fault(operator: str, value: str) -> None:
    assert term_faults(term(where("gen", operator, value))) == ()


@pytest.mark.parametrize("value", ["5", "05", "0", "9223372036854775807"])
def test_integers_are_no_fault(value: str) -> None:
    assert term_faults(term(where("gen", "Gt", value), where("gen", "Exists"))) == ()


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("Gt", "many", (f'[0].matchExpressions[0].values[0]: Invalid value: "many": {NUMBER}',)),
        ("Lt", "-5", (f'[0].matchExpressions[0].values[0][gen]: Invalid value: "-5": {SYNTAX}',)),
        (
            "Lt",
            " 5",
            (
                f'[0].matchExpressions[0].values[0]: Invalid value: " 5": {NUMBER}',
                f'[0].matchExpressions[0].values[0][gen]: Invalid value: " 5": {SYNTAX}',
            ),
        ),
        (
            "In",
            LONG,
            (f'[0].matchExpressions[0].values[0][gen]: Invalid value: "{LONG}": {TOO_LONG}',),
        ),
    ],
)
def test_each_fault_is_told(operator: str, value: str, expected: tuple[str, ...]) -> None:
    assert term_faults(term(where("gen", operator, value)), "[0]") == expected


def test_several_faults_are_told_in_brackets() -> None:
    assert joined_faults(["a"]) == "a"
    assert joined_faults(["a", "b"]) == "[a, b]"
