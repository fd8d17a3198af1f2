"""Lambdas, and the frames that functions close over."""

from __future__ import annotations

from meshlens.axes.domain.values import Function, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, numbered
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Lambda, Return


def enclosing(frame: Frame) -> Frame:
    """Returns the frame that a function defined here closes over, skipping a class body."""
    while frame.owner is not None and frame.owner.frame is frame and frame.parent is not None:
        frame = frame.parent
    return frame


def make_lambda(run: Run, node: Lambda, frame: Frame, ctx: Context) -> Value:
    """Returns the value of a `lambda`."""
    index, parameters, body = node.site, node.parameters, node.body
    defaults = tuple((one.name, run.evaluate(one.default, frame, ctx)) for one in parameters if one.default is not None)
    function = Function(
        "<lambda>",
        frame.path,
        frame.block,
        numbered(frame, index),
        enclosing(frame),
        parameters,
        (Return("return", index, body),),
        frozenset(),
        defaults,
    )
    run.made.setdefault(function.site, (function, ctx))
    return function
