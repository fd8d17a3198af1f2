"""Follows rows through calls: to functions of the file, to NumPy and JAX, and to unknown callees."""

from __future__ import annotations

from meshlens.facts.nodes import (
    Argument,
    Attribute,
    BinaryOperation,
    Call,
    Comparison,
    Comprehension,
    Constant,
    DictDisplay,
    Expression,
    FunctionDef,
    Lambda,
    ListDisplay,
    Name,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
    root_name,
)
from meshlens.jaxapi.operations import OPERATIONS
from meshlens.project.trees import Node
from meshlens.refactoring.following.axes_known import note_axes
from meshlens.refactoring.following.features import takes_features_apart
from meshlens.refactoring.following.following import (
    Defined,
    Follow,
    entered,
    function_defined,
    function_of,
    method_called,
    numbered,
    product_over_rows,
    result_of,
    rows_meet,
)
from meshlens.refactoring.following.grad_calls import takes
from meshlens.refactoring.following.gradients import gradient_kind, maker_above
from meshlens.refactoring.following.kinds import (
    GROUP_SUMS,
    LINEAR,
    MEANS,
    OVER_DEVICES,
    SAME,
    SUMS,
    UNCHANGED,
    Keyed,
    Kind,
    applied,
    combined,
    couples,
    flat,
    index_of,
    is_mixture,
    is_product,
    kept,
    over_rows,
    plain,
    reduced,
    together,
)
from meshlens.refactoring.following.layer_calls import rearranged
from meshlens.refactoring.following.models import (
    has_one_entry,
    is_of_modules,
    is_unread,
    loss_applied,
    model_called,
)
from meshlens.refactoring.following.random import changes_keys, random_kind
from meshlens.refactoring.following.row_by_row import (
    Given,
    is_along_last,
    is_elementwise,
    is_of_arrays,
    is_of_library,
    makes_arrays,
    may_couple,
    row_by_row,
)
from meshlens.refactoring.following.running import VMAPS, decorated_kind, is_mapped, transformed_kind
from meshlens.refactoring.following.settled_tests import constant_of
from meshlens.refactoring.reading.layers import layers_of
from meshlens.refactoring.reading.mentions import bound_at_top
from meshlens.refactoring.reading.own_methods import OwnMethod, own_method
from meshlens.refactoring.reading.records import changes_when_rebuilt, is_record

_OVER_ROWS = frozenset(
    "std var nanstd nanvar max min amax amin nanmax nanmin median nanmedian prod nanmean ptp".split()
)
"""The functions that take an array and an axis, and combine the entries along the axis into one value."""
_SHAPES = frozenset({"jax.numpy.shape", "numpy.shape"})
_PLAIN = ("axis", "keepdims", "dtype")
_OF_ARRAYS = frozenset("array asarray astype float32 squeeze".split())
"""The functions that leave the rows unchanged and take only arrays, not trees of arrays."""
_ARITHMETIC = ("jax.numpy.", "jax.lax.", "numpy.", "operator.")
_SIGNS = {"added": "+", "subtracted": "-", "multiplied": "*", "divided": "/"}
"""The operators that functions stand for, by what they do."""
_ENTRY_BY_ENTRY = frozenset("iter next list tuple sorted reversed min max map filter".split())
"""Python's built-in functions that take an array apart into its rows."""
_PURE = frozenset({"apply", "apply_fn"})
"""The usual names of functions that run a model of flax or haiku and store nothing."""
_WITH_ROWS = frozenset({"rows", "turned"})
_JOINS = frozenset({"concatenate", "concat", "hstack"})
_MOST_VALUES = 16
_READS = frozenset("items values keys get copy".split())
"""The methods of a dictionary that do not change it."""


