"""Calls under `jit` tracing: those to follow, those that work on traced values, and those that need concrete values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshlens.facts.nodes import (
    Argument,
    Attribute,
    Call,
    Comparison,
    ListDisplay,
    Name,
    Slice,
    TupleDisplay,
    last_name,
)
from meshlens.jaxapi.transparent import TRANSPARENT
from meshlens.project.trees import Node
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.object_kinds import kind_of_class
from meshlens.refactoring.reading.siblings import imported_function

if TYPE_CHECKING:
    from meshlens.refactoring.following.traced_model import Function, Kind
    from meshlens.refactoring.following.tracing import Walk

_PYTHON = frozenset(
    "len isinstance issubclass hasattr type callable super id jax.numpy.shape jax.numpy.ndim jax.numpy.size"
    " jax.tree.structure jax.tree_util.tree_structure jax.numpy.issubdtype jax.numpy.dtype jax.numpy.result_type"
    " jax.device_count jax.local_device_count jax.process_count jax.process_index jax.devices jax.eval_shape".split()
)
_NEEDS_VALUES = frozenset("float int bool complex str repr format round max min any all sorted set frozenset".split())
_TALKS = frozenset("print open input exec eval breakpoint".split())
_ITEMS = frozenset("item tolist numpy block_until_ready __array__ __float__ __int__ __bool__".split())
_HOST_OF_JAX = frozenset({"jax.device_get", "jax.block_until_ready"})
_CHANGES = frozenset("append extend insert pop remove clear setdefault add discard popitem write appendleft".split())
LIBRARIES = frozenset(
    "jax flax optax haiku equinox chex distrax diffrax einops numpyro jaxtyping functools operator itertools typing"
    " collections dataclasses copy math rlax tensorflow_probability lineax optimistix jraph kfac_jax objax brax gymnax"
    " blackjax evosax penzai haliax jaxopt ott clu abc enum types warnings typing_extensions contextlib"
    " ml_collections".split()
)
_NEEDS_PYTHON: dict[str, dict[str, tuple[int, ...]]] = {
    "jax.numpy": {
        **dict.fromkeys("zeros ones empty full eye identity tri".split(), (0,)),
        **dict.fromkeys("reshape broadcast_to tile repeat split array_split expand_dims".split(), (1,)),
        "arange": (0, 1, 2),
        "linspace": (2,),
    },
    "jax.random": {
        **dict.fromkeys(
            "normal uniform split exponential gumbel laplace logistic cauchy truncated_normal".split(), (1,)
        ),
        **dict.fromkeys("bernoulli gamma beta poisson categorical".split(), (2,)),
        "randint": (1,),
    },
    "jax.nn": {"one_hot": (1,)},
    "jax.lax": {"top_k": (1,), "broadcast": (1,), "reshape": (1,), "dynamic_slice": (2,), "iota": (1,)},
}
_KEYWORDS = frozenset("axis shape num length num_classes num_segments size dtype static_argnums unroll".split())
_MODULES = ("flax.linen.", "flax.nnx.", "haiku.", "equinox.nn.")
_OF_DATA = frozenset("nonzero argwhere flatnonzero unique setdiff1d intersect1d union1d trim_zeros".split())
_SCANS = {
    "jax.lax.scan": ("xs", 2),
    "haiku.dynamic_unroll": ("input_sequence", 1),
    "haiku.static_unroll": ("input_sequence", 1),
    "haiku.scan": ("xs", 2),
    "jax.lax.associative_scan": ("elems", 1),
}
_NUMPY = "numpy"
_PARTIAL = "functools.partial"
_LIKE_ITS_OPERAND = frozenset({"same", "grad", "value_and_grad", "jacobian"})


_ARRAY_METHODS = frozenset(
    "sum mean reshape astype transpose max min argmax argmin at dot squeeze flatten ravel any all std var clip round"
    " conj copy swapaxes take cumsum prod sort argsort items keys values get _replace replace apply_gradients"
    " apply_fn repeat diagonal trace nonzero searchsorted view cumprod choose compress index item tolist"
    " block_until_ready devices addressable_data numpy".split()
)


def indexed(walk: Walk, node: Node) -> None:
    """Notes the parts of an index that make the shape of the result unknown at compile time."""
    for part in node.items if isinstance(node, TupleDisplay) else (node,):
        if isinstance(part, Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    walk.needs(bound, "slices at")
        elif isinstance(part, Comparison) and walk.kind(part) != "python":
            walk.problem("python-value", f'selects rows with the mask "{walk.text(part)}"; use jnp.where')


def _shapes(walk: Walk, dotted: str, node: Call) -> None:
    """Notes arguments that determine a size."""
    module, _, name = dotted.rpartition(".")
    places = _NEEDS_PYTHON.get(module, {}).get(name, ())
    if module == "jax.numpy" and name in _OF_DATA and all(label != "size" for label, _, _ in node.arguments):
        walk.problem("python-value", f"calls {dotted}, whose result has a shape that depends on values")
    is_module = dotted.startswith(_MODULES) and name[:1].isupper()
    if "." not in dotted and isinstance(node.callee, Name):
        is_module = kind_of_class(walk.at.view, last_name(node.callee)) in ("linen", "nnx", "eqx")
    is_reshape = isinstance(node.callee, Attribute) and not dotted and node.callee.name == "reshape"
    for place, (label, _, value) in enumerate(node.arguments):
        counts = is_module or is_reshape or label in _KEYWORDS or (label is None and place in places)
        if counts and label not in ("rngs", "key", "*", "**"):
            walk.needs(value, "takes a size from")


def called(walk: Walk, node: Call, *, is_statement: bool) -> Kind:
    """Returns the kind of a call's result, and notes the parts that cannot be traced."""
    callee, arguments = node.callee, node.arguments
    known = walk.function(callee)
    if known is not None:
        return walk.follow(known, [(label, walk.given(value)) for label, _, value in arguments])
    dotted = dotted_name(walk.at.view, callee)
    if isinstance(callee, Name) and walk.at.found(callee.name) is None and not dotted:
        dotted = callee.name
    inner = _wrapped(walk, callee)
    if inner is not None:
        function, held = inner
        return walk.follow(function, [*held, *((label, walk.given(value)) for label, _, value in arguments)])
    if dotted in _TALKS:
        remedy = "; use jax.debug.print" if dotted == "print" else ""
        walk.problem("host-work", f"calls {dotted}(){remedy}")
    if dotted == "range" or dotted in _NEEDS_VALUES:
        for _, _, value in arguments:
            walk.needs(value, "loops over" if dotted == "range" else f"calls {dotted}() on")
        return "python"
    if dotted in _PYTHON:
        for _, _, value in arguments:
            walk.kind(value)
        return "python"
    if dotted in _SCANS:
        _scanned(walk, dotted, arguments)
    _library(walk, dotted, node)
    _shapes(walk, dotted, node)
    own = _method(walk, callee, is_statement=is_statement) if isinstance(callee, Attribute) and not dotted else "python"
    if not isinstance(callee, Attribute) and not dotted:
        own = walk.kind(callee)
        if own.startswith("="):
            walk.seen.objects.add(own[1:])
    elif isinstance(callee, Name):
        walk.kind(callee)
    kinds = [walk.kind(value) for _, _, value in arguments]
    if dotted.startswith(("jax.numpy.", "jax.random.", "jax.lax.", "jax.nn.")):
        return "value"
    return "python" if own == "python" and all(one == "python" for one in kinds) else "value"


