"""What is found on disk, and exactly what is said of what cannot be used."""

import os
import socket
import tempfile
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from node_agent.core.objects import Pod
from node_agent.core.static_pods import Refusal
from node_agent.shell.manifest_files import Listing, PathKind, list_manifests, read_manifest
from tests.unit.node_agent.shell.manifests import manifest, write

NOBODY = 65534
MISPLACED_COLON = "mapping values are not allowed in this context"


def found(listing: Listing) -> list[tuple[str, str]]:
    """Give the name of each file, and the name of its Pod or why there is none."""
    return [
        (
            os.path.basename(one.path),
            one.outcome.metadata.name
            if isinstance(one.outcome, Pod)
            else f"{one.outcome.reason}: {one.outcome.message}",
        )
        for one in listing.manifests
    ]


def refused(path: Path) -> str:
    """Give what a file is refused with."""
    one = read_manifest(str(path), "n")
    assert one is not None
    assert isinstance(one.outcome, Refusal)
    return f"{one.outcome.reason}: {one.outcome.message}"


def test_a_folder_gives_its_manifests_by_name(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json~", "c"):
        write(tmp_path / name, manifest(name[0]))
    write(tmp_path / ".hidden", manifest("h"))
    (tmp_path / "..data").mkdir()
    listing = list_manifests(str(tmp_path), "n")
    assert listing.kind is PathKind.FOLDER
    assert found(listing) == [("a.json~", "a-n"), ("b.yaml", "b-n"), ("c", "c-n")]


def test_what_is_bad_does_not_spoil_what_is_good(tmp_path: Path) -> None:
    write(tmp_path / "good", manifest())
    write(tmp_path / "bad", "a: b: c")
    write(tmp_path / "empty", "")
    write(tmp_path / "list", "apiVersion: v1\nkind: PodList\nitems: []\n")
    write(tmp_path / "latin", manifest().replace("i:1", "\xe4").encode("latin-1"))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.truncate(write(tmp_path / "big", ""), 11 * 2**20)
    os.symlink("loop", tmp_path / "loop")
    os.symlink("nowhere", tmp_path / "dangling")
    assert found(list_manifests(str(tmp_path), "n")) == [
        ("bad", f"unparsable: line 1: not YAML: {MISPLACED_COLON}"),
        ("big", "too_big: a manifest has less than 10485760 bytes"),
        ("dangling", "unreadable: a link to what does not exist"),
        ("empty", "unparsable: the text is empty"),
        ("folder", "directory: a folder: those in a manifest folder are skipped"),
        ("good", "a-n"),
        ("latin", "unparsable: line 8: not UTF-8: byte 0xe4"),
        (
            "list",
            "wrong_kind: apiVersion v1 and kind Pod are required, not 'v1' and 'PodList'",
        ),
        ("loop", "unreadable: a link that leads back to itself"),
        ("pipe", "not_regular: a pipe: only regular files are read"),
    ]


def test_a_folder_may_be_laid_out_as_a_mounted_config_map(tmp_path: Path) -> None:
    first = tmp_path / "..2026_06_01"
    first.mkdir()
    write(first / "a.yaml", manifest())
    os.symlink(first.name, tmp_path / "..data")
    os.symlink("..data/a.yaml", tmp_path / "a.yaml")
    assert found(list_manifests(str(tmp_path), "n")) == [("a.yaml", "a-n")]


def test_a_path_may_be_one_manifest_or_a_link(tmp_path: Path) -> None:
    path = write(tmp_path / "a", manifest())
    os.symlink(path, tmp_path / "link")
    listing = list_manifests(str(path), "n")
    assert listing.kind is PathKind.FILE
    linked = list_manifests(str(tmp_path / "link"), "n")
    assert linked.kind is PathKind.FILE
    assert found(listing) == [("a", "a-n")]
    assert found(linked) == [("link", "a-n")]


def test_a_path_may_be_missing(tmp_path: Path) -> None:
    assert list_manifests(str(tmp_path / "x"), "n") == Listing(PathKind.MISSING)


def test_a_path_may_be_unusable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink("loop", tmp_path / "loop")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        unusable = {
            name: list_manifests(str(tmp_path / name), "n") for name in ("pipe", "loop", "socket")
        }
    file = list_manifests(str(write(tmp_path / "f", "") / "x"), "n")
    assert unusable == {
        "pipe": Listing(PathKind.UNUSABLE, problem="a pipe, neither a folder nor a file"),
        "loop": Listing(PathKind.UNUSABLE, problem="a link that leads back to itself"),
        "socket": Listing(PathKind.UNUSABLE, problem="a socket, neither a folder nor a file"),
    }
    assert file == Listing(PathKind.UNUSABLE, problem="not a directory")
    assert list_manifests("/dev/null", "n").problem == "a device, neither a folder nor a file"


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, manifest().encode())
    assert refused(path) == "not_regular: a pipe: only regular files are read"
    assert os.read(reader, 9) == b"apiVersio"
    os.close(reader)
    os.close(writer)


