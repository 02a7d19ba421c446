"""The part of a PodDisruptionBudget that preemption reads, as the API server tells it."""

from typing import Any

import msgspec

from scheduler_svc.core.affinity_objects import Int32, LabelSelector
from scheduler_svc.core.objects import ApiStruct, ObjectMeta


class PodDisruptionBudgetSpec(ApiStruct, frozen=True):
    """Which Pods the budget is about."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(ApiStruct, frozen=True):
    """How many of them may be disrupted now; `disrupted_pods` are on their way already."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Any] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(ApiStruct, frozen=True):
    """How many Pods of an application may be down at once."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
