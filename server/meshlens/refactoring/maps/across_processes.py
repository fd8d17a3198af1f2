"""The calls to a map over the devices of several processes: the arguments to split, and the results to gather."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Const, Seq, Site, Spec, Value
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.facts.nodes import NOTHING, Attribute, Call, Name
from meshlens.project.trees import Node, names_bound, names_used, path_to, walk
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle, read_pmap
from meshlens.refactoring.maps.prefix import Items, Prefix
from meshlens.refactoring.reading.assigned import results_of
from meshlens.refactoring.reading.functions import functions

_PLACED = re.compile(
    rb"\b(?:local_devices|device_put(?:_replicated|_sharded)?|replicate|process_index|process_count|addressable_shards"
    rb"|make_array_from_\w+|host_local_array_to_global_array)\s*\(|\bdevices\(\)\["
)
_UNSEEDED = re.compile(rb"\bdefault_rng\(\)|\b(?:np|numpy)\.random\.(?!seed|default_rng|Generator|RandomState)\w+\(")


@dataclass(frozen=True, slots=True)
class Split:
    """A call's argument whose rows are split over devices.

    Attributes:
        value: its expression.
        spec: the entries of its spec as written; None for a pmap.
        mesh: the name of the mesh; "" for a pmap.
    """

    value: Site
    spec: str | None = None
    mesh: str = ""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A call to a map over the devices of several processes.

    Attributes:
        call: the site of the call.
        split: the arguments to pass as arrays that span all processes.
        is_gathered: whether to gather the result, because it is split over devices and each process has only a part.
    """

    call: Site
    split: tuple[Split, ...]
    is_gathered: bool


def must_be_laid_out_plainly(view: FileView) -> None:
    """Checks that a file leaves array placement to its maps, and draws the same random numbers in every process.

    Raises:
        Obstacle: the file does otherwise.
    """
    found = _PLACED.search(view.source)
    if found is not None:
        line = view.lines.line_of(found.start()) + 1
        raise Obstacle(
            "placed-arrays",
            f"line {line} places arrays on devices itself, which works differently with several processes",
        )
    if _UNSEEDED.search(view.source) is not None and b"random.seed(" not in view.source:
        raise Obstacle("unseeded", "NumPy draws different random numbers in each process; seed its generator")


def crossings(view: FileView, binding: Binding) -> Iterator[Crossing]:
    """Yields the calls to a map, with the changes that each needs.

    Raises:
        Obstacle: the calls or changes are unknown.
    """
    calls = [one for one in view.records.calls_of_maps if one.binder.site == binding.binder.site]
    for call in calls:
        if not call.visible:
            continue
        if not view.is_here(call.call):
            where = f"the {binding.binder.kind} on line {_line(view, binding.binder.site)}"
            raise Obstacle("other-file", f"{where} is called from another file")
        if call.context.env.maps or any(step.how in ("jit", "run", "map", "grad") for step in call.context.route):
            raise Obstacle(
                "inside-jit", f"line {_line(view, call.call)} calls the {binding.binder.kind} in traced code"
            )
        if call.context.env.open:
            raise Obstacle("unseen-callers", f"line {_line(view, call.call)} may be run by unknown callers")
        if not call.exact:
            raise Obstacle("splat", f"a splat hides arguments on line {_line(view, call.call)}")
    seen: dict[Site, Crossing] = {}
    for call in (one for one in calls if one.visible):
        one = _pmapped(view, binding, call) if binding.binder.kind == "pmap" else _sharded(view, binding, call)
        if seen.setdefault(call.call, one) != one:
            raise Obstacle(
                "several-meanings", f"line {_line(view, call.call)} splits its data differently for different callers"
            )
    if not seen:
        where = f"the {binding.binder.kind} on line {_line(view, binding.binder.site)}"
        raise Obstacle("no-call", f"no call to {where} was found, so its arguments are unknown")
    _must_not_come_back(view, tuple(seen.values()))
    yield from seen.values()


