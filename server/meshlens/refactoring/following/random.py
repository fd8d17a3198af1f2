"""Random numbers in a function that runs on several devices: their keys, and the rows that they are drawn for."""

from __future__ import annotations

import re

from meshlens.facts.nodes import Attribute, Call, Constant, Expression, Name, Subscript, TupleDisplay
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.following import Follow
from meshlens.refactoring.following.kinds import SAME, Kind, flat, over_rows
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, dotted_name, reached

KEYS = re.compile(r"(?:\w*_)?(?:key|rng|prng|rng_key|prng_key)\d*")
"""Matches names of parameters and variables that hold one key."""
_SEVERAL = re.compile(r"(?:\w*_)?(?:keys|rngs|seeds|sequence)\d*")
_MAKES = frozenset({"PRNGKey", "key", "wrap_key_data"})
_CHANGES = frozenset({"split", "fold_in", "clone"})
_SHAPE_PLACES = {
    **dict.fromkeys("normal uniform exponential gumbel laplace cauchy logistic rademacher bits ball".split(), 1),
    **dict.fromkeys("randint maxwell t rayleigh".split(), 1),
    **dict.fromkeys("bernoulli poisson gamma dirichlet geometric weibull_min pareto".split(), 2),
    **dict.fromkeys("truncated_normal beta binomial multivariate_normal categorical".split(), 3),
}
_BY_ENTRY = frozenset({"bernoulli", "poisson", "gamma", "exponential", "beta", "binomial", "categorical"})


def is_key(name: str) -> bool:
    """Returns whether a parameter of this name holds one random key."""
    return KEYS.fullmatch(name) is not None


def holds_keys(name: str) -> bool:
    """Returns whether a parameter of this name holds several keys, or an object that provides them."""
    return _SEVERAL.fullmatch(name) is not None


def streams_of(view: FileView, target: Target) -> tuple[str, ...]:
    """Returns the parameters that hold random streams of flax.nnx, according to their annotations or names."""
    inside = [node for one in (*target.node.function.decorators, *target.body) for node in walk(one)]
    is_nnx = any(
        isinstance(node, (Attribute, Name)) and dotted_name(view, node).startswith("flax.nnx.") for node in inside
    )
    return tuple(
        parameter.name
        for parameter in target.parameters
        if (parameter.annotation is not None and dotted_name(view, parameter.annotation) == "flax.nnx.Rngs")
        or (is_nnx and parameter.annotation is None and parameter.name == "rngs")
    )


def stream_of(view: FileView, target: Target, name: str) -> str:
    """Returns the name of a stream that a function draws from; "dropout" by default, which every `Rngs` provides."""
    drawn = sorted(
        node.callee.name
        for root in reached(view, target)
        for node in walk(root)
        if isinstance(node, Call)
        and isinstance(node.callee, Attribute)
        and isinstance(node.callee.object, Name)
        and node.callee.object.name == name
    )
    return next((one for one in drawn if one not in ("fork", "split")), "dropout")


def bundles_of(target: Target) -> tuple[str, ...]:
    """Returns the parameters that are dictionaries of keys, from which the function takes keys by name."""
    found = {
        node.object.name
        for statement in target.body
        for node in walk(statement)
        if isinstance(node, Subscript)
        and isinstance(node.object, Name)
        and isinstance(node.key, Constant)
        and isinstance(node.key.value, str)
    } | {
        value.name
        for statement in target.body
        for node in walk(statement)
        if isinstance(node, Call)
        for label, _, value in node.arguments
        if label == "rngs" and isinstance(value, Name)
    }
    found |= {
        node.object.name
        for statement in target.body
        for node in walk(statement)
        if isinstance(node, Attribute) and node.name in ("items", "values") and isinstance(node.object, Name)
    }
    return tuple(one.name for one in target.parameters if holds_keys(one.name) and one.name in found)


