"""Rewrites the application of a map: as decorators of its function, or as calls around it."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Arg
from meshlens.axes.runs.records import Binding
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import Call, Source, around, call_text, comments_in, width_of
from meshlens.text import Edit, FileEdit, Span


@dataclass(frozen=True, slots=True)
class Layer:
    """A transformation around a function.

    Attributes:
        callee: its source.
        arguments: the arguments other than the function.
    """

    callee: str
    arguments: tuple[str | Source, ...] = ()


def applied(
    view: FileView, binding: Binding, layers: tuple[Layer, ...], spelling: Spelling, whole: Span | None = None
) -> FileEdit:
    """Returns the edit that replaces a map with other transformations.

    Args:
        view: the file.
        binding: the map.
        layers: the transformations, outermost first.
        spelling: spells the names that they need.
        whole: the map and the transformations around it, if they are removed as well.

    Raises:
        Obstacle: there are comments between the removed arguments, or the function is not written at the map.
    """
    site = binding.binder.site
    span = whole if whole is not None else view.span(site)
    operand = binding.binder.operand_site
    text = view.source[span.start : span.end].decode("utf-8", "replace")
    if operand is not None and not binding.decorator:
        text = text.replace(view.text(operand), "_", 1)
    if comments_in(text):
        raise Obstacle(
            "comments", f"there are comments between the arguments of this {binding.binder.kind}; move them first"
        )
    indent, taken = around(view, span)
    if binding.decorator:
        lines = [_held(view, layer, spelling, indent) for layer in layers]
        return FileEdit(view.path, Edit(span, f"\n{indent}@".join(lines)))
    if operand is None:
        raise Obstacle("applied-elsewhere", "cannot find the function that this map is applied to")
    inside: Source | Call = Source(view.text(operand), around(view, view.span(operand))[0])
    for layer in reversed(layers):
        inside = Call(layer.callee, (inside, *layer.arguments))
    assert isinstance(inside, Call)
    return FileEdit(view.path, Edit(span, call_text(inside, indent, width_of(view), taken)))


def kept(view: FileView, name: str, arg: Arg | None) -> tuple[str | Source, ...]:
    """Returns an argument as written, with a keyword; empty if the argument is not given.

    Args:
        view: the file.
        name: the keyword.
        arg: the argument.
    """
    if arg is None or arg.site is None:
        return ()
    text = f"{name}={view.text(arg.site)}"
    if "\n" not in text:
        return (text,)
    return (Source(text, around(view, view.span(arg.site))[0]),)


def _held(view: FileView, layer: Layer, spelling: Spelling, indent: str) -> str:
    if not layer.arguments:
        return layer.callee
    call = Call(spelling.of("functools", "partial"), (layer.callee, *layer.arguments))
    return call_text(call, indent, width_of(view), len(indent) + 1)
