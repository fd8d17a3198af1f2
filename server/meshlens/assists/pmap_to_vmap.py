"""Converts a pmap to `jax.jit(jax.vmap(…))`, which runs on one device and gives the same results.

Use it to test a step without several devices: the axis keeps its name and size, and the collectives that `vmap`
supports behave as they do across devices.
Code that would behave differently on one device is refused, for example if it uses callbacks or collectives over groups
of indices, returns an unmapped result that may differ between devices, or reads the shards of an array.

`devices: 8`

```python
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.$0pmap, axis_name="batch", in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "batch")


losses = loss(jnp.ones(3), jnp.arange(96.0).reshape(8, 4, 3))
```

becomes

```python
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
@partial(jax.vmap, axis_name="batch", in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "batch")


losses = loss(jnp.ones(3), jnp.arange(96.0).reshape(8, 4, 3))
```
"""

from __future__ import annotations

import re

from meshlens.project.view import FileView
from meshlens.refactoring.maps.on_one_device import must_work_under_vmap
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, argument_count, mentions, pmap_at, read_pmap
from meshlens.refactoring.maps.prefix import Items, axes_text
from meshlens.refactoring.maps.readable import (
    must_be_spelled_here,
    must_not_be_unwrapped,
    must_run_in_one_process,
    paths_of,
)
from meshlens.refactoring.model import Answer, Refused, Wishes
from meshlens.refactoring.together import in_parts
from meshlens.refactoring.writing.application import Layer, applied, kept
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import FileEdit, Span

_TITLE = "convert pmap to vmap"
_OF_SHARDS = re.compile(
    rb"\b(?:addressable_shards|addressable_data|global_shards|device_buffers?)\b|\.sharding\b(?!\.|\s+import)"
)


def pmap_to_vmap(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to `jax.pmap`, on `jax.pmap` as a decorator, or on a decorated function's name."""
    binding = pmap_at(view, span)
    if binding is None:
        on_name = any(place.contains(span) for place in mentions(view, span))
        return (
            Refused(_TITLE, "not-applied", "cannot find the function that this pmap is applied to") if on_name else None
        )
    try:
        pmap = read_pmap(view, binding)
        must_be_spelled_here(view, binding)
        must_not_be_unwrapped(view, binding)
        must_run_in_one_process(view, pmap, "each process passes pmap its own rows, so vmap would see only those")
        _must_not_look_at_shards(view, pmap)
        must_work_under_vmap(view, pmap)
        spelling = Spelling(view, view.span(binding.binder.site).start)
        edit = _written(view, pmap, spelling)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return in_parts(_TITLE, view, spelling, (edit,))


def _must_not_look_at_shards(view: FileView, pmap: Pmap) -> None:
    for path in sorted(paths_of(view, pmap)):
        found = _OF_SHARDS.search(view.texts[path])
        if found is not None:
            name = path.rsplit("/", 1)[-1]
            raise Obstacle("shards", f'{name} reads the shards of arrays ("{found[0].decode().lstrip(".")}")')


def _written(view: FileView, pmap: Pmap, spelling: Spelling) -> FileEdit:
    jit = (
        *kept(view, "static_argnums", pmap.given("static_broadcasted_argnums")),
        *kept(view, "donate_argnums", pmap.given("donate_argnums")),
    )
    in_axes = kept(view, "in_axes", pmap.arguments.get("in_axes"))
    if pmap.static:
        in_axes = (f"in_axes={axes_text(_without_static(pmap))}",)
    arguments = (
        *kept(view, "axis_name", pmap.given("axis_name")),
        *in_axes,
        *kept(view, "out_axes", pmap.arguments.get("out_axes")),
        *kept(view, "axis_size", pmap.given("axis_size")),
    )
    layers = (Layer(spelling.of("jax", "jit"), jit), Layer(spelling.of("jax", "vmap"), arguments))
    return applied(view, pmap.binding, layers, spelling)


def _without_static(pmap: Pmap) -> Items:
    """Returns the `in_axes` with `None` for static arguments, which `vmap` would map."""
    axes = pmap.in_axes
    if not isinstance(axes, Items):
        count = argument_count(pmap)
        if count is None:
            raise Obstacle("unknown-arguments", "the number of non-static arguments is unknown")
        axes = Items("tuple", (axes,) * count)
    if pmap.static[-1] >= len(axes.items):
        raise Obstacle("static-arguments", f"argument {pmap.static[-1]} is static, but the calls do not pass it")
    return Items("tuple", tuple(None if place in pmap.static else item for place, item in enumerate(axes.items)))
