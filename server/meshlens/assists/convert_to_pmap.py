"""Converts a function to a pmap and, at its calls, splits the batch over the devices.

Values that all devices share (parameters, state, scalars) are passed whole, with `in_axes=None`, and results that are
equal on all devices are returned once, with `out_axes=None`, so a training loop changes only where it passes the batch.
Gradients are averaged over the devices as soon as the code computes them. Where a loss combines the rows of the batch,
as a contrastive loss or a ranking does, the rows are gathered, and every device computes the rest for all of them.
The shapes that the calls pass show which arguments hold rows, if their names do not.
The results equal those on one device up to the order of summation, unless each device draws its own random numbers; in
that case, the title of the action and the report say so.
A function is refused if it returns a value that differs between devices and has no rows, or if MeshLens cannot tell
which arguments hold the batch.

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
    \"\"\"Gives each device a block of every array's rows, or all rows if they do not divide evenly.\"\"\"
    count = jax.local_device_count()
    rows = {x.shape[0] for x in jax.tree.leaves(tree)}
    if len(rows) > 1:
        raise ValueError(f"the arrays of one batch have different numbers of rows: {sorted(rows)}")

    def split(x):
        traced = isinstance(x, jax.core.Tracer)
        if not traced and getattr(x, "is_fully_replicated", True):
            x = jax.device_get(x)
        if x.shape[0] % count:
            return jnp.broadcast_to(x, (count, *x.shape))
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

from dataclasses import replace

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    ListDisplay,
    Name,
    Subscript,
    TupleDisplay,
    UnaryOperation,
)
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.form import Form, form_of
from meshlens.refactoring.maps.form_around import UNSEEN, form_around, must_not_be_differentiated_elsewhere
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.step import Step, averaged, read_step
from meshlens.refactoring.model import Answer, Proposal, Wishes
from meshlens.refactoring.offering import Remarks, offered_with_note
from meshlens.refactoring.reading.calls import PlainCall, value_start, without_labels
from meshlens.refactoring.reading.functions import (
    Target,
    dotted_name,
    function_at,
    line_of,
    may_use_jax,
    uses_libraries,
)
from meshlens.refactoring.reading.mentions import is_read
from meshlens.refactoring.reading.on_a_mesh import already_mapped, must_not_be_on_one_device
from meshlens.refactoring.reading.parameters import without_star
from meshlens.refactoring.writing.devices import count_of_devices, pmap_devices
from meshlens.refactoring.writing.mapped_by_pmap import mapped_by_pmap
from meshlens.refactoring.writing.on_devices import pmap_helper
from meshlens.refactoring.writing.sharding import merge_helper, split_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order, wrapping
from meshlens.text import Edit, FileEdit, Span

_TITLE = "convert function to pmap"
_VIEWS = frozenset({"numpy", "reshape", "astype", "squeeze", "ravel", "flatten", "transpose"})
_PLAIN = (Name, Attribute, Subscript, Constant, TupleDisplay, ListDisplay, Call, BinaryOperation, UnaryOperation)


def convert_to_pmap(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on the name of a function that no map runs yet, at its definition or a use."""
    target = function_at(view, span)
    if target is None or not may_use_jax(view):
        return None
    if (refused := already_mapped(view, target, _TITLE)) is not None:
        return refused
    answer = offered_with_note(_TITLE, lambda: _written(view, target, span, wishes))
    is_expected = uses_libraries(view, target) or is_read(view, target.name)
    return answer if isinstance(answer, Proposal) or is_expected else None


def _written(view: FileView, target: Target, span: Span, wishes: Wishes) -> tuple[Remarks, tuple[FileEdit, ...]]:
    try:
        return _with(view, target, wishes, form_of(view, target, span, wishes))
    except Obstacle as obstacle:
        form = form_around(view, target) if obstacle.code in UNSEEN else None
        if form is None:
            raise
    must_not_be_differentiated_elsewhere(view, target)
    return _with(view, target, wishes, form)


