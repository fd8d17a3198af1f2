"""`meshlens completion`: prints the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from meshlens.cli.printing.terminal import speak_utf8

VARIABLE = "_MESHLENS_COMPLETE"
"""The environment variable that a shell sets to request completions from click."""

_HOW = {
    "bash": 'eval "$(meshlens completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(meshlens completion zsh)"   in ~/.zshrc',
    "fish": "meshlens completion fish > ~/.config/fish/completions/meshlens.fish",
}


class _Completion(click.Command):
    """A command whose help explains where to put the script."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Enable completion with"):
            formatter.write_dl(list(_HOW.items()))


@click.command("completion", cls=_Completion)
@click.argument("shell", type=click.Choice(tuple(_HOW)))
def command(shell: str) -> int:
    """Print the script that completes commands and options in a shell."""
    from meshlens.cli.main import cli

    speak_utf8()
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "meshlens", VARIABLE).source())
    return 0
