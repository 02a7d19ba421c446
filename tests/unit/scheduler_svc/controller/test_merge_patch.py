"""A merge patch turns the one object into the other, by the rules of RFC 7386."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.controller.merge_patch import merge_patch


def apply(target: Any, patch: Any) -> Any:
    """Apply a patch: the pseudocode of RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply(result.get(name), value)
    return result


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 2]}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_the_patch_is_what_differs(
    before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]
) -> None:
    assert merge_patch(before, after) == patch


VALUES = st.recursive(
    st.integers(0, 2) | st.sampled_from(["", "x"]) | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES)


@given(before=OBJECTS, after=OBJECTS)
def test_it_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    patch = merge_patch(before, after)
    assert apply(before, patch) == after
    assert merge_patch(after, after) == {}
