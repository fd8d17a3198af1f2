"""A map or a jit is created again on every iteration of a loop.

What is compiled is kept by the function object.
A lambda, a nested function or a `partial` that is made in every turn is a new one each time, so JAX traces and
compiles it in every turn, without a message; `JAX_LOG_COMPILES=1` shows it.
Build the map once, before the loop, and give it what changes as an argument.

```python
import jax
import jax.numpy as jnp

x = jnp.ones(8)
for _ in range(100):
    double = jax.pmap(lambda v: 2 * v)
    #        ^^^^^^^^ AX601: pmap is created inside the loop, so it recompiles on every iteration
    x = double(x)
```

becomes

```python
import jax
import jax.numpy as jnp

x = jnp.ones(8)
double = jax.pmap(lambda v: 2 * v)
for _ in range(100):
    x = double(x)
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.context import Context
from meshlens.axes.values import Function, Mapped, Partial, Site, Value, Wrapped
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import Node, names_used, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.rules._callees import callee_span
from meshlens.rules._loops import changing_names, enclosing_loop, turns_often
from meshlens.rules._model import Finding, Fix, Related, Severity
from meshlens.rules._registry import rule
from meshlens.text import Edit, FileEdit, Span

_TESTS = re.compile(r"(^|[_.])(tests?|conftest|bench\w*|profile)([_.]|$)", re.IGNORECASE)
_SOMETIMES = frozenset({"if", "try", "ifexp", "bool", "match", "for", "while"})
_REMEMBERS = re.compile(r"cache|memo|once|singleton", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Made:
    """A map or a jit as it is made: where, of what, under what circumstances."""

    kind: str
    site: Site
    operand: Value
    context: Context


@rule("AX601", Severity.WARNING)
def map_in_loop(view: FileView) -> Iterator[Finding]:
    """Reports each pmap or jit of a new function object that is made and called again and again."""
    if _TESTS.search(view.path.name):
        return
    seen: set[Site] = set()
    paths: dict[Site, tuple[Node, ...]] = {}
    for made in _all_made(view):
        if made.site in seen or not _runs_eagerly(made.context):
            continue
        if made.site not in paths:
            paths[made.site] = path_to(view, made.site)
        path = paths[made.site]
        finding = _in_loop(view, made, path) or _in_function(view, made, path)
        if finding is not None:
            seen.add(made.site)
            yield finding


def _all_made(view: FileView) -> Iterator[_Made]:
    for binding in view.records.bindings:
        if binding.binder.kind == "pmap":
            yield _Made("pmap", binding.binder.site, binding.binder.operand, binding.context)
    for call in view.records.calls:
        if call.dotted in COMPILES and call.args:
            yield _Made(call.dotted.rsplit(".", 1)[-1], call.call, call.args[0].value, call.context)


def _runs_eagerly(context: Context) -> bool:
    traced = context.env.maps or any(step.how in ("jit", "grad", "run", "map") for step in context.route)
    tested = any(_TESTS.search(step.callee) for step in context.route)
    return not traced and not tested and context.sure and not context.guarded and not context.expected


def _in_loop(view: FileView, made: _Made, path: tuple[Node, ...]) -> Finding | None:
    inside = enclosing_loop(path)
    if inside is None or not turns_often(view, inside[0], made.site):
        return None
    changing = changing_names(view, made.site, (inside[0],))
    loop = Site(made.site.path, made.site.block, inside[0][1])
    if not _made_inside(view, made, loop) or _depends(inside[-2:], changing) or not _only_called(inside, inside[0]):
        return None
    message = f"{made.kind} is created inside the loop, so it recompiles on every iteration"
    return Finding(callee_span(view, made.site, made.kind), message, _fixes(view, made, inside))


def _in_function(view: FileView, made: _Made, path: tuple[Node, ...]) -> Finding | None:
    """The same in a function that a loop calls."""
    loop = _loop_on_the_route(view, made.context)
    owner, inside, block = _owner(view, made.site, path)
    if loop is None or owner is None or any(node[0] in _SOMETIMES for node in inside):
        return None
    if not _made_inside(view, made, Site(made.site.path, block, owner[1])):
        return None
    parameters = [parameter[0] for parameter in owner[2][2]]
    changing = changing_names(view, made.site, owner[2][4], parameters)
    if _depends(inside[-2:], changing) or not _only_called(inside, owner):
        return None
    message = f"{made.kind} is created on every call of {owner[2][0]} from a loop, so it recompiles every time"
    place = Related(view.path_of(loop), view.span(loop), f"{owner[2][0]} is called in this loop")
    return Finding(callee_span(view, made.site, made.kind), message, (), (place,))


def _loop_on_the_route(view: FileView, context: Context) -> Site | None:
    """The call in the innermost loop of the route; None where a function on the way remembers its results."""
    if not context.loop:
        return None
    for step in reversed(context.route):
        if step.function is not None and _remembers(view, step.function):
            return None
        inside = enclosing_loop(path_to(view, step.site))
        if inside is not None:
            return step.site if turns_often(view, inside[0], step.site) else None
    return None


def _remembers(view: FileView, function: Site) -> bool:
    root = tree(view, function.path, function.block)
    for node in walk(root) if root is not None else ():
        if node[0] == "fn" and node[2][1] == function.index:
            return any(_REMEMBERS.search(view.text(Site(function.path, function.block, one[1]))) for one in node[2][3])
    return False


def _owner(view: FileView, site: Site, path: tuple[Node, ...]) -> tuple[Node | None, tuple[Node, ...], str]:
    """The function whose body makes the map, what leads from there to the place, and the function's block."""
    for place in range(len(path) - 2, -1, -1):
        if path[place][0] == "fn" and path[place + 1] in path[place][2][4]:
            return path[place], path[place:], site.block
        if path[place][0] == "lambda":
            return None, (), ""
    if path and path[0][0] == "fn" and "." in site.block:
        block = site.block.rsplit(".", 1)[0]
        parent = tree(view, site.path, block)
        if parent is not None and parent[0] == "fn":
            return parent, (parent, *path), block
    return None, (), ""