def call_of(follow: Follow, home: Follow, callee: Node, node: Call) -> Kind:
    """Returns the kind of a call's result.

    Args:
        follow: the calling scope.
        home: the scope of the callee's names.
        callee: the callee.
        node: the call.
    """
    dotted = home.dotted(callee)
    _fold_into_arguments(follow, dotted, node)
    if dotted.startswith("jax.random."):
        return random_kind(follow, dotted.rsplit(".", 1)[-1], node)
    if isinstance(callee, Call) and takes(home.view, callee):
        return gradient_kind(follow, callee, home, node)
    known = function_of(home, callee)
    if known is not None:
        given = [(label, follow.kind(value)) for label, _, value in node.arguments]
        result = result_of(follow, known[0], _around(follow, home, known, node), given, node.arguments, node)
        follow.results[node.site] = result.axes
        _may_change(follow, node)
        return result.kind
    defined = function_defined(home, callee)
    if defined is not None and isinstance(defined[0], FunctionDef):
        maker = maker_above(home, defined[0])
        if maker is not None:
            return gradient_kind(follow, maker, home, node, defined)
        return decorated_kind(follow, defined[0], defined[1], node)
    found = loss_applied(follow, home, callee, node)
    found = found if found is not None else transformed_kind(follow, home, callee, node)
    found = found if found is not None else _unread(follow, home, callee, node)
    if not is_of_library(dotted):
        _may_change(follow, node)
    return found


def _may_change(follow: Follow, node: Call) -> None:
    """Notes that a call may add entries to the dictionaries among its arguments, or to the one whose method it is."""
    given = [value for _, _, value in node.arguments]
    if isinstance(node.callee, Attribute) and last_name(node.callee) not in _READS:
        given.append(node.callee.object)
    for value in given:
        if isinstance(value, Name):
            follow.forget_keys(value.name)


def _around(follow: Follow, home: Follow, known: Defined, node: Call) -> Follow | None:
    """Returns the scope around the function that a call runs; see `entered` for a function that is called by name."""
    meant = follow.meant(node.callee)
    is_named = isinstance(node.callee, (Name, Attribute)) and meant[0] is follow and meant[1] is node.callee
    is_named &= follow.within is None or not follow.within.is_for_losses
    return entered(follow, home, known, node) if is_named else known[1]


def _fold_into_arguments(follow: Follow, dotted: str, node: Call) -> None:
    """Makes each device fold its index into the keys passed to a call; the variables with these keys are unchanged."""
    if not follow.kept or follow.lines is None or follow.reduce is None or changes_keys(dotted):
        return
    for _, _, value in node.arguments:
        for one in (value, *(each for _, each in value.pairs)) if isinstance(value, DictDisplay) else (value,):
            if isinstance(one, Name) and one.name in follow.kept and follow.env.get(one.name) == "key":
                follow.own_here.add(one.site)
                follow.reduce(one, "folded")


