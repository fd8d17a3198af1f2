"""Introduces a constant for an axis name that is written in several places.

Every string that certainly names this axis is replaced, in the file itself and in files that import it.
If the name already has a constant, that constant is used. Other strings with the same text are left alone.

```python
import jax
import jax.numpy as jnp


def normalized(x, axis_name="batch"):
    return x - jax.lax.pmean(x, axis_name)


labels = {"batch": 8}
out = jax.pmap(normalized, axis_name="$0batch")(jnp.arange(8.0))
total = jax.pmap(lambda x: jax.lax.psum(x, "batch"), "batch")(jnp.arange(8.0))
```

becomes

```python
import jax
import jax.numpy as jnp

AXIS = "batch"


def normalized(x, axis_name=AXIS):
    return x - jax.lax.pmean(x, axis_name)


labels = {"batch": 8}
out = jax.pmap(normalized, axis_name=AXIS)(jnp.arange(8.0))
total = jax.pmap(lambda x: jax.lax.psum(x, "batch"), "batch")(jnp.arange(8.0))
```
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Assign, Constant, FString, Match, Name, Opaque
from meshlens.project.axis_symbols import AxisSymbol, axis_symbols
from meshlens.project.trees import blocks_at, names_bound, nodes_at, path_to, tree
from meshlens.project.view import FileView
from meshlens.project.views import view_of
from meshlens.project.writing.literals import is_string
from meshlens.project.writing.new_imports import is_written
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.reading.importing import imported_by, reached_from
from meshlens.refactoring.writing.placing import behind_imports
from meshlens.refactoring.writing.spelling import fresh
from meshlens.refactoring.writing.writing import in_order
from meshlens.text import Edit, FileEdit, Span

_TITLE = "extract the axis name"


def extract_axis_name(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a string that names an axis."""
    site = _string_at(view, span)
    if site is None:
        return None
    symbols = axis_symbols(view.solution)
    found = [node for node in symbols.at.get(site, ()) if node[0] == site]
    if not found or _constant(view, site) is not None:
        return None
    symbol = symbols.symbol(found[0])
    if symbol.uses and not symbol.binders:
        # An axis name that no map binds is more likely a typo than a name worth a constant.
        return None
    title = f'{_TITLE} "{symbol.name}" to a constant'
    return offered(title, lambda: _written(view, symbol))


def _string_at(view: FileView, span: Span) -> Site | None:
    """Returns the string literal at a cursor or selection."""
    path = str(view.path)
    for key in blocks_at(view, span):
        for node in nodes_at(view, path, key, span):
            if isinstance(node, Constant) and isinstance(node.value, str):
                site = Site(path, key, node.site)
                return site if is_string(view.text(site)) else None
    return None


def _written(view: FileView, symbol: AxisSymbol) -> tuple[FileEdit, ...]:
    same = [one for one in axis_symbols(view.solution).named(symbol.name) if one.literals & symbol.literals]
    literals = {site for one in same for site in one.literals if _is_plain(view, site)}
    here = sorted((site for site in literals if view.is_here(site)), key=view.span)
    name, after, edits = _constant_for(view, symbol, here)
    for site in here:
        if _constant(view, site) is None and view.span(site).start >= after:
            edits.append(FileEdit(view.path, Edit(view.span(site), name)))
    for path in sorted({site.path for site in literals} - {str(view.path)}):
        edits += _elsewhere(view, path, name, [site for site in literals if site.path == path])
    return in_order(edits)


def _constant_for(view: FileView, symbol: AxisSymbol, here: list[Site]) -> tuple[str, int, list[FileEdit]]:
    """Returns the name of the constant, its position, and the edit that creates it if it does not exist yet."""
    known = [(name, view.span(site).end) for site in here if (name := _constant(view, site)) is not None]
    known += _constants_above(view, symbol.name, here)
    if known:
        return (*known[0], [])
    name = _name(view, symbol)
    at, blank = behind_imports(view)
    text = f'{name} = "{symbol.name}"'
    if not at:
        return name, 0, [FileEdit(view.path, Edit(Span(0, 0), f"{text}\n\n"))]
    if at > view.span(here[0]).start:
        raise Obstacle("no-place", "the axis name is on the same line as an import; put it on its own line")
    return name, at, [FileEdit(view.path, Edit(Span(at, at), f"\n\n{text}" + "\n" * max(1 - blank, 0)))]


def _constants_above(view: FileView, value: str, here: list[Site]) -> list[tuple[str, int]]:
    """Returns the constants with this value that are defined above the first literal, and their positions."""
    path = str(view.path)
    top = {Site(path, key, one.site): one for key in view.facts.top if isinstance(one := tree(view, path, key), Assign)}
    names = Counter(name for one in top.values() for name in names_bound((one,)))
    return [
        (target.name, view.span(site).end)
        for site, one in top.items()
        for target in one.targets
        if isinstance(target, Name) and target.name.isupper() and names[target.name] == 1
        if isinstance(one.value, Constant) and one.value.value == value
        if here and view.span(site).end <= view.span(here[0]).start
    ]


def _name(view: FileView, symbol: AxisSymbol) -> str:
    """Returns `AXIS`, or a name such as `BATCH_AXIS` if a file has several axes or the plain name is taken."""
    symbols = axis_symbols(view.solution)
    names = {node[1] for site, said in symbols.at.items() if site.path == str(view.path) for node in said}
    word = re.sub(r"\W+", "_", symbol.name).strip("_").upper()
    word = word if word.endswith("AXIS") else f"{word}_AXIS"
    long = word if word.isidentifier() else "AXIS_NAME"
    if len(names) == 1 and not is_written(view, "AXIS"):
        return "AXIS"
    return fresh(view, long)


def _is_plain(view: FileView, site: Site) -> bool:
    """Returns whether a variable can replace a literal."""
    if not is_string(view.text(site)):
        return False
    path = path_to(view, site)
    return (
        bool(path)
        and isinstance(path[-1], Constant)
        and not any(isinstance(node, (FString, Opaque, Match)) for node in path)
    )


def _constant(view: FileView, site: Site) -> str | None:
    """Returns the name of the module constant whose value is the literal at a site; None if there is none."""
    facts = view.solution.facts[site.path]
    block = facts.blocks.get(site.block)
    if block is None or not isinstance(block.header, Assign):
        return None
    path = path_to(view, site)
    if len(path) == 2 and isinstance(path[0], Assign) and site.block in facts.top:
        targets = path[0].targets
        if len(targets) == 1 and isinstance(targets[0], Name):
            return str(targets[0].name)
    return None


def _elsewhere(view: FileView, path: str, name: str, sites: list[Site]) -> Iterator[FileEdit]:
    """Yields the edits to another file that imports this one, if that import can provide the constant."""
    home = str(view.path)
    other = view_of(view, path)
    found = [one for one in imported_by(view, path) if one.path == home]
    if not found or path in reached_from(view, home) or any(_constant(view, site) is not None for site in sites):
        return
    module = next((one.name for one in found if one.name is not None), None)
    text = name
    if module is not None:
        text = f"{module}.{name}"
    elif is_written(other, name) or found[0].first is None:
        return
    else:
        start = view.span(found[0].first).start
        yield FileEdit(other.path, Edit(Span(start, start), f"{name}, "))
    start, _ = behind_imports(other)
    for site in sites:
        if view.span(site).start >= start:
            yield FileEdit(other.path, Edit(view.span(site), text))
