"""A step to run on all devices: its shared and split arguments, its results, and the reductions that it needs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import literal_name
from meshlens.facts.nodes import (
    Argument,
    Assign,
    Call,
    Constant,
    Global,
    ListDisplay,
    Name,
    Nonlocal,
    SeparateDef,
    Subscript,
    TupleDisplay,
    last_name,
    root_name,
)
from meshlens.project.trees import Node, children, names_bound, names_used, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.averaging import Passed, Reductions, reducing, reductions
from meshlens.refactoring.following.gradients import differentiated
from meshlens.refactoring.following.jitting import jitting
from meshlens.refactoring.following.kinds import SAME, Kind, flat, leaves, named_leaves, over_rows
from meshlens.refactoring.following.known_classes import Owner, classes_passed
from meshlens.refactoring.following.random import bundles_of, holds_keys, streams_of
from meshlens.refactoring.following.roles import read_roles
from meshlens.refactoring.following.running import VMAPS
from meshlens.refactoring.following.shared import axes_of_rest, in_axes_of, is_split_by_a_vmap
from meshlens.refactoring.following.sizes import Shape, shapes_given
from meshlens.refactoring.maps.form import Form
from meshlens.refactoring.maps.last_axis import may_be_flat
from meshlens.refactoring.maps.mixing import mixed_at
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.prefix import Prefix
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.reading.calls import PlainCall
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, reached
from meshlens.refactoring.reading.host_calls import Callee, HostCall
from meshlens.refactoring.reading.jit import Folded, Library
from meshlens.refactoring.reading.methods import must_have_a_fixed_object
from meshlens.refactoring.reading.modules import NOTHING, Care, care_for, joined, works_on_modules
from meshlens.refactoring.reading.on_a_mesh import must_not_be_on_a_mesh, must_run_as_one_process
from meshlens.refactoring.reading.parameters import AXIS_PARAMETER, new_parameter
from meshlens.refactoring.reading.passed import axes_by_key, classes_passed_by_host, rows_by_key, shapes_passed
from meshlens.refactoring.reading.scopes import parent_of
from meshlens.refactoring.reading.siblings import view_of
from meshlens.refactoring.writing.axis_passing import passing_axis
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import quoted
from meshlens.text import FileEdit

_DEFAULT = "batch"
_COUNTING = frozenset(
    f"jax.lax.{name}" for name in "psum psum_scatter all_gather all_to_all axis_index axis_size ppermute".split()
)
_MOVES_ROWS = frozenset("concatenate concat stack hstack vstack append squeeze tile arange".split())
_GROUPS = "each device must get rows that can be split into as many groups as those of the whole batch"
_DIFFERS = "differs between devices"
_WHY = {
    "mixed": "may differ between devices and may not have one row for each row of the batch",
    "rows": "may have its rows in a different order",
    "tree": "may have its rows in a different order",
    "both": "may hold rows next to values without rows; return them as separate results",
    "turned": "does not have its rows along the first axis",
    "own": f"{_DIFFERS}, because each has its own random key",
    "count": f"{_DIFFERS}, because each counts only its own rows",
    "places": f"{_DIFFERS}, because each numbers only its own rows",
    "shape": f"{_DIFFERS}, because it depends on the shape of each device's rows",
}


def axis_name_of(view: FileView, target: Target, wishes: Wishes) -> str:
    """Returns the axis name of a new map: the one that the function's collectives use, else the user's, else "batch".

    Raises:
        Obstacle: the collectives name several axes, or one that differs from the user's.
    """
    inside = {
        literal_name(use.name)
        for use in view.records.uses
        if use.context.function == target.site or any(step.function == target.site for step in use.context.route)
    }
    if None in inside or len(inside) > 1:
        raise Obstacle(
            "several-axes", f'the collectives in "{target.name}" use several axes, or one whose name is unknown'
        )
    if not inside:
        name = wishes.axis_name or wishes.usual_axis_name or _DEFAULT
        if not name.isprintable() or set(name) & set('"\\'):
            raise Obstacle("axis-name", "this axis name contains quotes or backslashes; add it by hand")
        return name
    (found,) = inside
    assert found is not None
    if wishes.axis_name not in (None, found):
        message = f'the collectives in "{target.name}" use the axis "{found}", not "{wishes.axis_name}"'
        raise Obstacle("axis-name", message)
    return found


@dataclass(frozen=True, slots=True)
class Step:
    """A function that can be mapped without changing the results of its calls.

    Attributes:
        form: how it is mapped, with its calls.
        reductions: its reductions over devices.
        axis: the source of the axis name.
        axes: for every argument, 0 if it is split and None if it is shared.
        care: the requirements of its modules' layers.
        library: the library whose map it needs.
        static: the arguments that it needs as Python values, if no `jit` declares them static.
        sums: whether copies of the same rows on several devices would change the results, because of sums over devices.
    """

    form: Form
    reductions: Reductions
    axis: str
    axes: tuple[int | None, ...]
    sums: bool
    library: Library = "jax"
    care: Care = NOTHING
    static: tuple[str, ...] = ()

    def arguments(self, target: Target) -> tuple[str, ...]:
        """Returns the map's arguments other than its axes or specs, such as the positions of static arguments."""
        places = self.static_places(target)
        if self.folded is not None and not (self.form.around and places) and places == self.folded.places:
            return self.folded.arguments
        numbers = f"({', '.join(map(str, places))}{',' * (len(places) == 1)})"
        others = self.folded.arguments if self.folded is not None else ()
        others = tuple(one for one in others if not one.startswith("static_broadcasted_argnums="))
        return (f"static_broadcasted_argnums={numbers}", *others) if places else ()

    def static_places(self, target: Target) -> tuple[int, ...]:
        """Returns the positions of the arguments that calls pass and that the step needs as Python values."""
        if self.folded is not None:
            # A pmap needs all its static arguments; those that no call passes keep their defaults without it.
            passed = len(self.axes) + target.has_object
            return tuple(place for place in self.folded.places if self.form.around or place < passed)
        return tuple(place for place, one in enumerate(target.parameters) if one.name in self.static)

    def may_leave_out(self, target: Target) -> bool:
        """Returns whether a call may leave out an argument that the step needs as a Python value."""
        names = self.static if self.folded is None else self.folded.static
        return any(one.default is not None for one in target.node.function.parameters if one.name in names)

    @property
    def out(self) -> Prefix:
        """Returns None for every result that is the same on all devices, else 0."""
        return self.reductions.out

    @property
    def draws(self) -> bool:
        """Returns whether each device draws its own random numbers."""
        return self.reductions.folds_index or self.care.draws

    @property
    def note(self) -> str:
        """Returns why the results will differ from those on one device; "" if they will not."""
        return "each device draws its own random numbers" if self.draws else ""

    @property
    def caveat(self) -> str:
        """Returns what the code does not show but the map needs; "" if that is nothing."""
        return _GROUPS if self.reductions.seen.groups else ""

    @property
    def folded(self) -> Folded | None:
        """Returns the `jit` that the map replaces."""
        return self.form.folded

    @property
    def optional_axis(self) -> bool:
        """Returns whether the function reduces only if it gets an axis name, because it also runs outside the map."""
        found = self.reductions
        return self.form.others and (bool(found.lines or found.inside or found.calls) or self.draws)


