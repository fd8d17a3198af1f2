"""Starts the program; the server answers its client before most of it is imported, and never imports the commands."""

from __future__ import annotations

import sys
from typing import NoReturn

_SERVES = (["server"], ["server", "--stdio"])


def main() -> NoReturn:
    """Runs the program and exits."""
    if sys.argv[1:] not in _SERVES:
        from meshlens.cli.main import main as run

        run()
    from meshlens.lsp.wire.first_message import begin

    try:
        begun = begin()
    except KeyboardInterrupt:
        sys.exit(0)
    from meshlens.cli.printing.visible import log_to_stderr
    from meshlens.lsp.start import serve_stdio

    log_to_stderr()
    serve_stdio(begun)
