"""The difference of two clocks lies within all bounds, and they narrow it down."""

from node_agent.core.clock import NANOSECONDS
from node_agent.core.journey.clock_skew import EVIDENCE_COUNT, ClockSkew, SkewEstimate

S = NANOSECONDS
MS = 1_000_000


def answer(skew: ClockSkew, api_nanoseconds: int, difference: int, latency: int = MS) -> None:
    """Add an answer whose Date was read at a moment of the API server's clock."""
    node = api_nanoseconds + difference
    skew.add_answer(node - latency, node + latency, api_nanoseconds // S)


def test_nothing_is_known_at_first() -> None:
    assert ClockSkew().estimate() is None


def test_an_answer_bounds_it_on_both_sides() -> None:
    skew = ClockSkew()
    skew.add_answer(100 * S, 100 * S + 20 * MS, 98)
    assert skew.estimate() == SkewEstimate(1 * S, 2 * S + 20 * MS)


def test_answers_at_different_fractions_narrow_it_down() -> None:
    skew = ClockSkew()
    for fraction in range(0, 1000, 50):
        answer(skew, 1000 * S + fraction * MS, difference=250 * MS)
    estimate = skew.estimate()
    assert estimate is not None
    assert estimate.estimate_nanoseconds is not None
    assert estimate.error_nanoseconds is not None
    assert abs(estimate.estimate_nanoseconds - 250 * MS) <= estimate.error_nanoseconds
    assert estimate.error_nanoseconds <= 27 * MS


def test_a_receipt_bounds_it_from_above_only() -> None:
    skew = ClockSkew()
    skew.add_receipt(10 * S + 300 * MS, 10 * S)
    estimate = skew.estimate()
    assert estimate == SkewEstimate(None, 300 * MS)
    assert estimate.estimate_nanoseconds is None
    assert estimate.error_nanoseconds is None


def test_a_receipt_sharpens_an_answer() -> None:
    skew = ClockSkew()
    skew.add_answer(10 * S, 10 * S, 10)
    skew.add_receipt(20 * S - 400 * MS, 20 * S)
    assert skew.estimate() == SkewEstimate(-1 * S, -400 * MS)


def test_a_clock_that_was_set_leaves_the_newest_word() -> None:
    skew = ClockSkew()
    answer(skew, 1000 * S, difference=0)
    answer(skew, 1010 * S, difference=60 * S)
    assert skew.contradiction_count == 1
    estimate = skew.estimate()
    assert estimate is not None
    assert estimate.low_nanoseconds is not None
    assert estimate.low_nanoseconds <= 60 * S <= estimate.high_nanoseconds


def test_old_bounds_are_forgotten() -> None:
    skew = ClockSkew()
    skew.add_receipt(10 * S + 1, 10 * S)
    for _ in range(EVIDENCE_COUNT):
        skew.add_receipt(10 * S + 500, 10 * S)
    assert skew.estimate() == SkewEstimate(None, 500)
    skew.reset()
    assert skew.estimate() is None
