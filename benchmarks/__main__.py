"""The command line: ``python -m benchmarks``, then the name of a benchmark, or ``all``.

Tables go to standard output, progress to standard error. Exit code 0 if all was measured, whatever
the figures; 1 for failure, 2 for bad usage, 130 after Ctrl-C (128 plus the signal's number after
another signal).
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.affinity_decisions import AFFINITY_DECISIONS
from benchmarks.agent import measure_agent
from benchmarks.controller import measure_controller
from benchmarks.core_decisions import measure_core
from benchmarks.end_to_end import measure_end_to_end
from benchmarks.errors import BenchmarkError
from benchmarks.footprint import measure_footprint
from benchmarks.full_cluster import measure_full_cluster
from benchmarks.machine import describe_machine, use_cores
from benchmarks.pod_groups import measure_pod_groups
from benchmarks.results import BENCHMARKS, Results
from benchmarks.shapes import measure_shape
from benchmarks.spread_decisions import SPREAD_DECISIONS
from benchmarks.tables import show
from benchmarks.workloads import DEFAULT_FILE, Workloads, load_workloads
from deploy.controlplane import DeployError, Reporter, obtain_binaries
from deploy.programs import interrupts
from kubeio.errors import KubeError

STATE_DIRECTORY: Final = Path(__file__).resolve().parents[1] / ".state" / "benchmarks"
PROGRAMS: Final = ("kube-apiserver", "etcd", "kube-scheduler")
REPETITIONS: Final = {
    "core": 3,
    "end-to-end": 5,
    "footprint": 3,
    "shapes": 1,
    "agent": 1,
    "pod-groups": 3,
    "controller": 1,
}
CONTROL_PLANE: Final = ("kube-apiserver", "etcd")
FULL_CLUSTERS: Final = (SPREAD_DECISIONS, AFFINITY_DECISIONS)

_EXAMPLES = """\
examples:
  python -m benchmarks all --quick
      see that all of it works: minutes, and figures not to quote
  python -m benchmarks core
      the decision core alone, without an API server: a few minutes
  python -m benchmarks end-to-end --runs 3 > tables.md
  python -m benchmarks shapes --only hard-spread preferred-affinity --runs 3
      these of scheduler_perf's shapes; all of them take about three hours
  python -m benchmarks all
      everything, about four hours; leave the machine alone meanwhile

