"""The shapes of products of arrays (`matmul`, `dot` and `einsum`), and of arrays rearranged by einops."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from string import ascii_letters

from meshlens.axes.data.arrays import Sizes, broadcast, shape_of
from meshlens.axes.domain.values import Arg, Const, Value

_EINSUM = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_LARGEST_RANK = 16
_LONGEST_PATTERN = 200


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


EINSUM_OF_NAMES = "einops.einsum"
"""The function whose pattern has names instead of letters, and comes after the operands."""


def with_letters(args: tuple[Arg, ...]) -> tuple[Arg, ...] | None:
    """Returns the arguments of `jax.numpy.einsum` for those of `einops.einsum`; None if the pattern is unknown."""
    *operands, last = args if args else (Arg(None, Const(None), None, None),)
    pattern = last.value
    if last.label is not None or not isinstance(pattern, Const) or not isinstance(pattern.value, str):
        return None
    words = dict.fromkeys(_NAME.findall(pattern.value))
    if len(words) > len(ascii_letters) or len(pattern.value) > _LONGEST_PATTERN:
        return None
    letters = dict(zip(words, ascii_letters, strict=False))
    text = _NAME.sub(lambda found: letters[found[0]], pattern.value).replace(" ", "")
    return (replace(last, value=replace(pattern, value=text)), *operands)


EINOPS = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})
"""Functions whose patterns say how the dimensions of an array are split, merged, moved, repeated or reduced."""


def rearranged(name: str, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of the result of an einops function; None if the pattern or the array's rank is unknown.

    Args:
        name: the function.
        args: its arguments.
    """
    sides = sides_of(args)
    shape = shape_or_none(args[0].value) if args else None
    if name not in EINOPS or shape is None or sides is None or len(sides[0]) != len(shape):
        return None
    if any(sign in axis for side in sides for group in side for axis in group for sign in (".", "_", "*")):
        return None
    sizes: dict[str, int | None] = {"1": 1}
    for arg in args:
        if arg.label is not None and isinstance(arg.value, Const) and type(arg.value.value) is int:
            sizes[arg.label] = arg.value.value
    for group, size in zip(sides[0], shape, strict=True):
        _divide(group, size, sizes)
    return tuple([_merged([sizes.get(axis) for axis in group]) for group in sides[1]])


def sides_of(args: tuple[Arg, ...]) -> tuple[list[list[str]], list[list[str]]] | None:
    """Returns both sides of the pattern of an einops function; None if it is unknown."""
    positional = [arg.value for arg in args if arg.label is None]
    said = positional[1] if len(positional) > 1 else next((arg.value for arg in args if arg.label == "pattern"), None)
    if not isinstance(said, Const) or not isinstance(said.value, str) or len(said.value) > _LONGEST_PATTERN:
        return None
    before, arrow, after = said.value.partition("->")
    return (_groups(before), _groups(after)) if arrow else None


def _groups(side: str) -> list[list[str]]:
    """Returns the dimensions on one side of a pattern, each as the names of the axes that are merged into it."""
    words = re.findall(r"\(([^)]*)\)|(\S+)", side)
    return [merged.split() if not name else [name] for merged, name in words]


def _divide(group: list[str], size: int | None, sizes: dict[str, int | None]) -> None:
    """Adds the size of the only axis of a dimension whose size is not yet known."""
    unknown = [axis for axis in group if sizes.get(axis) is None]
    known = prod(number for axis in group if (number := sizes.get(axis)) is not None)
    if len(unknown) == 1 and size is not None and known > 0 and size % known == 0:
        sizes[unknown[0]] = size // known


def _merged(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None
