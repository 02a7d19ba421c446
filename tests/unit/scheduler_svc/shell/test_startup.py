import logging
from pathlib import Path

import pytest

from kubeio.daemon import UsageError
from scheduler_svc.shell.config import (
    MAX_FILE_BYTES,
    ConfigurationError,
    default_configuration,
)
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.shared_options import LeaderElectionOptions
from scheduler_svc.shell.startup import (
    StartPlan,
    effective_configuration,
    log_start,
    plan_start,
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def options_with(tmp_path: Path, text: str = "", **others: object) -> SchedulerOptions:
    """Options of a process that reads a file of `text`, or none if that is empty."""
    path = tmp_path / "scheduler.yaml"
    if text:
        path.write_text(HEAD + text)
        others["config_path"] = str(path)
    return SchedulerOptions(version="1.2.3", **others)  # type: ignore[arg-type]


def logged(plan: StartPlan, caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.INFO):
        log_start(plan, "host_1")
    return [record.getMessage() for record in caplog.records]


def test_without_a_file_the_defaults_are_served_under_our_name(tmp_path: Path) -> None:
    plan = plan_start(options_with(tmp_path))
    assert [profile.scheduler_name for profile in plan.profiles] == ["berthmaster"]
    election = plan.configuration.leader_election
    assert (election.resource_namespace, election.resource_name) == ("kube-system", "berthmaster")
    assert plan.elects


def test_file_without_an_end_is_refused() -> None:
    endless = SchedulerOptions(version="1", config_path="/dev/zero")
    with pytest.raises(ConfigurationError, match=f"more than {MAX_FILE_BYTES} bytes"):
        plan_start(endless)


def test_flags_overrule_the_file(tmp_path: Path) -> None:
    text = "leaderElection: {leaseDuration: 30s, resourceName: other, resourceNamespace: ns}"
    flags = LeaderElectionOptions(lease_duration_seconds=60.0, resource_name="mine")
    election = effective_configuration(options_with(tmp_path, text, election=flags)).leader_election
    assert election.lease_duration_seconds == 60
    assert election.renew_deadline_seconds == 10
    assert election.resource_name == "mine"
    assert election.resource_namespace == "ns"


def test_schedulers_of_different_names_do_not_compete(tmp_path: Path) -> None:
    def lease_of(text: str = "", **others: object) -> str:
        options = options_with(tmp_path, text, **others)
        return effective_configuration(options).leader_election.resource_name

    assert lease_of(scheduler_name="gpu") == "berthmaster-gpu"
    # Unless the file or a flag says which.
    text = "leaderElection: {resourceName: berthmaster}"
    assert lease_of(text, scheduler_name="gpu") == "berthmaster"
    flags = LeaderElectionOptions(resource_name="mine")
    assert lease_of(scheduler_name="gpu", election=flags) == "mine"


def test_leader_election_can_be_switched_off_by_flag_or_file(tmp_path: Path) -> None:
    off = LeaderElectionOptions(leader_elect=False)
    assert not plan_start(options_with(tmp_path, election=off)).elects
    assert not plan_start(options_with(tmp_path, "leaderElection: {leaderElect: false}")).elects
    on = LeaderElectionOptions(leader_elect=True)
    text = "leaderElection: {leaderElect: false}"
    assert plan_start(options_with(tmp_path, text, election=on)).elects


def test_dry_run_takes_no_lease(tmp_path: Path) -> None:
    assert not plan_start(options_with(tmp_path, dry_run=True)).elects


def test_flags_that_contradict_are_all_told_at_once(tmp_path: Path) -> None:
    flags = LeaderElectionOptions(lease_duration_seconds=5.0, retry_period_seconds=9.0)
    with pytest.raises(ConfigurationError) as caught:
        plan_start(options_with(tmp_path, election=flags))
    text = str(caught.value)
    assert "the command line: leaderElection.leaseDuration: Invalid value" in text
    assert "the command line: leaderElection.renewDeadline: Invalid value" in text


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "no.yaml")
    with pytest.raises(UsageError, match=f"--config {missing}: No such file or directory"):
        plan_start(options_with(tmp_path, config_path=missing))