def _unread(follow: Follow, home: Follow, callee: Node, node: Call) -> Kind:
    """Returns the kind of the result of a function whose code is not followed."""
    name = last_name(callee)
    dotted = home.dotted(callee)
    is_known = is_of_library(dotted)
    owner = callee.object if isinstance(callee, Attribute) and not dotted else None
    is_method = owner is not None
    is_bare = isinstance(callee, Name) and not dotted and not home.binds(name) and not bound_at_top(home.view, name)
    if name in OVER_DEVICES:
        return "same"
    if dotted in _SHAPES and len(node.arguments) == 1:
        return follow.kind(Attribute("attr", node.site, node.arguments[0].value, "shape"))
    if name == "reshape":
        # The sizes may include part of another shape, as in `x.reshape(n, *x.shape[2:])`.
        node = node._replace(arguments=tuple(map(_spread, node.arguments)))
    positional = [
        *((owner,) if owner is not None else ()),
        *(value for label, _, value in node.arguments if label is None),
    ]
    named = {label: value for label, _, value in node.arguments if label is not None}
    values = [*positional, *(value for label, value in named.items() if label != "axis")]
    if _gives_key(follow, callee, dotted):
        return "own"
    if not values:
        return "same" if SAME.issuperset(map(flat, home.names(callee))) else "mixed"
    if is_bare and name == "tuple" and isinstance(values[0], Comprehension):
        count = _times(follow, values[0])
        return (follow.kind(values[0]),) * count if count is not None else "mixed"
    if is_along_last(node):
        # Following a product or a call shows how many axes its result has.
        is_whole = flat(follow.kind(values[0])) in SAME
        joined = values[0].items if isinstance(values[0], (TupleDisplay, ListDisplay)) else (values[0],)
        least = max(map(follow.least_axes, joined), default=0)
        # What all devices hold has no row axis that could be the last one.
        note_axes(follow.seen.along_last, (follow.view.path, node.site), max(least, 2) if is_whole else least)
    if (is_known or is_method or is_bare) and (name in MEANS or name in SUMS):
        return _reduction(follow, node, name, values, is_method)
    first = follow.kind(values[0])
    if name in UNCHANGED and first == "tree" and (name in _OF_ARRAYS or is_array(follow, values[0])):
        return "rows"
    if name in ("array", "asarray") and isinstance(first, tuple):
        found = together(first)
        return "turned" if found == "rows" else found if found in {"same", *LINEAR} else "mixed"
    if name in UNCHANGED or (is_method and name in ("items", "values") and first in ("own", "key")):
        return first
    if is_method and name in ("items", "values", "get") and (first == "both" or isinstance(first, Keyed)):
        return "mixed"
    if name == "len" and flat(first) in ("rows", "shape"):
        # The length of a shape is the number of axes.
        return "count" if flat(first) == "rows" else "same"
    # The sizes of a device's own array are its own.
    kind_of = follow.frozen().kind if name == "reshape" else follow.kind
    kinds = [first, *map(kind_of, values[1:])]
    kinds = [_of_each(kind) if value is named.get("*") else kind for value, kind in zip(values, kinds, strict=True)]
    if name == "arange" and "count" in map(flat, kinds):
        return "places" if [flat(follow.kind(value)) for value in positional] == ["count"] else "mixed"
    if is_elementwise(name) or name == "where":
        kinds = [numbered(follow, value, kind) for value, kind in zip(values, kinds, strict=True)]
        if rows_meet(follow, values, kinds):
            return "mixed"
    if name in _OVER_ROWS and _gathers(follow, is_method or is_known, node, is_method):
        return "same"
    if is_known and name in ("dot", "matmul") and len(values) == 2:
        if flat(kinds[1]) == "rows" and (summed := product_over_rows(follow, values[0])) is not None:
            return summed
        if kinds[1] == "same":
            follow.multiplies(values[0], kinds[0])
    is_of_two = dotted.startswith(_ARITHMETIC) and len(values) == len(node.arguments) == 2
    done = OPERATIONS.get(f"jax.numpy.{name}", OPERATIONS.get(f"jax.lax.{name}")) if is_of_two else None
    operator = _SIGNS.get(done or "")
    if operator is not None and not (LINEAR | GROUP_SUMS).isdisjoint(map(flat, kinds)):
        found = combined(operator, *kinds)
        if found != "mixed":
            return found
    given = Given(name, positional, named, kinds, kind_of, follow.least_axes)
    if is_known and makes_arrays(name) and {"count", "shape"} & set(map(flat, kinds)):
        return row_by_row(given)
    if (is_known or is_method) and _spreads_one_entry(follow, name, values, kinds, node):
        return "rows"
    if not is_method and not home.binds(name) and changes_when_rebuilt(home.view, callee):
        return "mixed"
    held = set(map(flat, kinds))
    may_hold = not is_method and not home.binds(name) and (LINEAR & held or held == {"rows", "same"})
    if may_hold and (is_record(home.view, callee) or (name == "dict" and is_bare)):
        whole = _container(node, name, kinds)
        # Sums beside what is the same on every device are reduced one by one.
        each = [follow.put_together(*one) for one in zip(values, kinds, strict=True)] if whole == "mixed" else kinds
        return _container(node, name, each)
    kinds = [follow.settled(value, kind) for value, kind in zip(values, kinds, strict=True)]
    has_rows = not _WITH_ROWS.isdisjoint(map(flat, kinds))
    if not is_method and not isinstance(callee, (Name, Attribute)):
        kinds += home.names(callee)
    elif isinstance(callee, Name):
        kinds.append(home.look_up(name))
        if (
            has_rows
            and name in follow.env
            and home is follow
            and not follow.in_model
            and not _keeps_nothing(follow, name)
        ):
            # A called object may store its arguments, as layers with batch statistics do.
            follow.env[name] = "mixed"
    if not has_rows:
        return applied(kinds)
    if is_bare and name == "dict":
        return _container(node, name, kinds[: len(values)])
    if is_bare and name in _ENTRY_BY_ENTRY:
        return "mixed"
    if any(_closes_over_rows(follow, value) for value in values) or method_called(home, callee) == "unread":
        return "mixed"
    updated = _updated(owner) if owner is not None else None
    if updated is not None and _counts_into_zeros(follow, name, *updated, kinds[1:]):
        return "total"
    if updated is not None:
        return applied(kinds, elementwise=True) if _updates_rows(follow, *updated) else "mixed"
    is_of_array = is_method and flat(kinds[0]) in _WITH_ROWS and is_of_arrays(name)
    if name == "reshape" and (is_known or is_of_array) and flat(first) == "rows" and takes_features_apart(follow, node):
        return "rows"
    if dotted.startswith("jax.tree") and any(map(is_mixture, kinds)):
        return "mixed"
    if is_known or is_of_array:
        given = Given(name, positional, named, kinds, kind_of, follow.least_axes)
        is_plain = _is_plain(node) or (is_elementwise(name) and "**" not in named)
        found = row_by_row(given) if is_plain else "mixed"
        if found == "rows" and name in _JOINS and over_rows(_axis(node, False, 1), True):
            follow.seen.moved.add((follow.view.path, node.site))
        if found == "grouped":
            shape = positional[1]
            _note_groups(follow, node, shape.items[0] if isinstance(shape, (TupleDisplay, ListDisplay)) else shape)
        return found
    if dotted.startswith("einops."):
        arranged = rearranged(dotted, node.arguments, kinds[0])
        if arranged == "grouped":
            _note_groups(follow, node, next(iter(named.values())) if len(named) == 1 else None)
        return arranged
    found = applied(kinds, coupled=is_product(name))
    if found == "rows" and any(map(is_mixture, kinds)):
        # The result may be a container of both, too.
        return "both" if _of_object(follow, home, callee, node) == "rows" else "mixed"
    return _of_object(follow, home, callee, node) if found == "rows" else found


