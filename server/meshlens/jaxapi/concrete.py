"""Functions that need some of their arguments as plain Python values, so that these cannot be traced."""

from __future__ import annotations

from typing import NamedTuple


class Concrete(NamedTuple):
    """The parameters of a function, and those of them that it needs as plain values.

    Attributes:
        parameters: the names of the leading parameters, in order.
        needed: the names of those whose values it needs; "*" for all positional arguments.
    """

    parameters: tuple[str, ...]
    needed: tuple[str, ...]


_SHAPE = Concrete(("shape",), ("shape",))
_ALL = Concrete((), ("*",))
_OF_KEY = Concrete(("key", "shape"), ("shape",))
_DRAWS = "bits cauchy exponential gumbel laplace logistic normal rademacher uniform".split()
_RANGE = Concrete(("start", "stop", "step"), ("start", "stop", "step"))
_STEPS = Concrete(("start", "stop", "num"), ("num",))
_STEPS_OF_NUMPY = Concrete(("start", "stop", "num"), ("start", "stop", "num"))
_SQUARE = Concrete(("N", "M"), ("N", "M"))
_SEGMENTS = Concrete(("data", "segment_ids", "num_segments"), ("num_segments",))

CONCRETE: dict[str, Concrete] = {
    "range": _ALL,
    "int": _ALL,
    "float": _ALL,
    "bool": _ALL,
    "jax.lax.scan": Concrete(("f", "init", "xs", "length"), ("length",)),
    "jax.lax.top_k": Concrete(("operand", "k"), ("k",)),
    "jax.lax.dynamic_slice_in_dim": Concrete(("operand", "start_index", "slice_size"), ("slice_size",)),
    "jax.lax.dynamic_slice": Concrete(("operand", "start_indices", "slice_sizes"), ("slice_sizes",)),
    "jax.lax.iota": Concrete(("dtype", "size"), ("size",)),
    "jax.lax.broadcasted_iota": Concrete(("dtype", "shape", "dimension"), ("shape",)),
    "jax.nn.one_hot": Concrete(("x", "num_classes"), ("num_classes",)),
    "jax.numpy.zeros": _SHAPE,
    "jax.numpy.ones": _SHAPE,
    "jax.numpy.empty": _SHAPE,
    "jax.numpy.full": _SHAPE,
    "jax.numpy.arange": _RANGE,
    **{f"jax.numpy.{name}": _STEPS for name in "linspace logspace geomspace".split()},
    "jax.numpy.eye": _SQUARE,
    "jax.numpy.identity": Concrete(("n",), ("n",)),
    "jax.numpy.tri": Concrete(("N", "M"), ("N", "M")),
    "jax.numpy.reshape": Concrete(("a", "shape"), ("shape",)),
    "jax.numpy.broadcast_to": Concrete(("array", "shape"), ("shape",)),
    "jax.numpy.tile": Concrete(("A", "reps"), ("reps",)),
    "jax.numpy.split": Concrete(("ary", "indices_or_sections", "axis"), ("indices_or_sections", "axis")),
    "jax.numpy.array_split": Concrete(("ary", "indices_or_sections", "axis"), ("indices_or_sections", "axis")),
    "jax.ops.segment_sum": _SEGMENTS,
    "jax.ops.segment_max": _SEGMENTS,
    "jax.ops.segment_min": _SEGMENTS,
    "jax.random.split": Concrete(("key", "num"), ("num",)),
    "jax.random.randint": _OF_KEY,
    "jax.random.choice": Concrete(("key", "a", "shape"), ("shape",)),
    "jax.random.bernoulli": Concrete(("key", "p", "shape"), ("shape",)),
    **{f"jax.random.{name}": _OF_KEY for name in _DRAWS},
    **{f"numpy.{name}": _SHAPE for name in "zeros ones empty".split()},
    **{f"numpy.{name}": _STEPS_OF_NUMPY for name in "linspace logspace geomspace".split()},
    "numpy.full": Concrete(("shape", "fill_value"), ("shape", "fill_value")),
    "numpy.arange": _RANGE,
    "numpy.eye": _SQUARE,
    "numpy.identity": Concrete(("n",), ("n",)),
    **{f"math.{name}": _ALL for name in "ceil cos exp floor log log2 log10 pow sin sqrt tan tanh trunc".split()},
}
"""The rows by canonical name; measured with a traced argument under `jit`, `pmap`, `scan` and `fori_loop`.

Each raises on JAX 0.6.2, 0.8.1, 0.10.2 and 0.12.0.1: a `ConcretizationTypeError`, a `TracerIntegerConversionError`, a
`TracerArrayConversionError`, or a `TypeError: Shapes must be 1D sequences of concrete values of integer type`.
"""

CONCRETE_METHODS: dict[str, str] = {"reshape": "arguments", "repeat": "arguments", "item": "array", "tolist": "array"}
"""For each method of arrays, the plain values that it needs: its "arguments", or that of the "array" itself."""
