"""Finds functions and data that are already on several devices: under a map, on a mesh, or with a sharding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    Call,
    ClassDef,
    Constant,
    For,
    FunctionDef,
    ListDisplay,
    Name,
    Subscript,
    TupleDisplay,
    last_name,
)
from meshlens.project.trees import Node, bindings, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Refused
from meshlens.refactoring.reading.functions import (
    Target,
    dotted_name,
    functions_called,
    line_of,
    maps_around,
    reached,
)

_ENTERS = frozenset({"jax.set_mesh", "jax.sharding.set_mesh", "jax.sharding.use_mesh"})
_PUTS = frozenset({"jax.device_put", "jax.make_array_from_process_local_data", "jax.make_array_from_callback"})
_CONSTRAINS = frozenset({"jax.lax.with_sharding_constraint", "jax.sharding.reshard"})
_DEVICES = frozenset({"jax.devices", "jax.local_devices"})
_PROCESSES = re.compile(rb"\bdistributed\.initialize\b|\bmultihost_utils(?:\.\w| import\b)")
_DEEPEST = 4
_ONE_DEVICE_REJECTED = (0, 8, 0), (0, 9, 1)


class _Code(NamedTuple):
    """A function, or the statements at the top of a file.

    Attributes:
        calls: the calls in it.
        bound: the nodes that bind each name.
    """

    calls: tuple[Call, ...]
    bound: Mapping[str, list[Node]]


_Scope: TypeAlias = tuple[_Code, ...]


def already_mapped(view: FileView, target: Target, title: str) -> Refused | None:
    """Returns the refusal for a function that a map already runs; None if no map does.

    Args:
        view: the file.
        target: the function.
        title: what the refactoring does.
    """
    found = sorted(maps_around(view, target), key=lambda one: (not view.is_here(one.site), one.site))
    if not found:
        return None
    first = found[0]
    where = f"on line {line_of(view, first.site)}" if view.is_here(first.site) else "in another file"
    return Refused(title, "already-mapped", f'{first.dotted} {where} already runs "{target.name}" on all devices')


def must_run_as_one_process(view: FileView) -> None:
    """Checks that a program neither joins several processes nor exchanges data between them.

    Raises:
        Obstacle: it does.
    """
    if _PROCESSES.search(view.source) is not None:
        message = "this program runs as several processes; each would have to place its own part of the data"
        raise Obstacle("several-processes", message)


def must_not_be_on_a_mesh(view: FileView, target: Target, calls: Iterable[tuple[Site, tuple[Node, ...]]]) -> None:
    """Checks that nothing puts the data of a function on a mesh.

    Args:
        view: the file.
        target: the function.
        calls: the place of each call in the file, with the arguments to check.

    Raises:
        Obstacle: the function sets a sharding, its calls run on a mesh, or their arguments are already on devices.
    """
    inside = [node for root in reached(view, target) for node in walk(root) if isinstance(node, Call)]
    if any(dotted_name(view, node.callee) in _CONSTRAINS for node in inside):
        raise Obstacle("already-sharded", f'"{target.name}" already sets the sharding of its data')
    for site, values in calls:
        scope = _scope(view, site)
        if any(dotted_name(view, node.callee) in _ENTERS for node in _calls_in(scope)):
            raise Obstacle("already-sharded", f'the calls to "{target.name}" already run on a mesh')
        if any(_comes_from(view, scope, value, _places) for value in values):
            message = f'line {line_of(view, site)} passes "{target.name}" data that is already placed on devices'
            raise Obstacle("already-sharded", message)


def must_not_be_on_one_device(view: FileView, target: Target, shared: Iterable[tuple[Site, tuple[Node, ...]]]) -> None:
    """Checks that no unmapped argument of a pmap is already on one device, if the JAX release rejects that.

    Args:
        view: the file.
        target: the function.
        shared: the place of each call in the file, with the arguments that the pmap does not map.

    Raises:
        Obstacle: an argument is on one device (measured: "Received incompatible devices" from JAX 0.8.0 to 0.9.0).
    """
    if not _ONE_DEVICE_REJECTED[0] <= view.jax_version < _ONE_DEVICE_REJECTED[1]:
        return
    for site, values in shared:
        if any(_comes_from(view, _scope(view, site), value, _is_on_a_device) for value in values):
            message = f'line {line_of(view, site)} passes "{target.name}" data on one device, which pmap rejects'
            raise Obstacle("on-one-device", f"{message} in JAX 0.8.0 to 0.9.0; use jit with sharding")


def must_not_be_split(view: FileView, target: Target, calls: Iterable[tuple[Site, tuple[Node, ...]]]) -> None:
    """Checks that no argument of a function is certainly split over a mesh; copying it to all devices would undo that.

    Args:
        view: the file.
        target: the function.
        calls: the place of each call in the file, with the arguments to check.

    Raises:
        Obstacle: an argument is split over a mesh.
    """
    for site, values in calls:
        if any(_is_split(view, _scope(view, site), value, _DEEPEST) for value in values):
            message = f'line {line_of(view, site)} passes "{target.name}" data that is already split over a mesh'
            raise Obstacle("already-sharded", message)


def _calls_in(scope: _Scope) -> Iterator[Call]:
    yield from (call for code in scope for call in code.calls)


def _bound_in(scope: _Scope, name: str) -> Iterator[Node]:
    yield from (node for code in scope for node in code.bound.get(name, ()))


def _scope(view: FileView, site: Site) -> _Scope:
    """Returns the function around a call, if there is one, and the top-level statements other than definitions."""

    def at_the_top() -> _Code:
        return _code([one for one in view.facts.statements if not isinstance(one, (FunctionDef, ClassDef))])

    top: _Code = view.solution.once(f"assists: bindings at the top of {view.path}", lambda _: at_the_top())
    root = tree(view, site.path, site.block)
    return (_code([root]), top) if isinstance(root, FunctionDef) else (top,)


def _code(roots: list[Node]) -> _Code:
    return _Code(tuple([node for root in roots for node in walk(root) if isinstance(node, Call)]), bindings(roots))


def _is_on_a_device(view: FileView, scope: _Scope, call: Call) -> bool:
    return dotted_name(view, call.callee) == "jax.device_put" and len(call.arguments) > 1


def _comes_from(
    view: FileView, scope: _Scope, value: Node, is_source: Callable[[FileView, _Scope, Call], bool]
) -> bool:
    """Returns whether an expression, or a value assigned to a name in it, contains a call accepted by `is_source`."""
    waiting, seen = [value], {""}
    for _ in range(_DEEPEST + 1):
        nodes = [node for one in waiting for node in walk(one)]
        if any(isinstance(node, Call) and is_source(view, scope, node) for node in nodes):
            return True
        names = {node.name for node in nodes if isinstance(node, Name)} - seen
        seen |= names
        waiting = [_value(one) for name in names for one in _bound_in(scope, name)]
    return False


def _is_split(view: FileView, scope: _Scope, value: Node, deeper: int) -> bool:
    """Returns whether an expression, or an item of it, is an array that `device_put` splits over an axis."""
    if isinstance(value, (TupleDisplay, ListDisplay)):
        return any(_is_split(view, scope, item, deeper) for item in value.items)
    if isinstance(value, Name) and deeper:
        made = (one for one in _bound_in(scope, value.name) if isinstance(one, Assign))
        return any(_is_split(view, scope, one.value, deeper - 1) for one in made if isinstance(one.targets[0], Name))
    return (
        isinstance(value, Call)
        and _shards(view, scope, value)
        and any(_names_axis(view, node) for argument in value.arguments[1:] for node in walk(argument.value))
    )


def _names_axis(view: FileView, node: Node) -> bool:
    """Returns whether an expression is a spec that names an axis."""
    return (
        isinstance(node, Call)
        and dotted_name(view, node.callee) == "jax.sharding.PartitionSpec"
        and any(isinstance(one.value, Constant) and isinstance(one.value.value, str) for one in node.arguments)
    )


def _value(binding: Node) -> Node:
    if isinstance(binding, For):
        return binding.iterable
    return binding.value if isinstance(binding, Assign) else NOTHING


def _places(view: FileView, scope: _Scope, call: Call) -> bool:
    """Returns whether a call, or the function in this file that it calls, shards arrays."""
    if _shards(view, scope, call):
        return True
    called = functions_called(view, last_name(call.callee)) if isinstance(call.callee, Name) else ()
    if len(called) != 1:
        return False
    code = _code([called[0].node])
    return any(_shards(view, (code,), call) for call in code.calls)


def _shards(view: FileView, scope: _Scope, call: Call) -> bool:
    name = dotted_name(view, call.callee)
    if name in _CONSTRAINS:
        return True
    if name not in _PUTS:
        return False
    where = next(
        (
            one.value
            for place, one in enumerate(call.arguments)
            if one.label == "device" or (place == 1 and not one.label)
        ),
        NOTHING,
    )
    return (len(call.arguments) > 1 or name != "jax.device_put") and not _is_device(view, scope, where)


def _is_device(view: FileView, scope: _Scope, where: Node) -> bool:
    """Returns whether an expression is certainly a single device."""
    if isinstance(where, Name):
        made = [*_bound_in(scope, where.name)]
        return bool(made) and all(_is_device(view, (), _value(one)) for one in made)
    if isinstance(where, (Subscript, Attribute)):
        where = where.object
    return isinstance(where, Call) and dotted_name(view, where.callee) in _DEVICES