def _times(follow: Follow, node: Comprehension) -> int | None:
    """Returns the number of values of a comprehension over `range(n)`; None if it is large or unknown."""
    iterable = node.clauses[0].iterable
    if len(node.clauses) > 1 or node.clauses[0].conditions or not isinstance(iterable, Call):
        return None
    is_range = isinstance(iterable.callee, Name) and iterable.callee.name == "range" and not follow.binds("range")
    said = constant_of(follow.constants, iterable.arguments[0].value) if len(iterable.arguments) == 1 else None
    count = said.value if is_range and said is not None else None
    return count if isinstance(count, int) and 0 < count <= _MOST_VALUES else None


def _of_each(kind: Kind) -> Kind:
    """Returns the kind of the values that a call passes one by one, from a tuple or from arrays in a stack."""
    return together(kind) if isinstance(kind, tuple) else "rows" if flat(kind) == "turned" else kind


def _note_groups(follow: Follow, call: Call, number: Node | None) -> None:
    """Records the number of groups into which a call splits the rows of a device."""
    said = constant_of(follow.constants, number) if number is not None else None
    count = said.value if said is not None and type(said.value) is int else None
    follow.seen.groups[follow.view.path, call.site] = count


def _container(node: Call, name: str, kinds: list[Kind]) -> Kind:
    """Returns the kind of a record, or of a dictionary whose keys are known if a call passes only keywords."""
    labels = [label for label, _, _ in node.arguments]
    if name != "dict" or not {None, "*", "**", "axis"}.isdisjoint(labels):
        return kept(kinds)
    return plain(Keyed(tuple((label or "", kind) for label, kind in zip(labels, kinds, strict=True))))


def _counts_into_zeros(follow: Follow, name: str, array: Node, index: Node, kinds: list[Kind]) -> bool:
    """Returns whether code adds a value for each row to an array of zeros: `jnp.zeros(n).at[labels].add(1)`."""
    made = last_name(array.callee) if isinstance(array, Call) else ""
    if name != "add" or made not in ("zeros", "zeros_like") or flat(follow.kind(array)) != "same":
        return False
    items = index.items if isinstance(index, TupleDisplay) else (index,)
    found = {flat(follow.kind(one)) for one in items}
    return "rows" in found and found <= {"rows", "same"} and {flat(one) for one in kinds} <= {"rows", "same"}


def _spread(argument: Argument) -> Argument:
    starred = Starred("star", argument.site, argument.value)
    return argument._replace(label=None, value=starred) if argument.label == "*" else argument


