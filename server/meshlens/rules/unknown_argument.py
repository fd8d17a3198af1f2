r"""A transformation gets an argument that it does not accept.

`pmap`, `jit`, `vmap` and `shard_map` have similar parameters with different names, and the names changed between
releases: `jit` has `static_argnums` where `pmap` has `static_broadcasted_argnums`, and `jax.shard_map` has `check_vma`
where `jax.experimental.shard_map` has `check_rep`.
Python raises `TypeError: pmap() got an unexpected keyword argument 'static_argnums'`, or, for too many positional
arguments, `TypeError: pmap() takes from 1 to 2 positional arguments but 3 were given`.
The rule goes by the project's JAX version.

```python
import jax


def power(x, n):
    return x**n


p_power = jax.pmap(power, static_argnums=(1,))
#                         ^^^^^^^^^^^^^^ AX208: jax.pmap has no argument "static_argnums"; did you mean \
#                         "static_broadcasted_argnums"?
```

becomes

```python
import jax


def power(x, n):
    return x**n


p_power = jax.pmap(power, static_broadcasted_argnums=(1,))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Arg, Site
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.history import NEWEST, keyword_change
from meshlens.jaxapi.keywords import BY_NAME_TOO, MEANT, keywords, may_take
from meshlens.project.view import FileView
from meshlens.project.writing.did_you_mean import closest
from meshlens.rules.helpers.shard_map_keywords import keywords_of_shard_maps
from meshlens.text import Edit, FileEdit, Span

_CHECKED = ("jax.jit", "jax.pmap", "jax.vmap", "jax.shard_map", "jax.experimental.shard_map.shard_map", "jax.smap")
_ALSO_CHECKED = ("jax.grad", "jax.value_and_grad", "jax.make_mesh", "jax.sharding.Mesh")


@rule("AX208", Severity.ERROR, reads="places")
def unknown_argument(view: FileView) -> Iterator[Finding]:
    """Compares the arguments of each transformation with those it accepts in the project's JAX version."""
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted in _CHECKED or call.dotted in _ALSO_CHECKED:
            places[call.call].append(call)
    seen: set[tuple[Site, str]] = set()
    for calls in places.values():
        labels = {arg.label for call in calls for arg in call.args if arg.label not in (None, "*", "**")}
        for label in sorted(label for label in labels if label is not None):
            wrong = certain((call, call.context, _is_unknown(view, call, label)) for call in calls)
            arg = next((arg for arg in wrong.args if arg.label == label), None) if wrong is not None else None
            if wrong is None or arg is None or arg.whole is None or not view.is_here(arg.whole):
                continue
            if (arg.whole, label) not in seen:
                seen.add((arg.whole, label))
                yield _unknown(view, wrong, arg, label)
        known = view.jax_version <= NEWEST
        surplus = certain((call, call.context, known and _too_many(call) > 0) for call in calls)
        if surplus is not None:
            yield _surplus(view, surplus)
    yield from keywords_of_shard_maps(view)


def _is_unknown(view: FileView, call: ApiCall, label: str) -> bool | None:
    if call.guarded or (call.written, label) in BY_NAME_TOO or all(arg.label != label for arg in call.args):
        return False
    return not may_take(call.dotted, label, view.jax_version)


def _unknown(view: FileView, call: ApiCall, arg: Arg, label: str) -> Finding:
    assert arg.whole is not None
    whole = view.span(arg.whole)
    written = view.text(arg.whole).startswith(label)
    span = Span(whole.start, whole.start + len(label.encode())) if written else whole
    change = keyword_change(call.dotted, label)
    accepted = keywords(call.dotted, view.jax_version) or frozenset()
    meant = MEANT.get((call.dotted, label))
    given = {other.label for other in call.args}
    if change is not None and change.rewrite == "rename":
        meant = change.replacement
    elif meant is None and change is None:
        meant = closest(label, sorted(accepted - given))
    message = f'{call.written or call.dotted} has no argument "{label}"'
    if label.endswith("names") and meant is not None and meant.endswith("nums"):
        return Finding(span, f'{message}, only "{meant}"')
    if meant in accepted and meant not in given:
        fix = Fix(f'rename the argument to "{meant}"', (FileEdit(view.path, Edit(span, str(meant))),))
        return Finding(span, f'{message}; did you mean "{meant}"?', (fix,) if written else ())
    if change is not None and change.rewrite == "drop" and written:
        return Finding(span, message, _drop(view, whole))
    return Finding(span, f"{message}; {change.note}" if change is not None and change.note else message)


def _drop(view: FileView, whole: Span) -> tuple[Fix, ...]:
    """Removes an argument and the comma before it."""
    before = view.source[: whole.start].rstrip()
    if not before.endswith(b","):
        return ()
    edit = Edit(Span(len(before) - 1, whole.end), "")
    return (Fix("remove the argument", (FileEdit(view.path, edit),)),)


def _too_many(call: ApiCall) -> int:
    row = BINDERS.get(call.dotted)
    if row is None or call.guarded or any(arg.label == "*" for arg in call.args):
        return 0
    return sum(arg.label is None for arg in call.args) - len(row.parameters)


def _surplus(view: FileView, call: ApiCall) -> Finding:
    row = BINDERS[call.dotted]
    positional = [arg for arg in call.args if arg.label is None]
    surplus = positional[len(row.parameters) :]
    first = surplus[0].site
    span = view.span(first if first is not None and view.is_here(first) else call.call)
    takes = counted(len(row.parameters), "positional argument")
    message = f"{call.written or call.dotted} takes {takes}, but {len(positional)} were given"
    return Finding(span, message, _by_keyword(view, call, surplus))


def _by_keyword(view: FileView, call: ApiCall, surplus: list[Arg]) -> tuple[Fix, ...]:
    """Adds keywords to the surplus arguments, in the order in which the map usually accepts them."""
    order = BINDERS[call.dotted].keywords
    given = {arg.label for arg in call.args}
    if len(surplus) > 3 or any(name in given for name in order[: len(surplus)]):
        return ()
    edits = []
    for name, arg in zip(order, surplus, strict=False):
        if arg.site is None or arg.whole is None or not view.is_here(arg.site):
            return ()
        if view.span(arg.site) != view.span(arg.whole):
            return ()
        at = view.span(arg.site).start
        edits.append(FileEdit(view.path, Edit(Span(at, at), f"{name}=")))
    return (Fix("pass by keyword", tuple(edits)),)
