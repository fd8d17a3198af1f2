"""Wraps a function in `jax.jit(jax.shard_map(…))`, which splits its batch over a mesh of all devices.

Values that all devices share get the spec `P()` and the batch gets `P("batch")`, so the calls do not change: each
device gets its rows, and results that are equal on all devices are returned once.
Importing the module does not start JAX's backend: the mesh and the compiled function are created at the first call.
Gradients are averaged over the devices as soon as the code computes them; `check_vma=False` keeps `shard_map` from also
summing them. Where a loss combines the rows of the batch, as a contrastive loss or a ranking does, the rows are
gathered, and every device computes the rest for all of them.
The results equal those on one device up to the order of summation, unless each device draws its own random numbers; in
that case, the title of the action and the report say so. If the function cannot be wrapped, the refusal gives the
reason.

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
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


@functools.cache
def device_mesh():
    \"\"\"Returns the mesh of all devices, created on first use.\"\"\"
    return Mesh(np.array(jax.devices()), ("batch",))


def on_all_devices(in_specs, out_specs, **options):
    \"\"\"Runs a function on all devices; rows that do not divide evenly are copied to all.\"\"\"

    def decorate(function):
        @functools.wraps(function)
        def run(*args):
            specs = in_specs[: len(args)]
            pairs = zip(args, specs, strict=True)
            batch = [arg for arg, spec in pairs if spec != P()]
            rows = {x.shape[0] for x in jax.tree.leaves(batch)}
            if len(rows) > 1:
                raise ValueError(f"the arrays of one batch have different numbers of rows: {sorted(rows)}")
            divides = all(count % device_mesh().shape["batch"] == 0 for count in rows)
            specs, out = (specs, out_specs) if divides else (P(), P())
            mapped = jax.shard_map(
                function,
                mesh=device_mesh(),
                in_specs=specs,
                out_specs=out,
                check_vma=False,
            )
            return mapped(*args)

        return jax.jit(run, **options)

    return decorate


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@on_all_devices(in_specs=(P(), P("batch")), out_specs=P())
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, jnp.arange(48.0).reshape(16, 3) / 48)
```
"""

from __future__ import annotations

from dataclasses import replace

from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.form import Form, as_decorator, form_of
from meshlens.refactoring.maps.form_around import UNSEEN, form_around
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.prefix import specs_text
from meshlens.refactoring.maps.step import Step, averaged, read_step
from meshlens.refactoring.model import Answer, Proposal, Wishes
from meshlens.refactoring.offering import Remarks, offered_with_note
from meshlens.refactoring.reading.calls import without_labels
from meshlens.refactoring.reading.functions import Target, function_at, may_use_jax, uses_libraries
from meshlens.refactoring.reading.jit import operand_of
from meshlens.refactoring.reading.mentions import is_read
from meshlens.refactoring.reading.on_a_mesh import already_mapped
from meshlens.refactoring.reading.parameters import without_star
from meshlens.refactoring.writing.devices import device_mesh
from meshlens.refactoring.writing.on_devices import Wanted, each_device, shard_map_helper
from meshlens.refactoring.writing.sharding import OnMesh, mesh_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import Call, around, call_text, in_order, width_of
from meshlens.text import Edit, FileEdit, Span

_TITLE = "wrap in shard_map"