def _spreads_one_entry(follow: Follow, name: str, values: list[Expression], kinds: list[Kind], node: Call) -> bool:
    """Returns whether a call gives each row a copy of an array that is the same on every device."""
    if name not in ("tile", "repeat", "broadcast_to") or len(values) != 2 or flat(kinds[0]) != "same":
        return False
    counts = values[1].items if isinstance(values[1], (TupleDisplay, ListDisplay)) else (values[1],)
    found = [flat(follow.kind(one)) for one in counts]
    if found[:1] != ["count"] or set(found[1:]) - {"same"}:
        return False
    if name == "repeat" and (len(counts) > 1 or over_rows(_axis(node, True, 2), False) is not True):
        return False
    return name == "broadcast_to" or has_one_entry(follow, values[0])


def _gives_key(follow: Follow, callee: Node, dotted: str) -> bool:
    """Returns whether a call returns a model's key, which differs between devices because each has its own rows."""
    own = follow.own
    is_own = own is not None and isinstance(callee, Attribute) and root_name(callee) == own.receiver
    return follow.in_model and (dotted == "haiku.next_rng_key" or (is_own and last_name(callee) == "make_rng"))


def _gathers(follow: Follow, is_array_function: bool, node: Call, is_method: bool) -> bool:
    """Gathers the rows of all devices for a function known to combine them into one result; returns whether it did."""
    if follow.reduce is None or not is_array_function or over_rows(_axis(node, is_method, 1)) is not True:
        return False
    if any(label in ("*", "**", "out") for label, _, _ in node.arguments):
        return False
    receiver = (node.callee.object,) if is_method and isinstance(node.callee, Attribute) else ()
    values: list[Node] = [*receiver, *(value for _, _, value in node.arguments)]
    kinds = [follow.kind(value) for value in values]
    if is_method and kinds[0] != "rows" and not is_array(follow, values[0]):
        return False
    if set(map(flat, kinds)) - {"rows", "same"} or flat(kinds[0]) != "rows":
        return False
    for value, kind in zip(values, kinds, strict=True):
        if flat(kind) == "rows":
            follow.reduce(value, "all_gather")
    return True


def is_array(follow: Follow, node: Node) -> bool:
    """Returns whether an expression with rows is certainly an array or a tree of arrays, not another object."""
    root = node
    while isinstance(root, (Attribute, Subscript)):
        root = root.object
    if isinstance(root, (BinaryOperation, UnaryOperation, Comparison)):
        return True
    if isinstance(root, Call):
        home, callee = follow.meant(root.callee)
        maker = home.dotted(callee.callee) if isinstance(callee, Call) else ""
        defined = function_defined(home, callee)
        is_of_vmap = maker in VMAPS or (defined is not None and is_mapped(follow, defined[0]))
        return is_of_vmap or is_of_library(home.dotted(callee))
    arrays = follow.computed if follow.within is None else follow.computed | follow.within.arrays
    return isinstance(root, Name) and root.name in arrays


def _closes_over_rows(follow: Follow, value: Node) -> bool:
    """Returns whether an argument is a function that closes over rows and is used in an unknown way."""
    is_function = isinstance(value, Lambda) or (
        isinstance(value, Name)
        and (value.name in follow.local or value.name in follow.made)
        and value.name not in follow.env
    )
    if isinstance(value, Name) and value.name in follow.made:
        callee, around = follow.made[value.name]
        return applied((around or follow).names(callee)) != "same"
    return is_function and not SAME.issuperset(map(flat, [follow.kind(value)]))


def _keeps_nothing(follow: Follow, name: str) -> bool:
    """Returns whether a called object stores nothing about its inputs, or only their averages over all devices."""
    layers = layers_of(follow.view)
    if name in _PURE or (layers.classes and not layers.keeps):
        return True
    owner = follow.known_classes.get(name)
    # The same holds for an instance of a plain class of the project, not a module, that does not modify itself.
    is_plain = owner is not None and not is_of_modules(owner)
    return is_plain and owner is not None and isinstance(own_method(*owner, "__call__", through_class=False), OwnMethod)


def _of_object(follow: Follow, home: Follow, callee: Node, node: Call) -> Kind:
    """Returns the kind of the result of a model or another object that receives or contains rows."""
    name = last_name(callee)
    if isinstance(callee, Attribute) and flat(follow.kind(callee.object)) in _WITH_ROWS:
        is_coupling = couples(name, over_rows(_axis(node, True, 1))) and not is_product(name)
        return "mixed" if is_coupling or may_couple(name) else "tree"
    if isinstance(callee, Call) and may_couple(last_name(callee.callee)):
        return "mixed"
    result = model_called(follow, home, callee, node)
    follow.results[node.site] = result.axes
    note_axes(follow.seen.networks, (follow.view.path, node.site), result.axes)
    if flat(result.kind) != "mixed":
        return result.kind
    if is_unread(home, callee) and _gives_to_call(follow, node) and gathered(follow, node):
        return "same"
    return result.kind


