"""Uses of a map's axis that the analysis cannot see, in methods called on instances of unknown classes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from meshlens.axes.runs.records import AxisUse
from meshlens.facts.nodes import Attribute, Call
from meshlens.facts.walking import nodes
from meshlens.ide.naming.together import Together
from meshlens.project.axis_symbols import AxisSymbol
from meshlens.project.solving.solution import Solution


def may_be_called_under(
    solution: Solution, axis: AxisSymbol, others: Iterable[AxisSymbol], together: Together
) -> AxisUse | None:
    """Returns the first unbound use of the same axis name in a method that the mapped function may call.

    Args:
        solution: the workspace, solved.
        axis: the axis.
        others: the axes of the same name.
        together: decides what runs in one program.
    """
    blocks = blocks_under(axis)
    called: set[str] | None = None
    for other in others:
        if other.binders:
            continue
        for use in other.uses:
            if not use.context.env.open or not use.context.route:
                continue
            if called is None:
                called = {name for block in blocks for name in _called_on_objects(solution, block)}
            near = any(posixpath.dirname(path) == posixpath.dirname(use.call.path) for path, _ in blocks)
            if use.context.route[0].callee in called and (near or together.run(other.literals, axis.literals)):
                return use
    return None


def blocks_under(axis: AxisSymbol) -> frozenset[tuple[str, str]]:
    """Returns the blocks that run while the axis is bound, according to its uses."""
    return frozenset(
        (step.function.path, step.function.block)
        for use in axis.uses
        for step in use.context.route
        if step.function is not None and axis.name in step.env.names
    )


def _called_on_objects(solution: Solution, block: tuple[str, str]) -> set[str]:
    """Returns the names of the attributes that a block calls."""
    facts = solution.facts.get(block[0])
    found = facts.blocks.get(block[1]) if facts is not None else None
    if found is None:
        return set()
    calls = (node for node in nodes(found.shape) if isinstance(node, Call))
    return {node.callee.name for node in calls if isinstance(node.callee, Attribute)}
