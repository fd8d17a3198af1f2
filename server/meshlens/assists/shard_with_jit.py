"""A function keeps its definition, and its calls hand over data that is split over all devices.

`jit` compiles what it is given for the devices that hold it, and adds the collectives by itself, so the numbers, random
draws included, are those of one device up to the order of the sums.
The rows of a batch are split over a mesh, an array that does not divide is copied, and state that a loop carries is
copied to all devices before it.
No import starts the backend: the mesh is made when data is first placed.
A function that only compiled code calls gets the split in its body.
One that nothing compiles yet gets `@jax.jit`, or `nnx.jit` or `eqx.filter_jit` if it takes their objects, with the
switches, words and functions among its arguments as static ones; it is refused if `jit` cannot trace it.

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
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


@functools.cache
def device_mesh():
    \"\"\"Returns the mesh of all devices, made when it is first used.\"\"\"
    return Mesh(np.array(jax.devices()), ("data",))


def shard_batch(tree):
    \"\"\"Splits the rows of every array over the devices; an array that does not divide is copied to each.\"\"\"
    mesh = device_mesh()

    def place(x):
        if not isinstance(x, (jax.Array, np.ndarray)):
            return x
        divides = x.ndim > 0 and x.shape[0] % mesh.shape["data"] == 0
        return jax.device_put(x, NamedSharding(mesh, P("data") if divides else P()))

    return jax.tree.map(place, tree)


def replicate(tree):
    \"\"\"Copies every array to all devices.\"\"\"
    sharding = NamedSharding(device_mesh(), P())
    return jax.tree.map(lambda x: jax.device_put(x, sharding) if isinstance(x, (jax.Array, np.ndarray)) else x, tree)


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
from dataclasses import dataclass

from meshlens.assists._devices import device_mesh
from meshlens.assists._elsewhere import Elsewhere, called_elsewhere, spelled_elsewhere
from meshlens.assists._functions import Target, dotted_name, function_at, maps_around, reached
from meshlens.assists._graph_objects import is_graph_object
from meshlens.assists._host_calls import Callee, HostCall, callee_at, host_calls
from meshlens.assists._jitting import compiled, jitting
from meshlens.assists._model import Answer, Wishes
from meshlens.assists._offering import offered
from meshlens.assists._pmap import Obstacle
from meshlens.assists._roles import Given, batch_parameters, batches_made, read_roles, underlying
from meshlens.assists._sharding import OnMesh, batch_helper, copy_helper, mesh_helper, traced_batch_helper
from meshlens.assists._spelling import Spelling
from meshlens.assists._writing import around, in_order, quoted, width_of, wrapping
from meshlens.axes.values import Site
from meshlens.project.new_imports import import_edits
from meshlens.project.trees import Node, names_bound, path_to, walk
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_TITLE = "parallelize with jit and sharding"
_DEFAULT = "data"
_PLACES = frozenset({"jax.device_put", "jax.device_put_sharded", "jax.make_array_from_process_local_data"})
_GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad", "jax.jacrev", "jax.jacfwd", "jax.jacobian"})
_SHARDED = frozenset({"in_shardings", "in_axis_resources"})


_Calls = tuple[tuple[HostCall, tuple[Given, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A file that calls the function.

    Attributes:
        view: the file.
        calls: its calls, with what each argument holds.
        elsewhere: how it names what stands beside the function; None for the file of the function.
    """

    view: FileView
    calls: _Calls
    elsewhere: Elsewhere | None