def _gives_to_call(follow: Follow, call: Call) -> bool:
    """Returns whether a call receives rows that the step has computed, not only the step's own arguments."""
    return any(
        isinstance(value, Name) and value.name in follow.bound and flat(follow.kind(value)) in _WITH_ROWS
        for _, _, value in call.arguments
    )


def gathered(follow: Follow, call: Call) -> bool:
    """Passes the rows of all devices to a method of an object that is the same on every device, such as a metric.

    Returns:
        Whether the call is to such a method and its rows were gathered.
    """
    callee, arguments = call.callee, call.arguments
    if follow.lines is None or not isinstance(callee, Attribute) or follow.env.get(root_name(callee)) != "same":
        return False
    if any(label in ("*", "**") for label, _, _ in arguments):
        return False
    kinds = [flat(follow.kind(value)) for _, _, value in arguments]
    if "rows" not in kinds or set(kinds) - {"rows", "same", "mean", "total"}:
        return False
    for (_, _, value), kind in zip(arguments, kinds, strict=True):
        if kind == "rows" and follow.reduce is not None:
            follow.reduce(value, "all_gather")
        else:
            follow.settled(value, kind)
    return True


def _updated(owner: Node) -> tuple[Node, Node] | None:
    """Returns the array and the index of `x.at[…]`."""
    if not isinstance(owner, Subscript) or not isinstance(owner.object, Attribute) or owner.object.name != "at":
        return None
    return owner.object.object, owner.key


def _updates_rows(follow: Follow, array: Node, index: Node) -> bool:
    """Returns whether `array.at[index]` updates every row in the same way."""
    first = index.items[0] if isinstance(index, TupleDisplay) and index.items else index
    if isinstance(first, Slice):
        return all(part is None for part in (first.lower, first.upper, first.step))
    is_ellipsis = isinstance(first, Constant) and first.value is ...
    return is_ellipsis or (flat(follow.kind(first)) == "places" and flat(follow.kind(array)) == "rows")


def _is_plain(node: Call) -> bool:
    return all(label not in ("*", "**") for label, _, _ in node.arguments)


def _reduction(follow: Follow, node: Call, name: str, values: list[Expression], is_method: bool) -> Kind:
    result = "mean" if name in MEANS else "total"
    operand = follow.kind(values[0])
    if name == "sum" and isinstance(node.callee, Name):
        # Python's `sum` adds up the entries of a list without reducing them.
        if isinstance(values[0], (Comprehension, ListDisplay, TupleDisplay)):
            return flat(operand)
        return "mixed" if flat(operand) in _WITH_ROWS else flat(operand)
    axis = _axis(node, is_method, 1)
    if is_method and operand == "tree" and not node.arguments and not is_array(follow, values[0]):
        # The object may be a distribution, which has a separate mean for each row.
        return "mixed"
    plain: list[Node | None] = [axis, values[0]]
    where = next((value for label, _, value in node.arguments if label == "where"), None)
    if where is not None and result == "total":
        operand = applied((operand, follow.kind(where)), elementwise=True)
        plain.append(where)
    rest = [follow.kind(value) for label, _, value in node.arguments if label not in _PLAIN and value not in plain]
    if "rows" in map(flat, rest) and _gathers(follow, True, node, is_method):
        return "same"
    if any(flat(kind) != "same" for kind in rest) or (axis is not None and flat(follow.kind(axis)) != "same"):
        return "mixed"
    if flat(operand) == "turned" and axis is not None:
        return "rows" if index_of(axis) == 0 and len(node.arguments) == 2 - is_method else "mixed"
    over = over_rows(axis, axes=follow.least_axes(values[0]))
    return reduced(operand, over, result, every_axis=axis is None)


def _axis(node: Call, is_method: bool, place: int) -> Node | None:
    for label, _, value in node.arguments:
        if label == "axis":
            return value
    positional = [value for label, _, value in node.arguments if label is None]
    place -= is_method
    return positional[place] if place < len(positional) else None
