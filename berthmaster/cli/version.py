"""``berthmaster version``."""

import platform
from importlib.metadata import PackageNotFoundError, version

import click

from berthmaster import __version__
from berthmaster.cli.grouped import GroupedCommand

_SHOWN = ("aiohttp", "msgspec", "numpy", "uvloop")


@click.command(cls=GroupedCommand)
def command() -> None:
    """Show the versions of Berthmaster, Python and the libraries on the hot path."""
    click.echo(f"berthmaster {__version__}")
    click.echo(f"python {platform.python_version()} ({platform.machine()})")
    for name in _SHOWN:
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} is missing")
