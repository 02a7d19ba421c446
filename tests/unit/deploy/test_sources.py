"""Programs that are on the machine: what is accepted, and how the cache keeps them."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from deploy.programs.catalogue import linker_flags, require
from deploy.programs.errors import SourceError, UnsuitableError
from deploy.programs.reporting import SilentReporter
from deploy.programs.sources import (
    AssetsSource,
    Cache,
    PathSource,
    default_cache_root,
)
from deploy.programs.versions import Version
from tests.unit.deploy.fakes import write_program

KUBERNETES = Version(1, 36, 3)
APISERVER = require("kube-apiserver", KUBERNETES, exact=False)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "cache", KUBERNETES)
    cache.directory.mkdir(parents=True)
    return cache


def test_assets_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    program = write_program(tmp_path / "kube-apiserver", "Kubernetes v1.35.1")
    binary = AssetsSource().obtain(APISERVER)
    assert (binary.path, binary.version) == (program, Version(1, 35, 1))
    assert binary.source == "KUBEBUILDER_ASSETS"


@pytest.mark.parametrize("value", ["", None])
def test_assets_directory_not_set(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    if value is not None:
        monkeypatch.setenv("KUBEBUILDER_ASSETS", value)
    with pytest.raises(SourceError, match="not set"):
        AssetsSource().obtain(APISERVER)


@pytest.mark.parametrize(
    ("says", "code", "why"),
    [
        ("Kubernetes v1.33.4", 0, "is 1.33.4, wanted is 1.34.0 or newer, before 1.38.0"),
        ("Kubernetes v1.38.0", 0, "is 1.38.0, wanted is"),
        ("Kubernetes v1.36.3", 1, "does not tell its version"),
        ("hello", 0, "does not tell its version"),
    ],
)
def test_unsuitable_program(
    says: str, code: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    write_program(tmp_path / "kube-apiserver", says, code=code)
    with pytest.raises(UnsuitableError) as caught:
        PathSource().obtain(APISERVER)
    assert str(tmp_path / "kube-apiserver") in str(caught.value)
    assert why in str(caught.value)


def test_path_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="no kube-apiserver"):
        PathSource().obtain(APISERVER)


def test_an_installed_program_is_found_again(cache: Cache, tmp_path: Path) -> None:
    new = write_program(tmp_path / "new", "Kubernetes v1.36.3")
    installed = cache.install("kube-apiserver", new, KUBERNETES, "a test")
    assert not new.exists()
    found = cache.obtain(APISERVER)
    assert found.path == installed.path == cache.directory / "kube-apiserver"
    assert found.version == KUBERNETES
    assert found.source == "cached, a test"


@pytest.mark.parametrize("built_with", ["", "-s -w", "as now"])
def test_a_program_that_would_be_built_otherwise_now_is_built_anew(
    built_with: str, cache: Cache, tmp_path: Path
) -> None:
    now = linker_flags("kube-apiserver", KUBERNETES)
    flags = now if built_with == "as now" else built_with
    new = write_program(tmp_path / "new", "Kubernetes v1.36.3")
    cache.install("kube-apiserver", new, KUBERNETES, "a test", built_with=flags)
    if flags in ("", now):
        assert cache.obtain(APISERVER).version == KUBERNETES
    else:
        with pytest.raises(UnsuitableError, match="was built in another way than it is now"):
            cache.obtain(APISERVER)


@pytest.mark.parametrize("says", ["Kubernetes v1.36.2", "nonsense"])
def test_a_program_of_another_version_is_not_installed(
    says: str, cache: Cache, tmp_path: Path
) -> None:
    new = write_program(tmp_path / "new", says)
    with pytest.raises(SourceError, match=r"not 1\.36\.3"):
        cache.install("kube-apiserver", new, KUBERNETES, "a test")
    assert not (cache.directory / "kube-apiserver").exists()


def test_a_program_that_tells_no_version_only_has_to_run(cache: Cache, tmp_path: Path) -> None:
    requirement = require("untt", KUBERNETES, exact=False)
    new = write_program(tmp_path / "new", "usage: 9.9.9")
    cache.install("untt", new, requirement.version, "a test")
    assert cache.obtain(requirement).version == requirement.version
    broken = write_program(tmp_path / "broken", "usage", code=1)
    with pytest.raises(SourceError, match="does not run here"):
        cache.install("untt", broken, requirement.version, "a test")


def test_a_program_that_tells_no_version_is_not_taken_from_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    write_program(tmp_path / "untt", "usage: 1.1.2")
    with pytest.raises(UnsuitableError, match="does not tell its version"):
        PathSource().obtain(require("untt", KUBERNETES, exact=False))


def test_a_program_without_its_description_is_not_used(cache: Cache) -> None:
    write_program(cache.directory / "kube-apiserver", "Kubernetes v1.36.3")
    with pytest.raises(SourceError, match="no kube-apiserver in it"):
        cache.obtain(APISERVER)
    (cache.directory / "kube-apiserver.json").write_text("{")
    with pytest.raises(SourceError, match="cannot be read"):
        cache.obtain(APISERVER)


def test_a_description_without_its_program_is_not_used(cache: Cache) -> None:
    description = {"version": "1.36.3", "source": "a test"}
    (cache.directory / "kube-apiserver.json").write_text(json.dumps(description))
    with pytest.raises(SourceError, match="missing or not executable"):
        cache.obtain(APISERVER)


def test_a_cached_program_that_does_not_fit_is_not_used(cache: Cache, tmp_path: Path) -> None:
    cache.install("etcd", write_program(tmp_path / "new", "etcd Version: 3.4.30"), None, "a test")
    with pytest.raises(SourceError, match=r"is 3\.4\.30, wanted is 3\.5\.0 or newer"):
        cache.obtain(require("etcd", KUBERNETES, exact=False))


def test_the_lock_lets_one_in_at_a_time(cache: Cache) -> None:
    entered = threading.Event()

    def second() -> None:
        with Cache(cache.root, KUBERNETES).lock(SilentReporter()):
            entered.set()

    thread = threading.Thread(target=second)
    with cache.lock(SilentReporter()):
        thread.start()
        assert not entered.wait(0.05)
    assert entered.wait(10)
    thread.join()


def test_cache_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache_root() == tmp_path / ".cache" / "berthmaster"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache_root() == tmp_path / ".cache" / "berthmaster"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert default_cache_root() == Path("/elsewhere/berthmaster")
