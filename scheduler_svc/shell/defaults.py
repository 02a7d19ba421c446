"""Values of flags that are not given; apart, so that help needs none of the scheduler."""

from typing import Final

DEFAULT_SCHEDULER_NAME: Final = "berthmaster"
