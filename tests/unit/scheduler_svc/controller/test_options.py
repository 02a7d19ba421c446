"""``berthmaster controller`` as a command: flags, help, messages and exit codes."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from berthmaster.cli import controller
from berthmaster.cli.root import cli
from scheduler_svc.controller.options import ControllerOptions
from scheduler_svc.controller.profiles.reconciler import Rules


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["controller", *arguments])


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ControllerOptions, Rules]]:
    """Give what a controller would have been started with."""
    seen: list[tuple[ControllerOptions, Rules]] = []

    async def run(options: ControllerOptions, rules: Rules) -> int:
        seen.append((options, rules))
        return 0

    monkeypatch.setattr(controller, "run_controller", run)
    monkeypatch.setattr(controller, "configure_logging", lambda **_: None)
    return seen


def test_the_help_has_examples_and_every_flag_under_a_heading() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    assert "berthmaster controller --config scheduler.yaml" in result.output
    for heading in ("Cluster:", "Leader election:", "Serving:", "Logging:"):
        assert heading in result.output
    assert "Options:" not in result.output


def test_without_flags_it_elects_by_a_lease_of_its_own_on_a_port_of_its_own(
    started: list[tuple[ControllerOptions, Rules]],
) -> None:
    assert invoke().exit_code == 0
    [(options, rules)] = started
    election = options.leader_election()
    assert (election.leader_elect, election.resource_name, election.resource_namespace) == (
        True,
        "berthmaster-controller",
        "kube-system",
    )
    assert options.serving.port == 10261
    assert rules.configuration.profile("berthmaster") is not None
    assert not rules.serves_default


def test_flags_say_what_the_schedulers_serve(
    started: list[tuple[ControllerOptions, Rules]], tmp_path: Path
) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: a}, {schedulerName: default-scheduler}]\n"
    )
    assert invoke("--config", str(config), "--scheduler-name", "default-scheduler").exit_code == 0
    [(_, rules)] = started
    names = [profile.scheduler_name for profile in rules.configuration.profiles]
    assert names == ["a", "default-scheduler"]
    assert rules.serves_default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scheduler-name", ""], "--scheduler-name: a name is needed"),
        (["--config", "/does/not/exist"], "/does/not/exist: No such file"),
        (["--plugin", "no.such:Plugin"], "no.such"),
        (["--leader-elect-lease-duration", "1s"], "leaseDuration"),
        (["--leader-elect", "--no-leader-elect"], "exclude each other"),
        (["--secure-port", "70000"], "--secure-port"),
        (["--kubeconfig", "/does/not/exist"], "no such file"),
    ],
)
def test_bad_flags_end_with_2_and_say_what_is_wrong(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


PLUGIN = """
from berthmaster.plugin import Args, NodePlugin

class QuotaArgs(Args, frozen=True):
    limits: dict[str, int]

class Quota(NodePlugin[QuotaArgs]):
    args_type = QuotaArgs

    def filter(self, pod, node):
        return None
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: berthmaster
  plugins:
    multiPoint:
      enabled: [{name: Quota}]
  pluginConfig:
  - name: Quota
    args: ARGS
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONFIGURATION.replace("ARGS", "{limits: 7}"), "args.limits: Invalid value: 7"),
        (CONFIGURATION.replace("ARGS", "{limits: {}, colour: red}"), "args.colour"),
        (CONFIGURATION.replace("ARGS", "{}"), "args.limits: Required value"),
        (CONFIGURATION.partition("  plugins:")[0], "plugin Quota needs arguments in pluginConfig"),
        (
            CONFIGURATION.replace("ARGS", "{limits: {}}").replace(
                "multiPoint:", "preFilter: {disabled: [{name: NodeAffinity}]}\n    multiPoint:"
            ),
            "NodeAffinity is enabled at filter but disabled at preFilter",
        ),
    ],
)
def test_what_schedulers_refuse_is_refused_in_the_same_words(
    tmp_path: Path, text: str, message: str, started: list[tuple[ControllerOptions, Rules]]
) -> None:
    (tmp_path / "quota_of_this_test.py").write_text(PLUGIN)
    config = tmp_path / "scheduler.yaml"
    config.write_text(text)
    flags = ("--config", str(config), "--plugin", f"{tmp_path / 'quota_of_this_test.py'}:Quota")
    result = invoke(*flags)
    assert (result.exit_code, started) == (2, [])
    assert message in result.stderr
    beside = CliRunner().invoke(cli, ["scheduler", *flags, "--write-config-to", "-"])
    assert (beside.exit_code, beside.stderr) == (2, result.stderr)


def test_configz_shows_what_is_in_effect() -> None:
    options = ControllerOptions(version="1.0", plugins=("a:B",))
    shown: dict[str, Any] = options.configz()["controller"]
    assert shown["schedulerName"] == "berthmaster"
    assert shown["plugins"] == ["a:B"]
    assert shown["leaderElection"]["resourceName"] == "berthmaster-controller"
    assert shown["leaderElection"]["leaseDuration"] == "15s"
