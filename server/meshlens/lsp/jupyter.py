"""The specification that JupyterLab's language server extension asks for: how to start the server for Python."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from meshlens.launching import program


def spec(manager: Any) -> dict[str, dict[str, Any]]:
    """The server in the words of jupyter-lsp, which finds this by its entry point and needs no configuration.

    JupyterLab uses one server for a language.  Where python-lsp-server is installed it stays that one, and our plugin
    speaks through it.

    Args:
        manager: the manager of language servers that asks.
    """
    if find_spec("pylsp") is not None:
        return {}
    return {
        "meshlens": {
            "version": 2,
            # Isolated: JupyterLab starts it in the folder of the notebooks, whose modules would be imported first.
            "argv": [sys.executable, *program(), "server"],
            "languages": ["python"],
            "mime_types": ["text/x-python", "text/x-ipython"],
            "display_name": "MeshLens",
            # We read what the client sends; nothing has to be written into a folder beside the notebook.
            "requires_documents_on_disk": False,
        }
    }
