"""Taints and tolerations: who accepts what.

Source: staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go and
k8s.io/api/core/v1/toleration.go, v1.36.3, with the gate
TaintTolerationComparisonOperators off as it is by default.
"""

from collections.abc import Iterable
from typing import Final

from scheduler_svc.core.objects import Taint, Toleration

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"

# What a cordoned Node is treated as having.
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration accepts one taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations accepts the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def keeps_away(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether some NoSchedule or NoExecute taint is not tolerated."""
    return any(
        taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(taint, tolerations)
        for taint in taints
    )
