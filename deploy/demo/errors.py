"""What keeps a demonstration from going on, as messages for the person who watches it."""

from __future__ import annotations

from deploy.programs.errors import DeployError, UsageError


class DemoError(DeployError):
    """The demonstration cannot go on; the text says what happened and what helps."""


class SizeError(DemoError, UsageError):
    """Numbers of Nodes and Pods that make no demonstration; the text names all mistakes."""
