"""Pods that start together or not at all: one decision about all members of a PodGroup.

What belongs here: who is tried together, on which Nodes, what becomes of those that do not fit,
and the room that is kept for them. What does not: whether one Pod fits a Node
(`scheduling_cycle`), and which Pods are members (`group_members`).

Sources: KEP-4671 and pkg/scheduler/schedule_one_podgroup.go, v1.36.3; `docs/pod-groups.md` lists
what is different, and why.
"""

from scheduler_svc.core.pod_groups.groups import PodGroups
from scheduler_svc.core.pod_groups.holds import GroupTiming

__all__ = ["GroupTiming", "PodGroups"]