Programs that are not there are downloaded or built first, as for `python -m deploy.controlplane`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = tuple(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    reporter = Reporter(Console(highlight=False, soft_wrap=True, stderr=True))
    interrupts.raise_on_termination()
    try:
        _run(options, given, reporter)
    except (BenchmarkError, DeployError, KubeError) as error:
        return _fail(reporter, f"error: {error}", 1)
    except KeyboardInterrupt as interrupt:
        number = getattr(interrupt, "number", signal.SIGINT)
        name = signal.Signals(number).name
        return _fail(reporter, f"{name}: ended; nothing is left running", 128 + number)
    return 0


def _fail(reporter: Reporter, text: str, code: int) -> int:
    reporter.end_progress()
    sys.stderr.write(f"{text}\n")
    return code


def _run(options: argparse.Namespace, given: tuple[str, ...], reporter: Reporter) -> None:
    wanted = BENCHMARKS if options.benchmark == "all" else (options.benchmark,)
    workloads = load_workloads(options.workloads, quick=options.quick)
    _check_names(options.only, workloads)
    use_cores(options.cores)
    started = datetime.now(UTC)
    results = Results(
        started_at=started.isoformat(timespec="seconds"),
        arguments=given,
        machine=describe_machine(),
        goals=workloads.goals,
    )
    name = f"{started:%Y%m%d-%H%M%S}-{options.benchmark}"
    directory = options.state_dir / "results"
    runs = _Runs(options, workloads, reporter)
    if "core" in wanted:
        runs.core(results)
        results.save(directory, name)
    if "end-to-end" in wanted:
        runs.end_to_end(results)
        results.save(directory, name)
    if {"memory", "startup"} & set(wanted):
        runs.footprint(results)
        results.save(directory, name)
    if "shapes" in wanted:
        runs.shapes(results, save=lambda: results.save(directory, name))
    if "agent" in wanted:
        runs.agent(results)
        results.save(directory, name)
    if "pod-groups" in wanted:
        runs.pod_groups(results, save=lambda: results.save(directory, name))
    if "controller" in wanted:
        runs.controller(results)
    path = results.save(directory, name)
    console = Console(highlight=False)
    console.print(results.context(), soft_wrap=True, markup=False)
    show(results.tables(wanted), console)
    reporter.step(f"also in {path}, and with every run in {path.with_suffix('.json').name}")


def _check_names(only: Sequence[str], workloads: Workloads) -> None:
    known = [cluster.name for cluster in FULL_CLUSTERS]
    known += [shape.name for shape in (*workloads.shapes, *workloads.pod_groups)]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise BenchmarkError(
            f"there is no shape {', '.join(map(repr, unknown))}; there are: {', '.join(known)}"
        )


class _Runs:
    """Makes the benchmarks, one after the other, and puts them into the results."""

    def __init__(
        self, options: argparse.Namespace, workloads: Workloads, reporter: Reporter
    ) -> None:
        self._options = options
        self._workloads = workloads
        self._reporter = reporter

    def core(self, results: Results) -> None:
        repetitions = self._repetitions("core")
        results.core = tuple(
            measure_core(
                workload, self._workloads, repetitions=repetitions, tell=self._reporter.step
            )
            for workload in self._workloads.core
        )

    def end_to_end(self, results: Results) -> None:
        self._obtain_programs(results)
        results.end_to_end = measure_end_to_end(
            self._workloads,
            repetitions=self._repetitions("end-to-end"),
            state_dir=self._options.state_dir / "control-plane",
            tell=self._reporter.step,
        )

    def footprint(self, results: Results) -> None:
        self._obtain_programs(results)
        results.footprint = measure_footprint(
            self._workloads,
            repetitions=self._repetitions("footprint"),
            state_dir=self._options.state_dir / "control-plane",
            tell=self._reporter.step,
        )

    def shapes(self, results: Results, *, save: Callable[[], object]) -> None:
        """Measure the shapes that are asked for; all take long, so each is kept at once."""
        only = self._options.only
        repetitions = self._repetitions("shapes")
        for cluster in FULL_CLUSTERS:
            if not only or cluster.name in only:
                result = measure_full_cluster(
                    cluster,
                    is_quick=self._options.quick,
                    repetitions=repetitions,
                    tell=self._reporter.step,
                )
                results.full_clusters += (result,)
                save()
        for shape in self._workloads.shapes:
            if not only or shape.name in only:
                self._obtain_programs(results)
                results.shapes += (
                    measure_shape(
                        shape,
                        self._workloads,
                        repetitions=repetitions,
                        state_dir=self._options.state_dir / "control-plane",
                        tell=self._reporter.step,
                    ),
                )
                save()

    def agent(self, results: Results) -> None:
        self._obtain_programs(results, CONTROL_PLANE)
        results.agent = measure_agent(
            self._workloads,
            repetitions=self._repetitions("agent"),
            state_dir=self._options.state_dir / "control-plane",
            tell=self._reporter.step,
        )

    def pod_groups(self, results: Results, *, save: Callable[[], object]) -> None:
        """Measure Pods in groups and beside them; each workload is kept at once."""
        only = self._options.only
        for workload in self._workloads.pod_groups:
            if not only or workload.name in only:
                self._obtain_programs(results, CONTROL_PLANE)
                result = measure_pod_groups(
                    workload,
                    self._workloads,
                    repetitions=self._repetitions("pod-groups"),
                    state_dir=self._options.state_dir / "control-plane",
                    tell=self._reporter.step,
                )
                results.pod_groups += (result,)
                save()

    def controller(self, results: Results) -> None:
        self._obtain_programs(results, CONTROL_PLANE)
        results.controller = measure_controller(
            self._workloads,
            repetitions=self._repetitions("controller"),
            state_dir=self._options.state_dir / "control-plane",
            tell=self._reporter.step,
        )

    def _repetitions(self, benchmark: str) -> int:
        if self._options.runs is not None:
            return int(self._options.runs)
        return 1 if self._options.quick else REPETITIONS[benchmark]

    def _obtain_programs(self, results: Results, names: Sequence[str] = PROGRAMS) -> None:
        """Find or build the programs before the first run, where one can see it."""
        if not results.programs:
            found = obtain_binaries(names, reporter=self._reporter)
            results.programs = {name: str(binary.version) for name, binary in found.items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Berthmaster, and kube-scheduler beside it in the same run.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "benchmark",
        choices=(*BENCHMARKS, "all"),
        help="core: decisions without an API server; end-to-end: created to bound; memory and "
        "startup: in a full cluster (both are measured by either); shapes: those of "
        "upstream's scheduler_perf; agent: the node agent; pod-groups: Pods in groups, and beside; "
        "controller: the controller beside many groups",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=(),
        metavar="NAME",
        help="of the shapes or of the workloads of pod-groups, these only (default: all)",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, one run of each")
    parser.add_argument(
        "--runs",
        type=_count,
        metavar="N",
        help="runs of each (default: core 3, end-to-end 5, shapes 1, agent 1, others 3)",
    )
    parser.add_argument(
        "--cores",
        type=_count,
        default=2,
        metavar="N",
        help="cores that everything together may use (default: 2)",
    )
    parser.add_argument(
        "--workloads",
        type=Path,
        default=DEFAULT_FILE,
        metavar="FILE",
        help="what to measure, like benchmarks/workloads.toml",
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=STATE_DIRECTORY,
        metavar="DIRECTORY",
        help="for results and, while it runs, the control plane (default: .state/benchmarks)",
    )
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
