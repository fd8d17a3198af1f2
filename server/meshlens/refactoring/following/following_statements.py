"""Follows how variables depend on the rows of a batch through the statements of a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from meshlens.facts.nodes import (
    NOTHING,
    AnnAssign,
    Assert,
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    BoolOperation,
    Break,
    Call,
    ClassDef,
    Comparison,
    Constant,
    Continue,
    Delete,
    DictDisplay,
    ExpressionStatement,
    For,
    FunctionDef,
    Global,
    If,
    IfExpression,
    Import,
    ImportFrom,
    Lambda,
    ListDisplay,
    Name,
    Pass,
    Raise,
    Return,
    SeparateDef,
    Starred,
    Subscript,
    Try,
    TupleDisplay,
    Walrus,
    While,
    With,
    last_name,
    parameters_of,
    root_name,
)
from meshlens.project.trees import Node, children, name_of_block, names_bound, names_used, tree, walk
from meshlens.refactoring.following.axes_known import axes_assigned, least_of
from meshlens.refactoring.following.features import features_of
from meshlens.refactoring.following.following import (
    Defined,
    Env,
    Follow,
    Functions,
    Loosened,
    axes_more,
    counts_rows,
    entry_of,
    function_of,
    loop_variables,
    made_by,
    takes_gradient,
)
from meshlens.refactoring.following.following_calls import gathered, is_array
from meshlens.refactoring.following.kinds import (
    LINEAR,
    SAME,
    Keyed,
    Kind,
    applied,
    combined,
    either,
    flat,
    is_mixture,
    joined,
    kept,
    leaves,
    plain,
    subscript,
    together,
)
from meshlens.refactoring.following.known_classes import Owner
from meshlens.refactoring.following.random import makes_one_key
from meshlens.refactoring.following.settled_tests import outcome
from meshlens.refactoring.following.within import Gather
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.mentions import mentions_of

_CHECKS = frozenset({"chex.assert_shape", "chex.assert_axis_dimension"})
_STORES = frozenset("append extend insert add update setdefault".split())
_ONLY_OF_ARRAYS = frozenset({"shape", "ndim", "dtype", "size", "T", "at", "astype", "reshape"})
_DICT = Name("name", 0, "dict")
_ASSERTED = "an assertion expects all rows of the batch, but each device has only some; use jit with sharding"
_SCALAR = re.compile(r"(?:.*_)?(?:loss|accuracy|acc|error|cost|bpd|elbo|nll|perplexity|metrics?)")


def follow_body(follow: Follow, body: Iterable[Node]) -> None:
    """Follows statements, and collects the kinds that they return."""
    for statement in body:
        if follow.has_ended:
            return
        follower = _STATEMENTS.get(type(statement))
        if follower is not None:
            follower(follow, statement)
            if not isinstance(statement, Assign):
                for name in follow.features.keys() & names_bound([statement]):
                    del follow.features[name]
        elif not isinstance(statement, (Pass, Break, Continue, Raise, Global)):
            _lose(follow, statement)


def follow_function(follow: Follow, body: Iterable[Node]) -> None:
    """Follows the statements of a function.

    Before some of them, the rows of all devices are gathered. If a statement combines rows in an unknown way, another
    place to gather them is noted.
    """
    statements, known = tuple(body), follow.within
    if known is None or follow.reduce is None or (known.wanted is None and not known.gathers):
        follow_body(follow, statements)
        return
    before: list[Env] = []
    for place, statement in enumerate(statements):
        if follow.has_ended:
            return
        if (gather := known.gathers.get(statement.site)) is not None and gather.statement is statement:
            _gather(follow, gather)
        before.append(dict(follow.env))
        follow_body(follow, (statement,))
        if known.wanted is not None and _combines_rows(follow, statement, before[-1]):
            found = _best_gather(follow, statements, before)
            if found is not None:
                known.wanted.setdefault(found.statement.site, found)
            follow_body(follow, statements[place + 1 :])
            return


def _gather(follow: Follow, gather: Gather) -> None:
    """Gathers variables, which then hold the same values on every device.

    Raises:
        Obstacle: one of them holds something else this time.
    """
    kinds = {flat(follow.env.get(name, "same")) for name in gather.rows}
    if kinds - {"rows"} or any(follow.env.get(name) != "count" for name in gather.counts):
        raise Obstacle("reduced-inside", "a function may need to gather different values on different calls")
    follow.env |= {**dict.fromkeys(gather.rows, "alike"), **dict.fromkeys(gather.counts, "same")}


def _combines_rows(follow: Follow, statement: Node, before: Env) -> bool:
    """Returns whether a statement computes something of which nothing is known from values that are known."""
    if any("mixed" in leaves(before.get(name, "same")) for name in names_used(statement)):
        return False
    changed = [kind for name, kind in follow.env.items() if before.get(name) != kind]
    returned = follow.returned[-1:] if isinstance(statement, Return) else []
    return any("mixed" in leaves(kind) for kind in (*changed, *returned))


def _best_gather(follow: Follow, statements: tuple[Node, ...], before: list[Env]) -> Gather | None:
    """Returns the last place at which everything that the rest of a function needs can be gathered; None if nowhere.

    A computation with parameters, such as a network, must come before it, or every device would do all of the work.
    """
    if follow.seen.moved:
        return None
    for place in range(len(before) - 1, 0, -1):
        rest = (node for one in statements[place:] for node in walk(one))
        if follow.lines is not None and any(takes_gradient(follow, node) for node in rest):
            # The gradients of the step itself are the work to share.
            continue
        needed = frozenset[str]().union(*(names_used(one) for one in statements[place:]))
        kinds = {name: kind for name, kind in before[place].items() if name in needed and not {flat(kind)} <= SAME}
        inputs = follow.given | names_bound(one for one in statements[:place] if not _runs_code(one)) | follow.computed
        inputs |= needed - _asked(statements)
        rows = tuple(name for name, kind in kinds.items() if _are_rows(kind, is_input=name in inputs))
        counts = tuple(name for name, kind in kinds.items() if kind == "count")
        own = names_bound(statements[:place]) | follow.given
        computed: set[str] = set()
        for one, env in zip(statements[:place], before, strict=False):
            computed |= _computed(one, env, computed, own=frozenset(follow.local))
        is_all = len(rows) + len(counts) == len(kinds) and kinds.keys() <= own
        if is_all and not computed.isdisjoint(needed) and not any(map(is_mixture, kinds.values())):
            return Gather(statements[place], rows, counts)
    return None


def _asked(statements: Iterable[Node]) -> set[str]:
    """Returns the variables of which code reads attributes or calls methods, as it does with a distribution."""
    found = (node for one in statements for node in walk(one) if isinstance(node, Attribute))
    return {root_name(one) for one in found if one.name not in _ONLY_OF_ARRAYS}


def _are_rows(kind: Kind, *, is_input: bool) -> bool:
    """Returns whether a value certainly consists of arrays with rows; a function may return other objects."""
    return {*leaves(kind)} <= ({"rows", "tree"} if is_input else {"rows"})


def _runs_code(statement: Node) -> bool:
    return any(isinstance(one, Call) for one in walk(statement))


def _computed(statement: Node, env: Env, earlier: set[str], own: frozenset[str]) -> set[str]:
    """Returns the variables that a statement computes from rows and others, such as parameters, or from earlier ones.

    Args:
        statement: the statement.
        env: the kinds of variables before it.
        earlier: the variables that earlier statements computed in this way.
        own: the functions that the followed function defines, which may do so too.
    """
    if not isinstance(statement, Assign):
        return set()
    used = names_used(statement.value)
    kinds = {flat(env[name]) for name in used if name in env}
    multiplies = any(isinstance(one, BinaryOperation) and one.operator == "@" for one in walk(statement.value))
    is_run = (multiplies or _runs_code(statement)) and ({"rows", "same"} <= kinds or not used.isdisjoint(own))
    is_computed = is_run or not used.isdisjoint(earlier)
    return names_bound([statement]) if is_computed else set()


def _lose(follow: Follow, statement: Node) -> None:
    """Marks as unknown everything that a statement assigns or returns."""
    for name in names_bound([statement]):
        follow.forget(name)
        follow.env[name] = "mixed"
    if _returns(statement):
        follow.returned.append("mixed")
        follow.returned_axes.append(0)


def _returns(node: Node) -> bool:
    """Returns whether a statement contains a `return` that is not in a nested function."""
    if isinstance(node, (FunctionDef, Lambda, SeparateDef)):
        return False
    return isinstance(node, Return) or any(map(_returns, children(node)))


def _walruses(follow: Follow, *nodes: Node) -> None:
    """Follows assignment expressions in expressions whose kinds are not needed otherwise."""
    for node in (inner for one in nodes for inner in walk(one) if isinstance(inner, Walrus)):
        follow.kind(node)


def _assign(follow: Follow, statement: Assign) -> None:
    value = statement.value
    for name in _handed_on(value):
        follow.forget_keys(name)
    made = made_by(follow, value)
    is_plain = not isinstance(statement.value, (DictDisplay, TupleDisplay, ListDisplay)) and all(
        map(_is_name, statement.targets)
    )
    kind = follow.kind(statement.value) if is_plain else follow.whole(statement.value)
    if (
        isinstance(value, Name)
        and value.name in follow.arrays
        and flat(kind) == "rows"
        and isinstance(statement.targets[0], TupleDisplay)
    ):
        kind = "mixed"
    is_of_arrays = isinstance(value, Call) and is_array(follow, value)
    if kind == "tree" and not is_of_arrays and _is_named_as_scalar(follow, statement):
        kind = "mixed"
    if is_of_arrays:
        follow.computed |= names_bound((statement,))
    features = features_of(follow, value)
    least = axes_assigned(statement, follow.known_axes)
    owner = follow.class_of(value)
    for target in statement.targets:
        if isinstance(target, TupleDisplay) and kind == "rows" and isinstance(value, Call) and not is_of_arrays:
            # The first result of an unknown function has rows; the others may be state.
            kind = ("rows", *("both",) * (len(target.items) - 1))
        functions = _functions_in(follow, target, value)
        more = axes_more(follow, value) if isinstance(target, Name) and flat(kind) == "rows" else None
        _bind(follow, target, kind)
        if isinstance(target, Name) and owner is not None:
            follow.classes[target.name] = owner
        if isinstance(target, Name) and features is not None:
            follow.features[target.name] = features
        if isinstance(target, Name) and more is not None and more[0] != target.name:
            follow.widened[target.name] = more
        if isinstance(target, Name) and isinstance(value, Lambda):
            follow.local[target.name] = (value, follow)
            del follow.env[target.name]
        elif isinstance(target, Name) and made is not None:
            functions = {target.name: made}
        follow.made |= functions
    follow.least |= least
    _fold(follow, statement)
    _reduce(follow, statement, statement.targets)


def _is_named_as_scalar(follow: Follow, statement: Assign) -> bool:
    """Returns whether a variable's name suggests that an unknown function returns one number, not one per row."""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, Name) or not isinstance(value, Call) or not isinstance(value.callee, (Name, Attribute)):
        return False
    is_unknown = function_of(*follow.meant(value.callee)) is None and not follow.dotted(value.callee)
    return is_unknown and _SCALAR.fullmatch(target.name.lower()) is not None


