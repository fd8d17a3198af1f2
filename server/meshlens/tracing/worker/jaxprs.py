"""Reads a jaxpr: the values of the lines in the user's files, and explicit collectives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .places import Inside, rows_of

KINDS = {
    "psum": "all-reduce",
    "psum2": "all-reduce",
    "psum_invariant": "all-reduce",
    "pmax": "all-reduce",
    "pmin": "all-reduce",
    "pargmax": "all-reduce",
    "pargmin": "all-reduce",
    "all_gather": "all-gather",
    "all_gather_invariant": "all-gather",
    "all_gather_reduced": "all-gather",
    "pgather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "psum_scatter": "reduce-scatter",
    "unreduced_psum": "all-reduce",
    "unreduced_psum_scatter": "reduce-scatter",
    "unreduced_reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "ragged_all_to_all": "all-to-all",
    "ppermute": "collective-permute",
    "pbroadcast": "collective-broadcast",
}
"""Primitives that move data between devices, with XLA's names for them."""

_MOST_EQUATIONS = 500_000


class Reading:
    """The results of a walk through a jaxpr.

    Attributes:
        lines: by place, the type of the last value that each line passes to another line in the forward pass, because
            differentiation adds values that only the backward pass uses; for a line that passes nothing on, the type of
            its last value.
        handed_on: the numbers of the equations that compute these values.
        collectives: explicit collectives, or those that differentiation turns them into.
        rows: every user line that leads to an equation.
        equations: the number of equations, and how many of them are on a user's line.
        flops: operations of matrix products and convolutions, over all devices.
        unknown_loops: places of loops whose number of iterations depends on data.
        unequal_branches: places where communication or computation depends on the branch.
        kernels: places of Pallas kernels, whose operations are not counted.
        meshes: the axes of each mesh, by their text.
        first: the place of the first equation that runs a jaxpr, by the jaxpr's id.
        callers: the primitives that run a jaxpr.
    """

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self.lines: dict[tuple[str, int], Any] = {}
        self.collectives: list[dict[str, Any]] = []
        self.rows: set[tuple[str, int]] = set()
        self.equations = [0, 0]
        self.flops = 0.0
        self.unknown_loops: set[tuple[str, int]] = set()
        self.unequal_branches: set[tuple[str, int]] = set()
        self.kernels: set[tuple[str, int]] = set()
        self.meshes: dict[str, Any] = {}
        self.first: dict[int, tuple[str, int] | None] = {}
        self.callers: set[Any] = set()
        self.handed_on: dict[tuple[str, int], int] = {}
        self._transposed: dict[int, bool] = {}

    def hand_on(self, place: tuple[str, int], number: int, aval: Any) -> None:
        """Records that another line uses a line's value, or that the value is a result."""
        if number >= self.handed_on.get(place, -1):
            self.handed_on[place] = number
            self.lines[place] = aval

    def is_transposed(self, stack: Any) -> bool:
        """Returns whether a name stack belongs to the backward pass; cached, because equations share stacks."""
        found = self._transposed.get(id(stack))
        if found is None:
            found = self._transposed[id(stack)] = "transpose(" in str(stack)
        return found


class _Around:
    """The context of a jaxpr's equations: how often they run, the axis sizes, and the enclosing equation's line."""

    def __init__(
        self,
        times: int = 1,
        copies: int = 1,
        sizes: dict[str, int] | None = None,
        outer: tuple[str, int] | None = None,
        backward: bool = False,
        earlier: tuple[str, int] | None = None,
    ) -> None:
        self.times = times
        self.copies = copies
        self.sizes = sizes or {}
        self.outer = outer
        self.backward = backward
        self.earlier = earlier

    def but(self, **changes: Any) -> _Around:
        """Returns the context with the given changes."""
        return _Around(**{**vars(self), **changes})


def read(jaxpr: Any, inside: Inside) -> Reading:
    """Returns the results for a closed jaxpr."""
    reading = Reading(inside)
    _walk(getattr(jaxpr, "jaxpr", jaxpr), reading, _Around())
    return reading


def jitted_in(jaxpr: Any, text: str) -> list[str]:
    """Returns the names of the jitted functions that a closed jaxpr calls and that the text of a file defines."""
    calls = [equation for equation in jaxpr.jaxpr.eqns if equation.primitive.name in ("jit", "pjit")]
    defined = set(re.findall(r"^\s*def (\w+)\(", text, re.MULTILINE))
    return [name for name in dict.fromkeys(str(one.params.get("name")) for one in calls) if name in defined]


