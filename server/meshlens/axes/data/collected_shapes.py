"""The shapes of the results of collectives."""

from __future__ import annotations

from meshlens.axes.data.arrays import Sizes
from meshlens.axes.domain.axis_sizes import size_along_all
from meshlens.axes.domain.values import Arg, Const
from meshlens.axes.runs.context import AxisEnv


def integer(found: dict[str, Arg], name: str, default: int | None = None) -> int | None:
    """Returns the value of an integer argument; None if it is unknown."""
    if name not in found:
        return default
    value = found[name].value
    return value.value if isinstance(value, Const) and type(value.value) is int else None


def flag(found: dict[str, Arg], name: str) -> bool | None:
    """Returns the value of a boolean argument that defaults to False; None if it is unknown."""
    if name not in found:
        return False
    value = found[name].value
    return bool(value.value) if isinstance(value, Const) and type(value.value) is bool else None


def shape_after(
    reduces: str, name: str, shape: Sizes, found: dict[str, Arg], env: AxisEnv, names: tuple[str, ...]
) -> Sizes | None:
    """Returns the shape of a collective's result; None if it is unknown.

    Args:
        reduces: the kind of reduction, as in the collective's row.
        name: the collective's name.
        shape: the shape of its operand.
        found: its arguments.
        env: the axes that are bound.
        names: the axes that the collective is called with.
    """
    if reduces in ("permute", "cast"):
        return shape
    size, tiled = size_along_all(env, names), flag(found, "tiled")
    if "axis_index_groups" in found or "*" in found or "**" in found or tiled is None:
        return None
    if name == "all_gather":
        axis = _place(integer(found, "axis", 0), len(shape) + (not tiled))
        return None if axis is None else _grown(shape, axis, size) if tiled else (*shape[:axis], size, *shape[axis:])
    if name == "psum_scatter":
        axis = _place(integer(found, "scatter_dimension", 0), len(shape))
        return None if axis is None else _shrunk(shape, axis, size) if tiled else shape[:axis] + shape[axis + 1 :]
    if name != "all_to_all":
        return None
    split = _place(integer(found, "split_axis"), len(shape))
    concat = _place(integer(found, "concat_axis"), len(shape))
    if split is None or concat is None or _is_wrong(shape[split], size, tiled):
        return None
    if tiled:
        return _grown(_shrunk(shape, split, size), concat, size)
    rest = shape[:split] + shape[split + 1 :]
    return (*rest[:concat], size, *rest[concat:])


def _is_wrong(split: int | None, count: int | None, tiled: bool) -> bool:
    """Returns whether an axis certainly cannot be split over the devices."""
    if split is None or count is None:
        return False
    return split % count != 0 if tiled else split != count


def _place(axis: int | None, rank: int) -> int | None:
    return axis % rank if axis is not None and rank and -rank <= axis < rank else None


def _grown(shape: Sizes, axis: int, size: int | None) -> Sizes:
    own = shape[axis]
    return (*shape[:axis], own * size if own is not None and size is not None else None, *shape[axis + 1 :])


def _shrunk(shape: Sizes, axis: int, size: int | None) -> Sizes:
    own = shape[axis]
    fits = own is not None and size and own % size == 0
    return (*shape[:axis], own // size if fits and own is not None and size else None, *shape[axis + 1 :])
