"""Where gradients are taken, what of them is a mean over the rows, and what a function has them taken for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlens.assists._following import Follow, called, function_of
from meshlens.assists._functions import Target, dotted_name
from meshlens.assists._kinds import SAME, Kind, applied, flat
from meshlens.assists._pmap import Obstacle
from meshlens.assists._scopes import home_of
from meshlens.facts.nodes import Argument, Call, Name
from meshlens.project.trees import Node, tree, walk
from meshlens.project.view import FileView

TAKES = {
    "jax.grad": False,
    "jax.value_and_grad": True,
    "equinox.filter_grad": False,
    "equinox.filter_value_and_grad": True,
    "flax.nnx.grad": False,
    "flax.nnx.value_and_grad": True,
}


def differentiated(view: FileView, target: Target) -> frozenset[str]:
    """The names that stand where a function takes gradients for what is handed over there."""
    named = named_makers(view, target)
    return frozenset(
        name[2]
        for statement in target.body
        for node in walk(statement)
        if node[0] == "call" and (maker := maker_of(view, node[2], named)) is not None
        for place, (label, _, value) in enumerate(node[3])
        if label is None and place in _places(maker)
        for name in walk(value)
        if name[0] == "name"
    )


def maker_of(view: FileView, callee: Node, named: dict[str, Node]) -> Node | None:
    """The `grad(…)` that made what is called."""
    if takes(view, callee):
        return callee
    return named.get(callee[2]) if callee[0] == "name" else None


def takes(view: FileView, node: Node) -> bool:
    """Whether an expression makes a function that takes gradients."""
    return node[0] == "call" and dotted_name(view, node[2]) in TAKES


def maker_above(follow: Follow, function: Node) -> Node | None:
    """The `grad(…)` that decorates a function, as the call that it stands for."""
    decorators = function[2][3]
    if len(decorators) != 1:
        return None
    one = decorators[0]
    callee, given = (one[2], one[3]) if one[0] == "call" else (one, ())
    if follow.dotted(callee) == "functools.partial" and given:
        callee, given = given[0][2], given[1:]
    if follow.dotted(callee) not in TAKES or any(label is None for label, _, _ in given):
        return None
    name = Name("name", function.function.site, function.function.name)
    return Call("call", one[1], callee, (Argument(None, function.function.site, name), *given))


def gradient_kind(
    follow: Follow, maker: Node, home: Follow, node: Node, decorated: tuple[Node, Follow | None] | None = None
) -> Kind:
    """The kind of what a call of `grad(…)(…)` gives.

    Args:
        follow: where it is called.
        maker: the `grad(…)`.
        home: where the names in it mean what they mean.
        node: the call.
        decorated: the function that the `grad(…)` decorates, with the one that it is defined in.

    Raises:
        Obstacle: it is taken of something that is not known to be a mean or a sum over the rows.
    """
    from meshlens.assists._following_calls import call_of

    given = [(label, follow.kind(value)) for label, _, value in node[3]]
    operand = next((value for label, _, value in maker[3] if label is None), None)
    seen = home.names(operand) if operand is not None and decorated is None else []
    if decorated is not None and decorated[1] is not None:
        seen = decorated[1].names(decorated[0])
    together = applied((*(kind for _, kind in given), *seen))
    if together in SAME:
        return together
    scope, loss_function = home.meant(operand) if operand is not None else (home, ("", 0))
    known = decorated if decorated is not None else function_of(scope, loss_function)
    loss: Kind = called(follow, *known, given) if known is not None else "mixed"
    if loss_function[0] == "call" and operand is not None and decorated is None:
        loss = call_of(follow, scope, loss_function, node)
    with_aux = any(label == "has_aux" and value[-1] is not False for label, _, value in maker[3])
    aux: Kind = "mixed"
    if with_aux and isinstance(loss, tuple) and len(loss) == 2:
        loss, aux = loss
    kind = flat(loss)
    if kind not in ("mean", "total", *SAME):
        unread = ": attributes are not followed" if operand is not None and operand[0] == "attr" else ""
        raise Obstacle("no-mean", f"{_name(operand)} is not known to be a mean over its rows{unread}")
    for place, (_, one) in enumerate(given):
        if place in _places(maker) and flat(one) not in SAME:
            raise Obstacle("gradient-of-rows", "gradients for the rows themselves stay with their device")
    value: Kind = (kind, aux) if with_aux else kind
    if TAKES[home.dotted(maker[2])]:
        return (value, kind)
    return (kind, aux) if with_aux else kind


def _name(operand: Node | None) -> str:
    if operand is not None and operand[0] == "attr" and operand[2][0] == "name":
        return f'"{operand[2][2]}.{operand[3]}"'
    return f'"{operand[2]}"' if operand is not None and operand[0] == "name" else "the loss"


def _places(maker: Node) -> tuple[int, ...]:
    given = next((value for label, _, value in maker[3] if label == "argnums"), None)
    if given is None:
        given = next((value for value in [value for label, _, value in maker[3] if label is None][1:2]), None)
    if given is None:
        return (0,)
    items = given[2] if given[0] in ("tuple", "list") else (given,)
    return tuple(item[2] for item in items if item[0] == "const" and type(item[2]) is int)


def _at_top(view: FileView) -> dict[str, Node]:
    return _named(view, (view.facts.blocks[key].shape for key in view.facts.top))


def _named(view: FileView, statements: Iterable[Node]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for statement in statements:
        for node in _plain(statement):
            if node[0] == "assign" and takes(view, node[3]):
                found |= {one[2]: node[3] for one in node[2] if one[0] == "name"}
    return found


def _plain(statement: Node) -> Iterator[Node]:
    return walk(statement) if statement[0] not in ("fn", "class") else iter(())


def named_makers(view: FileView, target: Target) -> dict[str, Node]:
    """The names that stand for a `grad(…)` in a function, those of the functions around it among them."""
    home = home_of(view, target.at(target.node[1]))
    around = tree(view, str(view.path), home) if home is not None else None
    return {**_at_top(view), **_named(view, around[2][4] if around is not None else ()), **_named(view, target.body)}
