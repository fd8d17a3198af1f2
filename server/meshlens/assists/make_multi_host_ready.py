"""Changes a program that maps over the devices of one host so that it runs on several hosts, with one process on each.

The processes connect at the start of the program, before anything requests devices.
At every call to a map, each process passes its own rows: to a `shard_map` as its part of one global array, to a `pmap`
as a separate array.
Results that are split over the processes are gathered, so the rest of the program does not change.
Started as a single process, the program runs as before and gives the same results.
Outside a cluster that JAX recognizes, set the environment variables `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and
`JAX_PROCESS_ID` for each process.

`devices: 8`

```python
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


mesh = Mesh(np.array(jax.devices()), ("batch",))


@jax.jit
@functools.partial(
    jax.$0shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P(), check_vma=False
)
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, jnp.arange(48.0).reshape(16, 3) / 48)
```

becomes

```python
import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P


def global_rows(tree, mesh, spec):
    \"\"\"Returns global arrays from arrays that every process loaded in full; each process places its own rows.\"\"\"
    sharding = jax.sharding.NamedSharding(mesh, spec)

    def distribute(x):
        return jax.make_array_from_process_local_data(sharding, np.asarray(x), x.shape)

    return jax.tree.map(distribute, tree)


def join_processes():
    \"\"\"Joins the processes of a cluster, or those that environment variables describe, if there are any.\"\"\"
    variables = {"num_processes": "JAX_NUM_PROCESSES", "process_id": "JAX_PROCESS_ID"}
    given = {name: int(os.environ[key]) for name, key in variables.items() if key in os.environ}
    try:
        jax.distributed.initialize(**given)
    except ValueError as error:
        if given or "coordinator_address" not in str(error):
            raise


join_processes()


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


mesh = Mesh(np.array(jax.devices()), ("batch",))


@jax.jit
@functools.partial(
    jax.shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P(), check_vma=False
)
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, global_rows(jnp.arange(48.0).reshape(16, 3) / 48, mesh, P("batch")))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import Binding
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.view import FileView
from meshlens.project.writing.drafts import Import
from meshlens.project.writing.import_statements import name_of_module
from meshlens.project.writing.new_imports import import_edits, is_written
from meshlens.refactoring.maps.across_processes import Crossing, crossings, must_be_laid_out_plainly
from meshlens.refactoring.maps.pmap import Obstacle, pmap_at
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.reading.assigned import name_at, results_of
from meshlens.refactoring.reading.functions import function_at, maps_around
from meshlens.refactoring.writing.helpers import with_helper
from meshlens.refactoring.writing.processes import joining
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order
from meshlens.text import Edit, FileEdit, Span

_TITLE = "prepare for multiple hosts"
_MAPS = ("jax.pmap", "jax.shard_map", "jax.experimental.shard_map.shard_map")
_GLOBAL_ROWS = '''\
def {name}(tree, mesh, spec):
    """Returns global arrays from arrays that every process loaded in full; each process places its own rows."""
    sharding = {sharding}(mesh, spec)

    def distribute(x):
        return {make}(sharding, {asarray}(x), x.shape)

    return {tree_map}(distribute, tree)'''
_OWN_ROWS = '''\
def {name}(tree):
    """Returns this process's rows of arrays that every process has loaded in full."""
    count, index = {count}(), {index}()

    def own(x):
        if x.shape[0] % count:
            raise ValueError(f"cannot split {{x.shape[0]}} rows over {{count}} processes; use a multiple of {{count}}")
        size = x.shape[0] // count
        return x[index * size : (index + 1) * size]

    return {tree_map}(own, tree)'''


def make_multi_host_ready(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a `pmap` or `shard_map`, on the function that it maps, and on the variable that holds it."""
    if not _is_on_map(view, span):
        return None
    return offered(_TITLE, lambda: _written(view))


def _is_on_map(view: FileView, span: Span) -> bool:
    if any(pmap_at(view, span, dotted) is not None for dotted in _MAPS):
        return True
    target = function_at(view, span)
    if target is not None:
        return any(view.is_here(binder.site) for binder in maps_around(view, target))
    named = name_at(view, span)
    return named is not None and any(named[1] in results_of(view, one.binder.site) for one in view.records.bindings)


def _written(view: FileView) -> tuple[FileEdit, ...]:
    if b"distributed.initialize" in view.source:
        raise Obstacle("joined", "this program already calls jax.distributed.initialize")
    must_be_laid_out_plainly(view)
    found = [crossing for binding in _maps(view) for crossing in crossings(view, binding)]
    spelling = Spelling(view)
    edits = [edit for crossing in found for edit in _crossed(view, crossing, spelling)]
    start = (*_helpers(view, found, spelling), *joining(view, spelling))
    return in_order((*import_edits(view, spelling.needed), *start, *edits))


def _maps(view: FileView) -> tuple[Binding, ...]:
    """Returns the program's maps over devices."""
    found: dict[Site, Binding] = {}
    for path, records in view.solution.by_file.items():
        for binding in records.bindings:
            if binding.binder.kind not in MAPS_ON_DEVICES:
                continue
            if view.is_here(binding.binder.site):
                found[binding.binder.site] = binding
            elif any(step.site.path == str(view.path) for step in binding.context.route):
                name = path.rsplit("/", 1)[-1]
                raise Obstacle(
                    "other-file",
                    f"this program also runs a {binding.binder.kind} in {name}, which this refactoring does not change",
                )
    for one in found.values():
        if one.binder.kind == "smap":
            raise Obstacle("smap", "the mesh of this jax.smap is unknown here")
    return tuple(found.values())


def _crossed(view: FileView, crossing: Crossing, spelling: Spelling) -> list[FileEdit]:
    edits = []
    for split in crossing.split:
        span = view.span(split.value)
        name, _ = _helper(view, split.spec is None, spelling)
        after = ")" if split.spec is None else f", {split.mesh}, {spelling.spec()}({split.spec}))"
        edits.append(FileEdit(view.path, Edit(Span(span.start, span.start), f"{name}(")))
        edits.append(FileEdit(view.path, Edit(Span(span.end, span.end), after)))
    if crossing.is_gathered:
        span = view.span(crossing.call)
        gather = _gather(view, spelling)
        edits.append(FileEdit(view.path, Edit(Span(span.start, span.start), f"{gather}(")))
        edits.append(FileEdit(view.path, Edit(Span(span.end, span.end), ", tiled=True)")))
    return edits


def _helpers(view: FileView, found: list[Crossing], spelling: Spelling) -> Iterator[FileEdit]:
    """Yields the edits that add the helper functions needed by the calls, each function only once."""
    for kind in sorted({split.spec is None for crossing in found for split in crossing.split}):
        yield from _helper(view, kind, spelling)[1]


def _helper(view: FileView, is_pmap: bool, spelling: Spelling) -> tuple[str, tuple[FileEdit, ...]]:
    if is_pmap:
        return with_helper(
            view,
            "own_rows",
            _OWN_ROWS,
            count=spelling.of("jax", "process_count"),
            index=spelling.of("jax", "process_index"),
            tree_map=spelling.tree_map(),
        )
    return with_helper(
        view,
        "global_rows",
        _GLOBAL_ROWS,
        sharding=spelling.of("jax", "sharding.NamedSharding"),
        make=spelling.of("jax", "make_array_from_process_local_data"),
        asarray=spelling.numpy("asarray"),
        tree_map=spelling.tree_map(),
    )


def _gather(view: FileView, spelling: Spelling) -> str:
    known = name_of_module(view, "jax.experimental.multihost_utils")
    if known is None and not is_written(view, "multihost_utils"):
        spelling.needed.append(Import("jax.experimental", ("multihost_utils",)))
        known = "multihost_utils"
    return (
        f"{known}.process_allgather"
        if known is not None
        else spelling.of("jax.experimental.multihost_utils", "process_allgather")
    )
