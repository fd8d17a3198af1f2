"""Traces a function with abstract arguments, whether it is plain or transformed by jit, pmap, nnx.jit or filter_jit."""

from __future__ import annotations

import sys
from typing import Any


class Traced:
    """A traced function.

    Attributes:
        jaxpr: its jaxpr.
        lower: returns the module that XLA compiles.
        shardings: the known shardings of its results.
    """

    def __init__(self, jaxpr: Any, lower: Any, shardings: Any = ()) -> None:
        self.jaxpr = jaxpr
        self.lower = lower
        self.shardings = shardings


def trace(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Returns the function traced with these arguments."""
    args, kwargs = _on_devices((args, kwargs))
    if _is_old_pmap(function):
        import jax

        # In some releases, pmap's own `trace` does not know the axis.
        jaxpr = jax.make_jaxpr(function)(*args, **kwargs)
        return Traced(jaxpr, lambda: function.lower(*args, **kwargs))
    if _is_jitted(function):
        return _of_jit(function.trace(*args, **kwargs))
    return _of_jit(_over_arrays(function, args, kwargs))


def _of_jit(traced: Any) -> Traced:
    out = getattr(traced, "out_info", ())
    return Traced(traced.jaxpr, traced.lower, out)


def is_transformed(function: Any) -> bool:
    """Returns whether `jit` or `pmap` compiles a function as a whole."""
    return _is_jitted(function) or _is_old_pmap(function)


def _is_jitted(function: Any) -> bool:
    return (
        hasattr(function, "trace")
        and hasattr(function, "lower")
        and str(getattr(type(function), "__module__", "")).startswith("jax")
    )


def _is_old_pmap(function: Any) -> bool:
    return "PmapFunction" in type(function).__name__


def _over_arrays(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Traces a function with respect to its array arguments only; its other arguments are constants."""
    import jax

    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    nnx = sys.modules.get("flax.nnx")
    if nnx is not None and any(isinstance(leaf, nnx.Object) for leaf in leaves):
        return _over_state(function, leaves, tree)
    dynamic = [index for index, leaf in enumerate(leaves) if _is_array(leaf)]

    def over_arrays(*arrays: Any) -> Any:
        filled = list(leaves)
        for index, array in zip(dynamic, arrays):  # noqa: B905 - Python 3.8 and 3.9 have no strict
            filled[index] = array
        given = jax.tree_util.tree_unflatten(tree, filled)
        result = function(*given[0], **given[1])
        # Changes to objects passed to a function are results too.
        before = set(map(id, arrays))
        left = [leaf for leaf in jax.tree_util.tree_leaves(given) if id(leaf) not in before]
        return [leaf for leaf in (*jax.tree_util.tree_leaves(result), *left) if _is_array(leaf)]

    name = getattr(function, "__name__", "") or type(function).__name__
    over_arrays.__name__ = over_arrays.__qualname__ = str(name)
    return jax.jit(over_arrays).trace(*(leaves[index] for index in dynamic))


def _over_state(function: Any, leaves: list[Any], tree: Any) -> Any:
    """Traces a function with nnx objects among its arguments, in flax releases in which these are not pytrees."""
    import jax

    nnx = sys.modules["flax.nnx"]
    objects = [index for index, leaf in enumerate(leaves) if isinstance(leaf, nnx.Object)]
    dynamic = [index for index, leaf in enumerate(leaves) if _is_array(leaf)]
    graph, state = nnx.split([leaves[index] for index in objects])

    def over_state(state: Any, arrays: list[Any]) -> Any:
        filled = list(leaves)
        merged = nnx.merge(graph, state)
        for index, value in [*zip(objects, merged), *zip(dynamic, arrays)]:  # noqa: B905
            filled[index] = value
        given = jax.tree_util.tree_unflatten(tree, filled)
        result = function(*given[0], **given[1])
        left = nnx.split(merged)[1]
        return [leaf for leaf in jax.tree_util.tree_leaves((result, left)) if _is_array(leaf)]

    over_state.__name__ = over_state.__qualname__ = str(getattr(function, "__name__", "") or "over_state")
    return jax.jit(over_state).trace(state, [leaves[index] for index in dynamic])


def _on_devices(tree: Any) -> Any:
    """Moves abstract arrays sharded over an AbstractMesh to a mesh of the devices, so that XLA partitions them."""
    import jax

    def of(leaf: Any) -> Any:
        mesh: Any = getattr(getattr(leaf, "sharding", None), "mesh", None)
        devices = jax.devices()
        if type(mesh).__name__ != "AbstractMesh" or mesh.size != len(devices) or not hasattr(leaf.sharding, "spec"):
            return leaf
        import numpy

        shape = tuple(mesh.shape.values())
        kinds = getattr(mesh, "axis_types", None)
        more = {"axis_types": kinds} if isinstance(kinds, tuple) else {}
        concrete = jax.sharding.Mesh(numpy.array(devices).reshape(shape), tuple(mesh.shape), **more)
        sharding = jax.sharding.NamedSharding(concrete, leaf.sharding.spec)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    return jax.tree_util.tree_map(of, tree)


def _is_array(leaf: Any) -> bool:
    import jax

    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(leaf, (numpy.ndarray, numpy.generic))
