"""Averages the gradients and the loss of a mapped step over the devices.

Without this, each device trains its own copy of the model on its part of the data, and nothing raises an error.
If the loss is a mean over rows, the average of the devices' gradients is the gradient of the mean over the whole batch,
because all shards have the same size. A step whose loss sums over its rows is refused.

`devices: 8`

```python
from functools import partial

import jax
import jax.numpy as jnp


def loss_fn(params, x):
    return jnp.mean((x @ params) ** 2)


@partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def $0step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return params - 0.1 * grads, loss


params, losses = step(jnp.ones(3), jnp.ones((8, 4, 3)))
```

becomes

```python
from functools import partial

import jax
import jax.numpy as jnp


def loss_fn(params, x):
    return jnp.mean((x @ params) ** 2)


@partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params, losses = step(jnp.ones(3), jnp.ones((8, 4, 3)))
```
"""

from __future__ import annotations

from meshlens.axes.domain.values import Binder, Const, Seq
from meshlens.facts.nodes import Parameter
from meshlens.project.trees import names_used, walk
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.following.averaging import reducing, reductions
from meshlens.refactoring.following.grad_calls import takes
from meshlens.refactoring.following.gradients import differentiated, named_makers
from meshlens.refactoring.following.shared import axis_of_parameter
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Proposal, Refused, Wishes
from meshlens.refactoring.reading.functions import Target, function_at, maps_around, reached
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order, quoted
from meshlens.text import Span

_TITLE = "average the gradients over the devices"


def synchronize_gradients(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on the name of a mapped function that computes gradients but does not reduce them."""
    target = function_at(view, span)
    if target is None or not _takes_gradients(view, target) or is_synchronized(view, target):
        return None
    try:
        axis = _axis(view, target, wishes)
        found = reductions(view, target, _shared(view, target))
        if found.sums:
            raise Obstacle("summed-loss", f'"{target.name}" sums over its rows, so its gradients must be summed too')
        if not found.lines and not found.inside:
            return None
        spelling = Spelling(view, view.span(target.at(target.node.site)).start)
        edits = reducing(view, target, found, spelling, axis)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    made = in_order((*import_edits(view, spelling.needed), *edits))
    return Proposal(_TITLE, lambda: made)


def _takes_gradients(view: FileView, target: Target) -> bool:
    return any(takes(view, node) for one in reached(view, target) for node in walk(one)) or bool(
        named_makers(view, target).keys() & names_used(target.node)
    )


def _shared(view: FileView, target: Target) -> frozenset[str]:
    """Returns the parameters that are the same on every device, either replicated or unmapped."""
    learned = differentiated(view, target)
    given = {axes for binder in maps_around(view, target) if (axes := _in_axes(binder)) is not None}
    found = set()
    for place, parameter in enumerate(target.node.function.parameters):
        once = bool(given) and all(place < len(axes) and axes[place] is None for axes in given)
        if once or _is_state(view, target, parameter, place, learned):
            found.add(parameter.name)
    return frozenset(found)


def _in_axes(binder: Binder) -> tuple[object, ...] | None:
    given = binder.argument("in_axes")
    if given is None or not isinstance(given.value, Seq) or given.value.open:
        return None
    return tuple(item.value if isinstance(item, Const) else 0 for item in given.value.items)


def _is_state(view: FileView, target: Target, parameter: Parameter, place: int, learned: frozenset[str]) -> bool:
    try:
        return axis_of_parameter(view, target, parameter, place, (), learned) is None
    except Obstacle:
        return False


def is_synchronized(view: FileView, target: Target) -> bool:
    """Returns whether a gradient is already reduced over devices, in a function or in other code that its map runs."""
    maps = {binder.site for binder in maps_around(view, target)}
    return any(
        "gradient" in use.labels
        and (use.context.function == target.site or any(outer.site in maps for outer in use.context.env.maps))
        for records in view.solution.by_file.values()
        for use in records.uses
    )


def _axis(view: FileView, target: Target, wishes: Wishes) -> str:
    maps = maps_around(view, target)
    if not maps:
        raise Obstacle("not-mapped", f'"{target.name}" does not run inside a map over devices here')
    if any(binder.checked for binder in maps):
        raise Obstacle("checked-shard-map", "shard_map already sums these gradients")
    names = {name.value for binder in maps for name in binder.names}
    if wishes.axis_name is not None and wishes.axis_name in names:
        return quoted(view, wishes.axis_name)
    if len(names) != 1:
        raise Obstacle("no-one-axis", f'the maps around "{target.name}" do not bind exactly one known axis name')
    return quoted(view, names.pop())
