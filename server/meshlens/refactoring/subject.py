"""Finds the function to parallelize from a cursor on its definition, on its name, or on a call that transforms it."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Assign, Attribute, Call, Lambda, Name
from meshlens.project.trees import blocks_at, nodes_at
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import Target, function_at, functions
from meshlens.refactoring.reading.host_calls import callee_at
from meshlens.refactoring.reading.scopes import parent_of
from meshlens.text import Span


def subject_at(view: FileView, span: Span) -> Span | None:
    """Returns the span of the name of the function that a cursor refers to; assists are offered there.

    The cursor may be on the function's `def` line, decorators or name, or on a call to `jit`, `partial` or similar with
    the function as argument; for a lambda, the result is the variable that holds it.
    """
    if callee_at(view, span) is not None or function_at(view, span) is not None:
        return span
    for target in functions(view):
        if _is_near(view, target, span) and _head(view, target).contains(span):
            return view.span(target.site)
    return _at_call(view, span)


def _is_near(view: FileView, target: Target, span: Span) -> bool:
    """Returns whether a span is in the lines of a function's block, without parsing the function."""
    block = view.facts.blocks[target.site.block]
    return span.end <= block.end and view.source.rfind(b"\n", 0, block.start) < span.start


def _head(view: FileView, target: Target) -> Span:
    """Returns the lines of a function from its first decorator to the first line of its body, exclusive."""
    sites = [target.at(node.site) for node in target.node.function.decorators]
    start = min(view.span(site).start for site in (*sites, target.site))
    body = [view.span(target.at(node.site)).start for node in target.body]
    end = min((at for at in body if at > start), default=view.span(target.site).end)
    line = view.source.rfind(b"\n", 0, start) + 1
    return Span(line, max(end - 1, view.span(target.site).end))


def _at_call(view: FileView, span: Span) -> Span | None:
    """Returns the function that a call at the cursor transforms, or the variable that holds a lambda there."""
    path = str(view.path)
    for key in blocks_at(view, span):
        found: Span | None = None
        for node in nodes_at(view, path, key, span):
            if isinstance(node, (Call, Lambda)):
                inner = _meant(view, Site(path, key, node.site), node, span)
                found = inner if inner is not None else found
        if found is not None:
            return found
    return None


def _meant(view: FileView, site: Site, node: Call | Lambda, span: Span) -> Span | None:
    if isinstance(node, Lambda):
        above = parent_of(view, site)
        while isinstance(above, Call):
            site = Site(site.path, site.block, above.site)
            above = parent_of(view, site)
        if isinstance(above, Assign) and len(above.targets) == 1 and isinstance(above.targets[0], Name):
            return view.span(Site(site.path, site.block, above.targets[0].site))
        return None
    callee = Site(site.path, site.block, node.callee.site)
    if not view.span(callee).contains(span):
        return None
    operand = next((value for label, _, value in node.arguments if label is None), None)
    while isinstance(operand, Call):
        operand = next((value for label, _, value in operand.arguments if label is None), None)
    if operand is None:
        return None
    if isinstance(operand, Lambda):
        return _meant(view, Site(site.path, site.block, operand.site), operand, span)
    at = view.span(Site(site.path, site.block, operand.site))
    end = Span(at.end, at.end) if isinstance(operand, Attribute) else at
    return end if function_at(view, end) is not None else None
