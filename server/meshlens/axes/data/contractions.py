"""The shapes of products of arrays: `matmul`, `dot` and `einsum`."""

from __future__ import annotations

import re

from meshlens.axes.data.arrays import Sizes, broadcast, shape_of
from meshlens.axes.domain.values import Arg, Const, Value

_EINSUM = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*")
_LARGEST_RANK = 16


def shape_or_none(value: Value) -> Sizes | None:
    """Returns the shape of a value as an array; None if it is unknown or has more axes than an array can have."""
    found = shape_of(value)
    return found if found is None or len(found) <= _LARGEST_RANK else None


def matmul(left: Sizes | None, right: Sizes | None) -> Sizes | None:
    """Returns the shape of `left @ right`; None if it is unknown or the arrays do not fit together."""
    if not left or not right:
        return None
    inner = {left[-1], right[-2] if len(right) > 1 else right[0]} - {None}
    if len(inner) > 1:
        return None
    if len(right) == 1:
        return left[:-1]
    if len(left) == 1:
        return (*right[:-2], right[-1])
    batch = broadcast(left[:-2], right[:-2])
    return (*batch, left[-2], right[-1]) if batch is not None else None


def matmul_of(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of `matmul(a, b)`."""
    operands = [arg.value for arg in args if arg.label is None]
    return matmul(shape_or_none(operands[0]), shape_or_none(operands[1])) if len(operands) == 2 else None


def dot_of(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of `dot(a, b)`."""
    operands = [arg.value for arg in args if arg.label is None]
    if len(operands) != 2:
        return None
    left, right = shape_or_none(operands[0]), shape_or_none(operands[1])
    if left is None or right is None:
        return None
    if not left or not right:
        return left or right
    return (*left[:-1], *right[:-2], *right[-1:]) if len(right) > 1 else left[:-1]


def einsum_terms(args: tuple[Arg, ...]) -> tuple[list[tuple[str, Value]], str] | None:
    """Returns each operand of an `einsum` with its subscripts, and the output's subscripts; None if any are missing."""
    values = [arg.value for arg in args if arg.label is None]
    said = values[0] if values else None
    if not isinstance(said, Const) or not isinstance(said.value, str):
        return None
    inputs, arrow, output = said.value.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != len(values) - 1 or not all(map(_EINSUM.fullmatch, (*terms, output))):
        return None
    return list(zip(terms, values[1:], strict=True)), output


def einsum_of(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of an `einsum` with an explicit output; None if it is unknown or the operands do not fit."""
    found = einsum_terms(args)
    if found is None:
        return None
    terms, output = found
    known: dict[str, int | None] = {}
    rest: Sizes | None = ()
    for term, operand in terms:
        shape = shape_or_none(operand)
        first, dots, last = term.partition("...")
        if shape is None:
            if dots:
                rest = None
            shape = (None,) * (len(first) + len(last))
        elif len(shape) < len(first) + len(last) or (not dots and len(shape) != len(term)):
            return None
        elif dots:
            rest = broadcast(rest, shape[len(first) : len(shape) - len(last)])
        of_last = shape[len(shape) - len(last) :] if last else ()
        for letter, size in (*zip(first, shape, strict=False), *zip(last, of_last, strict=True)):
            own = known.get(letter)
            if own in (None, 1):
                known[letter] = size if size is not None else own
            elif size not in (None, 1, own):
                return None
    before, dots, after = output.partition("...")
    if any(letter not in known for letter in before + after) or (dots and rest is None):
        return None
    middle = rest if dots and rest is not None else ()
    return (*(known[letter] for letter in before), *middle, *(known[letter] for letter in after))
