"""What an editor shows for the text under the mouse: about JAX's maps, meshes, specs and axis names, else nothing."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.values import Binder
from meshlens.ide.cursor import Part, call_of, expression_at, parts_at
from meshlens.ide.hover_binder import binder_text, binders_at, mapped_function_text
from meshlens.ide.hover_collective import collective_text
from meshlens.ide.prose import HoverStyle, Prose
from meshlens.ide.values_here import dotted_at, mapped_in, value_at
from meshlens.jaxapi.binders import binder as row_of
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show.

    Attributes:
        span: the text that it is about.
        text: plain text or Markdown, by the style that was asked for.
    """

    span: Span
    text: str


def hover(view: FileView, offset: int, style: HoverStyle) -> Hover | None:
    """What there is to say about the text at an offset.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
        style: "plaintext"; "markdown"; "svg" for Markdown in which pictures are shown.

    Returns:
        None for everything that is plain Python or a function of a library without axes.
    """
    parts = parts_at(view, offset)
    if not parts:
        return None
    prose = Prose(view, style)
    place = expression_at(parts)
    site, text = parts[0].site, None
    if parts[0].kind == "defined":
        text = mapped_function_text(prose, site)
    elif place is not None:
        site = parts[place].site
        text = _of_expression(prose, parts, place)
    return Hover(view.span(site), text) if text else None


def _of_expression(prose: Prose, parts: tuple[Part, ...], place: int) -> str | None:
    view = prose.view
    call = call_of(parts, place)
    if call is not None:
        text = collective_text(prose, call.site)
        if text:
            return text
        found = binders_at(view, call.site)
        if found:
            return binder_text(prose, found[0])
        for record in view.records.mapped_calls:
            if record.call == call.site and record.visible:
                return binder_text(prose, record.binder)
    named = _named_map(view, parts, place)
    if named is not None:
        return binder_text(prose, named)
    mapped = mapped_in(value_at(view, parts, place))
    return binder_text(prose, mapped.binder) if mapped is not None else None


def _named_map(view: FileView, parts: tuple[Part, ...], place: int) -> Binder | None:
    """The map that an expression names without calling it: `@jax.pmap`, `@partial(jax.pmap, …)`."""
    dotted = dotted_at(view, parts, place)
    if dotted is None or row_of(canonical(dotted)) is None:
        return None
    for part in parts[place : place + 3]:
        if found := binders_at(view, part.site):
            return found[0]
    return None
