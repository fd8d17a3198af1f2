"""Evidence that an argument with an ambiguous name is the same on every device, or split over the devices.

A `w` may be a weight of the model or of each row, and a `t` a scalar or a time for each row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    BoolOperation,
    Call,
    Constant,
    DictDisplay,
    For,
    FunctionDef,
    IfExpression,
    Lambda,
    ListDisplay,
    Name,
    SeparateDef,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
    root_name,
)
from meshlens.project.trees import Node, bound_by, names_used, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.kinds import over_rows
from meshlens.refactoring.following.random import is_key
from meshlens.refactoring.following.roles import _STATE, is_setting
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, functions_called
from meshlens.refactoring.reading.made import BATCH
from meshlens.refactoring.reading.mentions import mentions_of
from meshlens.refactoring.reading.uses import used_elsewhere

Evidence = Literal["shared", "split", ""]

UNCLEAR = re.compile(
    r"(?:.*_)?(?:weights?|w|b|bias|scale|mean|std|variance|factor|threshold|discount|gamma|temperature|t|dt|i|idx|index"
    r"|alpha|beta|coef)"
)
"""Matches names that may stand for rows or for part of the model."""
_BATCH_SIZE = re.compile(r"(?:n_|num_)?batch(?:_size|size)?|bs|bsz|b|B|n_(?:examples|samples)|num_(?:examples|samples)")
"""Matches names that code commonly gives to the number of rows."""
_DEPTH = 4
_PRODUCTS = frozenset({"dot", "matmul", "einsum", "tensordot", "dot_general"})
_OF_ARRAYS = frozenset(
    "shape ndim dtype size T at astype reshape ravel flatten squeeze sum mean max min std var dot item copy".split()
)
_TREES = re.compile(r"(?:.*\.)?(?:tree_map|tree_leaves|tree\.map|tree\.leaves|global_norm|ravel_pytree)")
_CONVERTS = frozenset("asarray array float32 float64 float16 bfloat16 int32 device_put".split())
_DRAWS = frozenset({"beta", "gamma", "integers", "normal", "randint", "uniform"})
_MAKES_NUMBERS = frozenset({"float", "int", "len"})
_RANGES = frozenset({"range", "trange", "arange", "linspace", "logspace", "geomspace"})
_OF_NUMBERS = frozenset("exp log log10 sqrt square power abs clip minimum maximum sin cos tanh floor ceil".split())
_SCALARS = frozenset({"float", "int", "bool"})
_REDUCES = frozenset("mean std var sum max min median".split())
_SIZED = frozenset("zeros ones empty full normal uniform integers randint rand randn arange linspace random".split())


def evidence(view: FileView, target: Target, name: str, place: int, uses: tuple[Use, ...]) -> Evidence:
    """Returns the evidence from a function's use of a parameter and from its calls; "" if there is none.

    Args:
        view: the file.
        target: the function.
        name: the parameter.
        place: its position.
        uses: the calls, with their arguments by position.
    """
    every = tuple(_where(view, target.node, name))
    if any(_is_of_the_model(view, root, own) or _is_folded_in(view, root, own) for root, own in every):
        return "shared"
    given = [use for use in uses if use.call is not None and place < len(use.call.arguments)]
    if given and all(_has_no_rows(view, use, use.call.arguments[place].value) for use in given if use.call is not None):
        return "shared"
    found = {_beside(view, use, place) for use in given}
    return found.pop() if len(found) == 1 else ""


def never_rows(view: FileView, place: int, uses: tuple[Use, ...]) -> bool:
    """Returns whether every call certainly passes a number, a function, or an array without a row axis.

    Args:
        view: the file.
        place: the position of the argument.
        uses: the calls, with their arguments by position.
    """
    given = [(use, use.call.arguments) for use in uses if use.call is not None and place < len(use.call.arguments)]
    return bool(given) and all(
        _is_one(view, use, arguments[place].value) or _has_no_rows(view, use, arguments[place].value)
        for use, arguments in given
    )


def is_used_as_rows(view: FileView, functions: Iterable[FunctionDef], name: str) -> bool:
    """Returns whether functions treat an array's first dimension as the batch size, or its entries as one per row.

    For example, a network runs on the array, or the array is used to index tables of users, words or states.

    Args:
        view: the file.
        functions: the functions that get the array.
        name: its name in all of them.
    """
    return any(
        _calls_size_of_batch(node, name)
        or (isinstance(node, Subscript) and _looks_up_in_state(node, name))
        or (isinstance(node, Call) and (_draws_one_each(view, node, name) or _runs_network(node, name)))
        for root in functions
        for node in walk(root)
    )


def is_looked_up(view: FileView, functions: Iterable[FunctionDef], name: str) -> bool:
    """Returns whether functions look up an entry of an array for each row, as `table[labels]` does.

    Args:
        view: the file.
        functions: the functions that get the array, or a tree that holds it.
        name: its name in all of them.
    """
    for root in functions:
        drawn = {
            one
            for node in walk(root)
            if isinstance(node, Assign)
            and isinstance(node.value, Call)
            and dotted_name(view, node.value.callee) == "jax.random.randint"
            and any(isinstance(each.value, TupleDisplay) and each.value.items for each in node.value.arguments)
            for one in bound_by(node)
        }
        for node in walk(root):
            key = node.key if isinstance(node, Subscript) and root_name(node.object) == name else None
            if isinstance(key, Name) and (key.name in drawn or BATCH.fullmatch(key.name)):
                return True
    return False


def has_fields(view: FileView, target: Target, name: str) -> bool:
    """Returns whether the functions that get an argument read attributes of it that arrays do not have."""
    return any(_reads_field(node, own) for root, own in _where(view, target.node, name) for node in walk(root))


def _reads_field(node: Node, name: str) -> bool:
    """Returns whether an expression reads an attribute of a variable that arrays do not have."""
    return isinstance(node, Attribute) and _is(node.object, name) and node.name not in _OF_ARRAYS


def _looks_up_in_state(node: Subscript, name: str) -> bool:
    return name.endswith("s") and _is(node.key, name) and _STATE.fullmatch(root_name(node.object)) is not None


def _calls_size_of_batch(node: Node, name: str) -> bool:
    """Returns whether a statement is like `batch_size = x.shape[0]` or `B, T = x.shape`."""
    if not isinstance(node, Assign) or len(node.targets) != 1:
        return False
    first, value = node.targets[0], node.value
    if isinstance(first, TupleDisplay) and first.items:
        is_size = isinstance(value, Attribute) and value.name == "shape" and _is(value.object, name)
        first = first.items[0]
    else:
        is_size = _is_first_size(value, name)
    return is_size and isinstance(first, Name) and _BATCH_SIZE.fullmatch(first.name) is not None


def _draws_one_each(view: FileView, call: Call, name: str) -> bool:
    """Returns whether a call is like `jax.random.randint(key, (x.shape[0],), 0, n)`."""
    if not dotted_name(view, call.callee).startswith("jax.random."):
        return False
    shapes = (one.value.items for one in call.arguments if isinstance(one.value, (TupleDisplay, ListDisplay)))
    return any(len(sizes) > 0 and _is_first_size(sizes[0], name) for sizes in shapes)


def _runs_network(call: Call, name: str) -> bool:
    """Returns whether a call is like `model.apply(variables, x)` or `model.apply(variables, key, x)`."""
    given = [value for label, _, value in call.arguments if label is None][1:]
    if given and isinstance(given[0], Name) and is_key(given[0].name):
        given = given[1:]
    is_network = isinstance(call.callee, Attribute) and call.callee.name in ("apply", "apply_fn")
    return is_network and bool(given) and _is(given[0], name)


def _is_first_size(node: Node, name: str) -> bool:
    if isinstance(node, Call):
        return last_name(node.callee) == "len" and len(node.arguments) == 1 and _is(node.arguments[0].value, name)
    return (
        isinstance(node, Subscript)
        and isinstance(node.key, Constant)
        and node.key.value == 0
        and isinstance(node.object, Attribute)
        and node.object.name == "shape"
        and _is(node.object.object, name)
    )


def _where(view: FileView, root: FunctionDef, name: str, depth: int = 0) -> Iterator[tuple[FunctionDef, str]]:
    """Yields the functions that a value is passed to, with the value's name there; skips those run by a `vmap`."""
    yield root, name
    if depth >= _DEPTH:
        return
    for node in walk(root):
        if isinstance(node, SeparateDef):
            inner = tree(view, str(view.path), node.key)
            if isinstance(inner, FunctionDef) and name not in _parameters(inner):
                yield from _where(view, inner, name, depth + 1)
        if not isinstance(node, Call):
            continue
        is_partial = dotted_name(view, node.callee) == "functools.partial" and len(node.arguments) > 1
        called = _run_by(view, root, node.arguments[0].value if is_partial else node.callee)
        if called is None:
            continue
        parameters = _parameters(called)
        for at, (label, _, value) in enumerate(node.arguments[1:] if is_partial else node.arguments):
            own = label if label is not None else parameters[at] if at < len(parameters) else ""
            if isinstance(value, Name) and value.name == name and own in parameters:
                yield from _where(view, called, own, depth + 1)


