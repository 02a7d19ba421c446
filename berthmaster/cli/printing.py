"""Answers on standard output: for people in colours on a terminal, plain in a pipe or a file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console, RenderableType

from berthmaster.cli.failing import fail

_PIPE_WIDTH: Final = 150


def make_console(pipe_width: int = _PIPE_WIDTH) -> Console:
    """Give the console to lay out for: as wide as the terminal, or wide enough where none is."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=pipe_width)


def print_rendered(console: Console, renderable: RenderableType) -> None:
    """Print without padding at the ends of lines."""
    with console.capture() as capture:
        console.print(renderable)
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")), nl=False)


def printable(text: str) -> str:
    """Give text without what a terminal would act on: containers and agents have written it."""
    lines = " ".join(text.splitlines())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in lines)


@contextmanager
def writing(exit_code: int) -> Iterator[None]:
    """Print in here: a full disk ends the command with a message and this exit code."""
    try:
        yield
    except BrokenPipeError:
        raise  # of which click makes a quiet end
    except OSError as error:
        _give_output_up()
        fail(f"cannot write to standard output: {error.strerror}", exit_code)


def _give_output_up() -> None:
    """Let what could not be written be forgotten: else the interpreter tries at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
