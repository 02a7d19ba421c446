"""The node agent's benchmark: what is read of its log, its table, and its core's operations."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.agent import AgentResult, AgentRun
from benchmarks.agent_operations import measure_operations
from benchmarks.agent_process import is_ready, seen_at_seconds
from benchmarks.agent_report import agent_table
from benchmarks.distributions import distribution
from benchmarks.errors import BenchmarkError
from benchmarks.machine import Quietness
from benchmarks.processes import Memory
from benchmarks.workloads import load_workloads
from node_agent.core.agent import NodeAgent

MIB = 2**20


def line(message: str, at: str = "12:00:00.000", **fields: Any) -> str:
    """Write a line of the agent's log."""
    document = {"ts": f"2026-06-01T{at}Z", "msg": message, **fields}
    return msgspec.json.encode(document).decode() + "\n"


def test_the_log_tells_when_each_pod_was_added(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        line("SyncLoop ADD", pods="[]")
        + line("SyncLoop ADD", at="12:00:01.250", pods="[bench/a,bench/b]")
        + line("SyncLoop UPDATE", at="12:00:02.000", pods="[bench/c]")
        + line("SyncLoop ADD", at="12:00:03.000", pods="[bench/a]")
        + '{"ts":"2026-06-01T12:00:04.'
    )
    seen = seen_at_seconds(log)
    assert (seen["a"], seen["b"]) == (1_780_315_201.25, 1_780_315_201.25)
    assert "c" not in seen
    assert not is_ready(log)
    log.write_text(line("All sources of Pods have been heard of"))
    assert is_ready(log)


def test_operations_come_through_in_order() -> None:
    run = measure_operations(pod_count=7, operation_count=123)
    assert (run.pod_count, run.operation_count) == (7, 123)
    assert run.seconds > 0


def test_lost_operations_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    really_handle = NodeAgent.handle
    calls = []

    def lose_one(self: NodeAgent, event: Any, now: Any) -> Any:
        calls.append(event)
        return [] if len(calls) == 9 else really_handle(self, event, now)

    monkeypatch.setattr(NodeAgent, "handle", lose_one)
    with pytest.raises(BenchmarkError):
        measure_operations(pod_count=7, operation_count=123)


def test_the_table_says_what_is_reached() -> None:
    run = AgentRun(
        quietness=Quietness(load_average=0.1, busy_share=0.0),
        bind_seconds=1.02,
        seen_milliseconds=distribution([4.0, 101.0]),
        seen_from_request_milliseconds=distribution([9.0, 140.0]),
        rest_cpu_percent=0.25,
        churned_pod_count=1200,
        memory_before_churn=Memory(48 * MIB, 35 * MIB, 48 * MIB),
        memory=Memory(51 * MIB, 36 * MIB, 52 * MIB),
        operations=measure_operations(pod_count=2, operation_count=10),
    )
    table = agent_table(AgentResult(load_workloads().agent, 8700.0, (run,)))
    rows = {row[0]: row[1:] for row in table.rows}
    assert table.title == "Node agent: 110 Pods of 8.7 kB"
    assert rows["PSS after churn, MiB"] == ("36.0", "≤ 50: reached")
    assert rows["resident after churn, MiB"] == ("51.0", "")
    assert rows["CPU at rest, % of a core"] == ("0.25", "≤ 0.5: reached")
    assert rows["Binding answered to seen, p99, ms"] == ("101", "≤ 100: missed")
