"""The command line: its help, exit codes and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.kind import __main__ as command_line
from deploy.kind import commands
from deploy.programs import interrupts
from deploy.programs.errors import DeployError, UsageError


@pytest.fixture(autouse=True)
def _own_signal_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "raise_on_termination", lambda: None)


@pytest.mark.parametrize(
    "arguments", [[], ["sideways"], ["load"], ["status", "--name", "x"], ["down", "--build"]]
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (DeployError("no room"), 1, "error: no room\n"),
        (UsageError("no file x"), 2, "error: no file x\n"),
        (OSError("disk is full"), 1, "error: disk is full\n"),
        (KeyboardInterrupt(), 130, "SIGINT: ended; `up` goes on"),
    ],
)
def test_errors(
    error: BaseException,
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(commands, "up", fail)
    assert command_line.main(["up"]) == code
    assert says in capsys.readouterr().err


def test_options_arrive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[commands.UpOptions] = []
    monkeypatch.setattr(commands, "up", lambda options, _: asked.append(options))
    flags = ["--name", "two", "--no-chart", "--build", "--values", "a", "--values", "b"]
    assert command_line.main(["up", "--state-dir", str(tmp_path), *flags]) == 0
    assert asked == [
        commands.UpOptions(
            state_dir=tmp_path,
            name="two",
            with_chart=False,
            builds_image=True,
            values=(Path("a"), Path("b")),
        )
    ]


def test_an_answer_alone_goes_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "kubeconfig", lambda _: Path("/there/kubeconfig"))
    assert command_line.main(["kubeconfig"]) == 0
    assert capsys.readouterr().out == "/there/kubeconfig\n"


@pytest.mark.parametrize(("is_well", "code"), [(True, 0), (False, 1)])
def test_status_is_an_exit_code(is_well: bool, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "status", lambda *_: is_well)
    assert command_line.main(["status"]) == code
