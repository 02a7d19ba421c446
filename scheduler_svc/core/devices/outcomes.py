"""How a search for devices can end."""

import msgspec

from scheduler_svc.core.devices.capacity import Amount
from scheduler_svc.core.devices.demands import Wanted
from scheduler_svc.core.devices.published import PublishedDevice


class Chosen(msgspec.Struct, frozen=True, gc=False):
    """A device for a request; `amounts` is what it consumes of a shared one, else None."""

    wanted: Wanted
    device: PublishedDevice
    amounts: dict[str, Amount] | None


# What was chosen, for each claim.
Solution = tuple[tuple[Chosen, ...], ...]


class SearchFailure(Exception):  # noqa: N818 - an outcome: it ends the attempt with its text
    """Something is wrong with a claim, a class or a pool."""


class OutOfSteps(Exception):  # noqa: N818 - an outcome
    """The search takes too long."""
