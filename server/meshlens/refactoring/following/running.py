"""Follows functions that other functions run: through `vmap`, `scan`, `cond`, `jax.tree.map` or decorators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from meshlens.facts.nodes import (
    NOTHING,
    AnyFunction,
    Argument,
    Assign,
    Attribute,
    Call,
    Constant,
    Expression,
    FunctionDef,
    Lambda,
    ListDisplay,
    Name,
    Return,
    Subscript,
    TupleDisplay,
    parameters_of,
)
from meshlens.project.trees import Node, bound_by, names_used, walk
from meshlens.refactoring.following.following import (
    Follow,
    called,
    function_defined,
    function_of,
    operand_kind,
    result_of,
)
from meshlens.refactoring.following.kinds import SAME, Keyed, Kind, applied, either, flat, is_mixture
from meshlens.refactoring.following.settled_tests import constant_of
from meshlens.refactoring.reading.decorators import applied_by

_TRANSPARENT = frozenset(
    {"equinox.filter_jit", "flax.nnx.jit", "flax.nnx.remat", "jax.jit", "jax.checkpoint", "jax.named_call"}
)
VMAPS = frozenset({"jax.vmap", "equinox.filter_vmap"})
_VECTORIZE = frozenset({"jax.numpy.vectorize", "numpy.vectorize"})
_OF_DECORATORS = ("jax.", "flax.", "equinox.", "haiku.", "functools.", "chex.", "jaxtyping.", "typeguard.", "beartype.")
_CHANGES = re.compile(r"[pvx]map|scan|grad|vectorize|shard_map|jac|hessian|linearize|(?<!custom_)[jv][jv]p|^map$|_loop")
_LAST_AXES = re.compile(r"[\s,]*(?:\(\w*\)[\s,]*)+->[\s,]*(?:\(\w*\)[\s,]*)+")
_Labelled = list[tuple[str | None, Kind]]


def transformed_kind(follow: Follow, home: Follow, callee: Node, node: Call) -> Kind | None:
    """Returns the kind of the result of a call that runs a transformed function; None for other calls.

    Args:
        follow: the calling scope.
        home: the scope of the callee's names.
        callee: the callee.
        node: the call.
    """
    is_map = isinstance(callee, Name) and callee.name == "map" and not home.binds("map")
    runner = _each_of if is_map else _RUNNERS.get(home.dotted(callee))
    if runner is not None:
        return runner(follow, node)
    if not isinstance(callee, Call):
        return None
    maker = home.dotted(callee.callee)
    operand = next((value for label, _, value in callee.arguments if label in (None, "f", "fun")), None)
    if operand is None:
        return None
    if maker in _TRANSPARENT:
        return follow.constructs.call(follow, *home.meant(operand), node)
    if maker == "functools.partial":
        held = tuple(callee.arguments[1:])
        known = function_of(home, operand)
        if known is None:
            return follow.constructs.call(
                follow, *home.meant(operand), node._replace(arguments=(*held, *node.arguments))
            )
        given: _Labelled = [(label, home.kind(value)) for label, _, value in held]
        return called(follow, *known, [*given, *((label, follow.kind(value)) for label, _, value in node.arguments)])
    if maker in VMAPS:
        return _mapped(follow, _free(home, operand), callee.arguments, node)
    if maker in _VECTORIZE:
        return _vectorized(follow, home.names(operand), callee.arguments, node)
    if maker.startswith("jax."):
        kinds = [*(follow.kind(value) for _, _, value in node.arguments), *home.names(callee)]
        return "same" if applied(kinds) == "same" else "mixed"
    return None


def decorated_kind(follow: Follow, function: FunctionDef, around: Follow | None, node: Call) -> Kind:
    """Returns the kind of the result of a function whose decorators may change the result.

    Args:
        follow: the calling scope.
        function: its node.
        around: the enclosing function.
        node: the call.
    """
    decorators = function.function.decorators
    if len(decorators) == 1:
        one = decorators[0]
        callee, given = applied_by(one, follow.dotted)
        maker = follow.dotted(callee)
        if maker in VMAPS:
            seen = _free(around, Name("name", function.site, function.function.name)) if around is not None else []
            return _mapped(follow, seen, (Argument(None, 0, one), *given), node)
        if maker in _VECTORIZE:
            return _vectorized(follow, [], given, node)
    scope = around if around is not None else follow.outside()
    passed: _Labelled = [(label, follow.kind(value)) for label, _, value in node.arguments]
    if not all(_is_known(scope, one) for one in decorators):
        return "same" if applied(kind for _, kind in passed) == "same" else "mixed"
    found = flat(called(follow, function, around, passed))
    return found if found in ("same", "rows") else "mixed"


def is_mapped(follow: Follow, function: Node) -> bool:
    """Returns whether the only decorator of a function is a `vmap`."""
    decorators = function.function.decorators if isinstance(function, FunctionDef) else ()
    return len(decorators) == 1 and follow.dotted(applied_by(decorators[0], follow.dotted)[0]) in VMAPS


def _is_known(scope: Follow, decorator: Expression) -> bool:
    """Returns whether a decorator comes from a known library and, judging by its name, keeps rows apart."""
    dotted = scope.dotted(applied_by(decorator, scope.dotted)[0])
    return dotted.startswith(_OF_DECORATORS) and _CHANGES.search(dotted.rpartition(".")[2]) is None


def _mapped(follow: Follow, seen: list[Kind], given: tuple[Argument, ...], node: Call) -> Kind:
    """Returns the kind of the result of a `vmap`; rows stay apart if it maps all arguments with rows over axis 0.

    Args:
        follow: the calling scope.
        seen: the kinds of the mapped function's free variables.
        given: the arguments of the `vmap`.
        node: the call.
    """
    named = {label: value for label, _, value in given if label is not None}
    positional = [value for label, _, value in given if label is None]
    axes = named.get("in_axes", positional[1] if len(positional) > 1 else None)
    along = [None if label is not None else _axis(axes, place) for place, (label, _, _) in enumerate(node.arguments)]
    kinds = [
        flat(follow.settled(value, follow.kind(value))) if not _is_none(axis) else _whole(follow, value)
        for axis, (_, _, value) in zip(along, node.arguments, strict=True)
    ]
    if "key" in seen or "key" in kinds:
        # Every row gets the same key, on one device as on several.
        if SAME.issuperset((*kinds, *seen)):
            return "alike"
        seen = ["same" if kind == "key" else kind for kind in seen]
        kinds = ["same" if kind == "key" and _is_none(axis) else kind for axis, kind in zip(along, kinds, strict=True)]
    if applied((*kinds, *seen)) == "same":
        return "same"
    out = named.get("out_axes", positional[2] if len(positional) > 2 else None)
    if _repeats_rows(kinds, seen, along) and out is None and "axis_name" not in named and positional:
        return _stacked(_run(follow, positional[0], list(kinds), reduces=False))
    if (
        "axis_name" in named
        or "spmd_axis_name" in named
        or applied(seen) != "same"
        or (out is not None and not _is_zero(out))
        or set(kinds) - {"rows", "same"}
    ):
        return "mixed"
    if any(label == "**" or (label == "*" and axes is not None) for label, _, _ in node.arguments):
        return "mixed"
    if any(kind == "rows" and axis is not None and not _is_zero(axis) for axis, kind in zip(along, kinds, strict=True)):
        return "mixed"
    return "tree"


def _repeats_rows(kinds: Iterable[Kind], seen: Iterable[Kind], along: Iterable[Node | None]) -> bool:
    """Returns whether a `vmap` runs a function on all rows several times, such as once for each random key."""
    is_plain = all(axis is None or _is_zero(axis) or _is_none(axis) for axis in along)
    return is_plain and {*kinds} <= {"same", "own"} and {flat(kind) for kind in seen} == {"same", "rows"}


def _axis(axes: Node | None, place: int) -> Node | None:
    """Returns the axis along which a `vmap` maps an argument; None if it is not given, and so the first."""
    if isinstance(axes, (TupleDisplay, ListDisplay)) and place < len(axes.items):
        return axes.items[place]
    return axes


def _free(follow: Follow, function: Node, entered: frozenset[str] = frozenset()) -> list[Kind]:
    """Returns the kinds of a mapped function's free variables.

    Each call of the function gets one row but all entries of an outside array, which is therefore "same".
    """
    found: list[Kind] = []
    for name in names_used(function) - entered:
        if name in follow.local:
            body, around = follow.local[name]
            found += _free(around or follow, body, entered | {name})
        else:
            kind = follow.look_up(name)
            found.append("same" if kind == "alike" and not follow.binds(name) else kind)
    return found


def _whole(follow: Follow, node: Node) -> str:
    """Returns the kind of an argument that a `vmap` does not map: "same" if it is made from outside arrays."""
    kind = flat(follow.settled(node, follow.kind(node)))
    return "same" if kind == "alike" and applied(_free(follow, node)) == "same" else kind


def _vectorized(follow: Follow, seen: list[Kind], given: tuple[Argument, ...], node: Call) -> Kind:
    """Returns the kind of the result of a vectorized function; rows stay apart if it uses no axis but the last."""
    signature = next((value for label, _, value in given if label == "signature"), None)
    is_small = signature is None or (
        isinstance(signature, Constant) and _LAST_AXES.fullmatch(str(signature.value)) is not None
    )
    kinds = [flat(follow.settled(value, follow.kind(value))) for _, _, value in node.arguments]
    found = applied((*kinds, *seen))
    return found if found == "same" or (found == "rows" and is_small and applied(seen) == "same") else "mixed"


def _is_none(node: Node | None) -> bool:
    return isinstance(node, Constant) and node.value is None


def _is_zero(node: Node) -> bool:
    return bool(isinstance(node, Constant) and type(node.value) is int and node.value == 0)


def _arguments(node: Call, *names: str) -> list[Node | None]:
    """Returns the arguments of a call in the order of the given parameter names; None for a missing argument."""
    positional = [value for label, _, value in node.arguments if label is None]
    named = {label: value for label, _, value in node.arguments}
    return [named.get(name, positional[place] if place < len(positional) else None) for place, name in enumerate(names)]


def _run(follow: Follow, function: Node | None, kinds: list[Kind], *, reduces: bool = True) -> Kind:
    """Returns the kind of the result of a function passed as an argument; unless it `reduces`, nothing in it may."""
    if function is None:
        return "mixed"
    callee, home = follow.meant(function)[::-1]
    known = function_of(home, callee)
    if known is None:
        return "same" if applied((*kinds, *home.names(callee))) == "same" else "mixed"
    body, around = known
    if around is not None and not reduces:
        around = around.frozen()
        around.within, around.reduce, around.entered = None, None, None
    return called(follow, body, around, [(None, kind) for kind in kinds])


def _each(kind: Kind, change: Callable[[str], Kind]) -> Kind:
    """Returns the kind of a container after a function is applied to each of its values."""
    if isinstance(kind, tuple):
        return type(kind)(_each(one, change) for one in kind)
    if isinstance(kind, Keyed):
        return Keyed(tuple((key, _each(one, change)) for key, one in kind.items))
    return change(kind)


def _stacked(kind: Kind) -> Kind:
    """Returns the kind of a stack of values of the given kind, one per loop step."""
    kinds = {"rows": "turned", "tree": "turned", "same": "same", "mean": "mean", "total": "total"}
    return _each(kind, lambda one: kinds.get(one, "mixed"))


def _scan(follow: Follow, node: Call) -> Kind:
    function, init, steps = _arguments(node, "f", "init", "xs")
    carry = follow.kind(init) if init is not None else "mixed"
    along = follow.kind(steps) if steps is not None else "same"
    over = flat(along)
    if over == "grouped":
        return _scan_of_groups(follow, function, carry, _each(along, lambda one: "rows"))
    each = {"same": "same", "turned": "rows"}.get(over)
    if each is None:
        return "mixed"
    results: Kind = "same"
    for _ in range(2):
        found = _run(follow, function, [carry, each])
        if not isinstance(found, tuple) or len(found) != 2:
            return "same" if flat(found) == "same" and flat(carry) == "same" else "mixed"
        carry, results = either(carry, found[0]), found[1]
    return (carry, _stacked(results))


def _scan_of_groups(follow: Follow, function: Node | None, carry: Kind, group: Kind) -> Kind:
    """Returns the kind of the result of a `scan` over groups of rows.

    A device's groups are not those of one device, so only sums over all groups, each with the same weight, are right.
    """
    kind: Kind = _each(carry, lambda one: "begun" if one == "same" else "mixed")
    results: Kind = "mixed"
    for _ in range(2):
        found = _run(follow, function, [kind, group], reduces=False)
        if not isinstance(found, tuple) or len(found) != 2:
            return "mixed"
        kind, results = found
    ends = {"begun": "same", "added": "mean", "counted": "total"}
    return (_each(kind, lambda one: ends.get(one, "mixed")), results if flat(results) == "same" else "mixed")


def _fori_loop(follow: Follow, node: Call) -> Kind:
    lower, upper, body, init = _arguments(node, "lower", "upper", "body_fun", "init_val")
    if lower is not None and upper is not None and init is not None and flat(follow.kind(upper)) == "count":
        return _over_each_row(follow, lower, body, init)
    if any(one is None or flat(follow.kind(one)) != "same" for one in (lower, upper)) or init is None:
        return "mixed"
    carry = follow.kind(init)
    for _ in range(2):
        carry = either(carry, _run(follow, body, ["same", carry]))
    return carry


def _over_each_row(follow: Follow, lower: Node, body: Node | None, init: Node) -> Kind:
    """Returns the kind of the result of a loop over the rows in which each step changes only the row of its number."""
    start, carry = constant_of(follow.constants, lower), follow.kind(init)
    home, callee = follow.meant(body) if body is not None else (follow, NOTHING)
    known = function_of(home, callee)
    if start is None or start.value != 0 or carry != "rows" or known is None or not _changes_one_row(known[0]):
        return "mixed"
    return "rows" if _run(follow, body, ["places", carry], reduces=False) == "rows" else "mixed"


def _changes_one_row(function: AnyFunction) -> bool:
    """Returns whether a loop's body changes only the carried array's row of its number, by `carry.at[number, …]`."""
    names = tuple(one.name for one in parameters_of(function))
    if len(names) != 2:
        return False
    if isinstance(function, Lambda):
        return _is_changed_row(function.body, *names)
    return all(_keeps_other_rows(statement, *names) for statement in function.function.body)


def _keeps_other_rows(statement: Node, number: str, carry: str) -> bool:
    """Returns whether a statement of a loop's body changes no other row of the carried array, and reads none."""
    if isinstance(statement, Return):
        return statement.value is not None and _is_changed_row(statement.value, number, carry)
    if isinstance(statement, Assign) and [_named(one) for one in statement.targets] == [carry]:
        return _is_changed_row(statement.value, number, carry)
    return {number, carry}.isdisjoint(bound_by(statement)) and _reads_own_row(statement, number, carry)


