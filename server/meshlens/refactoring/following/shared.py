"""Decides which arguments of a step are the same on every device and which are split."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    DictDisplay,
    For,
    FunctionDef,
    Lambda,
    ListDisplay,
    Name,
    Parameter,
    SeparateDef,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    While,
    is_node,
    last_name,
    root_name,
)
from meshlens.project.trees import Node, bound_by, names_bound, names_used, nodes_of_block, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.drawn import is_counted, is_drawn, is_yielded
from meshlens.refactoring.following.random import bundles_of, is_key, streams_of
from meshlens.refactoring.following.roles import _PLAIN, _STATE, is_setting
from meshlens.refactoring.following.running import VMAPS
from meshlens.refactoring.following.shared_evidence import (
    UNCLEAR,
    evidence,
    has_fields,
    is_looked_up,
    is_used_as_rows,
    never_rows,
)
from meshlens.refactoring.following.sizes import shapes_given
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, reached
from meshlens.refactoring.reading.made import BATCH
from meshlens.refactoring.reading.parameters import must_go_by_position
from meshlens.refactoring.reading.passed import (
    Arrays,
    begin_without_rows,
    hold_no_rows,
    hold_rows,
    is_passed_anew,
    passed_by_host,
    rows_of,
    visits_by_host,
)

_SHARED = frozenset(
    "params parameters param state train_state opt_state optimizer_state model variables lr learning_rate rate config "
    "step_size class_weight class_weights pos_weight".split()
)
_SPLIT = frozenset(
    "batch x y xs ys data inputs input targets target labels label images image tokens examples minibatch "
    "observations features input_ids attention_mask pixel_values mb".split()
)
_OF_ROWS = re.compile(r"(?:sample|example|row|instance|importance|batch)_(?:weights?|mask)|loss_mask")
_BATCH_AXES = frozenset({"batch", "b", "B", "bs", "N", "batch_size"})
_ARRAYS = frozenset({"ndarray", "Array", "ArrayLike", "DeviceArray"})
_INDEX = re.compile(r"i|j|k|n|(?:.*_)?(?:idx|index|step|epoch)")
_WEAK = frozenset({"state", "states"})
_WITH_PARAMETERS = frozenset({"params", "parameters", "variables", "model", "weights"})
_SCALARS = frozenset({"int", "float", "bool", "str"})
_NUMBERS = frozenset({"int", "float", "array", "asarray", "float32", "int32"})
_SAID_STATE = ("TrainState", "OptState", "Params", "FrozenDict", "Module", "Optimizer", "Model", "GraphDef", "PRNGKey")
_OF_PARAMETERS = frozenset({"incremental_update", "periodic_update", "apply_updates"})
"""The functions of optax whose first two arguments are parameters."""
_OF_STATE = frozenset({"params", "apply_gradients", "opt_state", "apply_fn", "replace"})


def in_axes_of(
    view: FileView,
    target: Target,
    uses: tuple[Use, ...],
    learned: frozenset[str],
    static: Iterable[str],
    said: tuple[tuple[str, int], ...] = (),
) -> tuple[int | None, ...]:
    """Returns 0 for every argument of the calls that is split, and None for every argument that is shared.

    Args:
        view: the file.
        target: the function.
        uses: its calls.
        learned: the names of the arguments with respect to which it takes gradients.
        static: the names of its static parameters.
        said: the arguments that the user named as the batch, each with the axis of its rows; the others are shared if
            nothing is known about them.

    Raises:
        Obstacle: an argument is unknown, or all are shared.
    """
    count = _count(target, uses)
    names = _said_names(target, said)

    unclear: dict[int, Obstacle] = {}

    def axis_of(place: int, parameter: Parameter) -> int | None:
        if parameter.name in names:
            return 0
        try:
            return axis_of_parameter(view, target, parameter, place, uses, learned)
        except Obstacle as obstacle:
            unclear[place] = obstacle
            return None

    axes = tuple(
        None if parameter.name in static else axis_of(place, parameter)
        for place, parameter in enumerate(target.parameters[:count])
    )
    if unclear and not names:
        axes = _by_arrays_passed(view, target, axes, unclear)
    if all(axis is None for axis in axes):
        axes = _second_thought(view, target, uses, learned, axes)
    if all(axis is None for axis in axes):
        axes = _rows_updated(view, target, learned, axes)
    if all(axis is None for axis in axes):
        raise Obstacle("nothing-to-split", f'no argument of "{target.name}" is known to hold a batch')
    return axes


def axes_of_rest(
    view: FileView, target: Target, uses: tuple[Use, ...], learned: frozenset[str], static: Iterable[str]
) -> tuple[int | None, ...]:
    """Returns the same as `in_axes_of`, for arguments that no visible call passes but other calls might.

    Raises:
        Obstacle: an argument is unknown.
    """
    count = _count(target, uses)
    return tuple(
        None
        if parameter.name in static or _is_number_by_default(parameter)
        else axis_of_parameter(view, target, parameter, count + place, uses, learned)
        for place, parameter in enumerate(target.parameters[count:])
    )


def _is_number_by_default(parameter: Parameter) -> bool:
    return isinstance(parameter.default, Constant) and type(parameter.default.value) in (bool, int, float)


def _said_names(target: Target, said: tuple[tuple[str, int], ...]) -> frozenset[str]:
    """Returns the arguments that the user named as the batch.

    Raises:
        Obstacle: the function has no parameter with that name, or the rows are not along the argument's first axis.
    """
    own = {parameter.name for parameter in target.parameters}
    for name, axis in said:
        if name not in own:
            raise Obstacle("no-such-argument", f'"{target.name}" has no argument "{name}"')
        if axis:
            raise Obstacle("batch-axis", f'the rows of "{name}" are on axis {axis}, not 0; use jit with sharding')
    return frozenset(name for name, _ in said)


def _is_array(annotation: Node | None) -> bool:
    """Returns whether an annotation is the array class."""
    if isinstance(annotation, Constant):
        return annotation.value in _ARRAYS
    return last_name(annotation) in _ARRAYS


def _second_thought(
    view: FileView, target: Target, uses: tuple[Use, ...], learned: frozenset[str], axes: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    """Selects another argument as the batch if there is none yet.

    Candidates are arguments named "state", as in an agent that observes states, and arguments named like a batch that
    the call reassigns, as in a sampler.
    """
    renewed = [
        place
        for place, parameter in enumerate(target.parameters[: len(axes)])
        if _is_batch(parameter.name)
        and parameter.name not in learned
        and any(_is_carried(view, use, place) for use in uses)
        and not _is_model(view, target, parameter)
        and not _has_parts_of_state(target, parameter.name)
        and not _is_multiplied_from_left(target, parameter.name)
    ]
    if renewed:
        return tuple(0 if place in renewed else axis for place, axis in enumerate(axes))
    weak = [
        place
        for place, parameter in enumerate(target.parameters[: len(axes)])
        if parameter.name in _WEAK
        and _is_array(parameter.annotation)
        and parameter.name not in learned
        and not _is_model(view, target, parameter)
        and not any(_is_carried(view, use, place) for use in uses)
        and not _has_parts_of_state(target, parameter.name)
    ]
    beside = {parameter.name for parameter in target.parameters} & _WITH_PARAMETERS
    if len(weak) != 1 or not beside or learned:
        return axes
    return tuple(0 if place in weak else axis for place, axis in enumerate(axes))


def _is_multiplied_from_left(target: Target, name: str) -> bool:
    """Returns whether a function multiplies a matrix by a parameter, which may then be a vector without rows."""
    return any(
        isinstance(node, BinaryOperation) and node.operator == "@" and root_name(node.right) == name
        for statement in target.body
        for node in walk(statement)
    ) or any(
        isinstance(node, Call)
        and last_name(node.callee) in ("dot", "matmul", "tensordot", "einsum")
        and any(root_name(one.value) == name for one in node.arguments[1:])
        for statement in target.body
        for node in walk(statement)
    )


def _has_parts_of_state(target: Target, name: str) -> bool:
    """Returns whether a function uses a parameter as a state, or as the parameters of a model."""
    return any(_shows_state(node, name) for statement in target.body for node in walk(statement))


def _shows_state(node: Node, name: str) -> bool:
    def is_it(value: Node) -> bool:
        return isinstance(value, Name) and value.name == name

    if isinstance(node, Attribute):
        return is_it(node.object) and node.name in _OF_STATE
    if isinstance(node, DictDisplay):
        return any(isinstance(key, Constant) and key.value == "params" and is_it(value) for key, value in node.pairs)
    if not isinstance(node, Call):
        return False
    return last_name(node.callee) in _OF_PARAMETERS and any(is_it(one.value) for one in node.arguments[:2])


def _count(target: Target, uses: tuple[Use, ...]) -> int:
    must_go_by_position(target)
    counts = {len(use.call.arguments) for use in uses if use.call is not None}
    if len(counts) > 1:
        raise Obstacle("several-counts", f'the calls to "{target.name}" pass different numbers of arguments')
    return counts.pop() if counts else sum(parameter.default is None for parameter in target.parameters)


def axis_of_parameter(
    view: FileView, target: Target, parameter: Parameter, place: int, uses: tuple[Use, ...], learned: frozenset[str]
) -> int | None:
    """Returns the axis along which an argument is split over devices; None if all devices get the same value."""
    name, annotation = parameter.name, parameter.annotation
    is_carried = any(_is_carried(view, use, place) for use in uses)
    if is_carried and _is_batch(name) and any(_is_bound_with_a_batch(view, target, use, place) for use in uses):
        raise Obstacle(
            "which-batch", f'"{name}" is assigned together with a batch, but each call updates it as if it were state'
        )
    if (
        (is_key(name) and not _is_a_key_for_each_row(view, target, name))
        or (name in learned and not is_input(view, target, name, place, uses))
        or name in {*streams_of(view, target), *bundles_of(target)}
        or (annotation is not None and last_name(annotation) in _SCALARS)
    ):
        return None
    if _has_parts_of_state(target, name):
        return None
    said = _said_of_axes(annotation)
    if said in ("", *_BATCH_AXES):
        return 0 if said in _BATCH_AXES else None
    calling = [(use, use.call) for use in uses if use.call is not None and place < len(use.call.arguments)]
    given = [call.arguments[place].value for _, call in calling]
    if given and all(isinstance(one, Constant) for one in given):
        return None
    if any(_is_number(view, use, place) for use in uses):
        return None
    mapped = _axis_in_vmap(view, target, name)
    if is_carried and mapped == "split" and _splits_other_arguments(view, target, uses):
        return 0
    if is_carried or _is_model(view, target, parameter):
        return None
    if mapped is not None:
        return None if mapped == "shared" else 0
    if any(_is_given_setting(use, place) for use in uses):
        return None
    beside = [_beside_rows(view, target, use, place) for use in uses]
    if "cut" in beside or _OF_ROWS.fullmatch(name) is not None:
        return 0
    is_told = _INDEX.fullmatch(name) is None and not _has_other_batch(target, name)
    if is_told and given and all(is_yielded(view, use.site, call.arguments[place].value) for use, call in calling):
        return 0
    if UNCLEAR.fullmatch(name) is not None and (told := evidence(view, target, name, place, uses)):
        return 0 if told == "split" else None
    speaks_against = name in _SHARED or _STATE.fullmatch(name) or _PLAIN.fullmatch(name) or UNCLEAR.fullmatch(name)
    is_bound = "bound" in beside or "drawn" in beside
    if not is_bound and (name in _SHARED or name.endswith(("_params", "_state", "_rate"))):
        return None
    if _is_split(name):
        return 0
    if not is_bound and speaks_against and not UNCLEAR.fullmatch(name):
        return None
    if BATCH.fullmatch(name) or _has_split_siblings(view, target, uses, place):
        return 0
    if _has_as_many_rows(view, target, place, uses):
        return 0
    if len(target.parameters) == 1:
        return 0
    # A name such as `w` is as strong a sign of no rows as being drawn together with rows is of rows.
    if not speaks_against and beside and all(how == "drawn" for how in beside):
        return 0
    if given and all(is_drawn(view, use.site, call.arguments[place].value) for use, call in calling):
        return 0
    if not speaks_against and given and all(isinstance(one, Name) and _is_batch(one.name) for one in given):
        return 0
    if not speaks_against and is_used_as_rows(view, reached(view, target), name):
        return 0
    if is_looked_up(view, reached(view, target), name):
        return None
    if never_rows(view, place, uses):
        return None
    if (
        has_fields(view, target, name)
        and calling
        and all(_outlives_a_batch(view, target, *one, place) for one in calling)
    ):
        return None
    raise Obstacle("which-batch", f'it is unknown whether "{name}" is shared by all devices or split over them')


def _outlives_a_batch(view: FileView, target: Target, use: Use, call: Call, place: int) -> bool:
    """Returns whether a call in a loop gets an argument that the loop leaves alone, and a batch that it replaces."""
    loops = [node for node in path_to(view, use.site) if isinstance(node, (For, While))]
    changed = {name for loop in loops[:1] for node in walk(loop) for name in bound_by(node)}
    given = call.arguments[place].value
    batches = (
        value
        for (_, _, value), parameter in zip(call.arguments, target.parameters, strict=False)
        if _is_batch(parameter.name)
    )
    is_kept = isinstance(given, Name) and given.name not in changed
    return is_kept and any(not changed.isdisjoint(names_used(value)) for value in batches)


def is_input(view: FileView, target: Target, name: str, place: int, uses: tuple[Use, ...]) -> bool:
    """Returns whether a parameter with respect to which gradients are taken is an input, as in adversarial attacks.

    Such a parameter is named like a batch, passed together with the model's parameters, and not reassigned by a call.
    """
    beside = {parameter.name for parameter in target.parameters}
    is_renewed = any(_is_carried(view, use, place) for use in uses)
    return _is_batch(name) and not is_renewed and not beside.isdisjoint(_WITH_PARAMETERS)


def _said_of_axes(annotation: Node | None) -> str | None:
    """Returns the first axis name in `Float[Array, "batch channels"]`; "" if none, None for other annotations."""
    if (
        not isinstance(annotation, Subscript)
        or not isinstance(annotation.key, TupleDisplay)
        or len(annotation.key.items) != 2
    ):
        return None
    text = annotation.key.items[1]
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return None
    return (text.value.split() or [""])[0].lstrip("*#")


def _is_model(view: FileView, target: Target, parameter: Parameter) -> bool:
    """Returns whether a function calls an argument or treats it as a training state."""
    name, annotation = parameter.name, parameter.annotation
    said = last_name(annotation)
    is_tree = said == "FrozenDict" and _is_split(name)
    if said.endswith(_SAID_STATE) and not is_tree and not said.startswith(("Env", "Agent")):
        return True
    return any(
        isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name == name
        for statement in target.body
        for node in walk(statement)
    ) or any(
        isinstance(node, Call) and _runs_method_of(view, node, name)
        for root in (target.node, *_nested(view, target))
        for node in walk(root)
    )


def _runs_method_of(view: FileView, node: Call, name: str) -> bool:
    """Returns whether a `vmap` maps a method of the object with this name, which then is not an array of rows."""
    first = node.arguments[0].value if node.arguments else NOTHING
    is_method = isinstance(first, Attribute) and isinstance(first.object, Name) and first.object.name == name
    return is_method and dotted_name(view, node.callee) in VMAPS


def _axis_in_vmap(view: FileView, target: Target, name: str) -> str | None:
    """Returns how a function's `vmap`s treat a parameter: "shared" or "split"; None if unknown or contradictory."""
    said: set[str] = set()
    for node in (node for root in reached(view, target) for node in walk(root)):
        maker = node.callee if isinstance(node, Call) else None
        if not isinstance(node, Call) or not isinstance(maker, Call) or dotted_name(view, maker.callee) not in VMAPS:
            continue
        for place, (label, _, value) in enumerate(node.arguments):
            if label == "**" or root_name(value) != name or (label == "*" and len(maker.arguments) > 1):
                continue
            # A vmap maps every keyword over its first axis.
            axis = label is not None or _mapped_place(maker, place)
            said |= {"split" if axis else "shared"} if axis is not None else set()
        if maker.arguments and name in _names_behind(view, target, maker.arguments[0].value):
            # Each row gets the whole argument.
            said.add("shared")
    return said.pop() if len(said) == 1 else None


