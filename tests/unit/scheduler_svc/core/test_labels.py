"""Selectors over columns and over one set of labels, which must say the same."""

import numpy as np
import pytest

from scheduler_svc.core.labels import (
    ABSENT,
    LabelColumn,
    is_anywhere,
    is_everywhere,
    matches_field,
    matches_term,
    matches_value,
    parse_int64,
)
from scheduler_svc.core.objects import Requirement
from tests.builders import term, where

VALUES = [None, "", "a", "b", "5", "-5", "+7", "x5", "9223372036854775807", "9223372036854775808"]


def matching(requirement: Requirement) -> list[str | None]:
    """Give the values that match, both ways."""
    one_by_one = [value for value in VALUES if matches_value(requirement, value)]
    column = LabelColumn(len(VALUES))
    for row, value in enumerate(VALUES):
        column.set(row, value)
    mask = column.match(requirement, slice(None))
    assert [VALUES[row] for row in np.flatnonzero(mask)] == one_by_one
    backwards = np.arange(len(VALUES))[::-1]
    assert column.match(requirement, backwards).tolist() == mask[::-1].tolist()
    return one_by_one


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (where("k", "In", "a", "b", "unheard-of"), ["a", "b"]),
        (where("k", "In", ""), [""]),
        (where("k", "In"), []),
        (where("k", "NotIn", "a", "unheard-of"), [v for v in VALUES if v != "a"]),
        (where("k", "Exists"), VALUES[1:]),
        (where("k", "DoesNotExist"), [None]),
        (where("k", "Gt", "4"), ["5", "+7", "9223372036854775807"]),
        (where("k", "Gt", "5"), ["+7", "9223372036854775807"]),
        (where("k", "Lt", "5"), ["-5"]),
        (where("k", "Lt", "a"), []),
        (where("k", "Gt"), []),
        (where("k", "Between", "1", "9"), []),
    ],
)
def test_operators(requirement: Requirement, expected: list[str | None]) -> None:
    assert matching(requirement) == expected


def test_a_column_follows_changes_and_grows() -> None:
    column = LabelColumn(1)
    column.set(0, "a")
    column.grow(3)
    column.set(1, "b")
    assert column.match(where("k", "Exists"), slice(None)).tolist() == [True, True, False]
    column.set(0, "b")
    column.set(1, None)
    assert column.match(where("k", "In", "b"), slice(None)).tolist() == [True, False, False]
    assert column.values == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("", None),
        ("-", None),
        ("1_000", None),
        (" 1", None),
        ("1.0", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_integers_are_read_as_go_reads_them(text: str, number: int | None) -> None:
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (where("metadata.name", "In", "n1"), True),
        (where("metadata.name", "In", "n2"), False),
        (where("metadata.uid", "In", "n1"), False),
        (where("metadata.uid", "NotIn", "n1"), True),
        (where("metadata.uid", "In", ""), True),
        (where("metadata.name", "NotIn", "n1"), False),
        (where("metadata.name", "NotIn", "n2"), True),
        (where("metadata.name", "In", "n1", "n2"), False),
        (where("metadata.name", "In"), False),
        (where("metadata.name", "Exists"), False),
        (where("metadata.name", "Gt", "n1"), False),
        (where("metadata.namespace", "In", "n1"), False),
    ],
)
def test_fields(requirement: Requirement, expected: bool) -> None:
    assert matches_field(requirement, "n1") is expected


def test_a_term_is_met_when_all_of_it_is() -> None:
    labels = {"zone": "a"}
    expression, field = where("zone", "In", "a"), where("metadata.name", "In", "n1")
    assert matches_term(term(expression), labels, "n1")
    assert matches_term(term(fields=[field]), labels, "n1")
    assert matches_term(term(expression, fields=[field]), labels, "n1")
    assert not matches_term(term(expression, where("disk", "Exists")), labels, "n1")
    assert not matches_term(term(expression, fields=[field]), labels, "n2")


def test_an_empty_term_matches_nothing() -> None:
    assert not matches_term(term(), {"zone": "a"}, "n1")


@pytest.mark.parametrize("value_count", [12, 200])
def test_tables_are_gathered_by_code(value_count: int) -> None:
    column = LabelColumn(400)
    for row in range(390):
        column.set(row, None if row % 7 == 0 else f"v{row % value_count}")
    length = len(column.values) + 1
    tables = np.random.default_rng(1).random((100, length)) < 0.5
    for table in np.repeat(tables, 2, axis=0):
        assert column.gather(table).tolist() == table[column.codes].tolist()
    column.set(0, "another")
    column.set(1, None)
    table = np.arange(length + 1) % 2 == 0
    assert column.gather(table).tolist() == table[column.codes].tolist()
    column.grow(500)
    assert column.gather(table).tolist() == table[column.codes].tolist()


def found_by_index(column: LabelColumn) -> list[int]:
    """Take each Node's code from a table of all codes, of which that of no value is the last."""
    codes = np.array([*range(len(column.values)), ABSENT])
    found: list[int] = codes.take(column.indices, mode="clip").tolist()
    return found


def test_it_is_known_whether_nodes_share_a_value() -> None:
    column = LabelColumn(3)
    known = [column.is_unique]
    for row, value in ((0, "a"), (2, "b"), (1, "a"), (0, None)):
        column.set(row, value)
        known.append(column.is_unique)
        assert found_by_index(column) == column.codes.tolist()
    column.grow(5)
    assert [*known, column.is_unique] == [True, True, True, False, True, True]
    assert found_by_index(column) == [-1, 0, 1, -1, -1]


@pytest.mark.parametrize("count", [0, 1, 3, 1000])
def test_whether_a_mask_is_true_throughout_or_somewhere(count: int) -> None:
    for trues in ([], range(count), range(count - 1, count) if count else []):
        mask = np.zeros(count, dtype=np.bool_)
        mask[list(trues)] = True
        assert is_everywhere(mask) == bool(mask.all())
        assert is_anywhere(mask) == bool(mask.any())
        assert is_anywhere(mask[1:]) == bool(mask[1:].any())


def test_values_have_codes() -> None:
    column = LabelColumn(2)
    column.set(1, "a")
    assert (column.code_of("a"), column.code_of("b")) == (0, None)
