"""``berthmaster completion``: the script that makes a shell complete our commands."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from berthmaster.cli.grouped import GroupedCommand

_VARIABLE: Final = "_BERTHMASTER_COMPLETE"


@click.command(cls=GroupedCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    \b
    Examples:
      source <(berthmaster completion bash)
      berthmaster completion zsh > "${fpath[1]}/_berthmaster"
      berthmaster completion fish > ~/.config/fish/completions/berthmaster.fish
    """
    root = ctx.find_root()
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"no completion for {shell}", ctx)
    name = root.info_name or "berthmaster"
    click.echo(completion(root.command, {}, name, _VARIABLE).source())
