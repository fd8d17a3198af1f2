"""Converts a pmap to `jax.jit(jax.shard_map(…))`, with the same results.

`pmap` has been in maintenance mode since JAX 0.8.0, which also reimplemented it with `jit` and `shard_map`.
The implicit steps of `pmap` are written out: a mesh of all devices, a spec for every entry of `in_axes` and `out_axes`,
and a small function that removes the mapped axis, which `shard_map` keeps with size 1, from every shard.
`check_vma=False` preserves the gradients: with the check, a gradient of replicated parameters is already summed over
the devices.
Two things differ.
With several processes, each process passes only its own rows to a pmap, but a shard_map takes one global array from all
of them; a program that calls `jax.distributed.initialize` is therefore refused.
In a function that runs often, `jax.pmap(f)(x)` compiles only once, because pmap caches what it compiled for `f`; the
new function is compiled each time it is created, so create it only once.

`devices: 8`

```python
from functools import partial

import jax


@partial(jax.$0pmap, axis_name="batch", in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "batch")


losses = loss(jax.numpy.ones(3), jax.numpy.ones((8, 4, 3)))
```

becomes

```python
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def without_mapped_axis(function, in_axes=0, out_axes=0):
    \"\"\"Calls a function as pmap does: without the mapped axis, which has size 1 on a shard.\"\"\"

    def each(change, axes, values):
        def leaves(axis, value):
            return value if axis is None else jax.tree.map(lambda x: change(x, axis), value)

        return jax.tree.map(leaves, axes, values, is_leaf=lambda axis: axis is None)

    def on_shard(*args):
        return each(jnp.expand_dims, out_axes, function(*each(jnp.squeeze, in_axes, args)))

    return on_shard


mesh = Mesh(np.array(jax.devices()), ("batch",))


@jax.jit
@partial(
    jax.shard_map,
    mesh=mesh,
    in_specs=(P(), P("batch")),
    out_specs=P("batch"),
    check_vma=False,
)
@partial(without_mapped_axis, in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "batch")


losses = loss(jax.numpy.ones(3), jax.numpy.ones((8, 4, 3)))
```
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, argument_count, mentions, pmap_at, read_pmap
from meshlens.refactoring.maps.prefix import Items, Prefix, axes_text, specs_text
from meshlens.refactoring.maps.readable import (
    must_be_spelled_here,
    must_be_the_real_pmap,
    must_not_be_unwrapped,
    must_run_in_one_process,
    must_use_all_devices,
)
from meshlens.refactoring.model import Answer, Refused, Wishes
from meshlens.refactoring.reading.keyword_calls import by_position
from meshlens.refactoring.together import in_parts
from meshlens.refactoring.writing.mapped_axis import keywords_helper, mapped_axis_helper
from meshlens.refactoring.writing.mesh import axis_text, mesh_text
from meshlens.refactoring.writing.mesh_on_call import MeshUse, mesh_for
from meshlens.refactoring.writing.placing import Place, place_before
from meshlens.refactoring.writing.sharding import OnMesh
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import Call, Source, around, call_text, comments_in, quoted, width_of
from meshlens.text import Edit, FileEdit, Span

_TITLE = "convert pmap to shard_map"
_STATIC_SPECS = (0, 6, 1)


def pmap_to_shard_map(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to `jax.pmap`, on `jax.pmap` as a decorator, or on a decorated function's name."""
    binding = pmap_at(view, span)
    if binding is None:
        on_name = any(place.contains(span) for place in mentions(view, span))
        return (
            Refused(_TITLE, "not-applied", "cannot find the function that this pmap is applied to") if on_name else None
        )
    try:
        pmap = _readable(view, read_pmap(view, binding))
        keyword_edits, in_axes, names = by_position(view, pmap)
        pmap = replace(pmap, in_axes=_with_static(view, pmap, in_axes))
        spelling = Spelling(view, view.span(pmap.binder.site).start)
        edits = (*_written(view, pmap, spelling, names), *keyword_edits)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return in_parts(_TITLE, view, spelling, edits)


def _readable(view: FileView, pmap: Pmap) -> Pmap:
    must_be_spelled_here(view, pmap.binding)
    must_run_in_one_process(
        view, pmap, "each process passes pmap its own rows, but shard_map takes the rows of all processes"
    )
    must_be_the_real_pmap(view, pmap)
    must_use_all_devices(view, pmap)
    must_not_be_unwrapped(view, pmap.binding)
    return pmap


def _with_static(view: FileView, pmap: Pmap, in_axes: Prefix) -> Prefix:
    """Returns the `in_axes` with `None` for static arguments, which must not be split or mapped as trees."""
    if not pmap.static:
        return in_axes
    if view.jax_version < _STATIC_SPECS:
        raise Obstacle("static-arguments", "shard_map takes no static arguments before JAX 0.6.1")
    if not isinstance(in_axes, Items):
        count = argument_count(pmap)
        if count is None:
            raise Obstacle("unknown-arguments", "the number of non-static arguments is unknown")
        in_axes = Items("tuple", (in_axes,) * count)
    if pmap.static[-1] >= len(in_axes.items):
        raise Obstacle("static-arguments", f"argument {pmap.static[-1]} is static, but the calls do not pass it")
    return Items("tuple", tuple(None if place in pmap.static else item for place, item in enumerate(in_axes.items)))


