"""What the commands do to a machine, from nothing, half made, stopped and in others' hands."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.kind import commands
from deploy.kind.commands import UpOptions
from deploy.kind.layout import ClusterRecord
from deploy.programs.errors import DeployError, UsageError
from deploy.programs.reporting import SilentReporter
from tests.unit.deploy.fakes import recording_reporter
from tests.unit.deploy.kind.conftest import IMAGE_ID, NODES, Machine

QUIET = SilentReporter()


def options(machine: Machine, **changes: object) -> UpOptions:
    return UpOptions(state_dir=machine.directory.path, name="one", **changes)  # type: ignore[arg-type]


def record(machine: Machine, *, is_made: bool) -> None:
    machine.directory.create()
    machine.directory.save(ClusterRecord("one", "berthmaster-node:v1", False, is_made))


def test_up_from_nothing(machine: Machine) -> None:
    reporter, text = recording_reporter()
    commands.up(options(machine), reporter)
    assert [line.split()[1] for line in machine.calls("kind", "helm")] == [
        *("create", "load", "upgrade"),
    ]
    [create] = machine.calls("kind create")
    assert "--name one --image berthmaster-node:v1" in create
    [load] = machine.calls("kind load")
    assert load.endswith("docker-image --name one berthmaster:dev berthmaster-agnhost:dev")
    [upgrade] = machine.calls("helm")
    assert f"scheduler.podAnnotations.image-id={IMAGE_ID}" in upgrade
    restarted = machine.calls("docker exec")
    for name in NODES:
        assert f"docker exec {name} systemctl restart pod-routes.service" in restarted
    assert machine.directory.load() == ClusterRecord("one", "berthmaster-node:v1", False, True)
    assert machine.directory.kubeconfig.stat().st_mode & 0o777 == 0o600
    kubeconfig = machine.directory.kubeconfig
    assert f"  export KUBECONFIG={kubeconfig}\n" in text.getvalue()
    assert f"  python -m deploy.kind down --state-dir {machine.directory.path} " in text.getvalue()


def test_up_again_goes_on_with_what_is_there(machine: Machine) -> None:
    commands.up(options(machine), QUIET)
    machine.set_containers("running", "exited", "paused")
    machine.forget_calls()
    commands.up(options(machine, with_chart=False), QUIET)
    assert machine.calls("kind create", "kind delete", "helm") == []
    assert machine.calls("docker start", "docker unpause") == [
        "docker start one-worker",
        "docker unpause one-worker2",
    ]


def test_a_half_made_cluster_is_made_anew(machine: Machine) -> None:
    record(machine, is_made=False)
    machine.set_containers("running", "exited", "exited")
    commands.up(options(machine), QUIET)
    assert [line.split()[1] for line in machine.calls("kind")] == ["delete", "create", "load"]


def test_a_cluster_that_cannot_be_made_is_removed(machine: Machine) -> None:
    machine.fails("kind")
    with pytest.raises(DeployError, match="ERROR: no room"):
        commands.up(options(machine), QUIET)
    assert not (machine.root / "containers").exists()
    found = machine.directory.load()
    assert found is not None
    assert not found.is_made


def test_what_may_have_run_out_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.fails("kind")
    monkeypatch.setattr(commands, "inotify_advice", lambda: "raise the limit")
    with pytest.raises(DeployError, match=r"ERROR: no room(.|\n)*\nraise the limit$"):
        commands.up(options(machine), QUIET)


def test_a_chart_that_fails_leaves_the_cluster(machine: Machine) -> None:
    machine.fails("helm")
    with pytest.raises(DeployError, match="timed out"):
        commands.up(options(machine), QUIET)
    assert machine.calls("kind delete") == []


def test_up_leaves_others_clusters_alone(machine: Machine) -> None:
    machine.set_containers("running", "running", "running")
    with pytest.raises(DeployError, match=r"not made here: choose another name \(--name\)"):
        commands.up(options(machine), QUIET)
    assert machine.calls("kind", "docker start") == []


def test_up_refuses_what_it_cannot_do(machine: Machine, tmp_path: Path) -> None:
    missing = tmp_path / "values.yaml"
    with pytest.raises(UsageError, match=f"no file {missing}"):
        commands.up(options(machine, values=(missing,)), QUIET)
    record(machine, is_made=True)
    other = UpOptions(state_dir=machine.directory.path, name="two")
    with pytest.raises(UsageError, match="has the cluster one: take that down first"):
        commands.up(other, QUIET)


def test_down_leaves_nothing(machine: Machine) -> None:
    commands.up(options(machine), QUIET)
    commands.down(machine.directory.path, None, QUIET)
    assert not (machine.root / "containers").exists()
    assert not machine.directory.path.exists()


def test_down_keeps_what_is_not_its_own(machine: Machine) -> None:
    commands.up(options(machine), QUIET)
    notes = machine.directory.path / "notes"
    notes.touch()
    commands.down(machine.directory.path, None, QUIET)
    assert [path.name for path in machine.directory.path.iterdir()] == ["notes"]


def test_down_of_nothing_says_so(machine: Machine) -> None:
    reporter, text = recording_reporter()
    commands.down(machine.directory.path, None, reporter)
    assert f"no cluster in {machine.directory.path}" in text.getvalue()
    assert machine.calls("kind") == []


def test_down_by_name_needs_no_readable_record(machine: Machine) -> None:
    record(machine, is_made=True)
    machine.directory.record.write_text("{")
    with pytest.raises(DeployError, match="down --name NAME"):
        commands.down(machine.directory.path, None, QUIET)
    commands.down(machine.directory.path, "one", QUIET)
    [deleted] = machine.calls("kind")
    assert deleted == "kind delete cluster --name one"


@pytest.mark.parametrize(
    ("ready", "pod_is_ready", "is_well"),
    [(NODES, True, True), (NODES[:2], True, False), (NODES, False, False)],
)
def test_status(
    machine: Machine, ready: tuple[str, ...], pod_is_ready: bool, is_well: bool
) -> None:
    commands.up(options(machine), QUIET)
    machine.set_ready(*ready)
    condition = {"type": "Ready", "status": str(pod_is_ready)}
    status = {"phase": "Running", "conditions": [condition]}
    machine.set_pods({"metadata": {"name": "berthmaster-scheduler-x"}, "status": status})
    reporter, text = recording_reporter()
    assert commands.status(machine.directory.path, reporter) is is_well
    for name in NODES:
        word = "ready" if name in ready else "not ready"
        assert f"{name:30} running    {word}\n" in text.getvalue()
    word = "ready" if pod_is_ready else "not ready"
    assert f"berthmaster-scheduler-x                    Running    {word}\n" in text.getvalue()


def test_status_of_nothing(machine: Machine) -> None:
    reporter, text = recording_reporter()
    assert not commands.status(machine.directory.path, reporter)
    assert text.getvalue() == f"no cluster in {machine.directory.path}\n"
    record(machine, is_made=False)
    assert not commands.status(machine.directory.path, reporter)
    assert "the cluster one is not finished" in text.getvalue()


def test_kubeconfig_and_load_need_a_cluster(machine: Machine) -> None:
    for ask in (
        lambda: commands.kubeconfig(machine.directory.path),
        lambda: commands.load(machine.directory.path, ["a:dev"], QUIET),
    ):
        with pytest.raises(DeployError, match=r"no cluster in .*`python -m deploy.kind up` makes"):
            ask()
    record(machine, is_made=True)
    assert commands.kubeconfig(machine.directory.path) == machine.directory.kubeconfig
    commands.load(machine.directory.path, ["a:dev", "b:dev"], QUIET)
    assert machine.calls("kind") == ["kind load docker-image --name one a:dev b:dev"]


def test_without_docker_it_is_said_what_helps(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(DeployError, match=r"Docker is not installed(.|\n)*docs.docker.com"):
        commands.up(options(machine), QUIET)
    assert not machine.directory.path.exists()