def _run_by(view: FileView, root: Node, callee: Node) -> FunctionDef | None:
    """Returns the function of the file that a callee runs, including through `grad` and `jit`."""
    if isinstance(callee, Name):
        made = [
            one.value
            for one in walk(root)
            if isinstance(one, Assign) and isinstance(one.value, Call) and callee.name in bound_by(one)
        ]
        callee = made[0] if len(made) == 1 else callee
    if isinstance(callee, Call):
        if "vmap" in dotted_name(view, callee.callee) or not callee.arguments:
            return None
        callee = callee.arguments[0].value
    found = functions_called(view, last_name(callee)) if isinstance(callee, Name) else ()
    return found[0].node if len(found) == 1 and not found[0].is_method else None


def _parameters(function: FunctionDef) -> list[str]:
    return [one.name for one in function.function.parameters]


def _is_of_the_model(view: FileView, root: Node, name: str) -> bool:
    return any(_speaks_of_the_model(view, node, name) for node in walk(root))


def _speaks_of_the_model(view: FileView, node: Node, name: str) -> bool:
    """Returns whether code treats a value as a tree of parameters, or multiplies row features by it."""
    if isinstance(node, BinaryOperation):
        return node.operator == "@" and _is(node.right, name) and _has_features(node.left)
    if isinstance(node, Subscript):
        return _is(node.object, name) and isinstance(node.key, Constant) and isinstance(node.key.value, str)
    if isinstance(node, Attribute):
        return _reads_field(node, name)
    if isinstance(node, For):
        return _is(node.iterable, name)
    if isinstance(node, Assign):
        return _is(node.value, name) and isinstance(node.targets[0], (TupleDisplay, ListDisplay))
    if isinstance(node, DictDisplay):
        return any(
            _is(one.value, name) and isinstance(one.key, Constant) and one.key.value == "params" for one in node.pairs
        )
    if not isinstance(node, Call):
        return False
    given = [value for label, _, value in node.arguments if label is None]
    dotted = dotted_name(view, node.callee) or last_name(node.callee)
    if last_name(node.callee) in ("apply", "apply_fn") and given:
        return _is(given[0], name)
    if _TREES.fullmatch(dotted) is not None or dotted == "zip":
        return any(_is(one, name) for one in given)
    is_product = last_name(node.callee) in _PRODUCTS and not isinstance(given[:1], Constant)
    arrays = [one for one in given if not isinstance(one, Constant)]
    return is_product and len(arrays) > 1 and _is(arrays[1], name) and _has_features(arrays[0])


