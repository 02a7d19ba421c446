"""What can go wrong with the control plane, as messages for the person who asked for it."""

from __future__ import annotations


class ControlPlaneError(Exception):
    """The control plane cannot do what was asked; the text says what happened and what helps."""


class PortTakenError(ControlPlaneError):
    """A component could not listen since its port is in use: another choice of ports may work."""


class BinaryNotFoundError(ControlPlaneError):
    """No source has a binary that is needed."""
