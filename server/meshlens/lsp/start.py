"""Starts a server quickly: without TLS, and with the protocol's classes defined only when they are used."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

from meshlens.lsp.wire.first_message import Begun
from meshlens.lsp.wire.light_types import import_light_types
from meshlens.lsp.wire.without_tls import import_asyncio


def serve_stdio(begun: Begun) -> NoReturn:
    """Serves the client on stdin and stdout, and exits."""
    _import_server()
    from meshlens.lsp import server

    sys.exit(server.serve_stdio(begun))


def serve_tcp(port: int) -> NoReturn:
    """Serves one client on a loopback port, and exits."""
    _import_server()
    from meshlens.lsp import server

    sys.exit(server.serve_tcp(port))


def _import_server() -> None:
    # These modules stay loaded; searching their objects for garbage would take a sixth of the start-up time.
    gc.disable()
    import_asyncio()
    import_light_types()
    import meshlens.lsp.server  # noqa: F401

    gc.freeze()
    gc.enable()