def _fold(follow: Follow, statement: Assign) -> None:
    """Makes each device fold its index into the keys assigned by a statement of the step, right after the latter."""
    if follow.lines is None or not follow.folds or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    items = target.items if isinstance(target, (TupleDisplay, ListDisplay)) else (target,)
    names = tuple(
        one.name
        for one in items
        if isinstance(one, Name) and one.name in follow.folds and follow.env.get(one.name) == "key"
    )
    if names and makes_one_key(follow, statement.value, len(items) if not isinstance(target, Name) else 0):
        follow.folded.setdefault(statement.site, (statement, names))
        follow.env |= dict.fromkeys(names, "own")


def _functions_in(follow: Follow, target: Node, value: Node) -> Functions:
    """Returns the functions among the values of an assignment to several targets."""
    if (
        not isinstance(target, (TupleDisplay, ListDisplay))
        or not isinstance(value, (TupleDisplay, ListDisplay))
        or len(target.items) != len(value.items)
    ):
        return {}
    pairs = [
        (one.name, made_by(follow, part))
        for one, part in zip(target.items, value.items, strict=True)
        if isinstance(one, Name)
    ]
    return {name: made for name, made in pairs if made is not None}


def _annotated(follow: Follow, statement: AnnAssign) -> None:
    if statement.value is not None:
        kind, made = follow.kind(statement.value), made_by(follow, statement.value)
        _bind(follow, statement.target, kind)
        if made is not None and isinstance(statement.target, Name):
            follow.made[statement.target.name] = made
        _reduce(follow, statement, (statement.target,))


