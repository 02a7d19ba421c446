"""Values of flags that are not given; apart, so that help needs none of the agent."""

from typing import Final

DEFAULT_PORT: Final = 10260
