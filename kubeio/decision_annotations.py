"""Annotations that tell of a decision on the Pod itself: the scheduler writes, the agent reads.

They travel in the Binding: the API server copies a Binding's annotations to the Pod in
the write that binds it, so they cost no call, and a bound Pod always has all of them.
Values are text, as all annotations are; numbers are decimal integers.
"""

from typing import Final

DECISION_ID: Final = "berthmaster.dev/decision-id"
"""Which decision, as the scheduler's log and explanations name it."""

ATTEMPT: Final = "berthmaster.dev/attempt"
"""The number of the attempt that succeeded; 1 for the first."""

DECIDED_AT: Final = "berthmaster.dev/decided-at"
"""When the Node was chosen: Unix time in nanoseconds, by the scheduler's wall clock."""

QUEUE_WAIT: Final = "berthmaster.dev/queue-wait"
"""How long the Pod had waited in the queue before that attempt: nanoseconds."""
