"""Modules split into structure and arrays, and merged again: `nnx.split`, `equinox.partition`.

The structure remembers the module, so that its calls can be followed; the arrays are ordinary data.
"""

from __future__ import annotations

from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import travelling
from meshlens.axes.domain.values import Arg, Data, Instance, Made, Seq, Site, Value

_SPLITS = {"flax.nnx.split": "flax.nnx.GraphDef", "equinox.partition": "equinox.Module"}
_MERGES = frozenset({"flax.nnx.merge", "equinox.combine"})
SPLITS_AND_MERGES = _MERGES | frozenset(_SPLITS)
_MODULE = "meshlens.module"


def call_split_or_merge(name: str, args: tuple[Arg, ...], site: Site) -> Value | None:
    """Returns the result of splitting or merging a module; None for any other call or if unknown."""
    if name in _MERGES:
        return next((module for arg in args if (module := _held(arg.value)) is not None), None)
    structure = _SPLITS.get(name)
    if structure is None or not args or any(arg.label is not None for arg in args) or not _holds_module(args[0].value):
        return None
    module = args[0].value
    whole = Made(structure, site, ((_MODULE, module),))
    arrays = Data(travelling(labels_of(module)))
    if name == "equinox.partition":
        return Seq("tuple", (arrays, whole))
    return Seq("tuple", (whole, *[arrays] * max(1, len(args) - 1)))


def _holds_module(value: Value) -> bool:
    return isinstance(value, Instance) or (isinstance(value, Seq) and any(map(_holds_module, value.items)))


def _held(value: Value) -> Value | None:
    return dict(value.arguments).get(_MODULE) if isinstance(value, Made) else None