def test_kubeconfig_flag_overrules_the_files(tmp_path: Path) -> None:
    text = "clientConnection: {kubeconfig: /from/file}"
    options = options_with(tmp_path, text)
    configuration = effective_configuration(options)
    assert options.kubeconfig_for(configuration) == "/from/file"
    assert options_with(tmp_path, kubeconfig="/flag").kubeconfig_for(configuration) == "/flag"
    assert options_with(tmp_path).kubeconfig_for(default_configuration()) is None


def test_configz_shows_what_is_in_effect(tmp_path: Path) -> None:
    flags = LeaderElectionOptions(lease_duration_seconds=60.0)
    document = plan_start(options_with(tmp_path, election=flags)).configz()["componentconfig"]
    assert document["kind"] == "KubeSchedulerConfiguration"
    assert document["leaderElection"]["leaseDuration"] == "1m0s"
    assert document["profiles"][0]["schedulerName"] == "berthmaster"


def test_user_agent_names_version_and_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    agent = plan_start(options_with(tmp_path)).user_agent
    assert agent == "berthmaster/1.2.3 (linux/amd64) scheduler"


def test_log_says_who_starts_with_what(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert logged(plan_start(options_with(tmp_path)), caplog)[0] == "Starting Berthmaster"
    said = vars(caplog.records[0])["fields"]
    assert said["version"] == "1.2.3"
    assert said["identity"] == "host_1"
    assert said["config"] == "defaults"
    assert said["profiles"] == "berthmaster"


def test_log_names_the_extenders_and_hides_their_logins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = (
        "extenders:\n"
        "- {urlPrefix: 'http://me:secret@127.0.0.1:1/x', filterVerb: f, preemptVerb: p,"
        " managedResources: [{name: example.com/a}]}\n"
        "- {urlPrefix: 'http://b', prioritizeVerb: p, weight: 1, bindVerb: b, ignorable: true}\n"
    )
    plan = plan_start(options_with(tmp_path, text))
    assert logged(plan, caplog).count("Extender") == 2
    said = [vars(r)["fields"] for r in caplog.records if r.getMessage() == "Extender"]
    assert said[0] == {
        "url": "http://127.0.0.1:1/x",
        "verbs": "filter,preempt",
        "ignorable": False,
        "resources": "example.com/a",
    }
    assert said[1]["verbs"] == "prioritize,bind"
    assert said[1]["resources"] == "all pods"


def test_log_warns_of_what_will_not_be_as_expected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = (
        "parallelism: 8\n"
        "profiles: [{schedulerName: default-scheduler}]\n"
        "extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}]\n"
    )
    plan = plan_start(options_with(tmp_path, text))
    lines = logged(plan, caplog)
    assert "Configuration: the profile default-scheduler is served as berthmaster" in lines
    assert "Configuration: without effect: parallelism (one thread decides)" in lines
    missing = [r for r in caplog.records if "not implemented yet: Pods that need" in r.getMessage()]
    if plan.not_implemented:
        [record] = missing
        assert vars(record)["fields"]["plugins"] == ",".join(plan.not_implemented)


def test_log_says_that_a_dry_run_writes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = logged(plan_start(options_with(tmp_path, dry_run=True)), caplog)
    assert any(line.startswith("Dry run: nothing is written") for line in lines)


PLUGIN = """
from berthmaster.plugin import NodePlugin

class Half(NodePlugin):
    def score(self, pod, node):
        return 1

    def filters(self, pod, node):
        return None
"""


def test_misspelt_methods_of_a_plugin_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "half_of_this_test.py").write_text(PLUGIN)
    flag = f"{tmp_path / 'half_of_this_test.py'}:Half"
    plan = plan_start(options_with(tmp_path, plugins=(flag,)))
    [said] = [line for line in logged(plan, caplog) if "Half has" in line]
    assert said == (
        "Loaded, but: plugin Half has a method 'filters', which no extension point calls; "
        "did you mean 'filter'?"
    )
