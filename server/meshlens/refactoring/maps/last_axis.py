"""The arrays that a step processes along their last axis; if it is their only axis, it is the row axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

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
    Slice,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    Walrus,
    last_name,
    parameters_of,
)
from meshlens.project.trees import Node, bound_by, children, names_used, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.axes_known import AxesSeen, Least
from meshlens.refactoring.following.row_by_row import is_along_last, is_elementwise, tells_classes
from meshlens.refactoring.following.running import VMAPS
from meshlens.refactoring.reading.functions import Target, dotted_name, reached

_Path = tuple[object, ...]
_Values: TypeAlias = "Mapping[str, list[Node]]"
_FLATTENS = frozenset({"squeeze", "ravel", "flatten"})
_REDUCES = frozenset("sum mean max min std var prod argmax argmin logsumexp any all norm median".split())


def may_be_flat(view: FileView, target: Target, seen: AxesSeen) -> bool:
    """Returns whether a function works along the last axis of arrays whose only axis may be the row axis.

    Args:
        view: the file.
        target: the function.
        seen: the minimum number of axes of arrays, if following the function showed it.
    """
    roots = reached(view, target)
    nodes = [node for root in roots for node in walk(root)]
    is_shown_anywhere = any(_has_two_axes(view, node, seen) for node in nodes)
    passed, mapped = _passed(nodes), _mapped(view, nodes)
    for root in roots:
        for call in _along_last_of_unknown(root):
            if _most(seen.along_last.get((view.path, call.site), 0)) > 1:
                continue
            values = _values(root, passed)
            sources, is_given = _sources(root, target.node, call, values)
            is_dropped = call.site not in mapped and any(_has_fewer_axes(one, values) for one in _arrays(call))
            must_be_shown = is_dropped or _may_have_one_axis(view, sources, seen, is_given=is_given)
            if not (_is_shown(view, call, walk(root), (values, seen)) if must_be_shown else is_shown_anywhere):
                return True
    return False


def _passed(nodes: list[Node]) -> _Values:
    """Returns what the calls in a step and its helpers pass for the parameters of these functions."""
    functions = {one.function.name: one for one in nodes if isinstance(one, FunctionDef)}
    found: dict[str, list[Node]] = {}
    for node in nodes:
        called = functions.get(node.callee.name) if isinstance(node, Call) and isinstance(node.callee, Name) else None
        if called is None or not isinstance(node, Call):
            continue
        names = [one.name for one in parameters_of(called)]
        for place, (label, _, value) in enumerate(node.arguments):
            name = label if label is not None else names[place] if place < len(names) else ""
            found.setdefault(name, []).append(value)
    return found


def _mapped(view: FileView, nodes: list[Node]) -> frozenset[int]:
    """Returns the sites in functions that a `vmap` maps, where the row axis does not exist."""
    given = [
        node.arguments[0].value
        for node in nodes
        if isinstance(node, Call) and node.arguments and dotted_name(view, node.callee) in VMAPS
    ]
    names = {one.name for one in given if isinstance(one, Name)}
    functions = [one for one in nodes if isinstance(one, FunctionDef) and one.function.name in names]
    return frozenset(node.site for one in (*functions, *given) for node in walk(one))


def _values(root: FunctionDef, passed: _Values) -> _Values:
    """Returns the values of a function's variables, and what calls pass for its parameters and those inside it."""
    nodes = tuple(walk(root))
    functions = [node for node in nodes if isinstance(node, (FunctionDef, Lambda))]
    names = {one.name for function in functions for one in parameters_of(function)}
    found = {name: list(values) for name, values in passed.items() if name in names}
    for node in nodes:
        if (value := _value_of(node)) is not None:
            for name in bound_by(node):
                found.setdefault(name, []).append(_item(node, name, value))
    return found


def _item(node: Node, name: str, value: Node) -> Node:
    """Returns the part of an assigned tuple that a variable gets; the whole value if that is unknown."""
    target = node.targets[0] if isinstance(node, Assign) else None
    if not isinstance(target, TupleDisplay) or not isinstance(value, TupleDisplay):
        return value
    pairs = zip(target.items, value.items, strict=False)
    return next((part for one, part in pairs if isinstance(one, Name) and one.name == name), value)


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


def _sources(root: FunctionDef, step: FunctionDef, call: Call, values: _Values) -> tuple[list[Node], bool]:
    """Returns the expressions that a call's arrays depend on, and whether any uses a parameter of an inner function."""
    nodes = tuple(walk(root))
    inner = [node for node in nodes if isinstance(node, (FunctionDef, Lambda)) and node is not step]
    given = {one.name for function in inner for one in parameters_of(function)}
    found: list[Node] = []
    waiting: list[Node] = list(_arrays(call))
    while waiting:
        found.append(waiting.pop())
        waiting += [value for name in names_used(found[-1]) for value in values.get(name, ()) if value not in found]
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


def _is_shown(view: FileView, call: Call, function: Iterable[Node], known: tuple[_Values, AxesSeen]) -> bool:
    """Returns whether a function's code shows that an array that a call works on has several axes."""
    nodes, (values, seen) = tuple(function), known
    looked_at = {_path(one) for node in nodes if _has_two_axes(view, node, seen) for one in _looked_at(node)} - {None}

    def shows(node: Node, entered: frozenset[str]) -> bool:
        if _drops_axes(node):
            return False
        if _has_two_axes(view, node, seen) or _path(node) in looked_at:
            return True
        if isinstance(node, Name):
            made = values.get(node.name, ()) if node.name not in entered else ()
            return any(shows(one, entered | {node.name}) for one in made)
        return any(shows(one, entered) for one in children(node))

    return any(shows(array, frozenset()) for array in _arrays(call))


def _has_fewer_axes(node: Node, values: _Values, entered: frozenset[str] = frozenset()) -> bool:
    """Returns whether an expression is, or is computed entry by entry from, an array without one of its axes."""
    if isinstance(node, Name):
        made = values.get(node.name, ()) if node.name not in entered else ()
        return any(_has_fewer_axes(one, values, entered | {node.name}) for one in made)
    is_by_entry = (
        isinstance(node, UnaryOperation)
        or (isinstance(node, BinaryOperation) and node.operator != "@")
        or (isinstance(node, Call) and (is_elementwise(last_name(node.callee)) or last_name(node.callee) == "astype"))
    )
    return _drops_axes(node) or (is_by_entry and any(_has_fewer_axes(one, values, entered) for one in children(node)))


def _drops_axes(node: Node) -> bool:
    """Returns whether an expression has fewer axes than the array in it, and so perhaps only the row axis."""
    if isinstance(node, Subscript) and isinstance(node.key, TupleDisplay):
        items = node.key.items
        kept = sum(isinstance(one, Slice) or (isinstance(one, Constant) and one.value is None) for one in items)
        is_whole = [isinstance(one, Constant) and one.value is ... for one in items]
        return kept < 2 and kept + sum(is_whole) < len(items)
    if not isinstance(node, Call):
        return False
    name, labels = last_name(node.callee), {label for label, _, _ in node.arguments}
    if name == "reshape":
        sizes = node.arguments[-1].value if node.arguments else None
        return isinstance(sizes, UnaryOperation) or (isinstance(sizes, TupleDisplay) and len(sizes.items) == 1)
    return name in _FLATTENS or (name in _REDUCES and "axis" in labels and "keepdims" not in labels)


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
