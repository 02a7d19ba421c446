"""The command line: flags that exclude each other, exit codes, what goes to which stream."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from berthmaster.cli.root import cli
from tests.unit.berthmaster.diagnosis.stub_cluster import StubApi, add_pod, pod, write_kubeconfig
from tests.unit.kubeio.fake_api import serving


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["diagnose", *arguments], prog_name="berthmaster")


def run_on(api: StubApi, tmp_path: Path, *arguments: str) -> Result:
    async def serve() -> Result:
        async with serving(api.handle) as url:
            path = tmp_path / "kubeconfig"
            write_kubeconfig(path, url)
            # In a thread: the command has an event loop of its own.
            return await asyncio.to_thread(run, "--kubeconfig", str(path), "--no-ask", *arguments)

    return asyncio.run(serve())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-n", "shop", "-A"), "-n and --all-namespaces exclude each other"),
        (("-n", "a/b"), "-n: 'a/b' is no namespace's name"),
        (("-n", ""), "-n: '' is no namespace's name"),
        (("--lease", "mine"), "--lease: 'mine' is not NAMESPACE/NAME"),
        (("--no-ask", "--server", "https://x"), "--no-ask and --server exclude each other"),
        (("--no-ask", "--token-file", "t"), "--no-ask and --token-file exclude each other"),
        (("--server-ca", "c"), "--server-ca needs --server URL"),
        (("--token-file", "t"), "--token-file needs --server URL"),
        (("-o", "yaml"), "'yaml' is not one of 'text', 'json'"),
    ],
)
def test_bad_flags_are_one_clear_message(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_nothing_wrong_is_exit_code_0(tmp_path: Path) -> None:
    result = run_on(StubApi(), tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Nothing is wrong, 2 notes.\n")
    assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_something_wrong_is_exit_code_1_also_as_json(tmp_path: Path) -> None:
    api = StubApi()
    add_pod(api, pod("typo", spec={"schedulerName": "berthmastr"}))
    result = run_on(api, tmp_path, "-o", "json")
    assert result.exit_code == 1, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["verdict"] == "problem"
    assert report["counts"]["problem"] == 1
    first = report["findings"][0]
    assert (first["check"], first["objects"]) == ("scheduler-name-unknown", ["shop/typo"])
    assert run_on(api, tmp_path, "--scheduler-name", "berthmaster").exit_code == 0


def test_no_api_server_is_exit_code_2(tmp_path: Path) -> None:
    nowhere = tmp_path / "kubeconfig"
    write_kubeconfig(nowhere, "https://127.0.0.1:1")
    result = run("--kubeconfig", str(nowhere))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert "127.0.0.1:1" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_no_kubeconfig_is_exit_code_2(tmp_path: Path) -> None:
    result = run("--kubeconfig", str(tmp_path / "none"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(tmp_path / "none") in result.stderr
