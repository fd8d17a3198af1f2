"""Compares the functions that we say need plain values with JAX itself, which is called with tracers."""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

import pytest

from meshlens.axes.jax.traced import STAGED
from meshlens.jaxapi.concrete import CONCRETE, CONCRETE_METHODS

pytestmark = pytest.mark.jax

_BUILT_IN = {"range": range, "int": int, "float": float, "bool": bool}
_MORE: dict[str, dict[str, Any]] = {
    "jax.numpy.full": {"fill_value": 1.0},
    "jax.random.randint": {"minval": 0, "maxval": 3},
}
_SHAPES: dict[str, tuple[int, ...]] = {"jax.numpy.reshape": (-1,), "jax.numpy.broadcast_to": (8, 4)}
"""The other sizes in the shape that a function is called with."""


def _sample(function: str, parameter: str) -> Any:
    """Returns a plain argument for a parameter of a function."""
    import jax
    from jax import numpy as jnp

    samples = {
        "f": lambda carry, _: (carry, None),
        "key": jax.random.key(0),
        "dtype": "float32",
        "xs": None,
        "x": jnp.zeros(8, int),
        "segment_ids": jnp.zeros(8, int),
        "p": 0.5,
        "start_indices": (0, 0),
    }
    if parameter == "start":
        return 1  # Geometric sequences have no zero.
    if parameter in ("start_index", "axis", "dimension"):
        return 0
    if parameter in ("operand", "ary", "a", "A", "array", "data", "init"):
        return jnp.ones((8, 4))
    return samples.get(parameter, 4)


def _call(function: str, needed: str, number: Any) -> None:
    """Calls a function with a number, perhaps a tracer, for a parameter that needs a plain value."""
    if needed == "*":
        called: Any = _BUILT_IN.get(function) or getattr(math, function.removeprefix("math."))
        called(*((number, 1) if function == "math.pow" else (number,)))
        return
    package, *steps = function.split(".")
    called = functools.reduce(getattr, steps, importlib.import_module(package))
    row = CONCRETE[function]
    given = {name: _sample(function, name) for name in row.parameters}
    is_shape = needed in ("shape", "slice_sizes")
    given[needed] = (number, *_SHAPES.get(function, (1,))) if is_shape else number
    called(*given.values(), **_MORE.get(function, {}))


@pytest.mark.parametrize(
    ("function", "needed"), [(name, needed) for name, row in CONCRETE.items() for needed in row.needed]
)
def test_a_plain_value_works_and_a_tracer_does_not(function: str, needed: str) -> None:
    import jax

    _call(function, needed, 1)
    with pytest.raises((TypeError, jax.errors.JAXTypeError)):
        jax.jit(lambda number: _call(function, needed, number))(1)


@pytest.mark.parametrize("method", CONCRETE_METHODS)
def test_methods_work_outside_jit_and_not_inside(method: str) -> None:
    import jax
    from jax import numpy as jnp

    def called(array: Any, number: Any) -> None:
        getattr(array, method)(*((number,) if CONCRETE_METHODS[method] == "arguments" else ()))

    called(jnp.ones(1), 1)
    with pytest.raises((TypeError, jax.errors.JAXTypeError)):
        jax.jit(called)(jnp.ones(1), 1)


def test_functions_that_jax_stages_out_return_tracers_of_constants() -> None:
    import jax
    import numpy as np

    found: dict[str, bool] = {}

    @jax.jit
    def traced() -> int:
        for dotted in sorted(STAGED):
            name = dotted.rpartition(".")[2]
            count = 2 if name in ("isclose", "allclose", "array_equal") else 1
            result = getattr(jax.numpy, name)(*(np.ones(3),) * count)
            found[dotted] = isinstance(result, jax.core.Tracer)
        return 0

    traced()
    assert found == dict.fromkeys(STAGED, True)