def read_step(view: FileView, target: Target, wishes: Wishes, form: Form) -> Step:
    """Returns everything needed to map a function.

    Raises:
        Obstacle: something is unknown, or the results would change.
    """
    _must_be_plain(view, target)
    must_run_as_one_process(view)
    must_not_be_on_a_mesh(view, target, [(call.whole, call.values) for call in form.calls])
    library: Library = form.folded.library if form.folded is not None else "jax"
    if form.folded is None and works_on_modules(view, target):
        library = "nnx"
    care = care_for(view, target, library)
    must_have_a_fixed_object(view, target, form)
    axis = quoted(view, axis_name_of(view, target, wishes))
    static = form.folded.static if form.folded is not None else _needed_as_values(view, target, form, library)
    uses = tuple(_by_position(call) for call in form.calls)
    learned = differentiated(view, target)
    if wishes.in_axes:
        axes = _wished(wishes.in_axes)
    else:
        axes = in_axes_of(view, target, uses, learned, static, wishes.batch)
        if form.around:
            axes += axes_of_rest(view, target, uses, learned, static)
    if any(len(call.values) > len(axes) or (len(call.values) < len(axes) and not form.around) for call in form.calls):
        entries = f"{len(axes)} {'entry' if len(axes) == 1 else 'entries'}"
        raise Obstacle("in-axes", f"in_axes has {entries}, but a call passes a different number of arguments")
    if form.folded is None and any(axes[place] is not None for place in _places(target, static, len(axes))):
        raise _as_value(target, static[0])
    shared = {
        parameter.name for place, parameter in enumerate(target.parameters) if place >= len(axes) or axes[place] is None
    }
    _must_read_its_batch(target, axes)
    written = shapes_given(view, (one.name for one in target.parameters), uses)
    shapes = shapes_passed(view, target) | {name: shape for name, shape in written.items() if shape is not None}
    if not wishes.in_axes:
        _must_have_as_many_rows(target, axes, shapes)
        _must_have_equal_parts(view, target, axes)
    same = frozenset({*shared, *target.filled, *_receiver(target)})
    passed = Passed(shapes, _classes(view, target, uses), axes_by_key(view, target))
    found = reductions(view, target, same, passed, joins_norms=bool(care.norms))
    rows = [shapes.get(one.name) for one in target.parameters]
    _must_fill_groups(found, axes, rows, prod(wishes.devices) if wishes.devices else view.device_count)
    if library == "nnx":
        _must_change_alike(target, found, same)
    _must_come_together(view, target, found)
    for call in form.calls:
        _must_stay_state(view, call, axes, found)
    is_summed = found.sums or _counts_devices(view, target)
    return Step(form, found, axis, axes, is_summed, library, care, () if form.folded is not None else static)


