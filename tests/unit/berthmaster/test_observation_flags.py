"""The flags of ``berthmaster agent`` that say what it reads beside its sources."""

from pathlib import Path

import pytest

from node_agent.shell.observation_options import KubeletAccess, ObservationOptions
from tests.unit.berthmaster.test_agent_command import Runs, call, runs

__all__ = ["runs"]  # a fixture


def observation_of(
    runs: Runs, *flags: str, env: dict[str, str] | None = None
) -> ObservationOptions:
    result = call("--node-name", "n", *flags, env=env)
    assert result.exit_code == 0, result.output
    return runs.options[-1].observation


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST_IP", "KUBELET_URL"):
        monkeypatch.delenv(name, raising=False)


def test_nothing_but_the_sources_is_read_by_default(runs: Runs) -> None:
    assert observation_of(runs) == ObservationOptions()
    assert not ObservationOptions().write_events


def test_all_flags(runs: Runs, tmp_path: Path) -> None:
    path = str(tmp_path)
    found = observation_of(
        runs,
        *("--kubelet-url", "https://10.0.0.7:10250", "--kubelet-insecure-tls"),
        *("--kubelet-poll-interval", "2s", "--kubelet-pods-path", path, "--pod-logs-path", path),
        *("--read-events", "--write-events", "--write-events-after", "5m"),
    )
    assert found == ObservationOptions(
        kubelet=KubeletAccess(url="https://10.0.0.7:10250", verify=False),
        poll_seconds=2.0,
        kubelet_pods_path=path,
        pod_logs_path=path,
        read_events=True,
        write_events=True,
        write_events_after_seconds=300.0,
    )


def test_the_kubelet_may_be_named_by_the_environment(runs: Runs) -> None:
    by_url = observation_of(runs, env={"KUBELET_URL": "https://k:1"}).kubelet
    assert by_url == KubeletAccess(url="https://k:1")
    by_address = observation_of(runs, env={"HOST_IP": "fd00::7"}).kubelet
    assert by_address == KubeletAccess(url="https://[fd00::7]:10250")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--kubelet-insecure-tls"], "no kubelet is named; pass --kubelet-url or set HOST_IP"),
        (["--kubelet-url", "k:10250"], "--kubelet-url: server 'k:10250'"),
        (
            ["--kubelet-url", "https://k", "--kubelet-certificate-authority", "/nowhere"],
            "/nowhere: not readable",
        ),
        (["--pod-logs-path", "/nowhere"], "--pod-logs-path: /nowhere is no folder here"),
        (["--kubelet-poll-interval", "often"], "often"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(runs: Runs, flags: list[str], message: str) -> None:
    result = call("--node-name", "n", *flags)
    assert result.exit_code == 2
    assert message in result.stderr
    assert runs.options == []
