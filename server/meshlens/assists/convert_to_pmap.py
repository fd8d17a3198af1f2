"""A function becomes a pmap, and its calls hand over the batch in one piece for each device.

What a step shares (parameters, state, scalars) keeps one copy with `in_axes=None`, and what every device computes alike
comes out once with `out_axes=None`, so that a training loop stays what it is; gradients are averaged over the devices
where they are taken.
The numbers are those of one device up to the order of the sums.
A function is refused where that cannot be had: if it draws random numbers, returns rows that differ between the
devices, or if it is not known which of its arguments hold the batch.

`devices: 8`

```python
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@jax.jit
def $0step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, jnp.arange(48.0).reshape(16, 3) / 48)
```

becomes

```python
import functools

import jax
import jax.numpy as jnp


def shard(tree):
    \"\"\"Splits the rows of every array into one block for each device.\"\"\"
    count = jax.local_device_count()

    def split(x):
        if x.shape[0] % count:
            raise ValueError(f"{x.shape[0]} rows do not split over {count} devices: take a multiple of {count}")
        return x.reshape(count, -1, *x.shape[1:])

    return jax.tree.map(split, tree)


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0), out_axes=None)
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, shard(jnp.arange(48.0).reshape(16, 3) / 48))
```
"""

from __future__ import annotations

import ast

from meshlens.assists._functions import (
    Target,
    Use,
    dotted_name,
    function_at,
    line_of,
    maps_around,
    reached,
    uses_of,
)
from meshlens.assists._gradients import averaging, gradients_in
from meshlens.assists._helpers import with_helper
from meshlens.assists._jit import Folded, jit_above
from meshlens.assists._model import Answer, Proposal, Refused, Wishes
from meshlens.assists._pmap import Obstacle
from meshlens.assists._shared import in_axes_of, out_axes_of
from meshlens.assists._spelling import Spelling
from meshlens.assists._writing import Call, call_text, in_order, width_of
from meshlens.axes.records import literal_name
from meshlens.axes.values import Site
from meshlens.project.new_imports import import_edits
from meshlens.project.trees import walk
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_TITLE = "convert to pmap"
_DEFAULT = "batch"
_SHARD = '''\
def {name}(tree):
    """Splits the rows of every array into one block for each device."""
    count = {count}()

    def split(x):
        if x.shape[0] % count:
            raise ValueError(f"{{x.shape[0]}} rows do not split over {{count}} devices: take a multiple of {{count}}")
        return x.reshape(count, -1, *x.shape[1:])

    return {tree_map}(split, tree)'''


