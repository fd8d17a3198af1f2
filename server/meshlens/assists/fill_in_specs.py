"""Adds missing `in_specs` or `out_specs` to a shard_map, with an entry for every argument or result.

Values that all devices share (parameters, state, scalars) get `P()`, and the batch is split over the first axis of the
mesh.
Results that a `psum` or `pmean` makes equal on all devices get `P()`.
MeshLens infers the entries from names, annotations and the gradients that the code computes; if these are not enough,
the refusal names the argument that is unclear.

`devices: 8`, `raises: TypeError`

```python
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


@partial(jax.$0shard_map, mesh=mesh)
def predict(params, batch):
    rows = batch @ params
    mean = jax.lax.pmean(rows.mean(), "data")
    return rows, mean


rows, mean = predict(jnp.ones(3), jnp.arange(48.0).reshape(16, 3))
assert rows.shape == (16,) and abs(mean - 70.5) < 1e-3
```

becomes

```python
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=(P("data"), P()))
def predict(params, batch):
    rows = batch @ params
    mean = jax.lax.pmean(rows.mean(), "data")
    return rows, mean


rows, mean = predict(jnp.ones(3), jnp.arange(48.0).reshape(16, 3))
assert rows.shape == (16,) and abs(mean - 70.5) < 1e-3
```
"""

from __future__ import annotations

from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.values import Const, Data, Function, Mesh, Seq, Site, Spec, Value
from meshlens.axes.runs.records import Binding, literal_name
from meshlens.facts.nodes import Attribute, FunctionDef, FunctionShape, Lambda, Name, Return
from meshlens.project.trees import path_to, walk
from meshlens.project.view import FileView
from meshlens.project.writing.new_arguments import with_argument
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.following.averaging import reductions
from meshlens.refactoring.following.gradients import differentiated
from meshlens.refactoring.following.shared import in_axes_of
from meshlens.refactoring.maps.on_one_device import uses_under
from meshlens.refactoring.maps.pmap import Obstacle, decorated, pmap_at
from meshlens.refactoring.maps.prefix import Items, Prefix, specs_text
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.reading.functions import Target, dotted_name, functions, reached
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order
from meshlens.text import FileEdit, Span

_TITLE = "fill in the specs"
_GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad", "jax.vjp", "jax.linearize"})
_SHARD_MAPS = ("jax.shard_map", "jax.experimental.shard_map.shard_map")


