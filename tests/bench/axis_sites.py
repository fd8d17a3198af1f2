"""Finds collectives and binders with a known axis name by reading source with `ast`, without using MeshLens.

A name is known if it is a literal, a constant in a module of the project, or the default of a parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sources import DefNode, FunctionNode, Project, Source

Written: TypeAlias = tuple[Source, ast.expr]
Place: TypeAlias = tuple[Source, ast.Call]

_LAX = {
    **dict.fromkeys(("psum", "pmean", "pmax", "pmin", "all_gather", "all_to_all", "psum_scatter", "ppermute"), 1),
    **dict.fromkeys(("pshuffle", "pbroadcast", "pvary", "pcast"), 1),
    **dict.fromkeys(("axis_index", "axis_size"), 0),
}
_BINDERS = {"jax.pmap": 1, "jax.vmap": 4, "jax.soft_pmap": 1}
_MESHES = {"Mesh": 1, "AbstractMesh": 1, "make_mesh": 1}
_SHARD_MAPS = ("shard_map", "smap")
_NAMES = ("axis_name", "axis")
_DEEPEST = 4


@dataclass(frozen=True)
class Axis:
    """Where an axis name is written: the expression to change, and its present value."""

    source: Source
    written: ast.expr
    name: str


@dataclass(frozen=True)
class AxisSite:
    """A collective, a call that passes an axis name to one, or a binder.

    Attributes:
        source, call: the file and the call.
        axes: its axis names.
        home: the place of the collective, if it is in another function; otherwise the place of the call.
    """

    source: Source
    call: ast.Call
    axes: tuple[Axis, ...]
    home: Place

    @property
    def place(self) -> str:
        """Returns `file:line`."""
        return f"{self.source.path}:{self.call.lineno}"


def find_sites(project: Project) -> tuple[list[AxisSite], list[AxisSite]]:
    """Returns all collectives and all binders whose axis name is known."""
    collectives: list[AxisSite] = []
    binders: list[AxisSite] = []
    needs: dict[tuple[DefNode, str], Place] = {}
    for source in project.sources.values():
        for call in source.calls:
            written = _binder_axis(project, source, call)
            if written is not None:
                binders += _site(project, written, (source, call))
                continue
            written = _collective_axis(project, source, call)
            if written is not None:
                collectives += _site(project, written, (source, call))
                _note_need(needs, written, (source, call))
    done: set[tuple[DefNode, str]] = set()
    for _ in range(_DEEPEST):
        new = [item for item in needs.items() if item[0] not in done]
        done.update(needs)
        for (function, name), home in new:
            collectives += _handed_over(project, needs, function, name, home)
    return collectives, binders


def is_partial(source: Source, call: ast.Call) -> bool:
    """Returns true if a call is `functools.partial(…)`."""
    return source.dotted(call.func) in ("functools.partial", "partial") and bool(call.args)


def _handed_over(
    project: Project, needs: dict[tuple[DefNode, str], Place], function: DefNode, name: str, home: Place
) -> Iterator[AxisSite]:
    """Yields the calls that give a function the axis name that it passes to a collective."""
    position = _position(function, name)
    for source, call in project.calls(function.name):
        if all(node is not function for _, node in project.meant(source, call.func)):
            continue
        expression = _argument(call, position, (name,))
        if expression is not None:
            _note_need(needs, (source, expression), home)
            yield from _site(project, (source, expression), (source, call), home)


def _note_need(needs: dict[tuple[DefNode, str], Place], written: Written, home: Place) -> None:
    source, expression = written
    if not isinstance(expression, ast.Name):
        return
    for function in source.functions_around(expression):
        if _parameter(function, expression.id):
            if not isinstance(function, ast.Lambda):
                needs.setdefault((function, expression.id), home)
            return


def _site(project: Project, written: Written, place: Place, home: Place | None = None) -> Iterator[AxisSite]:
    source, whole = written
    items = whole.elts if isinstance(whole, ast.Tuple | ast.List) else [whole]
    axes = tuple(found for item in items if (found := _axis(project, source, item)) is not None)
    if axes:
        yield AxisSite(*place, axes, home or place)


def _axis(project: Project, source: Source, item: ast.expr) -> Axis | None:
    if item.lineno != item.end_lineno:
        return None
    if isinstance(item, ast.Constant):
        return Axis(source, item, item.value) if isinstance(item.value, str) else None
    if isinstance(item, ast.Name):
        for function in source.functions_around(item):
            if _parameter(function, item.id):
                default = _default(function, item.id)
                alone = isinstance(default, ast.Constant) and not _overridden(project, function, item.id)
                return _axis(project, source, default) if alone and default is not None else None
    values = [node for _, node in project.meant(source, item)]
    if len(values) == 1 and isinstance(values[0], ast.Constant) and isinstance(values[0].value, str):
        return Axis(source, item, values[0].value)
    return None


def _overridden(project: Project, function: FunctionNode, name: str) -> bool:
    """Returns true if any call of a function of this name, anywhere, may give this parameter."""
    if isinstance(function, ast.Lambda):
        return True
    position = _position(function, name)
    for _, call in project.calls(function.name):
        if len(call.args) > position or any(keyword.arg in (name, None) for keyword in call.keywords):
            return True
    return any(
        any(keyword.arg == name for keyword in call.keywords) and _named(call.args[0], function.name)
        for _, call in project.calls("partial")
        if call.args
    )


def _collective_axis(project: Project, source: Source, call: ast.Call) -> Written | None:
    callee, shift = _unwrapped(source, call)
    name = source.dotted(callee) or ""
    position = _LAX.get(name.removeprefix("jax.lax.")) if name.startswith("jax.lax.") else None
    if position is None:
        return _aliased(project, source, call, _collective_axis)
    expression = _argument(call, position + shift, _NAMES)
    return None if expression is None else (source, expression)


def _binder_axis(project: Project, source: Source, call: ast.Call) -> Written | None:
    callee, shift = _unwrapped(source, call)
    name = source.dotted(callee) or ""
    if name in _BINDERS:
        expression = _argument(call, _BINDERS[name] + shift, ("axis_name",))
    elif name.startswith("jax") and name.rsplit(".", 1)[-1] in _SHARD_MAPS:
        expression = _mesh_names(project, source, call, _argument(call, 1 + shift, ("mesh",)))
    else:
        return _aliased(project, source, call, _binder_axis)
    return None if expression is None else (source, expression)


def _aliased(
    project: Project, source: Source, call: ast.Call, ask: Callable[[Project, Source, ast.Call], Written | None]
) -> Written | None:
    """Returns the axis of `pmean = functools.partial(jax.lax.pmean, axis_name=…)` for a call `pmean(x)`."""
    if is_partial(source, call):
        return None
    values = project.meant(source, call.func)
    if len(values) != 1:
        return None
    where, made = values[0]
    if not isinstance(made, ast.Call):
        return None
    plain = is_partial(where, made) and (where.dotted(made.args[0]) or "").startswith("jax.")
    return ask(project, where, made) if plain else None


def _mesh_names(project: Project, source: Source, call: ast.Call, mesh: ast.expr | None) -> ast.expr | None:
    if isinstance(mesh, ast.Name):
        around = set(source.functions_around(call))
        values = [node for _, node in project.meant(source, mesh) if around.issuperset(source.functions_around(node))]
        mesh = values[0] if len(values) == 1 and isinstance(values[0], ast.expr) else None
    if not isinstance(mesh, ast.Call):
        return None
    position = _MESHES.get((source.dotted(mesh.func) or "").rsplit(".", 1)[-1])
    return None if position is None else _argument(mesh, position, ("axis_names",))


def _unwrapped(source: Source, call: ast.Call) -> tuple[ast.expr, int]:
    """Returns `jax.pmap` for `functools.partial(jax.pmap, …)`, and by how much its arguments are shifted."""
    return (call.args[0], 1) if is_partial(source, call) else (call.func, 0)


def _argument(call: ast.Call, position: int, names: tuple[str, ...]) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if any(isinstance(argument, ast.Starred) for argument in call.args[: position + 1]):
        return None
    return call.args[position] if position < len(call.args) else None


def _positional(function: FunctionNode) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args]


def _parameter(function: FunctionNode, name: str) -> bool:
    return any(one.arg == name for one in (*_positional(function), *function.args.kwonlyargs))


def _position(function: FunctionNode, name: str) -> int:
    names = [one.arg for one in _positional(function)]
    skipped = 1 if names[:1] in (["self"], ["cls"]) else 0
    return names.index(name) - skipped if name in names else 999


def _default(function: FunctionNode, name: str) -> ast.expr | None:
    positional = _positional(function)
    given = dict(zip([one.arg for one in reversed(positional)], reversed(function.args.defaults), strict=False))
    for one, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            given[one.arg] = default
    return given.get(name)


def _named(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