def _must_fill_groups(
    found: Reductions, axes: tuple[int | None, ...], shapes: Iterable[Shape], devices: int | None
) -> None:
    """Checks that the rows of each device can be split into groups as the step does it, if their number is known.

    Raises:
        Obstacle: they cannot.
    """
    if devices is None:
        return
    sizes = [shape[0] for axis, shape in zip(axes, shapes, strict=False) if axis == 0 and shape]
    for rows in sizes:
        for groups in found.seen.groups.values():
            if rows and groups and rows % devices == 0 and (own := rows // devices) % groups:
                raise Obstacle("groups", f"each device gets {own} rows, which cannot be split into {groups} groups")


def _must_change_alike(target: Target, found: Reductions, shared: frozenset[str]) -> None:
    """Checks that flax.nnx objects change in the same way on every device, because only one device's objects are kept.

    Raises:
        Obstacle: a value that differs between devices is stored in such an object.
    """
    taken = {
        statement.targets[0].name: root_name(statement.value)
        for top in target.body
        for statement in walk(top)
        if isinstance(statement, Assign) and isinstance(statement.targets[0], Name)
    }
    for name in found.changed:
        owner = next((one for one in (name, taken.get(name)) if one in shared), None)
        if owner is not None:
            message = f'"{target.name}" stores values that differ between devices in "{owner}"'
            raise Obstacle("objects", f"{message}; use jit with sharding")


def _needed_as_values(view: FileView, target: Target, form: Form, library: Library) -> tuple[str, ...]:
    """Returns the arguments that an uncompiled function needs as Python values; a map would trace them.

    Raises:
        Obstacle: it needs such arguments, and the map cannot take static arguments.
    """
    uses = [HostCall(call.use.site, call.use.call) for call in form.calls if call.use.call is not None]
    callee = Callee(target.name, target.site, target)
    try:
        needed = jitting(view, target, tuple((call, read_roles(view, callee, call)) for call in uses))
    except Obstacle as obstacle:
        if obstacle.code == "python-value":
            raise
        return ()
    if needed is None or not needed.static:
        return ()
    is_plain = form.how == "decorator" and not form.around and not target.has_object and library == "jax"
    if not is_plain or not uses or target.filled:
        raise _as_value(target, needed.static[0])
    return needed.static


def _as_value(target: Target, name: str) -> Obstacle:
    message = f'"{target.name}" may need "{name}" as a Python value, but a map would trace it'
    return Obstacle("python-value", f"{message}; add jit with static_argnames first")


def _places(target: Target, names: tuple[str, ...], count: int) -> list[int]:
    return [place for place, one in enumerate(target.parameters[:count]) if one.name in names]


def _counts_devices(view: FileView, target: Target) -> bool:
    """Returns whether the results of a function's own collectives grow if more devices hold the same rows."""
    calls = (node for root in reached(view, target) for node in walk(root) if isinstance(node, Call))
    return any(dotted_name(view, call.callee) in _COUNTING for call in calls)


def _classes(view: FileView, target: Target, uses: tuple[Use, ...]) -> dict[str, Owner]:
    """Returns the project's classes that parameters are instances of in all calls."""
    calls = [Site(use.site.path, use.site.block, use.call.site) for use in uses if use.call is not None]
    known = classes_passed_by_host(view, target, calls) if len(calls) == len(uses) else {}
    owners = {name: (view_of(view, path), key) for name, (path, key) in known.items()}
    return {**owners, **classes_passed(view, target.parameters, uses)}


def _must_come_together(view: FileView, target: Target, found: Reductions) -> None:
    """Checks that each result is the same on all devices, or has rows that can be concatenated in order.

    Raises:
        Obstacle: a result is neither.
    """
    results = found.results if isinstance(found.results, tuple) else (found.results,)
    every = [(number, entry, one) for number, kind in enumerate(results) for entry, one in named_leaves(kind)]
    for number, entry, one in every:
        if one in SAME or (one in ("rows", "tree") and not _moves_rows(view, target)):
            continue
        if one in ("rows", "tree") and may_be_flat(view, target, found.seen):
            break
        which = f"result {number} of" if len(results) > 1 else "the result of"
        which = f"the value at {entry} in {which}" if entry else which
        why = mixed_at(view, found.mixing) if one == "mixed" else ""
        raise Obstacle("unreduced-output", f'{which} "{target.name}" {_WHY.get(one, _DIFFERS)}{why}')
    if may_be_flat(view, target, found.seen):
        message = f'"{target.name}" works along the last axis, which may be the batch axis'
        raise Obstacle("last-axis", message)


def _must_stay_state(view: FileView, call: PlainCall, axes: tuple[int | None, ...], found: Reductions) -> None:
    """Checks that no rows returned by a call are assigned to an argument that all devices share.

    Raises:
        Obstacle: a call assigns rows to a shared argument.
    """
    above = parent_of(view, call.whole)
    if not isinstance(above, Assign) or len(above.targets) != 1:
        return
    target = above.targets[0]
    bound = (
        target.items
        if isinstance(target, (TupleDisplay, ListDisplay)) and isinstance(found.results, tuple)
        else (target,)
    )
    kinds = found.results if len(bound) > 1 and isinstance(found.results, tuple) else (found.results,) * len(bound)
    shared = {
        value.name for value, axis in zip(call.values, axes, strict=False) if axis is None and isinstance(value, Name)
    }
    for one, kind in zip(bound, kinds, strict=False):
        if _whole(kind) != "same" and not shared.isdisjoint(
            names_bound([Assign("assign", 0, (one,), Constant("const", 0, None))])
        ):
            name = next(iter(shared & names_bound([Assign("assign", 0, (one,), Constant("const", 0, None))])))
            raise Obstacle("rows-for-all", f'"{name}" is passed whole to all devices but returned as rows')


def _whole(kind: Kind) -> str:
    """Returns the kind of a result with parts: "same" or "rows" if all parts are of that kind, else "mixed"."""
    kinds = {_part(one) for one in leaves(kind)}
    if kinds <= SAME:
        return "same"
    return "rows" if kinds == {"rows"} else "mixed"


def _part(kind: str) -> str:
    return kind if kind == "both" else flat(kind)


def _moves_rows(view: FileView, target: Target) -> bool:
    """Returns whether a function may reorder rows or move them to another axis, which is valid only for averages.

    A function of the file that is only called for each row, by a `vmap`, cannot do that.
    """

    def names_in(node: Node) -> set[str]:
        inside = Counter(one.name for one in walk(node) if isinstance(one, Name))
        by_row = Counter(name for one in walk(node) if (name := _called_by_row(view, one)) is not None)
        return {name for name in names_used(node) if inside[name] > by_row[name]}

    return any(_moves(root) for root in reached(view, target, names_in))


def _called_by_row(view: FileView, node: Node) -> str | None:
    """Returns the name of the function that a `vmap` over the first axis of all arguments calls."""
    if not isinstance(node, Call) or dotted_name(view, node.callee) not in VMAPS or len(node.arguments) != 1:
        return None
    label, _, operand = node.arguments[0]
    return operand.name if label is None and isinstance(operand, Name) else None


def _is_along_features(node: Call) -> bool:
    """Returns whether a call joins, stacks or squeezes arrays along an axis that is certainly not the row axis."""
    axis = next((value for label, _, value in node.arguments if label == "axis"), None)
    if axis is None or over_rows(axis) is not False:
        return False
    # In a one-dimensional array, the last axis is the row axis; in a stack, it is a new axis.
    return last_name(node.callee) == "stack" or (
        isinstance(axis, Constant) and last_name(node.callee) in ("concatenate", "concat", "squeeze")
    )


def _moves(node: Node) -> bool:
    """Returns whether an expression moves rows, ignoring its indices, which only look rows up."""
    if isinstance(node, Call) and last_name(node.callee) in _MOVES_ROWS and not _is_along_features(node):
        return True
    return any(map(_moves, (node.object,) if isinstance(node, Subscript) else children(node)))


def averaged(view: FileView, target: Target, step: Step, spelling: Spelling) -> list[FileEdit]:
    """Returns the edits that add a step's reductions over devices."""
    norms = [joined(one, step.axis) for one in step.care.norms]
    if not step.optional_axis:
        passed = passing_axis(view, target, step.reductions, spelling, step.axis)
        # Where both add something at the end of an argument, its reduction comes first.
        return [*norms, *reducing(view, target, step.reductions, spelling, step.axis), *passed]
    if norms:
        raise Obstacle(
            "batch-statistics", f'other uses of "{target.name}" have no axis to average batch statistics over'
        )
    added = new_parameter(view, target, AXIS_PARAMETER)
    guard = f"if {AXIS_PARAMETER} is not None:"
    passed = passing_axis(view, target, step.reductions, spelling, AXIS_PARAMETER)
    return [added, *reducing(view, target, step.reductions, spelling, AXIS_PARAMETER, guard), *passed]


def _must_read_its_batch(target: Target, axes: tuple[int | None, ...]) -> None:
    """Checks that a function reads a split argument, because otherwise all devices would do the same work.

    Raises:
        Obstacle: it reads none of them.
    """
    split = [one.name for one, axis in zip(target.parameters, axes, strict=False) if axis is not None]
    read = {node.name for statement in target.body for node in walk(statement) if isinstance(node, Name)}
    inner = any(isinstance(node, SeparateDef) for statement in target.body for node in walk(statement))
    if split and not inner and read.isdisjoint(split):
        names = " or ".join(f'"{name}"' for name in split)
        raise Obstacle("unread-batch", f'"{target.name}" never reads {names}, so every device would do the same work')


def _must_have_as_many_rows(target: Target, axes: tuple[int | None, ...], shapes: Mapping[str, Shape]) -> None:
    """Checks that the calls do not pass arrays with different numbers of rows as one batch.

    Raises:
        Obstacle: the calls do.
    """
    names = [one.name for one, axis in zip(target.parameters, axes, strict=False) if axis == 0]
    sizes = {name: shape[0] for name in names if (shape := shapes.get(name))}
    known = {size: name for name, size in sizes.items() if size is not None}
    if len(known) > 1:
        said = ", ".join(f'{size} in "{name}"' for size, name in known.items())
        raise Obstacle(
            "which-batch",
            f'the arguments of "{target.name}" have different numbers of rows ({said}), so the batch is unclear',
        )


def _must_have_equal_parts(view: FileView, target: Target, axes: tuple[int | None, ...]) -> None:
    """Checks that no call passes one argument whose arrays have different numbers of rows.

    Raises:
        Obstacle: a call does.
    """
    names = {one.name for one, axis in zip(target.parameters, axes, strict=False) if axis == 0}
    for name, rows in rows_by_key(view, target):
        if name in names and len({*rows.values()}) > 1:
            said = ", ".join(f'{count} in "{key}"' for key, count in rows.items())
            raise Obstacle("which-batch", f'the arrays in "{name}" have different numbers of rows ({said})')


def _receiver(target: Target) -> tuple[str, ...]:
    return (target.node.function.parameters[0].name,) if target.has_object and target.node.function.parameters else ()


def _by_position(call: PlainCall) -> Use:
    node = call.use.call
    assert node is not None
    arguments = tuple(
        Argument(None, given.site, value) for given, value in zip(node.arguments, call.values, strict=True)
    )
    return Use(call.use.site, node._replace(arguments=arguments))


def _wished(text: str) -> tuple[int | None, ...]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, tuple) or not all(one in (0, None) for one in found) or 0 not in found:
        raise Obstacle("in-axes", "in_axes must be a tuple of 0 and None with at least one 0")
    return found


def _must_be_plain(view: FileView, target: Target) -> None:
    inside = [node for root in reached(view, target) for node in walk(root)]
    if any(isinstance(node, (Global, Nonlocal)) for node in inside):
        raise Obstacle(
            "outer-variables", f'"{target.name}" sets outer variables, which happens only once, when JAX traces it'
        )
    known = {*streams_of(view, target), *bundles_of(target)}
    keys = [
        one.name
        for one in target.parameters
        if holds_keys(one.name) and one.name not in known and not is_split_by_a_vmap(view, target, one.name)
    ]
    if keys:
        message = f'"{target.name}" takes several random keys in "{keys[0]}"; each device needs its own keys'
        raise Obstacle("random-numbers", message)
