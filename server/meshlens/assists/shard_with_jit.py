"""Splits data over all devices at the calls to a function; the function itself rarely changes.

`jit` compiles for the devices that hold its arguments, and adds the collectives itself, so the results, random numbers
included, equal those on one device up to the order of summation.
The rows of a batch are split over a mesh, and state that a loop carries is copied to all devices before the loop.
An array whose rows do not divide evenly is copied too; MeshLens warns that this may happen, unless the code shows that
the rows divide evenly over the number of devices that you chose.
Importing the module does not start JAX's backend: the mesh is created when data is first placed.
If only compiled code calls the function, the data is split in the function's body.
A function that is not compiled yet gets `@jax.jit`, or, if it takes Flax NNX or Equinox objects, `@nnx.jit` or
`@eqx.filter_jit`; flags, strings and functions among its arguments become static. A function that `jit` cannot trace is
refused.

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
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@functools.cache
def device_mesh():
    \"\"\"Returns the mesh of all devices, created on first use.\"\"\"
    return Mesh(np.array(jax.devices()), ("data",))


def shard_batch(tree):
    \"\"\"Splits the rows of every array over the devices; an array that does not divide evenly is copied to all.\"\"\"
    mesh = device_mesh()

    def place(x):
        if isinstance(x, np.ndarray):
            x = x.copy()  # device_put may keep reading the array
        elif not isinstance(x, jax.Array):
            return x
        divides = x.ndim > 0 and x.shape[0] % mesh.shape["data"] == 0
        return jax.device_put(x, NamedSharding(mesh, P("data") if divides else P()))

    return jax.tree.map(place, tree)


def replicate(tree):
    \"\"\"Copies every array to all devices.\"\"\"
    sharding = NamedSharding(device_mesh(), P())

    def place(x):
        if isinstance(x, np.ndarray):
            x = x.copy()  # device_put may keep reading the array
        elif not isinstance(x, jax.Array):
            return x
        return jax.device_put(x, sharding)

    return jax.tree.map(place, tree)


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@jax.jit
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
params = replicate(params)
for _ in range(3):
    params, loss = step(params, shard_batch(jnp.arange(48.0).reshape(16, 3) / 48))
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Assign, Call, Constant, ExpressionStatement, last_name
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.following.by_row import may_convolve, takes_gradients_by_row
from meshlens.refactoring.following.carried import carried_state, placing_lines
from meshlens.refactoring.following.jitting import compiled, jitting
from meshlens.refactoring.following.roles import Given, batch_parameters, batches_made, read_roles, underlying
from meshlens.refactoring.following.sizes import around_call, shape_of
from meshlens.refactoring.following.tracing import traced
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Proposal, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.reading.elsewhere import Elsewhere, called_elsewhere, spelled_elsewhere
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, function_at
from meshlens.refactoring.reading.host_calls import Callee, HostCall, callee_at, host_calls
from meshlens.refactoring.reading.on_a_mesh import (
    already_mapped,
    must_not_be_on_a_mesh,
    must_not_be_split,
    must_run_as_one_process,
)
from meshlens.refactoring.reading.scopes import parent_of
from meshlens.refactoring.writing.devices import device_mesh
from meshlens.refactoring.writing.sharding import (
    Helper,
    OnMesh,
    axis_helper,
    batch_helper,
    copy_helper,
    mesh_helper,
    state_helper,
    traced_batch_helper,
)
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import (
    Call as CallToWrite,
)
from meshlens.refactoring.writing.writing import (
    apply_within,
    around,
    call_text,
    enclosing,
    in_order,
    lines_before,
    quoted,
    width_of,
    wrapping,
)
from meshlens.text import Edit, FileEdit, Span

_TITLE = "parallelize with jit and sharding"
_DEFAULT = "data"
_MAY_NOT_DIVIDE = "rows that do not divide evenly over the devices are not split; each device computes all of them"
_PLACES = frozenset({"jax.device_put", "jax.device_put_sharded", "jax.make_array_from_process_local_data"})
_SHARDED = frozenset({"in_shardings", "in_axis_resources"})


_NONE: tuple[FileEdit, ...] = ()
_Calls = tuple[tuple[HostCall, tuple[Given, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A file that calls the function.

    Attributes:
        view: the file.
        calls: its calls, with the role of each argument.
        elsewhere: how the file refers to names in the function's module; None for the function's own file.
    """

    view: FileView
    calls: _Calls
    elsewhere: Elsewhere | None


