"""Objects that are passed to a `pmap` as if they were arrays: instances of classes that JAX knows nothing of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.mapping import name_of
from meshlens.axes.objects import class_attribute, has_unknown_base, lineage
from meshlens.axes.records import MappedCall
from meshlens.axes.values import Arg, Class, Instance, Site
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules._model import Finding, Related
from meshlens.rules._routes import certain
from meshlens.rules._static import STATIC, static_places

_OWN_WAYS = ("__jax_array__", "tree_flatten", "__init_subclass__", "__getattr__", "shape")


def plain_objects(view: FileView) -> Iterator[Finding]:
    """Reports each object that a `pmap` gets at a place that is not static."""
    by_map: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.calls_of_maps:
        if call.visible and canonical(call.binder.dotted) == "jax.pmap":
            by_map[call.binder.site].append(call)
    for calls in by_map.values():
        found = certain((call, call.context, _first(view, call) is not None) for call in calls)
        place = _first(view, found) if found is not None else None
        if found is not None and place is not None:
            finding = _finding(view, found, place)
            if finding is not None:
                yield finding


def _first(view: FileView, call: MappedCall) -> int | None:
    unseen = any(name in ("*", "**") for name, _ in call.binder.arguments)
    if unseen or (call.binder.argument(STATIC) is not None and not static_places(call.binder)):
        return None
    for place, arg in enumerate(call.args):
        if arg.label is not None:
            return None
        if place not in static_places(call.binder) and _is_plain(view, arg):
            return place
    return None


def _is_plain(view: FileView, arg: Arg) -> bool:
    value = arg.value
    if not isinstance(value, Instance) or value.cls.dataclass or has_unknown_base(value.cls):
        return False
    if any(class_attribute(value.cls, name) is not None for name in _OWN_WAYS):
        return False
    return not any(_may_be_registered(view, cls) for cls in lineage(value.cls))


def _may_be_registered(view: FileView, cls: Class) -> bool:
    """Whether something may have told JAX how a class is a tree: a decorator, a metaclass, a `register_…` nearby."""
    return not cls.plain or any(b"register_" in text for text in (view.source, view.texts.get(cls.path, b"")))


def _finding(view: FileView, call: MappedCall, place: int) -> Finding | None:
    arg = call.args[place]
    assert isinstance(arg.value, Instance)
    kind = arg.value.cls.name
    name = name_of(call.binder.operand)
    called = Related(view.path_of(call.call), view.span(call.call), "called here")
    if arg.site is not None and view.is_here(arg.site):
        text = f'this is an object of "{kind}", no array; argument {place} of "{name}" has to be static'
        return Finding(view.span(arg.site), text, (), (called,))
    if arg.site is None and view.is_here(call.binder.site):
        text = f'argument {place} of "{name}" is an object of "{kind}", no array; it has to be static'
        return Finding(view.span(call.binder.site), text, (), (called,))
    return None
