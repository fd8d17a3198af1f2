"""The gradients that code takes: with respect to which arguments, and which parts are means over the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlens.facts.nodes import (
    NOTHING,
    Argument,
    Assign,
    Attribute,
    Call,
    ClassDef,
    Constant,
    FunctionDef,
    ListDisplay,
    Name,
    TupleDisplay,
)
from meshlens.project.trees import Node, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.following import Defined, Follow, called, entered, function_of
from meshlens.refactoring.following.grad_calls import TAKES, takes
from meshlens.refactoring.following.kinds import SAME, Kind, applied, flat
from meshlens.refactoring.following.settled_tests import constant_of
from meshlens.refactoring.maps.mixing import mixed_at
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.decorators import applied_by
from meshlens.refactoring.reading.functions import Target
from meshlens.refactoring.reading.scopes import home_of


def differentiated(view: FileView, target: Target) -> frozenset[str]:
    """Returns the names in the arguments with respect to which gradient functions differentiate."""
    named = named_makers(view, target)
    return frozenset(
        name.name
        for statement in target.body
        for node in walk(statement)
        if isinstance(node, Call) and (maker := maker_of(view, node.callee, named)) is not None
        for place, (label, _, value) in enumerate(node.arguments)
        if label is None and place in _places(maker)
        for name in walk(value)
        if isinstance(name, Name)
    )


def maker_of(view: FileView, callee: Node, named: dict[str, Call]) -> Call | None:
    """Returns the `grad(…)` that made a callee."""
    if isinstance(callee, Call) and takes(view, callee):
        return callee
    return named.get(callee.name) if isinstance(callee, Name) else None


def maker_above(follow: Follow, function: FunctionDef) -> Call | None:
    """Returns the `grad(…)` that decorates a function, as a call."""
    decorators = function.function.decorators
    if len(decorators) != 1:
        return None
    one = decorators[0]
    callee, given = applied_by(one, follow.dotted)
    if follow.dotted(callee) not in TAKES or any(label is None for label, _, _ in given):
        return None
    name = Name("name", function.function.site, function.function.name)
    return Call("call", one.site, callee, (Argument(None, function.function.site, name), *given))


def gradient_kind(follow: Follow, maker: Call, home: Follow, node: Call, decorated: Defined | None = None) -> Kind:
    """Returns the kind of the result of `grad(…)(…)`.

    Args:
        follow: the calling scope.
        maker: the `grad(…)`.
        home: the scope of its names.
        node: the call.
        decorated: the function that `grad(…)` decorates, and its enclosing function.

    Raises:
        Obstacle: the differentiated value is not certainly a mean or sum over the rows.
    """
    given = [(label, follow.kind(value)) for label, _, value in node.arguments]
    operand = next((value for label, _, value in maker.arguments if label is None), None)
    seen = home.names(operand) if operand is not None and decorated is None else []
    if decorated is not None and decorated[1] is not None:
        seen = decorated[1].names(decorated[0])
    together = applied((*(kind for _, kind in given), *seen))
    if together in SAME:
        return together
    scope, loss_function = home.meant(operand) if operand is not None else (home, NOTHING)
    known = decorated if decorated is not None else function_of(scope, loss_function)
    loss: Kind = "mixed"
    begun = len(follow.mixing)
    if known is not None:
        is_named = decorated is None and loss_function is operand
        around = entered(follow, scope, known, node) if is_named else known[1]
        loss = called(follow, known[0], around, given, node.arguments)
    is_applied = known is None and isinstance(loss_function, Attribute) and loss_function.name == "apply"
    if is_applied or (isinstance(loss_function, Call) and operand is not None and decorated is None):
        loss = follow.constructs.call(follow, scope, loss_function, node)
    flag = next((value for label, _, value in maker.arguments if label == "has_aux"), Constant("const", 0, False))
    said = constant_of(home.constants, flag)
    if said is None:
        return "mixed"
    with_aux = said.value is not False
    aux: Kind = "mixed"
    if with_aux and isinstance(loss, tuple) and len(loss) == 2:
        loss, aux = loss
    kind = flat(loss)
    if kind not in ("mean", "total", *SAME):
        why = ": MeshLens does not follow attributes" if known is None and isinstance(operand, Attribute) else ""
        why = why or mixed_at(follow.top or follow.view, follow.mixing[begun:])
        raise Obstacle("no-mean", f"{_name(operand)} is not known to return a mean or sum over the rows{why}")
    value: Kind = (kind, aux) if with_aux else kind
    if kind in SAME and follow.within is not None:
        # A loss that is reduced inside its function is the same on all devices, but each device has only the gradient
        # of its own rows. A sum over devices is its own transpose, so the mean over devices is the loss's gradient.
        kind = "mean"
    places = [place for place in _places(maker) if place < len(given)]
    is_plain = not with_aux and not TAKES[home.dotted(maker.callee)] and len(places) == 1
    taken = tuple(given[place][1] for place in places)
    if SAME.issuperset(map(flat, taken)):
        gradient: Kind = kind
    else:
        is_array = is_plain and _is_array(follow, node.arguments[places[0]].value, taken[0])
        found = tuple(kind if flat(one) in SAME else _along_rows(follow, node, kind, one, is_array) for one in taken)
        gradient = found if len(found) > 1 else found[0]
        follow.results[node.site] = follow.least_axes(node.arguments[places[0]].value) if is_plain else 0
    if TAKES[home.dotted(maker.callee)]:
        return (value, gradient)
    return (gradient, aux) if with_aux else gradient


def _along_rows(follow: Follow, node: Call, loss: str, of: Kind, is_array: bool) -> Kind:
    """Returns the kind of the gradient with respect to rows.

    The gradient of a sum with respect to a row depends only on that row. The gradient of a mean over a device's rows is
    too large by a factor of the number of devices; the gradient is divided by that number if it is certainly one array.

    Raises:
        Obstacle: the gradient for the rows of all devices cannot be computed.
    """
    if loss == "total" and flat(of) == "rows":
        return of
    if loss == "mean" and is_array and follow.reduce is not None:
        follow.reduce(node, "divided")
        return "rows"
    remedy = "; take the gradient of a sum, not of a mean" if loss == "mean" else ""
    raise Obstacle("gradient-of-rows", f"splitting the rows may change the gradients with respect to them{remedy}")


def _is_array(follow: Follow, value: Node, of: Kind) -> bool:
    """Returns whether the value that gradients are taken with respect to is certainly one array."""
    is_named = isinstance(value, Name) and value.name in follow.arrays
    return of == "rows" or (is_named and flat(of) == "rows")


def _name(operand: Node | None) -> str:
    if isinstance(operand, Attribute) and isinstance(operand.object, Name):
        return f'"{operand.object.name}.{operand.name}"'
    return f'"{operand.name}"' if isinstance(operand, Name) else "the loss function"


def _places(maker: Call) -> tuple[int, ...]:
    given = next((value for label, _, value in maker.arguments if label == "argnums"), None)
    if given is None:
        given = next((value for value in [value for label, _, value in maker.arguments if label is None][1:2]), None)
    if given is None:
        return (0,)
    items = given.items if isinstance(given, (TupleDisplay, ListDisplay)) else (given,)
    return tuple(item.value for item in items if isinstance(item, Constant) and type(item.value) is int)


def _at_top(view: FileView) -> dict[str, Call]:
    key = f"assists: gradients named at the top of {view.path}"
    found: dict[str, Call] = view.solution.once(key, lambda _: _named(view, view.facts.statements))
    return found


def _named(view: FileView, statements: Iterable[Node]) -> dict[str, Call]:
    found: dict[str, Call] = {}
    for statement in statements:
        for node in _plain(statement):
            if isinstance(node, Assign) and isinstance(node.value, Call) and takes(view, node.value):
                found |= {one.name: node.value for one in node.targets if isinstance(one, Name)}
    return found


def _plain(statement: Node) -> Iterator[Node]:
    return walk(statement) if not isinstance(statement, (FunctionDef, ClassDef)) else iter(())


def named_makers(view: FileView, target: Target) -> dict[str, Call]:
    """Returns the `grad(…)` calls whose results are assigned to names in a function or the code around it, by name."""
    home = home_of(view, target.at(target.node.site))
    around = tree(view, str(view.path), home) if home is not None else None
    return {
        **_at_top(view),
        **_named(view, around.function.body if isinstance(around, FunctionDef) else ()),
        **_named(view, target.body),
    }
