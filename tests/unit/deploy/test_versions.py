"""Which versions are asked for and accepted."""

from __future__ import annotations

import platform

import pytest

from deploy.programs import versions
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.versions import (
    Version,
    find_version,
    parse_version,
    requested_version,
)


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


def test_parse_version() -> None:
    assert parse_version("1.36.10") == Version(1, 36, 10)
    assert parse_version("1.36.10").next_patch == Version(1, 36, 11)


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
