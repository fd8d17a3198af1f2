"""`meshlens server`: the language server, started by editors."""

from __future__ import annotations

import click


@click.command("server")
@click.option("--stdio", is_flag=True, help="Communicate over stdin and stdout (the default).")
@click.option("--tcp", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on a local port instead.")
@click.option("--clientProcessId", "client", type=int, hidden=True)
def command(stdio: bool, tcp: int | None, client: int | None) -> None:
    """Start the language server.

    Editors start it by themselves; docs/editors.md shows how to configure them.
    """
    from meshlens.lsp.start import serve_stdio, serve_tcp
    from meshlens.lsp.wire.first_message import begin

    if tcp is None:
        serve_stdio(begin())
    serve_tcp(tcp)