def _pmapped(view: FileView, binding: Binding, call: MappedCall) -> Crossing:
    pmap = read_pmap(view, binding)
    if any(pmap.given(name) is not None for name in ("devices", "backend", "axis_size")):
        line = _line(view, binding.binder.site)
        raise Obstacle("devices", f"the pmap on line {line} sets devices, backend or axis_size; remove that argument")
    split = []
    for place, arg in enumerate(call.args):
        axes = pmap.in_axes
        if isinstance(axes, Items):
            axes = axes.items[place] if place < len(axes.items) else None
        axes = 0 if arg.label is not None else None if place in pmap.static else axes
        if axes not in (0, None) or arg.site is None:
            raise Obstacle(
                "in-axes", f"in_axes has an entry other than 0 or None for the call on line {_line(view, call.call)}"
            )
        if axes == 0:
            split.append(Split(_unsharded(view, arg.site)))
    return Crossing(call.call, tuple(split), _is_stacked(pmap.out_axes))


def _is_stacked(axes: Prefix) -> bool:
    found = set(axes.items) if isinstance(axes, Items) else {axes}
    if found == {None}:
        return False
    if found != {0}:
        raise Obstacle("out-axes", "out_axes must be 0 for all results or None for all results")
    return True


def _unsharded(view: FileView, value: Site) -> Site:
    """Returns an argument or, if it is a call that splits an operand over the local devices, that operand."""
    path = path_to(view, value)
    node = path[-1] if path else NOTHING
    counting = {one.name for one in functions(view) if _counts_devices(one.node)}
    if (
        isinstance(node, Call)
        and isinstance(node.callee, Name)
        and node.callee.name in counting
        and len(node.arguments) == 1
    ):
        return Site(value.path, value.block, node.arguments[0].value.site)
    if node and b"local_device_count" in view.source and not counting:
        raise Obstacle(
            "local-devices", f"the argument on line {_line(view, value)} may already hold only the rows of this process"
        )
    return value


def _counts_devices(node: Node) -> bool:
    return any(isinstance(inner, (Attribute, Name)) and inner.name == "local_device_count" for inner in walk(node))


def _sharded(view: FileView, binding: Binding, call: MappedCall) -> Crossing:
    arguments = dict(binding.binder.arguments)
    mesh = arguments.get("mesh")
    name = view.text(mesh.site) if mesh is not None and mesh.site is not None else ""
    if name not in names_bound(view.facts.statements):
        raise Obstacle("mesh", "the mesh of this shard_map is not a top-level variable")
    given = arguments.get("in_specs")
    if given is None or "out_specs" not in arguments:
        raise Obstacle("unknown-specs", "the specs of this shard_map are unknown")
    split = []
    for place, arg in enumerate(call.args):
        entries = _entries(_of(given.value, place))
        if entries and arg.site is not None:
            split.append(Split(arg.site, entries, name))
    return Crossing(call.call, tuple(split), any(map(bool, _every(arguments["out_specs"].value))))


def _of(specs: Value, place: int) -> Value:
    if isinstance(specs, Seq) and not specs.open and place < len(specs.items):
        return specs.items[place]
    return specs


def _entries(spec: Value) -> str:
    """Returns the entries of a spec as code; "" if the spec splits nothing."""
    if not isinstance(spec, Spec) or spec.open:
        raise Obstacle("unknown-specs", "the specs of this shard_map are unknown")
    texts = [_entry(entry) for entry in spec.entries]
    return ", ".join(texts) if any(text != "None" for text in texts) else ""


def _entry(value: Value) -> str:
    if isinstance(value, Const) and (value.value is None or isinstance(value.value, str)):
        return "None" if value.value is None else f'"{value.value}"'
    if isinstance(value, Seq) and not value.open:
        return f"({', '.join(map(_entry, value.items))},)"
    raise Obstacle("unknown-specs", "the specs of this shard_map are unknown")


def _every(specs: Value) -> Iterator[str]:
    if isinstance(specs, Seq):
        for item in specs.items:
            yield from _every(item)
    else:
        yield _entries(specs)


def _must_not_come_back(view: FileView, found: tuple[Crossing, ...]) -> None:
    """Checks that gathered results do not become arguments of the next step."""
    for one in found:
        if not one.is_gathered:
            continue
        results = results_of(view, one.call)
        for other in found:
            path = path_to(view, other.call)
            call = path[-1] if path else NOTHING
            given = call.arguments if isinstance(call, Call) else ()
            if any(names_used(value) & results for _, _, value in given):
                raise Obstacle(
                    "sharded-state", f"line {_line(view, other.call)} passes the rows of all devices back to the map"
                )


def _line(view: FileView, site: Site) -> int:
    return view.texts[site.path].count(b"\n", 0, view.span(site).start) + 1
