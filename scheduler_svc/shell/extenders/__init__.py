"""Extenders over HTTP and HTTPS: who they are, how they are asked, what they answer."""

from scheduler_svc.shell.extenders.desk import ExtenderDesk
from scheduler_svc.shell.extenders.metrics import ExtenderMetrics
from scheduler_svc.shell.extenders.plan import PlannedExtender, core_extenders, plan_extenders

__all__ = [
    "ExtenderDesk",
    "ExtenderMetrics",
    "PlannedExtender",
    "core_extenders",
    "plan_extenders",
]
