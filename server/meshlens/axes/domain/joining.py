"""Joins: the possible values of a variable at a point where two paths through the program meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlens.axes.domain import variation
from meshlens.axes.domain.labels import joined, of_kinds
from meshlens.axes.domain.map_values import Mesh, Spec
from meshlens.axes.domain.values import (
    UNKNOWN,
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Made,
    Mapped,
    Module,
    Partial,
    Seq,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import ANYTHING, EVERYWHERE, SAME, UNTOLD, VARYING, ZEROS, Along, Variation

_NONE: frozenset[object] = frozenset()
_MOST_OPTIONS = 8
_MOST_ENTRIES = 64
_LARGE = 100
_ENTRIES = (Function, Class, Instance, Bound, Partial, Wrapped, Mapped, Ext)
_SAYS_VERSION = ("__version__", "__version_info__", "typing.TYPE_CHECKING")
_VERSION = frozenset({"version"})
_WITHOUT_ARRAYS = frozenset({Const, Ext, Class, Module, Mesh, Spec})
_WITHOUT_LABELS = frozenset({Const, Function, Class, Instance, Module})


def join(left: Value, right: Value) -> Value:
    """Returns a value that covers both: a merged value, a union of at most eight options, or else unknown data."""
    if left is right or left == right:
        return left
    if type(left) is Data and type(right) is Data:
        over = variation.joined(left.over, right.over)
        if ("entered" in left.labels) != ("entered" in right.labels):
            over = _gathered_or_whole(left, right, over)
        return Data(
            joined(left.labels, right.labels),
            left.shape if left.shape == right.shape else None,
            None,
            (left.array or left.shape is not None) and (right.array or right.shape is not None),
            over,
        )
    if isinstance(left, Made) and isinstance(right, Made) and _are_same_object(left, right):
        over = variation.joined(left.over, right.over)
        return Made(left.dotted, left.site, left.arguments, joined(left.labels, right.labels), over)
    if (
        isinstance(left, Seq)
        and isinstance(right, Seq)
        and left.kind == right.kind
        and len(left.items) == len(right.items)
    ):
        items = tuple(join(a, b) for a, b in zip(left.items, right.items, strict=True))
        return Seq(left.kind, items, left.open or right.open)
    if isinstance(left, Seq) and isinstance(right, Seq) and left.kind == right.kind in ("list", "set"):
        # A test of the container may have decided whether an item was added.
        both = min(left.items, right.items, key=len)
        if left.items[: len(both)] == right.items[: len(both)]:
            return Seq(left.kind, both, True)
    if isinstance(left, Dict) and isinstance(right, Dict) and left.attributes and right.attributes:
        return _joined_tables(left, right)
    return union(options(left) + options(right))


def _gathered_or_whole(left: Data, right: Data, over: Variation) -> Variation:
    """Returns the variation of a map's argument that is gathered on one of two paths.

    If its spec is unknown, as in a tree of which only the large arrays are split, all devices are taken to have the
    arrays that are not gathered.
    """
    given, other = (left, right) if "entered" in left.labels else (right, left)
    for _, argument, axis, _ in of_kinds(other.labels, "gathered"):
        if argument in given.labels and given.over.over(axis).truth == UNTOLD:
            over = variation.with_axes(over, (axis,), Along(SAME, VARYING))
    return over


def _are_same_object(left: Made, right: Made) -> bool:
    """Returns whether two values have the same origin, such as a training state before and after a step."""
    return left.site == right.site and left.dotted == right.dotted and left.arguments == right.arguments


def _joined_tables(left: Dict, right: Dict) -> Dict:
    """Returns a table that covers two tables; entries that differ become unknown, because they may be correlated."""
    others = dict(right.items)
    items = tuple((key, _agreed(value, others[key])) for key, value in left.items if key in others)
    is_open = left.open or right.open or len(items) < max(len(left.items), len(others))
    return Dict(items, is_open, True)


def _agreed(left: Value, right: Value) -> Value:
    if isinstance(left, Dict) and isinstance(right, Dict) and left.attributes and right.attributes:
        return _joined_tables(left, right)
    return left if left is right or left == right else Data(joined(labels_of(left), labels_of(right)))


def join_all(values: Iterable[Value]) -> Value:
    """Returns a value that covers all the given values; unknown if there are none."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return UNKNOWN if result is None else result


