"""How a value depends on the rows of a batch that is split over devices, and how operations affect that.

"same": the same on every device.
"rows": one entry for each row; each device has its own rows.
"tree": an argument that holds rows: an array, or a tree of arrays.
"both": a container of rows and of values that are the same on every device.
"turned": an array with rows, but not along its first axis.
"grouped": rows in groups along a new first axis; on one device, the groups hold other rows.
"begun", "added", "counted": in a loop over such groups, a value of the carry to which only values that are the same on
every device were added so far, or also means, or only sums; a loop that does anything else with it may treat groups
differently.
"mean", "total": the mean or the sum over a device's rows, or a linear expression of such values.
"count": the number of rows of a device, or a multiple of it.
"shape": the shape of an array with rows.
"places": the positions of a device's rows, starting from 0 on each device; valid only as indices of those rows.
"key": a random key that is the same on all devices; "alike": numbers drawn from such a key, or the rows of all devices;
neither may be combined with a device's rows.
"own": a random key that differs on each device.
"mixed": anything else; nothing is known about it.
A tuple of kinds describes a tuple of values, and `Listed` a list; `Keyed` describes a dictionary with known keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from meshlens.facts.nodes import Constant, ListDisplay, TupleDisplay, UnaryOperation
from meshlens.project.trees import Node

Kind: TypeAlias = "str | tuple[Kind, ...] | Keyed"


class Listed(tuple["Kind", ...]):
    """The kinds of the values in a list."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Keyed:
    """A dictionary with known keys, and the kind of each value."""

    items: tuple[tuple[str, Kind], ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Returns the kinds of the values."""
        return tuple(kind for _, kind in self.items)

    def at(self, key: object) -> Kind | None:
        """Returns the kind of the value that is stored under a key; None if the dictionary lacks the key."""
        return next((kind for known, kind in self.items if known == key), None)

    def having(self, key: str, kind: Kind) -> Keyed:
        """Returns the dictionary after a value of the given kind is stored under a key."""
        return Keyed(tuple({**dict(self.items), key: kind}.items()))


LINEAR = frozenset({"mean", "total"})
GROUP_SUMS = frozenset({"begun", "added", "counted"})
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
    """Returns a single kind for a value, combining the kinds of its parts."""
    if isinstance(kind, tuple):
        return together(kind)
    if isinstance(kind, Keyed):
        kind = kept(kind.kinds)
    return "rows" if kind in ("tree", "both") else kind


def together(kinds: Iterable[Kind]) -> str:
    """Returns the common kind of several values, or of a value that may be any of them."""
    found = {flat(kind) for kind in kinds}
    if found == {"total", "same"}:
        # Adding the devices' sums would count the other value once for each device.
        return "mixed"
    if found == {"grouped", "same"}:
        # A value for each group belongs to other rows on several devices.
        return "mixed"
    found -= {"same"}
    if not found:
        return "same"
    return found.pop() if len(found) == 1 else "mixed"


def kept(kinds: Iterable[Kind]) -> str:
    """Returns the kind of a container: "mixed" if reducing it would also average values stored next to a mean."""
    parts = [held for kind in kinds for held in leaves(kind)]
    found = {flat(kind) for kind in parts}
    if found == {"total", "count"}:
        # Both are summed.
        return "total"
    if found == {"rows", "same"} or ("both" in parts and found == {"rows"}):
        return "both"
    return "mixed" if found & LINEAR and len(found) > 1 else together(found)


def leaves(kind: Kind) -> Iterator[str]:
    """Yields the kinds of the values in nested tuples, lists and dictionaries."""
    for _, leaf in named_leaves(kind):
        yield leaf


def named_leaves(kind: Kind) -> Iterator[tuple[str, str]]:
    """Yields the kinds of the values in nested tuples, lists and dictionaries, each with the code that selects it."""
    if isinstance(kind, str):
        yield "", kind
        return
    parts = kind.items if isinstance(kind, Keyed) else enumerate(kind)
    for key, part in parts:
        for rest, leaf in named_leaves(part):
            yield f"{subscript(key)}{rest}", leaf


def subscript(key: str | int) -> str:
    """Returns the code that selects a value of a container, such as `["loss"]`."""
    is_plain = isinstance(key, str) and key.isprintable() and set(key).isdisjoint('"\\')
    return f'["{key}"]' if is_plain else f"[{key!r}]"


def is_mixture(kind: Kind) -> bool:
    """Returns whether a value is a container of rows and of values that are the same on every device."""
    return kept(leaves(kind)) == "both"


def plain(kind: Kind) -> Kind:
    """Returns a single kind for a dictionary whose values all have that kind."""
    if not isinstance(kind, Keyed):
        return kind
    one = kept(kind.kinds)
    return kind if one in ("both", "mixed") else one


def either(left: Kind, right: Kind) -> Kind:
    """Returns the kind of a value that may have either of two kinds."""
    if isinstance(left, Keyed) and isinstance(right, Keyed) and dict(left.items).keys() == dict(right.items).keys():
        return Keyed(tuple((key, either(kind, dict(right.items)[key])) for key, kind in left.items))
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right) and type(left) is type(right):
        return type(left)(either(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, Keyed) or isinstance(right, Keyed) or "both" in (left, right):
        return kept((left, right))
    if {flat(left), flat(right)} == {"rows", "same"}:
        return "both"
    return left if left == right else together((left, right))


def joined(operator: str, left: Kind, right: Kind) -> Kind | None:
    """Returns the kind of two tuples or lists after each other; None for other operations."""
    if operator == "+" and isinstance(left, tuple) and isinstance(right, tuple):
        return type(left)((*left, *right))
    return None


def combined(operator: str, left: Kind, right: Kind) -> str:
    """Returns the kind of `left operator right`."""
    one, other = flat(left), flat(right)
    is_container = any(is_mixture(kind) and (operator == "|" or kind != "both") for kind in (left, right))
    if one in GROUP_SUMS or other in GROUP_SUMS:
        both = {one, other}
        if operator == "+" and "total" in both and both & {"begun", "counted"}:
            return "counted"
        is_sum = (
            operator == "+"
            and len(both & GROUP_SUMS) == 1
            and one != other
            and both <= {"begun", "added", "same", "mean"}
        )
        return ("added" if both & {"added", "mean"} else "begun") if is_sum else "mixed"
    if "mixed" in (one, other) or "places" in (one, other) or is_container:
        return "mixed"
    if {one, other} <= {"same", "alike"}:
        return applied((one, other))
    if operator in ("+", "-"):
        # A constant added to a mean is its own mean, but one added to a sum would be counted once per device.
        return together((one, other)) if "count" not in (one, other) and {one, other} != {"total", "same"} else "mixed"
    if operator == "*" and {one, other} == {"total", "same"}:
        return "total"
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
        return "mixed" if other == "rows" else applied((one, other), coupled=True)
    return applied((one, other), elementwise=True)


def applied(kinds: Iterable[Kind], *, coupled: bool = False, elementwise: bool = False) -> str:
    """Returns the kind of the result of a function that works row by row.

    Args:
        kinds: the kinds of the arguments.
        coupled: whether the function combines rows with each other.
        elementwise: whether the function works in the same way along every axis.
    """
    found = [flat(kind) for kind in kinds]
    differing = set(found) - {"same", "shape"}
    if "rows" in differing:
        # Drawing numbers for each row with a device's own key keeps the rows separate.
        differing.discard("own")
    if not differing:
        return "same"
    if differing <= SAME:
        return "alike"
    if differing == {"rows"}:
        return "mixed" if coupled and found.count("rows") > 1 else "rows"
    return "turned" if differing == {"turned"} and elementwise else "mixed"


def reduced(kind: Kind, over_rows: bool | None, result: str, *, every_axis: bool = False) -> str:
    """Returns the kind of a mean or a sum.

    Args:
        kind: the kind of the operand.
        over_rows: whether the axes include the row axis; None if unknown.
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
    """Returns whether a function of this name combines the rows of its argument."""
    return (name in _COUPLES and over_rows is not False) or name in _PRODUCTS


def is_product(name: str) -> bool:
    """Returns whether a function of this name multiplies arrays, which is harmless if only one of them has rows."""
    return name in _PRODUCTS


def index_of(node: Node | None) -> int | None:
    """Returns the value of an integer literal; None for other expressions."""
    if isinstance(node, UnaryOperation) and node.operator == "-":
        number = index_of(node.operand)
        return -number if number is not None else None
    return node.value if isinstance(node, Constant) and type(node.value) is int else None


def over_rows(axis: Node | None, keyword_only_default: bool | None = True, axes: int = 0) -> bool | None:
    """Returns whether an `axis` argument includes the row axis, which is the first one; None if unknown.

    Axis -1 is assumed to be another axis; any other axis -n may be the first one, unless the array has more than n
    axes.

    Args:
        axis: the argument.
        keyword_only_default: the answer if there is no such argument.
        axes: the minimum number of axes.
    """
    if axis is None or (isinstance(axis, Constant) and axis.value is None):
        return keyword_only_default
    place = index_of(axis)
    if place is not None:
        return place == 0 if place >= -1 else False if -place < axes else None
    if isinstance(axis, (TupleDisplay, ListDisplay)):
        found = [over_rows(item, axes=axes) for item in axis.items]
        return None if None in found else any(found)
    return None