def _augmented(follow: Follow, statement: AugAssign) -> None:
    before, added = follow.kind(statement.target), follow.kind(statement.value)
    both = joined(statement.operator, before, added)
    found = both if both is not None else combined(statement.operator, before, added)
    if found == "mixed" and flat(before) == "same":
        # The variable must not be counted once per device, so the added mean or sum is reduced first.
        found = combined(statement.operator, before, follow.put_together(statement.value, added))
    least = max(map(follow.least_axes, (statement.target, statement.value)))
    _bind(follow, statement.target, found)
    if isinstance(statement.target, Name) and statement.operator != "@":
        follow.least[statement.target.name] = least
    _reduce(follow, statement, (statement.target,))


def _reduce(follow: Follow, statement: Node, targets: tuple[Node, ...]) -> None:
    """Reduces the means and sums that a statement of the step assigns, right after the statement.

    A function that the step defines reduces its gradients in the same way.
    """
    lines = follow.lines
    value = statement.value if isinstance(statement, (Assign, AnnAssign)) else None
    if follow.is_inner and follow.within is not None and value is not None and takes_gradient(follow, value):
        lines = follow.within.lines
    if lines is None or len(targets) != 1:
        return
    names = [name for name in _names(targets[0]) if name not in follow.reduced_later and _is_read(follow, name)]
    kinds = {name: flat(follow.env.get(name, "same")) for name in names}
    kinds |= {code: kind for name in names for code, kind in _entries(follow, statement, name)}
    if follow.helper is not None:
        for code, kind in kinds.items():
            follow.helper.kinds.setdefault((statement.site, code), set()).add(kind)
    for kind in LINEAR:
        found = tuple(code for code, one in kinds.items() if one == kind)
        if found:
            _, known = lines.get((statement.site, kind), (statement, ()))
            lines[(statement.site, kind)] = (statement, tuple(dict.fromkeys((*known, *found))))
    for name in names:
        held = follow.env.get(name, "same")
        if isinstance(held, Keyed) and kinds[name] not in LINEAR:
            reduced = ((key, kinds.get(f"{name}{subscript(key)}"), kind) for key, kind in held.items)
            follow.env[name] = Keyed(tuple((key, "same" if one in LINEAR else kind) for key, one, kind in reduced))
        elif kinds[name] in LINEAR:
            follow.env[name] = "same"


