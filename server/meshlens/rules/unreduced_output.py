"""An output declared to be the same on every device differs between devices.

`out_axes=None` declares that all devices return the same value; `pmap` does not check this and returns device 0's
value.
`out_specs=P()` declares the same, and `shard_map` with `check_vma=False` (or `check_rep=False`) does not check it
either; with the check on, it raises `ValueError: … out_specs which require replication which can't be statically
inferred`.
The rule reports all of these.
Reduce the value in the map (`pmean`, `psum`), or declare the axis that it varies over.
If the host takes `x[0]` or `unreplicate(x)`, where `x` holds unreduced means, sums or layer statistics, it reads only
device 0's value; this finding is a hint.
The devices of a map without an axis name may run without each other. There, MeshLens reports this only if a loop calls
the map and each device returns several sums over its own rows, computed with an array that all devices share.

```python
import jax
import jax.numpy as jnp

mean = jax.pmap(jnp.mean, out_axes=None)
#                         ^^^^^^^^^^^^^ AX405: each device returns a different value; out_axes=None keeps only device \\
#                         0's
print(mean(jnp.arange(16.0).reshape(8, 2)))
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.values import Arg, Binder, Const, Dict, Function, Seq, Site, Spec, Value
from meshlens.axes.domain.variation import SOME_AXIS, VARYING, is_different
from meshlens.axes.jax.train_states import is_state
from meshlens.axes.python.outside import axes_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.rules.helpers.specs import mesh_axes
from meshlens.rules.helpers.unbound import maps_that_lack_an_axis
from meshlens.text import Span

_ALL_DIFFER = "each device returns a different value"
_ONLY = "the result"


@rule("AX405", Severity.WARNING, reads="places")
def unreduced_output(view: FileView) -> Iterator[Finding]:
    """Compares a mapped function's results with the map's out_axes or out_specs, or with how the host uses them."""
    yield from _first_of_devices(view)
    if not any(_declared(binding.binder) for binding in view.records.bindings):
        return
    lacking = maps_that_lack_an_axis(view.solution)
    verdicts: dict[tuple[Span, str], dict[Span | None, dict[Site, str | None]]] = {}
    for records in view.solution.by_file.values():
        for mapped in records.mapped_calls:
            declared = _declared(mapped.binder)
            if declared is None or not view.is_here(mapped.binder.site):
                continue
            if mapped.binder.site in lacking:
                continue
            for output in _outputs(declared[1].value, mapped.returned):
                axes = _left_out(mapped.binder, output.entry)
                span = _place(view, declared[1], output)
                if span is None or not axes:
                    continue
                said = (
                    f"{declared[0]}=None"
                    if isinstance(output.entry, Const)
                    else f"{declared[0]} without {_named(axes)}"
                )
                what = _different(mapped, output, axes)
                if what == _ALL_DIFFER and declared[1].whole is not None and span == view.span(declared[1].whole):
                    what = f"{output.which} differs across devices" if output.which != _ONLY else what
                keeps = "requires equal values" if mapped.binder.checked else "keeps only device 0's"
                text = f"{what}; {said} {keeps}" if what is not None else None
                by_function = verdicts.setdefault((span, output.which), {})
                by_call = by_function.setdefault(_function_of(view, mapped.binder), {})
                # A loop calls the map again with a carry about which less is known; the first fault found is kept.
                by_call[mapped.call] = by_call.get(mapped.call) or text
    for (span, _), by_function in sorted(verdicts.items(), key=lambda item: item[0]):
        wrong = {
            function: next(text for text in by_call.values() if text is not None)
            for function, by_call in by_function.items()
            if None not in by_call.values()
        }
        if len(wrong) == len(by_function):
            yield Finding(span, next(iter(wrong.values())))
            continue
        # Maps of several functions share the declaration, which is right for some of them.
        yield from (Finding(function, text) for function, text in wrong.items() if function is not None)


def _first_of_devices(view: FileView) -> Iterator[Finding]:
    """Yields findings for means and sums that differ between devices if the host keeps only one device's value."""
    seen: set[Span] = set()
    all_taken = view.solution.once_of_records("results taken from other devices", _of_others)
    for use in view.records.gradient_uses:
        context = use.context
        if use.kind != "first-of-devices" or use.other is None or not view.is_here(use.site):
            continue
        if use.other in all_taken:
            continue
        if not context.sure or context.guarded or context.expected:
            continue
        span = view.span(use.site)
        if span not in seen:
            seen.add(span)
            place = Related(view.path_of(use.other), view.span(use.other), "each device returns its own value here")
            text = "each device has its own mean or sum; this keeps only device 0's"
            yield Finding(span, text, (), (place,), Severity.HINT)


