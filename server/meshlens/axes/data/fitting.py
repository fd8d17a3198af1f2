"""Arrays that do not fit each other, in elementwise operations, products, concatenations and `reshape`."""

from __future__ import annotations

import math

from meshlens.axes.data.arrays import Sizes, sizes
from meshlens.axes.data.contractions import einsum_terms, shape_or_none
from meshlens.axes.data.noise import on_devices
from meshlens.axes.data.shapes import BROADCAST
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Seq, Site, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run

FITS = ""
"""The result of `misfit` for arrays that fit."""

COMBINES = "fit "
"""The prefix of the name under which a combination of arrays in a map is recorded, as in "fit @"."""

_OPERATORS = frozenset("+ - * / @ // % ** & | ^".split())
_JOINS = frozenset({"concatenate", "stack"})


def note_combined(run: Run, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Records a combination of arrays of known shapes on the devices of a map.

    Args:
        run: the run.
        name: the operator, or the canonical name of the function.
        args: the arrays and the other arguments.
        site: the place of the operation.
        ctx: the context.
    """
    if on_devices(ctx) and misfit(name, args) is not None:
        run.records.calls.append(ApiCall(COMBINES + name, site, site, args, UNKNOWN, ctx, False, run.api_guard > 0))


def misfit(name: str, args: tuple[Arg, ...]) -> str | None:
    """Returns why arrays do not fit a function or operator, in words; `FITS` if they do, None if unknown."""
    if any(arg.label in ("*", "**") for arg in args):
        return None
    if name in _OPERATORS:
        return _product(args) if name == "@" else _elementwise(args)
    module, _, short = name.rpartition(".")
    if module != "jax.numpy":
        return None
    if short in BROADCAST:
        return _elementwise(args) if all(arg.label is None for arg in args) else None
    if short == "matmul":
        return _product(args) if len(args) == 2 else None
    if short == "einsum":
        return _einsum(args)
    if short in _JOINS:
        return _joined(short, args)
    return _reshape(args) if short == "reshape" else None


def _shapes(values: tuple[Value, ...] | list[Value]) -> list[Sizes] | None:
    found = [shape_or_none(value) for value in values]
    known = [shape for shape in found if shape is not None]
    return known if len(known) == len(found) else None


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def _verdict(shapes: list[Sizes], fits: bool) -> str | None:
    if fits:
        return FITS if not any(None in shape for shape in shapes) else None
    *before, last = [str(shape).replace("None", "?") for shape in shapes]
    return f"on each device these have shapes {', '.join(before)} and {last}, which are incompatible"


def _elementwise(args: tuple[Arg, ...]) -> str | None:
    shapes = _shapes([arg.value for arg in args])
    if shapes is None:
        return None
    sized = [shape for shape in dict.fromkeys(shapes) if shape]
    rank = max(map(len, sized), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in sized]
    fits = all(
        len({size for size in column if size is not None and size != 1}) <= 1 for column in zip(*padded, strict=True)
    )
    return _verdict(sized, fits)


def _product(args: tuple[Arg, ...]) -> str | None:
    shapes = _shapes([arg.value for arg in args])
    if shapes is None or len(shapes) != 2 or not all(shapes):
        return None
    left, right = shapes
    return _verdict(shapes, not _differ(left[-1], right[-2] if len(right) > 1 else right[0]))


def _einsum(args: tuple[Arg, ...]) -> str | None:
    found = einsum_terms(args)
    if found is None:
        return None
    terms, _ = found
    seen: dict[str, int] = {}
    known: list[Sizes] = []
    for term, operand in terms:
        shape = shape_or_none(operand)
        if shape is None or "." in term:
            continue
        known.append(shape)
        if len(shape) != len(term):
            named = f"{len(term)} {'axis' if len(term) == 1 else 'axes'}"
            return f'this has shape {str(shape).replace("None", "?")}, but "{term}" names {named}'
        for letter, size in zip(term, shape, strict=True):
            if size is None or size == 1:
                continue
            own = seen.setdefault(letter, size)
            if own != size:
                return f'on each device "{letter}" has size {own} in one operand and {size} in another'
    return FITS if len(known) == len(terms) else None


def _joined(short: str, args: tuple[Arg, ...]) -> str | None:
    parts = args[0].value if args and args[0].label is None else None
    if not isinstance(parts, Seq) or parts.open or len(parts.items) < 2:
        return None
    shapes = _shapes(parts.items)
    if shapes is None:
        return None
    if len({len(shape) for shape in shapes}) > 1:
        return _verdict(list(dict.fromkeys(shapes)), False)
    given = by_parameter(("arrays", "axis"), args).get("axis")
    axis = given.value.value if given is not None and isinstance(given.value, Const) else 0 if given is None else None
    if type(axis) is not int or not shapes[0] or not -len(shapes[0]) <= axis < len(shapes[0]):
        return None
    skipped = axis % len(shapes[0]) if short == "concatenate" else -1
    columns = [column for place, column in enumerate(zip(*shapes, strict=True)) if place != skipped]
    fits = all(len({size for size in column if size is not None}) <= 1 for column in columns)
    return _verdict(list(dict.fromkeys(shapes)), fits)


def _reshape(args: tuple[Arg, ...]) -> str | None:
    found = by_parameter(("a", "shape"), args)
    given = found.get("shape") or found.get("newshape")
    shape = shape_or_none(args[0].value) if args else None
    wanted = sizes(given.value) if given is not None else None
    if shape is None or wanted is None:
        return None
    old = [size for size in shape if size is not None]
    new = [size for size in wanted if size is not None]
    if len(old) < len(shape) or len(new) < len(wanted) or new.count(-1) > 1:
        return None
    total, rest = math.prod(old), math.prod(size for size in new if size != -1)
    fits = total == rest if -1 not in new else rest > 0 and total % rest == 0
    return FITS if fits else f"on each device this has shape {shape}, which cannot be reshaped to {wanted}"