def _scanned(walk: Walk, dotted: str, arguments: tuple[Argument, ...]) -> None:
    """Notes which arguments are scanned along their first axis, so that their rows are along the second axis."""
    label, place = _SCANS[dotted]
    positional = [value for said, _, value in arguments if said is None]
    given = next((value for said, _, value in arguments if said == label), None)
    if given is None and len(positional) > place:
        given = positional[place]
    for part in given.items if isinstance(given, (TupleDisplay, ListDisplay)) else (given,):
        kind = walk.kind(part) if part is not None else "python"
        if kind.startswith("="):
            walk.seen.scanned.add(kind[1:])


def _library(walk: Walk, dotted: str, node: Call) -> None:
    root = dotted.split(".")[0]
    if not dotted or root == dotted:
        return
    kinds = [walk.kind(value) for _, _, value in node.arguments]
    changed = next((kind for kind in kinds if kind != "python"), None)
    if root == _NUMPY and dotted.startswith("numpy.random."):
        walk.problem("host-work", f"calls {dotted}, which would draw numbers only once, during tracing")
    elif root in (_NUMPY, "math") and changed is not None:
        walk.problem("python-value", f"calls {dotted}, which needs concrete values; use jax.numpy", changed)
    elif dotted in _HOST_OF_JAX:
        walk.problem("host-work", f"calls {dotted}")
    elif root not in LIBRARIES and root != _NUMPY and not _is_of_project(walk, node.callee):
        walk.problem("unknown-function", f"calls {dotted}, which JAX may be unable to trace")


def _is_of_project(walk: Walk, callee: Node) -> bool:
    """Returns whether a callee is a function of the workspace or is named like a class."""
    return imported_function(walk.at.view, callee) is not None or _is_class_name(callee)


def _method(walk: Walk, callee: Attribute, *, is_statement: bool) -> Kind:
    own = walk.kind(callee.object)
    root = callee.object
    while isinstance(root, Attribute):
        root = root.object
    name = root.name if isinstance(root, Name) else ""
    if callee.name in _ITEMS and own != "python":
        walk.problem("python-value", f"calls .{callee.name}() on a traced value; return the array instead")
    if name and walk.is_from_outside(name):
        changes = callee.name in _CHANGES or (is_statement and callee.name in ("update", "reset"))
        if changes and not dotted_name(walk.at.view, callee.object):
            walk.changes(name)
    if own.startswith("=") and isinstance(callee.object, Name) and callee.name not in _ARRAY_METHODS:
        walk.seen.objects.add(own[1:])
    return own


def _wrapped(walk: Walk, callee: Node) -> tuple[Function, list[tuple[str | None, Kind | Function]]] | None:
    """Returns the function inside `grad(f, …)` and similar calls, with the arguments that a `partial` binds."""
    if not isinstance(callee, Call) or not callee.arguments:
        return None
    dotted = dotted_name(walk.at.view, callee.callee)
    row = TRANSPARENT.get(dotted)
    is_partial = dotted == _PARTIAL
    if not is_partial and (row is None or row.how not in _LIKE_ITS_OPERAND):
        return None
    operand = callee.arguments[0].value
    function = walk.function(operand)
    held = [(label, walk.given(value)) for label, _, value in callee.arguments[1:]] if is_partial else []
    if function is not None:
        return function, held
    inner = _wrapped(walk, operand)
    return (inner[0], [*inner[1], *held]) if inner is not None else None


def _is_class_name(callee: Node) -> bool:
    return last_name(callee)[:1].isupper()
