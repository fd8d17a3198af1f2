"""Compares the routes that pass one place: what is wrong on all of them, or on one that certainly runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from meshlens.axes.runs.context import Context

Item = TypeVar("Item")


def certain(judged: Iterable[tuple[Item, Context, bool | None]]) -> Item | None:
    """The first item that is wrong for certain, None if there is none.

    Args:
        judged: an item for each route, its circumstances, and whether it is wrong; None where that is not known.
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