def _names_behind(view: FileView, target: Target, function: Node) -> set[str]:
    """Returns the free names of a function, and the names from which a step makes the functions that it calls."""
    roots = reached(view, target)
    inside = (
        tree(view, str(view.path), one.key) if isinstance(one, SeparateDef) else one
        for root in roots
        for one in walk(root)
    )
    local = {one.function.name: one for one in inside if isinstance(one, FunctionDef)}
    body = local.get(function.name) if isinstance(function, Name) else function
    if not isinstance(body, (Lambda, FunctionDef)):
        return set()
    found = names_used(body)
    called_in_it = {last_name(node.callee) for node in walk(body) if isinstance(node, Call)} & found
    made = (node for root in roots for node in walk(root) if isinstance(node, Assign) and isinstance(node.value, Call))
    return found.union(*(names_used(node.value) for node in made if not called_in_it.isdisjoint(bound_by(node))))


def _splits_other_arguments(view: FileView, target: Target, uses: tuple[Use, ...]) -> bool:
    """Returns whether the `vmap`s of a function also split arguments that no call updates, such as the data."""
    return any(
        is_split_by_a_vmap(view, target, one.name) and not any(_is_carried(view, use, place) for use in uses)
        for place, one in enumerate(target.parameters)
    )


def is_split_by_a_vmap(view: FileView, target: Target, name: str) -> bool:
    """Returns whether a function passes a parameter to one or more `vmap`s, all of which map it over its rows."""
    return _axis_in_vmap(view, target, name) == "split"


