"""Manifests come, change and go: what is handed over, with the kubelet's quirks.

Cases: pkg/kubelet/config/{file,file_linux}_test.go, v1.36.3. The period is so long that only
events can have brought a change, unless a test says otherwise.
"""

import asyncio
import logging
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node_agent.core.static_pods import RefusalReason
from node_agent.shell.file_source import FileSource
from node_agent.shell.folder_watch import FileEvent, FileEventKind
from tests.faultproxy import wait_until
from tests.unit.node_agent.shell.lists import Lists, stop
from tests.unit.node_agent.shell.manifests import manifest, put, write

LONG_SECONDS = 3600.0
SHORT_SECONDS = 0.01


@asynccontextmanager
async def running(
    path: Path, lists: Lists, *, period_seconds: float = LONG_SECONDS
) -> AsyncIterator[FileSource]:
    """Run a source of `path` whose missing path is looked for often."""
    source = FileSource(
        str(path), "n", lists.emit, period_seconds=period_seconds, retry_seconds=SHORT_SECONDS
    )
    task = asyncio.create_task(source.run())
    try:
        yield source
    finally:
        await stop(task)


@pytest.fixture
def lists() -> Lists:
    return Lists()


async def test_what_is_there_is_listed_at_once(tmp_path: Path, lists: Lists) -> None:
    write(tmp_path / "a", manifest("a"))
    async with running(tmp_path, lists) as source:
        assert source.problem() == f"{tmp_path}: not listed yet"
        await lists.wait_for("a-n")
        assert source.problem() is None
    assert lists.names == [["a-n"]]
    (pod,) = lists.events[0].pods
    assert pod.spec.tolerations[-1].effect == "NoExecute"


