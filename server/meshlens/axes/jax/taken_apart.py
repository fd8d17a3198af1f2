"""Modules split into structure and arrays, and merged again: `nnx.split`, `equinox.partition`.

The structure remembers the module, so that calls to it can be followed; the arrays are ordinary data.
"""

from __future__ import annotations

from meshlens.axes.data.noise import on_devices
from meshlens.axes.domain.joining import labels_of, variation_of, variations_in
from meshlens.axes.domain.labels import NONE, travelling
from meshlens.axes.domain.values import STATIC, Const, Data, Ext, Instance, Made, Seq, Value
from meshlens.axes.domain.variation import DIFFERS, VARYING, Along, Variation, of, of_tree
from meshlens.axes.jax.parameter_trees import of_module, of_state
from meshlens.axes.python.outside import axes_of
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.heap import MERGED_ARRAYS, attributes_of, set_attribute
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import DEEPEST
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.names import canonical

_SPLITS = {"flax.nnx.split": "flax.nnx.GraphDef", "equinox.partition": "equinox.Module"}
_MERGES = frozenset({"flax.nnx.merge", "equinox.combine"})
_STATE = "flax.nnx.state"
_UPDATE = "equinox.apply_updates"
SPLITS_AND_MERGES = _MERGES | frozenset(_SPLITS) | {_STATE, _UPDATE}
_MODULE = "meshlens.module"
_OF_ONE_DEVICE = "<statistics of one device>"
"""The attribute that marks a module whose layers updated their running statistics with the rows of one device."""


def call_split_or_merge(run: Run, name: str, call: Invocation) -> Value | None:
    """Returns the result of splitting or merging a module; None for any other call or if unknown."""
    args = call.args
    if name in _MERGES:
        module = next((module for arg in args if (module := _held(arg.value)) is not None), None)
        changed = [arg.value for arg in args if isinstance(arg.value, Instance) and name == "equinox.combine"]
        if isinstance(module, Instance) and len(changed) == 1 and changed[0].cls == module.cls:
            return changed[0]
        if isinstance(module, Instance) and on_devices(call.ctx):
            arrays = [arg.value for arg in args if arg.label is None and _held(arg.value) is None]
            labels = frozenset().union(*(labels_of(value) for value in arrays))
            over = of_tree([one for value in arrays for one in variations_in(value)])
            _merge(run, module, Data(labels, over=over))
        return module or _combined(name, call)
    if name == _STATE:
        return _arrays(run, args[0].value, args[1].value if args[1:] else None, call.ctx) if args else None
    if name == _UPDATE:
        # The state of the module's arrays after an unreduced step matters only inside maps.
        updated = args[0].value if args and not call.ctx.env.maps else None
        return updated if isinstance(updated, Instance) else None
    structure = _SPLITS.get(name)
    if structure is None or not args or any(arg.label is not None for arg in args):
        return None
    module = args[0].value
    if not _holds_module(module):
        is_tree = name == "equinox.partition" and isinstance(module, (Data, Made))
        held = Data(travelling(labels_of(module)), over=variation_of(module))
        return Seq("tuple", (held, STATIC)) if is_tree else None
    whole = Made(structure, call.site, ((_MODULE, module),))
    if name == "equinox.partition":
        return Seq("tuple", (Data(travelling(labels_of(module)) | of_module(module)), whole))
    filters: list[Value | None] = [arg.value for arg in args[1:]]
    filters = filters or [None]
    return Seq("tuple", (whole, *[_arrays(run, module, chosen, call.ctx) for chosen in filters]))


def _merge(run: Run, part: Value, arrays: Data, depth: int = 0) -> None:
    """Notes the arrays with which a module and the modules in it were put together."""
    if isinstance(part, Seq):
        for item in part.items:
            _merge(run, item, arrays, depth)
    elif isinstance(part, Instance) and depth < DEEPEST:
        held = list(attributes_of(run, part).values())
        set_attribute(run, part, MERGED_ARRAYS, arrays)
        for one in held:
            _merge(run, one, arrays, depth + 1)


def _combined(name: str, call: Invocation) -> Value | None:
    """Returns a tree of arrays that `equinox.combine` puts together; None for any other call."""
    values = [arg.value for arg in call.args]
    if name != "equinox.combine" or not values or any(arg.label is not None for arg in call.args):
        return None
    labels = frozenset().union(*(travelling(labels_of(value)) for value in values))
    return Made(name, call.site, (), labels, of_tree([one for value in values for one in variations_in(value)]))


def note_called(run: Run, module: Instance, result: Value) -> None:
    """Notes that a module whose layers use only one device's statistics was called in a map."""
    if "normed" in labels_of(result) and _OF_ONE_DEVICE not in attributes_of(run, module):
        set_attribute(run, module, _OF_ONE_DEVICE, Const(True))


def _arrays(run: Run, module: Value, chosen: Value | None, ctx: Context) -> Data:
    """Returns the arrays that a filter chooses from a module."""
    labels = travelling(labels_of(module))
    if chosen is None or (isinstance(chosen, Ext) and canonical(chosen.dotted) == "flax.nnx.Param"):
        labels |= of_state(module)
    is_own = isinstance(module, Instance) and _OF_ONE_DEVICE in attributes_of(run, module) and on_devices(ctx)
    if not is_own or not _chooses_statistics(chosen):
        return Data(labels)
    binder = next(binder for binder in reversed(ctx.env.maps) if binder.kind in MAPS_ON_DEVICES)
    over: Variation = of([(axis, Along(DIFFERS, VARYING)) for axis in axes_of(binder)])
    return Data(labels | NONE | {"own-statistics", "varying"}, over=over)


def _chooses_statistics(chosen: Value | None) -> bool:
    """Returns whether a filter chooses the statistics of normalization layers, by type or along with everything."""
    if chosen is None or (isinstance(chosen, Const) and chosen.value in (..., True)):
        return True
    return isinstance(chosen, Ext) and canonical(chosen.dotted) == "flax.nnx.BatchStat"


def _holds_module(value: Value) -> bool:
    return isinstance(value, Instance) or (isinstance(value, Seq) and any(map(_holds_module, value.items)))


def _held(value: Value) -> Value | None:
    return dict(value.arguments).get(_MODULE) if isinstance(value, Made) else None
