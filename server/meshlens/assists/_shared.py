"""Which arguments of a step are the same on every device and which are split over them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meshlens.assists._functions import Target, Use
from meshlens.assists._pmap import Obstacle
from meshlens.project.trees import Node, bound_by, names_bound, path_to, tree, walk
from meshlens.project.view import FileView

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
    view: FileView, target: Target, uses: tuple[Use, ...], learned: frozenset[str], static: Iterable[str]
) -> tuple[int | None, ...]:
    """For every argument that the calls give, 0 if it is split and `None` if it is shared.

    Args:
        view: the file.
        target: the function.
        uses: its calls.
        learned: the names of what it takes gradients for.
        static: the names of its static parameters.

    Raises:
        Obstacle: of one it is not known, or all are shared.
    """
    count = _count(target, uses)
    axes = tuple(
        None if parameter[0] in static else axis_of_parameter(view, target, parameter, place, uses, learned)
        for place, parameter in enumerate(target.parameters[:count])
    )
    if all(axis is None for axis in axes):
        raise Obstacle("nothing-to-split", f'no argument of "{target.name}" is known to hold a batch')
    return axes


def _count(target: Target, uses: tuple[Use, ...]) -> int:
    if any(parameter[2] not in ("only", "any") for parameter in target.parameters):
        raise Obstacle("parameters", f'"{target.name}" takes arguments that pmap cannot map by position')
    counts = {len(use.call[3]) for use in uses if use.call is not None}
    if len(counts) > 1:
        raise Obstacle("several-counts", f'the calls of "{target.name}" give different numbers of arguments')
    return counts.pop() if counts else sum(parameter[3] is None for parameter in target.parameters)


def axis_of_parameter(
    view: FileView, target: Target, parameter: Node, place: int, uses: tuple[Use, ...], learned: frozenset[str]
) -> int | None:
    name, annotation = parameter[0], parameter[4]
    if name in learned or (annotation is not None and annotation[-1] in _SCALARS):
        return None
    if any(node[0] == "attr" and node[2][:1] == ("name",) and node[2][2] == name and node[3] in _OF_STATE
           for statement in target.body for node in walk(statement)):  # fmt: skip
        return None
    given = [use.call[3][place][2] for use in uses if use.call is not None and place < len(use.call[3])]
    if given and all(one[0] == "const" for one in given):
        return None
    if any(_is_number(view, use, place) for use in uses):
        return None
    if any(_is_carried(view, use, place) for use in uses):
        return None
    beside = [_beside_rows(view, target, use, place) for use in uses]
    if "cut" in beside:
        return 0
    if "bound" not in beside and (name in _SHARED or name.endswith(("_params", "_state", "_rate"))):
        return None
    if _is_split(name):
        return 0
    raise Obstacle("unknown-in-axes", f'whether "{name}" is shared or split over the devices is not known')


def _is_split(name: str) -> bool:
    return name in _SPLIT or name.endswith(("_batch", "batch_", "_inputs", "_labels"))


def _beside_rows(view: FileView, target: Target, use: Use, place: int) -> str:
    """Returns how a call hands an argument over beside rows, which a name such as `w` says nothing about.

    "cut" if the argument is taken with the index that rows are taken with, "bound" if it is a variable that gets its
    value together with one that holds rows, else "".
    """
    arguments: list[Node] = [value for _, _, value in use.call[3]] if use.call is not None else []
    named = zip(target.parameters, arguments, strict=False)
    rows = [value for at, (parameter, value) in enumerate(named) if at != place and _is_split(parameter[0])]
    given: Node = arguments[place] if place < len(arguments) else ("", 0)
    cuts = [_without_sites(one[3]) for one in rows if one[0] == "sub"]
    if given[0] == "sub" and _without_sites(given[3]) in cuts:
        return "cut"
    if given[0] != "name":
        return ""
    names = {one[2] for one in rows if one[0] == "name"}
    root = tree(view, use.site.path, use.site.block)
    bound = (bound_by(node) for node in walk(root) if node[0] in ("assign", "for")) if root is not None else ()
    return "bound" if any(given[2] in some and some & names for some in bound) else ""


def _without_sites(part: Any) -> Any:
    """Returns a node as it is wherever it stands."""
    if not isinstance(part, tuple):
        return part
    is_node = len(part) > 1 and isinstance(part[0], str) and type(part[1]) is int
    return tuple(_without_sites(one) for one in ((part[0], *part[2:]) if is_node else part))


def _is_number(view: FileView, use: Use, place: int) -> bool:
    """Whether a call hands over what counts the turns of a loop."""
    given: Node = use.call[3][place][2] if use.call is not None and place < len(use.call[3]) else ("", 0)
    return given[0] == "name" and any(
        node[0] == "for"
        and node[3][0] == "call"
        and node[3][2][-1] in ("range", "arange", "trange")
        and given[2] in bound_by(node)
        for node in path_to(view, use.site)
    )


def _is_carried(view: FileView, use: Use, place: int) -> bool:
    """Whether a call's result gets the name that this argument has: then it is state, or a refusal follows.

    For where it holds rows, what comes out of the function differs between the devices.
    """
    given: Node = use.call[3][place][2] if use.call is not None and place < len(use.call[3]) else ("",)
    root = tree(view, use.site.path, use.site.block) if given[0] == "name" else None
    return root is not None and any(
        node[0] == "assign" and node[3] == use.call and given[2] in names_bound([node]) for node in walk(root)
    )
