"""Completes snippets at the start of a statement, in a new file or one that uses JAX; adds missing imports."""

from __future__ import annotations

from meshlens.ide.completing.completing import Completion, CompletionWants
from meshlens.ide.completing.spelled import uses_jax
from meshlens.ide.completing.typed import Typed, statement_start
from meshlens.project.snippets import Snippet, filled
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.project.writing.new_imports import import_edits
from meshlens.text import Edit, Span


def snippets(view: FileView, typed: Typed, wants: CompletionWants) -> tuple[Completion, ...]:
    """Returns the snippets that work with the project's JAX; none if no statement begins at the cursor.

    A client that does not support placeholders gets plain text, and only snippets that start with the typed text.
    """
    source = view.source
    start = statement_start(source, typed) if wants.snippets else None
    if start is None:
        return ()
    span = Span(start, typed.word.end)
    rest = source[: typed.line].strip() + source[span.end :].strip()
    if rest and not uses_jax(source):
        return ()
    written = source[span.start : typed.offset].decode("utf-8", "replace")
    offered = [one for one in wants.snippets if one.works_with(view.jax_version)]
    if wants.placeholders:
        return tuple(_completion(view, one, span, wants) for one in offered if _could_be(written, one.prefix))
    made = [_completion(view, one, span, wants) for one in offered]
    return tuple(one for one in made if one.insert.startswith(written))


def _could_be(written: str, prefix: str) -> bool:
    """Returns whether a prefix contains the typed letters in order and begins with the first of them."""
    left = iter(prefix)
    return prefix[:1] == written[:1] and all(letter in left for letter in written) if written else True


def _completion(view: FileView, snippet: Snippet, span: Span, wants: CompletionWants) -> Completion:
    imports = _imports(view, snippet, span) if wants.edits_elsewhere else None
    text = snippet.body if imports is None else snippet.code
    return Completion(
        snippet.prefix,
        text if wants.placeholders else filled(text),
        span,
        "snippet",
        snippet.description,
        documentation=f"```python\n{snippet.plain}\n```",
        is_snippet=wants.placeholders,
        sort=f"~{snippet.prefix}",
        filter=snippet.prefix,
        others=imports or (),
    )


def _imports(view: FileView, snippet: Snippet, span: Span) -> tuple[Edit, ...] | None:
    """Returns the edits that add the missing imports; None if one of them would touch the snippet."""
    missing = [one.statement for one in snippet.imports if name_of_module(view, one.dotted) != one.name]
    edits = tuple(edit.edit for edit in import_edits(view, missing))
    apart = all(edit.span.end < span.start or edit.span.start > span.end for edit in edits)
    return edits if apart else None
