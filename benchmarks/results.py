"""Results on disk: everything that was measured as JSON, and the tables as Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.agent import AgentResult
from benchmarks.agent_report import agent_table
from benchmarks.controller import ControllerResult
from benchmarks.controller_report import controller_table
from benchmarks.core_decisions import CoreResult
from benchmarks.end_to_end import EndToEndResult
from benchmarks.footprint import FootprintResult
from benchmarks.full_cluster import FullClusterResult, full_cluster_table
from benchmarks.machine import Machine, Quietness, describe_quietness
from benchmarks.pod_group_report import pod_group_table
from benchmarks.pod_groups import PodGroupResult
from benchmarks.report import core_table, end_to_end_table, memory_table, startup_table
from benchmarks.shape_report import shape_tables
from benchmarks.shapes import ShapeResult
from benchmarks.tables import Table, to_markdown
from benchmarks.workloads import Goals

BENCHMARKS: Final = (
    "core",
    "end-to-end",
    "memory",
    "startup",
    "shapes",
    "agent",
    "pod-groups",
    "controller",
)


class Results(msgspec.Struct, kw_only=True):
    """One command's results, growing while it runs.

    Attributes
    ----------
    started_at
        UTC, ISO 8601.
    arguments
        Of the command line.
    programs
        Versions of the programs that were compared with, by name.
    """

    started_at: str
    arguments: tuple[str, ...]
    machine: Machine
    goals: Goals
    programs: dict[str, str] = {}
    core: tuple[CoreResult, ...] = ()
    end_to_end: EndToEndResult | None = None
    footprint: FootprintResult | None = None
    full_clusters: tuple[FullClusterResult, ...] = ()
    shapes: tuple[ShapeResult, ...] = ()
    agent: AgentResult | None = None
    pod_groups: tuple[PodGroupResult, ...] = ()
    controller: ControllerResult | None = None

    def tables(self, wanted: Sequence[str] = BENCHMARKS) -> list[Table]:
        """Make the tables of what there is, of the `wanted` benchmarks."""
        tables = []
        if self.core and "core" in wanted:
            tables.append(core_table(self.core, self.goals))
        if self.end_to_end is not None and "end-to-end" in wanted:
            tables.append(end_to_end_table(self.end_to_end, self.goals))
        if self.footprint is not None and "memory" in wanted:
            tables.append(memory_table(self.footprint, self.goals))
        if self.footprint is not None and "startup" in wanted:
            tables.append(startup_table(self.footprint, self.goals))
        if "shapes" in wanted:
            tables += [full_cluster_table(result) for result in self.full_clusters]
            tables += shape_tables(self.shapes) if self.shapes else []
        if self.agent is not None and "agent" in wanted:
            tables.append(agent_table(self.agent))
        if "pod-groups" in wanted:
            tables += map(pod_group_table, self.pod_groups)
        if self.controller is not None and "controller" in wanted:
            tables.append(controller_table(self.controller))
        return tables

    def _quietness(self) -> list[Quietness]:
        before = [quietness for result in self.core for quietness in result.quietness]
        before += [each for result in self.full_clusters for each in result.quietness]
        before += [run.quietness for result in self.shapes for run in result.runs]
        before += [run.quietness for result in self.pod_groups for run in result.runs]
        for results in (self.end_to_end, self.footprint, self.agent, self.controller):
            if results is not None:
                before += [run.quietness for run in results.runs]
        return before

    def context(self) -> str:
        """Say in a few lines of Markdown where and how these were measured."""
        machine = self.machine
        versions = {
            "berthmaster": f"{machine.berthmaster} ({machine.revision or 'no revision'})",
            "Python": machine.python,
            **self.programs,
            **machine.libraries,
        }
        return (
            f"- Date: {self.started_at}\n"
            f"- Machine: {machine.processor}, {len(machine.used_cores)} of {machine.core_count} "
            f"cores, {machine.memory_bytes / 2**30:.0f} GiB, {machine.kernel}\n"
            f"- Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}\n"
            f"- Before the runs: {describe_quietness(self._quietness())}\n"
            f"- Command: `python -m benchmarks {' '.join(self.arguments)}`\n"
        )

    def save(self, directory: Path, name: str) -> Path:
        """Write ``<name>.json`` and ``<name>.md``; gives the path of the latter."""
        directory.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(self), indent=1)
        (directory / f"{name}.json").write_bytes(text + b"\n")
        path = directory / f"{name}.md"
        path.write_text("\n".join([self.context(), *map(to_markdown, self.tables())]), "utf-8")
        return path
