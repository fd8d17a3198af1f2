"""The function that a map maps: its parameters and signature, which the map hides."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.axes.domain.values import Bound, Function, Mapped, Partial, Site, Union, Value, Wrapped
from meshlens.facts import nodes
from meshlens.project.view import FileView

_RETURNS = re.compile(rb"(?:[\s,/*]|#[^\n]*\n)*\)\s*->\s*([^\n:#]+?)\s*:")
_WIDE = 88


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the caller of the map passes.

    Attributes:
        name: its name.
        how: as in the facts: "only", "any", "*", "key", "**".
        text: its source, with annotation and default.
        optional: whether it has a default.
    """

    name: str
    how: str
    text: str
    optional: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """A mapped function, with the parameters that the caller of the map passes.

    Attributes:
        function: the function of the workspace.
        parameters: the parameters that neither a partial nor `self` fills.
        returns: the source of the return annotation, "" if there is none.
    """

    function: Function
    parameters: tuple[Parameter, ...]
    returns: str

    @property
    def name(self) -> str:
        """Returns the function's name, "lambda" for a lambda."""
        return self.function.name if self.function.name.isidentifier() else "lambda"


def operand_of(view: FileView, value: Value) -> Operand | None:
    """Returns the function that an operand resolves to; None if it is not in the workspace."""
    if isinstance(value, Function):
        return _of_function(view, value)
    if isinstance(value, Bound):
        inner = operand_of(view, value.function)
        return Operand(inner.function, inner.parameters[1:], inner.returns) if inner is not None else None
    if isinstance(value, Partial):
        inner = operand_of(view, value.callee)
        return _without(inner, value) if inner is not None else None
    if isinstance(value, Wrapped):
        return operand_of(view, value.operand)
    if isinstance(value, Mapped):
        return operand_of(view, value.binder.operand)
    if isinstance(value, Union):
        return next((found for option in value.options if (found := operand_of(view, option)) is not None), None)
    return None


def signature_text(operand: Operand) -> str:
    """Returns the source of a signature, `def step(state, batch, *, lr=0.1) -> State`, wrapped if it is long."""
    texts = parameter_texts(operand)
    if operand.name == "lambda":
        return f"lambda {', '.join(texts)}"
    returns = f" -> {operand.returns}" if operand.returns else ""
    line = f"def {operand.name}({', '.join(texts)}){returns}"
    if len(line) <= _WIDE:
        return line
    return "\n".join([f"def {operand.name}(", *(f"    {text}," for text in texts), f"){returns}"])


def parameter_texts(operand: Operand) -> tuple[str, ...]:
    """Returns the parameters as written, with the `/` and `*` between them."""
    texts: list[str] = []
    before = ""
    for parameter in operand.parameters:
        if before == "only" and parameter.how != "only":
            texts.append("/")
        if parameter.how == "key" and before not in ("key", "*"):
            texts.append("*")
        texts.append(parameter.text)
        before = parameter.how
    return (*texts, "/") if before == "only" else tuple(texts)


def _of_function(view: FileView, function: Function) -> Operand:
    parameters = tuple(
        Parameter(name, how, _text(view, function, shape), shape.default is not None)
        for shape in function.parameters
        for name, how in [(shape.name, shape.how)]
        if name
    )
    return Operand(function, parameters, _returns(view, function))


def _text(view: FileView, function: Function, shape: nodes.Parameter) -> str:
    name, how, default, annotation = shape.name, shape.how, shape.default, shape.annotation
    text = f"{how if how in ('*', '**') else ''}{name}"
    if annotation is not None:
        text += f": {_source(view, function, annotation)}"
    if default is not None:
        text += f" = {_source(view, function, default)}" if annotation else f"={_source(view, function, default)}"
    return text


def _source(view: FileView, function: Function, shape: nodes.Expression) -> str:
    text = view.text(Site(function.path, function.block, shape.site))
    return " ".join(text.split()) if "\n" in text else text


def _returns(view: FileView, function: Function) -> str:
    """Returns the return annotation, read from the text after the last parameter because facts do not store it."""
    source, at = view.texts[function.path], view.span(function.site).end
    if not function.name.isidentifier():
        return ""
    for _, site, _, default, annotation in function.parameters:
        ends = [site, *(shape.site for shape in (default, annotation) if shape is not None)]
        at = max(at, *(view.span(Site(function.path, function.block, end)).end for end in ends))
    at = source.find(b"(", at) + 1 if not function.parameters else at
    found = _RETURNS.match(source, at)
    return " ".join(found[1].decode("utf-8", "replace").split()) if found is not None else ""


def _without(operand: Operand, partial: Partial) -> Operand:
    """Returns the operand without the parameters that a partial fills, including those that a call could override."""
    if any(arg.label in ("*", "**") for arg in partial.args):
        return operand
    positional = sum(arg.label is None for arg in partial.args)
    given = {arg.label for arg in partial.args}
    rest = tuple(parameter for parameter in operand.parameters[positional:] if parameter.name not in given)
    return Operand(operand.function, rest, operand.returns)
