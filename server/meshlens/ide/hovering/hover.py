"""Hovers for JAX's maps, meshes, specs and axis names."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Const, Function, Made, Mesh, Site, Spec, Value
from meshlens.facts.nodes import Argument, Call, Constant, Import, Imported, ImportFrom
from meshlens.ide.cursor import Part, arguments_of, call_of, expression_at, parts_at
from meshlens.ide.hovering.hover_api import api_text, keyword_text
from meshlens.ide.hovering.hover_axis import axis_text
from meshlens.ide.hovering.hover_binder import binder_text, binders_at, mapped_function_text
from meshlens.ide.hovering.hover_collective import collective_text, unreached_text
from meshlens.ide.hovering.hover_devices import devices_text
from meshlens.ide.hovering.hover_mesh import mesh_text
from meshlens.ide.hovering.hover_reference import with_reference
from meshlens.ide.hovering.hover_spec import sharding_text, spec_text
from meshlens.ide.hovering.prose import NO_COLORS, HoverStyle, Prose
from meshlens.ide.shown.axis_colors import axis_colors
from meshlens.ide.values_here import dotted_at, mapped_in, named, result_of, value_at
from meshlens.jaxapi.binders import binder as row_of
from meshlens.jaxapi.collectives import collective
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Hover:
    """A hover to show.

    Attributes:
        span: the described text.
        text: plain text or Markdown, depending on the requested style.
    """

    span: Span
    text: str


def hover(view: FileView, offset: int, style: HoverStyle) -> Hover | None:
    """Returns the hover for the text at an offset.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
        style: "plaintext"; "markdown"; "svg" and "html" for Markdown with more features.

    Returns:
        The hover; None for plain Python and for library functions without axes.
    """
    parts = parts_at(view, offset)
    if not parts:
        return None
    prose = Prose(view, style, axis_colors(view.solution) if style == "html" else NO_COLORS)
    place = expression_at(parts)
    kind, site = parts[0].kind, parts[0].site
    if kind == "defined":
        text = mapped_function_text(prose, site)
    elif kind == "const":
        text = _of_literal(prose, parts[0])
    elif kind == "imported":
        text = _of_import(prose, parts)
    elif kind == "argument":
        text = _of_keyword(prose, parts, offset)
    elif place is not None:
        site = parts[place].site
        dotted = dotted_at(view, parts, place)
        text = devices_text(prose, dotted) if dotted is not None else None
        text = text or _of_call(prose, parts, place, dotted) or _of_name(prose, parts, place, dotted)
    else:
        text = None
    return Hover(view.span(site), text) if text else None


def _of_literal(prose: Prose, part: Part) -> str | None:
    value = part.shape.value if isinstance(part.shape, Constant) else None
    return axis_text(prose, part.site, Const(value, part.site)) if isinstance(value, str) else None


def _of_keyword(prose: Prose, parts: tuple[Part, ...], offset: int) -> str | None:
    """Returns the hover of a keyword argument's name."""
    argument, call = parts[0].shape, parts[1].shape if len(parts) > 1 else None
    label = argument.label if isinstance(argument, Argument) else None
    if label is None or label in ("*", "**") or not isinstance(call, Call):
        return None
    if offset > prose.view.span(parts[0].site).start + len(label.encode()):
        return None
    callee = (Part("name", parts[1].site, call.callee), *parts[1:])
    dotted = dotted_at(prose.view, callee, 0)
    return keyword_text(prose, canonical(dotted), label) if dotted is not None else None


def _of_import(prose: Prose, parts: tuple[Part, ...]) -> str | None:
    """Returns the hover of an imported name: its history in JAX, or its value in the workspace."""
    imported, statement = parts[0].shape, parts[1].shape
    if not isinstance(imported, Imported):
        return None
    text, alias = imported.name, imported.alias
    if isinstance(statement, ImportFrom) and statement.level == 0:
        dotted = f"{statement.module}.{text}"
        found = with_reference(prose, dotted, api_text(prose, dotted))
    else:
        found = api_text(prose, text) if isinstance(statement, Import) else None
    return found or _of_value(prose, parts[0].site, named(prose.view, alias or text, parts))


def _of_call(prose: Prose, parts: tuple[Part, ...], place: int, dotted: str | None) -> str | None:
    """Returns the hover of the callee of a call that involves axes."""
    view = prose.view
    call = call_of(parts, place)
    if call is None:
        return None
    if dotted == "functools.partial":
        return None
    text = collective_text(prose, call.site, arguments_of(call))
    row = collective(canonical(dotted)) if dotted is not None else None
    if text is None and row is not None:
        text = unreached_text(prose, row)
    if text is None and (found := binders_at(view, call.site)):
        text = binder_text(prose, found[0])
    if text is None and dotted is not None:
        text = _of_made(prose, result_of(view, call.site))
    if text is None:
        mapped = next((one for one in view.records.mapped_calls if one.call == call.site and one.visible), None)
        text = binder_text(prose, mapped.binder) if mapped is not None else None
    if dotted is None:
        return text
    return with_reference(prose, dotted, text, api_text(prose, dotted))


def _of_name(prose: Prose, parts: tuple[Part, ...], place: int, dotted: str | None) -> str | None:
    """Returns the hover of a name that is not called, or whose call has no hover."""
    view = prose.view
    if dotted is not None:
        return with_reference(prose, dotted, _of_partial(prose, parts, place, dotted), api_text(prose, dotted))
    return _of_value(prose, parts[place].site, value_at(view, parts, place))


def _of_value(prose: Prose, site: Site, value: Value) -> str | None:
    """Returns the hover of a variable, depending on its value."""
    mapped = mapped_in(value)
    if mapped is not None:
        return binder_text(prose, mapped.binder)
    if isinstance(value, (Mesh, Spec, Made)):
        return _of_made(prose, value)
    if isinstance(value, Function):
        return mapped_function_text(prose, value.site)
    return axis_text(prose, site, value if isinstance(value, Const) else None)


def _of_made(prose: Prose, value: Value) -> str | None:
    if isinstance(value, Mesh):
        return mesh_text(prose, value)
    if isinstance(value, Spec):
        return spec_text(prose, value)
    return sharding_text(prose, value) if isinstance(value, Made) else None


def _of_partial(prose: Prose, parts: tuple[Part, ...], place: int, dotted: str) -> str | None:
    """Returns the hover of a map or collective that is named but not called: `partial(jax.lax.psum, …)`."""
    name = canonical(dotted)
    for part in parts[place : place + 3]:
        if row_of(name) is not None and (found := binders_at(prose.view, part.site)):
            return binder_text(prose, found[0])
        if collective(name) is not None and part.kind == "call":
            return collective_text(prose, part.site, arguments_of(part))
    return None
