"""An array is read after a call that took it over.

`donate_argnums` and `donate_argnames` let `jit` and `pmap` write results into the memory of arguments, which are
deleted by that: `RuntimeError: Array has been deleted with shape=float32[4].`
Read what the call returns, read the argument before the call, or do not donate it.
A NumPy array is copied to the devices and stays as it is, so arguments are reported only if they come from JAX.

```python
import jax
import jax.numpy as jnp


def step(state, x):
    return state + x


step = jax.jit(step, donate_argnums=0)


def train(batches):
    state = jnp.zeros(4)
    for x in batches:
        new = step(state, x)
        print(jnp.abs(new - state).max())
        #                   ^^^^^ AX212: "state" was donated, so its arrays are deleted
        state = new
    return state


train([jnp.ones(4), jnp.ones(4)])
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.jax.compiled_calls import DONATES
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.reading_after import key_of, read_after
from meshlens.checking.registry import rule
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    DictDisplay,
    FunctionDef,
    IfExpression,
    Lambda,
    ListDisplay,
    Name,
    Return,
    Subscript,
    TupleDisplay,
)
from meshlens.project.trees import Node, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled

_LIBRARIES = ("jax.", "flax.", "optax.", "haiku.", "equinox.")
_MAYBE_NUMPY = frozenset({"jax.device_get", "jax.eval_shape", "flax.training.common_utils.shard"})
_TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_Above: TypeAlias = Mapping[tuple[str, str], bool]
_NOTHING: _Above = {}
_DEEPEST = 4
"""Maximum number of variables and functions that are followed."""


@rule("AX212", Severity.WARNING, reads="workspace")
def used_after_donation(view: FileView) -> Iterator[Finding]:
    """Follows donated variables from each call to the next place that reads them."""
    calls = [call for call in view.records.calls if call.dotted == DONATES and view.is_here(call.call)]
    if not calls:
        return
    sources = _Sources(view)
    seen: set[Site] = set()
    for call in calls:
        context = call.context
        if call.guarded or not context.sure or context.guarded or context.expected or call.call in seen:
            continue
        seen.add(call.call)
        yield from _of_call(view, sources, call)


def _of_call(view: FileView, sources: _Sources, call: ApiCall) -> Iterator[Finding]:
    path = path_to(view, call.call)
    function = next((node for node in path if isinstance(node, FunctionDef)), path[0] if path else None)
    scope = _scope_of(call.call.path, call.call.block, function)
    for arg in call.args:
        node = path_to(view, arg.site)[-1:] if arg.site is not None and not isinstance(arg.value, Const) else ()
        key = key_of(node[0]) if node else None
        if key is None or not sources.is_of_jax(scope, node[0]):
            continue
        found = read_after(path, key)
        if found is not None:
            place = Related(view.path, view.span(call.call), "donated here")
            text = f'"{key_of(found)}" was donated, so its arrays are deleted'
            yield Finding(view.span(Site(call.call.path, call.call.block, found.site)), text, (), (place,))
            return


class _Scope(NamedTuple):
    """The function that an expression is in.

    Attributes:
        path, block: the block of its sites.
        values: the expressions that it assigns to each variable.
    """

    path: str
    block: str
    values: dict[str, list[Node]]


def _scope_of(path: str, block: str, function: Node | None) -> _Scope:
    """Returns the scope of a function's body."""
    values: dict[str, list[Node]] = {}
    for node in walk(function) if function is not None else ():
        if isinstance(node, Assign):
            for target in node.targets:
                for key, value in _assigned(target, node.value):
                    values.setdefault(key, []).append(value)
    return _Scope(path, block, values)


def _assigned(target: Node, value: Node) -> Iterator[tuple[str, Node]]:
    displays = (TupleDisplay, ListDisplay)
    if isinstance(target, displays) and isinstance(value, displays) and len(target.items) == len(value.items):
        for one, other in zip(target.items, value.items, strict=True):
            yield from _assigned(one, other)
        return
    for below in walk(target):
        key = key_of(below)
        if key is not None:
            yield key, value


