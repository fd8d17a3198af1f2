"""Finds the `jit` on or around a function; a pmap makes it unnecessary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from meshlens.axes.domain.values import Const, Seq, Site
from meshlens.axes.runs.records import ApiCall
from meshlens.facts.nodes import Argument, Call, Constant, ListDisplay, Name, TupleDisplay
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, path_to
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.decorators import is_transparent
from meshlens.refactoring.reading.functions import Target, dotted_name
from meshlens.refactoring.writing.writing import comments_in

_NUMBERS = {"static_argnums": "static_broadcasted_argnums", "donate_argnums": "donate_argnums"}
_NAMES = {"static_argnames": "static_broadcasted_argnums", "donate_argnames": "donate_argnums"}


_BINDING = frozenset({"staticmethod", "classmethod"})
"""The decorators that determine a method's first argument but do not affect the arguments of the `jit` below them."""
Library = Literal["jax", "equinox", "nnx"]
_JITS: dict[str, Library] = {
    "jax.jit": "jax",
    "jax.experimental.pjit.pjit": "jax",
    "equinox.filter_jit": "equinox",
    "flax.nnx.jit": "nnx",
}


@dataclass(frozen=True, slots=True)
class Folded:
    """A `jit` that a pmap replaces.

    Attributes:
        site: the decorator, or the call.
        arguments: the source text of the arguments that move to the pmap.
        static: the names of the static parameters.
        places: the positions of the static parameters.
        comments: the comments between its arguments.
        library: its library: equinox's `jit` accepts values other than arrays; nnx's tracks objects that change.
    """

    site: Site
    arguments: tuple[str, ...]
    static: tuple[str, ...]
    places: tuple[int, ...] = ()
    comments: tuple[str, ...] = ()
    library: Library = "jax"


def jit_above(view: FileView, target: Target) -> Folded | None:
    """Returns the `jit` that decorates a function; None if there is none.

    Raises:
        Obstacle: another decorator has an unknown effect, or the `jit` has arguments that pmap does not accept.
    """
    decorators = target.node.function.decorators
    if not decorators:
        return None
    jits = [(one, applied) for one in decorators if (applied := _applied(view, one)) is not None]
    others = [one for one in decorators if not any(one is jit for jit, _ in jits)]
    binding = [one.name for one in others if isinstance(one, Name) and one.name in _BINDING and target.is_method]
    others = [one for one in others if not (isinstance(one, Name) and one.name in binding)]
    unknown = next((one for one in others if not is_transparent(view, one)), None)
    if unknown is not None:
        text = view.text(target.at(unknown.site))
        raise Obstacle("decorators", f'"{target.name}" is decorated with "{text}", whose effect is unknown')
    if len(jits) > 1:
        raise Obstacle("decorators", f'"{target.name}" is decorated with jit more than once')
    if not jits and binding:
        raise Obstacle("method", f'"{target.name}" is a {binding[0]}, which can be mapped only if it is jitted')
    if not jits:
        return None
    decorator, (library, arguments) = jits[0]
    site = target.at(decorator.site)
    if library == "equinox":
        if any(label not in ("donate", "fun") for label, _, _ in arguments):
            raise Obstacle("jit-arguments", "filter_pmap has no equivalent of the arguments of this filter_jit")
        return Folded(site, (), (), (), comments_in(view.text(site)), library)
    call = next((one for one in view.records.calls if one.call == site and _is_jit(one.dotted)), None)
    if call is not None:
        return folded_jit(view, target, call, is_bound=False)
    given = [(label, target.at(value.site), _value(value)) for label, _, value in arguments]
    return _folded(view, target, site, given, is_bound=False, library=library)


def _applied(view: FileView, decorator: Node) -> tuple[Library, tuple[Argument, ...]] | None:
    """Returns the library whose `jit` a decorator applies, with the arguments other than the function."""
    library = _JITS.get(canonical(dotted_name(view, decorator)))
    if library is not None:
        return library, ()
    if not isinstance(decorator, Call):
        return None
    callee, given = decorator.callee, decorator.arguments
    if dotted_name(view, callee) == "functools.partial" and given and given[0].label is None:
        callee, given = given[0].value, given[1:]
    library = _JITS.get(canonical(dotted_name(view, callee)))
    is_plain = all(label not in (None, "*", "**") for label, _, _ in given)
    return (library, given) if library is not None and is_plain else None


