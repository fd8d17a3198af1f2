"""An application of `jax.vmap` that is to be rewritten, and whether a map over devices can replace it."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod

from meshlens.axes.domain.values import Arg, Bound, Const, Data, Function, Partial, Site, Wrapped
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.facts.nodes import Assert, Assign, Attribute, Call, If, IfExpression, Name, While
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import Node, names_bound, names_used, path_to, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.jitting import jitting
from meshlens.refactoring.following.roles import read_roles, static_names
from meshlens.refactoring.maps.form_around import is_traced
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, argument_count, decorated
from meshlens.refactoring.maps.prefix import Items, Prefix, Unknown, prefix_of
from meshlens.refactoring.maps.readable import must_be_spelled_here, must_not_be_unwrapped, must_run_in_one_process
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.reading.assigned import results_of
from meshlens.refactoring.reading.functions import Target, dotted_name, functions
from meshlens.refactoring.reading.host_calls import Callee, host_calls
from meshlens.refactoring.reading.jit_around import Outer
from meshlens.refactoring.reading.mentions import mentions_of
from meshlens.refactoring.reading.scopes import parent_of
from meshlens.refactoring.writing.writing import Call as Written
from meshlens.refactoring.writing.writing import Source, around, call_text, width_of
from meshlens.text import Span

_PLACES_ARRAYS = (b"device_put", b"NamedSharding", b"set_mesh")
_WANTS_A_VALUE = frozenset({"range", "int", "float", "bool", "len", "print"})


def read_plainly(view: FileView, binding: Binding) -> Pmap:
    """Returns everything about an application of `jax.vmap`, or of a nested `jax.pmap`, as a `Pmap`.

    Raises:
        Obstacle: something about it is unknown.
    """
    binder = binding.binder
    same = [one for one in view.records.bindings if one.binder.site == binder.site]
    calls = tuple(one for one in view.records.calls_of_maps if one.binder.site == binder.site and one.visible)
    arguments = dict(binder.arguments)
    if "*" in arguments or "**" in arguments:
        raise Obstacle("splat", f"a splat hides the arguments of this {binder.kind}")
    if "spmd_axis_name" in arguments:
        raise Obstacle("spmd-axis-name", "pmap has no equivalent of this vmap's spmd_axis_name")
    found = {(_prefix(one, "in_axes"), _prefix(one, "out_axes")) for one in same}
    if len(found) > 1:
        raise Obstacle("several-meanings", f"this {binder.kind} gets different arguments from different callers")
    ((in_axes, out_axes),) = found
    names = None if binding.parameters is None else tuple(name for name, how, _ in binding.parameters if how != "key")
    return Pmap(binding, calls, in_axes, out_axes, (), arguments, names)


def read_replaceable(view: FileView, binding: Binding) -> Pmap:
    """Returns everything about a vmap; checks that it can be rewritten where it is, and that it runs in one process.

    Raises:
        Obstacle: something about it is unknown, or it must not be replaced.
    """
    vmap = read_plainly(view, binding)
    must_be_spelled_here(view, binding)
    must_not_be_unwrapped(view, binding)
    must_run_in_one_process(
        view, vmap, "each process would pass only its own rows, but vmap sees the rows of all processes"
    )
    return vmap


def must_work_on_devices(view: FileView, vmap: Pmap, wishes: Wishes, outer: Outer | None) -> None:
    """Checks that a pmap can replace a vmap on the available devices.

    Args:
        view: the file.
        vmap: the map.
        wishes: the user's wishes, with the number of devices.
        outer: the `jit` around the map, which is removed.

    Raises:
        Obstacle: a pmap cannot replace the vmap, or it is unknown whether it can.
    """
    if isinstance(vmap.in_axes, Items) and all(axes is None for axes in vmap.in_axes.items):
        raise Obstacle("nothing-to-split", "no argument is mapped, but pmap needs at least one")
    _must_stand_alone(view, vmap)
    if outer is None:
        must_not_need_values(view, vmap, plain_arguments(vmap))
    _must_not_come_back(view, vmap)
    _must_fit(view, vmap, wishes)


def must_stand_outside_maps(view: FileView, vmap: Pmap) -> None:
    """Checks that no map over devices runs a vmap, and that no other code in its program places arrays on devices.

    Raises:
        Obstacle: a map or other code does.
    """
    for context in (vmap.binding.context, *(call.context for call in vmap.calls)):
        if context.env.maps:
            raise Obstacle("nested-map", f"this vmap runs inside a {context.env.maps[-1].kind}")
    _must_place_alone(view, vmap)


def rows_along(vmap: Pmap) -> tuple[int | None, ...] | None:
    """Returns 0 for each mapped argument and None for each shared one; None, not a tuple, for other vmaps."""
    axes = vmap.in_axes.items if isinstance(vmap.in_axes, Items) else (vmap.in_axes,)
    is_plain = isinstance(vmap.in_axes, Items) and vmap.in_axes.kind == "tuple"
    count = len(axes) if is_plain else argument_count(vmap)
    fits = all(one in (0, None) for one in axes) and vmap.out_axes == 0 and 0 in axes
    by_name = any(arg.label is not None for call in vmap.calls for arg in call.args)
    if count is None or not fits or by_name or vmap.given("axis_name") is not None:
        return None
    found = tuple(axes) if is_plain else (axes[0],) * count
    return tuple(one if isinstance(one, int) else None for one in found)


def needed_values(view: FileView, vmap: Pmap) -> tuple[int, ...]:
    """Returns the positions of shared arguments that the function of a vmap, or a `jit` of it, needs as Python values.

    Raises:
        Obstacle: the function needs the value of an argument that a call may pass as an array.
    """
    target = _operand(view, vmap)
    if target is None:
        return ()
    declared = static_names(view, target)
    callee = Callee(target.name, target.site, target)
    calls = tuple((call, read_roles(view, callee, call)) for call in host_calls(view, callee))
    try:
        needed = jitting(view, target, calls)
    except Obstacle as obstacle:
        if obstacle.code == "python-value":
            raise
        needed = None
    static = declared | set(needed.static if needed is not None else ())
    return tuple(place for place, one in enumerate(target.parameters) if one.name in static)


def _operand(view: FileView, vmap: Pmap) -> Target | None:
    """Returns the function that a vmap maps, through `jit`, a bound method and `partial`; None if it is unknown."""
    value = vmap.binder.operand
    given: list[Arg] = []
    while isinstance(value, (Wrapped, Bound, Partial)):
        if isinstance(value, Partial):
            given = [*value.args, *given]
            value = value.callee
        else:
            value = value.operand if isinstance(value, Wrapped) else value.function
    found = (one for one in functions(view) if isinstance(value, Function) and one.site == value.site)
    target = next(found, None)
    if target is None or any(arg.label in ("*", "**") for arg in given):
        return target
    names = [one.name for one in target.parameters]
    filled = [*names[: sum(arg.label is None for arg in given)], *(arg.label for arg in given if arg.label)]
    return replace(target, filled=frozenset(filled))


def on_all(view: FileView, vmap: Pmap, span: Span, decorator: Written) -> str:
    """Returns the application of a vmap with a decorator around it.

    Args:
        view: the file.
        vmap: the map.
        span: the replaced code: the map, or the `jit` around it.
        decorator: the call that returns the decorator, which runs a function on all devices.
    """
    mapped = view.text(vmap.binder.site)
    indent, taken = around(view, span)
    if vmap.binding.decorator:
        return f"{call_text(decorator, indent, width_of(view), len(indent) + 1)}\n{indent}@{mapped}"
    flat = call_text(decorator, indent, sys.maxsize, 0)
    return call_text(Written(flat, (Source(mapped, indent),)), indent, width_of(view), taken)


def plain_arguments(vmap: Pmap) -> tuple[int, ...]:
    """Returns the positions of shared arguments that are literals in every call, which pmap takes as static."""
    if not isinstance(vmap.in_axes, Items) or not vmap.calls:
        return ()
    places = (place for place, axes in enumerate(vmap.in_axes.items) if axes is None)
    return tuple(place for place in places if all(_is_plain(_given(call, place)) for call in vmap.calls))


def _is_plain(arg: Arg | None) -> bool:
    if arg is None or (isinstance(arg.value, Const) and arg.value.value is None):
        return False
    return isinstance(arg.value, (Const, Function))


def _given(call: MappedCall, place: int) -> Arg | None:
    positional = [arg for arg in call.args if arg.label is None]
    return positional[place] if place < len(positional) else None


def _prefix(binding: Binding, name: str) -> Prefix:
    arg = binding.binder.argument(name)
    if arg is None:
        return 0
    try:
        return prefix_of(arg.value)
    except Unknown:
        raise Obstacle(f"unknown-{name.replace('_', '-')}", f"{name} is unknown here") from None


def _must_stand_alone(view: FileView, vmap: Pmap) -> None:
    contexts = [vmap.binding.context, *(call.context for call in vmap.calls)]
    for context in contexts:
        if context.env.maps:
            raise Obstacle("nested-map", f"this vmap runs inside a {context.env.maps[-1].kind}")
        step = next((step for step in context.route if step.how in ("jit", "run", "map")), None)
        if step is not None:
            raise Obstacle("inside-jit", f"line {_line(view, step.site)} runs this vmap inside compiled code")
        step = next((step for step in context.route if step.how == "grad"), None)
        if step is not None:
            raise Obstacle(
                "inside-grad",
                f"line {_line(view, step.site)} takes gradients through this vmap, so they would span all devices",
            )
    # Code that runs a function is not always followed if nothing in it involves devices yet.
    function = decorated(view, vmap.binding)
    own = (vmap.binder.site,) if function is None else ()
    names = _names_of(view, vmap.binder.site) if function is None else {function.function.name}
    for site in (*own, *(one.site for name in names for one in mentions_of(view, name))):
        if is_traced(view, site):
            raise Obstacle("inside-jit", f"line {_line(view, site)} runs this vmap in code that JAX traces")
    _must_place_alone(view, vmap)


def _names_of(view: FileView, site: Site) -> set[str]:
    """Returns the names to which a statement assigns a mapped function, or the jitted version of one."""
    above = parent_of(view, site)
    if isinstance(above, Call) and dotted_name(view, above.callee) in COMPILES:
        above = parent_of(view, Site(site.path, site.block, above.site))
    given = above.value if isinstance(above, Assign) else None
    inside = given.arguments if isinstance(given, Call) else ()
    is_it = given is not None and site.index in (given.site, *(one.value.site for one in inside))
    return names_bound([above]) if is_it else set()


def _must_place_alone(view: FileView, vmap: Pmap) -> None:
    for records in view.solution.by_file.values():
        for one in records.bindings:
            inside = any(binder.site == vmap.binder.site for binder in one.context.env.maps)
            if one.binder.kind in MAPS_ON_DEVICES and (inside or one.binder.site.path == str(view.path)):
                message = f"the {one.binder.kind} on line {_line(view, one.binder.site)} also places arrays on devices"
                raise Obstacle("other-maps", message)
    if any(word in view.source for word in _PLACES_ARRAYS):
        raise Obstacle("placed-arrays", "this file places arrays on devices itself, and pmap might not accept them")


def _must_fit(view: FileView, vmap: Pmap, wishes: Wishes) -> None:
    devices = prod(wishes.devices) if wishes.devices else view.devices.count
    sizes = [_rows(vmap, call) for call in vmap.calls]
    known = sorted({size for size in sizes if size is not None})
    if devices is None:
        raise Obstacle("unknown-devices", "pmap takes one row for each device, but the number of devices is unknown")
    if known and known[-1] > devices:
        raise Obstacle("more-rows", f"a call passes {known[-1]} rows, but pmap takes at most {devices}, one per device")
    if (None in sizes or not sizes) and not wishes.devices:
        raise Obstacle("unknown-rows", "pmap takes one row for each device, but the number of rows is unknown")
    if len(known) > 1:
        raise Obstacle(
            "several-sizes",
            f"the calls pass {' and '.join(map(str, known))} rows, so they would use different numbers of devices",
        )


def _rows(vmap: Pmap, call: MappedCall) -> int | None:
    for place, arg in enumerate(call.args):
        axes = vmap.in_axes
        if isinstance(axes, Items):
            axes = axes.items[place] if place < len(axes.items) else None
        axis = 0 if arg.label is not None else axes
        if isinstance(axis, int) and isinstance(arg.value, Data) and arg.value.shape is not None:
            return arg.value.shape[axis] if axis < len(arg.value.shape) else None
    return None


def must_not_need_values(view: FileView, vmap: Pmap, static: tuple[int, ...]) -> None:
    """Checks that a vmap's function needs the values of no unmapped arguments but the static ones.

    Raises:
        Obstacle: it may need one, which vmap passes as it is but pmap traces.
    """
    if not isinstance(vmap.in_axes, Items) or vmap.parameters is None:
        return
    pairs = zip(vmap.parameters, vmap.in_axes.items, strict=False)
    names = {name for place, (name, axes) in enumerate(pairs) if axes is None and place not in static}
    target = _operand(view, vmap)
    if target is None:
        return
    wanted = static_names(view, target).union(*(_wanted(view, node) for node in walk(target.node)))
    for name in sorted(wanted & names):
        message = f'the mapped function may need "{name}" as a Python value, but on several devices it is traced'
        raise Obstacle("needs-value", message)


def _wanted(view: FileView, node: Node) -> set[str]:
    if isinstance(node, (If, While, IfExpression, Assert)):
        return _plainly(node.test)
    if isinstance(node, Call):
        plain = isinstance(node.callee, Name) and node.callee.name in _WANTS_A_VALUE
        if plain or dotted_name(view, node.callee).startswith("numpy."):
            return {name for _, _, value in node.arguments for name in _plainly(value)}
    return set()


def _plainly(node: Node) -> set[str]:
    """Returns the names in an expression, except those whose attributes it reads, such as `x` in `x.shape`."""
    shapes = {
        inner.object.name for inner in walk(node) if isinstance(inner, Attribute) and isinstance(inner.object, Name)
    }
    return names_used(node) - shapes


def _must_not_come_back(view: FileView, vmap: Pmap) -> None:
    """Checks that the result, which is on all devices, does not become an argument with another layout."""
    if vmap.in_axes == 0 and vmap.out_axes == 0:
        return
    for call in vmap.calls:
        results = results_of(view, call.call)
        for other in vmap.calls:
            path = path_to(view, other.call)
            for _, _, value in path[-1].arguments if path and isinstance(path[-1], Call) else ():
                if names_used(value) & results:
                    raise Obstacle(
                        "comes-back", f"line {_line(view, other.call)} passes a result of this map back to it"
                    )


def _line(view: FileView, site: Site) -> int:
    return view.texts[site.path].count(b"\n", 0, view.span(site).start) + 1
