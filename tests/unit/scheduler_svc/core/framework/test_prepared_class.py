"""What went wrong in a Filter or Score is known to the class."""

from scheduler_svc.core.framework.interface import State
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.status import Code, Status
from tests.builders import make_pod_info
from tests.scripted_plugins import Filtering, Scoring, named


class Failing(Filtering):
    """Filter whose state is what went wrong."""

    def failure(self, state: State) -> Status | None:
        return None if state is None else Status(Code.ERROR, (state,))


def prepared(*states: str | None) -> PreparedClass:
    """Make a class ready of which the filters A, B and C have these states."""
    result = PreparedClass(make_pod_info())
    plugins = [named(name, Failing)() for name in ("A", "B", "C")]
    result.filters = list(zip(plugins, states, strict=True))
    return result


def test_the_first_failure_counts_and_is_attributed() -> None:
    assert prepared(None, None, None).failure() is None
    assert prepared(None, "broken", "too").failure() == Status(Code.ERROR, ("broken",), "B")


def test_scores_may_fail_as_well() -> None:
    class FailingScore(Scoring):
        def failure(self, state: State) -> Status | None:
            return Status(Code.ERROR, (state,))

    failing = prepared(None, None, None)
    failing.scores = [(named("S", FailingScore)({}), "no score", 1)]
    assert failing.failure() == Status(Code.ERROR, ("no score",), "S")
