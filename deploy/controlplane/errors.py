"""What can go wrong with the control plane, as messages for the person who asked for it."""

from __future__ import annotations


class ControlPlaneError(Exception):
    """The control plane cannot do what was asked; the text says what happened and what helps."""


class UsageError(ControlPlaneError):
    """What was asked for is no valid choice; the text names the choices."""


class PortTakenError(ControlPlaneError):
    """A component could not listen since its port is in use: another choice of ports may work."""


class SourceError(ControlPlaneError):
    """A source does not have a program, or cannot be reached; the text says why, in one line."""


class UnsuitableError(SourceError):
    """A source has the program, but not one that can be used."""


class BinaryNotFoundError(ControlPlaneError):
    """No source has a program that is needed; the text says what was tried and what helps."""