def _is_changed_row(value: Node, number: str, carry: str) -> bool:
    """Returns whether a value is the carried array, or the array with changes to the row of the given number."""
    if not isinstance(value, Call):
        return _named(value) == carry
    place = value.callee.object if isinstance(value.callee, Attribute) else None
    if not isinstance(place, Subscript) or not isinstance(place.object, Attribute) or place.object.name != "at":
        return False
    given = (place.key, *(one.value for one in value.arguments))
    is_own = _is_own_row(place, number) and all(_reads_own_row(one, number, carry) for one in given)
    return is_own and _is_changed_row(place.object.object, number, carry)


def _reads_own_row(node: Node, number: str, carry: str) -> bool:
    """Returns whether code reads the carried array only at the row of the given number."""
    reads = [one for one in walk(node) if isinstance(one, Subscript) and _named(one.object) == carry]
    uses = sum(_named(one) == carry for one in walk(node))
    return uses == len(reads) and all(_is_own_row(one, number) for one in reads)


def _is_own_row(node: Subscript, number: str) -> bool:
    return _named(node.key.items[0] if isinstance(node.key, TupleDisplay) and node.key.items else node.key) == number


def _named(node: Node) -> str | None:
    return node.name if isinstance(node, Name) else None


def _while_loop(follow: Follow, node: Call) -> Kind:
    test, body, init = _arguments(node, "cond_fun", "body_fun", "init_val")
    carry = follow.kind(init) if init is not None else "mixed"
    for _ in range(2):
        if flat(_run(follow, test, [carry])) != "same":
            return "mixed"
        carry = either(carry, _run(follow, body, [carry]))
    return carry