def _is_folded_in(view: FileView, root: Node, name: str) -> bool:
    """Returns whether code folds a number into a random key: `jax.random.fold_in(key, step)`."""
    return any(
        isinstance(node, Call)
        and dotted_name(view, node.callee) == "jax.random.fold_in"
        and len(node.arguments) == 2
        and _is(node.arguments[1].value, name)
        for node in walk(root)
    )


def _is(node: Node, name: str) -> bool:
    return isinstance(node, Name) and node.name == name


def _has_features(node: Node) -> bool:
    """Returns whether an operand is the function's batch, or the output of layers applied to a batch."""
    if isinstance(node, Name):
        return BATCH.fullmatch(node.name) is not None and not node.name.startswith(("y", "label", "target"))
    if isinstance(node, BinaryOperation):
        return node.operator == "@" or (node.operator in "+-*/" and (_has_features(node.left)))
    return isinstance(node, Call) and any(_has_features(value) for _, _, value in node.arguments)


def _is_one(view: FileView, use: Use, node: Node, depth: int = 0) -> bool:
    """Returns whether an argument is certainly a number or a function."""
    if depth > _DEPTH:
        return False
    if isinstance(node, Name):
        made = list(bound_values(view, use, node.name))
        passed = list(_passed(view, use, node.name)) if NOTHING in made else []
        return (
            bool(made)
            and all(
                _runs_through_numbers(view, use, one, node.name, depth)
                if isinstance(one, For)
                else _is_one(view, use, one, depth + 1)
                for one in made
                if one != NOTHING or not passed
            )
            and all(_is_one(view, *one, depth + 1) for one in passed)
        )
    if isinstance(node, (FunctionDef, Lambda, SeparateDef)):
        return True
    if (parts := _operands(node)) is not None:
        return all(is_setting(one) or _is_one(view, use, one, depth + 1) for one in parts)
    if isinstance(node, DictDisplay):
        return bool(node.pairs) and all(_is_one(view, use, value, depth + 1) for _, value in node.pairs)
    if isinstance(node, Call) and len(node.arguments) == 1 and last_name(node.callee) in _CONVERTS:
        return _is_one(view, use, node.arguments[0].value, depth + 1)
    if isinstance(node, Call) and (_draws_one(view, use, node, depth) or _computes_one(view, use, node, depth)):
        return True
    is_number = isinstance(node, Constant) and type(node.value) in (int, float, bool)
    given = [value for label, _, value in node.arguments if label is None] if isinstance(node, Call) else []
    name = node.callee.name if isinstance(node, Call) and isinstance(node.callee, Name) else ""
    # Python's `max` and `min` compare their arguments, which must be numbers.
    return is_number or name in _MAKES_NUMBERS or (name in ("max", "min") and len(given) > 1)