def _with(view: FileView, target: Target, wishes: Wishes, form: Form) -> tuple[Remarks, tuple[FileEdit, ...]]:
    target = replace(target, filled=form.filled)
    step = read_step(view, target, wishes, form)
    shared = [(call.whole, _shared(call, step.axes)) for call in form.calls]
    must_not_be_on_one_device(view, target, shared)
    spelling = Spelling(view, view.span(target.at(target.node.site)).start)
    averages = [*without_star(view, target), *averaged(view, target, step, spelling)]
    if form.around:
        shard, split = _shard(view, spelling, wishes, step)
        merge, joined = merge_helper(view, spelling)
        may_leave_out = step.may_leave_out(target)
        around, helper = pmap_helper(view, spelling, step.library, shard, merge, may_leave_out=may_leave_out)
        _, applied = mapped_by_pmap(view, target, step, spelling, pmap_devices(wishes, spelling), around)
        return Remarks(step.note, step.caveat), in_order(
            (*import_edits(view, spelling.needed), *split, *joined, *helper, *applied, *averages)
        )
    name, applied = mapped_by_pmap(view, target, step, spelling, pmap_devices(wishes, spelling))
    shard, helper = _shard(view, spelling, wishes, step) if form.calls else ("", ())
    calls = [edit for call in form.calls for edit in _sharded(view, call, step.axes, shard)]
    names = [FileEdit(view.path, Edit(view.span(call.use.site), name)) for call in form.calls if name]
    merged, more = _merged(view, form.calls, step, spelling)
    edits = (*import_edits(view, spelling.needed), *helper, *more, *applied, *averages, *merged, *names, *calls)
    return Remarks(step.note, step.caveat), in_order(edits)


def _shared(call: PlainCall, axes: tuple[int | None, ...]) -> tuple[Node, ...]:
    return tuple(value for value, axis in zip(call.values, axes, strict=False) if axis is None)


def _shard(view: FileView, spelling: Spelling, wishes: Wishes, step: Step) -> tuple[str, tuple[FileEdit, ...]]:
    # A pmap with a list of devices needs one row per device.
    return split_helper(view, spelling, count_of_devices(wishes, spelling), sums=step.sums, alone=not wishes.devices)


def _merged(
    view: FileView, calls: tuple[PlainCall, ...], step: Step, spelling: Spelling
) -> tuple[list[FileEdit], tuple[FileEdit, ...]]:
    """Returns the edits that merge the rows of all devices in each call's result, and the edit that adds the helper.

    Raises:
        Obstacle: only some of the results are rows.
    """
    out = step.out
    if not calls or out is None:
        return [], ()
    if not isinstance(out, int):
        line = line_of(view, calls[0].whole)
        raise Obstacle(
            "rows-among-results",
            f"the call on line {line} returns rows together with other results, so the rows cannot be merged",
        )
    merge, helper = merge_helper(view, spelling)
    edits = [
        edit
        for call in calls
        for edit in wrapping(view, view.span(call.whole), f"{merge}(", f", {_batch(view, call, step)})")
    ]
    return edits, helper


def _batch(view: FileView, call: PlainCall, step: Step) -> str:
    """Returns the source of a call's batch, which determines the number of rows.

    Raises:
        Obstacle: the batch is not a variable and would be computed twice.
    """
    given = [value for value, axis in zip(call.values, step.axes, strict=True) if axis is not None]
    plain = next((value for value in given if _is_plain(view, value)), None)
    if plain is None:
        message = (
            f"the call on line {line_of(view, call.whole)} computes its batch in place, so the batch would be computed "
            "twice; assign it to a variable first"
        )
        raise Obstacle("nameless-batch", message)
    return view.text(Site(call.whole.path, call.whole.block, plain.site))


def _is_plain(view: FileView, value: Node) -> bool:
    """Returns whether an expression can be evaluated again with the same result and no side effects."""
    calls = [node.callee for node in walk(value) if isinstance(node, Call)]
    names = [dotted_name(view, one) for one in calls]
    is_pure = all(
        (name.startswith(("jax.numpy.", "numpy.")) and ".random." not in name)
        or (not name and isinstance(one, Attribute) and one.name in _VIEWS)
        for one, name in zip(calls, names, strict=True)
    )
    return is_pure and all(isinstance(node, _PLAIN) for node in walk(value))


def _sharded(view: FileView, call: PlainCall, axes: tuple[int | None, ...], shard: str) -> list[FileEdit]:
    """Returns the edits that wrap a call's batch arguments, as one tree, in the helper that splits the batch.

    Raises:
        Obstacle: the arguments are not adjacent, so a different number of rows in one of them would go unnoticed.
    """
    split = [place for place, axis in enumerate(axes) if axis is not None]
    if split != list(range(split[0], split[-1] + 1)):
        message = f"the batch arguments on line {line_of(view, call.whole)} are not next to each other"
        raise Obstacle("batch-apart", message)
    before, after = (f"{shard}(", ")") if len(split) == 1 else (f"*{shard}((", "))")
    whole = Span(value_start(view, call, split[0]), call.spans[split[-1]].end)
    return [*without_labels(view, call), *wrapping(view, whole, before, after)]
