"""The command line. A subcommand's module is imported only when it is called."""

from berthmaster.cli.entry import main

__all__ = ["main"]