def _operands(node: Node) -> tuple[Node, ...] | None:
    """Returns the expressions that must be numbers for an expression or an update to be one; None for other nodes."""
    if isinstance(node, IfExpression):
        return (node.then, node.otherwise)
    if isinstance(node, BoolOperation):
        return node.items
    if isinstance(node, BinaryOperation):
        return (node.left, node.right)
    if isinstance(node, UnaryOperation):
        return (node.operand,)
    return (node.value,) if isinstance(node, AugAssign) else None


def _runs_through_numbers(view: FileView, use: Use, loop: For, name: str, depth: int) -> bool:
    """Returns whether a loop assigns only numbers to a variable."""
    iterable, target = loop.iterable, loop.target
    if isinstance(iterable, (TupleDisplay, ListDisplay)):
        return isinstance(target, Name) and all(_is_one(view, use, one, depth + 1) for one in iterable.items)
    if not isinstance(iterable, Call):
        return False
    if isinstance(target, TupleDisplay):
        return last_name(iterable.callee) == "enumerate" and last_name(target.items[0]) == name
    return last_name(iterable.callee) in _RANGES and all(
        _is_one(view, use, value, depth + 1) or is_setting(value) for _, _, value in iterable.arguments
    )


def _computes_one(view: FileView, use: Use, node: Call, depth: int) -> bool:
    """Returns whether a call computes a number from numbers, as `math.sqrt` and a learning-rate schedule do."""
    dotted = dotted_name(view, node.callee)
    if dotted.startswith("math."):
        return True
    is_array_function = dotted.startswith(("numpy.", "jax.numpy.")) and last_name(node.callee) in _OF_NUMBERS
    made = list(bound_values(view, use, node.callee.name)) if isinstance(node.callee, Name) else []
    is_schedule = bool(made) and all(
        isinstance(one, Call)
        and dotted_name(view, one.callee).startswith("optax.")
        and last_name(one.callee).endswith("schedule")
        for one in made
    )
    return (is_array_function or is_schedule) and all(
        _is_one(view, use, value, depth + 1) for _, _, value in node.arguments
    )


