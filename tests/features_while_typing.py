"""What completion says, and what the features say that show something all over a file, for `features.py`."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.ide.completion import CompletionWants, complete
from meshlens.project.snippets import read_snippets
from meshlens.project.view import FileView


def _completion(view: FileView, offset: int) -> str:
    return _completions(view, offset, CompletionWants(placeholders=True, snippets=read_snippets()))


def _plain_completion(view: FileView, offset: int) -> str:
    return _completions(view, offset, CompletionWants(snippets=read_snippets()))


def _completions(view: FileView, offset: int, wants: CompletionWants) -> str:
    lines = []
    for one in complete(view, offset, wants):
        replaced = view.source[one.span.start : one.span.end].decode()
        place = f"`{replaced}` → " if replaced else ""
        lines.append(f"{place}{one.insert.splitlines()[0]}  ({one.detail})")
    return "\n".join(lines)


FEATURES: dict[str, Callable[[FileView, int], str]] = {
    "completion": _completion,
    "plain-completion": _plain_completion,
}
