"""Numbers derived from known axis sizes."""

from __future__ import annotations

from meshlens.axes.data.arrays import count_of
from meshlens.axes.data.sharded_shapes import size_of_axis
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import AXIS_SIZE, COUNT, MESH_AXIS, of_kinds
from meshlens.axes.domain.values import Const, Seq, Value
from meshlens.axes.runs.context import AxisEnv

SOME_COUNT = "some-count"
"""The label of a number that is exactly the size of an axis, if that size is unknown."""
FOR_EXAMPLE = 8
"""The example size to try if a fact must hold for every size and the size is unknown."""
PAIRS_FOR_EXAMPLE = "pairs"
"""The kind of a permutation of an unknown number of devices; its pairs are those for `FOR_EXAMPLE` devices."""
_COUNTS = AXIS_SIZE | {SOME_COUNT}
_AXES = ("size-of", "over", MESH_AXIS)
_INTEGERS = frozenset({"+", "-", "*", "//", "%"})


def size_along(env: AxisEnv, name: str) -> int | None:
    """Returns the size of a bound axis; None if it is unbound or its size is unknown."""
    binder = env.binder_of(name)
    if binder is None:
        return None
    if binder.kind == "shard_map":
        return size_of_axis(binder.mesh, name)
    given = binder.argument("axis_size")
    size = given.value.value if given is not None and isinstance(given.value, Const) else None
    return size if type(size) is int else None


def size_along_all(env: AxisEnv, names: tuple[str, ...]) -> int | None:
    """Returns the product of the sizes of the given axes; None if one is unknown."""
    total = 1
    for name in names:
        size = size_along(env, name)
        if size is None:
            return None
        total *= size
    return total if names else None


def as_number(operator: str, left: Value, right: Value) -> tuple[Value, Value] | None:
    """Returns both operands as constants if each is a number or an axis size, and at least one is an axis size."""
    if operator not in _INTEGERS or (isinstance(left, Const) and isinstance(right, Const)):
        return None
    first, second = count_of(left), count_of(right)
    if first is None or second is None:
        return None
    return Const(first, counts=counts_devices(left)), Const(second, counts=counts_devices(right))


def counts_devices(value: Value) -> bool:
    """Returns whether a number is computed from the number of devices along some axis, or from that of all devices."""
    if type(value) is Const:
        return value.counts
    labels = labels_of(value)
    return not labels.isdisjoint(_COUNTS) or bool(of_kinds(labels, COUNT) and of_kinds(labels, *_AXES))


def counts_along(value: Value, axis: str, env: AxisEnv) -> bool:
    """Returns whether a number is computed from the number of devices along a bound axis."""
    if not counts_devices(value):
        return False
    axes = [name for _, name, *_ in of_kinds(labels_of(value), *_AXES)]
    return axis in axes if axes else env.names == (axis,)


def pair_of(value: Value) -> tuple[int, int] | None:
    """Returns the source and destination in a pair of a permutation; None if they are unknown."""
    if not isinstance(value, Seq) or value.open or len(value.items) != 2:
        return None
    numbers = [item.value for item in value.items if isinstance(item, Const) and type(item.value) is int]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def are_pairs(value: Value) -> bool:
    """Returns whether a value is a permutation, or a sequence that begins with one."""
    while isinstance(value, Seq) and value.items:
        value = next(iter(value.items))
        if pair_of(value) is not None:
            return True
    return False
