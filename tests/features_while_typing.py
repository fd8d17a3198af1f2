"""The answers of completion, and of the features that show something all over a file, for `features.py`."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.ide.completing.completion import CompletionWants, complete
from meshlens.ide.shown.call_hierarchy import CallLink, incoming_calls, outgoing_calls, prepare_calls
from meshlens.ide.shown.inlay_hints import InlayHintsWanted, inlay_hints
from meshlens.ide.shown.lenses import lenses
from meshlens.ide.shown.symbols import Symbol, document_symbols, workspace_symbols
from meshlens.project.snippets import read_snippets
from meshlens.project.view import FileView
from meshlens.text import Span


def _completion(view: FileView, offset: int) -> str:
    return _completions(view, offset, CompletionWants(placeholders=True, snippets=read_snippets()))


def _plain_completion(view: FileView, offset: int) -> str:
    return _completions(view, offset, CompletionWants(snippets=read_snippets()))


def _completions(view: FileView, offset: int, wants: CompletionWants) -> str:
    lines = []
    for one in complete(view, offset, wants):
        replaced = view.source[one.span.start : one.span.end].decode()
        place = f"`{replaced}` → " if replaced else ""
        beside = "".join(f" + {' '.join(edit.text.split())}" for edit in one.others)
        lines.append(f"{place}{one.insert.splitlines()[0]}{beside}  ({one.detail})")
    return "\n".join(lines)


def _lenses(view: FileView, offset: int) -> str:
    return "\n".join(f"{_line(view, lens.span)}: {lens.title}" for lens in lenses(view))


def _inlay_hints(view: FileView, offset: int) -> str:
    whole = Span(0, len(view.source))
    lines = []
    for hint in inlay_hints(view, InlayHintsWanted(axes=True, sizes=True), whole):
        line = view.lines.line_of(hint.offset)
        start = view.lines.starts[line]
        text = view.lines.line_text(line)
        at = hint.offset - start
        lines.append(f"{text[:at].decode().strip()} ⟨{hint.text}⟩ {text[at:].decode()}".rstrip())
    return "\n".join(lines)


def _symbols(view: FileView, offset: int) -> str:
    return "\n".join(_symbol(view, symbol) for symbol in document_symbols(view))


def _workspace_symbols(view: FileView, offset: int) -> str:
    """Returns the workspace symbols that the word before the cursor finds."""
    words = view.source[:offset].decode().split()
    return "\n".join(_symbol(view, symbol) for symbol in workspace_symbols(view, words[-1] if words else ""))


def _symbol(view: FileView, symbol: Symbol) -> str:
    text = view.texts[str(symbol.path)]
    selected = text[symbol.selection.start : symbol.selection.end].decode()
    return f"{symbol.kind} {symbol.name}: {symbol.detail}  ({symbol.path.name}: {selected})"


def _incoming(view: FileView, offset: int) -> str:
    items = prepare_calls(view, offset)
    return "\n".join(_link(view, link, "from") for item in items for link in incoming_calls(view, item.site))


def _outgoing(view: FileView, offset: int) -> str:
    items = prepare_calls(view, offset)
    return "\n".join(_link(view, link, "to") for item in items for link in outgoing_calls(view, item.site))


def _link(view: FileView, link: CallLink, way: str) -> str:
    item = link.item
    return f"{way} {item.kind} {item.name} ({item.path.name}), {item.detail}: {len(link.spans)} calls"


def _line(view: FileView, span: Span) -> str:
    return view.lines.line_text(view.lines.line_of(span.start)).decode().strip()


FEATURES: dict[str, Callable[[FileView, int], str]] = {
    "completion": _completion,
    "incoming-calls": _incoming,
    "inlay-hints": _inlay_hints,
    "lenses": _lenses,
    "outgoing-calls": _outgoing,
    "plain-completion": _plain_completion,
    "symbols": _symbols,
    "workspace-symbols": _workspace_symbols,
}
