"""A static argument is passed or declared in a way that `pmap` or `jit` does not accept.

`static_broadcasted_argnums` refers to the positional arguments of the call by index, starting from 0.
An index beyond the last one, or a static argument that is passed by keyword or left at its default, raises `ValueError:
pmapped function has static_broadcasted_argnums=(2,) but was called with only 2 positional arguments`.
A list, dictionary or array as a static value raises `ValueError: Non-hashable static arguments are not supported`; so
does one number in an array of JAX, such as `jnp.max(x)` or each item of `jnp.linspace(0, 1, 5)`. `float(x)` is right.
An argument that is both static and donated raises `ValueError: static_argnums and donate_argnums cannot intersect`.
An argument that is neither an array nor a tree of arrays, such as the `self` of a plain class, must be static;
otherwise, the call raises `TypeError: Error interpreting argument to … as an abstract array`.
A static or donated argument that the function does not have makes `jit` raise `ValueError: Jitted function has invalid
argnames {'kind'} in static_argnames. Function does not take these args.`

```python
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, static_broadcasted_argnums=(1,))
def widen(x, sizes):
    return [jnp.zeros((size, *x.shape)) + x for size in sizes]


print(widen(jnp.ones((8, 4)), [16, 8]))
#                             ^^^^^^^ AX206: argument 1 is static and must be hashable, but this is a list
```

becomes

```python
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, static_broadcasted_argnums=(1,))
def widen(x, sizes):
    return [jnp.zeros((size, *x.shape)) + x for size in sizes]


print(widen(jnp.ones((8, 4)), (16, 8)))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.classes import class_attribute
from meshlens.axes.domain.values import Arg, Const, Data, Dict, Instance, Made, Seq, Site, Value
from meshlens.axes.jax.compiled_calls import STATIC_OF_JIT, UNHASHABLE_FIELD
from meshlens.axes.runs.records import ApiCall, Binding, MappedCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.entries import as_tuple, entries_at
from meshlens.rules.helpers.miscounts import keyword_arguments, positional
from meshlens.rules.helpers.plain_objects import handed_to_pmap, texts_handed_to_pmap
from meshlens.rules.helpers.static import integers, missing_in_jitted, static_places
from meshlens.text import Edit, FileEdit, Span


@rule("AX206", Severity.ERROR, reads="places")
def static_argument(view: FileView) -> Iterator[Finding]:
    """Checks the static arguments of each `pmap`, how calls pass them, and those declared to `jit`."""
    groups: dict[Site, list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if canonical(binding.binder.dotted) == "jax.pmap":
            groups[binding.binder.site].append(binding)
    calls_of: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.calls_of_maps:
        if call.visible:
            calls_of[call.binder.site].append(call)
    for site, bindings in groups.items():
        both = certain((one, one.context, bool(_both(one))) for one in bindings)
        if both is not None:
            yield _donated(view, both)
        yield from _out_of_range(view, bindings, calls_of.get(site, []))
    by_call: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and static_places(call.binder):
            by_call[call.call].append(call)
    for calls in by_call.values():
        yield from _unhashable(view, calls)
    yield from _unhashable_in_jit(view)
    yield from handed_to_pmap(view)
    yield from texts_handed_to_pmap(view)
    yield from missing_in_jitted(view)


def _both(binding: Binding) -> tuple[int, ...]:
    donated = binding.binder.argument("donate_argnums")
    places = integers(donated.value) or () if donated is not None else ()
    return tuple(place for place in static_places(binding.binder) if place in places)


def _donated(view: FileView, binding: Binding) -> Finding:
    donated = binding.binder.argument("donate_argnums")
    assert donated is not None and donated.site is not None
    site = donated.site if view.is_here(donated.site) else binding.binder.site
    return Finding(view.span(site), f"argument {_both(binding)[0]} is static and cannot be donated")


def _beyond(call: MappedCall) -> int | None:
    """Returns the first static position that a call does not fill by position."""
    count = positional(call)
    if count is None:
        return None
    return next((place for place in static_places(call.binder) if place >= count), None)


def _out_of_range(view: FileView, bindings: list[Binding], calls: list[MappedCall]) -> Iterator[Finding]:
    judged = [(call, call.context, None if positional(call) is None else _beyond(call) is not None) for call in calls]
    found = certain(judged)
    place = _beyond(found) if found is not None else None
    if found is None or place is None:
        return
    count = positional(found)
    keyword = _keyword_of(bindings[0], found, place)
    if keyword is not None and keyword.whole is not None and view.is_here(keyword.whole):
        message = f"argument {place} is static and must be passed by position"
        yield Finding(view.span(keyword.whole), message, _by_position(view, found, keyword, place))
        return
    only = f"only {counted(count, 'positional argument')}" if count else "no positional arguments"
    some = any(verdict is False for _, _, verdict in judged)
    within = bindings[0].parameters is not None and place < len(bindings[0].parameters)
    given = found.binder.argument("static_broadcasted_argnums")
    site = found.call if some or within else _entry(view, given, place)
    if site is None or not view.is_here(site):
        return
    related = (Related(view.path_of(found.call), view.span(found.call), "called here"),) if site != found.call else ()
    default = "; defaults do not count" if within else ""
    yield Finding(view.span(site), f"argument {place} is static, but the call passes {only}{default}", (), related)


def _entry(view: FileView, given: Arg | None, place: int) -> Site | None:
    if given is None:
        return None
    entries = entries_at(view, given.site)
    places = integers(given.value)
    return entries[places.index(place)] if entries and places and len(entries) == len(places) else given.site


def _keyword_of(binding: Binding, call: MappedCall, place: int) -> Arg | None:
    names = [name for name, how, _ in binding.parameters or () if how == "any"]
    if place >= len(names):
        return None
    return next((arg for arg in keyword_arguments(call) if arg.label == names[place]), None)


def _by_position(view: FileView, call: MappedCall, keyword: Arg, place: int) -> tuple[Fix, ...]:
    """Removes the keyword if the argument would be the next positional argument anyway."""
    first = keyword_arguments(call)[0]
    if positional(call) != place or keyword is not first or keyword.whole is None or keyword.site is None:
        return ()
    edit = Edit(Span(view.span(keyword.whole).start, view.span(keyword.site).start), "")
    return (Fix("pass by position", (FileEdit(view.path, edit),)),)


def _unhashable(view: FileView, calls: list[MappedCall]) -> Iterator[Finding]:
    found = certain((call, call.context, _first_unhashable(call) is not None) for call in calls)
    place = _first_unhashable(found) if found is not None else None
    if found is None or place is None:
        return
    arg = found.args[place]
    if arg.site is None or not view.is_here(arg.site):
        return
    edits = as_tuple(view, arg.site)
    fixes = (Fix("pass a tuple", edits),) if edits else ()
    message = f"argument {place} is static and must be hashable, but this is {_kind(arg.value)}"
    yield Finding(view.span(arg.site), message, fixes)


def _unhashable_in_jit(view: FileView) -> Iterator[Finding]:
    """Reports lists and other unhashable values that calls of jitted functions pass for static arguments."""
    by_site: dict[Site, list[tuple[ApiCall, Arg]]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted == STATIC_OF_JIT and not call.guarded:
            for arg in call.args:
                # The object that a method is called on is not written as an argument.
                site = arg.site or call.call
                if view.is_here(site):
                    by_site[site].append((call, arg))
    for site, passed in by_site.items():
        found = certain((arg, call.context, bool(_kind(arg.value))) for call, arg in passed)
        if found is None:
            continue
        edits = as_tuple(view, site) if isinstance(found.value, Seq) and found.site is not None else ()
        fixes = (Fix("pass a tuple", edits),) if edits else ()
        beginning = "" if found.site is not None else "the instance (self) is static: "
        what = f"{beginning}a static argument of jit must be hashable, but this is {_kind(found.value)}"
        yield Finding(view.span(site), what, fixes)


def _first_unhashable(call: MappedCall) -> int | None:
    if positional(call) is None:
        return None
    places = static_places(call.binder)
    given = [(place, call.args[place]) for place in places if 0 <= place < len(call.args)]
    return next((place for place, arg in given if arg.label is None and _kind(arg.value)), None)


def _kind(value: Value) -> str:
    """Returns a description of an unhashable value; "" for any other."""
    if isinstance(value, Seq) and value.kind == "list":
        return "a list"
    if isinstance(value, Dict):
        return "a dictionary"
    if isinstance(value, Instance) and class_attribute(value.cls, "__hash__") == Const(None):
        return f'an instance of "{value.cls.name}", which is not hashable'
    if isinstance(value, Made) and value.dotted == UNHASHABLE_FIELD:
        (_, cls), (name, held) = value.arguments
        return f'an instance of "{cls.value if isinstance(cls, Const) else name}" whose field "{name}" is {_kind(held)}'
    return "an array" if isinstance(value, Data) and (value.shape or _is_number_of_jax(value)) else ""


def _is_number_of_jax(value: Data) -> bool:
    """Returns whether a value is certainly a JAX array without dimensions; only NumPy's numbers are hashable."""
    made = value.made_by or ""
    return value.shape == () and ("of-jax" in value.labels or made.startswith(("jax.numpy.", "jax.nn.", "jax.random.")))
