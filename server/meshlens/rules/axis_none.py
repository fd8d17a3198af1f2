"""A collective gets `None` as its axis name.

`None` is not an axis name, not even inside a `pmap` without an `axis_name`: tracing fails with `NameError: Found an
unbound axis name: None`, or, inside a checked `shard_map`, with an `AssertionError` without a message.
If an axis parameter may be `None`, test it before calling the collective.

```python
import jax
import jax.numpy as jnp


def mean_loss(losses, axis_name=None):
    return jax.lax.pmean(losses.mean(), axis_name)
    #                                   ^^^^^^^^^ AX105: axis_name is None here, which is not an axis name


@jax.jit
def evaluate(losses):
    return mean_loss(losses)


print(evaluate(jnp.ones(8)))
```

becomes

```python
import jax
import jax.numpy as jnp


def mean_loss(losses, axis_name=None):
    return losses.mean() if axis_name is None else jax.lax.pmean(losses.mean(), axis_name)


@jax.jit
def evaluate(losses):
    return mean_loss(losses)


print(evaluate(jnp.ones(8)))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.runs.records import AxisUse
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.places import route_places
from meshlens.checking.registry import rule
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit

_REFUSE_NONE = frozenset(row.name for row in COLLECTIVES.values() if row.none == "error")
_LEAVE_ONE_VALUE = frozenset({"psum", "pmean", "pmax", "pmin"})


@rule("AX105", Severity.ERROR, reads="places")
def axis_none(view: FileView) -> Iterator[Finding]:
    """Reports each collective that a certain, unconditional route reaches with None as its axis."""
    by_call: dict[Site, list[AxisUse]] = defaultdict(list)
    for use in view.records.uses:
        if use.kind in _REFUSE_NONE and not use.context.skip:
            by_call[use.call].append(use)
    for uses in by_call.values():
        failing = [use for use in uses if _fails(view, use)]
        others = [use for use in uses if not _is_none(use)]
        if others:
            failing = [use for use in failing if not use.context.remote]
        if failing:
            use = min(failing, key=lambda use: len(use.context.route))
            finding = _finding(view, use, bool(others))
            if finding is not None:
                yield finding


def _is_none(use: AxisUse) -> bool:
    return isinstance(use.name, Const) and use.name.value is None


def _fails(view: FileView, use: AxisUse) -> bool:
    context = use.context
    if not _is_none(use) or use.axis is None or not context.sure:
        return False
    if context.guarded or context.expected or context.conditional:
        return False
    return _came_as_argument(use) or _is_literal(view, use) or _runs_as_program(use)


def _came_as_argument(use: AxisUse) -> bool:
    return isinstance(use.name, Const) and use.name.via is not None


def _runs_as_program(use: AxisUse) -> bool:
    """Returns whether the route begins at module level; elsewhere, an attribute or global may have been replaced."""
    return all(step.how != "start" for step in use.context.route)


def _is_literal(view: FileView, use: AxisUse) -> bool:
    origin = use.name.origin if isinstance(use.name, Const) else None
    axis = use.axis
    if origin is None or axis is None or origin.path != axis.path:
        return False
    return view.span(axis).contains(view.span(origin))


def _finding(view: FileView, use: AxisUse, elsewhere: bool) -> Finding | None:
    axis = use.axis
    if axis is None:
        return None
    text = view.text(axis)
    route = route_places(view, use.context)
    if not elsewhere:
        subject = f"{use.kind} is passed None" if text == "None" else f"{text} is None here"
        return Finding(view.span(axis), f"{subject}, which is not an axis name", _fixes(view, use, axis, text), route)
    site = _where_given(use)
    if site is None or not view.is_here(site):
        return None
    related = Related(view.path_of(axis), view.span(axis), f"{use.kind} gets {text} as its axis name here")
    message = f"{use.kind} gets None as its axis name on this call path, because {text} is None"
    return Finding(view.span(site), message, (), (*route, related))


def _where_given(use: AxisUse) -> Site | None:
    """Returns the argument that is None, or the call that leaves it at its default."""
    name = use.name
    if not isinstance(name, Const):
        return None
    if name.via is None:
        return name.origin
    if name.via != name.origin or not _is_default(use, name.via):
        return name.via
    calls = [step.site for step in use.context.route if step.how == "call"]
    return calls[-1] if calls else None


def _is_default(use: AxisUse, site: Site) -> bool:
    function = use.context.function
    return function is not None and site.block == function.block and site.path == function.path


def _fixes(view: FileView, use: AxisUse, axis: Site, text: str) -> tuple[Fix, ...]:
    operand = dict(use.arguments).get("x")
    if use.kind not in _LEAVE_ONE_VALUE or operand is None or operand.site is None or "\n" in view.text(use.call):
        return ()
    if not all(part.isidentifier() for part in text.split(".")) or text == "None":
        return ()
    call = view.text(use.call)
    guarded = f"{view.text(operand.site)} if {text} is None else {call}"
    span = view.span(use.call)
    if not _stands_alone(view, use.call):
        guarded = f"({guarded})"
    edit = FileEdit(view.path_of(use.call), Edit(span, guarded))
    why = "the caller may need to pass an axis name instead"
    return (Fix(f"skip the {use.kind} if {text} is None", (edit,), "unsafe", why),)


def _stands_alone(view: FileView, site: Site) -> bool:
    """Returns whether an expression is the whole value of a `return` or an assignment."""
    span = view.span(site)
    source = view.texts[site.path]
    line = source[source.rfind(b"\n", 0, span.start) + 1 : span.start].rstrip()
    rest = source[span.end :].split(b"\n", 1)[0].strip()
    assigns = line.endswith(b"=") and not line.endswith((b"==", b"!=", b"<=", b">=")) and b"(" not in line
    return rest in (b"",) and (line.strip() == b"return" or assigns)
