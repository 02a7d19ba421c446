import pytest

from benchmarks.distributions import Distribution, Spread, distribution, percentile, spread


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(1, 201)]
    assert percentile(values, 50) == 100.0
    assert percentile(values, 99) == 198.0
    assert percentile(values, 100) == 200.0


@pytest.mark.parametrize("percent", [0, 1, 50, 99, 100])
def test_any_percentile_of_one_value_is_that_value(percent: float) -> None:
    assert percentile([7.0], percent) == 7.0


def test_a_distribution_takes_values_in_any_order() -> None:
    assert distribution([3.0, 1.0, 2.0, 10.0]) == Distribution(
        count=4, mean=4.0, p50=2.0, p99=10.0, maximum=10.0
    )


def test_no_values_give_zeros() -> None:
    assert distribution([]) == Distribution(0, 0.0, 0.0, 0.0, 0.0)


def test_a_spread_is_the_median_with_both_ends() -> None:
    assert spread([5.0, 1.0, 9.0]) == Spread(median=5.0, minimum=1.0, maximum=9.0)
    assert spread([1.0, 2.0]).median == 1.5
