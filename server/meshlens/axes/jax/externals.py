"""Calls of things outside the workspace: finds the table row and hands over to the file that knows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from meshlens.axes.data.operating import SIZES, counts_rows, of_library
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Made, Site, Value
from meshlens.axes.domain.variation import ANYTHING
from meshlens.axes.jax import library_calls
from meshlens.axes.jax.collecting import apply_collective, note_uses
from meshlens.axes.jax.mapping import apply_binder
from meshlens.axes.jax.meshes import make_mesh, make_sharding, make_spec
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.transparent import apply_transparent
from meshlens.axes.python import builtin_calls
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.binders import binder
from meshlens.jaxapi.collectives import NAMED_REDUCTIONS, collective
from meshlens.jaxapi.consumers import consumer
from meshlens.jaxapi.meshes import MESH_CONTEXTS, MESHES, OUT_SHARDING, PARTITION_SPEC, TAKE_SPECS
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.operations import OPERATIONS
from meshlens.jaxapi.transparent import transparent

_RECORDED_ROOTS = ("jax.", "flax.", "haiku.", "equinox.", "optax.", "chex.", "objax.", "haliax.")
_NOT_RECORDED = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.tree.", "jax.scipy.")


@cache
def _row(dotted: str) -> tuple[str, Any, str, str]:
    """What kind of callable a dotted name is, with its table row, canonical name, and which calls are recorded."""
    kind, row, name = _kind(dotted)
    if name in NAMED_REDUCTIONS:
        return kind, row, name, "named"
    recorded = name.startswith(_RECORDED_ROOTS) and (kind or not name.startswith(_NOT_RECORDED))
    return kind, row, name, "all" if recorded else ""


def _kind(dotted: str) -> tuple[str, Any, str]:
    name = canonical(dotted)
    for kind, find in _TABLES:
        row = find(name)
        if row is not None:
            return kind, row, name
    if name == PARTITION_SPEC:
        return "spec", None, name
    if name == "jax.sharding.NamedSharding":
        return "sharding", None, name
    if name in MESH_CONTEXTS:
        return "mesh context", None, name
    return "", None, name


_TABLES: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("collective", collective),
    ("binder", binder),
    ("mesh", MESHES.get),
    ("transparent", transparent),
    ("consumer", consumer),
)


def call_external(
    run: Run,
    dotted: str,
    args: tuple[Arg, ...],
    site: Site,
    callee_site: Site,
    frame: Frame,
    ctx: Context,
    decorator: bool,
) -> Value:
    """What calling something outside the workspace gives."""
    kind, row, name, recorded = _row(dotted)
    if kind:
        result = _dispatch(run, kind, row, name, dotted, args, site, callee_site, frame, ctx, decorator)
    else:
        result = _ordinary(run, name, args, site, callee_site, frame, ctx, decorator)
    takes_spec = name in TAKE_SPECS or any(arg.label == OUT_SHARDING for arg in args)
    if recorded == "all" or (recorded and any(_is_text(arg.value) for arg in args)) or takes_spec:
        mesh = run.ambient[-1] if run.ambient and takes_spec else None
        guarded = run.api_guard > 0 or ctx.expected
        written = dotted if dotted != name else ""
        run.records.calls.append(ApiCall(name, site, callee_site, args, result, ctx, decorator, guarded, mesh, written))
    return result


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _dispatch(
    run: Run,
    kind: str,
    row: Any,
    name: str,
    dotted: str,
    args: tuple[Arg, ...],
    site: Site,
    callee_site: Site,
    frame: Frame,
    ctx: Context,
    decorator: bool,
) -> Value:
    if kind == "collective":
        return apply_collective(run, row, args, site, ctx)
    if kind == "binder":
        env_given = name != "jax.make_jaxpr" or any(arg.label == "axis_env" for arg in args) or len(args) > 2
        if env_given:
            return apply_binder(run, row, dotted, args, site, frame, ctx, decorator)
        return apply_transparent(run, _make_jaxpr(), dotted, args, site, frame, ctx, decorator)
    if kind == "mesh":
        return make_mesh(row, args, site)
    if kind == "spec":
        return make_spec(args, site)
    if kind == "sharding":
        return make_sharding(name, args, site)
    if kind == "mesh context":
        made = Made(name, site, tuple((arg.label or place, arg.value) for place, arg in enumerate(args)))
        if args and MESH_CONTEXTS[name].call and not decorator and frame.parent is None:
            run.ambient.append(args[0].value)
        return made
    if kind == "transparent":
        return apply_transparent(run, row, dotted, args, site, frame, ctx, decorator)
    return _consume(run, row, name, args, site, ctx)


def _ordinary(
    run: Run,
    name: str,
    args: tuple[Arg, ...],
    site: Site,
    callee_site: Site,
    frame: Frame,
    ctx: Context,
    decorator: bool,
) -> Value:
    if name == "meshlens.identity":
        return args[0].value if args else UNKNOWN
    found = builtin_calls.call_builtin(run, name, args, site, callee_site, frame, ctx)
    if found is None:
        found = library_calls.call_library(run, name, args, site, callee_site, frame, ctx)
    if found is None:
        found = library_calls.call_elsewhere(run, name, args, site, frame, ctx, decorator)
    return _with_variation(found, name, args, site, ctx) if type(found) is Data else found


def _with_variation(found: Data, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> Value:
    """The same result with what the tables say of its variation.

    Outside all maps nothing varies yet: of what is made there, a map asks only whether it is zeros.
    """
    if not ctx.env.maps and OPERATIONS.get(name) not in SIZES:
        return found
    over = of_library(name, args)
    if over is None or over is ANYTHING:
        return found
    labels = found.labels | {("counted", site)} if OPERATIONS.get(name) == "sum" and counts_rows(over) else found.labels
    return Data(labels, found.shape, found.made_by, found.array, over)


@cache
def _make_jaxpr() -> Any:
    return transparent("jax.make_jaxpr")


def _consume(run: Run, row: Any, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> Value:
    given = {arg.label if arg.label is not None else place: arg for place, arg in enumerate(args)}
    axis = given.get(row.parameter) or (given.get(row.index) if row.index is not None else None)
    if row.when == "now" and axis is not None:
        note_uses(run, row.name, axis, tuple(by_parameter((), args).items()), site, ctx, labels_of(UNKNOWN))
        return UNKNOWN
    arguments = tuple((key, arg.value) for key, arg in given.items())
    if axis is not None and isinstance(axis.value, Const):
        through = Const(axis.value.value, axis.value.origin, axis.value.via or axis.site)
        arguments = (*arguments, ("axis", through))
    return Made(name, site, arguments)