def _made_inside(view: FileView, made: _Made, around: Site) -> bool:
    """Whether the operand itself comes about in the loop, or in the function, not before it."""
    operand = made.operand
    while isinstance(operand, Wrapped) or (isinstance(operand, Mapped) and operand.binder.kind == "vmap"):
        operand = operand.operand if isinstance(operand, Wrapped) else operand.binder.operand
    site = operand.site if isinstance(operand, (Function, Partial)) else None
    return site is not None and site.path == around.path and view.span(around).contains(view.span(site))


def _depends(ends: tuple[Node, ...], changing: set[str]) -> bool:
    """Whether the map, or the function that it decorates, uses something that changes."""
    outer, node = ends
    decorated = outer[0] == "fn" and node in outer[2][3]
    return bool(names_used(outer if decorated else node) & changing)


def _only_called(inside: tuple[Node, ...], scope: Node) -> bool:
    """Whether all that is done with the map is to call it, once: it is not stored, returned, or called in a loop."""
    parent, node = inside[-2], inside[-1]
    if parent[0] == "call" and parent[2] is node:
        return True
    if parent[0] == "assign" and len(parent[2]) == 1 and parent[2][0][0] == "name":
        return _is_only_called(parent[2][0][2], scope, node)
    if parent[0] == "fn" and node in parent[2][3]:
        return _is_only_called(parent[2][0], scope, node)
    return False


def _is_only_called(name: str, scope: Node, made: Node) -> bool:
    callees = [node[2] for node in walk(scope) if node[0] == "call" and node[2][0] == "name" and node[2][2] == name]
    operands = [node for node in walk(made) if node[0] == "name" and node[2] == name]
    mentions = [node for node in walk(scope) if node[0] == "name" and node[2] == name]
    targets = sum(
        target[0] == "name" and target[2] == name
        for node in walk(scope) if node[0] == "assign" for target in node[2]
    )  # fmt: skip
    if not callees or targets > 1 or len(mentions) != len(callees) + targets + len(operands):
        return False
    inner = [node for node in walk(scope) if node[0] in ("for", "while", "comp") and node is not scope]
    return not any(callee is below for node in inner for below in walk(node) for callee in callees)


def _fixes(view: FileView, made: _Made, inside: tuple[Node, ...]) -> tuple[Fix, ...]:
    """Moves a one-line assignment that stands directly in the loop to the line before it."""
    loop, statement = inside[0], inside[1]
    if loop[0] == "comp" or statement[0] != "assign" or inside[-2] is not statement or statement not in loop[-2]:
        return ()
    source = view.texts[made.site.path]
    span = view.span(Site(made.site.path, made.site.block, statement[1]))
    at = view.span(Site(made.site.path, made.site.block, loop[1])).start
    head = source[source.rfind(b"\n", 0, at) + 1 : at]
    start = source.rfind(b"\n", 0, span.start) + 1
    end = source.find(b"\n", span.end) + 1
    text = source[span.start : span.end]
    alone = not source[start : span.start].strip() and not source[span.end : end].strip()
    if head.strip() or not alone or not end or b"\n" in text or len(loop[-2]) < 2:
        return ()
    path = view.path_of(made.site)
    newline = "\r\n" if source[:end].endswith(b"\r\n") else "\n"
    moved = FileEdit(path, Edit(Span(at, at), text.decode() + newline + head.decode()))
    removed = FileEdit(path, Edit(Span(start, end), ""))
    return (Fix(f"create the {made.kind} once, before the loop", (moved, removed)),)
