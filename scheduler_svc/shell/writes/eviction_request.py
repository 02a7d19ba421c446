"""The two writes of an eviction, as they are sent.

Source: pkg/scheduler/framework/preemption/executor.go (`PreemptPod`) and pkg/scheduler/util/
utils.go (`DeletePod`), v1.36.3. Difference: both name the Pod's uid, so that another Pod
that has come to have the name is left alone.
"""

from typing import Final

import msgspec

from scheduler_svc.core.effects import PodReference, Victim
from scheduler_svc.shell.timestamps import format_time

OTHER_POD: Final = ("metadata.uid: Invalid value", "UID in precondition")
"""What the API server (1.36.3) says to a patch, and a deletion, of another Pod than the named."""


class _Condition(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int = 0


def encode_disruption(victim: Victim, message: str, wall_seconds: float) -> bytes:
    """Give the body of the patch of the status that says why the Pod has to go."""
    condition = _Condition(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        message=message,
        last_transition_time=format_time(wall_seconds),
        observed_generation=victim.generation,
    )
    return msgspec.json.encode(
        {"metadata": {"uid": victim.pod.uid}, "status": {"conditions": [condition]}}
    )


def encode_deletion(pod: PodReference) -> bytes:
    """Give the body of the DELETE: the Pod's own grace period, and no other Pod than this."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": pod.uid}}
    return msgspec.json.encode(options)
