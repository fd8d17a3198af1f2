"""One PRNG key gives the same random numbers on every device.

If every device gets the same key (through `in_axes=None`, an empty spec or a closure), all of them draw the same
dropout mask, noise and samples: JAX raises no error, but the program has less randomness than it
appears to.
Fold the device index into the key, or map over one key for each device.
The same goes for results that `out_specs` lays side by side: the samples of all devices are copies of those of one.
Within a map, `jax.process_index()` does not replace the index of the device, because all devices of a process have the
same one; this finding is a hint.
Parameters drawn from a shared key should be the same on every device, so the rule does not report them.

If the map has several axes, fold in the index along those that split the batch: along any other, as in tensor
parallelism, the devices hold the same rows and must drop the same entries before they multiply them by their parts of
the parameters.

In replica exchange, two devices send each other their states with `ppermute`, and each takes the other's state or keeps
its own. Both must decide with the same random number, for example with a key that depends on the pair; otherwise, a
state may be kept by both or by neither. This finding is a hint.

```python
import jax
import jax.numpy as jnp


def noisy(key, x):
    return x + 0.1 * jax.random.normal(key, x.shape)
    #                                  ^^^ AX403: every device draws the same random numbers with this key


noisy = jax.pmap(noisy, axis_name="batch", in_axes=(None, 0))
print(noisy(jax.random.key(0), jnp.ones((8, 4))))
```

becomes

```python
import jax
import jax.numpy as jnp


def noisy(key, x):
    return x + 0.1 * jax.random.normal(jax.random.fold_in(key, jax.lax.axis_index("batch")), x.shape)


noisy = jax.pmap(noisy, axis_name="batch", in_axes=(None, 0))
print(noisy(jax.random.key(0), jnp.ones((8, 4))))
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.data.noise import OF_PROCESS, axis_of
from meshlens.axes.domain.labels import of_kinds
from meshlens.axes.domain.values import Binder, Function, Site
from meshlens.axes.jax.mapped_values import axis_of as mapped_axis
from meshlens.axes.jax.mapped_values import is_shared
from meshlens.axes.python.outside import device_map
from meshlens.axes.runs.records import RandomUse
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.facts.nodes import Assign, Attribute, Name, TupleDisplay
from meshlens.project.trees import Node, sized_array, tree, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled
from meshlens.text import Edit, FileEdit, Span

_LIKE_THE_DATA = re.compile(r"\bshape\b|_like\b|\b(bernoulli|categorical|rademacher|gumbel|multinomial|poisson)\b")

_WORD = re.compile(r"\w+")
_WRITTEN_OUT = re.compile(r"^(\w+\.)*(PRNGKey|key)\(\s*(seed\s*=\s*)?\d+\s*\)$")
"""Matches a key made from a literal number, usually a placeholder rather than an oversight."""
_OF_AXES = {
    "along": 'the devices along "{axis}" have their own data, but draw the same random numbers with this key',
    "noised": 'the devices along "{axis}" hold the same rows, but each draws its own random numbers with this key',
    "beside": 'the devices along "{axis}" draw the same random numbers with this key, so the results repeat',
    "exchanged": 'each partner along "{axis}" decides about the exchange with its own number; a value may get lost',
}
"""The messages about a single axis, by the kind of use."""


@rule("AX403", Severity.WARNING, reads="tied")
def replicated_key(view: FileView) -> Iterator[Finding]:
    """Reports keys whose numbers are combined with each device's data, reduced over devices, or laid side by side."""
    draws = [use for use in view.records.random_uses if use.how == "draw"]
    differing = {use.call for use in draws if use.labels & {"varying", "index"} and not use.alike}
    seen: set[Span] = set()
    for use in view.records.random_uses:
        binder = device_map(use.context)
        # If `is_argument` is false, the cause is elsewhere: where the key was copied to devices or passed to a model.
        is_argument = use.key[:2] == use.call[:2] and ("copied", use.key) not in use.labels
        if binder is None or use.how == "draw":
            continue
        cause = _cause(view, use, binder)
        if not view.is_here(cause):
            continue
        if use.call in differing and is_argument and cause == use.key and use.how not in _OF_AXES:
            continue
        if use.context.guarded or use.context.expected or use.context.skip or not use.context.sure:
            continue
        if use.how in ("noise", "along") and not _is_like_the_data(view, use.call, binder):
            continue
        span = view.span(cause)
        if span in seen:
            continue
        seen.add(span)
        related = [Related(view.path_of(binder.site), view.span(binder.site), "mapped over devices here")]
        if cause != use.key:
            related.append(Related(view.path_of(use.key), view.span(use.key), "the random numbers are drawn here"))
        is_hint = use.how == "exchanged" or _is_of_process(use) or _WRITTEN_OUT.search(view.text(use.key))
        severity = Severity.HINT if is_hint else None
        maps = {device_map(draw.context) for draw in draws if draw.call == use.call}
        # Copies are made outside the map, where no device has an index; another map may need the same numbers.
        is_fixable = is_argument and cause == use.key and use.how != "exchanged" and len(maps) == 1
        fixes = _fixes(view, use, span, binder) if is_fixable else ()
        yield Finding(span, _message(use, cause), fixes, tuple(related), severity)