def _draws_one(view: FileView, use: Use, node: Call, depth: int) -> bool:
    """Returns whether a NumPy or Python generator draws a single number because it gets two numbers and no size."""
    if last_name(node.callee) not in _DRAWS or dotted_name(view, node.callee).startswith("jax.random."):
        return False
    return len(node.arguments) == 2 and all(
        label is None and (is_setting(value) or _is_one(view, use, value, depth + 1))
        for label, _, value in node.arguments
    )


def _has_no_rows(view: FileView, use: Use, node: Node, depth: int = 0) -> bool:
    """Returns whether an argument is certainly a number, or an array whose first axis is not the row axis."""
    if depth > _DEPTH:
        return False
    if isinstance(node, Constant):
        return type(node.value) in (int, float, bool)
    if isinstance(node, UnaryOperation):
        return _has_no_rows(view, use, node.operand, depth + 1)
    if isinstance(node, DictDisplay):
        return _is_one(view, use, node, depth)
    if isinstance(node, BinaryOperation):
        return all(_has_no_rows(view, use, one, depth + 1) for one in (node.left, node.right))
    if isinstance(node, Name):
        made = list(bound_values(view, use, node.name))
        return len(made) == 1 and _has_no_rows(view, use, made[0], depth + 1)
    if isinstance(node, For):
        items = node.iterable.items if isinstance(node.iterable, (TupleDisplay, ListDisplay)) else ()
        is_alone = isinstance(node.target, Name) and bool(items)
        return is_alone and all(_has_no_rows(view, use, one, depth + 1) for one in items)
    if not isinstance(node, Call):
        return False
    name = last_name(node.callee)
    positional = [value for label, _, value in node.arguments if label is None]
    if name in _MAKES_NUMBERS and isinstance(node.callee, Name):
        return True
    if name in _CONVERTS and positional:
        return _has_no_rows(view, use, positional[0], depth + 1)
    if name in _REDUCES:
        is_method = not dotted_name(view, node.callee)
        axis = next((value for label, _, value in node.arguments if label == "axis"), None)
        rest = positional if is_method else positional[1:]
        return over_rows(axis if axis is not None else rest[0] if rest else None) is True and not _keeps(node)
    first, others = _first_size(view, use, node), _first_sizes(view, use)
    return isinstance(first, int) and bool(others) and all(isinstance(one, int) and one != first for one in others)


def _keeps(call: Call) -> bool:
    return any(label in ("keepdims", "where") for label, _, _ in call.arguments)


def bound_values(view: FileView, use: Use, name: str) -> Iterator[Node]:
    """Yields the values assigned to a name in a call's scope or at the top level; `NOTHING` for unknown ones."""
    root = tree(view, use.site.path, use.site.block)
    scopes: list[Node] = [root] if root is not None else []
    scopes += view.facts.statements if not _binds(root, name) else []
    for one in root.function.parameters if isinstance(root, FunctionDef) else ():
        if one.name == name and last_name(one.annotation) in _SCALARS:
            yield Constant("const", one.site, 0.0)
        elif one.name == name:
            yield one.default if one.default is not None else NOTHING
    for scope in scopes:
        for node in walk(scope):
            if name in bound_by(node):
                if isinstance(node, Assign) and len(node.targets) == 1 and isinstance(node.targets[0], Name):
                    yield node.value
                else:
                    yield node


