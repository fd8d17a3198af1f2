"""Follows how values depend on the rows of a batch through a function, its helpers and its losses.

It does not know shapes: an array with rows has them first, an unknown function works row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from meshlens.assists._functions import dotted_name, functions_called
from meshlens.assists._kinds import (
    LINEAR,
    MEANS,
    OVER_DEVICES,
    SUMS,
    UNCHANGED,
    Kind,
    applied,
    combined,
    couples,
    either,
    flat,
    is_product,
    kept,
    over_rows,
    reduced,
    together,
)
from meshlens.assists._scopes import home_of
from meshlens.project.trees import Node, names_used
from meshlens.project.view import FileView

DEPTH = 6
_PLAIN_DECORATORS = frozenset({"jax.jit", "jax.checkpoint", "jax.remat", "jax.named_call"})
_PLAIN = ("axis", "keepdims", "dtype")
Env = dict[str, Kind]


@dataclass(slots=True)
class Follow:
    """What is known while a function is followed.

    Attributes:
        view: the file.
        env: the kinds of variables.
        local: the functions that are defined in it, with the variables that they see.
        depth: how many calls deep this is.
        makers: the names that stand for a `grad(…)`, with the function that binds them.
        reduce: is told of an expression that is to be reduced over the devices, and by what; None inside helpers.
        lines: of the step itself, the statements that bind what is to be reduced below them, by site and kind.
        reduced_later: the names that the step reduces itself.
        home: the outermost function around the step; None for the top level.
        returned: the kinds that it returns.
    """

    view: FileView
    env: Env
    local: dict[str, tuple[Node, Follow | None]] = field(default_factory=dict)
    depth: int = 0
    makers: dict[str, tuple[Node, Follow | None]] = field(default_factory=dict)
    reduce: Callable[[Node, str], object] | None = None
    lines: dict[tuple[int, str], tuple[Node, tuple[str, ...]]] | None = None
    reduced_later: frozenset[str] = frozenset()
    home: str | None = None
    returned: list[Kind] = field(default_factory=list)

    def kind(self, node: Node) -> Kind:
        """The kind of an expression."""
        follower = _EXPRESSIONS.get(node[0])
        return follower(self, node) if follower is not None else applied(self.names(node))

    def whole(self, node: Node) -> Kind:
        """The kind of an expression whose means and sums are reduced where it ends."""
        if node[0] in ("tuple", "list"):
            return tuple(self.whole(item) for item in node[2])
        if node[0] == "dict" and self.reduce is not None:
            return kept(self.whole(value) for _, value in node[2])
        return self.settled(node, self.kind(node))

    def settled(self, node: Node, kind: Kind) -> Kind:
        """The kind of an expression that is used in another way than linearly, reduced where that is possible."""
        one = kept(kind) if isinstance(kind, tuple) else kind
        if self.reduce is None or one not in LINEAR:
            return kind
        self.reduce(node, "pmean" if one == "mean" else "psum")
        return "same"

    def names(self, node: Node) -> list[Kind]:
        """The kinds of the variables that an expression takes from around it."""
        return [self.look_up(name) for name in names_used(node)]

    def look_up(self, name: str) -> Kind:
        """The kind of a variable; what is not bound here is of the file, or of Python, and the same everywhere."""
        if name in self.local:
            body, around = self.local[name]
            return applied((around or self).names(body)) if self.depth < DEPTH else "mixed"
        return self.env.get(name, "same")


def called(follow: Follow, function: Node, around: Follow | None, arguments: list[tuple[str | None, Kind]]) -> Kind:
    """The kind that a function of the file returns.

    Args:
        follow: where it is called.
        function: its "fn" or "lambda" node.
        around: the function that it is defined in, whose variables it sees.
        arguments: the kinds of the arguments, with their keywords.
    """
    from meshlens.assists._following_statements import follow_body

    if follow.depth >= DEPTH or any(label in ("*", "**") for label, _ in arguments):
        return applied(kind for _, kind in arguments)
    parameters = function[2][2] if function[0] == "fn" else function[2]
    env: Env = dict(around.env) if around is not None else {}
    positional = [kind for label, kind in arguments if label is None]
    by_name = {label: kind for label, kind in arguments if label is not None}
    for name, _, how, _, _ in parameters:
        if how in ("only", "any") and positional:
            env[name] = positional.pop(0)
        elif how in ("*", "**"):
            env[name] = together((*positional, *by_name.values()))
        else:
            env[name] = by_name.get(name, "same")
    inner = Follow(follow.view, env, dict(around.local) if around is not None else {}, follow.depth + 1)
    inner.makers, inner.home = dict((around or follow).makers), follow.home
    if function[0] == "lambda":
        return inner.kind(function[3])
    follow_body(inner, function[2][4])
    result = inner.returned[0] if inner.returned else "same"
    for other in inner.returned[1:]:
        result = either(result, other)
    return result


def function_of(follow: Follow, callee: Node) -> tuple[Node, Follow | None] | None:
    """The function of the file that an expression means, with the one that it is defined in.

    None if decorators make something else of it.
    """
    if callee[0] == "lambda":
        return callee, follow
    if callee[0] != "name":
        return None
    known: tuple[Node, Follow | None] | None = follow.local.get(callee[2])
    if known is None and callee[2] not in follow.env:
        found = [one for one in functions_called(follow.view, callee[2]) if not one.is_method]
        homes = {one.site: home_of(follow.view, one.at(one.node[1])) for one in found}
        inside = [one for one in found if homes[one.site] == follow.home] if follow.home is not None else []
        found = inside or [one for one in found if homes[one.site] is None]
        known = (found[0].node, None) if len(found) == 1 else None
    if known is None or (known[0][0] == "fn" and not all(_is_plain(follow.view, one) for one in known[0][2][3])):
        return None
    return known


def _is_plain(view: FileView, decorator: Node) -> bool:
    """Whether a decorator leaves what a function gives as it is."""
    if decorator[0] == "call" and dotted_name(view, decorator[2]) == "functools.partial" and decorator[3]:
        decorator = decorator[3][0][2]
    return dotted_name(view, decorator[2] if decorator[0] == "call" else decorator) in _PLAIN_DECORATORS


def _call(follow: Follow, node: Node) -> Kind:
    from meshlens.assists._gradients import gradient_kind, takes

    callee, arguments = node[2], node[3]
    name = str(callee[-1]) if callee[0] in ("name", "attr") else ""
    maker: tuple[Node, Follow | None] | None = (callee, follow) if takes(follow.view, callee) else None
    maker = maker or (follow.makers.get(name) if callee[0] == "name" else None)
    if maker is not None:
        return gradient_kind(follow, maker[0], maker[1], node)
    known = function_of(follow, callee)
    if known is not None:
        return called(follow, *known, [(label, follow.kind(value)) for label, _, value in arguments])
    if name in OVER_DEVICES:
        return "same"
    is_method = callee[0] == "attr" and not dotted_name(follow.view, callee)
    values = [*((callee[2],) if is_method else ()), *(value for label, _, value in arguments if label != "axis")]
    if not values:
        return "same"
    if name in MEANS or name in SUMS:
        return _reduction(follow, node, name, values, is_method)
    first = follow.kind(values[0])
    if name in UNCHANGED:
        return first
    if name == "len" and first == "rows":
        return "count"
    kinds = [first, *(follow.kind(value) for value in values[1:])]
    if name == "arange" and "count" in kinds:
        return "rows"
    kinds = [follow.settled(value, kind) for value, kind in zip(values, kinds, strict=True)]
    if not is_method and callee[0] not in ("name", "attr"):
        kinds += follow.names(callee)
    elif callee[0] == "name":
        kinds.append(follow.look_up(callee[2]))
        if "rows" in map(flat, kinds) and callee[2] in follow.env:
            # An object that is called may keep something of what it got, as layers keep statistics of the batch.
            follow.env[callee[2]] = "mixed"
    axis = over_rows(_axis(node, is_method, 1))
    if couples(name, axis) and "rows" in map(flat, kinds):
        return applied(kinds, coupled=True) if is_product(name) else "mixed"
    return applied(kinds)


def _reduction(follow: Follow, node: Node, name: str, values: list[Node], is_method: bool) -> Kind:
    result = "mean" if name in MEANS else "total"
    operand = follow.kind(values[0])
    if name == "sum" and node[2][0] == "name":
        # Python's own sum adds up the entries of a list as they are.
        return flat(operand) if values[0][0] in ("comp", "list", "tuple") else applied((operand,), coupled=False)
    axis = _axis(node, is_method, 1)
    plain = (axis, values[0])
    rest = [follow.kind(value) for label, _, value in node[3] if label not in _PLAIN and value not in plain]
    if any(flat(kind) != "same" for kind in rest):
        return "mixed"
    return reduced(operand, over_rows(axis), result)


def _axis(node: Node, is_method: bool, place: int) -> Node | None:
    for label, _, value in node[3]:
        if label == "axis":
            found: Node = value
            return found
    positional = [value for label, _, value in node[3] if label is None]
    place -= is_method
    return positional[place] if place < len(positional) else None


def _attribute(follow: Follow, node: Node) -> Kind:
    kind = follow.kind(node[2])
    if flat(kind) == "rows" and node[3] in ("shape", "size", "ndim", "dtype"):
        return {"shape": "shape", "size": "count"}.get(node[3], "same")
    return flat(kind)


def _item(follow: Follow, node: Node) -> Kind:
    kind, index = follow.kind(node[2]), node[3]
    if isinstance(kind, tuple):
        number = index[2] if index[0] == "const" and type(index[2]) is int else None
        return kind[number] if number is not None and -len(kind) <= number < len(kind) else flat(kind)
    if kind == "shape":
        return "count" if index[0] != "const" or index[2] == 0 else "same"
    first = index[2][0] if index[0] == "tuple" and index[2] else index
    is_part = first[0] == "slice" and any(part is not None for part in first[2:5])
    if kind == "rows" and is_part:
        return "mixed"
    inside = "same" if first[0] in ("slice", "const") else applied(follow.names(index))
    return kind if inside == "same" else applied((kind, inside))


def _binary(follow: Follow, node: Node) -> Kind:
    left, right = (_operand(follow, operand) for operand in (node[3], node[4]))
    found = combined(node[2], left, right)
    if found == "mixed" and follow.reduce is not None:
        return combined(node[2], follow.settled(node[3], left), follow.settled(node[4], right))
    return found


def _operand(follow: Follow, node: Node) -> Kind:
    """The kind of an operand; gradients are reduced before they meet anything else, as people write it."""
    from meshlens.assists._gradients import takes

    kind = follow.kind(node)
    is_gradient = node[0] == "call" and takes(follow.view, node[2])
    return follow.settled(node, kind) if is_gradient else kind


def _comprehension(follow: Follow, node: Node) -> Kind:
    inner = Follow(follow.view, dict(follow.env), dict(follow.local), follow.depth, dict(follow.makers))
    inner.home = follow.home
    for target, iterable, _ in node[4]:
        kind = flat(inner.kind(iterable))
        for name in names_used(target):
            inner.env[name] = kind
    parts = node[3] if isinstance(node[3][0], tuple) else (node[3],)
    return together(inner.kind(part) for part in parts)


def _each(follow: Follow, nodes: tuple[Node, ...]) -> Kind:
    return applied(follow.settled(one, follow.kind(one)) for one in nodes)


_EXPRESSIONS: dict[str, Callable[[Follow, Node], Kind]] = {
    "name": lambda follow, node: follow.look_up(node[2]),
    "const": lambda follow, node: "same",
    "call": _call,
    "attr": _attribute,
    "sub": _item,
    "bin": _binary,
    "unary": lambda follow, node: follow.kind(node[3]),
    "tuple": lambda follow, node: tuple(follow.kind(item) for item in node[2]),
    "list": lambda follow, node: tuple(follow.kind(item) for item in node[2]),
    "dict": lambda follow, node: kept(follow.kind(value) for _, value in node[2]),
    "ifexp": lambda follow, node: either(follow.kind(node[3]), follow.kind(node[4])),
    "cmp": lambda follow, node: _each(follow, node[3]),
    "bool": lambda follow, node: _each(follow, node[3]),
    "comp": _comprehension,
    "walrus": lambda follow, node: "mixed",
}
