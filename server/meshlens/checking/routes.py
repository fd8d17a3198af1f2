"""Compares the routes to one place: finds faults on all routes, or on a route that certainly runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from typing import TypeVar

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall, GradientUse
from meshlens.project.view import FileView

Item = TypeVar("Item")


def certain(judged: Iterable[tuple[Item, Context, bool | None]]) -> Item | None:
    """Returns the first item that is certainly wrong; None if there is none.

    Args:
        judged: for each route, an item, its context, and whether the item is wrong (None if unknown).
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


def certain_faults(view: FileView, beginning: str, why: Callable[[ApiCall], str]) -> Iterator[tuple[Site, ApiCall]]:
    """Yields each place in a file where recorded operations are certainly wrong, with one of the records.

    Args:
        view: the file.
        beginning: the prefix of the names under which the operations are recorded.
        why: returns what is wrong, in words; empty if nothing is.
    """
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted.startswith(beginning) and not call.guarded and view.is_here(call.call):
            places[call.call].append(call)
    for site, calls in places.items():
        found = certain((call, call.context, bool(why(call))) for call in calls)
        if found is not None:
            yield site, found


def certain_uses(view: FileView, kinds: Container[str]) -> Iterator[GradientUse]:
    """Yields the first record of the given kinds at each place of a file that a run certainly reaches."""
    seen: set[Site] = set()
    for use in view.records.gradient_uses:
        context = use.context
        if use.kind not in kinds or use.site in seen or not view.is_here(use.site):
            continue
        if context.sure and not context.guarded and not context.expected:
            seen.add(use.site)
            yield use