def _is_a_key_for_each_row(view: FileView, target: Target, name: str) -> bool:
    """Returns whether a vmap splits a parameter itself, and not keys derived from it by `jax.random.split`."""
    functions = (target.node, *_nested(view, target))
    is_bound_again = any(name in names_bound(one.function.body) for one in functions)
    return is_split_by_a_vmap(view, target, name) and not is_bound_again


def _nested(view: FileView, target: Target) -> tuple[FunctionDef, ...]:
    """Returns the functions that a function refers to, such as its loss; their parameters often have the same names."""
    return tuple(one for one in reached(view, target) if one is not target.node)


def _mapped_place(maker: Call, place: int) -> bool | None:
    """Returns whether a `vmap` maps an argument; None if its `in_axes` is not a literal."""
    positional = [value for label, _, value in maker.arguments if label is None]
    axes = next((value for label, _, value in maker.arguments if label == "in_axes"), None)
    axes = axes if axes is not None else positional[1] if len(positional) > 1 else None
    if isinstance(axes, (TupleDisplay, ListDisplay)):
        axes = axes.items[place] if place < len(axes.items) else NOTHING
    if axes is None:
        return True
    if not isinstance(axes, Constant):
        return None
    return None if axes.value not in (0, None) else axes.value == 0


def _is_given_setting(use: Use, place: int) -> bool:
    given: Node = (
        use.call.arguments[place].value if use.call is not None and place < len(use.call.arguments) else NOTHING
    )
    return isinstance(given, (Attribute, Subscript)) and is_setting(given)


