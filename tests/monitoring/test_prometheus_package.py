"""Where Prometheus is neither installed nor to be fetched, tests are skipped and say what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.monitoring.prometheus_package import ADVICE, NotFetchedError, fetch, program

NO_ARCHIVE = """#!/bin/sh
case "$*" in
  *update*) echo "W: Failed to fetch http://archive.example/InRelease" ;;
  *download*) echo "E: Unable to locate package prometheus" >&2; exit 100 ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that is all of PATH, and a cache of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_what_is_installed_is_used(programs: Path) -> None:
    installed = programs / "promtool"
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    assert program("promtool") == installed


@pytest.mark.usefixtures("programs")
def test_a_machine_without_apt_is_told_what_to_install() -> None:
    with pytest.raises(pytest.skip.Exception) as skipped:
        program("promtool")
    assert str(skipped.value) == (
        "promtool is not on PATH and cannot be fetched "
        f"(apt-get update: there is no such program); {ADVICE}"
    )


def test_an_archive_that_cannot_be_reached_leaves_nothing(programs: Path, tmp_path: Path) -> None:
    apt = programs / "apt-get"
    apt.write_text(NO_ARCHIVE)
    apt.chmod(0o755)
    with pytest.raises(NotFetchedError) as caught:
        fetch(tmp_path / "cache/prometheus")
    assert str(caught.value) == (
        "W: Failed to fetch http://archive.example/InRelease; "
        "apt-get download: E: Unable to locate package prometheus"
    )
    assert list((tmp_path / "cache").iterdir()) == []
