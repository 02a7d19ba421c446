"""How the image is built, and what its labels say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from deploy.image import build
from deploy.image.base import PythonTarget
from deploy.image.build import build_image, measure_own, read_revision, source_address
from deploy.programs.errors import DeployError
from deploy.programs.reporting import SilentReporter
from tests.unit.deploy.image.conftest import FakeDocker

DOCKERFILE = build.CHECKOUT / "Dockerfile"


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/example/berthmaster.git", "https://github.com/example/berthmaster"),
        ("https://user:secret@git.example/a/b.git", "https://git.example/a/b"),
        ("git@github.com:example/berthmaster.git", "https://github.com/example/berthmaster"),
        ("ssh://git@git.example:2222/a/b", "https://git.example/a/b"),
        ("git.example:a/b", "https://git.example/a/b"),
        ("/srv/git/berthmaster.git", ""),
        ("../berthmaster", ""),
        ("file:///srv/git/berthmaster.git", ""),
        ("", ""),
    ],
)
def test_the_source_s_address(remote: str, address: str) -> None:
    assert source_address(remote) == address


def test_the_revision_tells_of_changes(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@x.invalid")
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
        subprocess.run(
            ["git", "-C", tmp_path, *identity, *arguments],  # noqa: S607
            check=True,
            capture_output=True,
            env=environment,
        )

    assert read_revision(tmp_path) == ""
    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "One")
    commit = read_revision(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", commit)
    (tmp_path / "file").write_text("two")
    assert read_revision(tmp_path) == f"{commit}-dirty"


@pytest.fixture
def log(tmp_path: Path, docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the file in which the commands of `docker` are noted, one a line."""
    monkeypatch.setattr(build, "LOG", tmp_path / "build.log")
    python = PythonTarget({"python_version": "3.13"}, ("glibc", "2.41"))
    monkeypatch.setattr(build, "ask_python", lambda image: python)
    monkeypatch.setattr(build, "fetch_wheels", lambda *arguments, **options: None)
    path = tmp_path / "log"
    docker.does(
        f'echo "$@" >> {path}\n'
        'case "$*" in\n'
        '  "image ls "*) echo 0123456789ab ;;\n'
        "  *Labels*) echo mirror.example/python:3.13 ;;\n"
        "  *Size*mirror.example*) echo 104857600 ;;\n"
        "  *Size*) echo 209715200 ;;\n"
        "esac"
    )
    return path


def test_a_build_needs_no_network(log: Path) -> None:
    build_image("x:1", base_image="mirror.example/python:3.13", reporter=SilentReporter())
    command = next(line for line in log.read_text().splitlines() if line.startswith("build "))
    assert command.startswith("build --tag x:1 ")
    assert command.endswith(f" {build.CHECKOUT}")
    arguments = dict(re.findall(r"--build-arg (\w+)=(\S*)", command))
    assert arguments["BASE_IMAGE"] == "mirror.example/python:3.13"
    assert arguments["PIP_NO_INDEX"] == "1"
    declared = set(re.findall(r"^ARG (\w+)", DOCKERFILE.read_text(), re.MULTILINE))
    assert set(arguments) <= declared


def test_its_own_size_is_that_over_its_base(log: Path) -> None:
    assert measure_own("x:1") == 100.0


def test_a_failed_build_is_told_in_docker_s_words(docker: FakeDocker, log: Path) -> None:
    docker.does("if [ $1 = build ]; then echo 'no space left'; exit 1; else echo 0123; fi")
    with pytest.raises(DeployError, match="building x:1 failed: docker said\n  no space left"):
        build_image("x:1", base_image="some:base", reporter=SilentReporter())


def test_a_base_that_cannot_be_pulled_is_told(docker: FakeDocker, log: Path) -> None:
    docker.does("[ $1 = image ] || { echo 'manifest unknown'; exit 1; }")
    with pytest.raises(DeployError, match="some:base cannot be pulled: manifest unknown"):
        build_image("x:1", base_image="some:base", reporter=SilentReporter())


def test_what_the_dockerfile_copies_is_in_the_context() -> None:
    allowed = {
        line.removeprefix("!").rstrip("/")
        for line in (build.CHECKOUT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {
        source.rstrip("/").replace("[s]", "s")
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE.read_text(), re.MULTILINE)
        for source in line.split()
    }
    assert copied == allowed
    assert f"{build.WHEELS.relative_to(build.CHECKOUT)}" in copied


def test_the_last_stage_is_as_clusters_want_it() -> None:
    last = DOCKERFILE.read_text().rpartition("\nFROM ")[2]
    # runAsNonRoot can only be checked for a number.
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", last, re.MULTILINE)
    assert 'ENTRYPOINT ["berthmaster"]' in last
    assert "HEALTHCHECK" not in last
    assert not re.search("amd64|arm64|x86_64|aarch64", DOCKERFILE.read_text())