def _value(node: Node) -> object:
    """Returns the value of a literal, or of a tuple or list of literals, as a `Value`; None for other expressions."""
    if isinstance(node, Constant):
        return Const(node.value)
    if isinstance(node, (TupleDisplay, ListDisplay)):
        return Seq(
            node.tag, tuple(Const(one.value) if isinstance(one, Constant) else Const(None) for one in node.items)
        )
    return None


def jit_around(view: FileView, use: Site) -> ApiCall | None:
    """Returns the call to `jit` that receives the function named at a site; None if there is none."""
    for call in view.records.calls:
        if canonical(call.dotted) in _JITS and not call.decorator and call.args and call.args[0].site == use:
            return call
    return None


def folded_jit(view: FileView, target: Target, call: ApiCall, *, is_bound: bool) -> Folded:
    """Returns a `jit` with the arguments that the pmap takes over from it.

    Args:
        view: the file.
        target: the function.
        call: the `jit`.
        is_bound: whether the `jit` receives a bound method.

    Raises:
        Obstacle: an argument is unknown, or pmap does not accept it.
    """
    given = [(arg.label, arg.site, arg.value) for arg in call.args if arg.label is not None]
    library = _JITS.get(canonical(call.dotted), "jax")
    if library == "equinox":
        given = [one for one in given if one[0] != "donate"]
    return _folded(view, target, call.call, given, is_bound=is_bound, library=library)


def _folded(
    view: FileView,
    target: Target,
    site: Site,
    given: Sequence[tuple[str | None, Site | None, object]],
    *,
    is_bound: bool,
    library: Library,
) -> Folded:
    comments = comments_in(view.text(site))
    names = [one.name for one in target.node.function.parameters if one.name not in target.filled]
    names = names[1:] if is_bound else names
    texts: dict[str, str] = {}
    static: list[int] = []
    for label, where, value in given:
        wanted = _NUMBERS.get(label or "") or _NAMES.get(label or "")
        if wanted is None or label is None or where is None or wanted in texts:
            raise Obstacle("jit-arguments", f'pmap has no equivalent of the argument "{label}" of this jit')
        numbers = [_number(item, names, label) for item in _items(value)]
        by_name = label in _NAMES
        texts[wanted] = f"{_tuple(numbers)}" if by_name else view.text(where)
        if wanted == "static_broadcasted_argnums":
            static += numbers
    arguments = tuple(f"{name}={text}" for name, text in texts.items())
    return Folded(site, arguments, tuple(names[number] for number in static), tuple(static), comments, library)


def _is_jit(dotted: str) -> bool:
    """Returns whether a name is JAX's own `jit`; a library's jit, unlike its pmap, tracks more than arrays."""
    return canonical(dotted) in ("jax.jit", "jax.experimental.pjit.pjit")


def operand_of(view: FileView, folded: Folded) -> Site:
    """Returns the function passed to a `jit` that is applied as a call."""
    site = folded.site
    call = path_to(view, site)[-1]
    assert isinstance(call, Call)
    return Site(site.path, site.block, call.arguments[0].site)


def _items(value: object) -> tuple[object, ...]:
    return value.items if isinstance(value, Seq) and not value.open else (value,)


def _number(item: object, names: list[str], label: str) -> int:
    value = item.value if isinstance(item, Const) else None
    if label in _NAMES and isinstance(value, str) and value in names:
        return names.index(value)
    if label in _NUMBERS and type(value) is int and 0 <= value < len(names):
        return value
    raise Obstacle("unknown-static", f"it is unknown which arguments {label} selects")


def _tuple(numbers: list[int]) -> str:
    return f"({', '.join(map(str, numbers))}{',' * (len(numbers) == 1)})"
