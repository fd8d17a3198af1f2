"""Compares the routes to one place: a fault on all of them, or on one that certainly runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from meshlens.axes.runs.context import Context

Item = TypeVar("Item")


def certain(judged: Iterable[tuple[Item, Context, bool | None]]) -> Item | None:
    """Returns the first item that is certainly wrong; None if there is none.

    Args:
        judged: an item for each route, its context, and whether it is wrong; None if unknown.
    """
    wrong: list[tuple[Item, Context]] = []
    right = False
    for item, context, verdict in judged:
        if verdict is None:
            continue
        if not verdict:
            right = True
        elif context.sure and not context.guarded and not context.expected:
            wrong.append((item, context))
    if right:
        wrong = [(item, context) for item, context in wrong if not context.conditional and not context.remote]
    return wrong[0][0] if wrong else None
