"""Which base the image is built on."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

from deploy.image import base, debian
from deploy.image.base import ask_python, find_base
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter, SilentReporter
from tests.unit.deploy.image.conftest import FakeDocker

# Has no image; an image that is imported or pulled is noted.
EMPTY = """\
case "$1 $2" in
  "image ls") ;;
  "pull "*) echo "no such host"; exit 1 ;;
  "import "*) cat >/dev/null; echo "$@" >> "{log}" ;;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(base, "STATE", tmp_path / "state")
    return tmp_path / "log"


def test_python_s_own_image_is_preferred(docker: FakeDocker, log: Path) -> None:
    docker.does(f'echo "$@" >> {log}; [ "$1" = pull ] && echo \'Status: Downloaded\'; true')
    assert find_base(SilentReporter()) == "python:3.13-slim"
    assert log.read_text().splitlines()[-1] == "pull python:3.13-slim"


@pytest.mark.parametrize("image", ["python:3.13-slim", "berthmaster-base:trixie"])
def test_what_is_there_is_used(image: str, docker: FakeDocker) -> None:
    docker.does(f'[ "$1 $2 $4" != "image ls {image}" ] || echo 0123456789ab')
    assert find_base(SilentReporter()) == image


def test_elsewhere_a_debian_is_unpacked(
    docker: FakeDocker, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.does(EMPTY.format(log=log))

    def bootstrap(
        root: Path, suite: str, packages: tuple[str, ...], *, reporter: Reporter, log: Path
    ) -> None:
        del reporter, log
        assert suite == "trixie"
        assert {"python3", "ca-certificates"} <= set(packages)
        root.mkdir()

    monkeypatch.setattr(debian, "bootstrap", bootstrap)
    assert find_base(SilentReporter()) == "berthmaster-base:trixie"
    assert log.read_text().strip().endswith("- berthmaster-base:trixie")


def test_where_neither_can_be_had_both_reasons_are_told(
    docker: FakeDocker, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.does(EMPTY.format(log=log))

    def fail(*arguments: object, **options: object) -> None:
        raise DeployError("it needs root")

    monkeypatch.setattr(debian, "bootstrap", fail)
    with pytest.raises(DeployError, match=r"\(no such host\).*it needs root\n.*(\n.*)*--base"):
        find_base(SilentReporter())


def test_a_base_s_python_tells_about_itself(docker: FakeDocker) -> None:
    # The arguments: run --rm --network none --entrypoint python3 IMAGE -c QUESTION
    docker.does(f'shift 6; [ "$1" = some:image ] || exit 9; shift; exec {sys.executable} "$@"')
    answer = ask_python("some:image")
    assert answer.markers["python_full_version"] == platform.python_version()
    assert answer.markers["platform_machine"] == platform.machine()
    assert answer.markers["sys_platform"] == "linux"
    assert answer.libc == platform.libc_ver()
    assert json.dumps(answer.markers)