def _passed(view: FileView, use: Use, name: str) -> Iterator[tuple[Use, Node]]:
    """Yields what the calls of the function around a call pass for a parameter; nothing if a use may be unseen."""
    root = tree(view, use.site.path, use.site.block)
    parameters = _parameters(root) if isinstance(root, FunctionDef) else []
    if not isinstance(root, FunctionDef) or name not in parameters or parameters[0] in ("self", "cls"):
        return
    place = parameters.index(name)
    mentions = mentions_of(view, root.function.name)
    given = [
        (Use(one.site, one.call), argument.value)
        for one in mentions
        for at, argument in enumerate(one.call.arguments if one.call is not None else ())
        if argument.label == name or (argument.label is None and at == place)
    ]
    if len(given) == len(mentions) and used_elsewhere(view, root.function.name) is None:
        yield from given


def _binds(root: Node | None, name: str) -> bool:
    if root is None:
        return False
    is_parameter = isinstance(root, FunctionDef) and name in _parameters(root)
    return is_parameter or any(name in bound_by(node) for node in walk(root))


def _beside(view: FileView, use: Use, place: int) -> Evidence:
    """Returns the evidence from the rows that a call passes with an argument.

    The argument is split if the loop over the data assigns both the argument and the rows, or if the same variable
    gives the size of both.
    """
    assert use.call is not None
    given = use.call.arguments[place].value
    if not isinstance(given, Name):
        return ""
    names = {one.value.name for one in use.call.arguments if isinstance(one.value, Name)} - {given.name}
    rows = {name for name in names if BATCH.fullmatch(name) is not None}
    root = tree(view, use.site.path, use.site.block)
    for node in walk(root) if root is not None else ():
        if isinstance(node, For) and isinstance(node.target, TupleDisplay) and given.name in bound_by(node):
            items = [one for one in node.target.items if isinstance(one, Name)]
            if {one.name for one in items} & rows and items[0].name != given.name:
                return "split"
    made = list(bound_values(view, use, given.name))
    own = _first_size(view, use, made[0]) if len(made) == 1 else None
    return "split" if isinstance(own, str) and own in _first_sizes(view, use) else ""


def _first_sizes(view: FileView, use: Use) -> list[int | str | None]:
    """Returns the batch sizes in a call, each as a number or a variable name."""
    assert use.call is not None
    found = []
    for one in use.call.arguments:
        if isinstance(one.value, Name) and BATCH.fullmatch(one.value.name) is not None:
            made = list(bound_values(view, use, one.value.name))
            found.append(_first_size(view, use, made[0] if len(made) == 1 else one.value))
    return found


def _first_size(view: FileView, use: Use, node: Node, depth: int = 0) -> int | str | None:
    """Returns the size of the first axis of an expression's array, as written."""
    if depth > _DEPTH:
        return None
    if isinstance(node, BinaryOperation):
        left = _first_size(view, use, node.left, depth + 1)
        return left if left is not None else _first_size(view, use, node.right, depth + 1)
    if not isinstance(node, Call):
        return None
    name = last_name(node.callee)
    given = [value for label, _, value in node.arguments if label is None]
    if name in ("astype", "asarray", "array") and isinstance(node.callee, Attribute):
        inner = node.callee.object if name == "astype" else given[0] if given else None
        return _first_size(view, use, inner, depth + 1) if inner is not None else None
    if name == "reshape" and given:
        sizes = given[1:] if dotted_name(view, node.callee) else given
        return _size(sizes[0]) if sizes else None
    if name not in _SIZED:
        return None
    size = next((value for label, _, value in node.arguments if label in ("size", "shape")), None)
    if size is None:
        if dotted_name(view, node.callee).startswith("jax.random."):
            given = given[1:]
        size = given[0] if given and name not in ("uniform", "normal", "integers", "linspace") else None
        size = given[-1] if size is None and given and isinstance(given[-1], TupleDisplay) else size
    return _size(size) if size is not None else None


def _size(node: Node) -> int | str | None:
    if isinstance(node, (TupleDisplay, ListDisplay)):
        return _size(node.items[0]) if node.items else None
    if isinstance(node, Constant):
        is_size = type(node.value) in (int, float) and node.value > 0 and node.value == int(node.value)
        return int(node.value) if is_size else None
    return "".join(sorted(names_used(node))) if isinstance(node, Name) else None
