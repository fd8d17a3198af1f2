"""The transformations that run their operand and bind nothing, and how each runs it."""

from __future__ import annotations

from dataclasses import dataclass

HOW: dict[str, str] = {
    "same": "returns a callable that takes the operand's arguments and returns its result",
    "pad": "returns a callable that pads and shards its non-static arguments, then passes them all to the operand",
    "lift": "returns a class or callable that is called like the operand but may return other results",
    "grad": "returns a callable like the operand that returns the gradient (with `has_aux`, also the auxiliary data)",
    "value_and_grad": "returns a callable that takes the operand's arguments and returns the value and the gradient",
    "jacobian": "returns a callable that takes the operand's arguments and returns derivatives",
    "eval_shape": "calls the operand with the remaining arguments; returns the shapes of its results",
    "vjp": "calls the operand with the remaining arguments; returns the value and a function of cotangents",
    "jvp": "calls the operand with the items of the second argument; returns the value and the tangent",
    "linearize": "calls the operand with the remaining arguments; returns the value and a linear function",
    "transposed": "calls the operand with the remaining arguments; returns its transpose",
    "make_jaxpr": "returns a callable that takes the operand's arguments and returns a jaxpr",
    "checkify": "returns a callable that takes the operand's arguments and returns an error and the value",
    "forward_backward": "returns two callables, the first of which is called like the operand",
    "scan": "calls operand(carry, x); returns (carry, stacked)",
    "cond": "calls one of the operands with the remaining arguments",
    "switch": "calls one item of the second argument with the remaining arguments",
    "while": "runs value = body(value) while cond(value) is true",
    "fori": "runs value = body(index, value) for each index",
    "map": "calls operand(x) for each row; stacks the results",
    "associative_scan": "calls operand(a, b) with two values of the same structure, and gets a third",
    "tree_map": "calls the operand with the corresponding leaf of each tree",
    "tree_map_with_path": "calls the operand with a path and the leaf at that path in each tree",
    "tree_reduce": "calls operand(value, leaf)",
    "callback": "calls the operand on the host, outside the axis environment, with the remaining arguments",
    "builtin_map": "calls the operand with one item from each iterable",
    "builtin_filter": "calls the operand with each item; yields the items that it accepts",
    "builtin_reduce": "calls operand(value, item)",
    "partial": "returns the operand with arguments bound",
    "partialmethod": "returns the operand with arguments bound after `self`",
    "run": "calls the operand once, with unknown arguments",
    "thread": "calls the operand later, with the arguments in `args` and `kwargs`",
    "submit": "calls the operand later, with the remaining arguments",
    "apply": "returns a callable that takes variables, then the arguments of the operand other than its module",
    "init": "returns a callable that takes keys, then the arguments of the operand other than its module",
    "transform": "returns an object with `init(key, *args)` and `apply(params, key, *args)`, which call the operand",
    "with_state": "returns a callable that takes the operand's arguments and returns a model and its state",
    "module_call": "calls the operand with a module and the remaining arguments",
    "module_grad": "calls the operand with a module and the remaining arguments; returns the gradient",
    "module_value_and_grad": (
        "calls the operand with a module and the remaining arguments; returns the value and the gradient"
    ),
    "solve": "calls the operand with values shaped like the second argument",
}
"""Every way to run an operand, by name."""


@dataclass(frozen=True, slots=True)
class Transparent:
    """A transformation that runs its operand and binds nothing.

    Attributes:
        how: a key of `HOW`.
        dotted: its canonical name.
        parameters: names of the positional parameters in order, up to `*rest`.
        operands: the parameters for functions; () if only the returned decorator takes one.
        rest: whether arguments after `parameters` are passed to the operand.
        factory: whether it may be called without the operand to get a decorator.
    """

    how: str
    dotted: str
    parameters: tuple[str, ...]
    operands: tuple[str, ...]
    rest: bool = False
    factory: bool = False

    @property
    def operand_indexes(self) -> tuple[int, ...]:
        """Returns the positions of the operands."""
        return tuple(self.parameters.index(name) for name in self.operands)


def _rows(
    how: str,
    parameters: str,
    names: str,
    *,
    operands: tuple[int, ...] = (0,),
    rest: bool = False,
    factory: bool = False,
) -> tuple[Transparent, ...]:
    """Returns one row per name; the operands are given by their positions among the parameters."""
    words = tuple(parameters.split())
    functions = tuple(words[place] for place in operands)
    return tuple(Transparent(how, dotted, words, functions, rest, factory) for dotted in names.split())


