"""Whether the reading of expressions, which other tests rely on, sees everything."""

from tests.monitoring.promql import Selector, bare_names, grouped_labels, selectors

EXPRESSION = """
  histogram_quantile(
    0.99, sum by (le, phase) (rate(a_bucket{job=~"$job", code!~"2..|}"}[$__rate_interval]))
  )
  / on (cluster) group_left (name) (b{le="0.5"} or 0 * max(c:d:rate5m{})) unless bool_like > 1e3
"""


def test_selectors_are_found_with_their_matchers() -> None:
    assert selectors('sum(a{x="1", y!~"2..", z=~"$z"}) / b{}') == [
        Selector("a", {"x": ("=", "1"), "y": ("!~", "2.."), "z": ("=~", "$z")}),
        Selector("b", {}),
    ]


def test_a_brace_in_a_value_ends_no_selector() -> None:
    first, *others = selectors(EXPRESSION)
    assert first == Selector("a_bucket", {"job": ("=~", "$job"), "code": ("!~", "2..|}")})
    assert [selector.name for selector in others] == ["b", "c:d:rate5m"]


def test_labels_of_all_groupings_are_found() -> None:
    assert grouped_labels(EXPRESSION) == {"le", "phase", "cluster", "name"}


def test_a_name_without_braces_is_found() -> None:
    assert bare_names(EXPRESSION) == {"bool_like"}
    assert bare_names('rate(x[5m]) + time() + y{a="b"}') == {"x"}
