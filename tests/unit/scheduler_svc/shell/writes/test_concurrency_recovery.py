"""How the limit of Bindings comes back from a fall, on answers that are slow and right."""

from scheduler_svc.shell.writes.concurrency import AdaptiveLimit


def answer_round(limit: AdaptiveLimit, *, at_seconds: float, latency_seconds: float) -> None:
    for _ in range(limit.value):
        limit.succeeded(
            sent_seconds=at_seconds, now_seconds=at_seconds + latency_seconds, is_limiting=True
        )


def refuse_until_lowest(limit: AdaptiveLimit) -> None:
    for second in range(1, 20):
        limit.overloaded(sent_seconds=second, now_seconds=second + 0.01)
    assert limit.value == 1


def test_half_of_the_start_is_reached_again_however_slow_answers_are() -> None:
    """Latency grows with what is under way: what one gets is no measure for sixteen."""
    limit = AdaptiveLimit(32)
    answer_round(limit, at_seconds=0.0, latency_seconds=0.005)
    refuse_until_lowest(limit)
    for number in range(15):
        assert limit.value == number + 1
        answer_round(limit, at_seconds=100.0 + number, latency_seconds=0.2)
    assert limit.value == 16


def test_above_half_of_the_start_slow_answers_hold_it() -> None:
    limit = AdaptiveLimit(32)
    answer_round(limit, at_seconds=0.0, latency_seconds=0.005)
    refuse_until_lowest(limit)
    for number in range(30):
        answer_round(limit, at_seconds=100.0 + number, latency_seconds=0.02)
    assert limit.value == 16
