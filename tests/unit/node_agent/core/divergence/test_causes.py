"""What a Pod waits for, in the order in which the kubelet works."""

from typing import Any

import pytest

from node_agent.core.divergence.causes import Cause, KubeletEvidence, diagnose
from node_agent.core.journey.journey import FileTimes
from tests.unit.node_agent.core.pods import ended, make_pod, running

START = "2026-06-01T12:00:02Z"
TOKEN = {"name": "kube-api-access", "projected": {}}
SPEC = {"containers": [{"name": "c", "image": "i"}], "volumes": [TOKEN]}
INIT_SPEC = {**SPEC, "initContainers": [{"name": "i"}]}
SIDECAR_SPEC = {**SPEC, "initContainers": [{"name": "s", "restartPolicy": "Always"}]}
SANDBOX = {"type": "PodReadyToStartContainers", "status": "True"}
ASKED = KubeletEvidence(is_reachable=True, has_seen=True)


def waiting(name: str, reason: str, message: str = "") -> dict[str, Any]:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": message}}}


def cause_of(
    spec: dict[str, Any], evidence: KubeletEvidence = ASKED, /, **status: Any
) -> tuple[str, str] | None:
    status = {"phase": "Pending", **status}
    diagnosis = diagnose(make_pod("a", spec=spec, status=status), evidence)
    return None if diagnosis is None else (diagnosis.cause.value, diagnosis.detail)


def with_sandbox(*containers: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {
        "startTime": START,
        "conditions": [SANDBOX],
        "containerStatuses": list(containers),
        **status,
    }


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    ],
)
def test_nothing_to_ask(status: dict[str, Any]) -> None:
    assert cause_of(SPEC, **status) is None


def test_a_pod_that_is_being_deleted_waits_for_nothing() -> None:
    assert diagnose(make_pod("a", deletionTimestamp=START)) is None


def test_refused() -> None:
    found = cause_of(SPEC, phase="Failed", reason="OutOfcpu", message="too much")
    assert found == ("refused", "The kubelet refused it: OutOfcpu: too much")


@pytest.mark.parametrize(
    ("reachable", "seen", "cause"),
    [
        (False, None, Cause.KUBELET_UNREACHABLE),
        (None, None, Cause.KUBELET_SILENT),
        (True, False, Cause.NOT_SEEN),
        (True, True, Cause.SYNC_NOT_STARTED),
    ],
)
def test_bound_and_not_begun(reachable: bool | None, seen: bool | None, cause: Cause) -> None:
    diagnosis = diagnose(make_pod("a"), KubeletEvidence(is_reachable=reachable, has_seen=seen))
    assert diagnosis is not None
    assert diagnosis.cause is cause


def test_without_any_evidence() -> None:
    diagnosis = diagnose(make_pod("a"))
    assert diagnosis is not None
    assert diagnosis.cause is Cause.KUBELET_SILENT


@pytest.mark.parametrize(
    ("files", "events", "volumes", "cause"),
    [
        (None, frozenset(), [TOKEN], "volumes_or_sandbox"),
        (None, frozenset(), [], "sandbox"),
        (None, frozenset({"FailedMount"}), [TOKEN], "volumes"),
        (None, frozenset({"FailedAttachVolume"}), [TOKEN], "volumes"),
        (None, frozenset({"FailedMount", "FailedCreatePodSandBox"}), [TOKEN], "sandbox"),
        (FileTimes(data_directory=1), frozenset({"FailedCreatePodSandBox"}), [TOKEN], "volumes"),
        (FileTimes(data_directory=1, log_directory=2), frozenset(), [TOKEN], "sandbox"),
    ],
)
def test_volumes_or_the_sandbox(
    files: FileTimes | None, events: frozenset[str], volumes: list[dict[str, Any]], cause: str
) -> None:
    evidence = KubeletEvidence(True, True, files, events)
    found = cause_of(
        {**SPEC, "volumes": volumes},
        evidence,
        startTime=START,
        containerStatuses=[waiting("c", "ContainerCreating")],
    )
    assert found is not None
    assert found[0] == cause


