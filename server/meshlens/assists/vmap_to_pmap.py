"""Converts a vmap to a pmap, with one device for each row and the same results.

A pmap takes at most as many rows as there are devices.
If the visible calls pass more rows, or if either number is unknown, the vmap is kept and each device runs it on a block
of rows; a vmap with an axis name is then refused.
A `jit` around the vmap is dropped, because pmap already compiles.
Shared arguments that the calls pass as literals become static.

`devices: 8`

```python
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
@partial(jax.$0vmap, axis_name="batch", in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "batch")


losses = loss(jnp.ones(3), jnp.arange(96.0).reshape(8, 4, 3))
```

becomes

```python
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "batch")


losses = loss(jnp.ones(3), jnp.arange(96.0).reshape(8, 4, 3))
```
"""

from __future__ import annotations

from math import prod

from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, pmap_at
from meshlens.refactoring.maps.prefix import Items, Prefix, axes_text
from meshlens.refactoring.maps.vmap import (
    must_not_need_values,
    must_work_on_devices,
    needed_values,
    on_all,
    plain_arguments,
    read_replaceable,
    rows_along,
)
from meshlens.refactoring.model import Answer, Proposal, Refused, Wishes
from meshlens.refactoring.reading.jit_around import Outer, jit_around
from meshlens.refactoring.writing.application import Layer, applied, kept
from meshlens.refactoring.writing.devices import count_of_devices, pmap_devices
from meshlens.refactoring.writing.on_devices import pmap_helper
from meshlens.refactoring.writing.sharding import merge_helper, split_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import Call, Source, in_order, listed
from meshlens.text import Edit, FileEdit, Span

_TITLE = "convert vmap to pmap"
_AROUND = "split the vmap over the devices with pmap"
_WITHIN = frozenset({"unknown-devices", "more-rows", "unknown-rows", "several-sizes", "needs-value"})
"""The reasons against a pmap that replaces a vmap, but perhaps not against one around it."""


def vmap_to_pmap(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to `jax.vmap`, on `jax.vmap` as a decorator, or on a decorated function's name."""
    binding = pmap_at(view, span, "jax.vmap")
    if binding is None:
        return None
    try:
        outer = jit_around(view, binding)
        vmap = read_replaceable(view, binding)
        try:
            must_work_on_devices(view, vmap, wishes, outer)
            edits = _written(view, vmap, outer, wishes)
        except Obstacle as obstacle:
            if obstacle.code not in _WITHIN:
                raise
            edits = _around(view, vmap, outer, wishes, obstacle)
            return Proposal(_AROUND, lambda: edits)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return Proposal(_TITLE, lambda: edits)


def _around(
    view: FileView, vmap: Pmap, outer: Outer | None, wishes: Wishes, obstacle: Obstacle
) -> tuple[FileEdit, ...]:
    """Returns the edits that split a vmap's arguments over devices, each of which runs the vmap on its rows.

    Raises:
        Obstacle: the vmap's form or its uses do not allow that.
    """
    along = rows_along(vmap)
    if along is None or (outer is not None and outer.arguments):
        raise obstacle
    static = needed_values(view, vmap) if outer is None else ()
    if outer is None:
        must_not_need_values(view, vmap, static)
    span = outer.span if outer is not None else view.span(vmap.binder.site)
    spelling = Spelling(view, span.start)
    shard, split = split_helper(view, spelling, count_of_devices(wishes, spelling), sums=False, alone=True)
    merge, joined = merge_helper(view, spelling)
    library = outer.library if outer is not None else "jax"
    name, helper = pmap_helper(view, spelling, library, shard, merge)
    given = [f"in_axes={listed(along)}", "out_axes=0"]
    given += [f"static_broadcasted_argnums={listed(static)}"] if static else []
    text = on_all(view, vmap, span, Call(name, tuple(given)))
    return in_order(
        (*import_edits(view, spelling.needed), *split, *joined, *helper, FileEdit(view.path, Edit(span, text)))
    )


def _written(view: FileView, vmap: Pmap, outer: Outer | None, wishes: Wishes) -> tuple[FileEdit, ...]:
    if outer is not None and outer.library == "equinox":
        raise Obstacle("needs-value", "the filter_jit around this vmap accepts values other than arrays, unlike pmap")
    spelling = Spelling(view, view.span(vmap.binder.site).start)
    folded = dict(outer.arguments) if outer is not None else {}
    # A jit has already traced the arguments, so nothing depends on their values.
    static = plain_arguments(vmap) if outer is None else ()
    arguments = (
        *kept(view, "axis_name", vmap.given("axis_name")),
        *_axes(view, vmap, "in_axes", vmap.in_axes),
        *_axes(view, vmap, "out_axes", vmap.out_axes),
        *kept(view, "axis_size", vmap.given("axis_size")),
        *_devices(view, wishes, spelling),
        *(f"{name}={view.text(site)}" for name, site in folded.items()),
    )
    if static:
        arguments = (*arguments, f"static_broadcasted_argnums={listed(static)}")
    layer = Layer(spelling.of("jax", "pmap"), arguments)
    edit = applied(view, vmap.binding, (layer,), spelling, outer.span if outer is not None else None)
    return in_order((*import_edits(view, spelling.needed), edit))


def _devices(view: FileView, wishes: Wishes, spelling: Spelling) -> tuple[str, ...]:
    """Returns the argument for the devices that the user chose; empty for all devices, which a pmap uses anyway."""
    if not wishes.devices or prod(wishes.devices) == view.devices.count:
        return ()
    return (f"devices={pmap_devices(wishes, spelling)}",)


def _axes(view: FileView, vmap: Pmap, name: str, axes: Prefix) -> tuple[str | Source, ...]:
    """Returns an axes argument as written, except that a list for `in_axes`, which pmap rejects, becomes a tuple."""
    if name == "in_axes" and isinstance(axes, Items) and axes.kind == "list":
        return (f"in_axes={axes_text(Items('tuple', axes.items))}",)
    return kept(view, name, vmap.arguments.get(name))
