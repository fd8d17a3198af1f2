"""A batch says which of its rows only fill it up, but nothing reads that.

Every device must get the same number of rows, so the last batch of an evaluation is filled up, often with zeros.
A mask that is stored in the batch tells these rows from the others. If no code reads it, sums and means over the batch
include the padding rows: an accuracy divides by too many examples, and a loss is too small or too large.

The rule reports a mask such as `np.arange(size) < count` that a dictionary holds next to arrays that were filled up, if
the program sums numbers computed from these arrays and no code reads an entry, an attribute or a parameter with the
mask's name.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",))


def batches(x, size):
    for start in range(0, len(x), size):
        rows = x[start : start + size]
        yield {
            "x": np.pad(rows, ((0, size - len(rows)), (0, 0))),
            "valid": np.arange(size) < len(rows),
            #        ^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX421: nothing reads "valid", the mask of the padding rows, so \\
            #        sums over the batch include them
        }


@jax.jit
def evaluate(w, batch):
    losses = (batch["x"] @ w - 1) ** 2
    return jnp.sum(losses), losses.shape[0]


for batch in batches(np.ones((150, 4)), 64):
    evaluate(np.ones(4), jax.device_put(batch, NamedSharding(mesh, P("data"))))
```

Multiply by the mask, and count with it:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",))


def batches(x, size):
    for start in range(0, len(x), size):
        rows = x[start : start + size]
        yield {
            "x": np.pad(rows, ((0, size - len(rows)), (0, 0))),
            "valid": np.arange(size) < len(rows),
        }


@jax.jit
def evaluate(w, batch):
    losses = (batch["x"] @ w - 1) ** 2
    return jnp.sum(losses * batch["valid"]), jnp.sum(batch["valid"])


for batch in batches(np.ones((150, 4)), 64):
    evaluate(np.ones(4), jax.device_put(batch, NamedSharding(mesh, P("data"))))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.data.fillers import MASK_IN_BATCH, SUMMED_ALL
from meshlens.axes.domain.values import Site
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.facts.nodes import Attribute, Call, Constant, FunctionDef, Name, Subscript
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import Node, nodes_of_block
from meshlens.project.view import FileView

_ANY = "*"
_READS_ALL = frozenset({"values", "itemgetter", "astuple"})
"""Functions and methods that may read any entry without naming it."""
_INCLUDED = "padding rows are included here"
_READS_ONE = frozenset({"get", "pop", "getattr"})


@rule("AX421", Severity.HINT, state="preview")
def unread_mask(view: FileView) -> Iterator[Finding]:
    """Reports masks of the padding rows of a batch that no code reads, although rows of such batches are summed."""
    masks = [use for use in certain_uses(view, {MASK_IN_BATCH}) if view.is_here(use.site)]
    summed = view.solution.once_of_records("sums of filled rows", _sums_of_filled) if masks else {}
    masks = [use for use in masks if use.other in summed]
    if not masks:
        return
    read = [_names_read(view, path) for path in view.solution.facts]
    for use in {use.site: use for use in masks if all(names.isdisjoint({use.axis, _ANY}) for names in read)}.values():
        text = f'nothing reads "{use.axis}", the mask of the padding rows, so sums over the batch include them'
        site = summed[use.other]
        yield Finding(view.span(use.site), text, (), (Related(view.path_of(site), view.span(site), _INCLUDED),))


def _sums_of_filled(solution: Solution) -> dict[Site | None, Site]:
    """Returns the first sum of numbers that are computed from filled arrays, by the place where these are filled up.

    Sums with the weights of the rows are left out.
    """
    uses = [use for records in solution.by_file.values() for use in records.gradient_uses]
    summed = [use for use in uses if use.kind == SUMMED_ALL and use.context.sure]
    return {use.other: use.site for use in sorted(summed, key=lambda use: use.site, reverse=True)}


def _names_read(view: FileView, path: str) -> frozenset[str]:
    """Returns the names by which a file reads entries, attributes and arguments."""
    facts = view.solution.facts[path]
    nodes = (node for key in facts.blocks for node in nodes_of_block(view, path, key))
    return view.solution.once_of(
        ("names read", path), facts, None, lambda: frozenset([name for node in nodes for name in _read_by(node)])
    )


def _read_by(node: Node) -> Iterator[str]:
    if isinstance(node, Attribute):
        yield node.name
    elif isinstance(node, FunctionDef):
        yield from (parameter.name for parameter in node.function.parameters)
    elif isinstance(node, Subscript):
        yield from _text(node.key)
    elif isinstance(node, Call):
        name = node.callee.name if isinstance(node.callee, (Attribute, Name)) else ""
        yield from (text for _, _, value in node.arguments if name in _READS_ONE for text in _text(value))
        if name in _READS_ALL:
            yield _ANY


def _text(node: Node) -> Iterator[str]:
    if isinstance(node, Constant) and isinstance(node.value, str):
        yield node.value
