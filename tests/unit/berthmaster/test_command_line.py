import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result

from berthmaster import __version__
from berthmaster.cli import scheduler
from berthmaster.cli.root import PROGRAM, SUBCOMMANDS, cli
from kubeio.daemon import ExitCode, ServingError
from kubeio.login import KubeConfigError
from kubeio.logs import LogFormat
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.startup import StartPlan

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

Run = Callable[[StartPlan], Coroutine[Any, Any, ExitCode]]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, prog_name="berthmaster")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[StartPlan]:
    """Give the plans that were run; nothing is."""
    plans: list[StartPlan] = []

    async def run(plan: StartPlan) -> ExitCode:
        plans.append(plan)
        return ExitCode.STOPPED

    use(monkeypatch, run)
    return plans


def use(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(scheduler, "run_scheduler", run)
    monkeypatch.setattr(scheduler, "configure_logging", lambda **_: None)


def options_of(started: list[StartPlan], *arguments: str) -> SchedulerOptions:
    result = invoke("scheduler", *arguments)
    assert result.exit_code == 0, result.output
    [plan] = started
    return plan.options


def test_an_unknown_command_is_told_which_there_are() -> None:
    result = invoke("schedular", "--dry-run")
    assert result.exit_code == 2
    assert "No such command 'schedular'; there are: scheduler, controller, agent, " in result.stderr
    assert "No such option '--schedular'" in invoke("--schedular").stderr


def test_help_names_every_command_and_imports_none() -> None:
    code = (
        "import sys; from berthmaster.cli.root import cli; "
        "cli(['--help'], standalone_mode=False); "
        "print([m for m in ('numpy', 'aiohttp', 'scheduler_svc') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for name, entry in SUBCOMMANDS.items():
        assert f"  {name}" in output
        assert entry.summary in output
    assert output.endswith("[]\n")


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_help_of_a_command_needs_nothing_of_what_it_does(command: str) -> None:
    code = (
        "import sys; from berthmaster.cli.root import cli; "
        f"cli(['{command}', '--help'], standalone_mode=False); "
        "heavy = ('numpy', 'aiohttp', 'kopf', 'rich', 'yaml', 'asyncio', 'scheduler_svc.core'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    script = [sys.executable, "-c", code]
    output = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert output.startswith("Usage:")
    assert output.endswith("[]\n")


def test_version_is_told_both_ways() -> None:
    assert invoke("--version").output == f"berthmaster, version {__version__}\n"
    assert invoke("version").output.splitlines()[0] == f"berthmaster {__version__}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program_and_its_variable(shell: str) -> None:
    result = invoke("completion", shell)
    assert result.exit_code == 0
    assert "_BERTHMASTER_COMPLETE" in result.output
    assert "berthmaster" in result.output


def test_completion_of_another_shell_is_bad_usage() -> None:
    result = invoke("completion", "tcsh")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.output


def test_no_socket_takes_the_place_of_a_closed_standard_stream() -> None:
    program = (
        "import os\n"
        "from berthmaster.cli.root import fill_standard_streams\n"
        "os.closerange(0, 3)\n"
        "fill_standard_streams()\n"
        "os._exit(os.open(os.devnull, os.O_RDONLY))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 3


def test_unknown_command_is_bad_usage() -> None:
    result = invoke("schedule")
    assert result.exit_code == 2
    assert "No such command 'schedule'" in result.output


def test_help_of_the_scheduler_is_grouped_and_has_examples() -> None:
    output = invoke("scheduler", "--help").output
    headings = [line for line in output.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        "Configuration:",
        "Groups of Pods:",
        "Leader election:",
        "Binding:",
        "Serving:",
        "Logging:",
        "Help:",
    ]
    assert "berthmaster scheduler --dry-run -v 2" in output


def test_defaults_are_kube_schedulers_or_ours(started: list[StartPlan]) -> None:
    options = options_of(started)
    assert options == SchedulerOptions(version=__version__)
    assert options.scheduler_name == "berthmaster"
    assert options.serving.port == 10259
    assert (options.bind_timeout_seconds, options.bind_concurrency) == (30, 32)
    assert options.authorize
    assert not options.dry_run


def test_every_flag_arrives(started: list[StartPlan]) -> None:
    options = options_of(
        started,
        *("--kubeconfig", "/k", "--context", "c", "--scheduler-name", "gpu"),
        *("--leader-elect-lease-duration", "1m", "--leader-elect-renew-deadline", "30s"),
        *("--leader-elect-retry-period", "1500ms", "--leader-elect-resource-name", "gpu"),
        *("--leader-elect-resource-namespace", "ns", "--dry-run", "--bind-timeout", "5s"),
        *("--bind-concurrency", "8", "--bind-address", "::1", "--secure-port", "0"),
        *("--tls-cert-file", "/c", "--tls-private-key-file", "/p", "--authorization", "none"),
        *("-v", "4", "--log-format", "json"),
    )
    election = options.election
    assert (options.kubeconfig, options.context, options.scheduler_name) == ("/k", "c", "gpu")
    assert election.lease_duration_seconds == 60
    assert election.renew_deadline_seconds == 30
    assert election.retry_period_seconds == 1.5
    assert (election.resource_name, election.resource_namespace) == ("gpu", "ns")
    assert options.dry_run
    assert (options.bind_timeout_seconds, options.bind_concurrency) == (5, 8)
    serving = options.serving
    assert (serving.bind_address, serving.port) == ("::1", 0)
    assert (serving.certificate_file, serving.key_file) == ("/c", "/p")
    assert not options.authorize
    assert (options.verbosity, options.log_format) == (4, LogFormat.JSON)


@pytest.mark.parametrize(
    ("arguments", "elects"),
    [
        ((), None),
        (("--leader-elect",), True),
        (("--leader-elect", "--dry-run"), True),
        (("--leader-elect=true",), True),
        (("--leader-elect=false",), False),
        (("--no-leader-elect",), False),
    ],
)
def test_leader_election_is_switched_as_in_kube_scheduler(
    started: list[StartPlan], arguments: tuple[str, ...], elects: bool | None
) -> None:
    assert options_of(started, *arguments).election.leader_elect is elects


@pytest.mark.parametrize("arguments", [("-v", "3"), ("-v=3",), ("--v=3",), ("--v", "3"), ("-v3",)])
def test_verbosity_is_read_as_go_reads_it(
    started: list[StartPlan], arguments: tuple[str, ...]
) -> None:
    assert options_of(started, *arguments).verbosity == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--bind-timeout", "5"), 'missing unit in duration "5"'),
        (("--bind-timeout", "0s"), "0s must be greater than 0"),
        (("--leader-elect-retry-period", "-1s"), "must be greater than 0"),
        (("--secure-port", "70000"), "70000"),
        (("--log-format", "xml"), "'text', 'json'"),
        (("--no-such-flag",), "No such option"),
        (("--leader-elect=perhaps",), "perhaps"),
        (("--leader-elect", "--no-leader-elect"), "exclude each other"),
        (("--leader-elect-resource-name", ""), "leaderElection.resourceName: Required value"),
        (("--leader-elect-resource-namespace=",), "leaderElection.resourceNamespace: Required"),
        (("--scheduler-name", ""), "a name is needed"),
        (("extra",), "unexpected extra argument"),
    ],
)
def test_bad_flag_is_bad_usage(
    started: list[StartPlan], arguments: tuple[str, ...], said: str
) -> None:
    result = invoke("scheduler", *arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert started == []


def test_every_mistake_of_a_file_is_told_at_once(started: list[StartPlan], tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        HEAD + "parallelism: many\n"
        "profiles:\n"
        "- pluginConfig:\n"
        "  - name: NodeResourcesFit\n"
        "    args:\n"
        "      scoringStrategies: [{type: LeastAllocated, weight: 1}]\n"
    )
    result = invoke("scheduler", "--config", str(path))
    assert result.exit_code == 2
    assert "the configuration has 2 mistakes" in result.output
    assert f"{path}:3:1: parallelism: " in result.output
    assert "scoringStrategies" in result.output
    assert "Traceback" not in result.output
    assert started == []


def test_file_that_is_not_there_is_told(started: list[StartPlan], tmp_path: Path) -> None:
    result = invoke("scheduler", "--config", str(tmp_path / "no.yaml"))
    assert result.exit_code == 2
    assert result.output == f"Error: --config {tmp_path / 'no.yaml'}: No such file or directory\n"
    assert started == []


def test_profile_that_cannot_run_is_told(started: list[StartPlan], tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        HEAD + "profiles: [{plugins: {preFilter: {disabled: [{name: NodeResourcesFit}]}}}]"
    )
    result = invoke("scheduler", "--config", str(path))
    assert result.exit_code == 2
    assert "NodeResourcesFit is enabled at filter but disabled at preFilter" in result.output
    assert started == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KubeConfigError("--kubeconfig: no such file: /x"), 2),
        (ServingError("cannot serve on 0.0.0.0:10259: Address already in use"), 1),
    ],
)
def test_failed_start_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    async def run(plan: StartPlan) -> ExitCode:
        raise error

    use(monkeypatch, run)
    result = invoke("scheduler")
    assert result.exit_code == code
    assert result.output == f"Error: {error}\n"


