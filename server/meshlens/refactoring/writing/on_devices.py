"""Decorators that run a function on all devices without changing its calls, added once per file.

Each is assembled from the lines that the decorated functions need, depending on sums over devices, static arguments,
and libraries that accept more than arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.project.view import FileView
from meshlens.refactoring.reading.jit import Library
from meshlens.refactoring.reading.modules import Care
from meshlens.refactoring.writing.helpers import with_helper
from meshlens.refactoring.writing.sharding import Helper, OnMesh, tree_leaves
from meshlens.refactoring.writing.spelling import Spelling

MAPS: dict[Library, tuple[str, str]] = {
    "jax": ("jax", "pmap"),
    "equinox": ("equinox", "filter_pmap"),
    "nnx": ("flax.nnx", "pmap"),
}
"""The map of each library, as module and name."""
_JITS: dict[Library, tuple[str, str]] = {
    "jax": ("jax", "jit"),
    "equinox": ("equinox", "filter_jit"),
    "nnx": ("flax.nnx", "jit"),
}
_VMAPS: dict[Library, tuple[str, str]] = {
    "jax": ("jax", "vmap"),
    "equinox": ("jax", "vmap"),
    "nnx": ("flax.nnx", "vmap"),
}

_BY_PMAP = '''\
def {name}(in_axes, out_axes, {options}):
    """Runs a function on all devices and merges the rows of its results."""

    def decorate(function):
        @{cache}
        def mapped(count):
{mapped}

        @{wraps}(function)
        def run(*args, **kwargs):
            bound = {signature}(function).bind(*args, **kwargs)
            if bound.kwargs:
                bound.apply_defaults()
            args = bound.args
            pairs = list(zip(args, in_axes[: len(args)], strict=True))
            batch = [arg for arg, axis in pairs if axis == 0]
            blocks = iter({shard}(batch))
            args = [next(blocks) if axis == 0 else arg for arg, axis in pairs]
            result = mapped(len(args))(*args)

            def whole(axis, x):
                return {merge}(x, batch) if axis == 0 else x

            return {tree_map}(whole, out_axes, result, is_leaf=lambda axis: axis is None)

        return run

    return decorate'''
_MAPPED = "            return {pmap}(function, in_axes=in_axes[:count], out_axes=out_axes, **options)"
_MAPPED_WITH_STATIC = """\
            static = [place for place in static_broadcasted_argnums if place < count]
            axes = {{"in_axes": in_axes[:count], "out_axes": out_axes}}
            return {pmap}(function, static_broadcasted_argnums=static, **axes, **options)"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requirements on a decorator.

    Attributes:
        library: the library of the replaced `jit`.
        sums: whether the function sums over devices, and so would count copied rows once for each device.
        static: whether it has arguments that are not arrays and have no spec.
        by_name: whether calls may pass arguments by name.
    """

    library: Library = "jax"
    sums: bool = False
    static: bool = False
    by_name: bool = False


def pmap_helper(
    view: FileView, spelling: Spelling, library: Library, shard: str, merge: str, *, may_leave_out: bool = False
) -> Helper:
    """Returns the decorator that maps a function with `pmap` without changing its calls.

    Args:
        view: the file.
        spelling: spells the names.
        library: the library of the replaced `jit`.
        shard: the function that splits a batch.
        merge: the function that merges rows.
        may_leave_out: whether calls may leave out static arguments, which pmap does not allow.
    """
    return with_helper(
        view,
        "on_all_devices",
        _BY_PMAP.replace("{mapped}", _MAPPED_WITH_STATIC if may_leave_out else _MAPPED),
        spelling.at,
        cache=spelling.of("functools", "cache"),
        options="static_broadcasted_argnums, **options" if may_leave_out else "**options",
        pmap=spelling.of(*MAPS[library]),
        wraps=spelling.of("functools", "wraps"),
        signature=spelling.of("inspect", "signature"),
        tree_map=spelling.tree_map(),
        shard=shard,
        merge=merge,
    )


def each_device(view: FileView, spelling: Spelling, care: Care, axis: str) -> Helper:
    """Returns a call to the decorator that makes a function's modules work over all devices while the function runs.

    Args:
        view: the file.
        spelling: spells the names.
        care: the modules' requirements; without any, no decorator is needed.
        axis: the source of the axis name.
    """
    if not (care.joins or care.draws):
        return "", ()
    names = {"wraps": spelling.of("functools", "wraps")}
    names |= {one: spelling.of("flax.nnx", one) for one in ("Module", "iter_graph")}
    if care.joins:
        names["BatchNorm"] = spelling.of("flax.nnx", "BatchNorm")
    if care.draws:
        names |= {"RngStream": spelling.of("flax.nnx", "RngStream"), "fold_in": spelling.of("jax", "random.fold_in")}
        names["axis_index"] = spelling.of("jax", "lax.axis_index")
    name, edits = with_helper(view, "on_each_device", _each_device(care), spelling.at, **names)
    return f"{name}({axis})", edits


def _each_device(care: Care) -> str:
    """Returns the source of the decorator."""
    does = {
        (True, False): "Makes BatchNorm average over all devices while a function runs.",
        (False, True): "Gives each device its own random streams while a function runs.",
        (True, True): "Makes BatchNorm average over all devices, each with its own random streams.",
    }[care.joins, care.draws]
    lines = [
        "def {name}(axis_name):",
        f'    """{does}"""',
        "",
        "    def decorate(function):",
        "        @{wraps}(function)",
        "        def run(*args):",
        "            modules = [arg for arg in args if isinstance(arg, {Module})]",
        "            nodes = [node for one in modules for _, node in {iter_graph}(one)]",
    ]
    if care.joins:
        lines += [
            "            norms = [node for node in nodes if isinstance(node, {BatchNorm})]",
            "            names = [norm.axis_name for norm in norms]",
            "            for norm in norms:",
            "                norm.axis_name = axis_name",
        ]
    if care.draws:
        lines += [
            "            streams = [node for node in nodes if isinstance(node, {RngStream})]",
            "            keys = [stream.key[...] for stream in streams]",
            "            for stream, key in zip(streams, keys, strict=True):",
            "                stream.key[...] = {fold_in}(key, {axis_index}(axis_name))",
        ]
    lines.append("            result = function(*args)")
    if care.joins:
        lines += [
            "            for norm, name in zip(norms, names, strict=True):",
            "                norm.axis_name = name",
        ]
    if care.draws:
        lines += [
            "            for stream, key in zip(streams, keys, strict=True):",
            "                stream.key[...] = key",
        ]
    return "\n".join([*lines, "            return result", "", "        return run", "", "    return decorate"])


def shard_map_helper(view: FileView, spelling: Spelling, mesh: OnMesh, called: str, wanted: Wanted) -> Helper:
    """Returns the decorator that maps a function with `shard_map` on the mesh that `called` returns.

    The mesh is created, and the function compiled, at the first call.

    Args:
        view: the file.
        spelling: spells the names.
        mesh: the mesh.
        called: the function that returns it.
        wanted: the requirements on the decorator.
    """
    spec = spelling.spec()
    names = {
        "wraps": spelling.of("functools", "wraps"),
        "jit": spelling.of(*_JITS[wanted.library]),
        "shard_map": spelling.of("flax.nnx", "shard_map") if wanted.library == "nnx" else spelling.shard_map(),
        "unchecked": spelling.unchecked(wanted.library),
        "mesh": called,
        "spec": spec,
        "axis": mesh.axis,
        "leaves": tree_leaves(spelling),
    }
    if wanted.by_name:
        names["signature"] = spelling.of("inspect", "signature")
    if wanted.sums:
        names["vmap"] = spelling.of(*_VMAPS[wanted.library])
        names["tree_map"] = spelling.tree_map()
    if wanted.library == "equinox":
        names |= {one: spelling.of("equinox", one) for one in ("partition", "combine", "is_array")}
    return with_helper(view, "on_all_devices", _by_shard_map(wanted), spelling.at, **names)


def _by_shard_map(wanted: Wanted) -> str:
    """Returns the source of the decorator."""
    rest = "stay whole" if wanted.sums else "are copied to all"
    lines = [
        "def {name}(in_specs, out_specs, **options):",
        f'    """Runs a function on all devices; rows that do not divide evenly {rest}."""',
        "",
        "    def decorate(function):",
        "        @{wraps}(function)",
        f"        def run(*args{', **kwargs' * wanted.by_name}):",
        *_read(wanted),
        "            pairs = zip(args, specs, strict=True)",
        "            batch = [arg for arg, spec in pairs if spec != {spec}()]",
        "            rows = {{x.shape[0] for x in {leaves}(batch)}}",
        "            if len(rows) > 1:",
        '                raise ValueError(f"the arrays of one batch have different numbers of rows: {{sorted(rows)}}")',
        "            divides = all(count % {mesh}().shape[{axis}] == 0 for count in rows)",
        *_called(wanted),
        "",
        "        return {jit}(run, **options)",
        "",
        "    return decorate",
    ]
    return "\n".join(lines)


def _read(wanted: Wanted) -> list[str]:
    """Returns the lines that read the arguments: `args` (arrays), `specs`, and `local`, which runs on each device."""
    lines = []
    if wanted.by_name:
        lines += [
            "            bound = {signature}(function).bind(*args, **kwargs)",
            "            if bound.kwargs:",
            "                bound.apply_defaults()",
            "            args = bound.args",
        ]
    if wanted.library == "equinox":
        return [
            *lines,
            "            specs = in_specs[: len(args)]",
            "            args, static = {partition}(args, {is_array})",
            "            kept = []",
            "",
            "            def local(*args):",
            "                result, rest = {partition}(function(*{combine}(args, static)), {is_array})",
            "                kept.append(rest)",
            "                return result",
            "",
        ]
    if wanted.static:
        return [
            *lines,
            "            given = list(zip(args, in_specs[: len(args)], strict=True))",
            "            args, specs = zip(*(one for one in given if one[1] is not None), strict=True)",
            "",
            "            def local(*args):",
            "                arrays = iter(args)",
            "                every = [x if spec is None else next(arrays) for x, spec in given]",
            "                return function(*every)",
            "",
        ]
    return [*lines, "            specs = in_specs[: len(args)]"]


def _called(wanted: Wanted) -> list[str]:
    """Returns the lines that call the mapped function."""
    function = "local" if wanted.library == "equinox" or wanted.static else "function"
    before, after = ("{combine}(", ", kept[-1])") if wanted.library == "equinox" else ("", "")
    mapped = [
        "            mapped = {shard_map}(",
        f"                {function},",
        "                mesh={mesh}(),",
        "                in_specs=specs,",
        f"                out_specs={'out_specs' if wanted.sums else 'out'},",
        "                {unchecked},",
        "            )",
        f"            return {before}mapped(*args){after}",
    ]
    if not wanted.sums:
        return ["            specs, out = (specs, out_specs) if divides else ({spec}(), {spec}())", *mapped]
    return [
        "            if not divides:",
        "                # Bind the same axis name with size 1, so that sums over it change nothing.",
        "                alone = {vmap}(",
        f"                    {function},",
        "                    in_axes=None,",
        "                    axis_name={axis},",
        "                    axis_size=1,",
        "                )",
        f"                return {before}{{tree_map}}(lambda x: x[0], alone(*args)){after}",
        *mapped,
    ]