def convert_to_pmap(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers it on the name of a function that no map runs yet."""
    target = function_at(view, span)
    if target is None or not view.records.calls or b"jax" not in view.source:
        return None
    if any(view.is_here(site) for site in (target.site,)) and maps_around(view, target):
        return None
    try:
        edits = _written(view, target, wishes)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return Proposal(_TITLE, lambda: edits)


def _written(view: FileView, target: Target, wishes: Wishes) -> tuple[FileEdit, ...]:
    _must_be_plain(view, target)
    uses = uses_of(view, target)
    folded = jit_above(view, target)
    taken = gradients_in(view, target)
    if not all(one.is_mean for one in taken):
        raise Obstacle("no-mean", "the loss does not say that it is a mean over its rows")
    axis = _axis(view, target, wishes)
    static = folded.static if folded is not None else ()
    _must_be_called_plainly(view, target, uses)
    axes = _wished(wishes.in_axes) if wishes.in_axes else in_axes_of(view, target, uses, taken, static)
    if any(use.call is not None and len(use.call[3]) != len(axes) for use in uses):
        raise Obstacle("in-axes", f"in_axes has {len(axes)} entries, a call gives another number of arguments")
    out = out_axes_of(target, axes, taken)
    if uses and (out == 0 or (isinstance(out, tuple) and 0 in out)):
        raise Obstacle("unreduced-output", f'"{target.name}" returns what differs between the devices')
    spelling = Spelling(view)
    decorator = _decorator(view, target, spelling, folded, axis, axes, out)
    pmean = spelling.of("jax", "lax.pmean") if taken else ""
    averages = [averaging(view, target, one, pmean, axis) for one in taken]
    shard, helper = _shard(view, spelling) if uses else ("", ())
    calls = [edit for use in uses for edit in _sharded(view, use, axes, shard)]
    return in_order((*import_edits(view, spelling.needed), *helper, decorator, *averages, *calls))


def _shard(view: FileView, spelling: Spelling) -> tuple[str, tuple[FileEdit, ...]]:
    count = spelling.of("jax", "local_device_count")
    return with_helper(view, "shard", _SHARD, count=count, tree_map=spelling.tree_map())


def _wished(text: str) -> tuple[int | None, ...]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, tuple) or not all(one in (0, None) for one in found) or 0 not in found:
        raise Obstacle("in-axes", "in_axes is to be a tuple of 0 and None, with one 0 at least")
    return found


def _must_be_plain(view: FileView, target: Target) -> None:
    if target.is_method:
        raise Obstacle("method", f'"{target.name}" is a method, whose object pmap would map')
    inside = [node for root in reached(view, target) for node in walk(root)]
    draws = any(node[0] == "attr" and dotted_name(view, node).startswith("jax.random.") for node in inside)
    keys = any(parameter[0].endswith(("key", "rng", "rngs")) for parameter in target.parameters)
    if draws or keys:
        raise Obstacle("random-numbers", f'"{target.name}" draws random numbers, of which each device needs its own')
    if "batch_stats" in {node[-1] for node in inside if node[0] in ("attr", "const", "name")}:
        raise Obstacle("batch-statistics", f'"{target.name}" updates statistics of the batch, which each device has')


def _must_be_called_plainly(view: FileView, target: Target, uses: tuple[Use, ...]) -> None:
    for use in uses:
        line = line_of(view, use.site)
        if use.call is None:
            raise Obstacle("used-as-value", f'line {line} hands "{target.name}" on instead of calling it')
        if any(label is not None for label, _, _ in use.call[3]):
            raise Obstacle("keyword-arguments", f"the call in line {line} gives arguments by keyword")


def _axis(view: FileView, target: Target, wishes: Wishes) -> str:
    """The axis name: that of the collectives inside, else the user's, else "batch"."""
    inside = {
        literal_name(use.name)
        for use in view.records.uses
        if use.context.function == target.site or any(step.function == target.site for step in use.context.route)
    }
    if None in inside or len(inside) > 1:
        raise Obstacle("several-axes", f'the collectives of "{target.name}" do not name one axis')
    if not inside:
        return f'"{wishes.axis_name or _DEFAULT}"'
    name = inside.pop()
    if wishes.axis_name not in (None, name):
        raise Obstacle("axis-name", f'its collectives name "{name}"')
    return f'"{name}"'


def _decorator(
    view: FileView,
    target: Target,
    spelling: Spelling,
    folded: Folded | None,
    axis: str,
    axes: tuple[int | None, ...],
    out: tuple[int | None, ...] | int | None,
) -> FileEdit:
    arguments = [spelling.of("jax", "pmap"), f"axis_name={axis}"]
    if any(one is None for one in axes):
        arguments.append(f"in_axes=({', '.join(map(str, axes))}{',' * (len(axes) == 1)})")
    if out != 0:
        arguments.append(f"out_axes={out}")
    arguments += folded.arguments if folded is not None else ()
    call = Call(spelling.of("functools", "partial"), tuple(arguments))
    span = view.span(folded.site if folded is not None else target.at(target.node[1]))
    start = view.source.rfind(b"\n", 0, span.start) + 1
    column = view.source[start : span.start].decode("utf-8", "replace")
    indent = column[: len(column) - len(column.lstrip())]
    text = call_text(call, indent, width_of(view), len(indent) + 1)
    if folded is not None:
        return FileEdit(view.path, Edit(span, text))
    return FileEdit(view.path, Edit(Span(span.start, span.start), f"@{text}\n{indent}"))


def _sharded(view: FileView, use: Use, axes: tuple[int | None, ...], shard: str) -> list[FileEdit]:
    """Edits of one call after which the batch has one leading row for each device."""
    assert use.call is not None
    edits = []
    for place, (_, whole, _) in enumerate(use.call[3]):
        if axes[place] is not None:
            span = view.span(Site(use.site.path, use.site.block, whole))
            edits.append(FileEdit(view.path, Edit(Span(span.start, span.start), f"{shard}(")))
            edits.append(FileEdit(view.path, Edit(Span(span.end, span.end), ")")))
    return edits
