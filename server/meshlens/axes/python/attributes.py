"""Attribute access on every kind of value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from meshlens.axes.data import coordinates, fillers
from meshlens.axes.data.arrays import held_in, product
from meshlens.axes.data.operating import of_method
from meshlens.axes.data.parts import kept
from meshlens.axes.data.typed_shardings import transposed
from meshlens.axes.domain.axis_sizes import SOME_COUNT
from meshlens.axes.domain.classes import FIELD
from meshlens.axes.domain.joining import entry_of_table, join_all
from meshlens.axes.domain.labels import AXIS_SIZE, COUNT, MESH_AXIS, PLACES, of_kinds, travelling
from meshlens.axes.domain.values import (
    STATIC,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Made,
    Mapped,
    Mesh,
    Module,
    Partial,
    Seq,
    Site,
    Super,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import ANYTHING, EVERYWHERE
from meshlens.axes.jax import module_methods, optimizers, parameter_trees, train_states
from meshlens.axes.jax.command_lines import flag
from meshlens.axes.python import objects, tables
from meshlens.axes.python.imports import member, note_mention
from meshlens.axes.python.objects import data_attribute, instance_attribute, static_attribute, super_attribute
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import THREAD_LOCAL
from meshlens.jaxapi.command_lines import FLAGS
from meshlens.jaxapi.known_names import REQUEST
from meshlens.jaxapi.layers import PARAMETERS
from meshlens.jaxapi.operations import AT, UPDATES


def attribute(run: Run, value: Value, name: str, site: Site, ctx: Context) -> Value:
    """Returns the value of `value.name`."""
    if type(value) is Ext:
        if run.world.by_default and value.dotted == FLAGS:
            return flag(run, name, site) or UNKNOWN
        dotted = f"{value.dotted}.{name}"
        note_mention(run, dotted, site, ctx, "attribute")
        return Ext(dotted)
    if type(value) is Data:
        return of_data(value, name)
    if type(value) is Instance:
        return instance_attribute(run, value, name, site, ctx)
    if isinstance(value, Module):
        return member(run, value, name)
    if isinstance(value, Class):
        return static_attribute(run, value, name, site)
    if isinstance(value, Super):
        return super_attribute(run, value, name, site, ctx)
    if isinstance(value, Union):
        found = (attribute(run, option, name, site, ctx) for option in value.options)
        return entry_of_table(found) if value.of_table else join_all(found)
    if isinstance(value, Mesh):
        return _of_mesh(value, name)
    if isinstance(value, (Mapped, Wrapped)):
        return _of_wrapper(value, name)
    if isinstance(value, Partial):
        return {"func": value.callee}.get(name, UNKNOWN)
    if isinstance(value, Made):
        if value.dotted == "enum.Enum" and name not in ("value", "name", "_value_", "_name_"):
            return objects.member_attribute(run, value, name, site, ctx) or UNKNOWN
        return _of_made(value, name)
    if isinstance(value, Const):
        if name in _OF_SCALARS and isinstance(value.value, (int, float, complex)):
            return _OF_SCALARS[name]
        return value if name in ("value", "name") and isinstance(value.value, str) else Bound(value, Ext(f"str.{name}"))
    if isinstance(value, Dict) and value.attributes:
        entry = tables.entry(value, name)
        return entry if entry is not None else Bound(value, Ext(f"dict.{name}"))
    if isinstance(value, (Dict, Seq)):
        return Bound(value, Ext(f"{'dict' if isinstance(value, Dict) else value.kind}.{name}"))
    if isinstance(value, (Function, Bound)):
        return _of_function(value, name)
    return UNKNOWN


_OF_SCALARS: dict[str, Value] = {"ndim": Const(0), "shape": Seq("tuple", ()), "size": Const(1)}
"""The attributes of a traced argument for which a call passes a Python number."""


@lru_cache(maxsize=2_000)
def ext(dotted: str) -> Ext:
    """Returns an external name; cached, because programs use the same few hundred names."""
    return Ext(dotted)


_UPDATED = Data(made_by=AT, array=True)
"""The `at` of an otherwise unknown array, which must be a JAX array because no others have `at`."""


def of_data(value: Data, name: str) -> Value:
    """Returns an attribute of an array, or of other data that is not followed."""
    if not value.labels and value.shape is None and value.over is ANYTHING:
        if name in ARRAY_METHODS:
            return Bound(value, ext(f"array.{name}"))
        if name == "apply_fn":
            return data_attribute(value, name)
        return _UPDATED if name == "at" else UNKNOWN
    if name == "shape" and value.shape is not None:
        return Seq("tuple", tuple(Const(size) if size is not None else STATIC for size in value.shape))
    if name == "ndim" and value.shape is not None:
        return Const(len(value.shape))
    if name == "size" and value.labels and len(value.shape or (0,)) == 1 and (filled := fillers.length(value)):
        return Data(filled, ())
    if name == "size" and (total := product(value.shape)) is not None:
        return Const(total)
    if name in ("shape", "ndim", "dtype", "size"):
        return STATIC
    if name in ("T", "mT") and (value.shape is not None or value.array):
        shape = value.shape[::-1] if value.shape is not None and name == "T" else None
        kept_labels = value.labels - {"in-order"} - coordinates.unchanged(value)
        found = Data(kept_labels, shape, None, True, of_method(value, "transpose", ()))
        if name == "T" and (moved := coordinates.transposed(value.labels, value.shape)):
            found = replace(found, labels=found.labels | moved)
        return transposed(value, found)
    if name == "T":
        labels = travelling(value.labels) | (value.labels & {"fresh"}) | kept("transpose", (value.labels,))
        return Data(labels, over=of_method(value, "transpose", ()))
    if name in ("real", "imag") and (value.shape is not None or coordinates.unchanged(value)):
        return Data(travelling(value.labels) | coordinates.unchanged(value), value.shape, over=value.over)
    if name == "sharding":
        return Data(travelling(value.labels) | (value.labels & PLACES), over=value.over)
    if name == "at":
        return Data(value.labels, value.shape, AT, True, value.over)
    if value.made_by == AT and name in UPDATES:
        return Bound(value, ext("array.at_set"))
    if name == "flat_state" and parameter_trees.label_of(value.labels) is not None:
        return Bound(value, ext("flax.nnx.State.flat_state"))
    return Bound(value, ext(f"array.{name}")) if name in ARRAY_METHODS else data_attribute(value, name)


ARRAY_METHODS = frozenset(
    "reshape mean sum max min var std astype squeeze swapaxes transpose flatten ravel copy dot argmax argmin "
    "prod all any cumsum clip round repeat block_until_ready tolist item argsort take conj conjugate".split()
)


def _of_mesh(value: Mesh, name: str) -> Value:
    if name == "axis_names":
        return Seq("tuple", value.names, value.open)
    if name == "shape":
        sizes = value.sizes if value.sizes is not None and len(value.sizes) == len(value.names) else ()
        counts = [(COUNT, size) if size not in (None, -1) else SOME_COUNT for size in sizes]
        names = [
            (axis.value, Data(AXIS_SIZE | {count, (MESH_AXIS, axis.value)}, (), over=EVERYWHERE))
            for axis, count in zip(value.names, counts or [SOME_COUNT] * len(value.names), strict=True)
            if isinstance(axis, Const)
        ]
        # If the keys are known, so is the result of tests such as `"model" in mesh.shape`.
        return Dict(tuple(names)) if not value.open and len(names) == len(value.names) else UNKNOWN
    if name == "devices" and value.sizes and all(size is not None and size > 0 for size in value.sizes):
        return Data(frozenset({"device-grid"}), value.sizes, over=EVERYWHERE)
    if name in ("size",):
        total = product(value.sizes)
        return Const(total, counts=True) if total is not None and value.sizes else UNKNOWN
    return UNKNOWN


def _of_wrapper(value: Mapped | Wrapped, name: str) -> Value:
    operand = value.binder.operand if isinstance(value, Mapped) else value.operand
    if name == "__name__" and isinstance(operand, Function):
        return _of_function(operand, name)
    if name == "__wrapped__":
        return operand
    if name in ("lower", "trace", "eval_shape"):
        return Bound(value, Ext("jax.stages.lower"))
    if name in ("init", "apply") and module_methods.transformed(value) is not None:
        return Bound(value, Ext(f"haiku.Transformed.{name}"))
    if name in ("__name__", "__doc__", "__qualname__"):
        return UNKNOWN
    if isinstance(value, Wrapped) and name in ("defvjp", "defjvp", "defjvps", "def_vmap", "defvmap"):
        return Bound(value, Ext(f"jax.custom.{name}"))
    return UNKNOWN


def _of_function(value: Function | Bound, name: str) -> Value:
    if name == "__wrapped__":
        return value
    if name == "__func__" and isinstance(value, Bound):
        return value.function
    if name == "__self__" and isinstance(value, Bound):
        return value.receiver
    if name in ("__name__", "__qualname__"):
        function = value.function if isinstance(value, Bound) else value
        return Const(function.name) if isinstance(function, Function) and function.owner is None else UNKNOWN
    return UNKNOWN


def _of_made(value: Made, name: str) -> Value:
    given = dict(value.arguments)
    if value.dotted == "enum.Enum":
        return given.get(name.strip("_"), UNKNOWN)
    if value.dotted in (THREAD_LOCAL, FIELD):
        return given.get(name, UNKNOWN)
    own = optimizers.own_function(value, name) or train_states.held_function(value, name)
    if own is not None:
        return own
    if value.dotted in PARAMETERS and name in ("value", "shape", "ndim"):
        return held_in(value) if name == "value" else of_data(held_in(value), name)
    if value.dotted in ("jax.sharding.NamedSharding", REQUEST) and name in given:
        return given[name]
    if train_states.is_state(value) and name not in train_states.METHODS:
        apart: Iterable[object] = of_kinds(value.labels, "apart") if name == "batch_stats" else ()
        held = given.get(name)
        if isinstance(held, Data) and (label := parameter_trees.label_of(held.labels)) is not None:
            apart = (*apart, label)
        return Data(travelling(value.labels) | (value.labels & {"fresh"}) | frozenset(apart), over=value.over)
    return Bound(value, Ext(f"{value.dotted}().{name}"))
