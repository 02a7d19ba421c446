"""The state directory, its lock and its record."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from deploy.controlplane.components import describe, write_files
from deploy.controlplane.layout import DEFAULT_STATE_DIRECTORY, StateDirectory
from deploy.controlplane.plane import ControlPlane
from deploy.controlplane.record import Record, Shape, load
from deploy.controlplane.statelock import StateLock
from deploy.controlplane.supervisor import Supervisor
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.private_files import write_private
from deploy.programs.sources import Binary

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "state")


def record(shape: Shape | None = None) -> Record:
    ports = {"kube-apiserver": 1, "kube-controller-manager": 2, "kwok": 3}
    return Record(shape=shape or Shape(), kubernetes_version="1.36.3", ports=ports, token="secret")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_default_is_in_the_checkout() -> None:
    assert DEFAULT_STATE_DIRECTORY == PROJECT / ".state" / "controlplane"


def test_everything_is_private(directory: StateDirectory) -> None:
    directory.path.mkdir(mode=0o755)
    directory.create()
    made = record()
    made.save(directory)
    write_files(made, directory)
    assert mode(directory.path) == 0o700
    for path in directory.path.rglob("*"):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_a_directory_with_other_files_is_refused(directory: StateDirectory) -> None:
    directory.path.mkdir()
    (directory.path / "thesis.txt").write_text("important")
    with pytest.raises(DeployError, match="not empty and holds no control plane"):
        directory.create()
    assert [path.name for path in directory.path.iterdir()] == ["thesis.txt"]


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeployError, match="cannot be made"):
        StateDirectory(tmp_path / "file" / "state").create()


def test_a_directory_of_another_user_is_refused(
    directory: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(DeployError, match="belongs to another user"):
        directory.create()


def test_remove_takes_all_that_was_made(directory: StateDirectory) -> None:
    directory.create()
    assert StateLock(directory.lock).try_acquire("up")
    made = record()
    made.save(directory)
    write_files(made, directory)
    (directory.path / "etcd" / "member").mkdir(parents=True)
    (directory.path / "etcd.sock:1").touch()
    (directory.path / ".tmp-unfinished").touch()
    directory.remove()
    assert not directory.path.exists()
    directory.remove()


def test_remove_leaves_what_others_made(directory: StateDirectory) -> None:
    directory.create()
    (directory.path / "notes.txt").touch()
    directory.remove()
    assert [path.name for path in directory.path.iterdir()] == ["notes.txt"]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_private(target, "old")

    def fail(self: Path, other: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_private(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_record_is_read_as_it_was_saved(directory: StateDirectory) -> None:
    directory.create()
    assert load(directory) is None
    saved = record(Shape(with_kwok=False, controllers="*", apiserver_args=("-v=4",)))
    saved.save(directory)
    assert load(directory) == saved
    assert saved.url == "https://127.0.0.1:1"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 0}', '{"format": 1}'])
def test_a_damaged_record_says_what_helps(content: str, directory: StateDirectory) -> None:
    directory.create()
    directory.record.write_text(content)
    with pytest.raises(DeployError) as caught:
        load(directory)
    assert str(directory.record) in str(caught.value)
    assert f"down --state-dir {directory.path}" in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "components"),
    [
        (Shape(), ["etcd", "kube-apiserver", "kube-controller-manager", "kwok"]),
        (Shape(with_kwok=False), ["etcd", "kube-apiserver", "kube-controller-manager"]),
        (Shape(with_kwok=False, with_controller_manager=False), ["etcd", "kube-apiserver"]),
    ],
)
def test_components(shape: Shape, components: list[str]) -> None:
    assert list(shape.components) == components


def test_own_arguments_come_last(directory: StateDirectory) -> None:
    shape = Shape(apiserver_args=("--max-requests-inflight=1",))
    arguments = describe("kube-apiserver", record(shape), directory).arguments
    assert arguments[-1] == "--max-requests-inflight=1"


@pytest.mark.parametrize(("with_kwok", "off"), [(True, False), (False, True)])
def test_without_kwok_nothing_marks_nodes_as_not_ready(
    with_kwok: bool, off: bool, directory: StateDirectory
) -> None:
    made = record(Shape(with_kwok=with_kwok))
    server = describe("kube-apiserver", made, directory).arguments
    manager = describe("kube-controller-manager", made, directory).arguments
    assert ("--disable-admission-plugins=TaintNodesByCondition" in server) is off
    controllers = next(each for each in manager if each.startswith("--controllers="))
    assert ("-node-lifecycle-controller" in controllers.split("=")[1].split(",")) is off


def test_one_holds_the_lock(directory: StateDirectory) -> None:
    directory.create()
    with StateLock(directory.lock) as first:
        assert first.try_acquire("up")
        second = StateLock(directory.lock)
        assert not second.acquire("down", timeout_seconds=0)
        holder = second.holder()
        assert holder is not None
        assert (holder.pid, holder.purpose) == (os.getpid(), "up")
    assert second.try_acquire("down")
    second.release()
    assert mode(directory.lock) == 0o600


def test_a_lock_on_a_removed_file_is_none(directory: StateDirectory) -> None:
    directory.create()
    first, second = StateLock(directory.lock), StateLock(directory.lock)
    assert first.try_acquire("down")
    directory.remove()
    assert second.try_acquire("up")
    assert directory.lock.exists()
    assert not StateLock(directory.lock).try_acquire("up")
    first.release()
    second.release()


def test_the_lock_ends_with_its_holder(directory: StateDirectory) -> None:
    directory.create()
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from deploy.controlplane.statelock import StateLock\n"
        "lock = StateLock(Path(sys.argv[1]))\n"
        "print(lock.try_acquire('up'), flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(directory.lock)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        lock = StateLock(directory.lock)
        assert not lock.try_acquire("up")
        other.kill()
    assert lock.acquire("up", timeout_seconds=5)
    lock.release()


def test_an_unreadable_lock_has_no_known_holder(directory: StateDirectory) -> None:
    directory.create()
    directory.lock.write_text(json.dumps({"pid": 1}))
    assert StateLock(directory.lock).holder() is None


def no_binaries(names: Sequence[str]) -> Mapping[str, Binary]:
    raise DeployError(f"looked for {', '.join(names)}")


@pytest.mark.parametrize("version", ["1.35.2", "1.36.2"])
@pytest.mark.parametrize("is_variable", [False, True])
def test_what_is_there_goes_on_with_no_other_version_than_was_asked_for(
    is_variable: bool, version: str, directory: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.create()
    record().save(directory)
    monkeypatch.setattr(Supervisor, "probe", lambda *_: "")
    monkeypatch.delenv("KUBERNETES_VERSION", raising=False)

    def plane(asked: str | None) -> ControlPlane:
        if is_variable and asked:
            monkeypatch.setenv("KUBERNETES_VERSION", asked)
            asked = None
        return ControlPlane(directory.path, with_kwok=True, kubernetes_version=asked)

    assert not plane(None).start(no_binaries), "all runs, it seems"
    assert not plane("1.36.3").start(no_binaries)
    with pytest.raises(DeployError, match=f"is of Kubernetes 1.36.3, not {version}: take it down"):
        plane(version).start(no_binaries)
    with pytest.raises(UsageError, match="not supported"):
        plane("1.2.3").start(no_binaries)
