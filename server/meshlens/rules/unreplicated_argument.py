"""A mapped argument is passed as a single copy instead of one copy for each device.

`pmap` splits an argument along its mapped axis and gives each device one piece.
Fresh state from `init`, a single PRNG key and a Python number have no such axis. At best, JAX raises `ValueError: One
of pjit arguments is incompatible with its sharding annotation` or `IndivisibleError`; if a size happens to fit, every
device silently gets a slice of the parameters, or half a key.

```python
import jax
import jax.numpy as jnp


@jax.pmap
def augment(x, key):
    return x + 0.1 * jax.random.normal(key, x.shape)


key = jax.random.key(0)
print(augment(jnp.ones((8, 4)), key))
#                               ^^^ AX302: argument 1 of "augment" is mapped over axis 0, but this is a single key
```

Split the key, replicate the state, or leave the argument unmapped with `None` in `in_axes`:

```python
import jax
import jax.numpy as jnp


@jax.pmap
def augment(x, key):
    return x + 0.1 * jax.random.normal(key, x.shape)


keys = jax.random.split(jax.random.key(0), jax.local_device_count())
print(augment(jnp.ones((8, 4)), keys))
```
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.joining import leaves
from meshlens.axes.domain.values import Arg, Const, Data, Dict, Made, Seq, Site, Value
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.binder_calls import is_accepted
from meshlens.rules.helpers.miscounts import positional
from meshlens.rules.helpers.static import static_places

_ATTRIBUTE = re.compile(r"[^\W\d]\w*(\.\w+)+")


@rule("AX302", Severity.WARNING, reads="places")
def unreplicated_argument(view: FileView) -> Iterator[Finding]:
    """Checks the arguments that calls of pmapped functions pass at mapped positions."""
    places: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and canonical(call.binder.dotted) == "jax.pmap":
            places[call.call].append(call)
    for calls in places.values():
        for place in range(max(len(call.args) for call in calls)):
            found = certain((call, call.context, bool(_what(view, call, place))) for call in calls)
            if found is not None and is_accepted(view, found.binder):
                yield _finding(view, found, place)


def _what(view: FileView, call: MappedCall, place: int) -> str:
    """Describes the argument that is passed once instead of once per device; empty if uncertain."""
    if place >= len(call.args) or (positional(call) is None and call.args[place].label is None):
        return ""
    arg = call.args[place]
    if arg.label in ("*", "**") or arg.site is None or not view.is_here(arg.site):
        return ""
    if place in static_places(call.binder) or _has_unknown_statics(call):
        return ""
    axis = axis_of(call.binder, place, arg.label)
    if not isinstance(axis, Const) or type(axis.value) is not int or axis.value < 0:
        return ""
    if _ATTRIBUTE.fullmatch(view.text(arg.site)):
        return ""
    return _copy(arg)


def _copy(arg: Arg) -> str:
    if isinstance(arg.value, (Seq, Dict)):
        found = next((what for what in map(_of_leaf, leaves(arg.value)) if what), "")
        return f"contains {found}" if found else ""
    whole = _of_leaf(arg.value)
    return f"is {whole}" if whole else ""


def _of_leaf(value: Value) -> str:
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float)):
        return f"the number {value.value}"
    if isinstance(value, Const) and isinstance(value.value, str):
        return f'the string "{value.value}"'
    if isinstance(value, (Data, Made)) and "fresh" in value.labels:
        return "a single copy of fresh state"
    if isinstance(value, Data) and "key" in value.labels and "keys" not in value.labels:
        return "a single key"
    if isinstance(value, Data) and value.shape == ():
        return "a scalar"
    return ""


def _has_unknown_statics(call: MappedCall) -> bool:
    """Returns whether a map has static arguments whose positions are unknown or beyond the positional arguments."""
    given = [name for name, _ in call.binder.arguments if name.startswith("static")]
    places = static_places(call.binder)
    return bool(given) and (not places or max(places) >= (positional(call) or 0))


def _finding(view: FileView, call: MappedCall, place: int) -> Finding:
    arg = call.args[place]
    assert arg.site is not None
    which = f'argument "{arg.label}"' if arg.label is not None else f"argument {place}"
    axis = axis_of(call.binder, place, arg.label)
    assert isinstance(axis, Const)
    name = name_of(call.binder.operand)
    message = f'{which} of "{name}" is mapped over axis {axis.value}, but this {_what(view, call, place)}'
    binder = call.binder.site
    related = Related(view.path_of(binder), view.span(binder), "mapped here")
    return Finding(view.span(arg.site), message, (), (related,))