def makes_one_key(follow: Follow, value: Node, count: int) -> bool:
    """Returns whether an expression makes one key for each name that it is assigned to.

    Args:
        follow: its scope.
        value: the expression.
        count: the number of names; 0 for a single name that gets the whole value.
    """
    if not isinstance(value, Call):
        return False
    name = follow.dotted(value.callee)
    if not name.startswith("jax.random."):
        return False
    return name.endswith(".split") if count else name.rsplit(".", 1)[-1] in (_MAKES | _CHANGES) - {"split"}


def changes_keys(dotted: str) -> bool:
    """Returns whether a function of `jax.random` makes keys from a seed or from other keys."""
    return dotted.startswith("jax.random.") and dotted.rsplit(".", 1)[-1] in _CHANGES | _MAKES


def random_kind(follow: Follow, name: str, node: Call) -> Kind:
    """Returns the kind of the result of a function of `jax.random`."""
    if any(label in ("*", "**") for label, _, _ in node.arguments):
        return "mixed"
    positional = [value for label, _, value in node.arguments if label is None]
    named = {label: value for label, _, value in node.arguments if label is not None}
    key = named.pop("key", None) or (positional.pop(0) if positional else None)
    given = follow.kind(key) if key is not None else "mixed"
    if name in _MAKES:
        return "key" if flat(given) == "same" else "mixed"
    whose = {"same": "key", "key": "key", "own": "own"}.get(flat(given), "mixed")
    others = [follow.kind(value) for value in (*positional, *named.values())]
    if name in _CHANGES:
        return _changed(whose, others)
    return _drawn(follow, name, whose, positional, named, others)


def _changed(whose: str, others: list[Kind]) -> str:
    """Returns the kind of the keys derived from one key, either one for each row or a fixed number of them."""
    if all(flat(one) in SAME for one in others):
        return whose
    is_for_rows = [_is_of_rows(one) for one in others] == [True]
    return "rows" if whose == "own" and is_for_rows else "mixed"


def _drawn(
    follow: Follow,
    name: str,
    whose: str,
    positional: list[Expression],
    named: dict[str, Expression],
    others: list[Kind],
) -> str:
    place = _SHAPE_PLACES.get(name, 0) - 1
    shape = named.get("shape", positional[place] if 0 <= place < len(positional) else None)
    kinds = [kind for node, kind in zip((*positional, *named.values()), others, strict=True) if node is not shape]
    if whose == "key":
        # Every device draws the same numbers for all rows, as a single device does.
        if all(flat(one) in SAME for one in others):
            return "same" if name in _SHAPE_PLACES and _is_of_no_rows(follow, shape) else "alike"
        message = f'all devices share the key of "jax.random.{name}", so each would draw the same numbers for its rows'
        raise Obstacle("random-numbers", message)
    if whose != "own" or name not in _SHAPE_PLACES or {flat(one) for one in kinds} - {"same", "rows"}:
        return "mixed"
    if shape is not None:
        return "rows" if _is_of_rows(follow.kind(shape)) else "mixed"
    axis = named.get("axis", positional[1] if name == "categorical" and len(positional) > 1 else None)
    is_along = name == "categorical" and over_rows(axis, False) is not False
    return "rows" if name in _BY_ENTRY and not is_along and "rows" in {flat(one) for one in kinds} else "mixed"


def _is_of_no_rows(follow: Follow, shape: Node | None) -> bool:
    """Returns whether a shape is that of one number, or of an array that every device holds, so it has no row axis."""
    if shape is None or (isinstance(shape, TupleDisplay) and not shape.items):
        return True
    return isinstance(shape, Attribute) and shape.name == "shape" and flat(follow.kind(shape)) == "same"


def _is_of_rows(shape: Kind) -> bool:
    """Returns whether a shape begins with the device's number of rows, followed by fixed sizes."""
    if isinstance(shape, tuple):
        return bool(shape) and shape[0] == "count" and all(flat(one) in ("same", "shape") for one in shape[1:])
    return shape in ("shape", "count")
