"""Finds the function at a cursor, and every reference to it in its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from meshlens.axes.domain.values import Binder, Function, Mapped, Partial, Site, Value, Wrapped
from meshlens.facts.nodes import Attribute, Call, FunctionDef, Import, ImportFrom, Name, Parameter, Statements, Try
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, blocks_at, names_bound, names_used, nodes_at, nodes_of_block, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.mentions import Entry, entries
from meshlens.refactoring.reading.scopes import home_of, outermost
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Target:
    """A function of the file.

    Attributes:
        node: its node.
        site: the site of its name.
        is_method: whether it is in a class.
        filled: the parameters bound by the `partial` through which it is called.
    """

    node: FunctionDef
    site: Site
    is_method: bool
    filled: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Returns its name."""
        return self.node.function.name

    @property
    def is_static(self) -> bool:
        """Returns whether it is a static method, which receives no instance."""
        decorators = self.node.function.decorators
        return self.is_method and any(isinstance(one, Name) and one.name == "staticmethod" for one in decorators)

    @property
    def has_object(self) -> bool:
        """Returns whether its first parameter receives the instance or its class."""
        return self.is_method and not self.is_static

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Returns its parameters, without a method's `self` and without those that a `partial` binds."""
        named = (parameter for parameter in self.node.function.parameters if parameter.name)
        every = tuple(parameter for parameter in named if parameter.name not in self.filled)
        return every[1:] if self.has_object else every

    @property
    def body(self) -> Statements:
        """Returns its statements."""
        return self.node.function.body

    def at(self, index: int) -> Site:
        """Returns the site at an index in the function's block."""
        return Site(self.site.path, self.site.block, index)


@dataclass(frozen=True, slots=True)
class Use:
    """A reference to a function.

    Attributes:
        site: where the function's name is read.
        call: the call to the function, if it is called there.
    """

    site: Site
    call: Call | None


def function_at(view: FileView, span: Span) -> Target | None:
    """Returns the function that is defined at the cursor, or that the name at the cursor certainly refers to."""
    given = "assists: function at a cursor", view.path
    # Cached by facts: unlike a solution, they do not survive edits that only move lines.
    return view.solution.once_of(given, view.facts, span, lambda: _function_at(view, span))


def _function_at(view: FileView, span: Span) -> Target | None:
    path = str(view.path)
    keys = blocks_at(view, span)
    here = [entry for entry in entries(view) if entry.key in keys]
    for target in (target for entry in here for target in _of(path, entry)):
        if view.span(target.site).contains(span):
            return target
    for key in (entry.key for entry in here):
        for node in nodes_at(view, path, key, span):
            if isinstance(node, Name):
                return _named(view, Site(path, key, node.site), node.name)
            if isinstance(node, Attribute) and _on_attribute(view, Site(path, key, node.site), node, span):
                return _method(view, node.name)
    return None


def _on_attribute(view: FileView, site: Site, node: Attribute, span: Span) -> bool:
    end = view.span(site).end
    return end - len(node.name.encode()) <= span.start and span.end <= end


def _named(view: FileView, site: Site, name: str) -> Target | None:
    """Returns the function that a name refers to: one in an enclosing scope, or else at the top level."""
    found = [one for one in functions_called(view, name) if not one.is_method]
    root = outermost(view, site.block)
    inside = [one for one in found if home_of(view, one.at(one.node.site)) == root]
    found = inside or [one for one in found if home_of(view, one.at(one.node.site)) is None]
    return found[0] if len(found) == 1 else None


def _method(view: FileView, name: str) -> Target | None:
    found = [one for one in functions_called(view, name) if one.is_method]
    return found[0] if len(found) == 1 else None


def maps_around(view: FileView, target: Target) -> frozenset[Binder]:
    """Returns the maps over devices that run a function, directly or through other functions."""
    records = view.records
    contexts = [
        one.context
        for kind in (records.uses, records.calls, records.gradient_uses, records.random_uses)
        for one in kind
    ]
    found = {
        binder
        for context in contexts
        for env in (
            *([context.env] if context.function == target.site else []),
            *(step.env for step in context.route if step.function == target.site),
        )
        for binder in env.maps
    }
    for one in view.solution.by_file.values():
        found |= {binding.binder for binding in one.bindings if _underlying(binding.binder.operand) == target.site}
    return frozenset(binder for binder in found if binder.kind in MAPS_ON_DEVICES)


def _underlying(value: Value) -> Site | None:
    while isinstance(value, (Wrapped, Partial, Mapped)):
        if isinstance(value, Mapped):
            value = value.binder.operand
        else:
            value = value.operand if isinstance(value, Wrapped) else value.callee
    return value.site if isinstance(value, Function) else None


def dotted_name(view: FileView, node: Node) -> str:
    """Returns the dotted name of a name or attribute, according to the top-level imports; "" if unknown."""
    attributes: list[str] = []
    while isinstance(node, Attribute):
        attributes.append(node.name)
        node = node.object
    home = _imported(view).get(node.name) if isinstance(node, Name) else None
    return canonical(".".join([home, *reversed(attributes)])) if home is not None else ""


