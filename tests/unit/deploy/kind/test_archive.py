"""Images made without a container, as the formats of Docker and the OCI describe them."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from deploy.kind.archive import ImageSpec, find_linked, write_archive


def make_files(root: Path) -> dict[PurePosixPath, Path]:
    """Make a program, and a link to it."""
    root.mkdir()
    program = root / "program"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    link = root / "link"
    link.symlink_to("/usr/bin/program")
    return {PurePosixPath("/usr/bin/program"): program, PurePosixPath("/bin/p"): link}


def read(path: Path) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """Give an archive's manifest and files."""
    with tarfile.open(path) as archive:
        files = {}
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            files[entry.name] = content.read()
    return json.loads(files["manifest.json"]), files


@pytest.fixture
def written(tmp_path: Path) -> Path:
    files = make_files(tmp_path / "files")
    specs = [
        ImageSpec("example.invalid/one:v1", files, ("/bin/p",), {"a": "b"}),
        ImageSpec("two:dev", {PurePosixPath("/program"): tmp_path / "files/program"}),
    ]
    path = tmp_path / "images.tar"
    write_archive(path, specs, architecture="arm64")
    return path


def test_the_manifest_names_the_images(written: Path) -> None:
    manifest, files = read(written)
    assert [entry["RepoTags"] for entry in manifest] == [["example.invalid/one:v1"], ["two:dev"]]
    for entry in manifest:
        assert entry["Config"] in files
        assert len(entry["Layers"]) == 1
        assert entry["Layers"][0] in files


def test_what_identifies_is_the_digest_of_its_content(written: Path) -> None:
    manifest, files = read(written)
    for entry in manifest:
        configuration = files[entry["Config"]]
        assert entry["Config"] == f"{hashlib.sha256(configuration).hexdigest()}.json"
        layer = files[entry["Layers"][0]]
        assert json.loads(configuration)["rootfs"] == {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
        }


def test_the_configuration_says_what_runs(written: Path) -> None:
    manifest, files = read(written)
    first, second = (json.loads(files[entry["Config"]]) for entry in manifest)
    assert (first["os"], first["architecture"]) == ("linux", "arm64")
    assert first["config"]["Entrypoint"] == ["/bin/p"]
    assert first["config"]["Labels"] == {"a": "b"}
    assert any(text.startswith("PATH=") for text in first["config"]["Env"])
    assert second["config"]["Entrypoint"] == []


def test_a_layer_has_files_links_and_the_directories_above(written: Path, tmp_path: Path) -> None:
    manifest, files = read(written)
    layer = tmp_path / "layer.tar"
    layer.write_bytes(files[manifest[0]["Layers"][0]])
    with tarfile.open(layer) as entries:
        found = {entry.name: entry for entry in entries}
        assert set(found) == {"bin", "bin/p", "usr", "usr/bin", "usr/bin/program"}
        assert all(found[name].isdir() for name in ("bin", "usr", "usr/bin"))
        assert found["bin"].mode == 0o755
        assert found["bin/p"].issym()
        assert found["bin/p"].linkname == "/usr/bin/program"
        program = found["usr/bin/program"]
        assert (program.mode, program.uid, program.gid, program.uname) == (0o755, 0, 0, "")
        content = entries.extractfile(program)
        assert content is not None
        assert content.read() == b"\x7fELF"


def test_the_same_files_give_the_same_image(tmp_path: Path) -> None:
    names = []
    for number in (1, 2):
        files = make_files(tmp_path / str(number))
        os.utime(tmp_path / str(number) / "program", (number, number))
        path = tmp_path / f"{number}.tar"
        write_archive(path, [ImageSpec("one:dev", files)], architecture="amd64")
        names.append(read(path)[0][0]["Config"])
    assert names[0] == names[1]


def test_no_scratch_files_are_left(written: Path, tmp_path: Path) -> None:
    assert {path.name for path in tmp_path.iterdir()} == {"files", "images.tar"}


def test_links_are_followed_in_the_system_that_they_are_in(tmp_path: Path) -> None:
    (tmp_path / "usr/sbin").mkdir(parents=True)
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    (tmp_path / "sbin").symlink_to("usr/sbin")
    (tmp_path / "usr/sbin/iptables").symlink_to("/etc/alternatives/iptables")
    (tmp_path / "etc/alternatives/iptables").symlink_to("../../usr/sbin/nft-multi")
    (tmp_path / "usr/sbin/nft-multi").write_text("")
    found = find_linked(tmp_path, ["/sbin/iptables"])
    assert found == {
        PurePosixPath("/sbin"): tmp_path / "sbin",
        PurePosixPath("/usr/sbin/iptables"): tmp_path / "usr/sbin/iptables",
        PurePosixPath("/etc/alternatives/iptables"): tmp_path / "etc/alternatives/iptables",
        PurePosixPath("/usr/sbin/nft-multi"): tmp_path / "usr/sbin/nft-multi",
    }


@pytest.mark.parametrize("target", ["/nowhere", "missing"])
def test_a_link_to_nowhere(target: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(FileNotFoundError):
        find_linked(tmp_path, ["/link"])
