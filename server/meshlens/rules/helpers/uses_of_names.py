"""The uses of imported names in a file, and edits that adapt their calls to another signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Attribute, Call, Expression, Name
from meshlens.facts.walking import nodes
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span


@dataclass(frozen=True, slots=True)
class UseOfName:
    """A read of a name.

    Attributes:
        block: the key of the block that contains it.
        site: the expression.
        call: the call to it, or the `partial(…)` with it as first argument; else None.
        partial: whether `call` is a `partial(…)`.
    """

    block: str
    site: Site
    call: Call | None
    partial: bool


class UsesOfNames:
    """The uses of names and dotted names in a file, collected on first use."""

    def __init__(self, view: FileView) -> None:
        self._view = view

    def of(self, text: str) -> Sequence[UseOfName]:
        """Returns every use of a name or dotted name with this spelling."""
        return self._by_text.get(text, ())

    def at(self, site: Site) -> UseOfName | None:
        """Returns the use at a site; None if the site is not a name."""
        return self._by_site.get(site)

    @cached_property
    def _by_site(self) -> dict[Site, UseOfName]:
        return {use.site: use for uses in self._by_text.values() for use in uses}

    @cached_property
    def _by_text(self) -> dict[str, list[UseOfName]]:
        found: dict[str, list[UseOfName]] = {}
        for key, block in self._view.facts.blocks.items():
            called: dict[int, tuple[Call, bool]] = {}
            for node in nodes(block.shape):
                if isinstance(node, Call):
                    callee = node.callee
                    called[callee.site] = (node, False)
                    is_partial = isinstance(callee, (Name, Attribute)) and callee.name == "partial"
                    if is_partial and node.arguments and node.arguments[0].label is None:
                        called[node.arguments[0].value.site] = (node, True)
                elif isinstance(node, (Name, Attribute)) and (text := _dotted(node)) is not None:
                    call, partial = called.get(node.site, (None, False))
                    site = Site(str(self._view.path), key, node.site)
                    found.setdefault(text, []).append(UseOfName(key, site, call, partial))
        return found


def _dotted(node: Expression) -> str | None:
    parts: list[str] = []
    while isinstance(node, Attribute):
        parts.append(node.name)
        node = node.object
    return ".".join([node.name, *reversed(parts)]) if isinstance(node, Name) else None


def with_keywords(
    view: FileView, use: UseOfName, names: tuple[str, ...], renamed: dict[str, str]
) -> tuple[FileEdit, ...] | None:
    """Returns edits that make a call pass its later arguments by keyword.

    Args:
        view: the file.
        use: the call.
        names: the parameters after the first one, in order.
        renamed: the new names of renamed keywords.

    Returns:
        The edits; None if there is no call, or it cannot be rewritten in its current form.
    """
    if use.call is None:
        return None
    edits: list[FileEdit] = []
    positional = -1 if use.partial else 0
    for label, index, value in use.call.arguments:
        span = view.span(Site(use.site.path, use.block, index))
        if label in ("*", "**"):
            return None
        if label is None:
            positional += 1
            if positional > len(names) + 1:
                return None
            if positional > 1:
                edits.append(
                    _insert(view, view.span(Site(use.site.path, use.block, value.site)).start, names[positional - 2])
                )
        elif label in renamed:
            edits.append(FileEdit(view.path, Edit(Span(span.start, span.start + len(label.encode())), renamed[label])))
        elif label not in names:
            return None
    return tuple(edits)


def _insert(view: FileView, at: int, keyword: str) -> FileEdit:
    return FileEdit(view.path, Edit(Span(at, at), f"{keyword}="))
