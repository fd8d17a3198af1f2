"""A map or a jit is created again on every iteration of a loop.

JAX caches compiled code by function object.
A lambda, nested function or `partial` that the loop creates is a new object each time, so JAX silently traces and
compiles it on every iteration; `JAX_LOG_COMPILES=1` shows this.
Create the map once, before the loop, and pass what changes as an argument.

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

from meshlens.axes.domain.values import Function, Mapped, Partial, Site, Value, Wrapped
from meshlens.axes.runs.context import Context
from meshlens.checking.callees import callee_span
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.facts.nodes import (
    Assign,
    BoolOperation,
    Call,
    Comprehension,
    For,
    FunctionDef,
    If,
    IfExpression,
    Lambda,
    Match,
    Name,
    Try,
    While,
)
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import Node, names_used, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.loops import Loop, changing_names, enclosing_loop, turns_often
from meshlens.text import Edit, FileEdit, Span

_TESTS = re.compile(r"(^|[_.])(tests?|conftest|bench\w*|profile)([_.]|$)", re.IGNORECASE)
_SOMETIMES = (If, Try, IfExpression, BoolOperation, Match, For, While)
_REMEMBERS = re.compile(r"cache|memo|once|singleton", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Made:
    """The creation of a map or jit: its place, operand and context."""

    kind: str
    site: Site
    operand: Value
    context: Context


@rule("AX601", Severity.WARNING, reads="tied")
def map_in_loop(view: FileView) -> Iterator[Finding]:
    """Reports each pmap or jit of a new function object that is created and called repeatedly."""
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
    found = enclosing_loop(path)
    if found is None or not turns_often(view, found[0], made.site):
        return None
    loop, inside = found
    changing = changing_names(view, made.site, (loop,))
    around = Site(made.site.path, made.site.block, loop.site)
    if not _made_inside(view, made, around) or _depends(inside[-2:], changing) or not _only_called(inside, loop):
        return None
    message = f"{made.kind} is created inside the loop, so it recompiles on every iteration"
    return Finding(callee_span(view, made.site, made.kind), message, _fixes(view, made, loop, inside))


def _in_function(view: FileView, made: _Made, path: tuple[Node, ...]) -> Finding | None:
    """Returns the finding for a map created in a function that is called in a loop."""
    loop = _loop_on_the_route(view, made.context)
    owner, inside, block = _owner(view, made.site, path)
    if loop is None or owner is None or any(isinstance(node, _SOMETIMES) for node in inside):
        return None
    if not _made_inside(view, made, Site(made.site.path, block, owner.site)):
        return None
    parameters = [parameter.name for parameter in owner.function.parameters]
    changing = changing_names(view, made.site, owner.function.body, parameters)
    if _depends(inside[-2:], changing) or not _only_called(inside, owner):
        return None
    message = f"{made.kind} is created on every call of {owner.function.name} from a loop, so it recompiles every time"
    place = Related(view.path_of(loop), view.span(loop), f"{owner.function.name} is called in a loop here")
    return Finding(callee_span(view, made.site, made.kind), message, (), (place,))


def _loop_on_the_route(view: FileView, context: Context) -> Site | None:
    """Returns the call in the innermost loop of the route; None if the loop is short or calls a cached function."""
    if not context.loop:
        return None
    for step in reversed(context.route):
        if step.function is not None and _remembers(view, step.function):
            return None
        found = enclosing_loop(path_to(view, step.site))
        if found is not None:
            return step.site if turns_often(view, found[0], step.site) else None
    return None


def _remembers(view: FileView, function: Site) -> bool:
    root = tree(view, function.path, function.block)
    for node in walk(root) if root is not None else ():
        if isinstance(node, FunctionDef) and node.function.site == function.index:
            return any(
                _REMEMBERS.search(view.text(Site(function.path, function.block, one.site)))
                for one in node.function.decorators
            )
    return False


def _owner(view: FileView, site: Site, path: tuple[Node, ...]) -> tuple[FunctionDef | None, tuple[Node, ...], str]:
    """Returns the function whose body creates the map, the nodes from there to the place, and the function's block."""
    for place in range(len(path) - 2, -1, -1):
        node = path[place]
        if isinstance(node, FunctionDef) and path[place + 1] in node.function.body:
            return node, path[place:], site.block
        if isinstance(node, Lambda):
            return None, (), ""
    if path and isinstance(path[0], FunctionDef) and "." in site.block:
        block = site.block.rsplit(".", 1)[0]
        parent = tree(view, site.path, block)
        if isinstance(parent, FunctionDef):
            return parent, (parent, *path), block
    return None, (), ""


