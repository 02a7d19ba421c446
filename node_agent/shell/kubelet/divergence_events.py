"""Kubernetes Events about lasting differences, beside the Pod that they are about.

They are few (`DivergenceLimits`), so each is written once, by itself, and not tried again.

Source: client-go tools/events/event_recorder.go, v0.36.3.
"""

import logging
from datetime import UTC, datetime
from typing import Any, Final

from kubeio.client import KubeClient
from kubeio.errors import KubeError
from kubeio.logs import fields
from kubeio.resources import ResourcePath
from node_agent.core.clock import Now
from node_agent.core.divergence.divergences import Divergence

CONTROLLER: Final = "berthmaster-agent"
EVENTS: Final = ResourcePath("events.k8s.io", "v1", "events")
TIMEOUT_SECONDS: Final = 10.0
_NAME_LIMIT_CHARACTERS: Final = 253
_SUFFIX_CHARACTERS: Final = 17
_NOTE_LIMIT_CHARACTERS: Final = 1024
_INSTANCE_LIMIT_CHARACTERS: Final = 128

_logger = logging.getLogger(__name__)


class DivergenceEvents:
    """Writes Events, and counts how that went.

    Parameters
    ----------
    client
        Of the API server.
    node_name
        Named as the instance that reports.
    """

    def __init__(self, client: KubeClient, node_name: str) -> None:
        self._client = client
        self._node_name = node_name
        self._last_named_nanoseconds = 0
        self.counts = {"written": 0, "failed": 0}

    async def write(self, divergence: Divergence, now: Now) -> None:
        """Write one; a failure is counted and logged."""
        finding = divergence.finding
        if not finding.name:
            return  # the runtime gives no name, and an Event needs a Pod to stand beside
        # Two about one Pod at one moment would have one name.
        named = max(now.wall_nanoseconds, self._last_named_nanoseconds + 1)
        self._last_named_nanoseconds = named
        body = event_body(divergence, self._node_name, now, named_nanoseconds=named)
        path = EVENTS.in_namespace(finding.namespace).collection
        try:
            await self._client.send_json("POST", path, body, dict, timeout_seconds=TIMEOUT_SECONDS)
        except KubeError as error:
            self.counts["failed"] += 1
            _logger.warning(
                "Cannot write an Event", extra=fields(kind=finding.kind.value, error=str(error))
            )
        else:
            self.counts["written"] += 1


def event_body(
    divergence: Divergence, node_name: str, now: Now, *, named_nanoseconds: int
) -> dict[str, Any]:
    """Give an ``events.k8s.io/v1`` Event; its name ends with `named_nanoseconds`."""
    finding = divergence.finding
    start = finding.name[: _NAME_LIMIT_CHARACTERS - _SUFFIX_CHARACTERS].rstrip("-.")
    age_seconds = round(now.monotonic_seconds - divergence.since_seconds)
    time = datetime.fromtimestamp(now.wall_seconds, UTC).isoformat(timespec="microseconds")
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{start}.{named_nanoseconds:016x}",
            "namespace": finding.namespace,
        },
        "eventTime": time.replace("+00:00", "Z"),
        "type": "Warning",
        "reason": "".join(word.capitalize() for word in finding.kind.value.split("_")),
        "action": "Comparing",
        "note": f"{finding.detail} So for {age_seconds} s."[:_NOTE_LIMIT_CHARACTERS],
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": finding.namespace,
            "name": finding.name,
            "uid": finding.uid,
        },
        "reportingController": CONTROLLER,
        "reportingInstance": f"{CONTROLLER}-{node_name}"[:_INSTANCE_LIMIT_CHARACTERS],
    }
