"""A Docker that does as a script says."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.image import build, engine, inventory


class FakeDocker:
    """A `docker` on PATH that does what a script says."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "docker"

    def does(self, script: str) -> None:
        self.path.write_text(f"#!/bin/sh\n{script}\n")
        self.path.chmod(0o755)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for module in (engine, inventory, build):
        monkeypatch.setattr(module, "DOCKER", str(programs / "docker"))
    return FakeDocker(programs)
