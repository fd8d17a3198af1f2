"""A sum over all shards of an array counts parts that several devices hold more than once.

`x.addressable_shards` has one entry for each device of this process, even if devices hold the same part because the
spec does not split over every axis of the mesh.
A sum over these entries counts such a part once for each copy: on 8 devices, the squared norm of a replicated array is
8 times too large.
The copies of a part have the replica IDs 0, 1, 2, …, so `replica_id == 0` selects each part once.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
weights = jax.device_put(jnp.ones((64, 64)), NamedSharding(mesh, P(None, "model")))
total = 0.0
for shard in weights.addressable_shards:
#            ^^^^^^^^^^^^^^^^^^^^^^^^^^ AX418: several devices hold the same part of this array, so the sum \\
#            counts the part several times; skip shards whose "replica_id" is not 0
    total += float(np.sum(np.square(shard.data)))
print(np.sqrt(total))
```

Skip all copies but the first:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
weights = jax.device_put(jnp.ones((64, 64)), NamedSharding(mesh, P(None, "model")))
total = 0.0
for shard in weights.addressable_shards:
    if shard.replica_id == 0:
        total += float(np.sum(np.square(shard.data)))
print(np.sqrt(total))
```

The rule is silent about programs with several processes, because the copies may be in other processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    Call,
    Comparison,
    Comprehension,
    For,
    FunctionDef,
    If,
    IfExpression,
    Name,
    Pair,
    Try,
    last_name,
)
from meshlens.project.trees import Node, path_to, walk
from meshlens.project.view import FileView

_MESSAGE = (
    "several devices hold the same part of this array, so the sum counts the part several times; skip shards whose "
    '"replica_id" is not 0'
)
_SEVERAL_PROCESSES = re.compile(rb"\bprocess_(?:index|count|allgather)\b|\bdistributed\b|\bmultihost_utils\b")
_SUMS = frozenset({"sum", "vdot", "dot", "inner", "norm", "einsum"})
_TOTALS = frozenset({"sum", "fsum"})
_THROUGH = frozenset({"list", "tuple", "array", "asarray", "stack"})
_CHOICES = (If, IfExpression, Try, Comparison)
_NUMBERS = frozenset({"len", "device_count", "local_device_count"})
"""Functions in code that may divide a sum by the number of shards."""
_COUNTS = frozenset({"size", "nbytes", "shape", "replica_id", "index", "device", "len"})
"""Names in code that counts elements, so that copies cancel in a quotient, or that tells shards apart."""


@rule("AX418", Severity.HINT, state="preview")
def copies_counted(view: FileView) -> Iterator[Finding]:
    """Reports sums over all shards of an array of which several devices certainly hold the same part."""
    found = {use.site for use in certain_uses(view, ("copies-listed",)) if _is_summed(path_to(view, use.site))}
    if not found or any(_SEVERAL_PROCESSES.search(text) for text in view.texts.values()):
        return
    for site in sorted(found):
        yield Finding(view.span(site), _MESSAGE)


def _is_summed(path: tuple[Node, ...]) -> bool:
    """Returns whether the shards at the end of a path are only added up, each of them."""
    if any(isinstance(node, Call) and last_name(node.callee) in _NUMBERS for node in walk(_function_in(path))):
        return False
    for depth, node in enumerate(path):
        if isinstance(node, Comprehension) and node.clauses[0].iterable is path[-1]:
            return _sums_all(node, path[:depth])
        if isinstance(node, For) and node.iterable is path[-1]:
            return isinstance(node.target, Name) and _adds_up(node, node.target.name)
    return False


def _function_in(path: tuple[Node, ...]) -> Node:
    """Returns the innermost function of a path; the outermost node if there is none."""
    functions = [node for node in path if isinstance(node, FunctionDef)]
    return functions[-1] if functions else next(iter(path))


def _sums_all(node: Comprehension, around: tuple[Node, ...]) -> bool:
    """Returns whether the elements of a comprehension are sums of shards, and are added up."""
    clause = next(iter(node.clauses))
    if len(node.clauses) > 1 or clause.conditions or not isinstance(clause.target, Name):
        return False
    outer = [one for one in around[::-1] if not (isinstance(one, Call) and last_name(one.callee) in _THROUGH)]
    is_total = any(isinstance(one, Call) and last_name(one.callee) in _TOTALS for one in outer[:1])
    if not is_total or isinstance(node.element, Pair) or _tells_apart(node):
        return False
    return _is_sum_of(node.element, clause.target.name)


def _adds_up(loop: For, target: str) -> bool:
    """Returns whether a loop adds up sums of all shards."""
    if any(_tells_apart(statement) for statement in loop.body):
        return False
    inner = [node for statement in loop.body for node in walk(statement)]
    return any(
        _is_sum_of(node.value, target) for node in inner if _is_addition(node) and isinstance(node, (AugAssign, Assign))
    )


def _is_addition(node: Node) -> bool:
    if isinstance(node, AugAssign):
        return node.operator == "+"
    if not isinstance(node, Assign) or not isinstance(node.value, BinaryOperation) or node.value.operator != "+":
        return False
    return any(isinstance(target, Name) and target.name == last_name(node.value.left) for target in node.targets)


def _is_sum_of(value: Node, target: str) -> bool:
    """Returns whether an expression contains a sum of the data of the loop's shard."""
    for node in walk(value):
        if isinstance(node, Call) and last_name(node.callee) in _SUMS:
            for inner in walk(node):
                is_data = isinstance(inner, Attribute) and inner.name == "data"
                if is_data and isinstance(inner, Attribute) and last_name(inner.object) == target:
                    return True
    return False


def _tells_apart(code: Node) -> bool:
    """Returns whether code chooses between shards, or counts their elements as well."""
    return any(
        isinstance(node, _CHOICES) or (isinstance(node, (Name, Attribute)) and node.name in _COUNTS)
        for node in walk(code)
    )
