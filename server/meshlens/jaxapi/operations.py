"""The effect of operations on rows: whether they work on each row, are linear, take a sum or mean, or mix rows.

The tests run each operation in a checked `shard_map` on eight devices and compare its effect with the type that JAX
gives the result.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "rowwise",
    "curved",
    "linear",
    "added",
    "subtracted",
    "multiplied",
    "divided",
    "bounded",
    "product",
    "chosen",
    "judged",
    "mixed",
    "sum",
    "mean",
    "reduction",
    "verdict",
    "along",
    "transposed",
    "constant",
    "zeros",
    "zeros_like",
    "constant_like",
    "second",
    "reshaped",
    "arranged",
    "inner",
    "reordered",
    "rearranged",
    "counted",
    "looked up",
    "untold",
]
"""The ways in which an operation can treat its arguments.

"rowwise": each element separately; "curved": the same, but certainly not linear;
"linear": one argument, whose elements may move within their rows;
"added", "subtracted", "multiplied", "divided", "product": `+ - * / @`; "bounded": `maximum` and similar functions;
"chosen": the first argument selects from the others;
"judged": a boolean or position for each element; "mixed": anything; "sum", "mean", "reduction", "verdict": over the
dimensions in `axis`, or all of them, a verdict being a boolean or position; "along": works along `axis`, by default the
last one, and keeps its shape; "transposed": reverses the dimensions; "constant", "zeros": the arguments are sizes;
"zeros_like", "constant_like": only the shape of the argument counts; "second": the second argument unchanged;
"reshaped": the same elements in the same order; "arranged": the elements of the arguments, moved, joined, repeated or
added up along an axis; "inner": any function along an axis, of one or several arrays; "reordered": dimensions in
another order; "rearranged": some or all elements of one array, in other places; "counted": how many times each number
occurs, as in `bincount`; "looked up": the entries of a table for indices along an axis; "untold": unknown.
"""


def _names(modules: str, names: str) -> tuple[str, ...]:
    return tuple(f"jax.{module}.{name}" for module in modules.split() for name in names.split())


def _of_flax(names: str) -> tuple[str, ...]:
    return tuple(f"flax.{module}.{name}" for module in ("linen", "nnx") for name in names.split())


_ELEMENTS = (
    "abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cbrt ceil "
    "cos cosh deg2rad degrees exp exp2 expm1 fabs floor frexp i0 log log10 log1p log2 "
    "modf nan_to_num rad2deg radians reciprocal rint round sign sin sinc sinh sqrt square tan tanh trunc "
    "arctan2 atan2 float_power fmod heaviside hypot ldexp logaddexp logaddexp2 mod nextafter pow power remainder "
    "copysign fmax fmin gcd lcm bitwise_and bitwise_not bitwise_or bitwise_xor left_shift right_shift "
    "invert signbit spacing floor_divide clip"
)
_LAX_ELEMENTS = (
    "abs acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clamp clz cos cosh "
    "digamma erf erf_inv erfc exp exp2 expm1 floor igamma igammac integer_pow is_finite lgamma log log1p logistic "
    "nextafter pow population_count rem round rsqrt sign sin sinh sqrt square tan tanh"
)
_ACTIVATIONS = (
    "celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid mish relu relu6 selu sigmoid "
    "silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish"
)
_SPECIAL = (
    "betainc betaln digamma entr erf erfc erfinv expit expn gammainc gammaincc gammaln i0 i0e i1 i1e "
    "kl_div log_ndtr logit ndtr ndtri polygamma rel_entr xlog1py xlogy zeta gamma"
)
_CURVED = "exp exp2 expm1 log log1p sqrt square pow"
_COMPARISONS = "equal greater greater_equal less less_equal not_equal isclose"
_VERDICTS = "isfinite isinf isnan isneginf isposinf iscomplex isreal logical_not"
_ALONG = "sort argsort diff"
_OVER_ALL = "gradient full linspace logspace geomspace"

OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(_names("numpy", _ELEMENTS), "rowwise"),
    **dict.fromkeys(_names("lax", _LAX_ELEMENTS), "rowwise"),
    **dict.fromkeys(_names("nn", _ACTIVATIONS), "rowwise"),
    **dict.fromkeys(_names("scipy.special", _SPECIAL), "rowwise"),
    **dict.fromkeys(_names("numpy lax", _CURVED), "curved"),
    **dict.fromkeys(_names("numpy", "maximum minimum"), "bounded"),
    **dict.fromkeys(_names("lax", "max min"), "bounded"),
    **dict.fromkeys(_names("numpy", "negative positive real imag conj conjugate astype copy array asarray"), "linear"),
    **dict.fromkeys(_names("lax", "neg real imag conj convert_element_type stop_gradient"), "linear"),
    **dict.fromkeys(_names("numpy", "float32 float16 bfloat16 int32 int8 uint8"), "linear"),
    "optax.tree.cast": "linear",
    **dict.fromkeys(_names("numpy", "add"), "added"),
    **dict.fromkeys(_names("numpy", "subtract"), "subtracted"),
    **dict.fromkeys(_names("lax", "add"), "added"),
    **dict.fromkeys(_names("lax", "sub"), "subtracted"),
    **dict.fromkeys(_names("numpy", "multiply"), "multiplied"),
    **dict.fromkeys(_names("lax", "mul"), "multiplied"),
    **dict.fromkeys(_names("numpy", "divide true_divide"), "divided"),
    **dict.fromkeys(_names("lax", "div"), "divided"),
    **dict.fromkeys(_names("numpy", "dot matmul"), "product"),
    **dict.fromkeys(_names("lax", "dot"), "product"),
    **dict.fromkeys(_names("numpy", "where"), "chosen"),
    **dict.fromkeys(_names("lax", "select"), "chosen"),
    **dict.fromkeys(_names("numpy", f"{_COMPARISONS} {_VERDICTS} logical_and logical_or logical_xor"), "judged"),
    **dict.fromkeys(_names("lax", "eq ge gt le lt ne"), "judged"),
    **dict.fromkeys(_names("numpy", "sum nansum"), "sum"),
    **dict.fromkeys(_names("numpy", "mean nanmean average"), "mean"),
    **dict.fromkeys(
        _names("numpy", "max min amax amin nanmax nanmin prod nanprod std var nanstd nanvar median nanmedian ptp"),
        "reduction",
    ),
    **dict.fromkeys(_names("nn", "logsumexp logmeanexp"), "reduction"),
    "jax.scipy.special.logsumexp": "reduction",
    "jax.scipy.special.bessel_jn": "mixed",
    "jax.nn.one_hot": "rowwise",
    **dict.fromkeys(_names("numpy", "all any argmax argmin nanargmax nanargmin count_nonzero"), "verdict"),
    **dict.fromkeys(_names("lax", "argmax argmin"), "verdict"),
    **dict.fromkeys(_names("nn", "softmax log_softmax standardize glu"), "along"),
    **dict.fromkeys(_names("numpy", _ALONG), "along"),
    **dict.fromkeys(_names("numpy", _OVER_ALL), "mixed"),
    **dict.fromkeys(_names("numpy", "reshape ravel"), "reshaped"),
    "jax.lax.reshape": "mixed",
    **dict.fromkeys(_names("numpy", "concatenate stack expand_dims squeeze repeat flip roll cumsum pad"), "arranged"),
    **dict.fromkeys(_names("lax", "concatenate expand_dims cumsum pad"), "arranged"),
    **dict.fromkeys(_names("numpy", "take_along_axis cumprod nancumsum nancumprod linalg.norm"), "inner"),
    **dict.fromkeys(_names("lax", "cumprod cummax cummin cumlogsumexp"), "inner"),
    **dict.fromkeys(_names("numpy", "swapaxes moveaxis"), "reordered"),
    "jax.lax.transpose": "reordered",
    **dict.fromkeys(_names("numpy", "flipud fliplr rot90 triu tril diag diagonal trace"), "rearranged"),
    "jax.numpy.bincount": "counted",
    "jax.numpy.take": "looked up",
    **dict.fromkeys(_names("lax", "rev sort"), "mixed"),
    "jax.numpy.full_like": "untold",
    "jax.numpy.transpose": "transposed",
    **dict.fromkeys(_names("numpy", "zeros"), "zeros"),
    **dict.fromkeys(_names("numpy", "ones empty eye identity arange tri"), "constant"),
    **dict.fromkeys(_names("numpy", "zeros_like"), "zeros_like"),
    **dict.fromkeys(_names("numpy", "ones_like empty_like"), "constant_like"),
    **dict.fromkeys(_names("numpy", "shape ndim size result_type finfo iinfo issubdtype dtype"), "constant"),
    "len": "constant",
    "range": "constant",
    **dict.fromkeys(_names("lax", "with_sharding_constraint"), "linear"),
    "jax.device_put": "linear",
    **dict.fromkeys(_names("lax", "iota broadcasted_iota axis_size"), "constant"),
    **dict.fromkeys(
        _names(
            "numpy",
            "rollaxis vstack hstack dstack tile "
            "broadcast_to kron "
            "append insert delete resize searchsorted digitize interp convolve correlate polyval cross outer inner "
            "vdot tensordot einsum cov corrcoef quantile percentile nanquantile histogram unwrap vander "
            "select column_stack atleast_1d atleast_2d atleast_3d partition argpartition lexsort "
            "trapezoid ediff1d vecdot matvec vecmat fill_diagonal",
        ),
        "mixed",
    ),
    **dict.fromkeys(
        _names(
            "lax",
            "broadcast broadcast_in_dim squeeze slice slice_in_dim "
            "dynamic_slice dynamic_slice_in_dim dynamic_update_slice dynamic_update_slice_in_dim index_in_dim "
            "dynamic_index_in_dim dot_general batch_matmul top_k full_like reduce_max reduce_min "
            "reduce_sum collapse optimization_barrier",
        ),
        "mixed",
    ),
    **dict.fromkeys(_of_flax("dot_product_attention"), "rowwise"),
    "jax.nn.dot_product_attention": "mixed",
    **dict.fromkeys(
        _names("numpy.linalg", "det slogdet inv solve pinv qr svd eigh eigvalsh cholesky matrix_power lstsq"),
        "mixed",
    ),
    **dict.fromkeys(_names("numpy.fft", "fft ifft rfft irfft fft2 ifft2 fftn ifftn fftshift ifftshift"), "mixed"),
    **dict.fromkeys(_names("scipy.linalg", "cholesky solve_triangular expm"), "mixed"),
    **dict.fromkeys(_names("scipy.stats.norm", "cdf logcdf logpdf pdf ppf"), "rowwise"),
    **dict.fromkeys(_names("tree", "leaves"), "linear"),
    **dict.fromkeys(_names("tree", "unflatten"), "second"),
    **dict.fromkeys(_of_flax("make_attention_mask combine_masks"), "rowwise"),
    **dict.fromkeys(_of_flax("make_causal_mask"), "constant"),
    "flax.training.common_utils.onehot": "rowwise",
    **dict.fromkeys(_of_flax("avg_pool max_pool min_pool"), "along"),
    "optax.global_norm": "mixed",
    "optax.tree.norm": "mixed",
    "optax.apply_updates": "added",
    "optax.incremental_update": "mixed",
    "optax.l2_loss": "rowwise",
    "optax.squared_error": "rowwise",
    "optax.huber_loss": "rowwise",
    "optax.log_cosh": "rowwise",
    "optax.sigmoid_binary_cross_entropy": "rowwise",
    "optax.softmax_cross_entropy": "along",
    "optax.softmax_cross_entropy_with_integer_labels": "along",
    "optax.safe_softmax_cross_entropy": "along",
    "optax.cosine_similarity": "along",
    "optax.cosine_distance": "along",
    "optax.hinge_loss": "rowwise",
    "optax.smooth_labels": "rowwise",
}
"""Canonical names of functions and their effect on rows."""

AXES: dict[str, tuple[int, int | None]] = {
    "concatenate": (1, 0),
    "stack": (1, 0),
    "expand_dims": (1, None),
    "squeeze": (1, None),
    "repeat": (2, None),
    "flip": (1, None),
    "roll": (2, None),
    "cumsum": (1, None),
    "cumprod": (1, None),
    "nancumsum": (1, None),
    "nancumprod": (1, None),
    "cummax": (1, 0),
    "cummin": (1, 0),
    "cumlogsumexp": (1, 0),
    "pad": (3, None),
    "take_along_axis": (2, -1),
    "norm": (2, None),
    "take": (2, None),
}
"""For functions along an axis: the position of the `axis` argument, and the axis if it is omitted (None: all axes)."""

AT = "jax.Array.at"
"""The value of `made_by` for `x.at`, through which parts of `x` are selected and replaced."""

UPDATES = frozenset("set add subtract multiply divide power min max apply".split())
"""Methods of `x.at[i]` that return an array with the shape of `x`."""

METHODS: dict[str, Kind] = {
    "at_set": "mixed",
    "sum": "sum",
    "mean": "mean",
    **dict.fromkeys("max min prod std var".split(), "reduction"),
    **dict.fromkeys("all any argmax argmin".split(), "verdict"),
    **dict.fromkeys("astype copy block_until_ready conj conjugate".split(), "linear"),
    **dict.fromkeys("round clip".split(), "rowwise"),
    **dict.fromkeys("argsort sort".split(), "along"),
    **dict.fromkeys("reshape flatten ravel".split(), "reshaped"),
    **dict.fromkeys("squeeze repeat cumsum".split(), "arranged"),
    "cumprod": "inner",
    "swapaxes": "reordered",
    "dot": "product",
    "transpose": "transposed",
    **dict.fromkeys("diagonal trace".split(), "rearranged"),
}
"""Methods of arrays and their effect on rows."""

ELEMENTWISE = frozenset(
    "sin cos tan tanh exp log sqrt abs square relu gelu silu sigmoid add subtract multiply divide maximum "
    "minimum power where negative sign floor ceil round clip astype".split()
)
"""Elementwise functions, in any library: their result has the broadcast shape of their arguments."""