def _entries(follow: Follow, statement: Node, name: str) -> Iterator[tuple[str, str]]:
    """Yields the means and sums that a call returns in a dictionary with other values, each with the code for it."""
    held = follow.env.get(name)
    is_new = isinstance(statement, (Assign, AnnAssign)) and isinstance(statement.value, Call)
    if isinstance(held, Keyed) and is_new and flat(held) not in LINEAR:
        for key, kind in held.items:
            if kind in LINEAR:
                yield f"{name}{subscript(key)}", flat(kind)


def _is_read(follow: Follow, name: str) -> bool:
    """Returns whether a name may be read; a name that begins with "_" counts as unread unless the file reads it."""
    return not name.startswith("_") or bool(mentions_of(follow.view, name))


def _is_name(target: Node) -> bool:
    return isinstance(target, Name) or (
        isinstance(target, (TupleDisplay, ListDisplay)) and all(map(_is_name, target.items))
    )


def _names(target: Node) -> list[str]:
    if isinstance(target, (TupleDisplay, ListDisplay)):
        return [name for item in target.items for name in _names(item)]
    return [target.name] if isinstance(target, Name) else []


def _bind(follow: Follow, target: Node, kind: Kind) -> None:
    if isinstance(target, Name):
        follow.forget(target.name)
        follow.env[target.name] = kind
    elif isinstance(target, (TupleDisplay, ListDisplay)):
        for item, part in zip(target.items, _parts(kind, len(target.items)), strict=True):
            _bind(follow, item, part)
    elif isinstance(target, Starred):
        _bind(follow, target.value, "tree" if kind == "tree" else flat(kind))
    elif isinstance(target, (Attribute, Subscript)):
        for name in names_bound([Assign("assign", 0, (target,), Constant("const", 0, None))]):
            before, raw = follow.look_up(name), follow.env.get(name)
            if not SAME.issuperset([flat(kind)]):
                follow.changed.append(name)
            key = target.key if isinstance(target, Subscript) and isinstance(target.object, Name) else NOTHING
            if isinstance(raw, Keyed) and isinstance(key, Constant) and isinstance(key.value, str):
                follow.env[name] = raw.having(key.value, kind)
                continue
            if isinstance(raw, Keyed):
                before = kept(raw.kinds)
            is_more = before in ("tree", "both") and flat(kind) == "rows"
            is_both = {flat(before), flat(kind)} == {"rows", "same"}
            follow.env[name] = before if is_more else "both" if is_both else together((before, kind))


