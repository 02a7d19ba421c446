"""Configuring Docker's daemon: what its owner has said stays."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.image import daemon, debian, runc_capped
from deploy.programs.errors import DeployError
from deploy.programs.reporting import SilentReporter


@pytest.fixture
def runc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "sbin" / "runc"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr(debian, "EXTRA_DIRECTORIES", ())
    return path


def test_runc_is_wrapped_where_it_is(runc: Path, tmp_path: Path) -> None:
    wrapper, configuration = tmp_path / "lib" / "runc-capped", tmp_path / "etc" / "daemon.json"
    daemon.cap_runc(wrapper, configuration)
    assert json.loads(configuration.read_text()) == {
        "runtimes": {"capped": {"path": str(wrapper)}},
        "default-runtime": "capped",
    }
    text = wrapper.read_text()
    assert text.startswith("#!/")
    assert f"\nRUNC = {str(runc)!r}\n" in text
    assert wrapper.stat().st_mode & 0o777 == 0o755
    assert configuration.stat().st_mode & 0o777 == 0o644


def test_other_settings_stay(runc: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "daemon.json"
    configuration.write_text('{"data-root": "/big", "runtimes": {"nvidia": {"path": "/n"}}}')
    daemon.cap_runc(tmp_path / "wrapper", configuration)
    settings = json.loads(configuration.read_text())
    assert settings["data-root"] == "/big"
    assert set(settings["runtimes"]) == {"nvidia", "capped"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"default-runtime": "nvidia"}', "default-runtime 'nvidia'"),
        ("{", "daemon.json: "),
    ],
)
def test_a_configuration_that_cannot_be_kept_is_left_alone(
    text: str, says: str, runc: Path, tmp_path: Path
) -> None:
    configuration = tmp_path / "daemon.json"
    configuration.write_text(text)
    with pytest.raises(DeployError, match=says):
        daemon.cap_runc(tmp_path / "wrapper", configuration)
    assert configuration.read_text() == text
    assert not (tmp_path / "wrapper").exists()


def test_nothing_is_installed_where_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "find_program", lambda name: Path("/usr/bin") / name)
    monkeypatch.setattr(debian, "install_packages", _fail)
    daemon.install(SilentReporter())


def test_what_to_install_is_said_where_it_cannot_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "find_program", lambda name: None)
    monkeypatch.setattr(debian, "why_not_installable", lambda: "this user is not root")
    with pytest.raises(
        DeployError, match=r"docker, dockerd, .* missing, and this user is not root"
    ):
        daemon.install(SilentReporter())


def test_a_daemon_that_ends_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dockerd = tmp_path / "dockerd"
    dockerd.write_text("#!/bin/sh\necho 'iptables: not permitted' >&2\nexit 3\n")
    dockerd.chmod(0o755)
    monkeypatch.setattr(daemon, "LOG", tmp_path / "log")
    monkeypatch.setattr(daemon, "SYSTEMD", tmp_path / "no systemd")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(runc_capped, "missing_capabilities", frozenset)
    monkeypatch.setattr(debian, "find_program", lambda name: dockerd)
    with pytest.raises(DeployError) as caught:
        daemon.start(_never, SilentReporter())
    assert str(caught.value) == "Docker's daemon ended with 3:\n  iptables: not permitted"


def test_only_root_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DeployError, match="only root"):
        daemon.start(_never, SilentReporter())


def _never() -> bool:
    return False


_fail: Callable[..., None] = pytest.fail