def shard_with_jit(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers it on a function that no map over devices runs, and on a variable that holds what `jit` made of one."""
    callee = callee_at(view, span)
    target = None if callee is not None else function_at(view, span)
    if target is not None:
        callee = Callee(target.name, target.site, target)
    if callee is None:
        return None
    function = underlying(view, callee)
    if function is not None and maps_around(view, function):
        return None
    return offered(_TITLE, lambda: _written(view, callee, function, wishes))


def _written(view: FileView, callee: Callee, function: Target | None, wishes: Wishes) -> tuple[FileEdit, ...]:
    _must_be_possible(view, function)
    places = (_Place(view, _with_roles(view, callee, host_calls(view, callee)), None), *_elsewhere(view, callee))
    every = tuple(one for place in places for one in place.calls)
    first = min((view.span(call.site).start for call, _ in places[0].calls), default=_start(view, function))
    spelling = Spelling(view, min(first, _start(view, function) or first))
    axis = quoted(view, wishes.axis_name or _DEFAULT)
    mesh = OnMesh(device_mesh(wishes, axis, spelling), axis)
    if not every:
        if function is None or not function.body:
            raise Obstacle("no-calls", f'no call of "{callee.name}" that hands over a batch is seen in this project')
        return _in_body(view, function, spelling, mesh)
    above: tuple[FileEdit, ...] = ()
    static: tuple[str, ...] = ()
    jit = jitting(view, function, every) if callee.target is not None and function is not None else None
    if jit is not None and function is not None:
        above, static = (compiled(view, function, jit, spelling),), jit.static
    called, made = mesh_helper(view, spelling, mesh)
    shard, helper = batch_helper(view, spelling, mesh, called)
    copied = {place: tuple(_copied(place, static)) for place in places}
    replicate, more = copy_helper(view, spelling, called) if any(copied.values()) else ("", ())
    written: list[FileEdit] = []
    is_split = False
    for place in places:
        names = {shard: shard, replicate: replicate}
        imports: tuple[FileEdit, ...] = ()
        if place.elsewhere is not None:
            used = sorted({shard, replicate if copied[place] else shard})
            names, imports = spelled_elsewhere(place.elsewhere, used)
        wrapped = [
            edit for call, given in place.calls for edit in _sharded(place.view, call, given, names[shard], static)
        ]
        is_split = is_split or bool(wrapped)
        if place.elsewhere is not None and not wrapped:
            continue
        here = spelling if place.elsewhere is None else Spelling(place.view)
        lines = list(_lines(place.view, list(copied[place]), names.get(replicate, ""), here))
        if place.elsewhere is not None:
            written += import_edits(place.view, here.needed)
        written += [*imports, *lines, *wrapped]
    if not is_split:
        raise Obstacle("already-split", f'the calls of "{callee.name}" place their data already')
    return in_order((*import_edits(view, spelling.needed), *made, *helper, *more, *above, *written))


def _with_roles(view: FileView, callee: Callee, calls: Iterable[HostCall]) -> _Calls:
    found = tuple((call, read_roles(view, callee, call)) for call in calls)
    return tuple(one for one in found if one[1])


def _elsewhere(view: FileView, callee: Callee) -> Iterator[_Place]:
    for place in called_elsewhere(view, callee):
        calls = _with_roles(view, callee, place.calls)
        if calls:
            yield _Place(place.view, calls, place)


def _start(view: FileView, function: Target | None) -> int:
    return view.span(function.at(function.node[1])).start if function is not None else 0


def _must_be_possible(view: FileView, function: Target | None) -> None:
    if b"distributed.initialize" in view.source:
        message = "this program joins several processes, and each would have to place its own part of the data"
        raise Obstacle("several-processes", message)
    if function is None:
        return
    for decorator in function.node[2][3]:
        if decorator[0] == "call" and any(label in _SHARDED for label, _, _ in decorator[3]):
            raise Obstacle("already-sharded", f'"{function.name}" says where its arguments lie already')
    if b"conv" in view.source.lower() and _takes_gradients_by_row(view, function):
        message = f'"{function.name}" takes gradients example by example, which XLA miscompiles for convolutions'
        raise Obstacle("gradients-by-row", f"{message} over split rows; use shard_map")


def _takes_gradients_by_row(view: FileView, function: Target) -> bool:
    """Returns whether a function maps what takes gradients, as differentially private training does."""
    inside = [node for root in reached(view, function) for node in walk(root) if node[0] == "call"]
    dotted = {dotted_name(view, node[2]) for node in inside}
    return "jax.vmap" in dotted and not dotted.isdisjoint(_GRADIENTS)


def _in_body(view: FileView, function: Target, spelling: Spelling, mesh: OnMesh) -> tuple[FileEdit, ...]:
    """Returns edits after which the body of a function splits its batch itself, or the batches that it makes.

    Raises:
        Obstacle: nothing in it is known to be a batch.
    """
    names = batch_parameters(view, function)
    made_inside = () if names else batches_made(view, function)
    if not names and not made_inside:
        raise Obstacle("nothing-to-split", f'nothing in "{function.name}" is known to be a batch')
    called, made = mesh_helper(view, spelling, mesh)
    split, helper = traced_batch_helper(view, spelling, mesh, called)
    inside = [edit for site in made_inside for edit in wrapping(view, view.span(site), f"{split}(", ")")]
    if names:
        inside.append(_first_line(view, function, ", ".join(names), split))
    return in_order((*import_edits(view, spelling.needed), *made, *helper, *inside))


def _first_line(view: FileView, function: Target, names: str, split: str) -> FileEdit:
    body = [node for node in function.body if not (node[0] == "expr" and node[2][0] == "const")]
    start = view.span(function.at(body[0][1])).start if body else 0
    if not body or view.source[view.source.rfind(b"\n", 0, start) + 1 : start].strip():
        raise Obstacle("no-place", f'the body of "{function.name}" has no line of its own')
    indent, _ = around(view, Span(start, start))
    given = f"({names})" if "," in names else names
    return FileEdit(view.path, Edit(Span(start, start), f"{names} = {split}({given})\n{indent}"))


def _sharded(
    view: FileView, call: HostCall, given: tuple[Given, ...], shard: str, static: tuple[str, ...]
) -> Iterable[FileEdit]:
    for one in given:
        if one.role == "batch" and one.name not in static and not _places_data(view, one.node, shard):
            span = view.span(Site(call.site.path, call.site.block, one.node[1]))
            yield from wrapping(view, span, f"{shard}(", ")")


def _places_data(view: FileView, node: Node, shard: str) -> bool:
    return node[0] == "call" and (node[2][-1] == shard or dotted_name(view, node[2]) in _PLACES)


def _copied(place: _Place, static: tuple[str, ...]) -> Iterator[tuple[int, str, bool]]:
    for call, given in place.calls:
        yield from _copied_for(place.view, call, tuple(one for one in given if one.name not in static))


def _copied_for(view: FileView, call: HostCall, given: tuple[Given, ...]) -> list[tuple[int, str, bool]]:
    """Returns which variables are to be copied to all devices, and where: before the outermost loop around a call.

    Each comes with whether it is an object of flax.nnx, which keeps its identity.
    """
    path = path_to(view, call.site)
    inner = next((place for place in range(len(path) - 1, -1, -1) if path[place][0] in ("fn", "lambda")), -1)
    loop = next((node for node in path[inner + 1 :] if node[0] in ("for", "while")), None)
    if loop is None or (inner >= 0 and path[inner][0] == "lambda"):
        return []
    start = view.span(Site(call.site.path, call.site.block, loop[1])).start
    if view.source[view.source.rfind(b"\n", 0, start) + 1 : start].strip():
        return []
    bound = _bound_before(view, path, inner, start)
    found = []
    for one in given:
        if one.role != "state" or one.node[0] != "name" or one.node[2] not in bound:
            continue
        is_graph = is_graph_object(view, call, one.node[2])
        if not _is_made_in(loop, one.node[2], call) and (is_graph or b"nnx" not in view.source):
            found.append((start, str(one.node[2]), is_graph))
    return found


def _bound_before(view: FileView, path: tuple[Node, ...], inner: int, start: int) -> set[str]:
    """Returns the names that certainly have a value before a loop, of the function that runs it or of the top level."""
    if inner >= 0:
        function = path[inner][2]
        parameters = {parameter[0] for parameter in function[2]}
        return parameters | names_bound(node for node in function[4] if not any(node is one for one in path))
    blocks = (view.facts.blocks[key] for key in view.facts.top)
    return names_bound(
        block.shape for block in blocks if block.span(0).end <= start and block.shape[0] in ("assign", "ann", "with")
    )


def _is_made_in(loop: Node, name: str, call: HostCall) -> bool:
    """Returns whether a loop gives a variable a value in another way than by this call."""
    return any(
        name in names_bound([node])
        and not any(inner is call.node for inner in walk(node))
        and node[0] in ("assign", "ann", "aug", "with", "walrus", "for")
        for node in walk(loop)
        if node is not loop or name in names_bound([("for", loop[1], loop[2], ("const", 0, None), (), ())])
    )


def _lines(
    view: FileView, copied: list[tuple[int, str, bool]], replicate: str, spelling: Spelling
) -> Iterable[FileEdit]:
    places: dict[int, dict[str, bool]] = {}
    for at, name, is_graph in copied:
        places.setdefault(at, {})[name] = is_graph
    for at, names in places.items():
        indent, _ = around(view, Span(at, at))
        plain = [name for name, is_graph in names.items() if not is_graph]
        joined = ", ".join(plain)
        lines = [f"{joined} = {replicate}({f'({joined})' if len(plain) > 1 else joined})"] if plain else []
        if lines and len(indent) + len(lines[0]) > width_of(view):
            lines = [f"{name} = {replicate}({name})" for name in plain]
        if len(plain) < len(names):
            update, state = (spelling.of("flax.nnx", name) for name in ("update", "state"))
            lines += [f"{update}({name}, {replicate}({state}({name})))" for name in names if names[name]]
        yield FileEdit(view.path, Edit(Span(at, at), "".join(f"{line}\n{indent}" for line in lines)))