def leaves(value: Value) -> Iterator[Value]:
    """Yields every leaf of nested tuples, lists and dictionaries; a value that is not a container is its own leaf."""
    if isinstance(value, Seq):
        for item in value.items:
            yield from leaves(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from leaves(item)
    else:
        yield value


def options(value: Value) -> tuple[Value, ...]:
    """Returns the alternatives in a union; for any other value, the value itself."""
    return value.options if isinstance(value, Union) else (value,)


def union(values: Iterable[Value]) -> Value:
    """Returns a value that may be any of the given values."""
    distinct: list[Value] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    if len(distinct) == 1:
        return distinct[0]
    if len(distinct) > _MOST_OPTIONS:
        over = variation_of(Union(tuple(distinct)))
        return Data(frozenset().union(*(labels_of(value) for value in distinct)), over=over)
    return Union(tuple(distinct))


def entry_of_table(values: Iterable[Value]) -> Value:
    """Returns the value for an unknown key in a table; functions and classes stay separate options."""
    found = list(values)
    rows = [value for value in found if isinstance(value, Seq) and not value.open]
    if rows and len(rows) == len(found) and len({(row.kind, len(row.items)) for row in rows}) == 1:
        columns = zip(*(row.items for row in rows), strict=True)
        return Seq(rows[0].kind, tuple(entry_of_table(column) for column in columns))
    if len(found) > _MOST_ENTRIES or not all(isinstance(value, _ENTRIES) for value in found):
        return join_all(found)
    distinct = tuple(dict.fromkeys(found))
    return Union(distinct, of_table=True) if len(distinct) > 1 else join_all(distinct)


def labels_of(value: Value) -> frozenset[object]:
    """Returns the labels of a value and of everything in it."""
    if type(value) is Data or type(value) is Made:
        return value.labels
    if type(value) in _WITHOUT_LABELS:
        return _NONE
    if isinstance(value, Bound):
        return labels_of(value.receiver)
    if isinstance(value, Ext):
        return _VERSION if value.dotted.endswith(_SAYS_VERSION) else _NONE
    if isinstance(value, (Seq, Dict, Union)):
        return _all_labels(_parts(value)) if value.weight < _LARGE else _labels_of_large(value)
    return _NONE


def variation_of(value: Value) -> Variation:
    """Returns the variation of a value; for a container, that of all its contents joined."""
    if type(value) is Data or type(value) is Made:
        return value.over
    if type(value) in _WITHOUT_ARRAYS:
        return ZEROS if type(value) is Const and value.value == 0 and value.value is not False else EVERYWHERE
    if isinstance(value, (Seq, Dict, Union)):
        if value.weight >= _LARGE or (not isinstance(value, Union) and value.open and not value.items):
            return ANYTHING
        found: Variation | None = None
        for part in _parts(value):
            own = variation_of(part)
            found = own if found is None else variation.joined(found, own)
        return EVERYWHERE if found is None else found
    return ANYTHING


def variations_in(value: Value) -> tuple[Variation, ...]:
    """Returns the variation of each array in a value."""
    if type(value) is Data:
        return (value.over,)
    if isinstance(value, (Seq, Dict)) and value.weight < _LARGE and (value.items or not value.open):
        return tuple(dict.fromkeys(one for part in _parts(value) for one in variations_in(part))) or (EVERYWHERE,)
    return (variation_of(value),)


def _parts(value: Seq | Dict | Union) -> Iterable[Value]:
    if isinstance(value, Seq):
        return value.items
    return [item for _, item in value.items] if isinstance(value, Dict) else value.options


def _labels_of_large(value: Seq | Dict | Union) -> frozenset[object]:
    """Returns the labels of a large container, visiting each part once."""
    found = _NONE
    waiting: list[Value] = [value]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, (Seq, Dict, Union)):
            if id(one) not in seen:
                seen.add(id(one))
                waiting.extend(_parts(one))
        else:
            found |= labels_of(one)
    return found


def _all_labels(values: Iterable[Value]) -> frozenset[object]:
    found = _NONE
    for value in values:
        labels = labels_of(value)
        if labels:
            found |= labels
    return found