@dataclass(frozen=True, slots=True)
class _Split:
    """How to split the batch of a call.

    Attributes:
        rows: the helper that splits the first axis.
        along: the helper that splits another axis.
        axes: the row axis of arguments, by name; the first axis for arguments that are not listed.
        static: the arguments that are not arrays.
    """

    rows: str
    along: str
    axes: dict[str, int]
    static: tuple[str, ...]


def shard_with_jit(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a function that no map over devices runs, or on a variable that holds a jitted function."""
    callee = callee_at(view, span)
    target = None if callee is not None else function_at(view, span)
    if target is not None:
        callee = Callee(target.name, target.site, target)
    if callee is None:
        return None
    function = underlying(view, callee)
    if function is not None and (refused := already_mapped(view, function, _TITLE)) is not None:
        return refused
    answer = offered(_TITLE, lambda: _written(view, callee, function, wishes))
    if not isinstance(answer, Proposal) or _divides(view, callee, wishes):
        return answer
    return replace(answer, caveat=_MAY_NOT_DIVIDE)


def _divides(view: FileView, callee: Callee, wishes: Wishes) -> bool:
    """Returns whether the code shows that the rows of every batch divide evenly over the devices."""
    if not wishes.devices or called_elsewhere(view, callee):
        return False
    axes = dict(wishes.batch)
    sizes = [
        _rows(view, call, one, axes.get(one.name, 0))
        for call, given in _with_roles(view, callee, host_calls(view, callee), wishes)
        for one in given
        if one.role == "batch"
    ]
    return bool(sizes) and all(size is not None and size % wishes.devices[0] == 0 for size in sizes)


def _rows(view: FileView, call: HostCall, given: Given, axis: int) -> int | None:
    shape = shape_of(given.node, around_call(view, Use(call.site, call.node)))
    return shape[axis] if shape is not None and axis < len(shape) else None


def _written(view: FileView, callee: Callee, function: Target | None, wishes: Wishes) -> tuple[FileEdit, ...]:
    _must_be_possible(view, function)
    _must_have_arguments(function, wishes)
    own = _Place(view, _with_roles(view, callee, host_calls(view, callee), wishes), None)
    places = (own, *_elsewhere(view, callee, wishes))
    every = tuple(one for place in places for one in place.calls)
    _must_compile(view, callee, function, every)
    if function is not None:
        must_not_be_on_a_mesh(view, function, [(call.site, ()) for call, _ in own.calls])
        must_not_be_split(view, function, [(call.site, tuple(one.node for one in given)) for call, given in own.calls])
    first = min((view.span(call.site).start for call, _ in places[0].calls), default=_start(view, function))
    spelling = Spelling(view, min(first, _start(view, function) or first))
    axis = quoted(view, wishes.axis_name or _DEFAULT)
    mesh = OnMesh(device_mesh(wishes, axis, spelling), axis)
    if not every:
        if wishes.strategy == "fsdp":
            raise Obstacle("no-state", f'no loop passes "{callee.name}" a state that could be split')
        if function is None or not function.body:
            raise Obstacle("no-calls", f'no call to "{callee.name}" that passes a batch was found in this project')
        return _in_body(view, function, spelling, mesh, wishes)
    above: tuple[FileEdit, ...] = ()
    static: tuple[str, ...] = ()
    jit = jitting(view, function, every) if callee.target is not None and function is not None else None
    if jit is not None and function is not None:
        above, static = (compiled(view, function, jit, spelling),), jit.static
    called, made = mesh_helper(view, spelling, mesh)
    shard, helper = "", _NONE
    copied = {place: tuple(_copied(place, static)) for place in places}
    replicate, more = _state_helper(view, spelling, mesh, called, wishes) if any(copied.values()) else ("", _NONE)
    if wishes.strategy == "fsdp" and not replicate:
        raise Obstacle("no-state", f'no loop passes "{callee.name}" a state that could be split')
    axes = _axes(view, function, every, wishes)
    along, another = axis_helper(view, spelling, mesh, called) if any(axes.values()) else ("", _NONE)
    if not all(axes.get(one.name, 0) for _, given in every for one in given if one.role == "batch"):
        shard, helper = batch_helper(view, spelling, mesh, called)
    written: list[FileEdit] = []
    is_split = False
    for place in places:
        used = sorted({shard, along, replicate if copied[place] else ""} - {""})
        names = dict(zip(used, used, strict=True))
        imports: tuple[FileEdit, ...] = ()
        if place.elsewhere is not None:
            names, imports = spelled_elsewhere(place.elsewhere, used)
        wrapped = [
            edit
            for call, given in place.calls
            for edit in _sharded(
                place.view, call, given, _Split(names.get(shard, ""), names.get(along, ""), axes, static)
            )
        ]
        is_split = is_split or bool(wrapped)
        if place.elsewhere is not None and not wrapped:
            continue
        here = spelling if place.elsewhere is None else Spelling(place.view)
        lines = list(placing_lines(place.view, list(copied[place]), names.get(replicate, ""), here))
        if place.elsewhere is not None:
            written += import_edits(place.view, here.needed)
        written += [*imports, *lines, *wrapped]
    if not is_split:
        raise Obstacle("already-split", f'the calls to "{callee.name}" already place their data on devices')
    return in_order((*import_edits(view, spelling.needed), *made, *helper, *another, *more, *above, *written))


def _state_helper(view: FileView, spelling: Spelling, mesh: OnMesh, called: str, wishes: Wishes) -> Helper:
    if wishes.strategy == "fsdp":
        return state_helper(view, spelling, mesh, called)
    return copy_helper(view, spelling, called)


def _axes(view: FileView, function: Target | None, calls: _Calls, wishes: Wishes) -> dict[str, int]:
    """Returns the row axis of batch arguments, by name; arguments not listed have their rows along the first axis."""
    if wishes.batch:
        return dict(wishes.batch)
    if function is None or any(call.is_vmapped for call, _ in calls):
        return {}
    return dict.fromkeys(traced(view, function, ()).scanned, 1)


def _with_roles(view: FileView, callee: Callee, calls: Iterable[HostCall], wishes: Wishes) -> _Calls:
    found = tuple((call, read_roles(view, callee, call, wishes.batch)) for call in calls)
    return tuple(one for one in found if one[1])


def _elsewhere(view: FileView, callee: Callee, wishes: Wishes) -> Iterator[_Place]:
    for place in called_elsewhere(view, callee):
        calls = _with_roles(view, callee, place.calls, wishes)
        if calls:
            yield _Place(place.view, calls, place)


def _start(view: FileView, function: Target | None) -> int:
    return view.span(function.at(function.node.site)).start if function is not None else 0


def _must_be_possible(view: FileView, function: Target | None) -> None:
    must_run_as_one_process(view)
    if function is None:
        return
    for decorator in function.node.function.decorators:
        if isinstance(decorator, Call) and any(label in _SHARDED for label, _, _ in decorator.arguments):
            raise Obstacle("already-sharded", f'"{function.name}" already sets the sharding of its arguments')


def _must_have_arguments(function: Target | None, wishes: Wishes) -> None:
    known = {parameter.name for parameter in function.parameters} if function is not None else set()
    wrong = next((name for name, _ in wishes.batch if function is not None and name not in known), None)
    if wrong is not None and function is not None:
        raise Obstacle("no-such-argument", f'"{function.name}" has no argument "{wrong}"')


def _must_compile(view: FileView, callee: Callee, function: Target | None, calls: _Calls) -> None:
    is_mapped = any(call.is_vmapped for call, _ in calls) and function is not None
    roots: list[Node] = [function.node] if function is not None else []
    above = parent_of(view, callee.site)
    roots += [above.value] if callee.target is None and isinstance(above, Assign) else []
    if roots and may_convolve(view) and any(takes_gradients_by_row(view, one, is_mapped=is_mapped) for one in roots):
        message = f'"{callee.name}" computes per-example gradients, which XLA miscompiles for convolutions'
        raise Obstacle("gradients-by-row", f"{message} over split rows; use shard_map")


def _in_body(
    view: FileView, function: Target, spelling: Spelling, mesh: OnMesh, wishes: Wishes
) -> tuple[FileEdit, ...]:
    """Returns the edits that split a function's batch arguments, or the batches that it creates, in its body.

    Raises:
        Obstacle: nothing in the function is certainly a batch.
    """
    if any(axis for _, axis in wishes.batch):
        raise Obstacle(
            "batch-axis", f'only compiled code calls "{function.name}", so its batch can only be split along axis 0'
        )
    names = tuple(name for name, _ in wishes.batch) or batch_parameters(view, function)
    made_inside = () if names else batches_made(view, function)
    if not names and not made_inside:
        if function.parameters:
            raise Obstacle("which-batch", f'it is unknown which argument of "{function.name}" holds the batch')
        raise Obstacle("nothing-to-split", f'"{function.name}" has no arguments, and no batch was found in its body')
    called, made = mesh_helper(view, spelling, mesh)
    split, helper = traced_batch_helper(view, spelling, mesh, called)
    inside = [edit for site in made_inside for edit in enclosing(view, view.span(site), split)]
    if names:
        inside.append(_first_line(view, function, ", ".join(names), split))
    return in_order((*import_edits(view, spelling.needed), *made, *helper, *inside))


def _first_line(view: FileView, function: Target, names: str, split: str) -> FileEdit:
    body = [
        node
        for node in function.body
        if not (isinstance(node, ExpressionStatement) and isinstance(node.value, Constant))
    ]
    start = view.span(function.at(body[0].site)).start if body else 0
    if not body or view.source[view.source.rfind(b"\n", 0, start) + 1 : start].strip():
        raise Obstacle(
            "no-place", f'the body of "{function.name}" does not begin on its own line; move it to the next line'
        )
    given = f"({names})" if "," in names else names
    return lines_before(view, body[0], start, [f"{names} = {split}({given})"])


def _sharded(view: FileView, call: HostCall, given: tuple[Given, ...], split: _Split) -> list[FileEdit]:
    """Returns the edits that split the batch in a call, reformatting it if its line gets too long."""
    edits = list(_wrapped(view, call, given, split))
    span, text = view.span(call.site), view.text(call.site)
    indent, taken = around(view, span)
    grown = taken + len(text) + sum(len(one.edit.text) for one in edits)
    callee = view.text(Site(call.site.path, call.site.block, call.node.callee.site))
    if not edits or grown <= width_of(view) or "\n" in text or text.count(callee) > 1:
        return edits
    sites = (Site(call.site.path, call.site.block, one.site) for one in call.node.arguments)
    arguments = (apply_within(view, view.span(site), edits) for site in sites)
    laid_out = call_text(CallToWrite(callee, tuple(arguments)), indent, width_of(view), taken)
    return [FileEdit(view.path, Edit(span, laid_out))]


def _wrapped(view: FileView, call: HostCall, given: tuple[Given, ...], split: _Split) -> Iterable[FileEdit]:
    for one in given:
        if one.role != "batch" or one.name in split.static or _places_data(view, one.node, (split.rows, split.along)):
            continue
        axis = split.axes.get(one.name, 0)
        span = view.span(Site(call.site.path, call.site.block, one.node.site))
        if axis:
            yield from wrapping(view, span, f"{split.along}(", f", {axis})")
        else:
            yield from enclosing(view, span, split.rows)


def _places_data(view: FileView, node: Node, helpers: tuple[str, ...]) -> bool:
    return isinstance(node, Call) and (last_name(node.callee) in helpers or dotted_name(view, node.callee) in _PLACES)


def _copied(place: _Place, static: tuple[str, ...]) -> Iterator[tuple[int, str, bool]]:
    for call, given in place.calls:
        yield from carried_state(place.view, call, tuple(one for one in given if one.name not in static))
