"""Facts about arrays and numbers: the shapes that simple constructors make, and arithmetic on constants."""

from __future__ import annotations

from meshlens.axes.domain.constants import formatted, worked_out
from meshlens.axes.domain.labels import COUNT, PLACES, UNPLACED, travelling
from meshlens.axes.domain.values import Const, Data, Dict, Ext, Made, Seq, Value
from meshlens.jaxapi.layers import PARAMETERS

Sizes = tuple[int | None, ...]

_MOST_ELEMENTS = 1 << 128
_NUMBERS = frozenset(
    f"{module}.{name}" for module in ("math", "numpy", "jax.numpy") for name in ("pi", "e", "inf", "nan", "tau")
)
_NOT_PLACED = UNPLACED | {"key", "keys"}
_PLACED = PLACES - UNPLACED


def shape_of(value: Value) -> Sizes | None:
    """Returns the shape of a value as an array: () for a number, None if unknown."""
    if isinstance(value, Data):
        return value.shape
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        return ()
    if isinstance(value, Made) and value.dotted in PARAMETERS and value.arguments:
        return shape_of(value.arguments[0][1])
    return () if isinstance(value, Ext) and value.dotted in _NUMBERS else None


def held_in(box: Made) -> Data:
    """Returns the array in a model parameter, with its original shape; its values may have changed since."""
    return Data(travelling(box.labels), shape_of(box), None, True, box.over)


def is_array(value: Value) -> bool:
    """Returns whether a value is certainly one array or number, not a container or a function."""
    if isinstance(value, Data):
        return value.array or value.shape is not None
    return isinstance(value, Const) and isinstance(value.value, (int, float))


def gives_array(operator: str, left: Value, right: Value) -> bool:
    """Returns whether an operator certainly returns an array or number; `+` and `*` also work on containers."""
    if operator in ("@", "-", "/", "//", "**"):
        return True
    if operator == "+":
        return is_array(left) or is_array(right)
    if operator == "*":
        return (is_array(left) and is_array(right)) or _scales(left) or _scales(right)
    return operator == "%" and is_array(left)


def _scales(value: Value) -> bool:
    """Returns whether a factor is a float or an array with axes, so that multiplying by it cannot repeat a list."""
    if isinstance(value, Const):
        return isinstance(value.value, float)
    return isinstance(value, Data) and bool(value.shape)


def constant_operation(operator: str, left: Value, right: Value) -> Value | None:
    """Returns the result of an operation on known numbers, strings, tuples or dictionaries."""
    if operator == "%" and isinstance(left, Const) and isinstance(left.value, str):
        given = right.items if isinstance(right, Seq) and right.kind == "tuple" and not right.open else (right,)
        values = [item.value for item in given if isinstance(item, Const)]
        text = formatted(left.value, values) if len(values) == len(given) else None
        return Const(text) if text is not None else None
    if isinstance(left, Const) and isinstance(right, Const):
        result = worked_out(operator, left.value, right.value)
        return Const(result) if result is not None else None
    if operator == "+" and isinstance(left, Seq) and isinstance(right, Seq):
        return Seq(left.kind, left.items + right.items, left.open or right.open)
    if operator == "+" and isinstance(left, Seq) and left.kind in ("tuple", "list"):
        return Seq(left.kind, left.items, True)
    if operator == "*" and isinstance(left, Seq) and isinstance(right, Const) and isinstance(right.value, int):
        count = right.value * len(left.items)
        return (
            Seq(left.kind, left.items * right.value, left.open)
            if 0 <= count <= 64
            else Seq(left.kind, left.items, True)
        )
    if operator == "|" and isinstance(left, Dict) and isinstance(right, Dict):
        return Dict(tuple({**dict(left.items), **dict(right.items)}.items()), left.open or right.open)
    return None


def broadcast(left: Sizes | None, right: Sizes | None) -> Sizes | None:
    """Returns the shape of an elementwise operation on arrays of these shapes."""
    if left is None or right is None:
        return None
    if len(left) < len(right):
        left, right = right, left
    padded = (1,) * (len(left) - len(right)) + right
    return tuple(_size(a, b) for a, b in zip(left, padded, strict=True))


def _size(left: int | None, right: int | None) -> int | None:
    if left == right:
        return left
    if left == 1:
        return right
    return left if right == 1 else None


def count_of(value: Value) -> int | None:
    """Returns the integer that a value represents, a constant or an axis size; None if unknown."""
    if isinstance(value, Const):
        return value.value if type(value.value) is int else None
    if isinstance(value, Data) and value.labels:
        counts = [label[1] for label in value.labels if type(label) is tuple and label[0] == COUNT]
        return counts[0] if len(counts) == 1 else None
    return None


def sizes(value: Value) -> Sizes | None:
    """Returns the sizes in a shape argument such as `(8, n)` or `8`."""
    if isinstance(value, Seq):
        return tuple([count_of(item) for item in value.items]) if not value.open else None
    count = count_of(value)
    return (count,) if count is not None else None


def literal_shape(value: Value) -> Sizes | None:
    """Returns the shape of `array([[…], […]])`."""
    if isinstance(value, Seq) and value.kind in ("list", "tuple") and not value.open and value.items:
        inner = literal_shape(value.items[0])
        return None if inner is None else (len(value.items), *inner)
    if isinstance(value, Data) and "devices" in value.labels:
        return value.shape
    return shape_of(value)


def splits_rows(wanted: Value) -> bool:
    """Returns whether a shape such as `(n, -1, *rest)` puts the rows of an array into several groups.

    Use this only for a shape that is not fully known; if it is, compare the sizes instead.
    """
    if not isinstance(wanted, Seq) or not wanted.open or len(wanted.items) < 2:
        return False
    first = wanted.items[0]
    return not (isinstance(first, Const) and first.value in (1, -1))


def reshaped(shape: Sizes | None, wanted: Sizes | None) -> Sizes | None:
    """Returns the shape after `reshape`; a `-1` is computed if all other sizes are known."""
    if wanted is None:
        return None
    if -1 not in wanted:
        return wanted
    for size in wanted:
        if size is None:
            return tuple(None if size == -1 else size for size in wanted)
    total, known = product(shape), product(tuple([size for size in wanted if size != -1]))
    rest = total // known if total is not None and known is not None and known > 0 and total % known == 0 else None
    return tuple(rest if size == -1 else size for size in wanted)


def product(shape: Sizes | None) -> int | None:
    """Returns the number of elements of an array; None if it is unknown or exceeds what any computer can hold."""
    if shape is None:
        return None
    total = 1
    for size in shape:
        if size is None or not -_MOST_ELEMENTS < total < _MOST_ELEMENTS:
            return None
        total *= size
    return total


def is_unplaced(value: Value) -> bool:
    """Returns whether a value is a number, a key, a type, or an array computed from these and not placed on a mesh."""
    if isinstance(value, Data):
        return not value.labels.isdisjoint(_NOT_PLACED) and value.labels.isdisjoint(_PLACED)
    if isinstance(value, Seq):
        return not value.open and all(map(is_unplaced, value.items))
    return isinstance(value, (Const, Ext))