def _parts(kind: Kind, count: int) -> tuple[Kind, ...]:
    if isinstance(kind, tuple) and len(kind) == count:
        return kind
    if kind == "shape":
        return ("count", *["same"] * (count - 1))
    if kind == "turned":
        return ("rows",) * count
    return ("tree" if kind == "tree" else flat(kind),) * count


def _expression(follow: Follow, statement: ExpressionStatement) -> None:
    node = statement.value
    _walruses(follow, node)
    if not isinstance(node, Call):
        return
    _checked(follow, node)
    if gathered(follow, node) or _updated(follow, node):
        return
    given = applied(follow.kind(value) for _, _, value in node.arguments)
    holders = [value.name for _, _, value in node.arguments if isinstance(value, Name)]
    if isinstance(node.callee, Attribute) and isinstance(node.callee.object, Name):
        holders = [node.callee.object.name]
        given = together(follow.kind(value) for _, _, value in node.arguments)
    if given in SAME:
        for name in holders if last_name(node.callee) in _STORES else ():
            if flat(follow.look_up(name)) == "rows":
                follow.env[name] = "both"
        return
    # A call may store an argument in any other argument, and in the object whose method it calls.
    follow.changed += [*holders, root_name(node.callee) if isinstance(node.callee, Attribute) else ""]
    for name in holders:
        before = follow.look_up(name)
        is_both = is_mixture(before) or (flat(before) == "same" and given == "rows")
        follow.env[name] = "both" if is_both and given == "rows" else together((before, given))


