"""Which versions are asked for and accepted."""

from __future__ import annotations

import platform

import pytest

from deploy.programs import versions
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.versions import Version, find_version, requested_version, require

KUBERNETES = Version(1, 36, 3)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Kubernetes v1.36.3", Version(1, 36, 3)),
        ("etcd Version: 3.6.16\nGit SHA: abc\nGo Version: go1.26.8", Version(3, 6, 16)),
        ("kwok version v0.8.0 go1.26.8 (linux/amd64)", Version(0, 8, 0)),
        ("Client Version: v1.37.0-rc.1\nKustomize Version: v5.8.1", Version(1, 37, 0)),
        ("go version go1.26", None),
        ("", None),
    ],
)
def test_find_version(text: str, version: Version | None) -> None:
    assert find_version(text) == version


@pytest.mark.parametrize(
    ("name", "exact", "accepted", "refused"),
    [
        ("kube-apiserver", False, ["1.34.0", "1.36.3", "1.37.9"], ["1.33.9", "1.38.0"]),
        ("kube-apiserver", True, ["1.36.3"], ["1.36.2", "1.36.4"]),
        ("kube-controller-manager", False, ["1.36.0", "1.36.9"], ["1.35.9", "1.37.0"]),
        ("kubectl", False, ["1.36.0"], ["1.37.0"]),
        ("kube-scheduler", False, ["1.36.3"], ["1.36.2", "1.36.4"]),
        ("etcd", True, ["3.5.0", "3.6.16"], ["3.4.30", "4.0.0"]),
        ("kwok", True, ["0.8.0", "0.8.7"], ["0.7.0", "0.9.0"]),
    ],
)
def test_require(name: str, exact: bool, accepted: list[str], refused: list[str]) -> None:
    requirement = require(name, KUBERNETES, exact=exact)
    for text, is_accepted in [(t, True) for t in accepted] + [(t, False) for t in refused]:
        version = find_version(text)
        assert version is not None
        assert requirement.accepts(version) is is_accepted, text


def test_the_default_version_is_not_the_only_one_that_will_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBERNETES_VERSION", raising=False)
    assert requested_version() == (Version(1, 36, 3), False)


def test_a_version_that_was_asked_for_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_VERSION", "v1.35.2")
    assert requested_version() == (Version(1, 35, 2), True)
    assert requested_version("1.34.1") == (Version(1, 34, 1), True)


@pytest.mark.parametrize("text", ["1.33.9", "1.38.0", "1.36", "latest", "1.36.3-rc.1"])
def test_other_versions_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"1\.34 to 1\.37") as caught:
        requested_version(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(("machine", "name"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_architecture(machine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert versions.architecture() == name


def test_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(DeployError, match="runs on Linux, amd64 and arm64"):
        versions.architecture()