def _cond(follow: Follow, node: Call) -> Kind:
    test, then, otherwise = _arguments(node, "pred", "true_fun", "false_fun")
    if test is None or flat(follow.kind(test)) != "same" or any(label is not None for label, _, _ in node.arguments):
        return "same" if applied(follow.kind(value) for _, _, value in node.arguments) == "same" else "mixed"
    operands = [follow.kind(value) for _, _, value in node.arguments[3:]]
    return either(_run(follow, then, operands), _run(follow, otherwise, operands))


def _map(follow: Follow, node: Call) -> Kind:
    function = node.arguments[0].value if node.arguments else None
    if function is None:
        return "mixed"
    return _mapped(follow, _free(follow, function), (), node._replace(arguments=node.arguments[1:2]))


def _each_of(follow: Follow, node: Call) -> Kind | None:
    """Returns the kinds of the results of Python's `map(function, values)`; None unless the values are listed."""
    function, values = [value for _, _, value in node.arguments] if len(node.arguments) == 2 else (NOTHING, NOTHING)
    home, callee = follow.meant(function)
    known = function_of(home, callee)
    if known is None or not isinstance(values, (TupleDisplay, ListDisplay)):
        return None
    given = [Argument(None, one.site, one) for one in values.items]
    found = [result_of(follow, *known, [(None, follow.kind(one.value))], (one,)) for one in given]
    follow.results[node.site] = tuple(one.axes for one in found)
    return tuple(one.kind for one in found)