def _imported(view: FileView) -> dict[str, str]:
    """Returns the names that top-level imports bind, with the dotted name of each."""
    return view.solution.once(f"assists: imports of {view.path}", lambda _: dict(_imports(view)))


def _imports(view: FileView) -> Iterator[tuple[str, str]]:
    tried: dict[str, set[str]] = {}
    for shape in view.facts.statements:
        for statement in _branches(shape) if isinstance(shape, Try) else ():
            for name, dotted in _imported_by(statement):
                tried.setdefault(name, set()).add(dotted)
            if not isinstance(statement, (Import, ImportFrom)):
                for name in names_bound((statement,)):
                    tried.setdefault(name, set()).update(("", name))
    # A name that is imported several times is known if every import refers to the same thing.
    yield from ((name, found.pop()) for name, found in tried.items() if len(found) == 1)
    for shape in view.facts.statements:
        yield from _imported_by(shape)


def _branches(shape: Try) -> Iterator[Node]:
    yield from shape.body
    for _, _, body in shape.handlers:
        yield from body
    yield from shape.orelse


def _imported_by(shape: Node) -> Iterator[tuple[str, str]]:
    if isinstance(shape, (Import, ImportFrom)):
        for name, alias, _ in shape.names:
            if isinstance(shape, ImportFrom):
                yield alias or name, f"{shape.module}.{name}"
            else:
                yield alias or name.split(".")[0], name if alias else name.split(".")[0]


def uses_jax(view: FileView, target: Target) -> bool:
    """Returns whether a function's decorators or body mention JAX itself."""
    return any(
        isinstance(node, (Name, Attribute)) and dotted_name(view, node).startswith("jax.") for node in walk(target.node)
    )


_LIBRARIES = ("jax", "flax", "equinox", "haiku", "optax", "numpyro", "diffrax")


def may_use_jax(view: FileView) -> bool:
    """Returns whether the functions of a file may compute with JAX arrays, because it imports JAX or a JAX library."""
    return any(one.split(".")[0] in _LIBRARIES for one in _imported(view).values())


def uses_libraries(view: FileView, target: Target) -> bool:
    """Returns whether a function's decorators or body mention JAX or a JAX library."""
    return any(
        isinstance(node, (Name, Attribute)) and dotted_name(view, node).split(".")[0] in _LIBRARIES
        for node in walk(target.node)
    )


def reached(
    view: FileView, target: Target, names_in: Callable[[Node], Iterable[str]] = names_used
) -> tuple[FunctionDef, ...]:
    """Returns a function and the functions of its file that it refers to, directly or through others.

    Args:
        view: the file.
        target: the function.
        names_in: returns the names that a function refers to.
    """
    home = home_of(view, target.at(target.node.site))
    found: dict[int, FunctionDef] = {}
    waiting = [target.node]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += [
                one.node
                for name in names_in(node)
                for one in functions_called(view, name)
                if not one.is_method and home_of(view, one.at(one.node.site)) in (None, home)
            ]
    return tuple(found.values())


def line_of(view: FileView, site: Site) -> int:
    """Returns the line of a site, counted from 1."""
    return view.texts[site.path].count(b"\n", 0, view.span(site).start) + 1


def site_of_call(view: FileView, callee: Node) -> Site | None:
    """Returns the site of the call with the given callee, a node of the file; None for any other node."""
    path = str(view.path)

    def find() -> dict[int, tuple[Node, Site]]:
        blocks = ((block, node) for block in view.facts.blocks for node in nodes_of_block(view, path, block))
        # The node is stored with the site, so that no other object can get its id.
        return {
            id(node.callee): (node, Site(path, block, node.site)) for block, node in blocks if isinstance(node, Call)
        }

    known: dict[int, tuple[Node, Site]] = view.solution.once(f"assists: calls of {path}", lambda _: find())
    found = known.get(id(callee))
    return found[1] if found is not None else None


def functions(view: FileView) -> tuple[Target, ...]:
    """Returns the functions of a file."""
    path = str(view.path)
    found: tuple[Target, ...] = view.solution.once(
        f"assists: functions of {path}", lambda _: tuple(one for entry in entries(view) for one in _of(path, entry))
    )
    return found


def functions_called(view: FileView, name: str) -> tuple[Target, ...]:
    """Returns the functions of a file that have the given name."""
    by_name: dict[str, tuple[Target, ...]] = view.solution.once(
        f"assists: functions by name of {view.path}",
        lambda _: {name: tuple(found) for name, found in groupby(sorted(functions(view), key=_name), key=_name)},
    )
    return by_name.get(name, ())


def _name(target: Target) -> str:
    return target.name


def _of(path: str, entry: Entry) -> Iterator[Target]:
    for node, is_member in entry.found.functions:
        yield Target(node, Site(path, entry.key, node.function.site), is_member or (entry.in_class and node.site == 0))
