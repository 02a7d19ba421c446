"""Selectors over the labels of Pods and Namespaces."""

import pytest

from scheduler_svc.core.affinity_objects import LabelRequirement, LabelSelector
from scheduler_svc.core.label_selectors import EVERYTHING, Selector, compile_selector

LABELS = [{}, {"app": "web"}, {"app": "db"}, {"app": ""}, {"app": "web", "rev": "1"}, {"rev": "2"}]


def requires(key: str, operator: str, *values: str) -> LabelRequirement:
    return LabelRequirement(key, operator, values)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (LabelSelector(), LABELS),
        (LabelSelector({}), LABELS),
        (LabelSelector({"app": "web"}), [LABELS[1], LABELS[4]]),
        (LabelSelector({"app": ""}), [LABELS[3]]),
        (LabelSelector({"app": "web", "rev": "1"}), [LABELS[4]]),
        (
            LabelSelector(None, (requires("app", "In", "web", "db"),)),
            [LABELS[1], LABELS[2], LABELS[4]],
        ),
        (
            LabelSelector(None, (requires("app", "NotIn", "web"),)),
            [LABELS[0], LABELS[2], LABELS[3], LABELS[5]],
        ),
        (LabelSelector(None, (requires("app", "Exists"),)), LABELS[1:5]),
        (LabelSelector(None, (requires("app", "DoesNotExist"),)), [LABELS[0], LABELS[5]]),
        (LabelSelector({"app": "web"}, (requires("rev", "DoesNotExist"),)), [LABELS[1]]),
        (LabelSelector(None, (requires("rev", "Gt", "0"),)), []),
    ],
)
def test_what_selectors_match(selector: LabelSelector, expected: list[dict[str, str]]) -> None:
    compiled = compile_selector(selector)
    assert compiled is not None
    assert [labels for labels in LABELS if compiled.matches(labels)] == expected


def test_no_selector_is_none() -> None:
    assert compile_selector(None) is None


def test_selectors_that_say_the_same_are_one() -> None:
    by_labels = compile_selector(LabelSelector({"app": "web", "rev": "1"}))
    by_both = compile_selector(LabelSelector({"rev": "1"}, (requires("app", "In", "web"),)))
    twice = compile_selector(
        LabelSelector({"rev": "1", "app": "web"}, (requires("app", "In", "web"),))
    )
    assert by_labels == by_both == twice
    assert len({by_labels, by_both, twice}) == 1
    one = compile_selector(LabelSelector(None, (requires("a", "In", "x", "y"),)))
    other = compile_selector(LabelSelector(None, (requires("a", "In", "y", "x"),)))
    assert one == other
    assert compile_selector(LabelSelector()) == EVERYTHING


def test_labels_may_be_demanded_in_addition() -> None:
    selector = Selector((requires("app", "Exists"),))
    narrower = selector.also({"rev": "1", "app": "web"})
    assert [labels for labels in LABELS if narrower.matches(labels)] == [LABELS[4]]
    assert selector.also({}) == selector
    assert EVERYTHING.also({"app": "web"}) == compile_selector(LabelSelector({"app": "web"}))
