"""Axis symbols: the literals, uses, binders, meshes and specs that refer to one axis.

Two places belong to the same symbol if the analysis connects them, for example if one uses the axis that the other
binds; two maps that merely use the same name belong to different symbols.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from meshlens.axes.domain.joining import options
from meshlens.axes.domain.specs import sharding_parts, spec_names, specs_in
from meshlens.axes.domain.values import Arg, Binder, Const, Made, Mesh, Site, Spec, Value
from meshlens.axes.jax.naming import by_parameter, names_in
from meshlens.axes.runs.records import ApiCall, AxisUse, Records, SameName, literal_name
from meshlens.facts.nodes import FunctionDef, FunctionShape
from meshlens.jaxapi.meshes import MESHES
from meshlens.project.solving.solution import Solution

Role = Literal["binds", "uses", "names"]

# The site of a literal, and the name in it; if no literal is known, the site of the expression that provides the name.
Node = tuple[Site, str]


@dataclass(frozen=True, slots=True)
class AxisSymbol:
    """An axis of the program.

    Attributes:
        name: the axis name.
        literals: the places where the name is written or computed.
        sayings: the expressions that bind, use or provide the axis name, each with its role.
        uses: the collectives over the axis and the queries about it, with one entry per route.
        binders: the maps that bind it.
        meshes: the meshes that have it.
        unwritten: expressions that provide the name without a literal in the workspace.
    """

    name: str
    literals: frozenset[Site]
    sayings: frozenset[tuple[Site, Role]]
    uses: tuple[AxisUse, ...]
    binders: tuple[Binder, ...]
    meshes: tuple[Mesh, ...]
    unwritten: frozenset[Site]


@dataclass(slots=True)
class AxisSymbols:
    """All axis symbols of a workspace.

    Attributes:
        at: the axis names at each site, whether of a literal or of an expression that binds, uses or provides a name.
        bound_by: for the site of a literal or a use, the names in the binders and meshes that bind its axis.
    """

    at: dict[Site, dict[Node, Role | None]] = field(default_factory=lambda: defaultdict(dict))
    bound_by: dict[Site, dict[Node, None]] = field(default_factory=lambda: defaultdict(dict))
    said: dict[Node, dict[tuple[Site, Role], None]] = field(default_factory=lambda: defaultdict(dict))
    uses: dict[Node, list[AxisUse]] = field(default_factory=lambda: defaultdict(list))
    binders: dict[Node, dict[Binder, None]] = field(default_factory=lambda: defaultdict(dict))
    meshes: dict[Node, dict[Mesh, None]] = field(default_factory=lambda: defaultdict(dict))
    unwritten: set[Node] = field(default_factory=set)
    _parent: dict[Node, Node] = field(default_factory=dict)
    _members: dict[Node, list[Node]] = field(default_factory=lambda: defaultdict(list))

    def node(self, name: Const, said: Site) -> Node:
        """Returns the literal of a name, or the expression that provides it if no literal is known."""
        node = (name.origin or said, name.value)
        if name.origin is None:
            self.unwritten.add(node)
        return node

    def say(self, name: Const, site: Site, role: Role) -> Node:
        """Notes that an expression binds, uses or provides an axis name."""
        node = self.node(name, site)
        self.said[node][(site, role)] = None
        self.at[site][node] = role
        self.at[node[0]].setdefault(node, None)
        return node

    def join(self, one: Node, other: Node) -> None:
        """Notes that two literals refer to the same axis."""
        left, right = self.find(one), self.find(other)
        if left != right:
            self._parent[left] = right

    def find(self, node: Node) -> Node:
        """Returns the literal that represents all literals joined with the given one."""
        parent = self._parent
        while (up := parent.get(node)) is not None:
            above = parent.get(up)
            if above is None:
                return up
            parent[node] = above
            node = above
        return node

    def close(self) -> None:
        """Collects the members of every symbol, after all have been joined."""
        for node in dict.fromkeys((*self.said, *self.binders, *self._parent, *self._parent.values())):
            self._members[self.find(node)].append(node)

    def symbols_at(self, site: Site) -> tuple[AxisSymbol, ...]:
        """Returns the symbols at a site."""
        roots = dict.fromkeys(self.find(node) for node in self.at.get(site, ()))
        return tuple(self.symbol(root) for root in roots)

    def symbol(self, node: Node) -> AxisSymbol:
        """Returns the symbol that a literal belongs to."""
        members = self._members.get(self.find(node), [node])
        return AxisSymbol(
            node[1],
            frozenset(site for site, _ in members),
            frozenset(said for member in members for said in self.said.get(member, ())),
            tuple(use for member in members for use in self.uses.get(member, ())),
            tuple(dict.fromkeys(binder for member in members for binder in self.binders.get(member, ()))),
            tuple(dict.fromkeys(mesh for member in members for mesh in self.meshes.get(member, ()))),
            frozenset(member[0] for member in members if member in self.unwritten),
        )

    def named(self, name: str) -> tuple[AxisSymbol, ...]:
        """Returns the symbols with the given name."""
        return tuple(self.symbol(root) for root in self._members if root[1] == name)

    def every(self) -> Iterator[AxisSymbol]:
        """Yields all symbols."""
        for root in self._members:
            yield self.symbol(root)


def axis_symbols(solution: Solution) -> AxisSymbols:
    """Returns the axis symbols of a workspace, computed once."""
    return solution.once("axis-symbols", _collected)


def symbols_around(solution: Solution, path: str, block: str) -> AxisSymbols:
    """Returns the axis symbols that concern a block, for answers that are needed while the user types.

    Few roots read a function, but any root may read the top level, which thus needs all symbols.
    """
    shape = solution.facts[path].blocks[block].shape
    if not isinstance(shape, (FunctionDef, FunctionShape)):
        return axis_symbols(solution)
    blocks = {(path, block), (path, f"header:{block}")}
    keys = {key for key, result in solution.results.items() if not blocks.isdisjoint(result.deps)} | {(path, "")}
    keys |= {other for key in keys & solution.results.keys() for other in solution.results[key].relied}
    return _gathered(solution.results[key].records for key in sorted(keys & solution.results.keys()))


def _collected(solution: Solution) -> AxisSymbols:
    return _gathered(result.records for result in solution.results.values())


def _gathered(all_records: Iterable[Records]) -> AxisSymbols:
    found = AxisSymbols()
    waiting: list[SameName] = []
    for records in all_records:
        _collect(found, records)
        waiting += records.same_names
    while rest := [same for same in waiting if not _same(found, *same)]:
        if len(rest) == len(waiting):
            break
        waiting = rest
    found.close()
    return found


def _same(found: AxisSymbols, one: Const, other: Const) -> bool:
    """Joins two equal strings if either is known to name an axis; returns False if they must be tried again later."""
    if one.origin is None or other.origin is None:
        return True
    if (one.origin, one.value) not in found.said:
        one, other = other, one
    if one.origin is None or other.origin is None or (one.origin, one.value) not in found.said:
        return False
    node = found.node(one, one.origin)
    repeated = found.node(other, other.origin)
    found.join(node, repeated)
    found.say(other, other.via or other.origin, "names")
    found.bound_by[other.origin].update(found.bound_by.get(one.origin, {}))
    return True


def _collect(found: AxisSymbols, records: Records) -> None:
    bound: set[Binder] = set()
    for use in records.uses:
        _use(found, use)
    for binding in records.bindings:
        if binding.binder not in bound:
            bound.add(binding.binder)
            _binder(found, binding.binder)
    for mapped in records.mapped_calls:
        if mapped.binder not in bound:
            bound.add(mapped.binder)
            _binder(found, mapped.binder)
    for call in records.calls:
        _call(found, call)


def _use(found: AxisSymbols, use: AxisUse) -> None:
    if literal_name(use.name) is None or not isinstance(use.name, Const):
        return
    site = use.axis or use.call
    node = found.say(use.name, site, "uses")
    found.uses[node].append(use)
    if use.name.via is not None:
        found.say(use.name, use.name.via, "names")
    binder = use.context.env.binder_of(node[1])
    for name in binder.names if binder is not None else ():
        if binder is not None and name.value == node[1]:
            other = found.node(name, binder.site)
            found.join(node, other)
            found.bound_by[site][other] = None
            found.bound_by[node[0]][other] = None


def _binder(found: AxisSymbols, binder: Binder) -> None:
    for name in binder.names:
        found.binders[found.node(name, binder.site)][binder] = None
    for parameter in ("axis_name", "axis_names"):
        arg = binder.argument(parameter)
        for name in names_in(arg.value)[0] if arg is not None and arg.site is not None else ():
            if arg is not None and arg.site is not None:
                _name_of_argument(found, name, arg, arg.site, "binds")
    mesh = _nodes_of_mesh(found, binder.mesh)
    for name in binder.names:
        _join_with(found, mesh, found.node(name, binder.site))
    for parameter in ("in_specs", "out_specs"):
        arg = binder.argument(parameter)
        if arg is not None:
            _specs(found, arg.value, mesh)


def _name_of_argument(found: AxisSymbols, name: Const, arg: Arg, site: Site, role: Role) -> Node:
    node = found.say(name, site, role)
    if name.via is not None:
        found.say(name, name.via, "names")
    return node


def _call(found: AxisSymbols, call: ApiCall) -> None:
    row = MESHES.get(call.dotted)
    if row is not None:
        given = by_parameter(row.parameters, call.args)
        for parameter in row.names:
            arg = given.get(parameter)
            for name in names_in(arg.value)[0] if arg is not None else ():
                if arg is not None and arg.site is not None:
                    node = _name_of_argument(found, name, arg, arg.site, "binds")
                    if isinstance(call.result, Mesh):
                        found.meshes[node][call.result] = None
        return
    result = type(call.result)
    if result is Made:
        mesh, spec = sharding_parts(call.result)
        if spec is not None:
            _specs(found, spec, _nodes_of_mesh(found, mesh))
    elif result is Spec:
        _specs(found, call.result, {})
    if call.mesh is not None:
        for arg in call.args:
            _specs(found, arg.value, _nodes_of_mesh(found, call.mesh))


def _specs(found: AxisSymbols, value: Value, mesh: dict[str, list[Node]]) -> None:
    for option in options(value):
        for spec in specs_in(option):
            for name, site in spec_names(spec):
                node = found.say(name, site, "uses")
                _join_with(found, mesh, node)
                for other in mesh.get(node[1], ()):
                    found.bound_by[site][other] = None
                    found.bound_by[node[0]][other] = None


def _join_with(found: AxisSymbols, nodes: dict[str, list[Node]], node: Node) -> None:
    for other in nodes.get(node[1], ()):
        found.join(node, other)


def _nodes_of_mesh(found: AxisSymbols, mesh: Value | None) -> dict[str, list[Node]]:
    nodes: dict[str, list[Node]] = {}
    for option in options(mesh) if mesh is not None else ():
        if isinstance(option, Mesh):
            for value in option.names:
                for name in names_in(value)[0]:
                    nodes.setdefault(name.value, []).append(found.node(name, option.site))
    return nodes