async def test_a_listing_that_nobody_waits_for_ends_at_the_next_manifest(
    tmp_path: Path, lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder on a slow disk does not hold up the end of the process."""
    for name in ("a", "b", "c"):
        write(tmp_path / name, manifest(name))
    begun, go_on, read = threading.Event(), threading.Event(), []

    def read_slowly(path: str, _: str) -> None:
        read.append(path)
        begun.set()
        go_on.wait()

    monkeypatch.setattr("node_agent.shell.manifest_files.read_manifest", read_slowly)
    async with running(tmp_path, lists):
        await asyncio.to_thread(begun.wait)
    go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert read == [str(tmp_path / "a")]


async def test_a_missing_path_has_no_pods(tmp_path: Path, lists: Lists) -> None:
    async with running(tmp_path / "x", lists) as source:
        await lists.wait_for()
        assert source.problem() is None


async def test_a_path_that_comes_is_read(tmp_path: Path, lists: Lists) -> None:
    folder = tmp_path / "x"
    async with running(folder, lists):
        await lists.wait_for()
        made = tmp_path / "made"
        made.mkdir()
        write(made / "a", manifest("a"))
        made.rename(folder)
        await lists.wait_for("a-n")
        put(folder / "b", manifest("b"))
        await lists.wait_for("a-n", "b-n")


async def test_a_folder_that_is_made_anew_is_watched_anew(tmp_path: Path, lists: Lists) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    write(folder / "a", manifest("a"))
    async with running(folder, lists):
        await lists.wait_for("a-n")
        shutil.rmtree(folder)
        await lists.wait_for()
        folder.mkdir()
        put(folder / "b", manifest("b"))
        await lists.wait_for("b-n")
        put(folder / "c", manifest("c"))
        await lists.wait_for("b-n", "c-n")


@pytest.mark.parametrize("writer", [write, put])
async def test_events_bring_changes(
    tmp_path: Path, lists: Lists, writer: Callable[[Path, str], Path]
) -> None:
    async with running(tmp_path, lists) as source:
        await lists.wait_for()
        path = writer(tmp_path / "a", manifest("a", "i:1"))
        await lists.wait_for("a-n")
        uid = lists.events[-1].pods[0].metadata.uid
        writer(path, manifest("a", "i:2"))
        await wait_until(lambda: lists.last_images() == {"a-n": "i:2"}, what="the new image")
        assert lists.events[-1].pods[0].metadata.uid != uid
        writer(tmp_path / "b", manifest("b"))
        await lists.wait_for("a-n", "b-n")
        path.unlink()
        await lists.wait_for("b-n")
        assert source.problem() is None


async def test_a_renamed_file_goes_and_comes(tmp_path: Path, lists: Lists) -> None:
    write(tmp_path / "a", manifest("a"))
    async with running(tmp_path, lists):
        await lists.wait_for("a-n")
        os.rename(tmp_path / "a", tmp_path / "b")
        await wait_until(lambda: lists.names == [["a-n"], [], ["a-n"]], what="both lists")


async def test_a_path_may_be_one_manifest(tmp_path: Path, lists: Lists) -> None:
    path = write(tmp_path / "a", manifest("a", "i:1"))
    async with running(path, lists) as source:
        await lists.wait_for("a-n")
        write(path, manifest("a", "i:2"))
        await wait_until(lambda: lists.last_images() == {"a-n": "i:2"}, what="the new image")
        put(path, manifest("a", "i:3"))
        await wait_until(lambda: lists.last_images() == {"a-n": "i:3"}, what="the new file")
        path.unlink()
        await lists.wait_for()
        assert source.problem() is None


async def test_one_manifest_that_is_bad_leaves_the_source_unready(
    tmp_path: Path, lists: Lists
) -> None:
    path = write(tmp_path / "a", "kind: Deployment\napiVersion: v1\n")
    async with running(path, lists) as source:
        expected = f"{path}: apiVersion v1 and kind Pod are required, not 'v1' and 'Deployment'"
        await wait_until(lambda: source.problem() == expected, what="the problem")
        assert lists.events == []
        put(path, manifest("a"))
        await lists.wait_for("a-n")
        assert source.problem() is None


async def test_a_path_that_cannot_be_used_is_told(tmp_path: Path, lists: Lists) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    async with running(path, lists) as source:
        expected = f"{path}: a pipe, neither a folder nor a file"
        await wait_until(lambda: source.problem() == expected, what="the problem")
    assert lists.events == []


async def test_a_file_that_becomes_bad_keeps_its_pod_until_the_next_listing(
    tmp_path: Path, lists: Lists, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a", manifest("a"))
    write(tmp_path / "b", manifest("b"))
    async with running(tmp_path, lists) as source:
        await lists.wait_for("a-n", "b-n")
        put(path, "bad: [")
        await wait_until(lambda: source.refused.by_place, what="the refusal")
        assert lists.names == [["a-n", "b-n"]]
        refusal = source.refused.by_place[str(path)]
        assert refusal.reason is RefusalReason.UNPARSABLE
        assert dict(source.refused.counts) == {"unparsable": 1}
        (record,) = [r for r in caplog.records if r.getMessage() == "Manifest refused"]
        said = record.__dict__["fields"]
        assert (said["place"], said["next"]) == (str(path), "what it gave before stays")
        await source.list_all()
        assert lists.names[-1] == ["b-n"]
        put(path, manifest("a"))
        await lists.wait_for("a-n", "b-n")
        assert dict(source.refused.by_place) == {}


async def test_a_refusal_is_logged_once(
    tmp_path: Path, lists: Lists, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = write(tmp_path / "a", "bad: [")
    source = FileSource(str(tmp_path), "n", lists.emit)
    for _ in range(3):
        await source.list_all()
    assert source.refused.counts["unparsable"] == 3
    put(path, manifest())
    await source.list_all()
    put(path, "bad: [")
    await source.list_all()
    path.unlink()
    await source.list_all()
    assert dict(source.refused.by_place) == {}
    said = [record.getMessage() for record in caplog.records]
    assert said == ["Manifest refused", "Manifest accepted", "Manifest refused"]


async def test_a_second_document_is_told_of_once(
    tmp_path: Path, lists: Lists, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "a", manifest("a") + "---\n" + manifest("b"))
    source = FileSource(str(tmp_path), "n", lists.emit)
    for _ in range(3):
        await source.list_all()
    assert lists.names[-1] == ["a-n"]
    assert [record.getMessage() for record in caplog.records] == ["Manifest read in part"]


async def test_an_empty_folder_gives_none_and_the_next_event_all_again(
    tmp_path: Path, lists: Lists
) -> None:
    """As in the kubelet: a listing without Pods leaves what single files gave."""
    path = write(tmp_path / "a", manifest("a"))
    source = FileSource(str(tmp_path), "n", lists.emit)
    await source.list_all()
    path.unlink()
    await source.list_all()
    assert lists.names == [["a-n"], []]
    other = write(tmp_path / "b", manifest("b"))
    await source.take(FileEvent(FileEventKind.CHANGED, str(other)))
    assert lists.names[-1] == ["a-n", "b-n"]
    await source.list_all()
    assert lists.names[-1] == ["b-n"]


async def test_a_pod_renamed_in_its_file_is_there_twice_until_the_next_listing(
    tmp_path: Path, lists: Lists
) -> None:
    path = write(tmp_path / "a", manifest("a"))
    source = FileSource(str(tmp_path), "n", lists.emit)
    await source.list_all()
    write(path, manifest("b"))
    await source.take(FileEvent(FileEventKind.CHANGED, str(path)))
    assert lists.names[-1] == ["a-n", "b-n"]
    await source.list_all()
    assert lists.names[-1] == ["b-n"]


async def test_of_two_files_with_one_pod_the_later_counts_and_either_removes_it(
    tmp_path: Path, lists: Lists
) -> None:
    first = write(tmp_path / "1", manifest("a", "i:1"))
    write(tmp_path / "2", manifest("a", "i:2"))
    source = FileSource(str(tmp_path), "n", lists.emit)
    await source.list_all()
    assert lists.last_images() == {"a-n": "i:2"}
    first.unlink()
    await source.take(FileEvent(FileEventKind.DELETED, str(first)))
    assert lists.names[-1] == []
    await source.take(FileEvent(FileEventKind.DELETED, str(first)))
    assert len(lists.events) == 2
    await source.list_all()
    assert lists.last_images() == {"a-n": "i:2"}


async def test_a_manifest_that_another_replaces_is_told_of_once_for_each_pair(
    tmp_path: Path, lists: Lists, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first = write(tmp_path / "1", manifest("a", "i:1"))
    second = write(tmp_path / "2", manifest("a", "i:2"))
    third = write(tmp_path / "3", manifest("b"))
    source = FileSource(str(tmp_path), "n", lists.emit)

    def told() -> list[tuple[str, str, str]]:
        said = [
            (r.levelname, r.getMessage(), r.__dict__["fields"].get("err", ""))
            for r in caplog.records
        ]
        caplog.clear()
        return said

    def replaced(by: Path) -> tuple[str, str, str]:
        text = f"its Pod default/a-n is in {by}, too, which came later and counts; "
        warning = ("WARNING", "Manifest replaced by another")
        return (*warning, f"{text}give one of them another name")

    for _ in range(3):
        await source.list_all()
    assert lists.last_images() == {"a-n": "i:2", "b-n": "i:1"}
    assert list(source.refused.by_place) == [str(first)]
    assert source.refused.by_place[str(first)].reason is RefusalReason.DUPLICATE
    assert dict(source.refused.counts) == {"duplicate": 3}
    assert told() == [replaced(by=second)]

    # The first is written anew: until the next listing it counts, as in the kubelet.
    write(first, manifest("a", "i:3"))
    await source.take(FileEvent(FileEventKind.CHANGED, str(first)))
    assert lists.last_images() == {"a-n": "i:3", "b-n": "i:1"}
    assert list(source.refused.by_place) == [str(second)]
    accepted = ("INFO", "Manifest accepted", "")
    assert told() == [replaced(by=first), accepted]
    await source.list_all()
    assert lists.last_images() == {"a-n": "i:2", "b-n": "i:1"}
    assert told() == [replaced(by=second), accepted]

    # A third of that name is another pair; what is bad says why it is bad.
    write(third, manifest("a", "i:4"))
    write(second, "bad: [")
    await source.list_all()
    assert lists.last_images() == {"a-n": "i:4"}
    assert {place: r.reason for place, r in source.refused.by_place.items()} == {
        str(first): RefusalReason.DUPLICATE,
        str(second): RefusalReason.UNPARSABLE,
    }
    await source.take(FileEvent(FileEventKind.CHANGED, str(second)))
    caplog.clear()

    # Once it has the name for itself, all is well.
    second.unlink()
    third.unlink()
    await source.list_all()
    assert lists.last_images() == {"a-n": "i:3"}
    assert dict(source.refused.by_place) == {}
    assert told() == [accepted]


async def test_a_file_that_was_bad_or_has_another_pod_by_now_is_replaced_by_none(
    tmp_path: Path, lists: Lists
) -> None:
    first = write(tmp_path / "1", manifest("a"))
    second = write(tmp_path / "2", manifest("b"))
    source = FileSource(str(tmp_path), "n", lists.emit)
    await source.list_all()

    async def change(path: Path, text: str) -> None:
        write(path, text)
        await source.take(FileEvent(FileEventKind.CHANGED, str(path)))

    await change(first, manifest("c"))
    await change(second, manifest("a"))
    assert dict(source.refused.by_place) == {}
    await change(second, "bad: [")
    await change(first, manifest("a"))
    reasons = {place: refusal.reason for place, refusal in source.refused.by_place.items()}
    assert reasons == {str(second): RefusalReason.UNPARSABLE}


async def test_a_file_that_vanished_before_it_was_read_says_nothing(
    tmp_path: Path, lists: Lists
) -> None:
    source = FileSource(str(tmp_path), "n", lists.emit)
    await source.take(FileEvent(FileEventKind.CHANGED, str(tmp_path / "x")))
    assert lists.events == []


async def test_a_turned_config_map_is_seen_by_the_next_listing(
    tmp_path: Path, lists: Lists
) -> None:
    for version in ("1", "2"):
        folder = tmp_path / f"..{version}"
        folder.mkdir()
        write(folder / "a", manifest("a", f"i:{version}"))
    os.symlink("..1", tmp_path / "..data")
    os.symlink("..data/a", tmp_path / "a")
    async with running(tmp_path, lists, period_seconds=0.05):
        await wait_until(lambda: lists.events and lists.last_images() == {"a-n": "i:1"}, what="1")
        os.symlink("..2", tmp_path / ".new")
        os.replace(tmp_path / ".new", tmp_path / "..data")
        await wait_until(lambda: lists.last_images() == {"a-n": "i:2"}, what="2")


async def test_a_turned_link_to_the_folder_is_watched_anew(tmp_path: Path, lists: Lists) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    os.symlink("old", tmp_path / "link")
    async with running(tmp_path / "link", lists, period_seconds=0.05):
        await lists.wait_for()
        os.symlink("new", tmp_path / ".link")
        os.replace(tmp_path / ".link", tmp_path / "link")
        write(tmp_path / "new" / "a", manifest("a"))
        await lists.wait_for("a-n")


async def test_a_folder_that_cannot_be_watched_is_listed(
    tmp_path: Path,
    lists: Lists,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("asyncinotify.Inotify.add_watch", refuse)
    async with running(tmp_path, lists, period_seconds=0.05):
        await lists.wait_for()
        write(tmp_path / "a", manifest("a"))
        await lists.wait_for("a-n")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["Cannot watch manifests; they are listed only"]


async def test_lost_events_lead_to_a_listing(
    tmp_path: Path, lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def overflow(*_: object) -> FileEvent:
        await asyncio.sleep(0.01)
        return FileEvent(FileEventKind.OVERFLOWN, str(tmp_path))

    monkeypatch.setattr("node_agent.shell.folder_watch.FolderWatch.next_event", overflow)
    async with running(tmp_path, lists):
        await lists.wait_for()
        write(tmp_path / "a", manifest("a"))
        await lists.wait_for("a-n")


async def test_a_trailing_slash_is_no_part_of_a_path(tmp_path: Path, lists: Lists) -> None:
    write(tmp_path / "a", manifest("a"))
    for path in (str(tmp_path), f"{tmp_path}//"):
        await FileSource(path, "n", lists.emit).list_all()
    assert lists.events[0].pods == lists.events[1].pods


async def test_names_of_any_bytes_can_be_told(tmp_path: Path, lists: Lists) -> None:
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), "bad: [")
    source = FileSource(str(tmp_path), "n", lists.emit)
    await source.list_all()
    assert dict(source.refused.counts) == {"unparsable": 1}