@pytest.mark.parametrize("code", [ExitCode.STOPPED, ExitCode.FAILED])
def test_exit_code_is_the_schedulers(monkeypatch: pytest.MonkeyPatch, code: ExitCode) -> None:
    async def run(plan: StartPlan) -> ExitCode:
        return code

    use(monkeypatch, run)
    assert invoke("scheduler").exit_code == code


def test_configuration_in_effect_is_written(started: list[StartPlan], tmp_path: Path) -> None:
    result = invoke("scheduler", "--write-config-to", "-", "--leader-elect-retry-period", "3s")
    assert result.exit_code == 0
    document = yaml.safe_load(result.output)
    assert document["leaderElection"]["retryPeriod"] == "3s"
    assert document["profiles"][0]["schedulerName"] == "berthmaster"

    path = tmp_path / "written.yaml"
    assert invoke("scheduler", "--write-config-to", str(path)).exit_code == 0
    again = invoke("scheduler", "--config", str(path), "--write-config-to", "-")
    assert yaml.safe_load(again.stdout) == yaml.safe_load(path.read_text())
    assert started == []


def test_what_may_surprise_is_told_beside_the_written_configuration(
    started: list[StartPlan], tmp_path: Path
) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        f"{HEAD}percentageOfNodesToScore: 50\nprofiles: [{{schedulerName: default-scheduler}}]\n"
    )
    result = invoke("scheduler", "--config", str(path), "--write-config-to", "-")
    assert result.stderr.splitlines() == [
        "Note: the profile default-scheduler is served as berthmaster",
        "Note: without effect: percentageOfNodesToScore (every Node is judged)",
    ]
    assert yaml.safe_load(result.stdout)["percentageOfNodesToScore"] == 50
    assert started == []


