"""Named tuples that a call defines: `collections.namedtuple("Batch", "x y")`."""

from __future__ import annotations

from meshlens.axes.domain.values import Class, Const, Ext, Seq, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run

_TYPED = "typing.NamedTuple"
NAMED_TUPLES = frozenset({"collections.namedtuple", _TYPED})
"""Functions that return a class of named tuples."""


def named_tuple(run: Run, call: Invocation) -> Class | None:
    """Returns the class of named tuples that a call defines; None if its fields are unknown."""
    found = by_parameter(("typename", "field_names"), call.args)
    name = found["typename"].value if "typename" in found else None
    fields = _fields(found["field_names"].value) if "field_names" in found else None
    if not isinstance(name, Const) or not isinstance(name.value, str) or fields is None or "rename" in found:
        return None
    inner = Frame(call.frame.path, call.frame.block, call.frame)
    defaults = found["defaults"].value if "defaults" in found else None
    if isinstance(defaults, Seq) and not defaults.open and len(defaults.items) <= len(fields):
        inner.vars.update(zip(fields[len(fields) - len(defaults.items) :], defaults.items, strict=True))
    made = Class(name.value, call.frame.path, call.site, (Ext(_TYPED),), inner, fields, True)
    inner.owner = made
    run.own_classes.add(made)
    return made


def _fields(value: Value) -> tuple[str, ...] | None:
    """Returns the names in a text, in a list of texts, or in a list of pairs of a text and a type."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return tuple(value.value.replace(",", " ").split())
    if not isinstance(value, Seq) or value.open:
        return None
    first = [item.items[0] if isinstance(item, Seq) and item.items else item for item in value.items]
    names = tuple([one.value for one in first if isinstance(one, Const) and isinstance(one.value, str)])
    return names if len(names) == len(first) else None