class _Sources:
    """The calls of a workspace that return arrays of JAX."""

    def __init__(self, view: FileView) -> None:
        self._view = view
        self._made: dict[Site, str] = {}
        self._spelled: dict[str, str] = {}
        for records in view.solution.by_file.values():
            for call in records.calls:
                if call.dotted.startswith(_LIBRARIES):
                    self._made[call.call] = call.dotted
            self._made.update({call.call: "" for call in records.mapped_calls})
        for module in ("jax.numpy", "jax.random", "jax.nn", "jax.scipy", "jax.tree"):
            name = spelled(view, f"{module}.x")
            if name is not None:
                self._spelled[name.removesuffix("x")] = module

    def is_of_jax(self, scope: _Scope, node: Node, above: _Above = _NOTHING) -> bool:
        """Returns whether an expression certainly holds arrays that JAX made.

        Args:
            scope: the function that it is in.
            node: the expression.
            above: whether the variables and functions whose values it is part of are taken to hold such arrays.
        """
        key = key_of(node)
        if key is not None and (scope.block, key) in above:
            return above[scope.block, key]
        if len(above) > _DEEPEST:
            return False
        if key is not None and key in scope.values:
            # What a variable gets from itself changes nothing, but it has to get something else, too.
            values = scope.values[key]
            rest, first = ({**above, (scope.block, key): taken} for taken in (True, False))
            return all(self.is_of_jax(scope, value, rest) for value in values) and any(
                self.is_of_jax(scope, value, first) for value in values
            )
        if isinstance(node, Call):
            return self._is_call_of_jax(scope, node, above)
        if isinstance(node, IfExpression):
            return self._all(scope, (node.then, node.otherwise), above)
        if isinstance(node, BinaryOperation):
            return self.is_of_jax(scope, node.left, above) or self.is_of_jax(scope, node.right, above)
        if isinstance(node, (TupleDisplay, ListDisplay)):
            return self._all(scope, node.items, above)
        if isinstance(node, DictDisplay):
            return self._all(scope, [pair.value for pair in node.pairs], above)
        return isinstance(node, Subscript) and self.is_of_jax(scope, node.object, above)

    def _all(self, scope: _Scope, nodes: Iterable[Node], above: _Above) -> bool:
        given = [node for node in nodes if not isinstance(node, Constant)]
        return bool(given) and all(self.is_of_jax(scope, node, above) for node in given)

    def _is_call_of_jax(self, scope: _Scope, node: Call, above: _Above) -> bool:
        dotted = self._made.get(Site(scope.path, scope.block, node.site))
        if dotted is None:
            dotted = self._named(scope, node.callee)
        if dotted is not None and dotted in _TREE_MAPS:
            return bool(node.arguments) and self._maps_to_jax(scope, node.arguments[0].value, above)
        if dotted is not None:
            return dotted not in _MAYBE_NUMPY
        if isinstance(node.callee, Attribute) and self.is_of_jax(scope, node.callee.object, above):
            return True
        return isinstance(node.callee, Name) and self._returns_arrays_of_jax(scope, node.callee.name, above)

    def _maps_to_jax(self, scope: _Scope, function: Node, above: _Above) -> bool:
        if isinstance(function, Lambda):
            return self.is_of_jax(scope, function.body, above)
        return self._named(scope, function) is not None

    def _named(self, scope: _Scope, callee: Node) -> str | None:
        """Returns the name of a function of JAX as this file spells it; other files are not read."""
        if scope.path != str(self._view.path) or key_of(callee) is None:
            return None
        text = self._view.text(Site(scope.path, scope.block, callee.site))
        for prefix, module in self._spelled.items():
            if text.startswith(prefix):
                return f"{module}.{text.removeprefix(prefix)}"
        return None

    def _returns_arrays_of_jax(self, caller: _Scope, name: str, above: _Above) -> bool:
        """Returns whether a top-level function of the same file returns arrays of JAX and has no decorator."""
        found = tree(self._view, caller.path, name) if name not in caller.values else None
        if not isinstance(found, FunctionDef) or found.function.flags or found.function.decorators:
            return False
        scope, inside = _scope_of(caller.path, name, found), {**above, (name, ""): False}
        returned = [node.value for node in walk(found) if isinstance(node, Return)]
        return bool(returned) and all(value is not None and self.is_of_jax(scope, value, inside) for value in returned)
