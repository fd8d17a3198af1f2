"""Traces a function with abstract arguments, whatever made it: jit, pmap, nnx.jit, filter_jit, or nothing."""

from __future__ import annotations

import sys
from typing import Any


class Traced:
    """A function that was traced.

    Attributes:
        jaxpr: what it computes.
        lower: gives the module that XLA compiles.
        shardings: what is known of where its results go.
    """

    def __init__(self, jaxpr: Any, lower: Any, shardings: Any = ()) -> None:
        self.jaxpr = jaxpr
        self.lower = lower
        self.shardings = shardings


def trace(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Returns the function traced with these arguments."""
    if _is_jitted(function):
        return _of_jit(function.trace(*args, **kwargs))
    if _is_old_pmap(function):
        import jax

        jaxpr = jax.make_jaxpr(function)(*args, **kwargs)
        return Traced(jaxpr, lambda: function.lower(*args, **kwargs))
    return _of_jit(_over_arrays(function, args, kwargs))


def _of_jit(traced: Any) -> Traced:
    out = getattr(traced, "out_info", ())
    return Traced(traced.jaxpr, traced.lower, out)


def _is_jitted(function: Any) -> bool:
    return (
        hasattr(function, "trace")
        and hasattr(function, "lower")
        and str(getattr(type(function), "__module__", "")).startswith("jax")
    )


def _is_old_pmap(function: Any) -> bool:
    return "PmapFunction" in type(function).__name__


def _over_arrays(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Traces a function of anything as one of its arrays alone; the rest of its arguments stays as it is."""
    import jax

    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    dynamic = [index for index, leaf in enumerate(leaves) if _is_array(leaf)]

    def over_arrays(*arrays: Any) -> Any:
        filled = list(leaves)
        for index, array in zip(dynamic, arrays):  # noqa: B905 - Python 3.8 and 3.9 have no strict
            filled[index] = array
        some_args, some_kwargs = jax.tree_util.tree_unflatten(tree, filled)
        result = function(*some_args, **some_kwargs)
        return [leaf for leaf in jax.tree_util.tree_leaves(result) if _is_array(leaf)]

    name = getattr(function, "__name__", "") or type(function).__name__
    over_arrays.__name__ = over_arrays.__qualname__ = str(name)
    return jax.jit(over_arrays).trace(*(leaves[index] for index in dynamic))


def _is_array(leaf: Any) -> bool:
    import jax

    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(leaf, (numpy.ndarray, numpy.generic))
