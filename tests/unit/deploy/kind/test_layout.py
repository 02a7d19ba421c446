"""The state directory: private, written whole, removed without what others put there."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.kind.layout import ClusterRecord, KindDirectory
from deploy.programs.errors import DeployError

RECORD = ClusterRecord("one", "berthmaster-node:v1", False, True)


@pytest.fixture
def directory(tmp_path: Path) -> KindDirectory:
    return KindDirectory(tmp_path / "state")


def test_a_record_is_read_as_it_was_written(directory: KindDirectory) -> None:
    assert directory.load() is None
    directory.create()
    assert directory.load() is None
    directory.save(RECORD)
    assert directory.load() == RECORD
    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert directory.record.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": 2}', '{"format": 1, "name": "one"}', '{"name": "one"}'],
)
def test_a_record_of_others_is_refused(directory: KindDirectory, text: str) -> None:
    directory.create()
    directory.record.write_text(text)
    with pytest.raises(DeployError, match="another version or damaged") as caught:
        directory.load()
    assert "down --name NAME" in str(caught.value)


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    directory = KindDirectory(tmp_path / "state")
    assert directory.load() is None
    with pytest.raises(DeployError, match="cannot be made"):
        directory.create()


def test_all_files_go_with_the_cluster(directory: KindDirectory) -> None:
    directory.create()
    directory.save(RECORD)
    for name in ("kubeconfig", "kubeconfig.lock", ".tmp-x", "lock"):
        (directory.path / name).touch()
    directory.log("kind").touch()
    directory.remove()
    assert not directory.path.exists()
    directory.remove()
