"""The command line: its help, exit codes and messages."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from deploy.controlplane import __main__ as command_line
from deploy.controlplane import commands
from deploy.controlplane.statelock import StateLock
from deploy.programs import interrupts, reporting
from deploy.programs.errors import BinaryNotFoundError
from deploy.programs.reporting import Reporter
from tests.unit.deploy.fakes import recording_reporter, write_program


@pytest.fixture(autouse=True)
def _own_signal_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "raise_on_termination", lambda: None)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sideways"],
        ["up", "--sources", "cache,moon"],
        ["down", "--no-kwok"],
    ],
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_bad_version(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert command_line.main(["up", "--state-dir", state, "--kubernetes-version", "1.20.0"]) == 2
    assert "error: Kubernetes version '1.20.0': not supported" in capsys.readouterr().err
    assert not Path(state).exists()


def test_unknown_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["binaries", "cubelet"]) == 2
    assert "unknown program cubelet" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for words in ("examples:", "deploy.controlplane up", "KUBEBUILDER_ASSETS", "NO_COLOR"):
        assert words in text


def test_binaries_prints_paths_only(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_VERSION", raising=False)
    kwok = write_program(tmp_path / "kwok", "kwok version v0.8.0")
    etcd = write_program(tmp_path / "etcd", "etcd Version: 3.5.21")
    assert command_line.main(["binaries", "kwok", "etcd"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{kwok}\n{etcd}\n"
    assert f"etcd 3.5.21: KUBEBUILDER_ASSETS ({etcd})" in captured.err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (BinaryNotFoundError("kwok is nowhere to be had"), 1, "error: kwok is nowhere to be had"),
        (KeyboardInterrupt(), 130, "SIGINT: ended"),
        (interrupts.InterruptedBySignalError(15), 143, "SIGTERM: ended"),
    ],
)
def test_exit_codes(
    error: BaseException,
    code: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(commands, "up", fail)
    assert command_line.main(["up", "--state-dir", str(tmp_path)]) == code
    assert says in capsys.readouterr().err


def test_status_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["status", "--state-dir", str(tmp_path / "none")]) == 1
    assert f"no control plane in {tmp_path}/none" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_down_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["down", "--state-dir", str(tmp_path / "none")]) == 0
    assert "ended 0 processes" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_down_leaves_a_directory_alone_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("important")
    assert command_line.main(["down", "--state-dir", str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_down_does_not_end_a_user_of_the_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with StateLock(tmp_path / "state" / "lock") as lock:
        assert lock.try_acquire("library")
        assert command_line.main(["down", "--state-dir", str(tmp_path / "state")]) == 1
    assert "uses the control plane in" in capsys.readouterr().err


def test_up_where_nothing_can_be_had_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("KUBERNETES_VERSION", raising=False)
    state = tmp_path / "state"
    arguments = ["up", "--state-dir", str(state), "--sources", "installed,cache"]
    assert command_line.main(arguments) == 1
    assert "kube-apiserver 1.36.3 is nowhere to be had" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_steps_tell_the_elapsed_time() -> None:
    reporter, text = recording_reporter()
    reporter.step("starting etcd")
    reporter.plain("kubeconfig  /somewhere")
    first, second = text.getvalue().splitlines()
    assert re.fullmatch(r"\[ +0\.\d s\] starting etcd", first)
    assert second == "kubeconfig  /somewhere"


def test_in_a_pipe_progress_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    reporter, text = recording_reporter()
    reporter.progress("building: 1 of 9 packages")
    assert text.getvalue() == ""
    monkeypatch.setattr(reporting, "PIPE_UPDATE_SECONDS", 0.0)
    reporter.progress("building: 2 of 9 packages")
    assert text.getvalue().endswith("building: 2 of 9 packages\n")


def test_on_a_terminal_progress_is_rewritten_and_then_removed() -> None:
    text = io.StringIO()
    reporter = Reporter(Console(file=text, force_terminal=True, width=80, no_color=True))
    reporter.progress("building: 1 of 9 packages")
    reporter.step("built")
    reporter.end_progress()
    assert "building: 1 of 9 packages" in text.getvalue()
    assert "\x1b[2K" in text.getvalue()  # erases the line
    assert text.getvalue().rstrip().endswith("built")
