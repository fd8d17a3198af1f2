"""The program `meshlens`: runs a command, and converts an error to one line and an exit code.

0: nothing found.  1: findings.  2: bad usage, configuration or IO; also a syntax error or an internal error, if
there are no findings.  130: stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import threading
from typing import NoReturn

import click

import meshlens
from meshlens.cli.printing.visible import log_to_stderr, visible

CLEAN, FOUND, BROKEN, STOPPED = 0, 1, 2, 130
_SOON = 0.05

_COMMANDS = {
    "init": "Write an initial configuration for the project.",
    "check": "Check files and folders (default: the current folder).",
    "parallelize": "Rewrite functions to run on several devices.",
    "convert": "The older name of `parallelize`.",
    "explain": "Show the page of a rule.",
    "config": "Show the settings in effect and where each comes from.",
    "devices": "Show a project's detected and target devices.",
    "trace": "Show what each line computes on N devices, without needing them.",
    "cost": "Show which lines move data between devices, how much, and how long it takes.",
    "completion": "Print a shell completion script.",
    "docs": "Generate the documentation of MeshLens, for contributors.",
    "server": "Start the language server.",
}


class _Commands(click.Group):
    """Commands that are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"meshlens.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            ctx.fail(f'unknown command "{args[0]}"{hint}')
        return super().resolve_command(ctx, args)


@click.command(
    cls=_Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(meshlens.__version__, "-V", "--version", message="meshlens %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Follow JAX axis names from the map that binds them through to the collective that uses them."""
    if ctx.invoked_subcommand is not None:
        return CLEAN
    click.echo(ctx.get_help(), err=True)
    return BROKEN


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the program and exits.

    Args:
        arguments: the arguments to use instead of the program's own.
    """
    log_to_stderr()
    if arguments is None:
        sys.unraisablehook = strike_again
    try:
        code = cli.main(arguments, prog_name="meshlens", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        if arguments is not None:
            _end("stopped", STOPPED)
        sys.stdout.flush()
        click.echo("meshlens: stopped", err=True)
        sys.stderr.flush()
        # If Ctrl-C interrupted generated code, such as a dataclass method, Python would kill itself with the signal.
        os._exit(STOPPED)
    except click.UsageError as error:
        where = f' (see "{error.ctx.command_path} --help")' if error.ctx is not None else ""
        _end(f"{_lowered(error.format_message())}{where}", BROKEN)
    except click.ClickException as error:
        _end(_lowered(error.format_message()), BROKEN)
    except BrokenPipeError:
        # The reader has closed our output; Python must not complain about that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FOUND)
    except Exception as error:  # An internal error must not look like a finding.
        logging.getLogger("meshlens").debug("internal error", exc_info=True)
        _end(f"internal error: {type(error).__name__}: {error} (set MESHLENS_DEBUG=1 to see where)", BROKEN)
    status = code if isinstance(code, int) else CLEAN
    if arguments is None:
        # Python would deallocate a large workspace object by object, which takes longer than a warm run.
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def strike_again(swallowed: sys.UnraisableHookArgs) -> None:
    """Repeats a Ctrl-C that came while Python ran a callback, from which no exception can reach the program."""
    if swallowed.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(swallowed)
        return
    # At once, it would come while this function runs.
    threading.Timer(_SOON, signal.raise_signal, (signal.SIGINT,)).start()


def _lowered(message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _end(line: str, code: int) -> NoReturn:
    sys.stdout.flush()
    click.echo(f"meshlens: {visible(line)}", err=True)
    sys.exit(code)
