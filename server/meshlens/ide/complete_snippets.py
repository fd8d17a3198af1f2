"""Completes snippets where a statement may begin, in a file that uses JAX or is new."""

from __future__ import annotations

from meshlens.ide._completing import Completion, CompletionWants
from meshlens.ide.spelled import uses_jax
from meshlens.ide.typed import Typed, statement_start
from meshlens.project.snippets import Snippet
from meshlens.text import Span


def snippets(source: bytes, typed: Typed, wants: CompletionWants) -> tuple[Completion, ...]:
    """The snippets that may begin at the cursor; none where no statement begins.

    A client without placeholders gets plain text, and only what begins as the text before the cursor does.
    """
    start = statement_start(source, typed) if wants.snippets else None
    if start is None:
        return ()
    span = Span(start, typed.word.end)
    rest = source[: typed.line].strip() + source[span.end :].strip()
    if rest and not uses_jax(source):
        return ()
    written = source[span.start : typed.offset].decode("utf-8", "replace")
    made = [_completion(snippet, span, wants) for snippet in wants.snippets]
    if wants.placeholders:
        return tuple(one for one in made if _could_be(written, one.filter))
    return tuple(one for one in made if one.insert.startswith(written))


def _could_be(written: str, prefix: str) -> bool:
    """Whether the letters that are written stand in a prefix in this order, beginning with the first."""
    left = iter(prefix)
    return prefix[:1] == written[:1] and all(letter in left for letter in written) if written else True


def _completion(snippet: Snippet, span: Span, wants: CompletionWants) -> Completion:
    return Completion(
        snippet.prefix,
        snippet.body if wants.placeholders else snippet.plain,
        span,
        "snippet",
        snippet.description,
        documentation=f"```python\n{snippet.plain}\n```",
        is_snippet=wants.placeholders,
        sort=f"~{snippet.prefix}",
        filter=snippet.prefix,
    )
