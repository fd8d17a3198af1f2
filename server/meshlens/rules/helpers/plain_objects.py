"""Objects passed to a map as if they were arrays: instances of classes that JAX does not know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from meshlens.axes.domain.classes import class_attribute, has_unknown_base, lineage
from meshlens.axes.domain.values import Arg, Class, Const, Instance, Site, Value
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.static import may_have_static, static_places

_OWN_WAYS = ("__jax_array__", "tree_flatten", "__init_subclass__", "__getattr__", "shape")
_Wants = Callable[[MappedCall, int], bool]


def handed_to_pmap(view: FileView) -> Iterator[Finding]:
    """Reports, for each `pmap`, the first object passed at a position that is not static."""
    yield from _objects(view, "jax.pmap", _is_dynamic, "make it static")


def texts_handed_to_pmap(view: FileView) -> Iterator[Finding]:
    """Reports, for each call of a `pmap`, the first string passed at a position that is neither static nor mapped."""
    by_call: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and canonical(call.binder.dotted) == "jax.pmap":
            by_call[call.call].append(call)
    for calls in by_call.values():
        found = certain((call, call.context, _text(call) is not None) for call in calls)
        place = _text(found) if found is not None else None
        site = found.args[place].site if found is not None and place is not None else None
        if found is not None and place is not None and site is not None and view.is_here(site):
            made = Related(view.path_of(found.binder.site), view.span(found.binder.site), "mapped here")
            text = f'argument {place} of "{name_of(found.binder.operand)}" is a string; make it static'
            yield Finding(view.span(site), text, (), (made,))


def _text(call: MappedCall) -> int | None:
    if any(name in ("*", "**") for name, _ in call.binder.arguments) or any(arg.label is not None for arg in call.args):
        return None
    # AX302 already reports a string that is mapped over an axis.
    texts = (
        place
        for place, arg in enumerate(call.args)
        if _is_text(arg.value) and _is_dynamic(call, place) and not _is_mapped(call, place)
    )
    return next(texts, None)


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def mapped_by_vmap(view: FileView) -> Iterator[Finding]:
    """Reports, for each `vmap`, the first object that it would map over an axis."""
    yield from _objects(view, "jax.vmap", _is_mapped, "use None for it in in_axes")


def _objects(view: FileView, dotted: str, wants: _Wants, remedy: str) -> Iterator[Finding]:
    by_map: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.calls_of_maps:
        if call.visible and canonical(call.binder.dotted) == dotted:
            by_map[call.binder.site].append(call)
    for calls in by_map.values():
        found = certain((call, call.context, _first(view, call, wants) is not None) for call in calls)
        place = _first(view, found, wants) if found is not None else None
        if found is not None and place is not None:
            yield from _finding(view, found, place, remedy)


def _is_dynamic(call: MappedCall, place: int) -> bool:
    unseen = may_have_static(call.binder) and not static_places(call.binder)
    return not unseen and place not in static_places(call.binder)


def _is_mapped(call: MappedCall, place: int) -> bool:
    axis = axis_of(call.binder, place, None)
    return isinstance(axis, Const) and type(axis.value) is int


def _first(view: FileView, call: MappedCall, wants: _Wants) -> int | None:
    if any(name in ("*", "**") for name, _ in call.binder.arguments) or any(arg.label is not None for arg in call.args):
        return None
    places = (place for place, arg in enumerate(call.args) if wants(call, place) and _is_plain(view, arg))
    return next(places, None)


def _is_plain(view: FileView, arg: Arg) -> bool:
    value = arg.value
    if not isinstance(value, Instance) or value.cls.dataclass or has_unknown_base(value.cls):
        return False
    if any(class_attribute(value.cls, name) is not None for name in _OWN_WAYS):
        return False
    return not any(_may_be_registered(view, cls) for cls in lineage(value.cls))


def _may_be_registered(view: FileView, cls: Class) -> bool:
    """Returns whether a class may be registered as a pytree, by a decorator, a metaclass or a nearby `register_…`."""
    return not cls.plain or any(b"register_" in text for text in (view.source, view.texts.get(cls.path, b"")))


def _finding(view: FileView, call: MappedCall, place: int, remedy: str) -> Iterator[Finding]:
    arg = call.args[place]
    assert isinstance(arg.value, Instance)
    kind = arg.value.cls.name
    name = name_of(call.binder.operand)
    called = Related(view.path_of(call.call), view.span(call.call), "called here")
    if arg.site is not None and view.is_here(arg.site):
        text = f'argument {place} of "{name}" is a "{kind}" object, not an array; {remedy}'
        yield Finding(view.span(arg.site), text, (), (called,))
    elif arg.site is None and view.is_here(call.binder.site):
        text = f'argument {place} of "{name}" is a "{kind}" object, not an array; {remedy}'
        yield Finding(view.span(call.binder.site), text, (), (called,))
