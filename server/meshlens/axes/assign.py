"""Assigns values to targets: names, attributes, items, and tuples of targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.context import Context
from meshlens.axes.frames import Frame
from meshlens.axes.joining import join, options
from meshlens.axes.objects import attributes_of, set_attribute
from meshlens.axes.run import Run
from meshlens.axes.unpacking import unpack
from meshlens.axes.values import UNKNOWN, Const, Data, Dict, Instance, Made, Seq, Value


def assign(run: Run, target: Any, value: Value, frame: Frame, ctx: Context) -> None:
    """Assigns a value to a target; a list or tuple of targets unpacks it."""
    tag = target[0]
    if tag == "name":
        home = frame.home(target[2])
        if home is frame or home.path == run.path or home.parent is not None:
            home.vars[target[2]] = value
        return
    if tag == "attr":
        _to_attribute(run, target, value, frame, ctx)
        return
    if tag == "sub":
        _to_item(run, target, value, frame, ctx)
        return
    if tag in ("tuple", "list"):
        for item, part in zip(target[2], unpack(value, target[2]), strict=False):
            assign(run, item[2] if item[0] == "star" else item, part, frame, ctx)


def delete(target: Any, frame: Frame) -> None:
    """Forgets a name."""
    if target[0] == "name":
        frame.vars.pop(target[2], None)
    elif target[0] in ("tuple", "list"):
        for item in target[2]:
            delete(item, frame)


def _to_attribute(run: Run, target: Any, value: Value, frame: Frame, ctx: Context) -> None:
    from meshlens.axes.expressions import evaluate

    receivers = options(evaluate(run, target[2], frame, ctx))
    for receiver in receivers:
        if isinstance(receiver, Instance):
            held = attributes_of(run, receiver)
            known = held.get(target[3])
            set_attribute(
                run, receiver, target[3], join(known, value) if known is not None and ctx.conditional else value
            )
        elif isinstance(receiver, Made) and len(receivers) == 1 and target[2][0] in ("name", "attr"):
            said = UNKNOWN if ctx.conditional or ctx.loop else value
            changed = replace(receiver, arguments=(*receiver.arguments, (target[3], said)))
            assign(run, target[2], changed, frame, ctx)


def _to_item(run: Run, target: Any, value: Value, frame: Frame, ctx: Context) -> None:
    from meshlens.axes.expressions import evaluate

    container = evaluate(run, target[2], frame, ctx)
    index = evaluate(run, target[3], frame, ctx)
    changed: Value
    if isinstance(container, Dict):
        if isinstance(index, Const):
            items = tuple((key, known) for key, known in container.items if key != index.value)
            changed = Dict((*items, (index.value, value)), container.open)
        else:
            changed = Dict(tuple((key, join(known, value)) for key, known in container.items), True)
    elif isinstance(container, Seq):
        if (
            isinstance(index, Const)
            and isinstance(index.value, int)
            and -len(container.items) <= index.value < len(container.items)
        ):
            place = index.value % len(container.items)
            changed = Seq(
                container.kind, (*container.items[:place], value, *container.items[place + 1 :]), container.open
            )
        else:
            changed = Seq(container.kind, tuple(join(known, value) for known in container.items), True)
    elif isinstance(container, Data):
        from meshlens.axes.joining import labels_of

        changed = Data(container.labels | labels_of(value), container.shape, container.made_by)
    else:
        return
    if target[2][0] in ("name", "attr"):
        assign(run, target[2], changed, frame, ctx)
