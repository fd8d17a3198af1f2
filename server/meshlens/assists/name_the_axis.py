"""Adds an axis name to a map that has none, so that collectives can use the axis.

The name is the one that unbound collectives inside the map use, in any file; if there are none, a pmap gets the name
from the setting `axis-name`, or "batch".
A name that would change the program's behavior is refused. For example, code inside the map may try a name and fall
back to something else if the name is not bound; binding it would change which path runs.

`raises: NameError`

```python
import jax
import jax.numpy as jnp


def normalized(x):
    return x - jax.lax.pmean(x, axis_name="rows")


out = jax.$0vmap(normalized)(jnp.arange(8.0))
assert abs(out.mean()) < 1e-6
```

becomes

```python
import jax
import jax.numpy as jnp


def normalized(x):
    return x - jax.lax.pmean(x, axis_name="rows")


out = jax.vmap(normalized, axis_name="rows")(jnp.arange(8.0))
assert abs(out.mean()) < 1e-6
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.runs.records import AxisUse, Binding, literal_name
from meshlens.project.view import FileView
from meshlens.project.writing.new_arguments import with_argument
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.pmap import Obstacle, decorated, pmap_at
from meshlens.refactoring.maps.readable import must_be_spelled_here
from meshlens.refactoring.model import Answer, Proposal, Refused, Wishes
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import Edit, FileEdit, Span

_TITLE = "name the axis"
_DEFAULT = "batch"


def name_the_axis(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on an application of `pmap` or `vmap` without an axis name."""
    binding = pmap_at(view, span) or pmap_at(view, span, "jax.vmap")
    if binding is None or _is_named(binding):
        return None
    try:
        name = _name(view, binding, wishes)
        if name is None:
            return None
        must_be_spelled_here(view, binding)
        edits = _written(view, binding, f'"{name}"')
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return Proposal(f'{_TITLE} "{name}"', lambda: edits)


def _is_named(binding: Binding) -> bool:
    given = binding.binder.argument("axis_name")
    return given is not None and given.value != Const(None)


def _name(view: FileView, binding: Binding, wishes: Wishes) -> str | None:
    """Returns the new name; None for a vmap that needs none.

    Raises:
        Obstacle: no name fits both the collectives and the user's wish, or the name would change what other code does.
    """
    under = tuple(_under(view, binding.binder.site))
    wanted = sorted({name for use in under if (name := _unbound(use, binding)) is not None and not use.context.guarded})
    if wishes.axis_name is not None and not wanted:
        wanted = [wishes.axis_name]
    if len(wanted) > 1:
        raise Obstacle(
            "several-axes",
            f"the collectives inside this map use more than one axis: {' and '.join(map(_quoted, wanted))}",
        )
    if wishes.axis_name is not None and wanted != [wishes.axis_name]:
        message = f"the collectives inside this map use the axis {_quoted(wanted[0])}, not {_quoted(wishes.axis_name)}"
        raise Obstacle("axis-name", message)
    if not wanted and binding.binder.kind != "pmap":
        return None
    name = wanted[0] if wanted else wishes.usual_axis_name or _DEFAULT
    if not name.isprintable() or set(name) & set('"\\'):
        raise Obstacle("axis-name", "this axis name contains quotes or backslashes; add it by hand")
    for use in under:
        _must_stay(view, use, binding, name)
    return name


def _must_stay(view: FileView, use: AxisUse, binding: Binding, name: str) -> None:
    """Checks that a use keeps its meaning after a map around it gets a name."""
    if literal_name(use.name) != name:
        return
    line = view.texts[use.call.path].count(b"\n", 0, view.span(use.call).start) + 1
    where = f"line {line}" if view.is_here(use.call) else f"{use.call.path.rsplit('/', 1)[-1]}, line {line}"
    if use.context.guarded and _unbound(use, binding) is not None:
        raise Obstacle("guarded", f"{where} checks whether {_quoted(name)} is bound, which the new name would change")
    binder = use.context.env.binder_of(name)
    if binder is None and use.context.env.open:
        raise Obstacle("open-route", f"{where} may refer to an axis {_quoted(name)} that unknown callers bind")
    maps = [one.site for one in use.context.env.maps]
    if binder is not None and binder.site in maps and maps.index(binder.site) < maps.index(binding.binder.site):
        message = f"{where} uses the axis {_quoted(name)} of the outer {binder.kind}, which the new name would shadow"
        raise Obstacle("captured", message)


def _unbound(use: AxisUse, binding: Binding) -> str | None:
    """Returns the axis name of an unbound use if the given map is the innermost unnamed map around it; else None."""
    name, env = literal_name(use.name), use.context.env
    if name is None or env.open or env.binder_of(name) is not None:
        return None
    nameless = [one.site for one in env.maps if not one.names and one.kind in ("pmap", "vmap")]
    return name if nameless and nameless[-1] == binding.binder.site else None


def _under(view: FileView, site: Site) -> Iterator[AxisUse]:
    for records in view.solution.by_file.values():
        for use in records.uses:
            if any(binder.site == site for binder in use.context.env.maps):
                yield use


def _written(view: FileView, binding: Binding, name: str) -> tuple[FileEdit, ...]:
    spelling = Spelling(view, view.span(binding.binder.site).start)
    site = binding.binder.site
    span = view.span(site)
    given = binding.binder.argument("axis_name")
    if given is not None and given.site is not None:
        return (FileEdit(view.path, Edit(view.span(given.site), name)),)
    text = view.text(site)
    if decorated(view, binding) is not None and not text.endswith(")"):
        partial = f"{spelling.of('functools', 'partial')}({text}, axis_name={name})"
        return (*import_edits(view, spelling.needed), FileEdit(view.path, Edit(span, partial)))
    edit = with_argument(view, site, f"axis_name={name}")
    return (edit,) if edit is not None else ()


def _quoted(name: str) -> str:
    return f'"{name}"'
