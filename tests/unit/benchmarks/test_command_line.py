from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.errors import BenchmarkError
from benchmarks.full_cluster import FullCluster, FullClusterResult, Sizes
from tests.unit.benchmarks.test_report import core_results


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the test process' signals and cores as they are."""
    monkeypatch.setattr("benchmarks.__main__.interrupts.raise_on_termination", lambda: None)
    monkeypatch.setattr("benchmarks.__main__.use_cores", lambda count: None)


def measure_with(outcome: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace the measuring; gives the repetitions that are asked for."""
    asked: list[int] = []

    def measure(*_: object, repetitions: int, **__: object) -> Any:
        asked.append(repetitions)
        return outcome()

    monkeypatch.setattr("benchmarks.__main__.measure_core", measure)
    return asked


def test_tables_go_to_standard_output_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repetitions = measure_with(lambda: core_results()[0], monkeypatch)
    assert main(["core", "--runs", "2", "--state-dir", str(tmp_path)]) == 0
    assert repetitions == [2, 2, 2]
    captured = capsys.readouterr()
    assert captured.out.startswith("- Date: ")
    assert "### Decision core alone\n" in captured.out
    assert "results" in captured.err
    suffixes = sorted(path.suffix for path in (tmp_path / "results").iterdir())
    assert suffixes == [".json", ".md"]


@pytest.mark.parametrize(("flags", "expected"), [([], 3), (["--quick"], 1)])
def test_the_number_of_runs_has_a_default(
    flags: list[str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repetitions = measure_with(lambda: core_results()[0], monkeypatch)
    assert main(["core", *flags, "--state-dir", str(tmp_path)]) == 0
    assert set(repetitions) == {expected}


def test_a_failed_run_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise BenchmarkError("it does not fit")

    measure_with(fail, monkeypatch)
    assert main(["core", "--state-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("error: it does not fit\n")


def test_ctrl_c_has_its_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    measure_with(interrupt, monkeypatch)
    assert main(["core", "--state-dir", str(tmp_path)]) == 130


@pytest.mark.parametrize(
    "arguments", [[], ["nothing"], ["core", "--runs", "0"], ["core", "--cores", "x"]]
)
def test_bad_usage_has_its_exit_code(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_a_shape_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["shapes", "--only", "hard-spread", "nothing", "--state-dir", str(tmp_path)]
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: there is no shape 'nothing'; there are: spread-decisions, ")
    assert "preferred-affinity" in told


def test_only_the_shapes_that_are_asked_for_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = []

    def measure(cluster: FullCluster, **_: object) -> FullClusterResult:
        measured.append(cluster.name)
        return FullClusterResult(
            subject=cluster.subject,
            goal_microseconds=1,
            sizes=Sizes(),
            runs=dict.fromkeys(cluster.shapes, ()),
            quietness=(),
        )

    monkeypatch.setattr("benchmarks.__main__.measure_full_cluster", measure)
    assert main(["shapes", "--only", "affinity-decisions", "--state-dir", str(tmp_path)]) == 0
    assert measured == ["affinity-decisions"]
    assert "### Decision core, Pods near others and away: 5,000 Nodes" in capsys.readouterr().out
