"""One table for Pods of one owner that have the same answer."""

from collections.abc import Iterator

from scheduler_svc.shell.explain.alike import Alike, put_together
from scheduler_svc.shell.explain.answer import Answer, NodeAnswer
from scheduler_svc.shell.explain.endpoint import Explanation

TAKEN = NodeAnswer(code="Unschedulable", plugin="Fit", reasons=("Insufficient cpu",))


def answer(pod: str, *names: str) -> Answer:
    return Answer(pod=pod, nodes=dict.fromkeys(names, TAKEN))


def test_pods_of_one_owner_and_one_answer_are_one() -> None:
    told = [answer(f"shop/gang-{n}", "a" if n % 2 else "b") for n in range(200)]
    told += [answer("shop/web", "a"), answer("park/web-0", "a"), answer("shop/web-1", "a")]
    even, odd, *rest = put_together(told)
    for each, first in ((even, "shop/gang-0"), (odd, "shop/gang-1")):
        assert isinstance(each, Alike)
        assert each.answer.pod == first
        assert len(each.others) == 99
        assert first not in each.others
    assert [each.answer.pod for each in rest if isinstance(each, Alike)] == [
        "shop/web",
        "park/web-0",
        "shop/web-1",
    ]


def test_what_is_told_of_one_pod_stays_as_it_is() -> None:
    told = Explanation(answer("shop/web", "a"))
    assert list(put_together([told])) == [told]


def test_an_owner_is_told_before_the_next_ones_answers_are_there() -> None:
    def answers() -> Iterator[Answer]:
        yield answer("shop/a-1", "a")
        yield answer("shop/b-1", "a")
        raise AssertionError("asked for more than is needed")

    first = next(put_together(answers()))
    assert isinstance(first, Alike)
    assert first.answer.pod == "shop/a-1"