def _has_split_siblings(view: FileView, target: Target, uses: tuple[Use, ...], place: int) -> bool:
    """Returns whether each call takes an argument from the same source as an argument that is certainly a batch."""
    calls = [use.call for use in uses if use.call is not None]
    batches = [number for number, one in enumerate(target.parameters) if _is_batch(one.name)]

    def is_sibling(call: Call) -> bool:
        own = _source(view, call.arguments[place].value) if place < len(call.arguments) else ""
        return bool(own) and any(
            own == _source(view, call.arguments[other].value)
            for other in batches
            if other < len(call.arguments) and other != place
        )

    return bool(calls) and all(map(is_sibling, calls))


def _has_as_many_rows(view: FileView, target: Target, place: int, uses: tuple[Use, ...]) -> bool:
    """Returns whether, in all calls, the first axis of this argument, and no other axis, is as long as the batch."""
    names = [one.name for one in target.parameters]
    shapes = shapes_given(view, names, uses)
    own = shapes.get(names[place])
    batches = [shape for name in names if _is_batch(name) and name != names[place] and (shape := shapes.get(name))]
    if not own or own[0] is None or own[0] == 1 or not batches:
        return False
    return all(one[0] == own[0] and own[0] not in one[1:] for one in batches) and own[0] not in own[1:]


