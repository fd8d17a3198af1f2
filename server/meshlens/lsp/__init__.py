"""The language server: `server.py` contains the table of requests, and `handlers/` has one file per feature.

transport   bytes of stdin and stdout to messages and back
protocol    messages to handlers; pygls handles the life cycle
session     mutable state: documents, folders, the client's wishes
client      the client's capabilities
documents   open documents
folders     a project: its settings and its workspace
from_lsp    the protocol's positions and ranges to bytes
to_lsp      bytes, findings and edits to the protocol
publishing  when findings are computed and sent
"""
