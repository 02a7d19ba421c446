"""``berthmaster``: the group of commands, and the only place that ends the process."""

import errno
import importlib
import io
import os
import sys
from typing import Any, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from berthmaster import __version__
from berthmaster.cli.interrupts import INTERRUPTED

PROGRAM: Final = "berthmaster"
_LAST_STANDARD_STREAM: Final = 2
_FAILED: Final = 1
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class _Subcommand(NamedTuple):
    """Where a command is declared, and its line in the group's help, without importing it."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """Its full name."""
        return f"{__package__}.{self.name}"


SUBCOMMANDS: Final = {
    "scheduler": _Subcommand("scheduler_flags", "Run the scheduler."),
    "controller": _Subcommand(
        "controller_flags", "Keep the status of PodGroups and SchedulerProfiles."
    ),
    "agent": _Subcommand("agent_flags", "Run the node agent."),
    "explain": _Subcommand("explain_flags", "Tell why Pods get the Nodes they get."),
    "diagnose": _Subcommand(
        "diagnose_flags", "Look a cluster over: what is wrong, and what to type next."
    ),
    "timeline": _Subcommand("timeline_flags", "Draw where the time of one Pod went."),
    "version": _Subcommand("version", "Show the versions of what runs."),
    "completion": _Subcommand("completion", "Print a shell's completion script."),
}


class LazyGroup(click.Group):
    """Imports a command's flags when it is called or asked for help; what it does, when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        del ctx
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        del ctx
        if cmd_name not in SUBCOMMANDS:
            return None
        entry = SUBCOMMANDS[cmd_name]
        command = importlib.import_module(entry.module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.command is no command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name, without importing all of them for their summaries."""
        commands = [
            CompletionItem(name, help=entry.summary)
            for name, entry in SUBCOMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none of that name, say which there are."""
        unknown = args[0] not in SUBCOMMANDS and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}; there are: {', '.join(SUBCOMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C is no error to tell of."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Not click's empty line: whoever pressed Ctrl-C knows, and shells know 130.
            ctx.exit(INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their summaries."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in SUBCOMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """Berthmaster, a Kubernetes scheduler: it gives every Pod its Node.

    \b
    Examples:
      berthmaster scheduler --kubeconfig ~/.kube/config
      berthmaster scheduler --config scheduler.yaml --write-config-to -
      berthmaster explain --snapshot cluster.yaml
      berthmaster diagnose
      berthmaster agent --node-name worker-1 -v 2
      source <(berthmaster completion bash)
    """


def fill_standard_streams() -> None:
    """Open what of stdin, stdout and stderr was closed by whoever started the process.

    Else the first socket would be one of them, and libuv aborts on closing those.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_STREAM:
        pass
    os.close(descriptor)


def bear_any_encoding() -> None:
    """Have what a terminal cannot show written as ``?``; a rule's line is not worth a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def run() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        fill_standard_streams()
        bear_any_encoding()
        code = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError as error:
        if error.errno not in _FULL:
            raise
        click.echo(f"Error: cannot write: {error.strerror}", err=True)
        code = _FAILED
    sys.exit(code)
