"""How a value depends on the rows of a batch that is split over devices, and what operations make of that.

"same": every device has it alike.
"rows": one entry for each row, of which a device has its own.
"tree": an argument that holds rows: an array, or a tree of arrays.
"turned": what has rows, but not on its first axis.
"mean", "total": the mean or the sum over the rows of a device, or a linear expression of such.
"count": how many rows a device has, or a multiple of that.
"shape": the shape of what has rows.
"places": the numbers of a device's rows, from 0 on each: they take an entry of each row, and tell nothing else.
"key": a random key that all devices have alike; "alike" is what was drawn from one: neither is to meet rows.
"own": a random key of which each device has another one.
"mixed": anything else; nothing can be said of it.
A tuple of kinds stands for a tuple or list of values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from meshlens.facts.nodes import Constant, ListDisplay, TupleDisplay, UnaryOperation
from meshlens.project.trees import Node

Kind: TypeAlias = "str | tuple[Kind, ...]"

LINEAR = frozenset({"mean", "total"})
MEANS = frozenset({"mean", "average"})
SUMS = frozenset({"sum", "nansum"})
UNCHANGED = frozenset(
    "asarray array astype stop_gradient squeeze float float32 copy device_put block_until_ready".split()
)
SAME = frozenset({"same", "key", "alike"})
OVER_DEVICES = frozenset("pmean psum pmax pmin all_gather".split())
_COUPLES = frozenset(
    "var std nanvar nanstd median quantile percentile cov corrcoef sort argsort cumsum cumprod roll unique max min "
    "amax amin prod any all norm logsumexp argmax argmin flip top_k global_norm nanmax nanmin ptp histogram".split()
)
_PRODUCTS = frozenset("dot matmul einsum tensordot inner outer vdot kron convolve correlate".split())


def flat(kind: Kind) -> str:
    """One kind for a value and its parts."""
    if isinstance(kind, tuple):
        return together(kind)
    return "rows" if kind == "tree" else kind


def together(kinds: Iterable[Kind]) -> str:
    """The kind of values that are kept together, or of which it is not known which one it is."""
    found = {flat(kind) for kind in kinds} - {"same"}
    if not found:
        return "same"
    return found.pop() if len(found) == 1 else "mixed"


def kept(kinds: Iterable[Kind]) -> str:
    """The kind of a container, which is reduced as a whole: that makes numbers of a mean out of integers beside it."""
    found = {flat(kind) for kind in kinds}
    return "mixed" if found & LINEAR and len(found) > 1 else together(found)


def either(left: Kind, right: Kind) -> Kind:
    """The kind of a value that may be the one or the other."""
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return tuple(either(one, other) for one, other in zip(left, right, strict=True))
    return left if left == right else together((left, right))


def combined(operator: str, left: Kind, right: Kind) -> str:
    """The kind of `left operator right`."""
    one, other = flat(left), flat(right)
    if "mixed" in (one, other) or "places" in (one, other):
        return "mixed"
    if operator in ("+", "-"):
        # A constant that is added to a mean is a mean of itself; a sum would count it once for each device.
        return together((one, other)) if "count" not in (one, other) and {one, other} != {"total", "same"} else "mixed"
    if operator == "*":
        return together((one, other)) if "same" in (one, other) or one == other in ("rows", "turned") else "mixed"
    if operator == "/":
        if "turned" in (one, other):
            return applied((one, other), elementwise=True)
        if (one, other) == ("total", "count"):
            return "mean"
        return one if other == "same" else "rows" if other == "rows" and one in ("same", "rows") else "mixed"
    if operator == "@":
        if one == "rows" and other == "alike":
            return "rows"
        return "rows" if sorted((one, other)) == ["rows", "same"] else applied((one, other), coupled=True)
    return applied((one, other), elementwise=True)


def applied(kinds: Iterable[Kind], *, coupled: bool = False, elementwise: bool = False) -> str:
    """The kind of what a function that works row by row makes of its arguments.

    Args:
        kinds: those of the arguments.
        coupled: whether it lets rows meet rows.
        elementwise: whether it does not care which axis the rows are on.
    """
    found = [flat(kind) for kind in kinds]
    differing = set(found) - {"same", "shape"}
    if "rows" in differing:
        # What draws for each row from a key of the device keeps the rows apart.
        differing.discard("own")
    if not differing:
        return "same"
    if differing <= SAME:
        return "alike"
    if differing == {"rows"}:
        return "mixed" if coupled and found.count("rows") > 1 else "rows"
    return "turned" if differing == {"turned"} and elementwise else "mixed"


def reduced(kind: Kind, over_rows: bool | None, result: str, *, every_axis: bool = False) -> str:
    """The kind of a mean or a sum.

    Args:
        kind: that of what is reduced.
        over_rows: whether the axes are those of the rows, too; None if that is not known.
        result: "mean" or "total".
        every_axis: whether all axes are reduced.
    """
    one = flat(kind)
    if one == "rows":
        return "mixed" if over_rows is None else result if over_rows else "rows"
    if one == "turned":
        return result if every_axis else "mixed"
    if one == "alike":
        return "same" if every_axis else "alike"
    return one if one in ("same", "mean", "total") else "mixed"


def couples(name: str, over_rows: bool | None) -> bool:
    """Returns whether a function of this name lets the rows that it gets meet."""
    return (name in _COUPLES and over_rows is not False) or name in _PRODUCTS


def is_product(name: str) -> bool:
    """Returns whether a function of this name multiplies arrays, which is harmless while only one of them has rows."""
    return name in _PRODUCTS


def over_rows(axis: Node | None, keyword_only_default: bool | None = True) -> bool | None:
    """Returns whether an `axis` argument names the axis of the rows, the first one; None if that is not known.

    Args:
        axis: the argument.
        keyword_only_default: the answer where there is none.
    """
    if axis is None or (isinstance(axis, Constant) and axis.value is None):
        return keyword_only_default
    if isinstance(axis, Constant) and type(axis.value) is int:
        return bool(axis.value == 0)
    if isinstance(axis, UnaryOperation) and axis.operator == "-" and isinstance(axis.operand, Constant):
        return False
    if isinstance(axis, (TupleDisplay, ListDisplay)):
        found = [over_rows(item) for item in axis.items]
        return None if None in found else any(found)
    return None
