"""A map is called without a function to map.

`pmap` and `vmap` need the function as their first argument; unlike `jit` (since JAX 0.8.1) and `shard_map`, they are
not decorator factories.
`@jax.pmap(axis_name="batch")` raises `TypeError: pmap() missing 1 required positional argument: 'fun'`, and
`jax.pmap(step(x))`, which passes a result instead of a function, raises `TypeError: Expected a callable value`.

```python
from functools import partial

import jax


@jax.pmap(axis_name="batch")
#^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX207: pmap needs a function as its first argument; use functools.partial(pmap, …) as \\
# the decorator
def step(x):
    return jax.lax.pmean(x, "batch")
```

becomes

```python
from functools import partial

import jax


@partial(jax.pmap, axis_name="batch")
def step(x):
    return jax.lax.pmean(x, "batch")
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import is_array
from meshlens.axes.domain.values import Arg, Const, Dict, Seq, Site
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.binders import BINDERS
from meshlens.project.view import FileView
from meshlens.project.writing.literals import is_string
from meshlens.project.writing.new_imports import spelled_or_imported
from meshlens.text import Edit, FileEdit, Span


@rule("AX207", Severity.ERROR, reads="places")
def map_without_function(view: FileView) -> Iterator[Finding]:
    """Checks the operand of every `pmap`, `vmap` and `shard_map`."""
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted in BINDERS:
            places[call.call].append(call)
    for calls in places.values():
        missing = certain((call, call.context, _lacks_operand(call)) for call in calls)
        if missing is not None:
            yield _missing(view, missing)
            continue
        found = certain((call, call.context, _is_no_function(view, call)) for call in calls)
        if found is not None:
            yield _no_function(view, found)


def _operand(call: ApiCall) -> Arg | None:
    row = BINDERS[call.dotted]
    return next((arg for arg in call.args if arg.label is None or arg.label == row.operand), None)


def _lacks_operand(call: ApiCall) -> bool | None:
    row = BINDERS[call.dotted]
    if row.factory or row.kind not in ("pmap", "vmap", "shard_map") or not row.operand or call.guarded:
        return False
    if any(arg.label in ("*", "**") for arg in call.args):
        return None
    return _operand(call) is None


def _is_no_function(view: FileView, call: ApiCall) -> bool | None:
    row = BINDERS[call.dotted]
    operand = _operand(call)
    if row.kind not in ("pmap", "vmap", "shard_map") or call.guarded or operand is None or operand.site is None:
        return None
    if not view.is_here(operand.site):
        return None
    text = view.text(operand.site)
    if isinstance(operand.value, Const) and isinstance(operand.value.value, (str, int, float)):
        return is_string(text) or text.isdigit()
    if isinstance(operand.value, (Seq, Dict)):
        return text[:1] in "([{" and view.span(operand.site) != view.span(call.call)
    return is_array(operand.value) and text.endswith(")") and not text.startswith("(")


def _missing(view: FileView, call: ApiCall) -> Finding:
    name = call.dotted.rsplit(".", 1)[-1]
    more = ""
    if call.decorator:
        more = f"; use functools.partial({name}, …) as the decorator" if call.args else "; drop the parentheses"
    return Finding(view.span(call.call), f"{name} needs a function as its first argument{more}", _hold(view, call))


def _hold(view: FileView, call: ApiCall) -> tuple[Fix, ...]:
    """Wraps the call in `functools.partial`, or drops the empty parentheses of a decorator."""
    callee, whole = view.span(call.callee), view.span(call.call)
    if not view.is_here(call.callee) or callee.start != whole.start:
        return ()
    behind = view.source[callee.end : whole.end].decode("utf-8", "replace")
    if not behind.startswith("(") or not behind.endswith(")"):
        return ()
    if not behind[1:-1].strip():
        if not call.decorator:
            return ()
        edit = FileEdit(view.path, Edit(Span(callee.end, whole.end), ""))
        return (Fix("drop the parentheses", (edit,)),)
    partial, imports = spelled_or_imported(view, "functools", "partial")
    comma = "," if behind[1] == "\n" else ", "
    edits = (
        FileEdit(view.path, Edit(Span(callee.start, callee.start), f"{partial}(")),
        FileEdit(view.path, Edit(Span(callee.end, callee.end + 1), comma)),
    )
    return (Fix("wrap in functools.partial", (*edits, *imports)),)


def _no_function(view: FileView, call: ApiCall) -> Finding:
    name = call.dotted.rsplit(".", 1)[-1]
    operand = _operand(call)
    assert operand is not None and operand.site is not None
    text, span = view.text(operand.site), view.span(operand.site)
    if not text.endswith(")") or text.startswith("("):
        fixes = _name_it(view, call, operand) if is_string(text) and name in ("pmap", "vmap") else ()
        return Finding(span, f"{name} needs a function as its first argument, but {text} is not one", fixes)
    function = text[: text.index("(")]
    edit = FileEdit(view.path, Edit(span, function))
    why = "the arguments then have to be passed to the mapped function"
    fix = Fix(f'map "{function}" itself', (edit,), "unsafe", why)
    return Finding(span, f"{name} needs a function, but this is the result of {function}", (fix,))


def _name_it(view: FileView, call: ApiCall, operand: Arg) -> tuple[Fix, ...]:
    """Makes the string in `@jax.pmap("batch")` the axis name."""
    if not call.decorator or operand.label is not None or operand.site is None:
        return ()
    held = _hold(view, call)
    at = view.span(operand.site).start
    name = FileEdit(view.path, Edit(Span(at, at), "axis_name="))
    return tuple(Fix(fix.title, (*fix.edits, name)) for fix in held)