def _walk(jaxpr: Any, reading: Reading, around: _Around) -> None:
    made: dict[int, tuple[tuple[str, int], int, Any]] = {}
    for equation in jaxpr.eqns:
        reading.equations[0] += 1
        if reading.equations[0] > _MOST_EQUATIONS:
            return
        rows = rows_of(equation.source_info, reading.inside)
        # A cached jaxpr of a library's function has the line of an earlier call.
        place = rows[0] if rows and rows[0] != around.earlier else around.outer
        if place is not None:
            reading.equations[1] += 1
            reading.rows.update(rows or [place])
        name = equation.primitive.name
        inner = list(_inner(equation))
        backward = around.backward or reading.is_transposed(equation.source_info.name_stack)
        if place is not None and not backward:
            for variable in equation.invars:
                if (one := made.get(id(variable))) is not None and one[0] != place:
                    reading.hand_on(*one)
        if place is not None and not inner and not backward:
            _keep_line(equation, place, reading, made)
        if name in KINDS:
            _keep_collective(equation, place, reading, around)
        reading.flops += _flops(equation) * around.times * around.copies
        if inner:
            reading.callers.add(equation.primitive)
            deeper = _deeper(equation, name, place, reading, around.but(backward=backward))
            branches = []
            for jaxpr_inside in inner:
                before = len(reading.collectives), reading.flops
                first = reading.first.setdefault(id(jaxpr_inside), place)
                _walk(jaxpr_inside, reading, deeper.but(earlier=first if first != place else None))
                if name == "cond":
                    branches.append(_taken_out(reading, *before))
            if branches:
                _keep_largest(branches, place, reading)
            if place is not None and not backward:
                _keep_line(equation, place, reading, made)
    for variable in jaxpr.outvars:
        if (one := made.get(id(variable))) is not None:
            reading.hand_on(*one)


class _Branch:
    """The collectives and computation of one branch of a `cond`."""

    def __init__(self, collectives: list[dict[str, Any]], flops: float) -> None:
        self.collectives = collectives
        self.flops = flops
        self.size = sum(one["bytes"] * one["times"] for one in collectives), flops


def _taken_out(reading: Reading, collectives: int, flops: float) -> _Branch:
    """Removes the collectives and flops that were added to a reading after a point, and returns them."""
    branch = _Branch(reading.collectives[collectives:], reading.flops - flops)
    del reading.collectives[collectives:]
    reading.flops = flops
    return branch


def _keep_largest(branches: list[_Branch], place: tuple[str, int] | None, reading: Reading) -> None:
    """Keeps the branch that moves the most data or, if several do, the one that computes the most."""
    largest = max(branches, key=lambda branch: branch.size)
    reading.collectives += largest.collectives
    reading.flops += largest.flops
    if place is not None and any(branch.size != largest.size for branch in branches):
        reading.unequal_branches.add(place)


def _deeper(equation: Any, name: str, place: tuple[str, int] | None, reading: Reading, around: _Around) -> _Around:
    params = equation.params
    deeper = around.but(outer=place)
    if name == "scan":
        return deeper.but(times=around.times * int(params.get("length", 1)))
    if name == "while":
        if place is not None:
            reading.unknown_loops.add(place)
        return deeper
    if name == "shard_map":
        mesh = params.get("mesh")
        sizes = {str(axis): int(size) for axis, size in dict(mesh.shape).items()} if mesh is not None else {}
        keep_mesh(mesh, reading.meshes)
        manual = params.get("manual_axes") or (set(sizes) - set(map(str, params.get("auto") or ())))
        copies = around.copies
        for axis in manual:
            copies *= sizes.get(str(axis), 1)
        return deeper.but(sizes={**around.sizes, **sizes}, copies=copies)
    if name == "pallas_call":
        # A kernel's computation depends on its grid and the programs that run in it, which are not followed here.
        reading.kernels |= {place} if place is not None else set()
        return deeper.but(copies=0)
    if name == "xla_pmap":
        size = int(params.get("global_axis_size") or params.get("axis_size") or 1)
        axis = str(params.get("axis_name"))
        reading.meshes.setdefault(repr({axis: size}), {"axes": {axis: size}, "ids": []})
        return deeper.but(sizes={**around.sizes, axis: size}, copies=around.copies * size)
    return deeper


