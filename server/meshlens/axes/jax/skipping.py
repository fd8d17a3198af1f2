"""Collectives skipped because no axis name was given: `if self.axis_name: …` where the name is None."""

from __future__ import annotations

from functools import cache

from meshlens.axes.domain.values import Const, Instance, Site
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.axes.worth.words import mentions
from meshlens.facts.nodes import (
    Attribute,
    BoolOperation,
    Comparison,
    Expression,
    Name,
    Not,
    Statements,
)
from meshlens.jaxapi.collectives import COLLECTIVES


@cache
def _reductions() -> frozenset[str]:
    return frozenset(row.name for row in COLLECTIVES.values() if row.reduces in ("sum", "mean", "max", "min"))


def mentions_reductions(node: object) -> bool:
    """Returns whether a node mentions a reduction."""
    return mentions(node, _reductions())


def note_skipped(run: Run, test: Expression, skipped: Statements, frame: Frame, ctx: Context) -> None:
    """Notes statements with a reduction that do not run because an axis name is None, inside a map that binds a name.

    Args:
        run: the run.
        test: the condition.
        skipped: the statements that its outcome skips.
        frame: the running frame.
        ctx: the context.
    """
    if not ctx.env.bound or not mentions_reductions(skipped):
        return
    site = _who_gave_none(run, test, frame, ctx)
    if site is not None:
        run.records.gradient_uses.append(GradientUse("skipped", site, None, ctx))


def _who_gave_none(run: Run, test: Expression, frame: Frame, ctx: Context) -> Site | None:
    """Returns the call that could have passed the axis name: to the running function or to its object's class."""
    for node in _names_in(test):
        if run.evaluate(node, frame, ctx) != Const(None):
            continue
        if isinstance(node, Attribute):
            owner = run.evaluate(node.object, frame, ctx)
            if isinstance(owner, Instance):
                return owner.made
        elif node.name in frame.parameters and ctx.route and ctx.route[-1].how == "call":
            return ctx.route[-1].site
    return None


def _names_in(test: Expression) -> list[Name | Attribute]:
    if isinstance(test, (Name, Attribute)):
        return [test]
    if isinstance(test, Not):
        return _names_in(test.operand)
    if isinstance(test, Comparison):
        return [name for item in test.operands for name in _names_in(item)]
    if isinstance(test, BoolOperation):
        return [name for item in test.items for name in _names_in(item)]
    return []
