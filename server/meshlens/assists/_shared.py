"""Which arguments of a step are the same on every device and which are split over them, and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from meshlens.assists._functions import Target, Use
from meshlens.assists._gradients import Taken
from meshlens.assists._pmap import Obstacle
from meshlens.project.trees import Node, names_bound, names_used, tree, walk
from meshlens.project.view import FileView

OutAxes: TypeAlias = "tuple[int | None, ...] | int | None"

_SHARED = frozenset(
    "params parameters param state train_state opt_state optimizer_state model variables weights w b "
    "lr learning_rate rate config step_size temperature scale".split()
)
_SPLIT = frozenset(
    "batch x y xs ys data inputs input targets target labels label images image tokens examples minibatch "
    "observations features".split()
)
_SCALARS = frozenset({"int", "float", "bool", "str"})
_OF_STATE = frozenset({"params", "apply_gradients", "opt_state", "apply_fn", "replace"})


def in_axes_of(
    view: FileView, target: Target, uses: tuple[Use, ...], taken: tuple[Taken, ...], static: Iterable[str]
) -> tuple[int | None, ...]:
    """For every argument that the calls give, 0 if it is split and `None` if it is shared.

    Raises:
        Obstacle: of one it is not known, or all are shared.
    """
    count = _count(target, uses)
    axes = tuple(
        None if parameter[0] in static else _axis(view, target, parameter, place, uses, taken)
        for place, parameter in enumerate(target.parameters[:count])
    )
    if all(axis is None for axis in axes):
        raise Obstacle("nothing-to-split", f'no argument of "{target.name}" is known to hold a batch')
    return axes


def out_axes_of(target: Target, axes: tuple[int | None, ...], taken: tuple[Taken, ...]) -> OutAxes:
    """For what a function returns, `None` where every device has the same, else 0.

    Args:
        target: the function.
        axes: its in_axes.
        taken: where it takes gradients, which are averaged over the devices in the line below.
    """
    returns = [node for statement in target.body for node in _own(statement) if node[0] == "return"]
    differing = {parameter[0] for parameter, axis in zip(target.parameters, axes, strict=False) if axis is not None}
    _follow(target.body, differing, {one.statement[1]: one.names for one in taken})
    if len(returns) != 1 or returns[0][2] is None:
        return 0
    value = returns[0][2]
    if value[0] != "tuple":
        return 0 if names_used(value) & differing else None
    found = tuple(0 if names_used(item) & differing else None for item in value[2])
    return found[0] if len(set(found)) == 1 else found


def _count(target: Target, uses: tuple[Use, ...]) -> int:
    if any(parameter[2] not in ("only", "any") for parameter in target.parameters):
        raise Obstacle("parameters", f'"{target.name}" takes arguments that pmap cannot map by position')
    counts = {len(use.call[3]) for use in uses if use.call is not None}
    if len(counts) > 1:
        raise Obstacle("several-counts", f'the calls of "{target.name}" give different numbers of arguments')
    return counts.pop() if counts else sum(parameter[3] is None for parameter in target.parameters)


def _axis(
    view: FileView, target: Target, parameter: Node, place: int, uses: tuple[Use, ...], taken: tuple[Taken, ...]
) -> int | None:
    name, annotation = parameter[0], parameter[4]
    if any(name in one.wrt for one in taken) or (annotation is not None and annotation[-1] in _SCALARS):
        return None
    if any(node[0] == "attr" and node[2][:1] == ("name",) and node[2][2] == name and node[3] in _OF_STATE
           for statement in target.body for node in walk(statement)):  # fmt: skip
        return None
    given = [use.call[3][place][2] for use in uses if use.call is not None and place < len(use.call[3])]
    if given and all(one[0] == "const" for one in given):
        return None
    if any(_is_carried(view, use, place) for use in uses):
        return None
    if name in _SHARED or name.endswith(("_params", "_state", "_rate")):
        return None
    if name in _SPLIT or name.endswith(("_batch", "batch_", "_inputs", "_labels")):
        return 0
    raise Obstacle("unknown-in-axes", f'whether "{name}" is shared or split over the devices is not known')


def _is_carried(view: FileView, use: Use, place: int) -> bool:
    """Whether a call's result gets the name that this argument has: then it is state, or a refusal follows.

    For where it holds rows, what comes out of the function differs between the devices.
    """
    given: Node = use.call[3][place][2] if use.call is not None and place < len(use.call[3]) else ("",)
    root = tree(view, use.site.path, use.site.block) if given[0] == "name" else None
    return root is not None and any(
        node[0] == "assign" and node[3] == use.call and given[2] in names_bound([node]) for node in walk(root)
    )


def _follow(body: Iterable[Node], differing: set[str], averaged: Mapping[int, tuple[str, ...]]) -> None:
    """Adds the names that hold what differs between the devices, statement by statement."""
    for statement in body:
        is_plain = statement[0] == "assign" and all(_is_name(target) for target in statement[2])
        bound = names_bound([statement])
        if is_plain and (_is_average(statement[3]) or not _names(statement[3]) & differing):
            differing -= bound
        elif _names(statement) & differing:
            # A call may put what it is given into whatever else it is given.
            differing |= bound | (_names(statement) if statement[0] == "expr" else set())
        differing -= set(averaged.get(statement[1], ()))


def _names(node: Node) -> set[str]:
    return {inner[2] for inner in walk(node) if inner[0] == "name"}


def _is_name(target: Node) -> bool:
    return target[0] == "name" or (target[0] in ("tuple", "list") and all(map(_is_name, target[2])))


def _is_average(value: Node) -> bool:
    callee = value[2] if value[0] == "call" else ("",)
    return callee[-1] in ("pmean", "psum", "pmax", "pmin")


def _own(statement: Node) -> Iterable[Node]:
    if statement[0] == "fn":
        return
    for node in walk(statement):
        if node[0] not in ("lambda",):
            yield node
