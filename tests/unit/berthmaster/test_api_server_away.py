"""Every command says alike which API server does not answer, or lets us not, and what to do."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from berthmaster.cli.root import cli
from tests.unit.berthmaster.diagnosis.stub_cluster import write_kubeconfig
from tests.unit.kubeio.fake_api import serving

NOWHERE = "http://127.0.0.1:1"
COMMANDS = [
    ("diagnose",),
    ("explain", "--from-cluster"),
    ("explain", "--from-cluster", "--pod", "-"),
    ("explain", "pod", "web"),
    ("explain", "--all-pending"),
    ("timeline", "web"),
    ("timeline", "web", "--no-agent"),
]
FAILED = {"diagnose": 2, "explain": 1, "timeline": 1}


def run(url: str, tmp_path: Path, *arguments: str) -> Result:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, url)
    return CliRunner().invoke(cli, [*arguments, "--kubeconfig", str(path)], input="")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_does_not_answer(command: tuple[str, ...], tmp_path: Path) -> None:
    done = run(NOWHERE, tmp_path, *command)
    assert (done.exit_code, done.stdout) == (FAILED[command[0]], "")
    assert f"the API server {NOWHERE} cannot be asked: " in done.stderr
    assert "Is it the right one? kubectl config get-contexts, --context" in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_it_knows_us_not(command: tuple[str, ...], tmp_path: Path) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        del request
        status = {"kind": "Status", "message": "Unauthorized", "reason": "Unauthorized"}
        return web.json_response({**status, "code": 401}, status=401)

    async with serving(refuse) as url:
        done = await asyncio.to_thread(run, url, tmp_path, *command)
    assert (done.exit_code, done.stdout) == (FAILED[command[0]], "")
    assert f"the API server {url} does not know you: " in done.stderr
    assert "kubectl auth whoami" in done.stderr


@pytest.mark.parametrize("command", [each for each in COMMANDS if each[0] == "explain"])
async def test_who_may_not_explain_is_told_where_the_rights_are(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        status = {"kind": "Status", "message": f"no {request.path} for you", "code": 403}
        return web.json_response(status, status=403)

    async with serving(refuse) as url:
        done = await asyncio.to_thread(run, url, tmp_path, *command)
    assert (done.exit_code, done.stdout) == (1, "")
    assert " for you; which rights it takes is told in docs/explain.md" in done.stderr


def test_a_scheduler_that_is_not_there_is_told_from_the_api_server(tmp_path: Path) -> None:
    done = run(NOWHERE, tmp_path, "explain", "pod", "web", "--server", "https://127.0.0.1:2")
    assert done.exit_code == 1
    assert "the scheduler at https://127.0.0.1:2 cannot be asked: " in done.stderr
