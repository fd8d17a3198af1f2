"""The callers and callees in a workspace with their axes, collected from all routes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.records import AxisUse
from meshlens.facts.nodes import FunctionDef, FunctionShape
from meshlens.facts.walking import nodes
from meshlens.ide.hovering.environment import contexts, entered
from meshlens.project.solving.solution import Solution
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Edge:
    """One call on a route.

    Attributes:
        caller: the function that calls; for a module's top level, `module_site` of its file.
        site: the call.
        callee: the function that is entered.
        name: the callee's name.
        env: the environment of the callee.
    """

    caller: Site
    site: Site
    callee: Site
    name: str
    env: AxisEnv


@dataclass(frozen=True, slots=True)
class Calls:
    """All edges of a workspace, by callee and by caller, and the collectives of each function."""

    into: dict[Site, tuple[Edge, ...]]
    out_of: dict[Site, tuple[Edge, ...]]
    uses: dict[Site, tuple[AxisUse, ...]]

    def knows(self, function: Site) -> bool:
        """Returns whether a route leads through a function."""
        return function in self.into or function in self.out_of or function in self.uses


def calls_of(solution: Solution) -> Calls:
    """Returns the calls in a workspace."""
    return solution.once("ide: calls", _calls_of)


def module_site(path: str) -> Site:
    """Returns the site that represents the top level of a file."""
    return Site(path, "", 0)


def function_span(solution: Solution, function: Site) -> Span:
    """Returns the span of a definition with its decorators, given the site of its name; or the span of a lambda."""
    facts = solution.facts[function.path]
    block = facts.blocks[function.block]
    if isinstance(block.shape, FunctionShape) and block.shape.site == function.index:
        return block.span(0)
    for node in nodes(block.shape):
        if isinstance(node, FunctionDef) and node.function.site == function.index:
            return block.span(node.site)
    return block.span(function.index)


def _calls_of(solution: Solution) -> Calls:
    # Environments are compared by identity: most are identical or clearly different, and a deep comparison is slow.
    seen: dict[object, Edge] = {}
    unseen: dict[object, Edge] = {}
    uses: dict[Site, dict[object, AxisUse]] = {}
    for path, records in solution.by_file.items():
        for context in contexts(records):
            for edge, is_seen in _edges(context):
                (seen if is_seen else unseen)[edge.caller, edge.site, edge.callee, id(edge.env)] = edge
        for call in records.mapped_calls:
            function, env = entered(call.binder, call.context.env)
            if function is not None and call.visible:
                # If the operand of the map was already analyzed, no route contains this call, but its record shows it.
                caller = call.context.function or module_site(path)
                edge = Edge(caller, call.call, function.site, function.name, env)
                seen[caller, call.call, function.site, id(call.binder)] = edge
        for use in records.uses:
            caller = use.context.function or module_site(path)
            uses.setdefault(caller, {})[use.call, id(use.context.env), use.name] = use
    called = {edge.callee for edge in seen.values()}
    edges = [*seen.values(), *(edge for edge in unseen.values() if edge.callee not in called)]
    into: dict[Site, list[Edge]] = {}
    out_of: dict[Site, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.callee, []).append(edge)
        out_of.setdefault(edge.caller, []).append(edge)
    return Calls(
        {site: tuple(found) for site, found in into.items()},
        {site: tuple(found) for site, found in out_of.items()},
        {site: tuple(found.values()) for site, found in uses.items()},
    )


def _edges(context: Context) -> Iterator[tuple[Edge, bool]]:
    """Yields each call on a route, and whether its call site is known; if not, its map's site is used instead."""
    caller: Site | None = None
    call: Site | None = None
    for step in context.route:
        if step.function is None:
            # The map is called here; the next step enters its operand.
            call = step.site
            continue
        if step.how != "start":
            site = call or step.site
            edge = Edge(caller or module_site(site.path), site, step.function, step.callee, step.env)
            yield edge, step.how != "map" or site != step.site
        caller, call = step.function, None
