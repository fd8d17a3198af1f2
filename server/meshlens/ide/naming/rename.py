"""Rename: gives an axis a new name in every file, or refuses and lists the obstacles."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.ide.naming.occurrences import Place, place_of, said_at
from meshlens.ide.naming.rename_blocks import blocking, captured
from meshlens.ide.naming.rename_check import left_behind
from meshlens.ide.naming.strays import with_strays
from meshlens.project.axis_symbols import AxisSymbol, axis_symbols
from meshlens.project.view import FileView
from meshlens.project.writing.literals import rewritten
from meshlens.text import Edit, FileEdit, Span


@dataclass(frozen=True, slots=True)
class Renamable:
    """An axis name under the cursor that can be renamed; the span is the text between the quotes."""

    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal to rename.

    Attributes:
        message: a short sentence, in lower case.
        places: the obstacles; empty if there is nothing to rename.
    """

    message: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Renaming:
    """The edits of a rename, which do not overlap, and the text that each replaces."""

    edits: tuple[FileEdit, ...]
    replaced: tuple[str, ...] = ()


def prepare(view: FileView, offset: int) -> Renamable | Refused:
    """Returns the axis name under the cursor if it can be renamed, before the new name is known; else the refusal.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
    """
    found = _literal_at(view, offset)
    if isinstance(found, Refused):
        return found
    site, symbol = found
    whole = _whole(view, symbol)
    if isinstance(whole, Refused):
        return whole
    span = view.span(site)
    text = view.text(site)
    quotes = text.find(symbol.name)
    return Renamable(Span(span.start + quotes, span.start + quotes + len(symbol.name.encode())), symbol.name)


def rename(view: FileView, offset: int, new_name: str) -> Renaming | Refused:
    """Returns the edits that rename the axis under the cursor in the whole workspace, or the refusal.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
        new_name: the new name.
    """
    found = _literal_at(view, offset)
    if isinstance(found, Refused):
        return found
    _, symbol = found
    if not new_name or not new_name.isprintable():
        return Refused("an axis name must be a non-empty string on one line")
    whole = _whole(view, symbol)
    if isinstance(whole, Refused):
        return whole
    symbol = whole
    if new_name == symbol.name:
        return Renaming(())
    block = captured(view, symbol, new_name)
    if block is not None:
        return Refused(*block)
    edits: list[FileEdit] = []
    replaced = [view.text(literal) for literal in sorted(symbol.literals)]
    for literal, old in zip(sorted(symbol.literals), replaced, strict=True):
        text = rewritten(old, new_name)
        if text is None:
            return Refused(f'"{new_name}" cannot be written in this literal', (place_of(view, literal),))
        edits.append(FileEdit(view.path_of(literal), Edit(view.span(literal), text)))
    left = left_behind(view, symbol.name, new_name, edits)
    return Refused(*left) if left is not None else Renaming(tuple(edits), tuple(replaced))


def _literal_at(view: FileView, offset: int) -> tuple[Site, AxisSymbol] | Refused:
    symbols = axis_symbols(view.solution)
    site = said_at(view, offset, symbols)
    if site is None:
        return Refused("there is no axis name here")
    here = [node for node in symbols.at[site] if node[0] == site]
    if not here:
        return Refused("this is a variable, not an axis name")
    if len(here) > 1:
        return Refused("this expression stands for several axis names", (place_of(view, site),))
    return site, symbols.symbol(here[0])


def _whole(view: FileView, symbol: AxisSymbol) -> AxisSymbol | Refused:
    """Returns a symbol with everything that the rename must change, or the obstacle."""
    whole = with_strays(view, symbol)
    if not isinstance(whole, AxisSymbol):
        return Refused(*whole)
    block = blocking(view, whole)
    return Refused(*block) if block is not None else whole
