"""Makes every device draw its own random numbers from a key that all of them share.

A key that a map passes whole to every device (with None in `in_axes`) gives all devices the same noise, dropout masks
and samples.
Folding the device index into the key makes it different on each device; the calls do not change.

`devices: 8`

`single.py`:

```python
import jax
import jax.numpy as jnp

key = jax.random.key(0)
out = jnp.stack([jnp.ones(4) + 0.1 * jax.random.normal(jax.random.fold_in(key, index), (4,)) for index in range(8)])
```

`main.py`:

```python
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def $0augment(key, x):
    \"\"\"Adds noise.\"\"\"
    return x + 0.1 * jax.random.normal(key, x.shape)


key = jax.random.key(0)
out = augment(key, jnp.ones((8, 4)))
```

becomes

`main.py`:

```python
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def augment(key, x):
    \"\"\"Adds noise.\"\"\"
    key = jax.random.fold_in(key, jax.lax.axis_index("batch"))
    return x + 0.1 * jax.random.normal(key, x.shape)


key = jax.random.key(0)
out = augment(key, jnp.ones((8, 4)))
```
"""

from __future__ import annotations

from meshlens.axes.domain.values import Binder, Const, Seq
from meshlens.facts.nodes import Attribute, Constant, ExpressionStatement
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.reading.functions import Target, dotted_name, function_at, maps_around, reached
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order, lines_before, quoted
from meshlens.text import FileEdit, Span

_TITLE = "use different random numbers on each device"
_KEYS = ("key", "rng")


def fold_device_into_key(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on the name of a mapped function that draws random numbers with a key all devices share."""
    target = function_at(view, span)
    maps = maps_around(view, target) if target is not None else frozenset()
    if target is None or not maps or not _draws(view, target):
        return None
    names = [
        parameter.name
        for place, parameter in enumerate(target.node.function.parameters)
        if parameter.name.endswith(_KEYS) and all(_is_shared(binder, place) for binder in maps)
    ]
    if not names:
        return None
    return offered(_TITLE, lambda: _written(view, target, names, maps))


def _draws(view: FileView, target: Target) -> bool:
    """Returns whether a function draws random numbers without using the device's index."""
    named = {
        dotted_name(view, node) for one in reached(view, target) for node in walk(one) if isinstance(node, Attribute)
    }
    asks = {"jax.lax.axis_index", "jax.random.fold_in"}
    return any(name.startswith("jax.random.") for name in named) and not named & asks


def _is_shared(binder: Binder, place: int) -> bool:
    given = binder.argument("in_axes")
    if given is None or not isinstance(given.value, Seq) or given.value.open or place >= len(given.value.items):
        return False
    axis = given.value.items[place]
    return isinstance(axis, Const) and axis.value is None


def _written(view: FileView, target: Target, names: list[str], maps: frozenset[Binder]) -> tuple[FileEdit, ...]:
    axes = {name.value for binder in maps for name in binder.names}
    if len(axes) != 1 or any(binder.open for binder in maps):
        raise Obstacle("no-one-axis", f'the maps around "{target.name}" do not bind exactly one known axis name')
    axis = quoted(view, str(axes.pop()))
    spelling = Spelling(view, view.span(target.at(target.node.site)).start)
    fold, index = spelling.of("jax", "random.fold_in"), spelling.of("jax", "lax.axis_index")
    first = next((one for one in target.body if not _is_text(one)), None)
    if first is None:
        raise Obstacle("no-body", f'the body of "{target.name}" is empty')
    start = view.span(target.at(first.site)).start
    line = view.source.rfind(b"\n", 0, start) + 1
    if view.source[line:start].strip():
        raise Obstacle(
            "no-place", f'the body of "{target.name}" does not begin on its own line; move it to the next line'
        )
    lines = [f"{name} = {fold}({name}, {index}({axis}))" for name in names]
    return in_order((*import_edits(view, spelling.needed), lines_before(view, first, start, lines)))


def _is_text(statement: Node) -> bool:
    return bool(isinstance(statement, ExpressionStatement) and isinstance(statement.value, Constant))
