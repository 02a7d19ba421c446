"""Values of flags that are not given; apart, so that help needs none of the controller."""

from typing import Final

CONTROLLER_NAME: Final = "berthmaster-controller"
DEFAULT_PORT: Final = 10261
LEASE_NAME: Final = CONTROLLER_NAME