def _of_others(solution: Solution) -> frozenset[Site]:
    """Returns the calls to maps of whose results the host takes not only device 0's part."""
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.other for use in uses if use.kind == "other-of-devices" and use.other is not None])


def _function_of(view: FileView, binder: Binder) -> Span | None:
    """Returns the name of the mapped function, or else the mapped expression; None if that is in another file."""
    site = binder.operand.site if isinstance(binder.operand, Function) else binder.operand_site
    return view.span(site) if site is not None and view.is_here(site) else None


def _declared(binder: Binder) -> tuple[str, Arg] | None:
    name = "out_axes" if binder.kind == "pmap" else "out_specs"
    if binder.kind not in ("pmap", "shard_map"):
        return None
    given = binder.argument(name)
    return (name, given) if given is not None else None


class _Output(NamedTuple):
    """An entry of `out_axes` or `out_specs`, with the output that it declares.

    Attributes:
        entry: the entry of `out_axes` or `out_specs`.
        value: the output.
        which: which of several results it is.
    """

    entry: Const | Spec
    value: Value
    which: str


def _outputs(entry: Value, value: Value, which: str = _ONLY) -> Iterator[_Output]:
    """Yields each declared entry with the output that it declares."""
    if isinstance(entry, Seq) and isinstance(value, Seq) and len(entry.items) == len(value.items):
        for place, (one, other) in enumerate(zip(entry.items, value.items, strict=True), 1):
            yield from _outputs(one, other, which if which != _ONLY else f"result {place} of {len(value.items)}")
    elif isinstance(entry, Dict) and isinstance(value, Dict):
        for key, one in entry.items:
            other_value = value.get(key)
            if other_value is not None:
                yield from _outputs(one, other_value, which if which != _ONLY else f'result "{key}"')
    elif isinstance(entry, (Const, Spec)):
        yield _Output(entry, value, which)


def _place(view: FileView, declared: Arg, output: _Output) -> Span | None:
    """Returns the entry, or the whole declaration if the entry is written elsewhere and may be shared by other maps."""
    given = declared.whole if declared.whole is not None and view.is_here(declared.whole) else None
    if output.which == _ONLY and isinstance(output.entry, Const):
        return view.span(given) if given is not None else None
    site = output.entry.origin if isinstance(output.entry, Const) else output.entry.site
    if site is not None and view.is_here(site) and (given is None or view.span(given).contains(view.span(site))):
        return view.span(site)
    return view.span(given) if given is not None else None


def _left_out(binder: Binder, entry: Value) -> tuple[str, ...]:
    """Returns the axes of a map that an entry does not name; the output must be the same along them."""
    if isinstance(entry, Const):
        return axes_of(binder) if entry.value is None else ()
    if not isinstance(entry, Spec) or entry.open:
        return ()
    named: set[object] = set()
    for item in entry.entries:
        for one in item.items if isinstance(item, Seq) else (item,):
            if not isinstance(one, Const):
                return ()
            named.add(one.value)
    known = mesh_axes(binder.mesh) if binder.mesh is not None else None
    # If the spec names an axis that the mesh lacks, that is the fault, and any axis of the mesh may have been meant.
    if known is not None and not named <= {*known, None}:
        return ()
    return tuple(axis for axis in axes_of(binder) if axis not in named)


def _named(axes: tuple[str, ...]) -> str:
    return "an axis" if SOME_AXIS in axes or len(axes) > 1 else f'"{axes[0]}"'


def _different(call: MappedCall, output: _Output, axes: tuple[str, ...]) -> str | None:
    """Describes the part of an output that certainly differs between devices; None if there is none."""
    value = output.value
    if not _differs(call, value, axes):
        return None
    if output.which != _ONLY:
        return _ALL_DIFFER
    if isinstance(value, Seq):
        found = [place for place, one in enumerate(value.items, 1) if _differs(call, one, axes)]
        if len(found) < len(value.items):
            return f"result {found[0]} of {len(value.items)} differs across devices"
    if isinstance(value, Dict):
        keys = [key for key, one in value.items if _differs(call, one, axes)]
        if len(keys) < len(value.items):
            return f'result "{keys[0]}" differs across devices'
    return _ALL_DIFFER


def _differs(call: MappedCall, value: Value, axes: tuple[str, ...]) -> bool:
    """Returns whether part of an output certainly differs between devices, or is typed as varying in a checked map."""
    context = call.context
    if not context.sure or context.guarded or context.expected:
        return False
    if isinstance(value, (Seq, Dict)):
        items = [item[1] if isinstance(item, tuple) else item for item in value.items]
        return not value.open and any(_differs(call, item, axes) for item in items)
    if is_state(value) and "own-statistics" in labels_of(value):
        return True
    over = [variation_of(value).over(axis) for axis in axes]
    return any(is_different(one.truth) or (call.binder.checked and one.typed == VARYING) for one in over)
