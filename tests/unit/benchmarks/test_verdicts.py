import math

from benchmarks.verdicts import (
    Comparison,
    at_least_times,
    at_most,
    at_most_times,
    cell,
    middle,
    ratio,
)


def same(value: float | None) -> float | None:
    return value


def test_a_cell_is_the_median_with_the_range() -> None:
    assert cell([3.0, 1.0, 1234.5], same, 1) == "3.0 (1.0 to 1,234.5)"
    assert cell([3.14159], same, 2) == "3.14"


def test_runs_without_the_figure_do_not_count() -> None:
    assert cell([None, 2.0], same, 0) == "2"
    assert cell([None], same) == "-"
    assert math.isnan(middle([None], same))


def test_limits_are_reached_at_the_limit() -> None:
    assert at_most(60.0, 60) == "≤ 60: reached"
    assert at_most(60.1, 60) == "≤ 60: missed"
    assert at_least_times(0.85, 0.85, "raw") == "≥ 0.85 times raw: 0.85, reached"
    assert at_least_times(0.84, 0.85, "raw") == "≥ 0.85 times raw: 0.84, missed"
    assert at_most_times(2.5, 2, "kube-scheduler") == "≤ 2 times kube-scheduler: 2.50, missed"


def test_what_is_not_there_reaches_nothing() -> None:
    assert at_most(math.nan, 60).endswith("missed")
    assert at_least_times(math.nan, 1, "raw").endswith("missed")
    assert math.isnan(ratio(1.0, 0.0))


def test_a_comparison_has_a_column_for_each_contestant() -> None:
    compared = Comparison({"a": [1.0, 3.0], "b": [4.0], "c": []})
    assert compared.row("name", same, 0, "verdict") == ("name", "2 (1 to 3)", "4", "-", "verdict")
    assert compared.ratio(same, "b", "a") == 2.0
    assert math.isnan(compared.ratio(same, "c", "a"))
