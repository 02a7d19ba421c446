"""Whether Docker works, and what is said where it doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.image import daemon
from deploy.image.engine import ensure_docker, import_image, pull_image, run_docker
from deploy.programs.errors import DeployError
from deploy.programs.reporting import SilentReporter
from tests.unit.deploy.fakes import recording_reporter
from tests.unit.deploy.image.conftest import FakeDocker


def test_nothing_is_done_where_it_works(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.does("echo 28.2.2")
    monkeypatch.setattr(daemon, "install", pytest.fail)
    monkeypatch.setattr(daemon, "start", pytest.fail)
    ensure_docker(SilentReporter(), install=True)


@pytest.mark.parametrize("installable", [True, False])
def test_nothing_is_installed_unasked(
    docker: FakeDocker, installable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "install", pytest.fail)
    why_not = None if installable else "this user is not root"
    monkeypatch.setattr(daemon, "why_not_installable", lambda: why_not)
    with pytest.raises(DeployError, match="Docker is not installed") as caught:
        ensure_docker(SilentReporter())
    assert "https://docs.docker.com/engine/install/" in str(caught.value)
    assert ("deploy.image docker --install" in str(caught.value)) is installable


def test_a_silent_daemon_is_told_in_docker_s_words(docker: FakeDocker) -> None:
    docker.does("echo 'Cannot connect to the Docker daemon at unix:///d.sock.' >&2; exit 1")
    with pytest.raises(DeployError, match=r"Cannot connect .*\n(.*\n)*.*systemctl start docker"):
        ensure_docker(SilentReporter())


def test_a_user_without_rights_is_told_which(docker: FakeDocker) -> None:
    docker.does("echo 'permission denied while trying to connect to the socket' >&2; exit 1")
    with pytest.raises(DeployError, match="usermod -aG docker"):
        ensure_docker(SilentReporter(), install=True)


def test_it_is_installed_and_started_where_asked_for(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    monkeypatch.setattr(daemon, "install", lambda reporter: done.append("install"))

    def start(works: object, reporter: object) -> None:
        done.append("start")
        assert callable(works)
        assert works() is False
        docker.does("echo 28.2.2")
        assert works() is True

    monkeypatch.setattr(daemon, "start", start)
    ensure_docker(SilentReporter(), install=True)
    assert done == ["install", "start"]


def test_what_a_command_is_given_and_prints(docker: FakeDocker) -> None:
    docker.does('echo "$*"; cat')
    assert run_docker("build", "-", given=b"FROM scratch\n\n") == "build -\nFROM scratch"
    assert run_docker("info") == "info"


def test_a_failed_command_is_told_in_its_words(docker: FakeDocker) -> None:
    docker.does("echo 'No such image: x' >&2; exit 1")
    with pytest.raises(DeployError, match=r"^docker inspect failed: No such image: x$"):
        run_docker("inspect", "x")


def test_a_pulled_image_shows_its_progress(docker: FakeDocker) -> None:
    docker.does("echo '3.13-slim: Pulling from library/python'; echo 'Status: Downloaded'")
    reporter, _ = recording_reporter()
    assert pull_image("python:3.13-slim", reporter) is None


def test_why_an_image_cannot_be_pulled(docker: FakeDocker) -> None:
    docker.does("echo 'Error response from daemon: no such host'; exit 1")
    why_not = pull_image("python:3.13-slim", SilentReporter())
    assert why_not == "Error response from daemon: no such host"


def test_a_silent_registry_is_given_up(docker: FakeDocker) -> None:
    docker.does("exec sleep 600")
    why_not = pull_image("python:3.13-slim", SilentReporter(), answer_seconds=0.05)
    assert why_not == "no answer within 0 s"


def test_a_directory_becomes_an_image(docker: FakeDocker, tmp_path: Path) -> None:
    docker.does(f'echo "$@" > {tmp_path}/arguments; tar -t > {tmp_path}/files')
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "hostname").write_text("berth")
    import_image(root, "base:1", changes=['CMD ["sh"]', "ENV LANG=C"])
    arguments = (tmp_path / "arguments").read_text().strip()
    assert arguments == 'import --change CMD ["sh"] --change ENV LANG=C - base:1'
    assert (tmp_path / "files").read_text().split() == ["./", "./etc/", "./etc/hostname"]


def test_a_directory_that_cannot_be_read_becomes_none(docker: FakeDocker, tmp_path: Path) -> None:
    docker.does(f'cat >/dev/null; echo "$@" >> {tmp_path}/arguments')
    with pytest.raises(DeployError, match=r"reading .*nowhere for base:1: .*No such file"):
        import_image(tmp_path / "nowhere", "base:1")
    assert (tmp_path / "arguments").read_text() == "import - base:1\nimage rm base:1\n"
