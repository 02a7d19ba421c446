"""What went wrong in a Filter is known to the class."""

from scheduler_svc.core.framework.interface import State
from scheduler_svc.core.framework.prepared_class import PreparedClass
from scheduler_svc.core.status import Code, Status
from tests.builders import make_pod_info
from tests.scripted_plugins import Filtering, named


class Failing(Filtering):
    """Filter whose state is what went wrong."""

    def failure(self, state: State) -> Status | None:
        return None if state is None else Status(Code.ERROR, (state,))


def test_the_first_failure_counts_and_is_attributed() -> None:
    prepared = PreparedClass(make_pod_info())
    plugins = [named(name, Failing)() for name in ("A", "B", "C")]
    prepared.filters = list(zip(plugins, (None, None, None), strict=True))
    assert prepared.failure() is None
    prepared.filters = list(zip(plugins, (None, "broken", "too"), strict=True))
    assert prepared.failure() == Status(Code.ERROR, ("broken",), "B")
