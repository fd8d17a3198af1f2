"""The arrays that a step processes along their last axis; if it is their only axis, it is the row axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from meshlens.facts.nodes import (
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    Call,
    Comprehension,
    Constant,
    Expression,
    For,
    FunctionDef,
    Lambda,
    Name,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    Walrus,
    last_name,
    parameters_of,
)
from meshlens.project.trees import Node, bound_by, names_used, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.axes_known import AxesSeen, Least
from meshlens.refactoring.following.row_by_row import is_along_last, is_elementwise, tells_classes
from meshlens.refactoring.reading.functions import Target, dotted_name, reached

_Path = tuple[object, ...]


def may_be_flat(view: FileView, target: Target, seen: AxesSeen) -> bool:
    """Returns whether a function works along the last axis of arrays whose only axis may be the row axis.

    Args:
        view: the file.
        target: the function.
        seen: the minimum number of axes of arrays, if following the function showed it.
    """
    roots = reached(view, target)
    is_shown_anywhere = any(_has_two_axes(view, node, seen) for root in roots for node in walk(root))
    for root in roots:
        for call in _along_last_of_unknown(root):
            if _most(seen.along_last.get((view.path, call.site), 0)) > 1:
                continue
            sources, is_given = _sources(root, target.node, call)
            must_be_shown = _may_have_one_axis(view, sources, seen, is_given=is_given)
            if not (_is_shown(view, sources, walk(root), seen) if must_be_shown else is_shown_anywhere):
                return True
    return False


def _may_have_one_axis(view: FileView, sources: list[Node], seen: AxesSeen, *, is_given: bool) -> bool:
    """Returns whether an array may be a network's output, or an elementwise result, with only one value per row."""
    calls = [node for source in sources for node in walk(source) if isinstance(node, Call)]
    if any(_most(seen.networks.get((view.path, call.site), 0)) == 1 for call in calls):
        return True
    return not is_given and all(is_elementwise(last_name(call.callee)) for call in calls)


def _along_last_of_unknown(root: FunctionDef) -> list[Call]:
    """Returns the calls that work along the last axis of arrays that are never multiplied by a matrix on the right."""
    nodes = tuple(walk(root))
    # A product with a matrix on the right contracts an axis other than the row axis.
    several = {
        node.left.name
        for node in nodes
        if isinstance(node, BinaryOperation) and node.operator == "@" and isinstance(node.left, Name)
    }
    bound = Counter(name for node in nodes if not isinstance(node, Comprehension) for name in bound_by(node))
    bound.update(parameter.name for parameter in parameters_of(root))
    several = {name for name in several if bound[name] < 2}
    calls = [node for node in nodes if isinstance(node, Call)]
    return [call for call in calls if is_along_last(call) and not _is_spread_over(call, several)]


def _is_spread_over(call: Call, names: set[str]) -> bool:
    """Returns whether a call works on one of the given arrays, or on an elementwise expression that contains one."""
    given = [walk(value) for label, _, value in call.arguments if label is None][:1]
    parts = [node for nodes in given for node in nodes]
    is_plain = all(
        isinstance(node, (Name, Constant, UnaryOperation))
        or (isinstance(node, BinaryOperation) and node.operator != "@")
        for node in parts
    )
    return is_plain and not names.isdisjoint(node.name for node in parts if isinstance(node, Name))


def _sources(root: FunctionDef, step: FunctionDef, call: Call) -> tuple[list[Node], bool]:
    """Returns the expressions that a call's arrays depend on, and whether any uses a parameter of an inner function."""
    nodes = tuple(walk(root))
    inner = [node for node in nodes if isinstance(node, (FunctionDef, Lambda)) and node is not step]
    given = {one.name for function in inner for one in parameters_of(function)}
    bindings = [(bound_by(node), value) for node in nodes if (value := _value_of(node)) is not None]
    found: list[Node] = []
    waiting: list[Node] = list(_arrays(call))
    while waiting:
        found.append(waiting.pop())
        names = names_used(found[-1])
        waiting += [value for bound, value in bindings if value not in found and not bound.isdisjoint(names)]
    return found, any(not given.isdisjoint(names_used(one)) for one in found)


def _value_of(node: Node) -> Node | None:
    if isinstance(node, (Assign, AugAssign, Walrus)):
        return node.value
    return node.iterable if isinstance(node, For) else None


def _arrays(call: Call) -> Iterator[Expression]:
    """Yields a call's operands: the first argument, keyword arguments except `axis`, and the object of a method."""
    yield from (one.value for place, one in enumerate(call.arguments) if not place or one.label not in (None, "axis"))
    if isinstance(call.callee, Attribute):
        yield call.callee.object


def _is_shown(view: FileView, sources: list[Node], function: Iterable[Node], seen: AxesSeen) -> bool:
    """Returns whether a function's code shows that arrays computed from the given expressions have several axes."""
    parts = [node for source in sources for node in walk(source)]
    if any(_has_two_axes(view, node, seen) for node in parts):
        return True
    paths = {_path(node) for node in parts} - {None}
    return any(
        _has_two_axes(view, node, seen) and not paths.isdisjoint(map(_path, _looked_at(node))) for node in function
    )


def _looked_at(node: Node) -> Iterator[Node]:
    if isinstance(node, Subscript):
        array = node.object
        yield array.object if isinstance(array, Attribute) and array.name == "shape" else array
    if isinstance(node, Call):
        yield from _arrays(node)


def _path(node: Node) -> _Path | None:
    """Returns the name and keys by which code reads an array; None for other expressions."""
    if isinstance(node, Name):
        return (node.name,)
    if isinstance(node, Attribute):
        above = _path(node.object)
        return (*above, node.name) if above is not None else None
    if isinstance(node, Subscript) and isinstance(node.key, Constant):
        above = _path(node.object)
        return (*above, node.key.value) if above is not None else None
    return None


def _has_two_axes(view: FileView, node: Node, seen: AxesSeen) -> bool:
    """Returns whether an expression shows that an array has several axes, or passes it to a network that needs them."""
    if isinstance(node, Subscript):
        is_shape = (
            isinstance(node.object, Attribute)
            and node.object.name == "shape"
            and not (isinstance(node.key, Constant) and node.key.value == 0)
        )
        return isinstance(node.key, TupleDisplay) or is_shape
    if not isinstance(node, Call):
        return False
    axes = [value for label, _, value in node.arguments if label == "axis" and isinstance(value, Constant)]
    if any(type(value.value) is int and value.value > 0 for value in axes):
        return True
    callee, known = node.callee, _most(seen.networks.get((view.path, node.site), 0))
    if known > 1 or tells_classes(last_name(callee)):
        return True
    if isinstance(callee, Attribute) and callee.name in ("apply", "apply_fn"):
        return known == 0
    maker = dotted_name(view, callee.callee) if isinstance(callee, Call) else ""
    return maker in ("jax.vmap", "equinox.filter_vmap") or maker.startswith(("flax.linen.", "haiku."))


def _most(least: Least) -> int:
    return max(map(_most, least), default=0) if isinstance(least, tuple) else least
