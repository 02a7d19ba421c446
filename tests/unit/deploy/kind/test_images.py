"""The image of agnhost: made once for each program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deploy.kind import images
from deploy.kind.archive import ImageSpec, write_archive
from deploy.programs.reporting import SilentReporter
from deploy.programs.sources import Binary
from deploy.programs.versions import Version

QUIET = SilentReporter()


class Engine:
    """Keeps the labels of an image, as if the archive had been read."""

    def __init__(self) -> None:
        self.labels: dict[str, str] | None = None
        self.loaded = 0

    def has_image(self, _: str) -> bool:
        return self.loaded > 0

    def run(self, *arguments: Any) -> str:
        if arguments[:2] == ("image", "inspect"):
            return json.dumps(self.labels)
        assert arguments[:3] == ("load", "--quiet", "--input")
        self.loaded += 1
        return ""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    program = tmp_path / "agnhost"
    program.write_bytes(b"one")
    made = Engine()

    def obtain(names: Sequence[str], **_: object) -> dict[str, Binary]:
        return {name: Binary(name, program, Version(2, 0, 0), "here") for name in names}

    def write(path: Path, specs: Sequence[ImageSpec], **options: Any) -> None:
        write_archive(path, specs, **options)
        made.labels = specs[0].labels

    monkeypatch.setattr(images, "obtain_binaries", obtain)
    monkeypatch.setattr(images, "has_image", made.has_image)
    monkeypatch.setattr(images, "run_docker", made.run)
    monkeypatch.setattr(images, "write_archive", write)
    return made


def test_made_once_for_a_program(engine: Engine) -> None:
    assert images.have_agnhost(QUIET) == images.AGNHOST_IMAGE
    images.have_agnhost(QUIET)
    assert engine.loaded == 1


@pytest.mark.parametrize("labels", [None, {}, {"berthmaster.agnhost.sha256": "another"}])
def test_one_of_another_program_is_replaced(engine: Engine, labels: dict[str, str] | None) -> None:
    engine.loaded, engine.labels = 1, labels
    images.have_agnhost(QUIET)
    assert engine.loaded == 2


@pytest.mark.parametrize(
    ("anew", "is_there", "builds"),
    [(False, True, 0), (False, False, 1), (True, True, 1), (True, False, 1)],
)
def test_berthmasters_image(
    anew: bool, is_there: bool, builds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    monkeypatch.setattr(images, "has_image", lambda _: is_there)
    monkeypatch.setattr(images, "build_image", lambda tag, **_: built.append(tag))
    assert images.have_berthmaster(QUIET, anew=anew) == "berthmaster:dev"
    assert built == ["berthmaster:dev"] * builds
