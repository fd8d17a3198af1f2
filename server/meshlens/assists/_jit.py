"""The `jit` above or around a function, whose work a pmap does as well."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.assists._functions import Target, dotted_name
from meshlens.assists._pmap import Obstacle
from meshlens.assists._writing import comments_in
from meshlens.axes.records import ApiCall
from meshlens.axes.values import Const, Seq, Site
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node
from meshlens.project.view import FileView

_NUMBERS = {"static_argnums": "static_broadcasted_argnums", "donate_argnums": "donate_argnums"}
_NAMES = {"static_argnames": "static_broadcasted_argnums", "donate_argnames": "donate_argnums"}


@dataclass(frozen=True, slots=True)
class Folded:
    """A `jit` that a pmap takes the place of.

    Attributes:
        site: the decorator, or the call.
        arguments: what the pmap gets instead of the `jit`, as text.
        static: the names of the parameters that are static.
        comments: what stands between its arguments.
        keeps_objects: whether it is that of equinox, which lets through what is no array.
    """

    site: Site
    arguments: tuple[str, ...]
    static: tuple[str, ...]
    comments: tuple[str, ...] = ()
    keeps_objects: bool = False


def jit_above(view: FileView, target: Target) -> Folded | None:
    """The `jit` that decorates a function; None if there is none.

    Raises:
        Obstacle: there are other decorators, or it has arguments that pmap does not take.
    """
    decorators = [target.at(node[1]) for node in target.node[2][3]]
    if not decorators:
        return None
    if len(decorators) == 1 and _is_filter(view, target.node[2][3][0]):
        return Folded(decorators[0], (), (), comments_in(view.text(decorators[0])), keeps_objects=True)
    call = next((one for one in view.records.calls if one.call in decorators and _is_jit(one.dotted)), None)
    if call is None or len(decorators) > 1:
        raise Obstacle("decorators", _decorated(view, target))
    return folded_jit(view, target, call, is_bound=False)


def _is_filter(view: FileView, decorator: Node) -> bool:
    return dotted_name(view, decorator) == "equinox.filter_jit"


def _decorated(view: FileView, target: Target) -> str:
    nodes = [node[2] if node[0] == "call" else node for node in target.node[2][3]]
    if any(dotted_name(view, node).startswith("flax.nnx.") for node in nodes):
        return f'"{target.name}" changes objects of flax.nnx in place, of which a map over devices has no copies: \
use jit with sharding'
    return f'"{target.name}" has decorators whose work is not known'


def jit_around(view: FileView, use: Site) -> ApiCall | None:
    """The call of `jit` that a function is handed to at a place."""
    for call in view.records.calls:
        if _is_jit(call.dotted) and not call.decorator and call.args and call.args[0].site == use:
            return call
    return None


def folded_jit(view: FileView, target: Target, call: ApiCall, *, is_bound: bool) -> Folded:
    """What a pmap needs of the arguments of a `jit`.

    Args:
        view: the file.
        target: the function.
        call: the `jit`.
        is_bound: whether it gets a method that knows its object already.

    Raises:
        Obstacle: pmap does not take one of them, or it is not known.
    """
    comments = comments_in(view.text(call.call))
    names = [parameter[0] for parameter in target.node[2][2]]
    names = names[1:] if is_bound else names
    texts: dict[str, str] = {}
    static: list[str] = []
    for arg in call.args:
        if arg.label is None:
            continue
        wanted = _NUMBERS.get(arg.label) or _NAMES.get(arg.label)
        if wanted is None or arg.site is None or wanted in texts:
            raise Obstacle("jit-arguments", f'pmap has no equivalent of "{arg.label}" of this jit')
        numbers = [_number(item, names, arg.label) for item in _items(arg.value)]
        by_name = arg.label in _NAMES
        texts[wanted] = f"{_tuple(numbers)}" if by_name else view.text(arg.site)
        if wanted == "static_broadcasted_argnums":
            static += [names[number] for number in numbers]
    return Folded(call.call, tuple(f"{name}={text}" for name, text in texts.items()), tuple(static), comments)


def _is_jit(dotted: str) -> bool:
    """Whether this is JAX's own; those of libraries keep track of more than arrays, which pmap does not."""
    return canonical(dotted) in ("jax.jit", "jax.experimental.pjit.pjit")


def _items(value: object) -> tuple[object, ...]:
    return value.items if isinstance(value, Seq) and not value.open else (value,)


def _number(item: object, names: list[str], label: str) -> int:
    value = item.value if isinstance(item, Const) else None
    if label in _NAMES and isinstance(value, str) and value in names:
        return names.index(value)
    if label in _NUMBERS and type(value) is int and 0 <= value < len(names):
        return value
    raise Obstacle("unknown-static", f"{label} is not known here")


def _tuple(numbers: list[int]) -> str:
    return f"({', '.join(map(str, numbers))}{',' * (len(numbers) == 1)})"