def test_a_container_that_ever_ran_had_a_sandbox() -> None:
    """The condition may be missing: it came with 1.29, and is False between two sandboxes."""
    status = {"startTime": START, "containerStatuses": [running("c") | {"ready": False}]}
    assert cause_of(SPEC, **status) == ("readiness_probe", "c: its readiness probe fails.")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"running": {"startedAt": START}}, ("init_container", "i: is running")),
        ({"terminated": {"exitCode": 1}}, ("init_container", "i: has failed")),
        (
            {"waiting": {"reason": "CrashLoopBackOff"}},
            ("init_container", "i: CrashLoopBackOff"),
        ),
        ({"waiting": {"reason": "PodInitializing"}}, ("init_container", "i: PodInitializing")),
        (
            {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}},
            ("image_pull", "i: ImagePullBackOff: Back-off"),
        ),
        (
            {"waiting": {"reason": "CreateContainerConfigError"}},
            ("container_creation", "i: CreateContainerConfigError"),
        ),
    ],
)
def test_init_containers(state: dict[str, Any], expected: tuple[str, str]) -> None:
    status = with_sandbox(
        waiting("c", "PodInitializing"), initContainerStatuses=[{"name": "i", "state": state}]
    )
    assert cause_of(INIT_SPEC, **status) == expected


def test_init_containers_that_are_done_are_not_waited_for() -> None:
    after = waiting("c", "ErrImagePull")
    done = with_sandbox(after, initContainerStatuses=[ended("i")])
    assert cause_of(INIT_SPEC, **done) == ("image_pull", "c: ErrImagePull")
    untold = with_sandbox(after)
    assert cause_of(INIT_SPEC, **untold) == ("image_pull", "c: ErrImagePull")


@pytest.mark.parametrize(("started", "cause"), [(True, "image_pull"), (False, "init_container")])
def test_a_sidecar_has_to_start_only(started: bool, cause: str) -> None:
    sidecar = {**running("s"), "started": started}
    status = with_sandbox(waiting("c", "ErrImagePull"), initContainerStatuses=[sidecar])
    found = cause_of(SIDECAR_SPEC, **status)
    assert found is not None
    assert found[0] == cause


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        *(
            (reason, "image_pull")
            for reason in (
                "ErrImagePull",
                "ImagePullBackOff",
                "InvalidImageName",
                "ErrImageNeverPull",
                "ImageInspectError",
                "RegistryUnavailable",
                "SignatureValidationFailed",
            )
        ),
        *(
            (reason, "container_creation")
            for reason in (
                "CreateContainerConfigError",
                "CreateContainerError",
                "RunContainerError",
                "PreCreateHookError",
                "PreStartHookError",
                "PostStartHookError",
            )
        ),
        ("CrashLoopBackOff", "crash_loop"),
        ("ContainerCreating", "image_pull_or_creation"),
        ("", "image_pull_or_creation"),
    ],
)
def test_what_a_container_waits_for(reason: str, cause: str) -> None:
    found = cause_of(SPEC, **with_sandbox(waiting("c", reason)))
    assert found is not None
    assert found[0] == cause


def test_directories_tell_a_pull_from_a_creation() -> None:
    status = with_sandbox(waiting("c", "ContainerCreating"))
    pulling = KubeletEvidence(True, True, FileTimes(1, 2))
    assert cause_of(SPEC, pulling, **status) == ("image_pull", "c: its image is being pulled.")
    creating = KubeletEvidence(True, True, FileTimes(1, 2, {"c": 3}))
    assert cause_of(SPEC, creating, **status) == ("container_creation", "c: it is being created.")


def test_a_container_without_a_status() -> None:
    status = {"startTime": START, "conditions": [SANDBOX]}
    found = cause_of(SPEC, **status)
    assert found is not None
    assert found[0] == "image_pull_or_creation"


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, ("crash_loop", "c: ended with exit code 0, is to be started again.")),
        ("OnFailure", 1, ("crash_loop", "c: ended with exit code 1, is to be started again.")),
        ("OnFailure", 0, ("unknown", "Nothing tells what it waits for.")),
        ("Never", 1, ("unknown", "Nothing tells what it waits for.")),
    ],
)
def test_a_container_that_has_ended(policy: str, code: int, expected: tuple[str, str]) -> None:
    status = with_sandbox(ended("c", code))
    assert cause_of({**SPEC, "restartPolicy": policy}, **status) == expected


def test_probes() -> None:
    starting = {**running("c"), "started": False, "ready": False}
    assert cause_of(SPEC, **with_sandbox(starting)) == (
        "startup_probe",
        "c: its startup probe has not passed.",
    )
    unready = {**running("c"), "ready": False}
    assert cause_of(SPEC, **with_sandbox(unready)) == (
        "readiness_probe",
        "c: its readiness probe fails.",
    )


def test_readiness_gates() -> None:
    spec = {**SPEC, "readinessGates": [{"conditionType": "example.com/ok"}]}
    assert cause_of(spec, **with_sandbox(running("c"))) == (
        "readiness_gate",
        "example.com/ok is not True.",
    )
    conditions = [SANDBOX, {"type": "example.com/ok", "status": "True"}]
    status = with_sandbox(running("c"), conditions=conditions)
    assert cause_of(spec, **status) == ("unknown", "Nothing tells what it waits for.")
