"""``berthmaster agent`` as a command: flags, help, messages and exit codes."""

from collections.abc import Callable, Coroutine
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from berthmaster.cli.root import cli
from kubeio.certificates import CertificateError
from kubeio.daemon import ExitCode, ServingError
from kubeio.login import KubeConfigError
from kubeio.logs import LogFormat
from kubeio.serving_options import ServingOptions
from node_agent.shell.options import AgentOptions

Run = Callable[[AgentOptions], Coroutine[Any, Any, ExitCode]]


class Runs:
    """Takes the options that the agent would have been run with."""

    def __init__(self) -> None:
        self.options: list[AgentOptions] = []
        self.outcome: ExitCode | Exception = ExitCode.STOPPED

    async def run(self, options: AgentOptions) -> ExitCode:
        self.options.append(options)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs()
    monkeypatch.setattr("berthmaster.cli.agent.run_agent", made.run)
    monkeypatch.setattr("berthmaster.cli.agent.configure_logging", lambda **_: None)
    monkeypatch.delenv("NODE_NAME", raising=False)
    return made


def call(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, ["agent", *arguments], env=env)


def test_the_help_has_examples_and_all_flags() -> None:
    result = call("--help")
    assert result.exit_code == 0
    assert "berthmaster agent --node-name worker-1" in result.output
    assert "Exit codes: 0 stopped; 1 failed; 2 bad flags or files." in result.output
    command = click.Context(cli).command
    assert isinstance(command, click.Group)
    agent = command.get_command(click.Context(cli), "agent")
    assert agent is not None
    for parameter in agent.params:
        assert parameter.opts[0] in result.output


def test_defaults_are_the_kubelets(runs: Runs) -> None:
    assert call("--node-name", "worker-1").exit_code == 0
    (options,) = runs.options
    assert options.node_name == "worker-1"
    assert (options.static_pod_path, options.static_pod_url) == ("", "")
    assert (options.file_check_seconds, options.http_check_seconds) == (20.0, 20.0)
    assert options.serving.bind_address == ServingOptions().bind_address
    assert options.serving.port == 10260
    assert options.authorize
    assert (options.verbosity, options.log_format) == (0, LogFormat.TEXT)


def test_flags_are_passed_on(runs: Runs) -> None:
    result = call(
        *("--node-name", "n", "--kubeconfig", "k", "--context", "c", "--static-pod-path", "/m"),
        *("--static-pod-url", "http://host/", "--static-pod-url-header", "A: 1"),
        *("--static-pod-url-header", "A: 2", "--file-check-frequency", "1s"),
        *("--http-check-frequency", "1m30s", "--bind-address", "127.0.0.1", "--secure-port", "0"),
        *("--authorization", "none", "-v=3", "--log-format", "json"),
    )
    assert result.exit_code == 0, result.output
    (options,) = runs.options
    assert (options.kubeconfig, options.context) == ("k", "c")
    assert options.static_pod_path == "/m"
    assert options.static_pod_url_headers == {"A": ("1", "2")}
    assert (options.file_check_seconds, options.http_check_seconds) == (1.0, 90.0)
    assert (options.serving.bind_address, options.serving.port) == ("127.0.0.1", 0)
    assert not options.authorize
    assert (options.verbosity, options.log_format) == (3, LogFormat.JSON)


def test_the_node_may_be_named_by_the_environment(runs: Runs) -> None:
    assert call(env={"NODE_NAME": "worker-2"}).exit_code == 0
    assert [options.node_name for options in runs.options] == ["worker-2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            (
                "Error: --node-name: a name is needed; in a Pod, set NODE_NAME from the field "
                "spec.nodeName\n"
            ),
        ),
        (
            ("--node-name", "n", "--static-pod-url", "host"),
            "Error: --static-pod-url: a URL that begins with http:// or https:// is needed\n",
        ),
        (
            ("--node-name", "n", "--static-pod-url-header", "secret"),
            "Error: --static-pod-url-header: a header is written as 'NAME: VALUE'\n",
        ),
    ],
)
def test_bad_flags_are_told_in_one_line(
    runs: Runs, arguments: tuple[str, ...], message: str
) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stderr == message
    assert runs.options == []


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (ExitCode.STOPPED, 0),
        (ExitCode.FAILED, 1),
        (ServingError("cannot serve on 0.0.0.0:10260: Address already in use"), 1),
        (KubeConfigError("kubeconfig: no such file: x"), 2),
        (CertificateError("--tls-cert-file needs --tls-private-key-file"), 2),
    ],
)
def test_exit_codes(runs: Runs, outcome: ExitCode | Exception, code: int) -> None:
    runs.outcome = outcome
    result = call("--node-name", "n")
    assert result.exit_code == code
    if isinstance(outcome, Exception):
        assert result.stderr == f"Error: {outcome}\n"
