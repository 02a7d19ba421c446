"""The command line: its help, exit codes and messages."""

from __future__ import annotations

import pytest

from deploy.image import __main__ as command_line
from deploy.image import build
from deploy.programs import interrupts
from deploy.programs.errors import DeployError
from tests.unit.deploy.image.conftest import FakeDocker


@pytest.fixture(autouse=True)
def _own_signal_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "raise_on_termination", lambda: None)


@pytest.mark.parametrize("arguments", [[], ["sideways"], ["build", "--install"], ["sbom", "x"]])
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for words in ("examples:", "docker build -t berthmaster:dev .", "docker --install"):
        assert words in text


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (DeployError("there is no base"), 1, "error: there is no base"),
        (KeyboardInterrupt(), 130, "SIGINT: ended"),
        (interrupts.InterruptedBySignalError(15), 143, "SIGTERM: ended"),
    ],
)
def test_exit_codes(
    error: BaseException,
    code: int,
    says: str,
    docker: FakeDocker,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    docker.does("echo 28.2.2")

    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(build, "build_image", fail)
    assert command_line.main(["build"]) == code
    assert says in capsys.readouterr().err


def test_without_docker_nothing_is_started(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["build"]) == 1
    assert "error: Docker is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(("own_mib", "code"), [(180.0, 0), (180.5, 1)])
def test_size_over_the_limit_is_a_failure(
    own_mib: float,
    code: int,
    docker: FakeDocker,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    docker.does("echo 28.2.2")
    monkeypatch.setattr(build, "measure", lambda image: 300.0)
    monkeypatch.setattr(build, "measure_own", lambda image: own_mib)
    assert command_line.main(["size"]) == code
    text = capsys.readouterr().out
    assert text == f"berthmaster:dev: 300 MiB, {own_mib:.0f} of them over the base (limit 180)\n"
