"""SchedulingGates: who has a gate does not get into the queue."""

from scheduler_svc.core.plugins.scheduling_gates import SchedulingGates
from scheduler_svc.core.status import SUCCESS, Status
from tests.builders import make_pod_info
from tests.unit.scheduler_svc.core.plugins.asking import (
    POD_GATES,
    UNRESOLVABLE,
    is_queued,
    registered,
)


def test_a_pod_with_gates_is_kept_out() -> None:
    status = SchedulingGates().pre_enqueue(make_pod_info(gates=["b", "a"]))
    assert status == Status(UNRESOLVABLE, ("waiting for scheduling gates: [b a]",))


def test_a_pod_without_gates_gets_in() -> None:
    assert SchedulingGates().pre_enqueue(make_pod_info()) == SUCCESS


def test_events() -> None:
    plugin, pod = SchedulingGates(), make_pod_info("a", gates=["g"])
    assert registered(plugin) == {"Pod gates"}
    assert is_queued(plugin, POD_GATES, pod, pod, make_pod_info("a"))
    assert not is_queued(plugin, POD_GATES, pod, pod, make_pod_info("another"))