@pytest.fixture
def unprivileged_folder() -> Iterator[Path]:
    """Give a folder that a user without privileges may enter, and be that user for a while."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        write(folder / "secret", manifest()).chmod(0)
        closed = folder / "closed"
        closed.mkdir(mode=0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(user)
            closed.chmod(0o700)


def test_what_may_not_be_read_is_told(unprivileged_folder: Path) -> None:
    assert refused(unprivileged_folder / "secret") == "unreadable: permission denied"
    closed = str(unprivileged_folder / "closed")
    assert list_manifests(closed, "n") == Listing(PathKind.UNUSABLE, problem="permission denied")


def test_a_file_that_vanishes_while_it_is_read_is_no_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a", manifest())
    really_open = os.open

    def vanish(name: str, flags: int) -> int:
        path.unlink()
        return really_open(name, flags)

    assert read_manifest(str(tmp_path / "never there"), "n") is None
    monkeypatch.setattr("node_agent.shell.manifest_files.os.open", vanish)
    assert read_manifest(str(path), "n") is None
    assert list_manifests(str(write(tmp_path / "a", manifest())), "n").kind is PathKind.MISSING


def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a", manifest())
    really_open = os.open

    def grow(name: str, flags: int) -> int:
        os.truncate(path, 20 * 2**20)
        return really_open(name, flags)

    monkeypatch.setattr("node_agent.shell.manifest_files.os.open", grow)
    assert refused(path) == "too_big: a manifest has less than 10485760 bytes"


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a", manifest())
    really_open = os.open
    opened: list[int] = []

    def swap(name: str, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        opened.append(really_open(path, os.O_RDWR | os.O_NONBLOCK))
        return really_open(name, flags)

    monkeypatch.setattr("node_agent.shell.manifest_files.os.open", swap)
    assert refused(path) == "not_regular: a pipe: only regular files are read"
    os.close(opened.pop())


def test_a_file_that_has_nothing_to_tell_yet_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``/proc/kmsg`` is, a regular file, once all of it has been read."""

    class Silent(FileIO):
        def read(self, _: int | None = -1, /) -> Any:
            return None

    path = write(tmp_path / "a", manifest())
    monkeypatch.setattr("node_agent.shell.manifest_files.open", Silent, raising=False)
    assert refused(path) == "unparsable: the text is empty"


def test_names_may_be_any_bytes(tmp_path: Path) -> None:
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), manifest())
    (one,) = list_manifests(str(tmp_path), "n").manifests
    assert isinstance(one.outcome, Pod)


def test_a_notice_is_passed_on(tmp_path: Path) -> None:
    one = read_manifest(str(write(tmp_path / "a", manifest() + "---\na: 1\n")), "n")
    assert one is not None
    assert isinstance(one.outcome, Pod)
    assert one.notice.startswith("there is more than one document")