def _tree_map(follow: Follow, node: Call) -> Kind:
    if not node.arguments or any(label in ("*", "**") for label, _, _ in node.arguments):
        return "mixed"
    function, trees = node.arguments[0].value, tuple(one for one in node.arguments[1:] if one.label is None)
    home, callee = follow.meant(function)
    if function_defined(home, callee) is None and not home.dotted(callee):
        kinds = [*(follow.settled(value, follow.kind(value)) for _, _, value in trees), *home.names(callee)]
        return "same" if applied(kinds) == "same" else "mixed"
    kinds = [operand_kind(follow, value) for _, _, value in trees]
    known = function_of(home, callee)
    if len(kinds) == 1 and known is not None and not isinstance(kinds[0], str):
        return _each(kinds[0], lambda kind: flat(called(follow, *known, [(None, flat(kind))])))
    if any(is_mixture(kind) or isinstance(kind, Keyed) for kind in kinds):
        return "mixed"
    if known is None:
        return flat(follow.constructs.call(follow, home, callee, node._replace(arguments=trees)))
    found = flat(called(follow, *known, [(None, flat(kind)) for kind in kinds]))
    if found == "mixed" and follow.reduce is not None:
        settled = [flat(follow.settled(value, kind)) for (_, _, value), kind in zip(trees, kinds, strict=True)]
        return flat(called(follow, *known, [(None, kind) for kind in settled]))
    return found


_RUNNERS: dict[str, Callable[[Follow, Call], Kind]] = {
    "jax.lax.scan": _scan,
    "jax.lax.fori_loop": _fori_loop,
    "jax.lax.while_loop": _while_loop,
    "jax.lax.cond": _cond,
    "jax.lax.map": _map,
    "jax.tree.map": _tree_map,
}