_JAX = (
    *_rows("same", "fun", "jax.jit", factory=True),
    *_rows("same", "fun", "jax.checkpoint jax.named_call jax.custom_gradient"),
    *_rows("same", "fun nondiff_argnums", "jax.custom_vjp jax.custom_jvp"),
    *_rows("same", "fun", "jax.custom_batching.custom_vmap jax.experimental.custom_partitioning.custom_partitioning"),
    *_rows("same", "f", "jax.custom_batching.sequential_vmap"),
    *_rows("same", "f", "jax.sharding.auto_axes jax.sharding.explicit_axes", factory=True),
    *_rows("same", "name", "jax.named_scope", operands=()),
    *_rows("same", "func name", "jax.profiler.annotate_function", factory=True),
    *_rows("same", "compute_type", "jax.experimental.compute_on.compute_on", operands=()),
    *_rows("same", "pyfunc", "jax.numpy.vectorize"),
    *_rows("same", "fun_jit", "jax.export.export"),
    *_rows("same", "fun", "jax.closure_convert", rest=True),
    *_rows("grad", "fun argnums has_aux holomorphic allow_int reduce_axes", "jax.grad"),
    *_rows("value_and_grad", "fun argnums has_aux holomorphic allow_int reduce_axes", "jax.value_and_grad"),
    *_rows("jacobian", "fun argnums has_aux holomorphic", "jax.jacfwd jax.jacrev jax.hessian"),
    *_rows("forward_backward", "fun argnums has_aux jitted", "jax.fwd_and_bwd"),
    *_rows("make_jaxpr", "fun static_argnums axis_env return_shape", "jax.make_jaxpr"),
    *_rows("checkify", "f errors", "jax.experimental.checkify.checkify"),
    *_rows("eval_shape", "fun", "jax.eval_shape", rest=True),
    *_rows("vjp", "fun", "jax.vjp", rest=True),
    *_rows("linearize", "fun", "jax.linearize", rest=True),
    *_rows("transposed", "fun", "jax.linear_transpose", rest=True),
    *_rows("jvp", "fun primals tangents", "jax.jvp jax.experimental.jet.jet"),
)
_CONTROL = (
    *_rows("scan", "f init xs length reverse unroll", "jax.lax.scan"),
    *_rows("cond", "pred true_fun false_fun", "jax.lax.cond", operands=(1, 2), rest=True),
    *_rows("switch", "index branches", "jax.lax.switch", operands=(1,), rest=True),
    *_rows("while", "cond_fun body_fun init_val", "jax.lax.while_loop", operands=(0, 1)),
    *_rows("fori", "lower upper body_fun init_val", "jax.lax.fori_loop", operands=(2,)),
    *_rows("map", "f xs", "jax.lax.map"),
    *_rows("associative_scan", "fn elems reverse axis", "jax.lax.associative_scan"),
    *_rows("associative_scan", "operands init_values computation dimensions", "jax.lax.reduce", operands=(2,)),
    *_rows("solve", "f initial_guess solve tangent_solve", "jax.lax.custom_root", operands=(0,)),
    *_rows("solve", "matvec b solve", "jax.lax.custom_linear_solve", operands=(0,)),
    *_rows("solve", "fun x0 args", "jax.scipy.optimize.minimize"),
    *_rows("map", "func1d axis arr", "jax.numpy.apply_along_axis"),
    *_rows("tree_map", "f tree", "jax.tree.map", rest=True),
    *_rows("tree_map_with_path", "f tree", "jax.tree.map_with_path", rest=True),
    *_rows("tree_reduce", "function tree initializer is_leaf", "jax.tree.reduce"),
    *_rows("callback", "callback result_shape_dtypes", "jax.pure_callback jax.experimental.io_callback", rest=True),
    *_rows("callback", "callback", "jax.debug.callback", rest=True),
    *_rows(
        "callback",
        "callback_func arg",
        "jax.experimental.host_callback.call jax.experimental.host_callback.id_tap",
    ),
    *_rows("partial", "func", "jax.tree_util.Partial", rest=True),
    *_rows("module_call", "f", "jax.experimental.pallas.run_scoped"),
    *_rows("same", "f", "jax.experimental.pallas.run_state"),
    *_rows("cond", "condition", "jax.experimental.pallas.when", operands=()),
)
_PYTHON = (
    *_rows("partial", "func", "functools.partial toolz.partial", rest=True),
    *_rows("partialmethod", "func", "functools.partialmethod", rest=True),
    *_rows("same", "user_function", "functools.cache"),
    *_rows("same", "maxsize typed", "functools.lru_cache", operands=(), factory=True),
    *_rows("same", "func", "functools.cached_property functools.singledispatch contextlib.contextmanager"),
    *_rows("same", "wrapped", "functools.wraps", operands=()),
    *_rows("same", "x", "typing.no_type_check beartype.beartype", factory=True),
    *_rows("same", "fn typechecker", "jaxtyping.jaxtyped", factory=True),
    *_rows("same", "func", "typeguard.typechecked typing.final typing.override", factory=True),
    *_rows("builtin_map", "func", "builtins.map map itertools.starmap", rest=True),
    *_rows("builtin_filter", "function iterable", "builtins.filter filter itertools.takewhile itertools.dropwhile"),
    *_rows("builtin_reduce", "function iterable initial", "functools.reduce"),
    *_rows("run", "main argv", "absl.app.run"),
    *_rows("run", "component", "fire.Fire tyro.cli simple_parsing.parse"),
    *_rows("run", "func", "atexit.register timeit.timeit"),
    *_rows("submit", "fn", "concurrent.futures.ThreadPoolExecutor.submit", rest=True),
    *_rows("thread", "group target name", "threading.Thread multiprocessing.Process", operands=(1,)),
)
_FLAX = (
    *_rows("lift", "target", "flax.linen.jit flax.linen.remat flax.linen.remat_scan flax.linen.map_variables"),
    *_rows("lift", "target", "flax.linen.add_metadata_axis flax.linen.scan flax.linen.partitioning.scan_with_axes"),
    *_rows("lift", "class_fn", "flax.linen.named_call"),
    *_rows("lift", "fn", "flax.core.lift.jit flax.core.lift.remat flax.core.lift.scan flax.core.lift.checkpoint"),
    *_rows("same", "fun", "flax.linen.compact flax.linen.nowrap"),
    *_rows("same", "fn", "flax.linen.custom_vjp"),
    *_rows("apply", "fn module", "flax.linen.apply"),
    *_rows("init", "fn module", "flax.linen.init flax.linen.init_with_output"),
    *_rows("while", "cond_fn body_fn mdl init", "flax.linen.while_loop", operands=(0, 1)),
    *_rows("cond", "pred true_fun false_fun", "flax.linen.cond", operands=(1, 2), rest=True),
    *_rows("switch", "index branches", "flax.linen.switch", operands=(1,), rest=True),
    *_rows("module_grad", "fn mdl", "flax.linen.grad", rest=True),
    *_rows("module_value_and_grad", "fn mdl", "flax.linen.value_and_grad", rest=True),
    *_rows("vjp", "fn", "flax.linen.vjp", rest=True),
    *_rows("jvp", "fn mdl primals tangents", "flax.linen.jvp"),
    *_rows("same", "fun", "flax.nnx.jit flax.nnx.custom_vjp", factory=True),
    *_rows("same", "f", "flax.nnx.remat", factory=True),
    *_rows("grad", "f", "flax.nnx.grad", factory=True),
    *_rows("value_and_grad", "f", "flax.nnx.value_and_grad", factory=True),
    *_rows("lift", "f", "flax.nnx.scan", factory=True),
    *_rows("same", "node", "flax.nnx.split_rngs", operands=()),
    *_rows("cond", "pred true_fun false_fun", "flax.nnx.cond", operands=(1, 2), rest=True),
    *_rows("switch", "index branches", "flax.nnx.switch", operands=(1,), rest=True),
    *_rows("while", "cond_fun body_fun init_val", "flax.nnx.while_loop", operands=(0, 1)),
    *_rows("fori", "lower upper body_fun init_val", "flax.nnx.fori_loop", operands=(2,)),
    *_rows("eval_shape", "f", "flax.nnx.eval_shape", rest=True),
    *_rows("vjp", "f", "flax.nnx.vjp", rest=True),
    *_rows("jvp", "f primals tangents", "flax.nnx.jvp"),
    *_rows("checkify", "f errors", "flax.nnx.checkify"),
    *_rows("partial", "f", "flax.nnx.cached_partial", rest=True),
    *_rows("pad", "wrapped static_argnums static_argnames static_return", "flax.jax_utils.pad_shard_unpad"),
    *_rows("scan", "body_fn init xs", "flax.jax_utils.scan_in_dim"),
    *_rows("eval_shape", "fn input_spec", "flax.jax_utils.partial_eval_by_shape"),
    *_rows("tree_map_with_path", "f nested_dict", "flax.traverse_util.path_aware_map"),
    *_rows(
        "value_and_grad",
        "self fun argnums has_aux",
        "flax.training.dynamic_scale.DynamicScale.value_and_grad",
        operands=(1,),
    ),
)
_LIBRARIES = (
    *_rows("transform", "f", "haiku.transform haiku.transform_with_state haiku.multi_transform"),
    *_rows("same", "f", "haiku.without_apply_rng"),
    *_rows("same", "fun", "haiku.remat"),
    *_rows("same", "method", "haiku.transparent"),
    *_rows("lift", "init_fn", "haiku.lift haiku.transparent_lift"),
    *_rows("lift", "num_layers", "haiku.experimental.layer_stack", operands=()),
    *_rows("grad", "fun argnums has_aux holomorphic", "haiku.grad"),
    *_rows("value_and_grad", "fun argnums has_aux holomorphic", "haiku.value_and_grad"),
    *_rows("scan", "f init xs length reverse unroll", "haiku.scan"),
    *_rows("cond", "pred true_fun false_fun", "haiku.cond", operands=(1, 2), rest=True),
    *_rows("switch", "index branches", "haiku.switch", operands=(1,), rest=True),
    *_rows("while", "cond_fun body_fun init_val", "haiku.while_loop", operands=(0, 1)),
    *_rows("fori", "lower upper body_fun init_val", "haiku.fori_loop", operands=(2,)),
    *_rows("map", "f xs", "haiku.map"),
    *_rows("eval_shape", "fun", "haiku.eval_shape", rest=True),
    *_rows("tree_map_with_path", "fn structure", "haiku.data_structures.map"),
    *_rows("same", "fun", "equinox.filter_jit equinox.filter_checkpoint", factory=True),
    *_rows("same", "fn", "equinox.filter_custom_vjp equinox.filter_custom_jvp equinox.internal.noinline"),
    *_rows("same", "fn", "equinox.debug.assert_max_traces", factory=True),
    *_rows("same", "fn", "equinox.filter_closure_convert", rest=True),
    *_rows("with_state", "make_model", "equinox.nn.make_with_state"),
    *_rows("grad", "fun", "equinox.filter_grad", factory=True),
    *_rows("value_and_grad", "fun", "equinox.filter_value_and_grad", factory=True),
    *_rows("jacobian", "fun has_aux", "equinox.filter_jacfwd equinox.filter_jacrev equinox.filter_hessian"),
    *_rows("jvp", "fn primals tangents", "equinox.filter_jvp"),
    *_rows("vjp", "fun", "equinox.filter_vjp", rest=True),
    *_rows("make_jaxpr", "fun", "equinox.filter_make_jaxpr"),
    *_rows("eval_shape", "fun", "equinox.filter_eval_shape", rest=True),
    *_rows("callback", "callback", "equinox.filter_pure_callback", rest=True),
    *_rows("scan", "f init xs length", "equinox.internal.scan"),
    *_rows("while", "cond_fun body_fun init_val", "equinox.internal.while_loop", operands=(0, 1)),
    *_rows("same", "fn n", "chex.assert_max_traces", factory=True),
    *_rows("same", "fn", "chex.chexify chex.with_jittable_assertions"),
    *_rows("same", "test_method", "chex.variants chex.all_variants", factory=True),
    *_rows("value_and_grad", "value_fn", "optax.value_and_grad_from_state"),
    *_rows("grad", "f variables input_argnums", "objax.Grad"),
    *_rows("value_and_grad", "f variables input_argnums", "objax.GradValues"),
    *_rows("same", "f vc static_argnums", "objax.Jit"),
    *_rows("lift", "fn", "haliax.named_jit haliax.partitioning.named_jit", factory=True),
    *_rows("lift", "f axis", "haliax.scan haliax.fold haliax.map"),
    *_rows("same", "fn", "haliax.checkpoint"),
)

TRANSPARENT: dict[str, Transparent] = {row.dotted: row for row in (*_JAX, *_CONTROL, *_PYTHON, *_FLAX, *_LIBRARIES)}

STACKING: frozenset[str] = frozenset({"scan", "scan_with_axes", "remat_scan", "add_metadata_axis", "map_variables"})
"""The last parts of the names of flax's transformations after which a module's parameters may have another axis."""

COMPILES: frozenset[str] = frozenset(
    name for name in TRANSPARENT if name.rsplit(".", 1)[-1] in ("jit", "filter_jit", "named_jit")
)
"""The transformations that compile their operand."""


def transparent(dotted: str) -> Transparent | None:
    """Returns the transparent transformation with the given canonical name, or None."""
    return TRANSPARENT.get(dotted)
