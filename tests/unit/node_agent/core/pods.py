"""Pods for tests of the agent: made of documents, as real ones are."""

from typing import Any

import msgspec

from node_agent.core.clock import Now
from node_agent.core.objects import Pod, WirePod, read_pod
from node_agent.core.operations import MIRROR_ANNOTATION

NOON_NANOSECONDS = 1_780_315_200_000_000_000
NOON = "2026-06-01T12:00:00.000000000Z"


def at(seconds: float) -> Now:
    """Give the time `seconds` after noon of the first of June 2026."""
    return Now(1000.0 + seconds, NOON_NANOSECONDS + round(seconds * 1e9))


def document(name: str = "a", **fields: Any) -> dict[str, Any]:
    """Give a Pod's document; fields of its metadata but for `spec` and `status`."""
    spec = fields.pop("spec", {"containers": [{"name": "c", "image": "i"}]})
    status = fields.pop("status", {"phase": "Pending"})
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", **fields}
    return {"metadata": metadata, "spec": spec, "status": status}


def make_pod(name: str = "a", **fields: Any) -> Pod:
    """Give a Pod (`document`)."""
    return read_pod(msgspec.convert(document(name, **fields), WirePod))


def make_mirror(name: str = "a", *, hash_: str = "h", uid: str = "", **fields: Any) -> Pod:
    """Give a mirror, its annotation as given."""
    annotations = {MIRROR_ANNOTATION: hash_}
    return make_pod(name, uid=uid or f"mirror-{name}", annotations=annotations, **fields)


def running(name: str = "c") -> dict[str, Any]:
    """Give the status of a container that runs."""
    state = {"running": {"startedAt": "2026-06-01T12:00:00Z"}}
    return {"name": name, "ready": True, "started": True, "state": state}


def ended(name: str = "c", exit_code: int = 0) -> dict[str, Any]:
    """Give the status of a container that has ended."""
    return {"name": name, "state": {"terminated": {"exitCode": exit_code}}}


def status(phase: str, *containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Give a Pod's status."""
    return {"phase": phase, "containerStatuses": list(containers), **fields}