def _rows_updated(
    view: FileView, target: Target, learned: frozenset[str], axes: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    """Selects the arguments whose arrays all have one row for each entry, such as the particles of a simulation."""
    calls = passed_by_host(view, target).values()
    names = [parameter.name for parameter in target.parameters[: len(axes)] if parameter.name not in learned]
    every = [{name: rows_of(call, (name,)) for name in names if len(call.get(name, ())) > 1} for call in calls]
    held = {name for name in names if every and all((rows.get(name) or 0) > 1 for rows in every)}
    is_one = all(len({rows[name] for name in held}) == 1 for rows in every)
    return tuple(
        0 if is_one and parameter.name in held else axis
        for parameter, axis in zip(target.parameters, axes, strict=False)
    )


def _by_arrays_passed(
    view: FileView, target: Target, axes: tuple[int | None, ...], unclear: Mapping[int, Obstacle]
) -> tuple[int | None, ...]:
    """Returns the axes of all arguments; the shapes passed by the calls show which of the unclear ones hold rows.

    Raises:
        Obstacle: they do not show it for one of the arguments.
    """
    visits = visits_by_host(view, target)
    sites = tuple(dict.fromkeys(site for site, _ in visits))
    names = [parameter.name for parameter in target.parameters]
    batches = {name for name, axis in zip(names, axes, strict=False) if axis == 0} or {names[one] for one in unclear}
    is_new = [all(is_passed_anew(view, site, name, place) for site in sites) for place, name in enumerate(names)]
    is_batch_new = any(new and name in batches for name, new in zip(names, is_new, strict=True))
    found = list(axes)
    for place, obstacle in unclear.items():
        name = names[place]
        calls = [(visit.get(name), rows_of(visit, batches)) for _, visit in visits]
        # An array that outlives the batch, such as a table, may have as many entries by coincidence.
        is_likely = is_new[place] or all(_is_only_array(name, visit) for _, visit in visits)
        is_older = is_batch_new and not is_new[place]
        if calls and is_likely and all(arrays and hold_rows(arrays, rows) for arrays, rows in calls):
            found[place] = 0
        elif not calls or not all(_holds_no_rows(arrays, rows, is_older=is_older) for arrays, rows in calls):
            raise obstacle
    batches |= {names[place] for place, axis in enumerate(found) if axis == 0}
    return _with_changing_sizes(tuple(found), names, [(visit, rows_of(visit, batches)) for _, visit in visits])


def _holds_no_rows(arrays: Arrays | None, rows: int | None, *, is_older: bool) -> bool:
    """Returns whether the arrays of an argument certainly hold no rows.

    Args:
        arrays: the arrays; None if the call passes no such argument.
        rows: the number of rows of the batch.
        is_older: whether the argument outlives the batch, so that only its first axis may be that of the rows.
    """
    if arrays is None:
        return False
    return hold_no_rows(arrays, rows) or (is_older and begin_without_rows(arrays, rows))


def _with_changing_sizes(
    axes: tuple[int | None, ...], names: Sequence[str], visits: Sequence[tuple[Mapping[str, Arrays], int | None]]
) -> tuple[int | None, ...]:
    """Returns the axes of all arguments: what changes its size together with the batch holds rows, whatever its name.

    Args:
        axes: the axes that are known otherwise.
        names: the parameters.
        visits: the arrays that calls pass, by parameter, and the number of rows of the batch.
    """
    if len({rows for _, rows in visits}) < 2:
        return axes
    return tuple(
        0 if all(visit.get(name) and hold_rows(visit[name], rows) for visit, rows in visits) else axis
        for name, axis in zip(names, axes, strict=False)
    )


def _is_only_array(name: str, visit: Mapping[str, Arrays]) -> bool:
    """Returns whether all other arguments are known to be single numbers or no arrays."""
    return all(not shape and shape is not None for other, shapes in visit.items() if other != name for shape in shapes)


def _is_batch(name: str) -> bool:
    return name in _SPLIT or BATCH.fullmatch(name) is not None


def _has_other_batch(target: Target, name: str) -> bool:
    """Returns whether another parameter is named like a batch, so an ambiguous parameter need not hold the rows."""
    return any(_is_batch(one.name) for one in target.parameters if one.name != name)


def _source(view: FileView, node: Node) -> str:
    """Returns the variable that an expression takes a part of: `batch` for `batch["label"]`."""
    depth = 0
    while True:
        if (
            isinstance(node, Call)
            and isinstance(node.callee, Attribute)
            and not node.arguments
            and not dotted_name(view, node.callee)
        ):
            node = node.callee.object
        elif isinstance(node, (Attribute, Subscript)):
            node, depth = node.object, depth + 1
        else:
            return node.name if isinstance(node, Name) and depth else ""


def _is_split(name: str) -> bool:
    return name.lower() in _SPLIT or name.endswith(("_batch", "batch_", "_batched", "_inputs", "_labels"))


def _beside_rows(view: FileView, target: Target, use: Use, place: int) -> str:
    """Returns how a call passes an argument together with rows, as evidence for an ambiguous name such as `w`.

    The result is "cut" if the argument is indexed in the same way as rows, "drawn" if it is a variable of a loop that
    also yields rows, "bound" if it is assigned together with rows, and "" otherwise.
    """
    arguments = [value for _, _, value in use.call.arguments] if use.call is not None else []
    named = zip(target.parameters, arguments, strict=False)
    rows = [value for at, (parameter, value) in enumerate(named) if at != place and _is_split(parameter.name)]
    given: Node = arguments[place] if place < len(arguments) else NOTHING
    cuts = [_without_sites(one.key) for one in rows if isinstance(one, Subscript)]
    if isinstance(given, Subscript) and _without_sites(given.key) in cuts:
        return "cut"
    if not isinstance(given, Name):
        return ""
    found = _binding_both(view, use, given.name, {one.name for one in rows if isinstance(one, Name)})
    if not found:
        return ""
    return "drawn" if all(isinstance(node, For) for node in found) else "bound"


def _is_bound_with_a_batch(view: FileView, target: Target, use: Use, place: int) -> bool:
    """Returns whether one statement binds both this argument and another argument that is named like a batch."""
    arguments = [value for _, _, value in use.call.arguments] if use.call is not None else []
    given: Node = arguments[place] if place < len(arguments) else NOTHING
    named = zip(target.parameters, arguments, strict=False)
    others = {
        value.name
        for at, (parameter, value) in enumerate(named)
        if at != place and isinstance(value, Name) and _is_batch(parameter.name)
    }
    return isinstance(given, Name) and bool(_binding_both(view, use, given.name, others))


def _binding_both(view: FileView, use: Use, name: str, others: set[str]) -> list[Node]:
    """Returns the assignments and loops around a call that bind a name together with one of the other given names."""
    root = tree(view, use.site.path, use.site.block) if others else None
    binding = (node for node in walk(root) if isinstance(node, (Assign, For))) if root is not None else ()
    return [node for node in binding if name in (bound := bound_by(node)) and bound & others]


def _without_sites(part: object) -> object:
    """Returns a node without its sites, for comparing code at different places."""
    if not isinstance(part, tuple):
        return part
    parts = tuple(part)
    return tuple(_without_sites(one) for one in ((parts[0], *parts[2:]) if is_node(part) else parts))


def _is_number(view: FileView, use: Use, place: int) -> bool:
    """Returns whether a call passes a loop counter, or a number computed only from loop counters."""
    given: Node = (
        use.call.arguments[place].value if use.call is not None and place < len(use.call.arguments) else NOTHING
    )
    if is_counted(view, use.site, given):
        return True
    while isinstance(given, Call) and len(given.arguments) == 1 and last_name(given.callee) in _NUMBERS:
        given = given.arguments[0].value
    parts = tuple(walk(given))
    if not all(isinstance(one, (Name, Constant, BinaryOperation, UnaryOperation)) for one in parts):
        return False
    names = {one.name for one in parts if isinstance(one, Name)}
    return bool(names) and names <= _counters(view, use)


def _counters(view: FileView, use: Use) -> set[str]:
    """Returns the variables of loops around a call that count iterations or run through literal values."""
    found: set[str] = set()
    for node in path_to(view, use.site):
        if isinstance(node, For) and isinstance(node.iterable, (TupleDisplay, ListDisplay)):
            numbers = all(isinstance(one, Constant) for one in node.iterable.items)
            found |= bound_by(node) if numbers else set()
        called = last_name(node.iterable.callee) if isinstance(node, For) and isinstance(node.iterable, Call) else ""
        if called in ("range", "arange", "trange"):
            found |= bound_by(node)
        elif called == "enumerate" and isinstance(node, For) and isinstance(node.target, TupleDisplay):
            found.add(last_name(node.target.items[0]))
    return found


def _is_carried(view: FileView, use: Use, place: int) -> bool:
    """Returns whether a call's result is assigned to the name of this argument, which makes the argument state.

    If the argument holds rows, the function's result differs between devices, and the conversion is refused.
    """
    given: Node = (
        use.call.arguments[place].value if use.call is not None and place < len(use.call.arguments) else NOTHING
    )
    nodes = nodes_of_block(view, use.site.path, use.site.block)
    assigned = [node for node in nodes if isinstance(node, Assign) and _is_call(node.value, use)]
    if isinstance(given, Attribute):
        # As in `self.params, loss = self._step(self.params, batch)`.
        parts = (part for node in assigned for target in node.targets for part in walk(target))
        return any(_without_sites(part) == _without_sites(given) for part in parts if isinstance(part, Attribute))
    return isinstance(given, Name) and any(given.name in names_bound([node]) for node in assigned)


def _is_call(node: Node, use: Use) -> bool:
    """Returns whether an expression is the call that a use describes, possibly with some arguments given by keyword."""
    return isinstance(node, Call) and use.call is not None and node.site == use.call.site
