"""The shapes of Fourier transforms, which may pad or crop an axis, and halve the last one if the numbers are real."""

from __future__ import annotations

from meshlens.axes.data.arrays import Sizes, count_of
from meshlens.axes.data.contractions import shape_or_none
from meshlens.axes.domain.values import Arg, Const, Seq, Value
from meshlens.axes.jax.naming import by_parameter

_MODULES = ("jax.numpy.fft.", "numpy.fft.")
_ALONG_ONE = frozenset("fft ifft rfft irfft hfft ihfft".split())
_ALONG_TWO = frozenset("fft2 ifft2 rfft2 irfft2".split())
_ALONG_ALL = frozenset("fftn ifftn rfftn irfftn".split())
_FROM_REAL = frozenset("rfft ihfft rfft2 rfftn".split())
_TO_REAL = frozenset("irfft hfft irfft2 irfftn".split())


def is_transform(name: str) -> bool:
    """Returns whether this is the name of a function for Fourier transforms."""
    return name.startswith(_MODULES)


def transformed(name: str, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a Fourier transform's result, or of its frequencies; None if it is unknown."""
    short = name.rpartition(".")[2]
    if short in ("fftfreq", "rfftfreq"):
        found = by_parameter(("n",), args)
        count = count_of(found["n"].value) if "n" in found else None
        return (count // 2 + 1 if count is not None and short == "rfftfreq" else count,)
    shape = shape_or_none(args[0].value)
    if shape is None or args[0].label not in (None, "a", "x"):
        return None
    if short in ("fftshift", "ifftshift"):
        return shape
    found = by_parameter(("a", "n" if short in _ALONG_ONE else "s", "axis" if short in _ALONG_ONE else "axes"), args)
    axis = found.get("axis") or found.get("axes")
    given = found.get("n") or found.get("s")
    axes = _axes(short, axis.value if axis is not None else None, given.value if given is not None else None, shape)
    if axes is None or len(set(axes)) < len(axes) or not axes:
        return None
    wanted = _wanted(given.value if given is not None else None, len(axes))
    if wanted is None:
        return None
    sizes = list(shape)
    for place, size in zip(axes, wanted, strict=True):
        sizes[place] = size if size != _AS_IT_IS else sizes[place]
    last = axes[-1]
    size = sizes[last]
    if short in _FROM_REAL:
        sizes[last] = size // 2 + 1 if size is not None else None
    elif short in _TO_REAL and wanted[-1] == _AS_IT_IS:
        sizes[last] = 2 * (size - 1) if size is not None else None
    return tuple(sizes)


_AS_IT_IS = -1
"""Stands for the size that an axis has already."""


def _wanted(given: Value | None, count: int) -> Sizes | None:
    """Returns the sizes to which the axes are padded or cropped; None if their number is unknown."""
    if given is None or given == Const(None):
        return (_AS_IT_IS,) * count
    if not isinstance(given, Seq):
        return (_positive(given),) if count == 1 else None
    return tuple([_positive(item) for item in given.items]) if not given.open and len(given.items) == count else None


def _positive(value: Value) -> int | None:
    count = count_of(value)
    return count if count is not None and count > 0 else None


def _axes(short: str, axis: Value | None, given: Value | None, shape: Sizes) -> tuple[int, ...] | None:
    """Returns the axes that a transform covers, counted from the front; None if they are unknown."""
    rank = len(shape)
    named: list[Value]
    if axis is not None and axis != Const(None):
        if isinstance(axis, Seq) and (axis.open or short in _ALONG_ONE):
            return None
        named = list(axis.items) if isinstance(axis, Seq) else [axis]
    elif short in _ALONG_ONE:
        named = [Const(-1)]
    elif short in _ALONG_TWO:
        named = [Const(-2), Const(-1)]
    elif short not in _ALONG_ALL:
        return None
    elif given is None or given == Const(None):
        named = [Const(place) for place in range(rank)]
    else:
        count = len(given.items) if isinstance(given, Seq) and not given.open else 0
        named = [Const(place - count) for place in range(count)]
    places = [one.value for one in named if isinstance(one, Const) and type(one.value) is int]
    if len(places) < len(named) or any(not -rank <= place < rank for place in places):
        return None
    return tuple([place % rank for place in places])
