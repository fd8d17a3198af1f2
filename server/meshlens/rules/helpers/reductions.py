"""The reductions of a map over its own axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshlens.axes.domain.values import Binder, Site
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.jax.transparent import wraps_function
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.checking.reading_after import key_of
from meshlens.facts.nodes import BinaryOperation, Call, Constant, last_name
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import path_to
from meshlens.project.view import FileView

REDUCTIONS = frozenset({"psum", "pmean", "pmax", "pmin", "psum_scatter"})

_OWN_OPTIMIZERS = frozenset(
    {
        "optax.GradientTransformation",
        "optax.GradientTransformationExtraArgs",
        "optax.stateless",
        "optax.stateless_with_tree_map",
    }
)


def reductions_of(solution: Solution, binder: Binder) -> Iterator[AxisUse]:
    """Yields every reduction in the workspace that runs under a map and reduces over an axis that the map binds.

    A helper may map several functions; only those of the same name count.
    """
    names = {name.value for name in binder.names}
    mapped = name_of(binder.operand)
    for records in solution.by_file.values():
        for use in records.uses:
            if use.kind not in REDUCTIONS or literal_name(use.name) not in names:
                continue
            if any(outer.site == binder.site and name_of(outer.operand) == mapped for outer in use.context.env.maps):
                yield use


def divided_later(view: FileView) -> frozenset[Site]:
    """Returns the reductions in the workspace whose results are divided, perhaps in another file."""
    return view.solution.once_of_records("reductions that are divided", _divided)


def _divided(solution: Solution) -> frozenset[Site]:
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.other for use in uses if use.kind == "divided" and use.other is not None])


def is_scaled_at_once(view: FileView, reduction: Site) -> bool:
    """Returns whether the result of a reduction is immediately scaled, perhaps by the number of devices."""
    around = next(iter(path_to(view, reduction)[-2:-1]), None)
    if not isinstance(around, BinaryOperation) or around.operator not in ("*", "/"):
        return False
    return around.operator == "/" or not isinstance(around.left, Constant)


def is_less_a_square(view: FileView, reduction: Site) -> bool:
    """Returns whether a square is subtracted from a reduction's result: the mean of squares minus that of the mean."""
    around = next(iter(path_to(view, reduction)[-2:-1]), None)
    if not isinstance(around, BinaryOperation) or around.operator != "-" or around.left.site != reduction.index:
        return False
    right = around.right
    if isinstance(right, BinaryOperation):
        is_power = right.operator == "**" and isinstance(right.right, Constant) and right.right.value == 2
        factors = {key_of(right.left), key_of(right.right)}
        return is_power or (right.operator == "*" and len(factors) == 1 and None not in factors)
    return isinstance(right, Call) and last_name(right.callee) == "square"


def in_own_optimizer(view: FileView) -> bool:
    """Returns whether any file with its own optimizer has a reduction under no known map.

    An unseen map may run the file.
    """
    for records in view.solution.by_file.values():
        if any(use.kind in REDUCTIONS and not use.context.env.maps for use in records.uses):
            for call in records.calls:
                if call.dotted in _OWN_OPTIMIZERS and any(wraps_function(arg.value) for arg in call.args):
                    return True
    return False


def has(labels: frozenset[Any], kind: str) -> bool:
    """Returns whether there is a label whose first element is this kind."""
    return any(isinstance(label, tuple) and label[0] == kind for label in labels)


def unchecked_map(maps: tuple[Binder, ...]) -> Binder | None:
    """Returns the innermost map over devices, if JAX does not check varying types in it."""
    for binder in reversed(maps):
        if binder.kind in MAPS_ON_DEVICES:
            return None if binder.checked else binder
    return None
