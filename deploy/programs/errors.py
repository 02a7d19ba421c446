"""What can go wrong with programs of others, as messages for the person who asked for them."""

from __future__ import annotations


class DeployError(Exception):
    """What was asked cannot be done; the text says what happened and what helps."""


class UsageError(DeployError):
    """What was asked for is no valid choice; the text names the choices."""


class PortTakenError(DeployError):
    """A component could not listen since its port is in use: another choice of ports may work."""


class SourceError(DeployError):
    """A source does not have a program, or cannot be reached; the text says why, in one line."""


class UnsuitableError(SourceError):
    """A source has the program, but not one that can be used."""


class BinaryNotFoundError(DeployError):
    """No source has a program that is needed; the text says what was tried and what helps."""
