"""The shapes of random numbers, and the calls that return integers, with which programs pick rows."""

from __future__ import annotations

from meshlens.axes.data.arrays import Sizes, count_of, literal_shape, shape_of, sizes
from meshlens.axes.domain.labels import INTEGERS, NONE
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.jaxapi.libraries import GENERATOR_SIZES

_VECTORS = {"dirichlet": ("alpha", "size"), "multivariate_normal": ("mean", "cov", "size")}
"""The methods that draw vectors, with their parameters; a vector is as long as the first of these."""

_PICKS = frozenset({"permutation", "permuted", "choice"})
METHODS = GENERATOR_SIZES.keys() | _VECTORS.keys() | _PICKS | {"rand", "randn"}
"""The methods of NumPy's random generators, and functions of `numpy.random`, that return arrays."""

_OF_JAX = {
    "jax.random.permutation": ("key", "x", "axis"),
    "jax.random.choice": ("key", "a", "shape", "replace", "p", "axis"),
    "jax.random.categorical": ("key", "logits", "axis", "shape"),
}

_INTEGERS = frozenset("integers randint poisson binomial geometric random_integers".split())
_PLACES = frozenset("argsort argmax argmin searchsorted digitize triu_indices tril_indices".split())
_MODULES = ("numpy.", "jax.numpy.")


def drawn(method: str, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of what a method of a random generator draws; None if it is unknown."""
    if any(arg.label in ("*", "**") for arg in args):
        return None
    if method in ("rand", "randn"):
        return sizes(Seq("tuple", tuple([arg.value for arg in args])))
    if method in _PICKS:
        return _picked(method, args)
    if method in _VECTORS:
        return _vectors(_VECTORS[method], args)
    if method not in GENERATOR_SIZES:
        return None
    found = by_parameter(("",) * GENERATOR_SIZES[method] + ("size",), args)
    size = found.get("size")
    if size is not None and size.value != Const(None):
        return sizes(size.value)
    # Without a size, arrays of parameters would give an array.
    others = [arg.value for arg in args if arg.label not in ("dtype", "endpoint", "size") and arg is not size]
    return () if all(shape_of(value) == () for value in others) else None


def _vectors(parameters: tuple[str, ...], args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(parameters, args)
    own = literal_shape(found[parameters[0]].value) if parameters[0] in found else None
    size = found.get("size")
    if own is None or len(own) != 1:
        return None
    if size is None or size.value == Const(None):
        return own
    count = sizes(size.value)
    return (*count, *own) if count is not None else None


def _picked(method: str, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a permutation of a number or an array, or of a choice from one."""
    is_choice = method == "choice"
    found = by_parameter(("a", "size", "replace", "p", "axis") if is_choice else ("x", "axis"), args)
    whole = found.get("a") or found.get("x")
    if whole is None:
        return None
    size = found["size"].value if "size" in found else Const(None)
    return _taken(whole.value, size if is_choice else None, found.get("axis"))


def _taken(whole: Value, size: Value | None, axis: Arg | None) -> Sizes | None:
    """Returns the shape of entries taken from an array, or from the numbers below a count.

    Args:
        whole: the array or the count.
        size: the shape of the choice, `None` for a single entry; no value for a permutation.
        axis: the axis along which entries are taken.
    """
    count = count_of(whole)
    shape = (count,) if count is not None else literal_shape(whole)
    if not shape:
        return None
    place = count_of(axis.value) if axis is not None else 0
    if size is None:
        return shape
    taken = () if size == Const(None) else sizes(size)
    if place is None or taken is None or not -len(shape) <= place < len(shape):
        return None
    place %= len(shape)
    return (*shape[:place], *taken, *shape[place + 1 :])


def drawn_by_jax(name: str, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a permutation, a choice or a category that `jax.random` draws; None for another function."""
    parameters = _OF_JAX.get(name)
    if parameters is None or any(arg.label in ("*", "**") for arg in args):
        return None
    found = by_parameter(parameters, args)
    size = found["shape"].value if "shape" in found else Const(None)
    if "logits" in found:
        shape, axis = shape_of(found["logits"].value), count_of(found["axis"].value) if "axis" in found else -1
        if size != Const(None):
            return sizes(size)
        if not shape or axis is None or not -len(shape) <= axis < len(shape):
            return None
        place = axis % len(shape)
        return (*shape[:place], *shape[place + 1 :])
    whole = found.get("x") or found.get("a")
    if whole is None:
        return None
    return _taken(whole.value, size if name == "jax.random.choice" else None, found.get("axis"))


def integers_from(name: str, args: tuple[Arg, ...], how: str = "") -> frozenset[object]:
    """Returns the label of integers if a function, or a method of a generator, certainly returns integers.

    Args:
        name: the canonical name of the function, or the name of the method.
        args: its arguments.
        how: "drawn" for a method of a random generator.
    """
    short = name.rpartition(".")[2]
    if how or name.startswith(("numpy.random.", "jax.random.")):
        if short in _INTEGERS:
            return NONE | {INTEGERS} if len(args) < 4 and not any(arg.label == "dtype" for arg in args) else NONE
        if short not in ("permutation", "choice"):
            return NONE
        of_jax = name.startswith("jax.random.")
        picked = [arg.value for arg in args if arg.label in (None, "a", "x")][of_jax : of_jax + 1]
        return NONE | {INTEGERS} if picked and _is_of_integers(picked[0]) else NONE
    if not name.startswith(_MODULES) or any(arg.label == "dtype" for arg in args):
        return NONE
    if short in _PLACES:
        return NONE | {INTEGERS}
    if short == "arange":
        return NONE | {INTEGERS} if args and len(args) < 4 and all(_is_integer(arg.value) for arg in args) else NONE
    if short in ("array", "asarray") and len(args) == 1:
        return NONE | {INTEGERS} if _is_of_integers(args[0].value) and not _is_integer(args[0].value) else NONE
    return NONE


def _is_integer(value: Value) -> bool:
    return count_of(value) is not None


def _is_of_integers(value: Value) -> bool:
    if isinstance(value, Seq):
        return bool(value.items) and not value.open and all(map(_is_of_integers, value.items))
    return _is_integer(value) or (isinstance(value, Data) and INTEGERS in value.labels)
