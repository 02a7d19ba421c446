"""Outcomes as values: what a plugin says of a Pod, or of a Pod on a Node.

Source: staging/src/k8s.io/kube-scheduler/framework/interface.go, v1.36.3.
"""

from enum import IntEnum
from typing import Final

import msgspec


class Code(IntEnum):
    """A status code; the numbers are upstream's.

    `UNSCHEDULABLE`: removing Pods might help, so the Node is a candidate for
    preemption. `UNSCHEDULABLE_AND_UNRESOLVABLE`: it would not. `SKIP`: the plugin
    has nothing to say of this Pod. `WAIT`: Permit only. `PENDING`: an outside actor
    must do something first.
    """

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def is_rejected(self) -> bool:
        """Whether the code turns the Pod away, as opposed to failing or accepting."""
        return self in REJECTIONS

    @property
    def text(self) -> str:
        """The name upstream prints, which is also the `status` label of its metrics."""
        return _TEXTS[self]


REJECTIONS: Final = frozenset(
    {Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING}
)

_TEXTS: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Status(msgspec.Struct, frozen=True, gc=False):
    """A code, the reasons for it in order, and the plugin that gave it."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        """The reasons as upstream joins them."""
        return ", ".join(self.reasons)


SUCCESS: Final = Status(Code.SUCCESS)
SKIP: Final = Status(Code.SKIP)
