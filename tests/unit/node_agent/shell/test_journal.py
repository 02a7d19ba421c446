"""Each report is a line that can be searched, at the kubelet's verbosity, and a count."""

import logging

import pytest

from kubeio.logs import verbosity_level
from node_agent.core.effects import DuplicateDropped, SourcesSeen, UpdateReceived, WorkerStepped
from node_agent.core.operations import Operation, PodUpdate, Source
from node_agent.core.pod_workers import WorkerState, WorkerStep
from node_agent.shell.journal import Journal
from tests.unit.node_agent.core.pods import make_pod
from tests.unit.scheduler_svc.shell.registry import Samples


def update(operation: Operation, *names: str) -> UpdateReceived:
    """Give a report of an operation."""
    return UpdateReceived(PodUpdate(Source.API, operation, tuple(make_pod(n) for n in names)))


@pytest.mark.parametrize(
    ("operation", "verbosity"),
    [
        (Operation.ADD, 2),
        (Operation.UPDATE, 2),
        (Operation.DELETE, 2),
        (Operation.REMOVE, 2),
        (Operation.RECONCILE, 4),
    ],
)
def test_operations_are_told_as_the_kubelet_does(
    caplog: pytest.LogCaptureFixture, operation: Operation, verbosity: int
) -> None:
    caplog.set_level(verbosity_level(verbosity))
    Journal().note([update(operation, "a", "b")])
    (record,) = caplog.records
    assert record.getMessage() == f"SyncLoop {operation.value}"
    assert vars(record)["fields"] == {"source": "api", "pods": "[default/a,default/b]"}
    caplog.clear()
    caplog.set_level(verbosity_level(verbosity - 1))
    Journal().note([update(operation, "a")])
    assert caplog.records == []


def test_of_many_pods_the_first_are_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(verbosity_level(2))
    Journal().note([update(Operation.ADD, *(str(number) for number in range(25)))])
    shown = vars(caplog.records[0])["fields"]["pods"]
    assert shown.startswith("[default/0,default/1,")
    assert shown.endswith(",default/19,and 5 more]")


@pytest.mark.parametrize("state", WorkerState)
def test_steps_of_workers_say_that_they_are_inferred(
    caplog: pytest.LogCaptureFixture, state: WorkerState
) -> None:
    caplog.set_level(verbosity_level(3))
    Journal().note([WorkerStepped(WorkerStep(make_pod(), state, "why"))])
    (record,) = caplog.records
    assert record.getMessage().startswith("Pod worker ")
    assert record.getMessage().endswith(" (inferred)")
    assert vars(record)["fields"] == {"pod": "default/a", "uid": "uid-a", "reason": "why"}
    caplog.clear()
    caplog.set_level(verbosity_level(2))
    Journal().note([WorkerStepped(WorkerStep(make_pod(), state, "why"))])
    assert caplog.records == []


def test_everybody_sees_duplicates_and_readiness(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Journal().note([DuplicateDropped(Source.FILE, make_pod()), SourcesSeen()])
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "Pod left out: another of its source has its name"),
        ("INFO", "All sources of Pods have been heard of"),
    ]


async def test_reports_are_counted() -> None:
    journal = Journal()
    sample = Samples(journal.collect)
    journal.handled(Source.API, [update(Operation.ADD, "a", "b"), update(Operation.ADD)], 0.002)
    journal.handled(Source.API, [DuplicateDropped(Source.FILE, make_pod())], 0.001)
    operations = "berthmaster_agent_pod_operations_total"
    assert sample(operations, source="api", operation="ADD") == 2
    assert sample("berthmaster_agent_duplicate_pods_total", source="file") == 1
    assert sample("berthmaster_agent_sync_duration_seconds_count", source="api") == 2
    assert sample("berthmaster_agent_sync_duration_seconds_sum", source="api") == 0.003
