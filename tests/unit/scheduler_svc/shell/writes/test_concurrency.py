"""How many Bindings may be under way: what the limit learns from answers."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_svc.shell.writes.concurrency import AdaptiveLimit


def answer_round(
    limit: AdaptiveLimit, latency_seconds: float, *, at_seconds: float, is_limiting: bool = True
) -> None:
    for _ in range(limit.value):
        limit.succeeded(
            sent_seconds=at_seconds,
            now_seconds=at_seconds + latency_seconds,
            is_limiting=is_limiting,
        )


def test_starts_at_32_between_1_and_256() -> None:
    assert AdaptiveLimit().value == 32
    assert AdaptiveLimit(1000).value == 256
    assert AdaptiveLimit(0).value == 1


def test_one_more_a_round_while_answers_are_as_quick_as_ever() -> None:
    limit = AdaptiveLimit()
    for number in range(5):
        assert limit.value == 32 + number
        answer_round(limit, 0.02, at_seconds=number)
    assert limit.value == 37


def test_never_above_the_highest() -> None:
    limit = AdaptiveLimit(255)
    for number in range(5):
        answer_round(limit, 0.02, at_seconds=number)
    assert limit.value == 256


def test_nothing_is_learned_while_nobody_waits() -> None:
    limit = AdaptiveLimit()
    for number in range(5):
        answer_round(limit, 0.001, at_seconds=number, is_limiting=False)
    assert limit.value == 32
    answer_round(limit, 0.05, at_seconds=10)
    assert limit.value == 33


def test_slower_answers_hold_it() -> None:
    limit = AdaptiveLimit()
    answer_round(limit, 0.02, at_seconds=0)
    for number in range(1, 10):
        answer_round(limit, 0.06, at_seconds=number)
    assert limit.value == 33


def test_much_slower_answers_lower_it_to_half_of_the_start_at_most() -> None:
    limit = AdaptiveLimit()
    answer_round(limit, 0.02, at_seconds=0)
    answer_round(limit, 1.0, at_seconds=1)
    assert limit.value == 22
    for number in range(3, 20):
        answer_round(limit, 1.0, at_seconds=number)
    assert limit.value == 16


def test_a_slower_server_becomes_the_measure_in_time() -> None:
    limit = AdaptiveLimit()
    answer_round(limit, 0.02, at_seconds=0)
    for number in range(1, 200):
        answer_round(limit, 0.06, at_seconds=number)
    assert limit.value > 100


def test_refusals_lower_it_once_for_all_that_was_sent_before() -> None:
    limit = AdaptiveLimit(30)
    for number in range(10):
        limit.overloaded(sent_seconds=number / 100, now_seconds=1 + number / 100)
    assert limit.value == 20
    limit.overloaded(sent_seconds=1.5, now_seconds=2)
    assert limit.value == 13


def test_refusals_lower_it_to_one() -> None:
    limit = AdaptiveLimit()
    for number in range(1, 30):
        limit.overloaded(sent_seconds=number, now_seconds=number + 0.1)
    assert limit.value == 1


def test_answers_to_what_was_sent_before_a_fall_do_not_raise_it() -> None:
    limit = AdaptiveLimit(30)
    limit.overloaded(sent_seconds=1.0, now_seconds=1.1)
    for _ in range(100):
        limit.succeeded(sent_seconds=1.0, now_seconds=1.2, is_limiting=True)
    assert limit.value == 20


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0.001, 60)), max_size=200))
def test_always_within_its_bounds(answers: list[tuple[bool, bool, float]]) -> None:
    limit = AdaptiveLimit(4, lowest=2, highest=6)
    now_seconds = 0.0
    for is_success, is_limiting, latency_seconds in answers:
        sent_seconds, now_seconds = now_seconds, now_seconds + latency_seconds
        if is_success:
            limit.succeeded(
                sent_seconds=sent_seconds, now_seconds=now_seconds, is_limiting=is_limiting
            )
        else:
            limit.overloaded(sent_seconds=sent_seconds, now_seconds=now_seconds)
        assert 2 <= limit.value <= 6