def fill_in_specs(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on an application of `shard_map` that lacks specs."""
    binding = next((one for name in _SHARD_MAPS if (one := pmap_at(view, span, name)) is not None), None)
    if binding is None:
        return None
    given = dict(binding.binder.arguments)
    missing = [name for name in ("in_specs", "out_specs") if name not in given]
    if not missing or "*" in given or "**" in given:
        return None
    return offered(_TITLE, lambda: _written(view, binding, missing))


def _written(view: FileView, binding: Binding, missing: list[str]) -> tuple[FileEdit, ...]:
    axis = _axis(view, binding)
    target = _operand(view, binding)
    given = binding.binder.argument("in_specs")
    axes = (
        in_axes_of(view, target, (), differentiated(view, target), ()) if given is None else _given(target, given.value)
    )
    spelling = Spelling(view, view.span(binding.binder.site).start)
    spec = spelling.spec()
    specs: dict[str, Prefix] = {"in_specs": Items("tuple", axes)}
    if "out_specs" in missing:
        out = _out(view, target, axes)
        specs["out_specs"] = out
        _must_have_an_axis(view, binding, out)
    texts = [f"{name}={specs_text(specs[name], spec, axis)}" for name in missing]
    if (
        _differentiates(view, target)
        and binding.binder.checked
        and not {"check_vma", "check_rep"} & dict(binding.binder.arguments).keys()
    ):
        texts.append("check_rep=False" if "experimental" in binding.binder.dotted else "check_vma=False")
    edits = [with_argument(view, binding.binder.site, text) for text in texts]
    if None in edits:
        raise Obstacle("applied-elsewhere", "this shard_map is not written as a call, so no argument can be added")
    return in_order((*import_edits(view, spelling.needed), *(edit for edit in edits if edit is not None)))


def _out(view: FileView, target: Target, axes: tuple[int | None, ...]) -> Prefix:
    parameters = zip(target.parameters, axes, strict=False)
    found = reductions(view, target, frozenset(parameter.name for parameter, axis in parameters if axis is None))
    if found.lines or found.inside:
        raise Obstacle(
            "unreduced-number", "the mapped function returns a scalar that differs between devices; reduce it first"
        )
    return found.out


def _differentiates(view: FileView, target: Target) -> bool:
    """Returns whether a function computes gradients, which shard_map's check would sum over devices."""
    inside = (node for root in reached(view, target) for node in walk(root))
    return any(isinstance(node, (Name, Attribute)) and dotted_name(view, node) in _GRADIENTS for node in inside)


def _axis(view: FileView, binding: Binding) -> str:
    """Returns the source of the mesh's first axis."""
    mesh = binding.binder.mesh
    names = [literal_name(name) for name in mesh.names] if isinstance(mesh, Mesh) else []
    if not names or names[0] is None or (isinstance(mesh, Mesh) and mesh.open):
        raise Obstacle("unknown-mesh", "the mesh of this shard_map is unknown here")
    manual = binding.binder.argument("axis_names")
    if manual is not None:
        raise Obstacle("axis-names", "this shard_map sets axis_names, so the axes that split its arguments are unknown")
    for use in uses_under(view, binding.binder.site):
        name = literal_name(use.name)
        if name != names[0]:
            said = f'the axis "{name}"' if name is not None else "an unknown axis"
            raise Obstacle(
                "several-axes", f"the mapped function uses {said}, but it is unknown which arguments that axis splits"
            )
        if use.kind in ("all_gather", "all_to_all", "psum_scatter"):
            raise Obstacle(
                "gathered",
                f'cannot tell whether out_specs should keep one device\'s "{use.kind}" result '
                "or concatenate all devices' results",
            )
    return f'"{names[0]}"'


def _operand(view: FileView, binding: Binding) -> Target:
    """Returns the mapped function; for a lambda, an equivalent function."""
    binder = binding.binder
    node = decorated(view, binding)
    if node is not None:
        return Target(node, Site(binder.site.path, binder.site.block, node.function.site), False)
    site = binder.operand_site
    path = path_to(view, site) if site is not None else ()
    if site is not None and path and isinstance(path[-1], Lambda):
        index, parameters, value = path[-1].site, path[-1].parameters, path[-1].body
        body = (Return("return", index, value),)
        return Target(
            FunctionDef("fn", index, FunctionShape("the lambda", index, parameters, (), body, frozenset())), site, False
        )
    if isinstance(binder.operand, Function):
        found = [one for one in functions(view) if one.site == binder.operand.site]
        if found:
            return found[0]
    raise Obstacle("unknown-function", "the mapped function is not in this file")


def _given(target: Target, specs: Value) -> tuple[int | None, ...]:
    """Returns 0 for each parameter that the existing `in_specs` split, and None for the others."""
    items = specs.items if isinstance(specs, Seq) and not specs.open else (specs,) * len(target.parameters)
    if not all(isinstance(item, Spec) and not item.open for item in items):
        raise Obstacle("unknown-in-specs", "the in_specs of this shard_map are unknown")
    plain = [all(entry == Const(None) for entry in item.entries) for item in items if isinstance(item, Spec)]
    return tuple(None if is_shared else 0 for is_shared in plain)


def _must_have_an_axis(view: FileView, binding: Binding, out: Prefix) -> None:
    """Checks that a result that differs between devices has an axis to concatenate it along."""
    for call in view.records.calls_of_maps:
        if call.binder.site != binding.binder.site:
            continue
        parts = call.returned.items if isinstance(call.returned, Seq) and isinstance(out, Items) else (call.returned,)
        for axes, part in zip(out.items if isinstance(out, Items) else (out,), parts, strict=False):
            if axes == 0 and isinstance(part, Data) and part.shape == () and "reduced" not in labels_of(part):
                raise Obstacle(
                    "unreduced-number",
                    "the mapped function returns a scalar that differs between devices; reduce it first",
                )
