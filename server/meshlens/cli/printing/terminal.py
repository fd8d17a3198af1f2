"""Terminal output: colors on terminals, plain text in pipes, error messages on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from typing import TextIO

from meshlens.cli.printing.report import Report
from meshlens.cli.printing.visible import visible, visible_lines


def speak_utf8() -> None:
    """Makes stdout and stderr accept every character, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with suppress(ValueError, OSError):
                encoding = (stream.encoding or "").lower().replace("-", "")
                reconfigure(encoding=None if stream.isatty() and encoding != "ascii" else "utf-8", errors="replace")


def complain(line: str) -> None:
    """Prints one line to stderr."""
    print(f"meshlens: {visible(' '.join(line.splitlines()))}", file=sys.stderr)


def write_patch(patch: bytes) -> None:
    """Writes a patch: unchanged to a pipe or file; on a terminal, with control characters made visible."""
    if sys.stdout.isatty():
        sys.stdout.write(visible_lines(patch.decode("utf-8", "replace")))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(patch)
    sys.stdout.buffer.flush()


def wants_colour(stream: TextIO) -> bool:
    """Returns whether a stream shows colors: on a terminal, unless the environment says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_full(report: Report) -> None:
    """Prints the full report, in color on a terminal."""
    from meshlens.cli.formats import as_full

    if not wants_colour(sys.stdout):
        sys.stdout.write(as_full.render(report))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, force_terminal=True)
    room = shutil.get_terminal_size((100, 24)).columns
    for line in as_full.lines_of(report, room):
        console.print(Text.assemble(*[(text, as_full.STYLES.get(style, "")) for text, style in line]))


def print_markdown(text: str) -> None:
    """Prints Markdown: formatted on a terminal, unchanged in pipes."""
    if not wants_colour(sys.stdout):
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    columns = shutil.get_terminal_size((100, 24)).columns
    Console(force_terminal=True, width=min(columns, 100)).print(Markdown(text))
