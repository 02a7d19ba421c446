"""Where Debian's packages come from, and what happens when they can't be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deploy.image import debian
from deploy.image.debian import DEFAULT_MIRROR, bootstrap, choose_mirror, find_mirror
from deploy.programs.errors import DeployError
from deploy.programs.reporting import SilentReporter

OFFICIAL = """\
http://deb.debian.org/debian/ bookworm main
http://deb.debian.org/debian/ bookworm-updates main
http://deb.debian.org/debian-security/ bookworm-security main
"""


@pytest.mark.parametrize(
    ("targets", "mirror"),
    [
        (OFFICIAL, "http://deb.debian.org/debian"),
        ("\n".join(reversed(OFFICIAL.splitlines())), "http://deb.debian.org/debian"),
        ("https://mirror.example/debian/ trixie main\n", "https://mirror.example/debian"),
        # Third parties, other components, and schemes that debootstrap doesn't know.
        ("https://download.docker.com/linux/debian/ trixie stable\n", None),
        ("https://deb.nodesource.com/node_20.x/ nodistro main\n", None),
        ("tor+http://mirror.example/debian/ trixie main\n", None),
        ("http://deb.debian.org/debian/ trixie contrib\n", None),
        ("", None),
    ],
)
def test_the_mirror_with_whole_releases(targets: str, mirror: str | None) -> None:
    assert choose_mirror(targets) == mirror


@pytest.mark.parametrize("release", ["ID=ubuntu\nID_LIKE=debian\n", "ID=fedora\n", ""])
def test_elsewhere_than_on_debian_it_is_debian_s_own(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os-release").write_text(release)
    monkeypatch.setattr(debian, "OS_RELEASE", tmp_path / "os-release")
    assert find_mirror() == DEFAULT_MIRROR


@pytest.mark.parametrize(
    ("release", "user", "says"),
    [
        ('ID="ubuntu"\n', 0, None),
        ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", 0, None),
        ("ID=debian\n", 1000, "this user is not root"),
        ("ID=fedora\n", 0, "this machine is neither Debian nor Ubuntu"),
    ],
)
def test_where_packages_can_be_installed(
    release: str, user: int, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os-release").write_text(release)
    monkeypatch.setattr(debian, "OS_RELEASE", tmp_path / "os-release")
    monkeypatch.setattr(debian, "find_program", lambda name: Path("/usr/bin") / name)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert debian.why_not_installable() == says


def test_apt_s_proxies_are_used() -> None:
    configuration = """\
APT::Architecture "amd64";
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::https::Proxy "DIRECT";
Acquire::http::Proxy::host.example "http://other.example";
"""
    assert debian._proxies(configuration) == {"http_proxy": "http://proxy.example:3128"}


class Machine:
    """A machine whose debootstrap is a script; its arguments are noted."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.log = directory / "root", directory / "log"
        self._programs = directory / "bin"
        self._programs.mkdir()
        self.write("unshare", 'shift 3; exec "$@"')
        (directory / "keyring").touch()
        monkeypatch.setattr(debian, "KEYRING", directory / "keyring")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(debian, "find_mirror", lambda: "http://mirror.example/debian")
        monkeypatch.setenv("PATH", f"{self._programs}:/usr/bin:/bin")

    def write(self, name: str, text: str) -> None:
        (self._programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self._programs / name).chmod(0o755)

    def bootstrap(self) -> None:
        packages = ["python3", "ca-certificates"]
        bootstrap(self.root, "trixie", packages, reporter=SilentReporter(), log=self.log)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_a_system_without_what_was_downloaded(machine: Machine) -> None:
    machine.write(
        "debootstrap",
        'echo "$@"; mkdir -p "$6"; cd "$6"\n'
        "mkdir -p etc tmp var/cache/apt/archives var/lib/apt/lists/partial var/log/apt\n"
        "touch etc/debian_version\n"
        "touch var/cache/apt/archives/x.deb var/lib/apt/lists/l var/log/dpkg.log",
    )
    machine.bootstrap()
    arguments = machine.log.read_text().split()
    assert arguments[:2] == ["--variant=minbase", "--include=python3,ca-certificates"]
    assert "--force-check-gpg" in arguments
    assert arguments[-3:] == ["trixie", str(machine.root), "http://mirror.example/debian"]
    files = {path.name for path in machine.root.rglob("*") if path.is_file()}
    assert files == {"debian_version"}


def test_a_failure_leaves_nothing_and_tells_why(machine: Machine) -> None:
    machine.write(
        "debootstrap", f"mkdir -p {machine.root}/etc; echo 'E: Invalid Release signature'; exit 1"
    )
    with pytest.raises(DeployError, match="E: Invalid Release signature"):
        machine.bootstrap()
    assert not machine.root.exists()


def test_a_directory_that_holds_something_is_left_alone(machine: Machine) -> None:
    machine.root.mkdir()
    (machine.root / "thesis.txt").touch()
    with pytest.raises(DeployError, match="is not empty"):
        machine.bootstrap()
    assert (machine.root / "thesis.txt").exists()


def test_it_takes_root(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DeployError, match="needs root"):
        machine.bootstrap()