def _updated(follow: Follow, node: Call) -> bool:
    """Stores the values of a call such as `metrics.update(loss=loss)`; returns whether all keys are known."""
    if not isinstance(node.callee, Attribute) or node.callee.name != "update":
        return False
    name = node.callee.object.name if isinstance(node.callee.object, Name) else ""
    held, given = follow.env.get(name), [value for label, _, value in node.arguments if label is None]
    made = node._replace(callee=_DICT) if not given else given[0]
    if not isinstance(held, Keyed) or len(given) > 1 or (given and len(node.arguments) > 1):
        return False
    added = follow.whole(made)
    if not isinstance(added, Keyed):
        return False
    follow.env[name] = Keyed(tuple({**dict(held.items), **dict(added.items)}.items()))
    if not SAME.issuperset([flat(added)]):
        follow.changed.append(name)
    return True


def _delete(follow: Follow, statement: Delete) -> None:
    for target in statement.targets:
        follow.forget_keys(root_name(target))


def _handed_on(value: Node) -> Iterator[str]:
    """Yields the variables whose own values, not copies, are part of a value."""
    if isinstance(value, Name):
        yield value.name
    elif isinstance(value, IfExpression):
        yield from (*_handed_on(value.then), *_handed_on(value.otherwise))
    elif isinstance(value, (TupleDisplay, ListDisplay)):
        yield from (name for item in value.items for name in _handed_on(item))
    elif isinstance(value, DictDisplay):
        yield from (name for key, item in value.pairs if key is not None for name in _handed_on(item))


def _assert(follow: Follow, statement: Assert) -> None:
    """Checks that an assertion does not compare the number of rows with a constant, or replaces that constant.

    Raises:
        Obstacle: the assertion may compare them, and the constant cannot be replaced.
    """
    _walruses(follow, statement.test)
    test = statement.test
    reduce, follow.reduce = follow.reduce, None
    for part in test.items if isinstance(test, BoolOperation) else (test,):
        kinds = {flat(follow.kind(one)) for one in part.operands} if isinstance(part, Comparison) else set()
        if "same" in kinds and not kinds.isdisjoint(("count", "shape", "mixed")) and not _loosened(follow, part):
            raise Obstacle("rows-asserted", _ASSERTED)
    follow.reduce = reduce


def _loosened(follow: Follow, test: Node) -> bool:
    """Replaces the number of rows in a comparison such as `x.shape == (32, 4)`; returns whether that was possible."""
    if not isinstance(test, Comparison) or test.operators != ("==",) or follow.in_model:
        return False
    shape, size = test.operands
    array = shape.object if isinstance(shape, Attribute) and shape.name == "shape" else NOTHING
    if not isinstance(array, Name) or flat(follow.kind(array)) != "rows" or not _names_sizes(follow, size):
        return False
    assert isinstance(size, (TupleDisplay, ListDisplay))
    follow.loosened.append(Loosened(follow.view, size.items[0], f"{array.name}.shape[0]"))
    return True


def _names_sizes(follow: Follow, size: Node) -> bool:
    items = size.items if isinstance(size, (TupleDisplay, ListDisplay)) else ()
    return bool(items) and all(flat(follow.kind(one)) == "same" and not isinstance(one, Starred) for one in items)


def _checked(follow: Follow, call: Call) -> None:
    """Checks that a chex assertion does not expect the number of rows of the whole batch, or replaces that number.

    Raises:
        Obstacle: the assertion may expect that number, which cannot be replaced.
    """
    dotted = follow.dotted(call.callee)
    given = [value for label, _, value in call.arguments if label is None]
    if dotted not in _CHECKS or len(given) < 2 or flat(follow.kind(given[0])) not in ("rows", "turned", "mixed"):
        return
    whole = size = given[-1]
    if dotted == "chex.assert_shape" and isinstance(size, (TupleDisplay, ListDisplay)):
        size = size.items[0] if size.items else NOTHING
    is_open = size is NOTHING or (isinstance(size, Constant) and size.value in (None, ...))
    if is_open or flat(follow.kind(size)) in ("count", "shape"):
        return
    if follow.in_model or size is whole or flat(follow.kind(given[0])) != "rows" or not _names_sizes(follow, whole):
        raise Obstacle("rows-asserted", _ASSERTED)
    follow.loosened.append(Loosened(follow.view, size, "None"))