def _made_inside(view: FileView, made: _Made, around: Site) -> bool:
    """Returns whether the operand itself is created in the loop or function, not before it."""
    operand = made.operand
    while isinstance(operand, Wrapped) or (isinstance(operand, Mapped) and operand.binder.kind == "vmap"):
        operand = operand.operand if isinstance(operand, Wrapped) else operand.binder.operand
    site = operand.site if isinstance(operand, (Function, Partial)) else None
    return site is not None and site.path == around.path and view.span(around).contains(view.span(site))


def _depends(ends: tuple[Node, ...], changing: set[str]) -> bool:
    """Returns whether the map, or the function that it decorates, uses a name whose value may change."""
    outer, node = ends
    decorated = isinstance(outer, FunctionDef) and node in outer.function.decorators
    return bool(names_used(outer if decorated else node) & changing)


def _only_called(inside: tuple[Node, ...], scope: Node) -> bool:
    """Returns whether the map is only called, and not stored, returned, or called in an inner loop."""
    parent, node = inside[-2], inside[-1]
    if isinstance(parent, Call) and parent.callee is node:
        return True
    if isinstance(parent, Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], Name):
        return _is_only_called(parent.targets[0].name, scope, node)
    if isinstance(parent, FunctionDef) and node in parent.function.decorators:
        return _is_only_called(parent.function.name, scope, node)
    return False


def _is_only_called(name: str, scope: Node, made: Node) -> bool:
    callees = [
        node.callee
        for node in walk(scope)
        if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name == name
    ]
    operands = [node for node in walk(made) if isinstance(node, Name) and node.name == name]
    mentions = [node for node in walk(scope) if isinstance(node, Name) and node.name == name]
    targets = sum(
        isinstance(target, Name) and target.name == name
        for node in walk(scope) if isinstance(node, Assign) for target in node.targets
    )  # fmt: skip
    if not callees or targets > 1 or len(mentions) != len(callees) + targets + len(operands):
        return False
    inner = [node for node in walk(scope) if isinstance(node, (For, While, Comprehension)) and node is not scope]
    return not any(callee is below for node in inner for below in walk(node) for callee in callees)


def _fixes(view: FileView, made: _Made, loop: Loop, inside: tuple[Node, ...]) -> tuple[Fix, ...]:
    """Returns the fix that moves a one-line assignment from the loop's own body to the line before the loop."""
    statement = inside[1]
    if (
        isinstance(loop, Comprehension)
        or not isinstance(statement, Assign)
        or inside[-2] is not statement
        or statement not in loop.body
    ):
        return ()
    source = view.texts[made.site.path]
    span = view.span(Site(made.site.path, made.site.block, statement.site))
    at = view.span(Site(made.site.path, made.site.block, loop.site)).start
    head = source[source.rfind(b"\n", 0, at) + 1 : at]
    start = source.rfind(b"\n", 0, span.start) + 1
    end = source.find(b"\n", span.end) + 1
    text = source[span.start : span.end]
    alone = not source[start : span.start].strip() and not source[span.end : end].strip()
    if head.strip() or not alone or not end or b"\n" in text or len(loop.body) < 2:
        return ()
    path = view.path_of(made.site)
    newline = "\r\n" if source[:end].endswith(b"\r\n") else "\n"
    moved = FileEdit(path, Edit(Span(at, at), text.decode() + newline + head.decode()))
    removed = FileEdit(path, Edit(Span(start, end), ""))
    return (Fix(f"create the {made.kind} once, before the loop", (moved, removed)),)
