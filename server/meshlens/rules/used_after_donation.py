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

from collections.abc import Iterator

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.jax.compiled_calls import DONATES
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.reading_after import key_of, read_after
from meshlens.checking.registry import rule
from meshlens.facts.nodes import Assign, Call, FunctionDef
from meshlens.project.trees import Node, path_to, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled

_LIBRARIES = ("jax.", "flax.", "optax.", "haiku.", "equinox.")


@rule("AX212", Severity.WARNING, reads="workspace")
def used_after_donation(view: FileView) -> Iterator[Finding]:
    """Follows donated variables from each call to the next place that reads them."""
    calls = [call for call in view.records.calls if call.dotted == DONATES and view.is_here(call.call)]
    seen: set[Site] = set()
    for call in calls:
        context = call.context
        if call.guarded or not context.sure or context.guarded or context.expected or call.call in seen:
            continue
        seen.add(call.call)
        yield from _of_call(view, call)


def _of_call(view: FileView, call: ApiCall) -> Iterator[Finding]:
    path = path_to(view, call.call)
    for arg in call.args:
        node = path_to(view, arg.site)[-1:] if arg.site is not None and not isinstance(arg.value, Const) else ()
        key = key_of(node[0]) if node else None
        if key is None or not _comes_from_jax(view, call.call, path, key):
            continue
        found = read_after(path, key)
        if found is not None:
            place = Related(view.path, view.span(call.call), "donated here")
            text = f'"{key_of(found)}" was donated, so its arrays are deleted'
            yield Finding(view.span(Site(call.call.path, call.call.block, found.site)), text, (), (place,))
            return


def _comes_from_jax(view: FileView, call: Site, path: tuple[Node, ...], key: str) -> bool:
    """Returns whether the function sets a variable to what a call of JAX, or of a mapped or jitted function, gives."""
    function = next((node for node in path if isinstance(node, FunctionDef)), path[0] if path else None)
    values: dict[str, list[Node]] = {}
    for node in walk(function) if function is not None else ():
        if isinstance(node, Assign):
            for target in node.targets:
                for below in walk(target):
                    name = key_of(below)
                    if name is not None:
                        values.setdefault(name, []).append(node.value)
    given = list(values.get(key, ()))
    given.extend(value for one in tuple(given) for value in values.get(key_of(one) or "", ()))
    made = _made_by_jax(view)
    return any(isinstance(value, Call) and _is_made(view, call, value, made) for value in given)


def _is_made(view: FileView, beside: Site, value: Call, made: frozenset[Site]) -> bool:
    if Site(beside.path, beside.block, value.site) in made:
        return True
    numpy = spelled(view, "jax.numpy.zeros")
    callee = view.text(Site(beside.path, beside.block, value.callee.site))
    return numpy is not None and callee.startswith(numpy.removesuffix("zeros"))


def _made_by_jax(view: FileView) -> frozenset[Site]:
    records = view.records
    calls = (call.call for call in records.calls if call.dotted.startswith(_LIBRARIES))
    return frozenset(calls) | frozenset(call.call for call in records.mapped_calls)
