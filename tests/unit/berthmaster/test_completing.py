"""Names in the cluster, as shells complete them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from click.shell_completion import BashComplete

from berthmaster.cli.names import AT_MOST
from berthmaster.cli.root import PROGRAM, cli
from tests.unit.berthmaster.diagnosis.stub_cluster import write_kubeconfig
from tests.unit.kubeio.fake_api import serving

NAMES = {
    "/api/v1/namespaces": ["default", "kube-system", "shop"],
    "/api/v1/namespaces/default/pods": ["web"],
    "/api/v1/namespaces/shop/pods": ["web-1", "web-2", "db"],
}


async def lists(request: web.Request) -> web.StreamResponse:
    assert request.query["limit"] == str(AT_MOST)
    items: list[dict[str, Any]] = [{"metadata": {"name": n}} for n in NAMES[request.path]]
    return web.json_response({"metadata": {}, "items": items})


def completed(typed: list[str], incomplete: str) -> list[str]:
    completion = BashComplete(cli, {}, PROGRAM, "_BERTHMASTER_COMPLETE")
    return [item.value for item in completion.get_completions(typed, incomplete)]


@pytest.mark.parametrize(
    ("typed", "incomplete", "names"),
    [
        (["explain", "pod"], "", ["web"]),
        (["explain", "-n", "shop", "pod"], "web", ["web-1", "web-2"]),
        (["explain", "-n"], "", ["default", "kube-system", "shop"]),
        (["diagnose", "-n"], "s", ["shop"]),
        (["timeline"], "", ["web"]),
        (["timeline", "-n", "shop"], "web", ["web-1", "web-2"]),
        (["timeline", "-n"], "s", ["shop"]),
        (["timeline", "web", "--namespace"], "d", ["default"]),
        # Words are completed as ever, and of a saved cluster there is nobody to ask.
        (["explain"], "", ["pod", "decision"]),
        (["explain", "pod", "web"], "", []),
        (["explain", "--snapshot", "cluster.yaml", "pod"], "", []),
        # Where an agent is asked, nobody else is.
        (["timeline", "--agent", "https://agent:10260"], "", []),
    ],
)
async def test_names_are_those_of_the_cluster(
    typed: list[str],
    incomplete: str,
    names: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(path))
    async with serving(lists) as url:
        write_kubeconfig(path, url)
        assert await asyncio.to_thread(completed, typed, incomplete) == names


async def test_a_cluster_that_takes_its_time_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("berthmaster.cli.names._SECONDS", 0.05)
    given_up = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        del request
        await given_up.wait()
        return web.json_response({})

    path = tmp_path / "kubeconfig"
    async with serving(silent) as url:
        write_kubeconfig(path, url)
        typed = ["explain", "--kubeconfig", str(path), "pod"]
        assert await asyncio.to_thread(completed, typed, "") == []
        given_up.set()


def test_of_a_cluster_that_is_away_nothing_is_completed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, "http://127.0.0.1:1")
    assert completed(["explain", "--kubeconfig", str(path), "pod"], "") == []
    assert completed(["explain", "--kubeconfig", str(tmp_path / "none"), "pod"], "") == []
    assert capfd.readouterr() == ("", "")