def _is_like_the_data(view: FileView, draw: Site, binder: Binder) -> bool:
    """Returns whether numbers are drawn for each row of the data, judging by the names in the call that draws them."""
    text = view.text(draw)
    if _LIKE_THE_DATA.search(text):
        return True
    function = tree(view, draw.path, draw.block)
    shared = _shared_arguments(draw, binder)
    sizes = {
        first.name
        for node in (walk(function) if function is not None else ())
        if isinstance(node, Assign) and (array := _sized(node.value)) is not None and array not in shared
        for target in node.targets
        for first in (target.items[:1] if isinstance(target, TupleDisplay) else (target,))
        if isinstance(first, Name)
    }
    return not sizes.isdisjoint(_WORD.findall(text))


def _shared_arguments(place: Site, binder: Binder) -> list[str]:
    """Returns the parameters of the mapped function, if the place is in it, that are whole on each device."""
    mapped = binder.operand
    if not isinstance(mapped, Function) or (mapped.path, mapped.block) != (place.path, place.block):
        return []
    return [one.name for at, one in enumerate(mapped.parameters) if is_shared(mapped_axis(binder, at, None))]


def _sized(node: Node) -> str | None:
    """Returns the variable whose shape or first size an expression is: `x.shape`, `x.shape[0]`."""
    array = node.object if isinstance(node, Attribute) and node.name == "shape" else sized_array(node)
    return array.name if isinstance(array, Name) else None


def _message(use: RandomUse, cause: Site) -> str:
    if use.how in _OF_AXES:
        return _OF_AXES[use.how].format(axis=axis_of(use))
    if _is_of_process(use):
        return "all devices of a process have the same index, so they draw the same random numbers"
    if cause != use.key:
        return "every device gets all keys here, and draws the same random numbers with them"
    return f"every device draws the same random numbers with {'these keys' if use.how == 'apply' else 'this key'}"


def _is_of_process(use: RandomUse) -> bool:
    return bool(of_kinds(use.labels, OF_PROCESS)) and use.how not in _OF_AXES


def _cause(view: FileView, use: RandomUse, binder: Binder) -> Site:
    """Returns where an index was folded into the key, or all devices got all keys, if it is to blame for the draw.

    It is not if other draws that follow are right.
    """
    if use.made is None:
        return use.key
    uses = [other for other in view.solution.by_file[use.made.path].random_uses if other.made == use.made]
    wrong = {other.call for other in uses if other.how != "draw" and (other.how in _OF_AXES) == (use.how in _OF_AXES)}
    if any(other.call not in wrong for other in uses):
        return use.key
    if use.how in _OF_AXES or _is_of_process(use):
        return use.made
    given = binder.argument("in_specs")
    whole = given.whole if given is not None else None
    if whole is None:
        return use.key
    # If the spec is written elsewhere, other arguments may share it.
    is_inside = whole.path == use.made.path and view.span(whole).contains(view.span(use.made))
    return use.made if is_inside else whole


def _fixes(view: FileView, use: RandomUse, span: Span, binder: Binder) -> tuple[Fix, ...]:
    fold, index = spelled(view, "jax.random.fold_in"), spelled(view, "jax.lax.axis_index")
    if use.how == "apply" or len(binder.names) != 1 or binder.open or fold is None or index is None:
        return ()
    key = view.source[span.start : span.end].decode()
    edit = FileEdit(view.path, Edit(span, f'{fold}({key}, {index}("{binder.names[0].value}"))'))
    why = "each device then draws different random numbers than before"
    return (Fix("fold the device index into the key", (edit,), "unsafe", why),)