def _return(follow: Follow, statement: Return) -> None:
    follow.returned.append(plain(follow.whole(statement.value)) if statement.value is not None else "same")
    follow.returned_axes.append(least_of(statement.value, follow.known_axes) if statement.value is not None else 0)
    follow.has_ended = True


def _if(follow: Follow, statement: If) -> None:
    _walruses(follow, statement.test)
    certain = outcome(follow.constants, statement.test)
    if certain is not None:
        follow_body(follow, statement.body if certain else statement.orelse)
        return
    if counts_rows(follow, statement.test):
        _lose(follow, statement)
        return
    before = _state(follow)
    follow_body(follow, statement.body)
    then, has_ended = _state(follow), follow.has_ended
    _restore(follow, before)
    follow.has_ended = False
    follow_body(follow, statement.orelse)
    _join(follow, then)
    follow.has_ended &= has_ended


def _for(follow: Follow, statement: For) -> None:
    if counts_rows(follow, statement.iterable):
        _lose(follow, statement)
        return
    held = follow.kind(statement.iterable)
    kind = "mixed" if is_mixture(held) else flat(held)
    each = entry_of(follow, statement.iterable) or ("mixed" if kind in ("rows", "turned") else kind)

    def begin() -> None:
        _bind(follow, statement.target, each)
        follow.looped |= loop_variables(statement.target, statement.iterable)

    _loop(follow, statement.body, begin)
    follow_body(follow, statement.orelse)


def _while(follow: Follow, statement: While) -> None:
    if counts_rows(follow, statement.test):
        _lose(follow, statement)
        return
    _loop(follow, statement.body, lambda: _walruses(follow, statement.test))
    follow_body(follow, statement.orelse)


def _loop(follow: Follow, body: Iterable[Node], begin: Callable[[], None]) -> None:
    for _ in range(2):
        before = _state(follow)
        begin()
        follow_body(follow, body)
        follow.has_ended = False
        _join(follow, before)


def _with(follow: Follow, statement: With) -> None:
    for value, target in statement.items:
        if target is not None:
            _bind(follow, target, flat(follow.kind(value)))
    follow_body(follow, statement.body)


def _try(follow: Follow, statement: Try) -> None:
    before = _state(follow)
    follow_body(follow, statement.body)
    follow.has_ended = False
    after = _state(follow)
    _join(follow, before)
    raised = _state(follow)
    _restore(follow, after)
    follow_body(follow, statement.orelse)
    follow.has_ended = False
    for _, name, body in statement.handlers:
        after = _state(follow)
        _restore(follow, raised)
        if name is not None:
            _bind(follow, Name("name", 0, name), "same")
        follow_body(follow, body)
        follow.has_ended = False
        _join(follow, after)
    follow_body(follow, statement.final)


def _function(follow: Follow, statement: FunctionDef) -> None:
    follow.forget(statement.function.name)
    follow.local[statement.function.name] = (statement, follow)
    _stores_outside(follow, statement)


def _stores_outside(follow: Follow, function: FunctionDef) -> None:
    """Marks as unknown the containers of the enclosing function in which an inner function stores values."""
    inside = tuple(node for one in function.function.body for node in walk(one))
    own = {*names_bound(node for node in inside if _binds_names(node)), *(one.name for one in parameters_of(function))}
    for node in inside:
        targets = node.targets if isinstance(node, Assign) else (node.target,) if isinstance(node, AugAssign) else ()
        for name in {root_name(one) for one in targets if isinstance(one, Subscript)} - own:
            if name in follow.env:
                follow.env[name] = "mixed"


def _binds_names(node: Node) -> bool:
    return not isinstance(node, (Assign, AugAssign)) or (isinstance(node, Assign) and any(map(_is_name, node.targets)))


