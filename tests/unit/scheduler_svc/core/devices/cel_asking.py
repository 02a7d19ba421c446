"""Asks expressions that need no device."""

from scheduler_svc.core.device_objects import Device
from scheduler_svc.core.devices.selectors import SelectorFailure, Selectors


def ask(expression: str) -> object:
    """Give the answer, or the text of why there is none."""
    selectors = Selectors()
    answer = selectors.matches(expression, selectors.traits("d", Device("x")))
    return answer.text if isinstance(answer, SelectorFailure) else answer
