"""The `jit` above a function, whose work a pmap does as well."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.assists._functions import Target
from meshlens.assists._pmap import Obstacle
from meshlens.axes.records import ApiCall
from meshlens.axes.values import Const, Seq, Site
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.view import FileView

_ARGUMENTS = {"static_argnums": "static_broadcasted_argnums", "donate_argnums": "donate_argnums"}


@dataclass(frozen=True, slots=True)
class Folded:
    """A `jit` that a pmap takes the place of.

    Attributes:
        site: the decorator.
        arguments: what the pmap gets instead of the `jit`, as text.
        static: the names of the parameters that are static.
    """

    site: Site
    arguments: tuple[str, ...]
    static: tuple[str, ...]


def jit_above(view: FileView, target: Target) -> Folded | None:
    """The `jit` that decorates a function; None if there is none.

    Raises:
        Obstacle: there are other decorators, or it has arguments that pmap does not take.
    """
    decorators = [target.at(node[1]) for node in target.node[2][3]]
    if not decorators:
        return None
    call = next((one for one in view.records.calls if one.call in decorators and one.dotted in COMPILES), None)
    if call is None or len(decorators) > 1:
        raise Obstacle("decorators", f'"{target.name}" has decorators whose work is not known')
    return Folded(call.call, *_arguments(view, target, call))


def _arguments(view: FileView, target: Target, call: ApiCall) -> tuple[tuple[str, ...], tuple[str, ...]]:
    texts: list[str] = []
    static: list[str] = []
    for arg in call.args:
        if (arg.label is None and arg.site is None) or arg.label is None:
            continue
        if arg.label not in _ARGUMENTS or arg.site is None:
            raise Obstacle("jit-arguments", f'pmap has nothing like "{arg.label}" of this jit')
        texts.append(f"{_ARGUMENTS[arg.label]}={view.text(arg.site)}")
        if arg.label == "static_argnums":
            items = arg.value.items if isinstance(arg.value, Seq) else (arg.value,)
            for item in items:
                if not isinstance(item, Const) or type(item.value) is not int or item.value >= len(target.parameters):
                    raise Obstacle("unknown-static", "static_argnums is not known here")
                static.append(target.parameters[item.value][0])
    return tuple(texts), tuple(static)
