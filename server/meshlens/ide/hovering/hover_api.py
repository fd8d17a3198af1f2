"""The hover of names and keywords that JAX added, deprecated or removed: the release and the replacement."""

from __future__ import annotations

from meshlens.ide.hovering.prose import Prose
from meshlens.jaxapi.history import Change, KeywordChange, change, keyword_change, spell_version


def api_text(prose: Prose, dotted: str) -> str | None:
    """Returns the history of a name as of the JAX version in use; None if it has not changed.

    Args:
        prose: the writing style.
        dotted: the name as the file spells it, with aliases resolved.
    """
    row = change(dotted)
    if row is None:
        return None
    what = _state(prose, row)
    if what is None:
        return None
    return f"{prose.code(row.dotted)} {what}{_instead(prose, row)}."


def keyword_text(prose: Prose, dotted: str, keyword: str) -> str | None:
    """Returns the history of a callable's keyword; None if it has not changed."""
    row = keyword_change(dotted, keyword)
    what = _state(prose, row) if row is not None else None
    if row is None or what is None:
        return None
    instead = f"; use {prose.code(row.replacement)}" if row.replacement else f"; {row.note}" if row.note else ""
    return f"Keyword {prose.code(keyword)} of {prose.code(row.dotted)} {what}{instead}."


def _state(prose: Prose, row: Change | KeywordChange) -> str | None:
    version = prose.view.jax_version
    used = f"this project uses {spell_version(version)}"
    if row.removed is not None and row.removed <= version:
        return f"was removed in JAX {spell_version(row.removed)} ({used})"
    if row.deprecated is not None and row.deprecated <= version:
        going = f" and is removed in JAX {spell_version(row.removed)}" if row.removed is not None else ""
        return f"has been deprecated since JAX {spell_version(row.deprecated)}{going} ({used})"
    if row.since is not None and row.since > version:
        return f"is new in JAX {spell_version(row.since)} ({used})"
    return None


def _instead(prose: Prose, row: Change) -> str:
    """Returns a clause with the replacement, if this version has it, or with the note; "" if there is neither."""
    if row.replacement is None:
        return f"; {row.note}" if row.note else ""
    to = change(row.replacement)
    since = row.replacement_since or (to.since if to is not None and to.dotted == row.replacement else None)
    if since is not None and since > prose.view.jax_version:
        return f"; {row.note}" if row.note else ""
    return f"; {row.note}" if row.note and not row.rewrite else f"; use {prose.code(row.replacement)}"