def keep_mesh(mesh: Any, meshes: dict[str, Any]) -> None:
    """Adds the axes of a mesh to the known meshes."""
    try:
        axes = {str(axis): int(size) for axis, size in dict(mesh.shape).items()}
    except (AttributeError, TypeError, ValueError):
        return
    if axes:
        meshes.setdefault(repr(axes), {"axes": axes, "ids": _ids(mesh)})


def _ids(mesh: Any) -> list[int]:
    try:
        return [int(device.id) for device in mesh.devices.flat]
    except (AttributeError, ValueError):
        return []


def _inner(equation: Any) -> Iterator[Any]:
    """Yields the jaxprs that an equation runs, without those of reductions and scatters, which combine two elements."""
    if equation.primitive.name.startswith(("reduce", "scatter", "select_and", "argm", "cum")):
        return
    for value in equation.params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(one, "jaxpr", one)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def _keep_line(
    equation: Any, place: tuple[str, int], reading: Reading, made: dict[int, tuple[tuple[str, int], int, Any]]
) -> None:
    if not equation.outvars:
        return
    aval = equation.outvars[0].aval
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return
    keep_sharding_meshes(equation, reading)
    made[id(equation.outvars[0])] = place, reading.equations[0], aval
    if place not in reading.handed_on:
        reading.lines[place] = aval


def written_type(aval: Any) -> dict[str, Any]:
    """Returns the type of a value in the form used in answers."""
    return {
        "dtype": str(aval.dtype),
        "shape": [size if isinstance(size, int) else str(size) for size in aval.shape],
        "varying": _varying(aval),
        "sharding": _explicit(aval),
    }


def _varying(aval: Any) -> list[str]:
    """Returns the axes that a value varies over: `vma` since JAX 0.6, a part of `mat` since JAX 0.10."""
    kept = getattr(getattr(aval, "mat", None), "varying", None) or getattr(aval, "vma", None)
    return sorted(map(str, kept or ()))


def keep_sharding_meshes(equation: Any, reading: Reading) -> None:
    """Adds the mesh of a sharding that an equation applies to a value."""
    sharding = equation.params.get("sharding")
    if sharding is not None:
        keep_mesh(getattr(sharding, "mesh", None), reading.meshes)


def _explicit(aval: Any) -> str | None:
    """Returns the spec in a value's type, if an axis of its mesh is explicit."""
    sharding = getattr(aval, "sharding", None)
    mesh = getattr(sharding, "mesh", None)
    types = [str(kind) for kind in getattr(mesh, "axis_types", None) or ()]
    if not any("Explicit" in kind for kind in types):
        return None
    return written_spec(getattr(sharding, "spec", ()))


def written_spec(spec: Any) -> str:
    """Returns a spec as users write it."""
    parts = [repr(part) if part is None or isinstance(part, str) else repr(tuple(map(str, part))) for part in spec]
    return f"P({', '.join(parts)})"


def _keep_collective(equation: Any, place: tuple[str, int] | None, reading: Reading, around: _Around) -> None:
    params = equation.params
    axes = params.get("axes", params.get("axis_name", ()))
    names = [str(axis) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,)) if not isinstance(axis, int)]
    size = 1
    for name in names:
        size *= around.sizes.get(name, 1)
    groups = params.get("axis_index_groups")
    if groups:
        size = len(groups[0])
    if size < 2:
        return
    for variable in equation.outvars:
        aval = variable.aval
        reading.collectives.append(
            {
                "place": place,
                "kind": KINDS[equation.primitive.name],
                "axes": names,
                "group_size": size,
                "bytes": int(aval.size) * _width(aval.dtype),
                "times": around.times,
            }
        )


def _width(dtype: Any) -> int:
    return int(getattr(dtype, "itemsize", 4))


def _flops(equation: Any) -> float:
    name = equation.primitive.name
    if name == "dot_general":
        ((contracted, _), _) = equation.params["dimension_numbers"]
        left = equation.invars[0].aval.shape
        inner = 1
        for dimension in contracted:
            inner *= left[dimension]
        return float(2 * inner * equation.outvars[0].aval.size)
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval
        numbers = equation.params["dimension_numbers"]
        features = kernel.shape[numbers.rhs_spec[0]]
        return float(2 * equation.outvars[0].aval.size * kernel.size / max(features, 1))
    return 0.0
