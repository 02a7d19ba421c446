"""What the core wants told: the agent changes nothing, so every effect is a report."""

import msgspec

from node_agent.core.objects import Pod
from node_agent.core.operations import PodUpdate, Source
from node_agent.core.pod_workers import WorkerStep


class UpdateReceived(msgspec.Struct, frozen=True, gc=False):
    """A source's list has come to an operation on some of its Pods."""

    update: PodUpdate


class DuplicateDropped(msgspec.Struct, frozen=True, gc=False):
    """A source names two Pods alike: this one, the later, is left out."""

    source: Source
    pod: Pod


class WorkerStepped(msgspec.Struct, frozen=True, gc=False):
    """A Pod's worker is in another state, or has synced anew."""

    step: WorkerStep


class SourcesSeen(msgspec.Struct, frozen=True, gc=False):
    """Every source has been heard of: from now on a Pod's absence means that it is gone."""


Effect = UpdateReceived | DuplicateDropped | WorkerStepped | SourcesSeen
