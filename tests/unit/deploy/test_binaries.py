"""The order in which sources are asked, and what is said when none has a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.programs.binaries import Sources, obtain_binaries, resolve
from deploy.programs.errors import BinaryNotFoundError, SourceError, UnsuitableError, UsageError
from deploy.programs.reporting import SilentReporter
from deploy.programs.sources import Binary, Cache
from deploy.programs.versions import Requirement, Version
from tests.unit.deploy.fakes import FakeSource, recording_reporter, write_program

KUBERNETES = Version(1, 36, 3)


class Machine:
    """Fake sources of each kind; the cache is real and empty."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.assets = FakeSource("assets")
        self.path = FakeSource("PATH")
        self.downloads = FakeSource("downloads")
        self.build = FakeSource("build")
        self.versions_asked: list[Version] = []

    def sources(self, kubernetes: Version) -> Sources:
        self.versions_asked.append(kubernetes)
        cache = Cache(self.root, kubernetes)
        return Sources(cache, [self.assets, self.path, cache], [self.downloads, self.build])

    def resolve(self, *names: str, exact: bool = False) -> dict[str, Binary]:
        return resolve(
            names, KUBERNETES, exact=exact, sources=self.sources, reporter=SilentReporter()
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_source_that_has_it_wins(machine: Machine) -> None:
    for source in (machine.path, machine.downloads, machine.build):
        source.has["etcd"] = Version(3, 6, 16)
    assert machine.resolve("etcd")["etcd"].source == "PATH"
    assert machine.assets.asked == ["etcd"]
    assert machine.downloads.asked == machine.build.asked == []


def test_the_cache_comes_before_downloads_and_builds(machine: Machine, tmp_path: Path) -> None:
    machine.downloads.has["etcd"] = Version(3, 6, 16)
    cache = Cache(tmp_path, KUBERNETES)
    cache.directory.mkdir()
    new = write_program(cache.directory / "new", "etcd Version: 3.6.16")
    cache.install("etcd", new, None, "a test")
    assert machine.resolve("etcd")["etcd"].source == "cached, a test"
    assert machine.downloads.asked == []


def test_downloads_come_before_builds(machine: Machine) -> None:
    machine.build.has = {"etcd": Version(3, 6, 16), "kwok": Version(0, 8, 0)}
    machine.downloads.has = {"etcd": Version(3, 6, 16)}
    found = machine.resolve("etcd", "kwok")
    assert {name: binary.source for name, binary in found.items()} == {
        "etcd": "downloads",
        "kwok": "build",
    }
    assert machine.downloads.asked == ["etcd", "kwok"]
    assert machine.build.asked == ["kwok"]


def test_what_another_command_built_meanwhile_is_taken(machine: Machine, tmp_path: Path) -> None:
    class Late(FakeSource):
        """Asked last before the cache's lock is taken: the other command is done by then."""

        def obtain(self, requirement: Requirement) -> Binary:
            cache = Cache(tmp_path, KUBERNETES)
            cache.directory.mkdir(exist_ok=True)
            new = write_program(cache.directory / "new", "kwok version v0.8.0")
            cache.install(requirement.name, new, None, "another command")
            raise SourceError("has none")

    late = Late("late")

    def sources(kubernetes: Version) -> Sources:
        cache = Cache(tmp_path, kubernetes)
        return Sources(cache, [cache, late], [machine.build])

    found = resolve(["kwok"], KUBERNETES, exact=False, sources=sources, reporter=SilentReporter())
    assert found["kwok"].source == "cached, another command"
    assert machine.build.asked == []


def test_the_others_go_with_the_api_server_that_was_found(machine: Machine) -> None:
    machine.path.has = {"kube-apiserver": Version(1, 34, 5)}
    machine.build.has = {"kube-controller-manager": Version(1, 34, 5)}
    found = machine.resolve("kube-controller-manager", "kube-apiserver")
    assert list(found) == ["kube-controller-manager", "kube-apiserver"]
    assert machine.versions_asked == [KUBERNETES, Version(1, 34, 5)]


def test_a_patch_more_or_less_changes_nothing(machine: Machine) -> None:
    machine.path.has = {
        "kube-apiserver": Version(1, 36, 0),
        "kube-controller-manager": Version(1, 36, 3),
    }
    machine.resolve("kube-apiserver", "kube-controller-manager")
    assert machine.versions_asked == [KUBERNETES, KUBERNETES]


def test_nowhere_to_be_had(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(BinaryNotFoundError) as caught:
        machine.resolve("kwok")
    lines = str(caught.value).splitlines()
    assert lines[:7] == [
        "kwok 0.8.0 is nowhere to be had. Tried, in this order:",
        "  1. assets: has no kwok",
        "  2. PATH: has no kwok",
        f"  3. cache {tmp_path}/1.36.3: no kwok in it",
        "  4. downloads: has no kwok",
        "  5. build: has no kwok",
        "Any one of these helps:",
    ]
    assert "install Go 1.26.0 or newer" in lines[7]
    assert "PyPI" in lines[8]
    assert "github.com and dl.k8s.io" in lines[9]
    assert "KUBEBUILDER_ASSETS" in lines[10]


def test_a_cache_that_cannot_be_written_is_one_of_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def sources(kubernetes: Version) -> Sources:
        return Sources(Cache(tmp_path / "file", kubernetes), [], [FakeSource("build")])

    with pytest.raises(BinaryNotFoundError, match="cannot be written"):
        resolve(["etcd"], KUBERNETES, exact=False, sources=sources, reporter=SilentReporter())


def test_a_program_that_cannot_be_used_is_reported(machine: Machine) -> None:
    class Unsuitable(FakeSource):
        def obtain(self, requirement: Requirement) -> Binary:
            raise UnsuitableError("/usr/bin/etcd is 3.4.30, wanted is 3.5.0 or newer")

    machine.assets = Unsuitable("assets")
    machine.path.has["etcd"] = Version(3, 6, 16)
    reporter, text = recording_reporter()
    resolve(["etcd"], KUBERNETES, exact=False, sources=machine.sources, reporter=reporter)
    assert "not used: /usr/bin/etcd is 3.4.30" in text.getvalue()
    assert "etcd 3.6.16: PATH (/fake/etcd)" in text.getvalue()


def test_what_is_found_need_not_be_told(machine: Machine) -> None:
    machine.path.has["etcd"] = Version(3, 6, 16)
    reporter, text = recording_reporter()
    resolve(
        ["etcd"],
        KUBERNETES,
        exact=False,
        sources=machine.sources,
        reporter=reporter,
        tells_found=False,
    )
    assert text.getvalue() == ""


def test_unknown_program() -> None:
    with pytest.raises(UsageError, match=r"unknown program cubelet; there are .*kube-apiserver"):
        obtain_binaries(["cubelet"], reporter=SilentReporter())


def test_chosen_kinds_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BinaryNotFoundError) as caught:
        obtain_binaries(["kwok"], reporter=SilentReporter(), kinds=["installed", "cache"])
    reasons = [line for line in str(caught.value).splitlines() if line.startswith("  ")][:4]
    assert [reason.split(":")[0].split()[1] for reason in reasons[:3]] == [
        "KUBEBUILDER_ASSETS",
        "PATH",
        "cache",
    ]
    assert reasons[3].startswith("  - ")
    assert not (tmp_path / "cache").exists()
