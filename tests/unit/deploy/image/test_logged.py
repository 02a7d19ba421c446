"""Long-running commands: their output, their failure, their end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from deploy.image import logged
from deploy.image.logged import run_logged
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter, SilentReporter


def test_output_is_appended_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "new" / "log"
    for word in ("one", "two"):
        command = ["sh", "-c", f"echo {word}; echo $NAME >&2; pwd"]
        run_logged(
            command,
            log=log,
            saying="writing",
            reporter=SilentReporter(),
            environment={"NAME": "value", "PATH": "/usr/bin:/bin"},
            directory=tmp_path,
        )
    assert log.read_text() == f"one\nvalue\n{tmp_path}\ntwo\nvalue\n{tmp_path}\n"


def test_a_failure_is_told_with_its_own_last_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("of an earlier command\n")
    with pytest.raises(DeployError) as caught:
        run_logged(
            ["sh", "-c", "echo no route to host; exit 4"],
            log=log,
            saying="fetching",
            reporter=SilentReporter(),
        )
    assert str(caught.value) == f"fetching failed: sh said\n  no route to host\nlog: {log}"


@pytest.mark.parametrize("command", [["sh", "-c", "exit 4"], ["/nowhere/program"]])
def test_a_failure_without_words(command: list[str], tmp_path: Path) -> None:
    with pytest.raises(DeployError, match=r"exit code 4|No such file"):
        run_logged(command, log=tmp_path / "log", saying="x", reporter=SilentReporter())


class InterruptingReporter(SilentReporter):
    """Presses Ctrl-C when it is first told how far the command is."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def progress(self, text: str) -> None:
        self.told.append(text)
        raise KeyboardInterrupt


def test_an_interrupted_command_ends_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logged, "POLL_SECONDS", 0.01)
    pipe = tmp_path / "pipe"
    # Whoever still has the pipe open for writing keeps the reader from seeing its end.
    os.mkfifo(pipe)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()), daemon=True)
    reader.start()
    reporter = InterruptingReporter()
    with pytest.raises(KeyboardInterrupt):
        _run_holding(pipe, tmp_path / "log", reporter)
    reader.join(timeout=10)
    assert seen == [""]
    assert reporter.told[0].startswith("holding, 0 s: ")


def _run_holding(pipe: Path, log: Path, reporter: Reporter) -> None:
    script = f"exec 3>{pipe}; sleep 600 & wait"
    run_logged(["sh", "-c", script], log=log, saying="holding", reporter=reporter)
