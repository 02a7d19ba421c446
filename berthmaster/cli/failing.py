"""Ends a command with one message."""

from typing import NoReturn

import click


def fail(error: Exception | str, code: int) -> NoReturn:
    """Write what went wrong to standard error, and end with an exit code."""
    click.echo(f"Error: {error}", err=True)
    raise SystemExit(code)
