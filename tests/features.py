"""What editor features say at an offset of a file, as text: by the language of the fence that a case expects it in.

A feature is added here; `dsl.py` and the runner know no feature by name.
"""

from __future__ import annotations

from collections.abc import Callable

from meshlens.ide.completion import CompletionWants, complete
from meshlens.ide.hover import hover
from meshlens.project.snippets import read_snippets
from meshlens.project.view import FileView


def _hover(view: FileView, offset: int) -> str:
    found = hover(view, offset, "plaintext")
    return found.text if found is not None else ""


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
    "hover": _hover,
    "plain-completion": _plain_completion,
}
"""The text for a view and an offset in UTF-8 bytes; an empty one where the feature has nothing to say."""