def _block(follow: Follow, statement: SeparateDef) -> None:
    found = tree(follow.view, str(follow.view.path), statement.key)
    if isinstance(found, FunctionDef):
        follow.forget(name_of_block(statement.key))
        follow.local[name_of_block(statement.key)] = (found, follow)
        _stores_outside(follow, found)


def _class(follow: Follow, statement: ClassDef) -> None:
    kind = applied(follow.names(statement))
    _bind(follow, Name("name", 0, statement.name), kind)


def _import(follow: Follow, statement: Import | ImportFrom) -> None:
    for name, alias, _ in statement.names:
        bound = alias or name.split(".")[0]
        follow.forget(bound)
        if isinstance(statement, ImportFrom):
            follow.imports[bound] = f"{'.' * statement.level}{statement.module}.{name}"
        else:
            follow.imports[bound] = name if alias else bound


class _State(NamedTuple):
    """The meanings of names at one place."""

    env: Env
    local: dict[str, Defined]
    made: Functions
    imports: dict[str, str]
    least: dict[str, int]
    classes: dict[str, Owner]

    def function(self, name: str) -> tuple[object, object, str | None]:
        """Returns a name's local function, the expression that makes its function, and its import, or None for each."""
        return self.local.get(name), self.made.get(name), self.imports.get(name)

    def binds(self, name: str) -> bool:
        """Returns whether a name has a meaning."""
        return name in self.env or self.function(name) != (None, None, None)


def _state(follow: Follow) -> _State:
    functions = dict(follow.local), dict(follow.made), dict(follow.imports)
    return _State(dict(follow.env), *functions, dict(follow.least), dict(follow.classes))


def _restore(follow: Follow, state: _State) -> None:
    follow.env, follow.local = dict(state.env), dict(state.local)
    follow.made, follow.imports, follow.least = dict(state.made), dict(state.imports), dict(state.least)
    follow.classes = dict(state.classes)


def _join(follow: Follow, other: _State) -> None:
    """Keeps the meanings on which two paths to the same place agree; others become unknown."""
    mine = _state(follow)
    parts = (part for state in (mine, other) for part in (state.env, state.local, state.made, state.imports))
    for name in dict.fromkeys(name for part in parts for name in part):
        if not other.binds(name):
            continue
        if not mine.binds(name):
            _take(follow, other, name)
        elif all(one is two for one, two in zip(mine.function(name), other.function(name), strict=True)):
            if name in mine.env or name in other.env:
                follow.env[name] = either(mine.env.get(name, "same"), other.env.get(name, "same"))
        else:
            follow.forget(name)
            follow.env[name] = "mixed"
    follow.classes = {name: one for name, one in mine.classes.items() if _is_same(one, other.classes.get(name))}
    follow.least = {name: min(count, other.least[name]) for name, count in mine.least.items() if name in other.least}


def _is_same(one: Owner, other: Owner | None) -> bool:
    return other is not None and (one[0].path, one[1]) == (other[0].path, other[1])


def _take(follow: Follow, state: _State, name: str) -> None:
    if name in state.env:
        follow.env[name] = either(state.env[name], "same")
    if name in state.local:
        follow.local[name] = state.local[name]
    if name in state.made:
        follow.made[name] = state.made[name]
    if name in state.imports:
        follow.imports[name] = state.imports[name]


_STATEMENTS: dict[type[Node], Callable[[Follow, Any], None]] = {
    Assign: _assign,
    AnnAssign: _annotated,
    AugAssign: _augmented,
    ExpressionStatement: _expression,
    Return: _return,
    If: _if,
    For: _for,
    While: _while,
    With: _with,
    Try: _try,
    FunctionDef: _function,
    SeparateDef: _block,
    ClassDef: _class,
    Import: _import,
    ImportFrom: _import,
    Assert: _assert,
    Delete: _delete,
}
