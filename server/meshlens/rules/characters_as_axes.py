"""A reduction gets a bare string as its axis and reads it letter by letter.

`jnp.sum`, `jnp.mean`, `jax.nn.softmax`, array methods and similar functions accept axis names, but only in a tuple: a
bare string is read as a sequence of axes, so `axis="batch"` means the axes `"b"`, `"a"`, `"t"`, `"c"`, `"h"`.
Tracing fails with `NameError: unbound axis name: b`, even if `"batch"` is bound; a letter that appears twice raises
`ValueError: duplicate value in 'axis'`.

```python
import jax
import jax.numpy as jnp
from functools import partial


@partial(jax.vmap, axis_name="batch")
def center(x):
    return x - jnp.mean(x, axis="batch")
    #                           ^^^^^^^ AX106: mean reads "batch" letter by letter; wrap the axis name in a tuple


print(center(jnp.ones((4, 3))))
```

becomes

```python
import jax
import jax.numpy as jnp
from functools import partial


@partial(jax.vmap, axis_name="batch")
def center(x):
    return x - jnp.mean(x, axis=("batch",))


print(center(jnp.ones((4, 3))))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Arg, Const, Data, Site
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.jaxapi.collectives import NAMED_METHODS, NAMED_REDUCTIONS, NamedReduction
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit

_METHOD = "numpy.ndarray."


@rule("AX106", Severity.ERROR, reads="places")
def characters_as_axes(view: FileView) -> Iterator[Finding]:
    """Reports each reduction of a JAX array whose axis is a bare string of several characters."""
    by_call: dict[Site, list[tuple[ApiCall, Arg]]] = defaultdict(list)
    bad: set[Site] = set()
    for call in view.records.calls:
        row = _row(call)
        if row is None:
            continue
        axis = _axis(call, row)
        if axis is None or not _is_certain(call, row, axis):
            bad.add(call.call)
        else:
            by_call[call.call].append((call, axis))
    for site, routes in by_call.items():
        if site not in bad:
            finding = _finding(view, routes)
            if finding is not None:
                yield finding


def _row(call: ApiCall) -> NamedReduction | None:
    if call.dotted.startswith(_METHOD):
        return NAMED_METHODS.get(call.dotted.removeprefix(_METHOD))
    row = NAMED_REDUCTIONS.get(call.dotted)
    return row if row is not None and row.bare == "characters" else None


def _axis(call: ApiCall, row: NamedReduction) -> Arg | None:
    given = next((arg for arg in call.args if arg.label == "axis"), None)
    positional = [arg for arg in call.args if arg.label is None]
    if given is None and len(positional) > row.axis_index:
        given = positional[row.axis_index]
    return given


def _is_certain(call: ApiCall, row: NamedReduction, axis: Arg) -> bool:
    context = call.context
    if not context.sure or context.guarded or context.expected or any(arg.label == "*" for arg in call.args):
        return False
    if not isinstance(axis.value, Const) or not isinstance(axis.value.value, str) or len(axis.value.value) < 2:
        return False
    return not call.dotted.startswith(_METHOD) or _of_jax_array(call)


def _of_jax_array(call: ApiCall) -> bool:
    """Returns whether a method's object is certainly a JAX array; other libraries name their axes with strings."""
    owner = next((arg.value for arg in call.args if arg.label == "self"), None)
    if not isinstance(owner, Data):
        return False
    return owner.shape is not None or (owner.made_by or "").startswith(("jax.numpy.", "jax.random.", "jax.nn."))


def _finding(view: FileView, routes: list[tuple[ApiCall, Arg]]) -> Finding | None:
    call, axis = routes[0]
    if axis.site is None or not isinstance(axis.value, Const):
        return None
    name = axis.value.value
    reduction = call.dotted.rsplit(".", 1)[-1]
    fixes: tuple[Fix, ...] = ()
    if all(name in other.context.env.names for other, _ in routes) and "\n" not in view.text(axis.site):
        edit = FileEdit(view.path_of(axis.site), Edit(view.span(axis.site), f"({view.text(axis.site)},)"))
        fixes = (Fix("wrap in a tuple", (edit,)),)
    message = f'{reduction} reads "{name}" letter by letter; wrap the axis name in a tuple'
    return Finding(view.span(axis.site), message, fixes)