@pytest.mark.parametrize("address", ["localhost", "10.0.0", ""])
def test_bind_address_is_an_ip(started: list[StartPlan], address: str) -> None:
    result = invoke("scheduler", "--bind-address", address)
    assert result.exit_code == 2
    assert f"{address!r} is not an IPv4 or IPv6 address" in result.output
    assert started == []


PLUGIN = """\
from berthmaster.plugin import Args, NodePlugin

class QuotaArgs(Args, frozen=True):
    limits: dict[str, int]

class Quota(NodePlugin[QuotaArgs]):
    args_type = QuotaArgs

    def filter(self, pod, node):
        return None
"""
QUOTA = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{{pluginConfig: [{{name: Quota, args: {args}}}]}}]
"""


@pytest.mark.parametrize(
    ("args", "mistake"),
    [
        ("{limits: {data: 10}}", ""),
        ("{limits: {data: ten}}", "args.limits.data: Invalid value"),
        ("{limit: {data: 10}}", 'args.limit: Unknown field: "limit"'),
    ],
)
def test_a_configuration_is_checked_with_the_arguments_of_plugins(
    args: str, mistake: str, tmp_path: Path
) -> None:
    plugin, path = tmp_path / "quota.py", tmp_path / "scheduler.yaml"
    plugin.write_text(PLUGIN)
    path.write_text(QUOTA.format(args=args))
    flags = ("--config", str(path), "--plugin", f"{plugin}:Quota")
    result = invoke("scheduler", *flags, "--write-config-to", "-")
    assert (result.exit_code, bool(result.stdout)) == ((2, False) if mistake else (0, True))
    assert mistake in result.stderr
    assert not mistake or f"{path}:3:" in result.stderr


def test_shells_complete_commands_with_what_they_do() -> None:
    completion = BashComplete(cli, {}, PROGRAM, "_BERTHMASTER_COMPLETE")
    items = completion.get_completions([], "")
    assert {item.value: item.help for item in items} == {
        name: entry.summary for name, entry in SUBCOMMANDS.items()
    }
    assert [item.value for item in completion.get_completions([], "ti")] == ["timeline"]
    assert "--version" in [item.value for item in completion.get_completions([], "--")]
    help_items = completion.get_completions(["agent"], "--node-n")
    assert [item.value for item in help_items] == ["--node-name"]


def test_no_command_is_loaded_to_complete_its_name() -> None:
    script = (
        "import sys\n"
        "from click.shell_completion import BashComplete\n"
        "from berthmaster.cli.root import SUBCOMMANDS, cli\n"
        'BashComplete(cli, {}, "berthmaster", "X").get_completions([], "s")\n'
        "print([e.module for e in SUBCOMMANDS.values() if e.module in sys.modules])\n"
    )
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")


@pytest.mark.parametrize("flag", ["--config", "--kubeconfig", "--tls-cert-file"])
def test_shells_complete_files(flag: str) -> None:
    completion = BashComplete(cli, {}, PROGRAM, "_BERTHMASTER_COMPLETE")
    items = completion.get_completions(["scheduler", flag], "/")
    assert [item.type for item in items] == ["file"]


def test_place_that_cannot_be_written_is_told(started: list[StartPlan], tmp_path: Path) -> None:
    result = invoke("scheduler", "--write-config-to", str(tmp_path / "no" / "x.yaml"))
    assert result.exit_code == 2
    assert "x.yaml: No such file or directory" in result.output
    assert started == []


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["version"], ["completion", "bash"], ["scheduler", "--write-config-to", "-"]],
)
def test_a_full_disk_is_told_in_one_line(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "berthmaster", *arguments]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.stderr == "Error: cannot write: No space left on device\n"
    assert ended.returncode == 1


def test_a_terminal_that_lacks_characters_gets_the_others(tmp_path: Path) -> None:
    names = ["éa", "日本"]
    nodes = [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}} for name in names]
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    snapshot = tmp_path / "cluster.yaml"
    snapshot.write_text(yaml.safe_dump_all([*nodes, pod], allow_unicode=True), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "berthmaster", "explain", "--snapshot", str(snapshot)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode("latin-1")
    assert "éa" in said
    assert "??" in said
