"""The specification for JupyterLab's language server extension: how to start the server for Python."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from meshlens.launching import program


def spec(manager: Any) -> dict[str, dict[str, Any]]:
    """Returns the server's specification for jupyter-lsp, which finds it through an entry point, without configuration.

    JupyterLab uses one server per language. If python-lsp-server is installed, JupyterLab keeps using it, and our
    plugin adds to its answers.

    Args:
        manager: the manager of language servers.
    """
    if find_spec("pylsp") is not None:
        return {}
    return {
        "meshlens": {
            "version": 2,
            # Isolated, because JupyterLab starts the server in the folder of the notebooks, whose modules would
            # otherwise be imported first.
            "argv": [sys.executable, *program(), "server"],
            "languages": ["python"],
            "mime_types": ["text/x-python", "text/x-ipython"],
            "display_name": "MeshLens",
            # The client sends the texts, so nothing has to be written to a folder next to the notebook.
            "requires_documents_on_disk": False,
        }
    }
