"""What the kernel tells of a folder, in order and without what says nothing."""

import os
from pathlib import Path

import pytest

from node_agent.shell.folder_watch import FileEvent, FileEventKind, FolderWatch
from tests.unit.node_agent.shell.manifests import put, write

CHANGED, DELETED, LOST = FileEventKind.CHANGED, FileEventKind.DELETED, FileEventKind.LOST
SECONDS = 10.0
MAX_QUEUED_EVENTS = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


async def events(watch: FolderWatch, last: str) -> list[tuple[FileEventKind, str]]:
    """Give events up to the first of the file named `last`, by the files' names."""
    told = []
    while True:
        event = await watch.next_event(SECONDS)
        assert event is not None
        told.append((event.kind, os.path.basename(event.path)))
        if told[-1][1] == last:
            return told


async def test_files_that_come_change_and_go(tmp_path: Path) -> None:
    with FolderWatch(str(tmp_path)) as watch:
        path = write(tmp_path / "new", "1")
        assert await events(watch, "new") == [(CHANGED, "new")]
        write(path, "2")
        assert await events(watch, "new") == [(CHANGED, "new")]
        path.chmod(0o600)
        assert await events(watch, "new") == [(CHANGED, "new")]
        os.rename(path, tmp_path / "other")
        assert await events(watch, "other") == [(DELETED, "new"), (CHANGED, "other")]
        (tmp_path / "other").unlink()
        assert await events(watch, "other") == [(DELETED, "other")]


async def test_hidden_files_and_the_folder_itself_say_nothing(tmp_path: Path) -> None:
    with FolderWatch(str(tmp_path)) as watch:
        os.utime(tmp_path)
        write(tmp_path / ".swap", "1")
        (tmp_path / ".swap").unlink()
        put(tmp_path / "end", "1")
        # The hidden file of `put` is moved away under its hidden name.
        assert await events(watch, "end") == [(CHANGED, "end")]


async def test_a_file_is_told_of_once_its_writer_has_closed_it(tmp_path: Path) -> None:
    with FolderWatch(str(tmp_path)) as watch:
        with (tmp_path / "slow").open("w") as file:
            file.write("half")
            file.flush()
            write(tmp_path / "fast", "1")
            assert await events(watch, "fast") == [(CHANGED, "fast")]
        assert await events(watch, "slow") == [(CHANGED, "slow")]


async def test_new_links_are_told_of_at_once(tmp_path: Path) -> None:
    target = write(tmp_path / ".target", "1")
    with FolderWatch(str(tmp_path)) as watch:
        os.symlink(target, tmp_path / "soft")
        assert await events(watch, "soft") == [(CHANGED, "soft")]
        os.link(target, tmp_path / "hard")
        assert await events(watch, "hard") == [(CHANGED, "hard")]


async def test_one_file_may_be_watched(tmp_path: Path) -> None:
    path = write(tmp_path / ".a", "1")
    with FolderWatch(str(path)) as watch:
        write(path, "2")
        assert await watch.next_event(SECONDS) == FileEvent(CHANGED, str(path))


async def test_the_end_of_what_is_watched_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with FolderWatch(str(folder)) as watch:
        assert watch.is_of_path()
        folder.rmdir()
        assert await watch.next_event(SECONDS) == FileEvent(LOST, str(folder))
        assert not watch.is_of_path()


async def test_a_link_that_is_turned_leads_elsewhere(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    os.symlink("old", tmp_path / "link")
    with FolderWatch(str(tmp_path / "link")) as watch:
        assert watch.is_of_path()
        os.symlink("new", tmp_path / ".link")
        os.replace(tmp_path / ".link", tmp_path / "link")
        assert not watch.is_of_path()


async def test_silence_ends_with_the_time_out(tmp_path: Path) -> None:
    with FolderWatch(str(tmp_path)) as watch:
        assert await watch.next_event(0.01) is None


async def test_lost_events_are_told_of(tmp_path: Path) -> None:

    with FolderWatch(str(tmp_path)) as watch:
        path = write(tmp_path / "a", "")
        other = write(tmp_path / "b", "")
        for _ in range(MAX_QUEUED_EVENTS // 2 + 2):  # two equal events in a row would be one
            os.utime(path)
            os.utime(other)
        kinds = set()
        while FileEventKind.OVERFLOWN not in kinds:
            event = await watch.next_event(SECONDS)
            assert event is not None
            kinds.add(event.kind)
    assert kinds == {CHANGED, FileEventKind.OVERFLOWN}


def test_what_is_missing_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FolderWatch(str(tmp_path / "x"))


def test_what_the_kernel_refuses_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("asyncinotify.Inotify.add_watch", refuse)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="No space left"):
        FolderWatch(str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before
