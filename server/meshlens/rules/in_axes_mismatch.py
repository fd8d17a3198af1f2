"""`in_axes` or `out_axes` does not fit the arguments or results, or has a form that the map does not accept.

If `in_axes` is a tuple, it needs one entry for each positional argument of the call; keyword arguments and omitted
defaults do not count.
Otherwise, `pmap` raises `ValueError: pytree structure error: different lengths of tuple at key path: pmap in_axes`, and
`vmap` raises `ValueError: vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional
arguments`.
The mapped axes of all arguments must have the same size; otherwise, the error is `vmap got inconsistent sizes for array
axes to be mapped`.
Under `pmap`, a list raises `ValueError: pytree structure error: different types at key path pmap in_axes`;
a bool, float or string raises a `TypeError`.
A negative axis is worse: since JAX 0.8, `pmap` accepts it but returns a result of the wrong shape.

```python
import jax
import jax.numpy as jnp


def forward(params, key, x):
    return x @ params + jax.random.normal(key, ())


p_forward = jax.pmap(forward, in_axes=(None, 0))
#                                     ^^^^^^^^^ AX205: in_axes has 2 entries, but the call passes 3 arguments
print(p_forward(jnp.ones(3), jax.random.split(jax.random.key(0), 8), jnp.ones((8, 2, 3))))
```

becomes

```python
import jax
import jax.numpy as jnp


def forward(params, key, x):
    return x @ params + jax.random.normal(key, ())


p_forward = jax.pmap(forward, in_axes=(None, 0, 0))
print(p_forward(jnp.ones(3), jax.random.split(jax.random.key(0), 8), jnp.ones((8, 2, 3))))
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from meshlens.axes.jax.mapping import name_of
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.axis_entries import badly_written
from meshlens.rules.helpers.axis_sizes import unlike_sizes
from meshlens.rules.helpers.axis_structures import unlike_values
from meshlens.rules.helpers.entries import with_entry
from meshlens.rules.helpers.miscounts import Miscount, explained, keyword_arguments, miscounts, place_of_miscount
from meshlens.rules.helpers.plain_objects import mapped_by_vmap
from meshlens.rules.helpers.static import static_places
from meshlens.text import Edit, FileEdit, Span

_MAPS = frozenset({"jax.pmap", "jax.vmap"})


@rule("AX205", Severity.ERROR, reads="places")
def in_axes_mismatch(view: FileView) -> Iterator[Finding]:
    """Compares the axes of each `pmap` and `vmap` with its calls, its function and the results."""
    seen: set[Span] = set()
    values = (unlike_values(view, _MAPS), unlike_sizes(view, _MAPS), mapped_by_vmap(view))
    for finding in chain(_counted_wrong(view), badly_written(view, _MAPS), *values):
        if finding.span not in seen:
            seen.add(finding.span)
            yield finding


def _counted_wrong(view: FileView) -> Iterator[Finding]:
    for miscount in miscounts(view, _MAPS, "in_axes"):
        by_keyword = _given_by_keyword(view, miscount)
        if by_keyword is not None:
            yield by_keyword
            continue
        place = place_of_miscount(view, miscount, "in_axes")
        if place is None:
            continue
        site, related = place
        message = explained(miscount, "in_axes", name_of(miscount.binder.operand))
        fixes = () if miscount.some else _entry_added(view, miscount)
        yield Finding(view.span(site), message, fixes, related)


def _given_by_keyword(view: FileView, miscount: Miscount) -> Finding | None:
    """Returns a finding at the first keyword argument, if the missing positional arguments are passed by keyword."""
    call = miscount.call
    keywords = keyword_arguments(call) if call is not None else ()
    if call is None or miscount.arguments + len(keywords) != miscount.entries or keywords[0].whole is None:
        return None
    if any(arg.whole is None or not view.is_here(arg.whole) for arg in keywords):
        return None
    entries, passes = counted(miscount.entries, "entry", "entries"), counted(miscount.arguments, "argument")
    message = f"in_axes has {entries}, but the call passes {passes} by position; keyword arguments do not count"
    return Finding(view.span(keywords[0].whole), message, _by_position(view, miscount))


def _by_position(view: FileView, miscount: Miscount) -> tuple[Fix, ...]:
    """Removes the keywords that name the next parameters, in order."""
    assert miscount.call is not None
    names = [binding.parameters for binding in view.records.bindings if binding.binder.site == miscount.binder.site]
    parameters = [name for name, how, _ in names[0] or () if how == "any"] if names and names[0] else []
    keywords = keyword_arguments(miscount.call)
    if [arg.label for arg in keywords] != parameters[miscount.arguments : miscount.entries]:
        return ()
    edits = []
    for arg in keywords:
        assert arg.whole is not None and arg.site is not None
        edits.append(FileEdit(view.path, Edit(Span(view.span(arg.whole).start, view.span(arg.site).start), "")))
    return (Fix("pass by position", tuple(edits)),)


def _entry_added(view: FileView, miscount: Miscount) -> tuple[Fix, ...]:
    given = miscount.binder.argument("in_axes")
    site = given.site if given is not None else None
    if site is None or miscount.call is None:
        return ()
    statics = static_places(miscount.binder) if canonical(miscount.binder.dotted) == "jax.pmap" else ()
    if len(statics) == 1 and miscount.entries + 1 == miscount.arguments:
        edits = with_entry(view, site, statics[0], "None")
        return (Fix("add an entry for the static argument", edits),) if edits else ()
    if miscount.entries + 1 == miscount.arguments:
        edits = with_entry(view, site, miscount.entries, "0")
        why = "the argument may be meant to be replicated (None)"
        return (Fix("map the last argument over axis 0", edits, "suggestion", why),) if edits else ()
    return ()
