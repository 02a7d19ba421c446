"""What of the kubelet and the node is read, as the command line says it."""

from pathlib import Path
from typing import Any

import pytest

from kubeio.daemon import UsageError
from node_agent.shell.observation_options import (
    KubeletAccess,
    ObservationOptions,
    kubelet_url,
    read_observation_options,
)

FLAGS: dict[str, Any] = {
    "kubelet_url": "",
    "kubelet_certificate_authority": "",
    "kubelet_insecure_tls": False,
    "kubelet_poll_interval": 10.0,
    "kubelet_pods_path": "",
    "pod_logs_path": "",
    "read_events": False,
    "write_events": False,
    "write_events_after": 60.0,
}


def options_of(environ: dict[str, str] | None = None, **flags: Any) -> ObservationOptions:
    return read_observation_options(FLAGS | flags, environ or {})


def test_urls() -> None:
    assert kubelet_url("10.0.0.1") == "https://10.0.0.1:10250"
    assert kubelet_url("fd00::1", 10251) == "https://[fd00::1]:10251"


def test_the_kubelet_is_not_asked_unless_it_is_named() -> None:
    assert options_of() == ObservationOptions()


def test_a_pod_finds_it_on_its_node() -> None:
    found = options_of({"HOST_IP": "10.0.0.1"}, kubelet_insecure_tls=True).kubelet
    assert found == KubeletAccess(url="https://10.0.0.1:10250", verify=False)
    named = options_of({"HOST_IP": "10.0.0.1"}, kubelet_url="https://n:1/").kubelet
    assert named == KubeletAccess(url="https://n:1")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"kubelet_certificate_authority": "/ca", "kubelet_insecure_tls": True},
            "exclude each other",
        ),
        ({"kubelet_insecure_tls": True}, "no kubelet is named; pass --kubelet-url or set HOST_IP"),
    ],
)
def test_flags_that_contradict_each_other(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options_of(**flags)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"kubelet_url": "n:10250"}, "--kubelet-url: .*an http:// or https:// URL"),
        (
            {"kubelet_url": "https://n", "kubelet_certificate_authority": "/nowhere"},
            "--kubelet-url: /nowhere: not readable",
        ),
        ({"kubelet_pods_path": "/nowhere"}, "--kubelet-pods-path: /nowhere is no folder here"),
        ({"pod_logs_path": "/nowhere"}, "--pod-logs-path: /nowhere is no folder here"),
    ],
)
def test_what_cannot_be_used(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options_of(**flags).check()


def test_what_can_be_used(tmp_path: Path) -> None:
    options = options_of(kubelet_url="https://n:10250", pod_logs_path=str(tmp_path))
    options.check()
    ObservationOptions().check()
    assert options.configz() == {
        "kubeletURL": "https://n:10250",
        "kubeletInsecureTLS": False,
        "kubeletPollInterval": "10s",
        "kubeletPodsPath": "",
        "podLogsPath": str(tmp_path),
        "readEvents": False,
        "writeEvents": False,
        "writeEventsAfter": "1m0s",
    }
    assert ObservationOptions().configz()["kubeletURL"] == ""
