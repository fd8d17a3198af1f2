"""Signature help for calls to mapped functions: the original parameters, and how each is mapped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Binder, Site
from meshlens.facts.nodes import Call, Lambda
from meshlens.ide.completing.unclosed import unclosed_call
from meshlens.ide.cursor import Part, parts_at
from meshlens.ide.hovering.environment_words import map_words
from meshlens.ide.hovering.mapping_words import argument_words
from meshlens.ide.hovering.prose import HoverStyle, Prose
from meshlens.ide.operand import Operand, Parameter, operand_of, signature_text
from meshlens.ide.shown.devices import devices_of
from meshlens.ide.values_here import mapped_in, value_at, value_of_text
from meshlens.project.view import FileView


@dataclass(frozen=True, slots=True)
class SignatureParameter:
    """One parameter.

    Attributes:
        start, end: its position in the label, in characters.
        text: a description of how its argument is mapped.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a mapped function.

    Attributes:
        label: `step(state, batch)`.
        text: a description of the map.
        parameters: the parameters in order.
        active: the index of the parameter that the cursor is at; None if there is none.
    """

    label: str
    text: str
    parameters: tuple[SignatureParameter, ...]
    active: int | None


def signature(view: FileView, offset: int, style: HoverStyle = "plaintext") -> Signature | None:
    """Returns the signature of the mapped function that is called around an offset.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
        style: the style of the text, as for a hover.

    Returns:
        The signature; None if no mapped function is called, or if its operand is not in the workspace.
    """
    for call, callee in _calls(view, offset):
        binder = _binder(view, call, callee)
        operand = operand_of(view, binder.operand) if binder is not None else None
        if binder is None or operand is None:
            return None
        return _signature(Prose(view, style), binder, operand, _active(view, call, operand, offset))
    unclosed = unclosed_call(view, offset)
    if unclosed is None:
        return None
    mapped = mapped_in(value_of_text(view, unclosed.callee, unclosed.start))
    operand = operand_of(view, mapped.binder.operand) if mapped is not None else None
    if mapped is None or operand is None:
        return None
    active = _parameter(operand, unclosed.keyword, unclosed.position)
    return _signature(Prose(view, style), mapped.binder, operand, active)


def _calls(view: FileView, offset: int) -> Iterator[tuple[Part, tuple[Part, ...]]]:
    """Yields the innermost call whose brackets contain the offset, if any, with the parts from its callee outwards."""
    parts = parts_at(view, offset)
    for place, part in enumerate(parts):
        call = part.shape
        if isinstance(call, Lambda):
            return
        if not isinstance(call, Call):
            continue
        callee = Site(part.site.path, part.site.block, call.callee.site)
        whole = view.span(part.site)
        if view.span(callee).end < offset and (offset < whole.end or view.source[whole.end - 1 : whole.end] != b")"):
            yield part, (Part(call.callee.tag, callee, call.callee), *parts[place:])
            return


def _binder(view: FileView, call: Part, callee: tuple[Part, ...]) -> Binder | None:
    for record in view.records.mapped_calls:
        if record.call == call.site and record.visible:
            return record.binder
    mapped = mapped_in(value_at(view, callee, 0))
    return mapped.binder if mapped is not None else None


def _signature(prose: Prose, binder: Binder, operand: Operand, active: int | None) -> Signature:
    label = " ".join(signature_text(operand).split()).removeprefix("def ").replace("( ", "(").replace(", )", ")")
    parameters = []
    at = label.find("(") + 1 if operand.name != "lambda" else len("lambda ")
    for place, parameter in enumerate(operand.parameters):
        start = label.find(parameter.text, at)
        if start < 0:
            start = at
        at = start + len(parameter.text)
        parameters.append(SignatureParameter(start, at, argument_words(prose, binder, operand, place)))
    devices = devices_of(prose.view, binder)
    text = f"Mapped by {map_words(prose, binder)}{f', {devices}' if devices else ''}."
    return Signature(label, text, tuple(parameters), active)


def _active(view: FileView, call: Part, operand: Operand, offset: int) -> int | None:
    """Returns the index of the parameter for the argument at the offset, or for an argument typed there."""
    given = call.shape.arguments if isinstance(call.shape, Call) else ()
    arguments = [(label, view.span(Site(call.site.path, call.site.block, site))) for label, site, _ in given]
    before = [label for label, span in arguments if span.end < offset and b"," in view.source[span.end : offset]]
    here = next((label for label, span in arguments if span.start <= offset <= span.end), None)
    return _parameter(operand, here, sum(label is None for label in before))


def _parameter(operand: Operand, keyword: str | None, position: int) -> int | None:
    places = {parameter.name: place for place, parameter in enumerate(operand.parameters)}
    if keyword is not None:
        return places.get(keyword)
    for place, parameter in enumerate(operand.parameters):
        if parameter.how == "*":
            return place
        if place == position:
            return place if _by_position(parameter) else None
    return None


def _by_position(parameter: Parameter) -> bool:
    return parameter.how in ("only", "any")
