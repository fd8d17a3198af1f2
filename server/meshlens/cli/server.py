"""`meshlens server`: the language server, started by editors."""

from __future__ import annotations

import gc
import sys

import click


@click.command("server")
@click.option("--stdio", is_flag=True, help="Communicate over stdin and stdout (the default).")
@click.option("--tcp", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on a local port instead.")
@click.option("--clientProcessId", "client", type=int, hidden=True)
def command(stdio: bool, tcp: int | None, client: int | None) -> None:
    """Start the language server.

    Editors start it by themselves; docs/editors.md shows how to configure them.
    """
    # Modules imported here stay loaded; searching their objects for garbage would take a sixth of the start-up time.
    gc.disable()
    from meshlens.lsp.wire.light_types import import_light_types
    from meshlens.lsp.wire.without_tls import import_asyncio

    import_asyncio()
    import_light_types()
    from meshlens.lsp.server import serve_stdio, serve_tcp

    gc.freeze()
    gc.enable()
    sys.exit(serve_stdio() if tcp is None else serve_tcp(tcp))
