"""What is wrong with a term is told as kube-scheduler tells it; texts are recorded from it."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.label_syntax import joined_faults, selector_fault, term_faults
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


def test_several_faults_are_told_in_brackets_and_once() -> None:
    assert joined_faults(["a"]) == "a"
    assert joined_faults(["a", "b", "a"]) == "[a, b]"
    assert joined_faults(["a", "a"]) == "a"


NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
DOMAIN = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
    "'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
OPTIONAL_PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
ALL_OPERATORS = '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("", f"name part must be non-empty; name part {NAME}"),
        ("a/", f"name part must be non-empty; name part {NAME}"),
        ('q"\\', f"name part {NAME}"),
        (LONG, f"name part {TOO_LONG}"),
        ("/x", "prefix part must be non-empty"),
        ("Bad_/x", DOMAIN),
        ("x" * 254 + "/y", "prefix part must be no more than 253 bytes"),
        (
            "a/b/c",
            f"a valid label key {NAME} {OPTIONAL_PREFIX}",
        ),
    ],
)
def test_a_key_has_its_rules_everywhere(key: str, expected: str) -> None:
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    fault = f"key: Invalid value: {quoted}: {expected}"
    assert term_faults(term(where(key, "Exists"))) == (f".matchExpressions[0].{fault}",)
    assert selector_fault(LabelSelector({"app": "web", key: "v"})) == fault
    expressions = (LabelRequirement("app", "Exists"), LabelRequirement(key, "Exists"))
    assert selector_fault(LabelSelector(match_expressions=expressions)) == fault


@pytest.mark.parametrize("key", ["a", "A-b_c.9", "example.com/a", "0" * 63])
def test_sound_keys_are_no_fault(key: str) -> None:
    assert term_faults(term(where(key, "Exists"))) == ()
    assert selector_fault(LabelSelector({key: "v"}, (LabelRequirement(key, "In", ("v",)),))) == ""


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", (), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be"),
        ("NotIn", (), "values: Invalid value: null: for 'in', 'notin' operators, values set can't"),
        ("Exists", ("x",), 'values: Invalid value: ["x"]: values set must be empty for exists and'),
        ("DoesNotExist", ("x", "y"), 'values: Invalid value: ["x","y"]: values set must be empty'),
        ("Gt", (), "values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is"),
        (
            "Lt",
            ("1", "2"),
            "values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly",
        ),
        ("Is", ("x",), f'operator: Unsupported value: "Is": supported values: {ALL_OPERATORS}'),
    ],
)
def test_an_operator_takes_its_number_of_values(
    operator: str, values: tuple[str, ...], expected: str
) -> None:
    [fault] = term_faults(term(where("gen", operator, *values)))
    assert fault.startswith(f".matchExpressions[0].{expected}")
    of_pods = selector_fault(
        LabelSelector(match_expressions=(LabelRequirement("gen", operator, values),))
    )
    if operator in ("Gt", "Lt", "Is"):
        assert of_pods == f'"{operator}" is not a valid label selector operator'
    else:
        assert of_pods.startswith(expected)


def test_a_selector_that_is_not_given_or_empty_is_sound() -> None:
    assert selector_fault(None) == selector_fault(LabelSelector()) == ""


SUPPORTED = 'supported values: "In", "NotIn"'


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ("n1",), ()),
        ("NotIn", ("no name!",), ()),
        ("In", (), (".matchFields[0].values: Invalid value: null: must have one element",)),
        (
            "NotIn",
            ("a", "b"),
            ('.matchFields[0].values: Invalid value: ["a","b"]: must have one element',),
        ),
        (
            "Exists",
            (),
            (f'.matchFields[0].operator: Unsupported value: "Exists": {SUPPORTED}',),
        ),
    ],
)
def test_a_field_is_compared_with_one_value(
    operator: str, values: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert term_faults(term(fields=[where("metadata.name", operator, *values)])) == expected
