"""The command line of ``berthmaster timeline``."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from berthmaster.cli import timeline
from berthmaster.cli.timeline_attempts import FailedEvent, Scheduling, failed_attempts
from berthmaster.cli.timeline_flags import command
from berthmaster.cli.timeline_source import TimelineError, TimelineRequest, Told
from node_agent.core.journey.timeline import Timeline
from tests.unit.berthmaster.test_timeline_source import agents_timeline


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TimelineRequest]:
    """Give the requests that were made; each is answered."""
    requests: list[TimelineRequest] = []

    async def read_timeline(request: TimelineRequest) -> Told:
        requests.append(request)
        return Told(agents_timeline(), "the agent ns/agent-x", ["a note"])

    monkeypatch.setattr(timeline, "read_timeline", read_timeline)
    return requests


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_bars_without_colours_in_a_pipe(asked: list[TimelineRequest]) -> None:
    result = run("web", "-n", "shop")
    assert result.exit_code == 0
    assert result.stdout.startswith("Pod default/a on node-a\n")
    assert " Told by the agent ns/agent-x.\n" in result.stdout
    assert "containers_started" in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == "Note: a note\n"
    assert asked == [TimelineRequest(namespace="shop", name="web")]


def test_json(asked: list[TimelineRequest]) -> None:
    result = run("pod/web", "-o", "json", "--no-agent")
    assert json.loads(result.stdout)["node"] == "node-a"
    assert asked[0].name == "web"
    assert not asked[0].use_agent


def test_attempts_that_failed_are_told_in_both_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_timeline(_: TimelineRequest) -> Told:
        event = FailedEvent("no room", 1, "berthmaster", "2026-06-01T12:00:01.000000Z")
        scheduling = Scheduling(failed_attempts(2, [event]))
        return Told(agents_timeline(), "x", scheduling=scheduling)

    monkeypatch.setattr(timeline, "read_timeline", read_timeline)
    assert "Scheduling: 1 attempt failed before it got a Node" in run("web").stdout
    view = json.loads(run("web", "-o", "json").stdout)
    failed = view.pop("failedScheduling")
    assert (failed["count"], failed["events"][0]["message"]) == (1, "no room")
    assert msgspec.convert(view, Timeline) == agents_timeline()


def test_an_agent_of_ones_own(asked: list[TimelineRequest], tmp_path: Path) -> None:
    token = str(tmp_path / "t")
    result = run("web", "--agent", "https://x", "--agent-insecure", "--agent-token-file", token)
    assert result.exit_code == 0
    (request,) = asked
    assert (request.agent_url, request.agent_insecure) == ("https://x", True)
    assert request.agent_token_file == token


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a/b"], "'a/b' is no Pod's name; its namespace is given with -n"),
        (["pod/"], "'pod/' is no Pod's name"),
        (["web", "-n", ""], "-n: '' is no namespace's name"),
        (["web", "-n", "a/b"], "-n: 'a/b' is no namespace's name"),
        (["web", "--agent", "https://x", "--kubeconfig", "k"], "--kubeconfig: with --agent"),
        (["web", "--agent", "https://x", "--context", "c"], "--context: with --agent"),
        (
            ["web", "--agent", "https://x", "--agent-insecure", "--agent-ca-file", "c"],
            "--agent-insecure and --agent-ca-file exclude each other",
        ),
        (["web", "--agent-insecure"], "--agent-insecure needs --agent URL"),
        (
            ["web", "--agent", "https://x", "--no-agent"],
            "--agent and --no-agent exclude each other",
        ),
        (
            ["web", "--agent", "https://x", "--ask-kubelet"],
            "--agent and --ask-kubelet exclude each other",
        ),
        ([], "Missing argument 'POD'"),
        (["web", "-o", "yaml"], "'yaml' is not one of"),
        (["web", "--kubeconfig", "/nowhere/config"], "/nowhere/config"),
        (["web", "--agent", "ftp://x"], "an http:// or https:// URL"),
    ],
)
def test_bad_usage(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_timeline(request: TimelineRequest) -> Told:
        raise TimelineError(f"there is no Pod {request.name!r}")

    monkeypatch.setattr(timeline, "read_timeline", read_timeline)
    result = run("web")
    assert (result.exit_code, result.stderr) == (1, "Error: there is no Pod 'web'\n")


def test_help_has_examples() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for words in ("berthmaster timeline web-5d9c7 -n shop", "Exit codes: 0", "Who is asked"):
        assert words in result.stdout


def test_what_is_told_is_what_the_agent_serves(asked: list[TimelineRequest]) -> None:
    view: dict[str, Any] = json.loads(run("web", "-o", "json").stdout)
    assert [step["step"] for step in view["steps"]][:2] == ["created", "queued"]
    assert asked[0].use_agent


def test_notes_and_errors_are_printable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_timeline(_: TimelineRequest) -> Told:
        raise TimelineError("HTTP 500: \x1b[31m")

    monkeypatch.setattr(timeline, "read_timeline", read_timeline)
    assert run("web").stderr == "Error: HTTP 500: \\x1b[31m\n"


FULL_DISK = """
from berthmaster.cli import timeline
from berthmaster.cli.timeline_flags import command
from tests.unit.berthmaster.test_timeline_source import agents_timeline
async def read(_): return timeline.Told(agents_timeline(), "x")
timeline.read_timeline = read
command()
"""


@pytest.mark.parametrize("output", ["bars", "json"])
def test_output_that_cannot_be_written(output: str) -> None:
    command = [sys.executable, "-c", FULL_DISK, "web", "-o", output]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    message = "Error: cannot write to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.parametrize("output", ["bars", "json"])
def test_a_reader_that_has_gone_is_no_story(output: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", FULL_DISK, "web", "-o", output]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
