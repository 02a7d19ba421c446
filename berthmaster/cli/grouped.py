"""Options in groups, and types that read values as kube-scheduler's flags do."""

import importlib
import ipaddress
from typing import Any, Final

import click

from berthmaster.cli.interrupts import raise_on_interrupt
from kubeio.durations import format_duration, parse_duration

HELP_GROUP: Final = "Help"


class GroupedOption(click.Option):
    """An option that stands under a heading of the help."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help lists the options by group, in the order they are declared.

    Parameters
    ----------
    runs
        The module whose `run` takes the flags, where there is no callback. It is imported when
        the command is called: help and completion do not wait for all that a scheduler needs.
    """

    def __init__(self, *args: Any, runs: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._runs = runs

    def invoke(self, ctx: click.Context) -> Any:
        """Import what runs, and run it; from then on Ctrl-C raises."""
        if self._runs is not None:
            self.callback = importlib.import_module(self._runs).run
        raise_on_interrupt()
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                group = getattr(parameter, "group", HELP_GROUP)
                sections.setdefault(group, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Duration(click.ParamType[float]):
    """A Go duration, `15s` or `1m30s`, as seconds; it must be more than 0."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read it."""
        try:
            seconds = value if isinstance(value, float) else parse_duration(value)
        except ValueError as error:
            self.fail(f"{error}; write it as 15s, 1m30s or 500ms", param, ctx)
        if seconds <= 0:
            self.fail(f"{format_duration(seconds)} must be greater than 0", param, ctx)
        return seconds


class IpAddress(click.ParamType[str]):
    """An IPv4 or IPv6 address to listen on."""

    name = "ip"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check it."""
        try:
            return str(ipaddress.ip_address(value))
        except ValueError:
            self.fail(f"{value!r} is not an IPv4 or IPv6 address", param, ctx)


class Verbosity(click.IntRange):
    """A number from 0; `-v=3` is read as Go reads it."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        text = value.removeprefix("=") if isinstance(value, str) else value
        return super().convert(text, param, ctx)  # type: ignore[arg-type]