def _written(view: FileView, pmap: Pmap, spelling: Spelling, names: tuple[str, ...]) -> tuple[FileEdit, ...]:
    if pmap.binding.parameters is None and not pmap.calls:
        raise Obstacle(
            "unseen", "cannot find the function of this pmap or a call to it, so the number of rows is unknown"
        )
    place = place_before(view, pmap.binder.site)
    if place is not None and not place.same_scope and pmap.given("devices") is not None:
        place = None
    axis = axis_text(view, pmap, place)
    mesh = mesh_for(view, spelling, OnMesh(mesh_text(view, pmap, axis, spelling), axis), pmap)
    helper, helper_edits = mapped_axis_helper(view, spelling)
    keywords: tuple[str, ...] = ()
    if names:
        called, more = keywords_helper(view)
        text = ", ".join(quoted(view, name) for name in names)
        keywords = (called, f"names=({text}{',' * (len(names) == 1)})")
        helper_edits = (*helper_edits, *more)
    span = view.span(pmap.binder.site)
    application = _Application(view, pmap, spelling, mesh, axis, helper, keywords)
    text = application.decorators(span) if pmap.binding.decorator else application.call(span)
    comments = _comments(view, pmap, place)
    return (*helper_edits, *comments, *mesh.edits, FileEdit(view.path, Edit(span, text)))


def _comments(view: FileView, pmap: Pmap, place: Place | None) -> tuple[FileEdit, ...]:
    """Returns the edit that keeps the comments among the removed arguments by moving them above the statement."""
    operand = pmap.binder.operand_site
    text = view.text(pmap.binder.site)
    if operand is not None and not pmap.binding.decorator:
        text = text.replace(view.text(operand), "_", 1)
    found = comments_in(text)
    if not found:
        return ()
    if place is None:
        raise Obstacle("comments", "there are comments between the arguments of this pmap; move them first")
    lines = "".join(f"{comment}\n{place.indent}" for comment in found)
    return (FileEdit(view.path, Edit(Span(place.at, place.at), lines)),)


@dataclass(frozen=True, slots=True)
class _Application:
    """Writes the new application, as decorators or as a call."""

    view: FileView
    pmap: Pmap
    spelling: Spelling
    mesh: MeshUse
    axis: str
    helper: str
    keywords: tuple[str, ...]

    def decorators(self, span: Span) -> str:
        indent, _ = around(self.view, span)
        jit = self._held(self.spelling.of("jax", "jit"), self._jit_arguments(), indent)
        shard_map = self._held(self.mesh.shard_map, self._shard_map_arguments(), indent)
        helper = self._held(self.helper, self._axes(), indent)
        layers = [jit, shard_map, helper]
        if self.keywords:
            layers.append(self._held(self.keywords[0], self.keywords[1:], indent))
        return f"\n{indent}@".join(layers)

    def call(self, span: Span) -> str:
        operand = self.pmap.binder.operand_site
        if operand is None:
            raise Obstacle("applied-elsewhere", "cannot find the function that this map is applied to")
        source: Source | Call = Source(self.view.text(operand), around(self.view, self.view.span(operand))[0])
        if self.keywords:
            source = Call(self.keywords[0], (source, *self.keywords[1:]))
        inner = Call(self.helper, (source, *self._axes()))
        shard_map = Call(self.mesh.shard_map, (inner, *self._shard_map_arguments()))
        whole = Call(self.spelling.of("jax", "jit"), (shard_map, *self._jit_arguments()))
        indent, taken = around(self.view, span)
        return call_text(whole, indent, width_of(self.view), taken)

    def _held(self, callee: str, arguments: tuple[str, ...], indent: str) -> str:
        if not arguments:
            return callee
        call = Call(self.spelling.of("functools", "partial"), (callee, *arguments))
        return call_text(call, indent, width_of(self.view), len(indent) + 1)

    def _jit_arguments(self) -> tuple[str, ...]:
        pairs = (("static_argnums", "static_broadcasted_argnums"), ("donate_argnums", "donate_argnums"))
        given = [(name, self.pmap.given(old)) for name, old in pairs]
        return tuple(
            f"{name}={self.view.text(arg.site)}" for name, arg in given if arg is not None and arg.site is not None
        )

    def _shard_map_arguments(self) -> tuple[str, ...]:
        spec = self.spelling.spec()
        in_specs = specs_text(self.pmap.in_axes, spec, self.axis)
        if self.pmap.static and isinstance(self.pmap.in_axes, Items):
            texts = [
                "None" if place in self.pmap.static else specs_text(item, spec, self.axis)
                for place, item in enumerate(self.pmap.in_axes.items)
            ]
            in_specs = f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        out_specs = specs_text(self.pmap.out_axes, spec, self.axis)
        return (
            f"mesh={self.mesh.mesh}",
            f"in_specs={in_specs}",
            f"out_specs={out_specs}",
            self.spelling.unchecked(),
        )

    def _axes(self) -> tuple[str, ...]:
        pairs = (("in_axes", self.pmap.in_axes), ("out_axes", self.pmap.out_axes))
        return tuple(f"{name}={axes_text(prefix)}" for name, prefix in pairs if prefix != 0 or prefix is None)
