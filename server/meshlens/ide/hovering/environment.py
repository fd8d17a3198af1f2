"""The axis environments of functions, and the functions around an offset, even in broken text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from meshlens.axes.domain.values import Binder, Function, Mapped, Partial, Site, Value, Wrapped
from meshlens.axes.domain.values import Bound as Method
from meshlens.axes.runs.context import AxisEnv, Bound, Context
from meshlens.axes.runs.records import Binding, Records
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.text import Span

_DEF = re.compile(rb"([ \t]*)(?:async[ \t]+)?def[ \t]+([\w\x80-\xff]+)")
_INDENT = re.compile(rb"[ \t]*")
MOST_DEFINITIONS = 200


def definitions_around(source: bytes, line: int) -> tuple[Span, ...]:
    """Returns the names of the functions whose bodies contain a line, innermost first, judging by indentation.

    Args:
        source: the file.
        line: the start of a line that begins a statement.
    """
    return tuple(_definitions(source, line))


def _definitions(source: bytes, line: int) -> Iterator[Span]:
    indent = _indent(source, line)
    at = line
    for _ in range(MOST_DEFINITIONS):
        at = source.rfind(b"def ", 0, at)
        if at < 0 or indent == 0:
            return
        start = source.rfind(b"\n", 0, at) + 1
        found = _DEF.match(source, start)
        if found is None or len(found[1]) >= indent:
            continue
        left = re.compile(rb"\n[ \t]{0,%d}[^\s#)\]}]" % len(found[1]))
        if left.search(source, found.end(), line) is None:
            yield Span(*found.span(2))
            indent = len(found[1])


def _indent(source: bytes, line: int) -> int:
    found = _INDENT.match(source, line)
    return found.end() - found.start() if found is not None else 0


def function_site(view: FileView, name: Span) -> Site | None:
    """Returns the site of the function whose name is at a span."""
    for key, block in view.facts.blocks.items():
        whole = block.span(0)
        if whole.start <= name.start and name.end <= whole.end:
            for index in range(len(block.spans) // 2):
                if block.span(index) == name:
                    return Site(str(view.path), key, index)
    return None


def contexts(records: Records) -> tuple[Context, ...]:
    """Returns the contexts of all records, without duplicates."""
    made = (
        records.uses,
        records.calls,
        records.bindings,
        records.mapped_calls,
        records.random_uses,
        records.gradient_uses,
    )
    return tuple({id(record.context): record.context for kind in made for record in kind}.values())


def environments(view: FileView, function: Site) -> tuple[AxisEnv, ...]:
    """Returns the axis environments in which a function's body runs, without duplicates.

    If the body has no records, for example because it does not use axes yet, returns the environments that its maps
    create.

    Args:
        view: the file of the function.
        function: the site of its name.
    """
    found: list[AxisEnv] = []
    for context in contexts(view.records):
        if context.function == function:
            found.append(context.env)
        for step in context.route:
            if step.function == function:
                found.append(step.env)
    return distinct(found or [env for _, env in _maps_over(view.solution).get(function, ())])


def distinct(environments: Iterable[AxisEnv]) -> tuple[AxisEnv, ...]:
    """Returns one environment for each combination of names and map sites; comparing whole environments is slower."""
    found: dict[object, AxisEnv] = {}
    for env in {id(env): env for env in environments}.values():
        names = tuple([(bound.name, bound.binder.site) for bound in env.bound])
        found.setdefault((env.open, names, tuple([binder.site for binder in env.maps])), env)
    return tuple(found.values())


def bindings_of(solution: Solution) -> dict[Site, tuple[Binding, ...]]:
    """Returns the maps applied to each function of a workspace, even through `jit`, partials and other maps."""
    found = _maps_over(solution)
    return {site: tuple(binding for binding, _ in pairs) for site, pairs in found.items()}


def _maps_over(solution: Solution) -> dict[Site, tuple[tuple[Binding, AxisEnv], ...]]:
    return solution.once("ide: maps over functions", _compute_maps_over)


def _compute_maps_over(solution: Solution) -> dict[Site, tuple[tuple[Binding, AxisEnv], ...]]:
    found: dict[Site, list[tuple[Binding, AxisEnv]]] = {}
    for records in solution.by_file.values():
        for binding in {(one.binder.site, id(one.context.env)): one for one in records.bindings}.values():
            function, env = entered(binding.binder, binding.context.env)
            if function is not None:
                found.setdefault(function.site, []).append((binding, env))
    return {site: tuple(pairs) for site, pairs in found.items()}


def entered(binder: Binder, env: AxisEnv) -> tuple[Function | None, AxisEnv]:
    """Returns the function that a call to a mapped function ultimately runs, and its environment.

    Args:
        binder: the outermost map.
        env: the environment of the call.
    """
    while True:
        names = [Bound(name.value, binder) for name in binder.names if isinstance(name.value, str)]
        env = AxisEnv((*env.bound, *names), env.open or binder.open, (*env.maps, binder))
        inner = called_by(binder.operand)
        if not isinstance(inner, Mapped):
            return inner, env
        binder = inner.binder


def function_in(value: Value | None) -> Function | None:
    """Returns the workspace function that a value runs when it is called."""
    inner = called_by(value)
    return inner if isinstance(inner, Function) else None


def called_by(value: Value | None) -> Function | Mapped | None:
    """Returns the function or map that a value calls, through partials, methods and transparent transformations."""
    while not isinstance(value, (Function, Mapped)):
        if isinstance(value, Partial):
            value = value.callee
        elif isinstance(value, Wrapped):
            value = value.operand
        elif isinstance(value, Method):
            value = value.function
        else:
            return None
    return value