def wrap_in_shard_map(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on the name of a function that no map runs yet."""
    target = function_at(view, span)
    if target is None or not may_use_jax(view):
        return None
    if (refused := already_mapped(view, target, _TITLE)) is not None:
        return refused
    answer = offered_with_note(_TITLE, lambda: _written(view, target, span, wishes))
    is_expected = uses_libraries(view, target) or is_read(view, target.name)
    return answer if isinstance(answer, Proposal) or is_expected else None


def _form(view: FileView, target: Target, span: Span, wishes: Wishes) -> Form:
    """Returns the form: a decorator, or, if nothing else uses the function, a map instead of the call to `jit`."""
    found = form_of(view, target, span, wishes)
    return found if found.how == "call" and not found.others else as_decorator(view, target, wishes)


def _step(view: FileView, target: Target, span: Span, wishes: Wishes) -> Step:
    """Returns the analysis of a function; if its calls cannot be analyzed, they stay unchanged."""
    try:
        if target.is_method:
            raise Obstacle("method", f'"{target.name}" is a method, which can be wrapped only if it is jitted')
        plain = _form(view, target, span, wishes)
        return read_step(view, replace(target, filled=plain.filled), wishes, plain)
    except Obstacle as obstacle:
        form = form_around(view, target) if obstacle.code in UNSEEN else None
        if form is None or form.others:
            raise
    return read_step(view, target, wishes, form)


def _written(view: FileView, target: Target, span: Span, wishes: Wishes) -> tuple[Remarks, tuple[FileEdit, ...]]:
    step = _step(view, target, span, wishes)
    target = replace(target, filled=step.form.filled)
    site = target.at(target.node.site)
    spelling = Spelling(view, view.span(site).start)
    mesh = OnMesh(device_mesh(wishes, step.axis, spelling), step.axis)
    called, made = mesh_helper(view, spelling, mesh)
    static = _static(target, step)
    wanted = Wanted(step.library, step.sums, bool(static), by_name=step.form.around)
    name, helper = shard_map_helper(view, spelling, mesh, called, wanted)
    averages = [*without_star(view, target), *averaged(view, target, step, spelling)]
    below, each = each_device(view, spelling, step.care, step.axis)
    decorator = _decorator(view, target, step, spelling, name, below)
    calls = () if step.form.around else step.form.calls
    keywords = [edit for call in calls for edit in without_labels(view, call)]
    edits = (*import_edits(view, spelling.needed), *made, *helper, *each, decorator, *averages, *keywords)
    return Remarks(step.note, step.caveat), in_order(edits)


def _static(target: Target, step: Step) -> tuple[str, ...]:
    return step.folded.static if step.folded is not None else step.static


def _in_specs(target: Target, step: Step, spec: str) -> str:
    """Returns the specs of the arguments, with None for those that are not arrays."""
    names = [parameter.name for parameter in target.parameters]
    axes = step.axes
    if target.has_object and not step.form.is_bound:
        names, axes = [target.node.function.parameters[0].name, *names], (None, *axes)
    static = set(_static(target, step))
    texts = [
        "None" if name in static else specs_text(axis, spec, step.axis) for name, axis in zip(names, axes, strict=False)
    ]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _decorator(view: FileView, target: Target, step: Step, spelling: Spelling, helper: str, below: str) -> FileEdit:
    spec = spelling.spec()
    folded = step.arguments(target)
    arguments = (
        f"in_specs={_in_specs(target, step, spec)}",
        f"out_specs={specs_text(step.out, spec, step.axis)}",
        *(argument.replace("static_broadcasted_argnums=", "static_argnums=") for argument in folded),
    )
    span = view.span(step.folded.site if step.folded is not None else target.at(target.node.site))
    indent, _ = around(view, Span(span.start, span.start))
    text = call_text(Call(helper, arguments), indent, width_of(view), len(indent) + 1)
    if step.folded is None:
        text = f"@{text}\n{indent}" + (f"@{below}\n{indent}" if below else "")
        return FileEdit(view.path, Edit(Span(span.start, span.start), text))
    if step.folded.comments:
        raise Obstacle("comments", "there are comments between the arguments of this jit; move them first")
    if step.form.how == "call":
        operand = view.text(operand_of(view, step.folded))
        operand = f"{below}({operand})" if below else operand
        text = f"{call_text(Call(helper, arguments), indent, width_of(view), 0)}({operand})"
        return FileEdit(view.path, Edit(span, text))
    text += f"\n{indent}@{below}" if below else ""
    return FileEdit(view.path, Edit(span, text))
