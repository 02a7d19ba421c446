"""Building with Go: the module that is built in, and what a build says, with a scripted `go`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.programs import processes
from deploy.programs.catalogue import require
from deploy.programs.errors import SourceError
from deploy.programs.gobuild import GoBuildSource, describe, go_directive, module_file
from deploy.programs.sources import Cache
from deploy.programs.versions import Version
from tests.unit.deploy.fakes import recording_reporter

KUBERNETES = Version(1, 36, 3)
# As in k8s.io/kubernetes v1.36.3, shortened.
UPSTREAM = """\
module k8s.io/kubernetes

go 1.26.0

require (
	k8s.io/api v0.0.0
	k8s.io/kubelet v0.0.0
	k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubelet => ./staging/src/k8s.io/kubelet
)
"""


def test_module_file_pins_the_staging_modules() -> None:
    program = describe(require("kube-scheduler", KUBERNETES, exact=False))
    assert module_file(program, UPSTREAM).splitlines() == [
        "module berthmaster.invalid/build",
        "",
        "go 1.26.0",
        "",
        "require k8s.io/kubernetes v1.36.3",
        "",
        "replace k8s.io/api => k8s.io/api v0.36.3",
        "replace k8s.io/kubelet => k8s.io/kubelet v0.36.3",
    ]


def test_module_file_of_a_module_without_staging() -> None:
    program = describe(require("kwok", KUBERNETES, exact=False))
    text = module_file(program, "module sigs.k8s.io/kwok\n\ngo 1.26\n\ntool example.com/x\n")
    assert "replace" not in text
    assert "require sigs.k8s.io/kwok v0.8.0" in text


def test_module_file_replaces_modules_as_upstream_does() -> None:
    program = describe(require("untt", KUBERNETES, exact=False))
    upstream = (
        "module github.com/helm-unittest/helm-unittest\n\ngo 1.26.0\n\n"
        "replace example.com/a v0.3.2 => example.com/b v0.4.0\n"
        "replace (\n\texample.com/c => example.com/d/v2 v2.1.0\n\texample.com/e => ./e\n)\n"
    )
    assert module_file(program, upstream).splitlines()[-2:] == [
        "replace example.com/a v0.3.2 => example.com/b v0.4.0",
        "replace example.com/c => example.com/d/v2 v2.1.0",
    ]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("module m\n\ngo 1.26.4\n", Version(1, 26, 4)),
        ("module m\n\ngo 1.27\n", Version(1, 27, 0)),
        ("module m\n", Version(1, 26, 0)),
    ],
)
def test_go_directive(text: str, version: Version) -> None:
    assert go_directive(text) == version


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        ("etcd", "go.etcd.io/etcd/server/v3"),
        ("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
        ("agnhost", "k8s.io/kubernetes/test/images/agnhost"),
        ("ctr", "github.com/containerd/containerd/v2/cmd/ctr"),
        ("ptp", "github.com/containernetworking/plugins/plugins/main/ptp"),
        ("coredns", "github.com/coredns/coredns"),
    ],
)
def test_describe(name: str, package: str) -> None:
    assert describe(require(name, KUBERNETES, exact=False)).package == package


def test_kubernetes_programs_are_told_their_version() -> None:
    flags = describe(require("kubectl", KUBERNETES, exact=False)).linker_flags
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in flags


def test_programs_whose_source_has_no_version_are_told_it() -> None:
    flags = describe(require("helm", KUBERNETES, exact=False)).linker_flags
    assert flags.startswith("-s -w -X helm.sh/helm/v3/internal/version.version=v3.22.0 ")
    # Without these it renders for Kubernetes 1.20.
    assert "-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37" in flags


class ScriptedGo:
    """A `go` on PATH that answers as the real one does, and notes its calls."""

    def __init__(self, directory: Path) -> None:
        self.calls = directory / "calls"
        self._directory = directory
        (directory / "upstream.mod").write_text("module sigs.k8s.io/kwok\n\ngo 1.26.0\n")
        self.write(build="printf '#!/bin/sh\\necho kwok version v0.8.0\\n' > \"$out\"")

    def write(self, *, build: str, download: str = "") -> None:
        answer = json.dumps({"GoMod": str(self._directory / "upstream.mod")})
        download = download or f"echo '{answer}'"
        script = self._directory / "go"
        script.write_text(
            "#!/bin/sh\n"
            f'echo "$*" >> {self.calls}\n'
            'case "$1" in\n'
            "env) echo go1.26.8;;\n"
            f"mod) {download};;\n"
            "list) cp go.mod $(dirname $0)/go.mod; echo example.com/a; echo example.com/b;;\n"
            'build) while [ "$1" != -o ]; do shift; done; out=$2\n'
            "  echo example.com/a >&2; echo example.com/b >&2\n"
            f"  {build};;\n"
            "esac\n"
        )
        script.chmod(0o755)


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedGo:
    directory = tmp_path / "go"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return ScriptedGo(directory)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "cache", KUBERNETES)
    cache.directory.mkdir(parents=True)
    return cache


def test_a_build_goes_into_the_cache(go: ScriptedGo, cache: Cache, tmp_path: Path) -> None:
    reporter, text = recording_reporter()
    source = GoBuildSource(cache, reporter, owner=tmp_path)
    binary = source.obtain(require("kwok", KUBERNETES, exact=False))
    assert binary.path == cache.directory / "kwok"
    assert binary.source == "built with Go 1.26.8"
    calls = go.calls.read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["env", "mod", "list", "build"]
    assert calls[1] == "mod download -json sigs.k8s.io/kwok@v0.8.0"
    assert calls[3].endswith("/kwok sigs.k8s.io/kwok/cmd/kwok")
    assert "require sigs.k8s.io/kwok v0.8.0" in (go.calls.parent / "go.mod").read_text()
    assert f"log {cache.directory}/kwok.build.log" in text.getvalue()
    left = {path.name for path in cache.directory.iterdir()}
    assert left == {"kwok", "kwok.json", "kwok.build.log"}


def test_a_failed_build_names_its_error_and_log(
    go: ScriptedGo, cache: Cache, tmp_path: Path
) -> None:
    go.write(build="echo 'b.go:1:2: undefined: x' >&2; exit 1")
    source = GoBuildSource(cache, recording_reporter()[0], owner=tmp_path)
    with pytest.raises(SourceError) as caught:
        source.obtain(require("kwok", KUBERNETES, exact=False))
    assert "go build failed: b.go:1:2: undefined: x" in str(caught.value)
    assert f"{cache.directory}/kwok.build.log" in str(caught.value)
    assert {path.name for path in cache.directory.iterdir()} == {"kwok.build.log"}


def test_an_unreachable_module_proxy_is_named(go: ScriptedGo, cache: Cache, tmp_path: Path) -> None:
    go.write(build="", download="echo 'dial tcp: lookup proxy.invalid' >&2; exit 1")
    source = GoBuildSource(cache, recording_reporter()[0], owner=tmp_path)
    with pytest.raises(SourceError, match=r"go mod failed: dial tcp: lookup proxy\.invalid"):
        source.obtain(require("kwok", KUBERNETES, exact=False))


def test_an_interrupted_build_leaves_no_process(
    go: ScriptedGo, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go.write(build="sleep 600 & sleep 600")
    reporter, _ = recording_reporter()

    def interrupt(text: str) -> None:
        if text.startswith("building kwok") and len(processes.find(tmp_path)) >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(reporter, "progress", interrupt)
    monkeypatch.setattr("deploy.programs.gobuild.POLL_SECONDS", 0.01)
    with pytest.raises(KeyboardInterrupt):
        GoBuildSource(cache, reporter, owner=tmp_path).obtain(
            require("kwok", KUBERNETES, exact=False)
        )
    assert processes.wait_ended(processes.find(tmp_path), timeout_seconds=5)
    assert {path.name for path in cache.directory.iterdir()} == {"kwok.build.log"}
