"""Fixes for an unbound axis: bind it in the map, or change it to a bound name."""

from __future__ import annotations

from meshlens.axes.domain.values import Binder, Const, Site
from meshlens.axes.jax.naming import names_in
from meshlens.axes.runs.records import AxisUse
from meshlens.checking.model import Fix
from meshlens.jaxapi.binders import binder as row_of
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.project.writing.literals import is_string, rewritten
from meshlens.project.writing.new_arguments import with_argument
from meshlens.text import Edit, FileEdit


def fixes_for(
    view: FileView, use: AxisUse, site: Site, name: str, suggestion: str | None, common: tuple[str, ...]
) -> tuple[Fix, ...]:
    """Returns the fixes for an unbound axis, the most likely first.

    Args:
        view: the file.
        use: the collective on the failing route.
        site: the place that the finding marks.
        name: the axis name.
        suggestion: a bound name with a similar spelling.
        common: the names bound on every route that reads the name from the same literal.
    """
    env = use.context.env
    found: list[Fix] = []
    if suggestion is not None:
        if suggestion in common:
            found.extend(_rename(view, site, use, suggestion, "safe"))
    elif len(env.names) == 1 and env.names == common:
        found.extend(_rename(view, site, use, env.names[0], "unsafe"))
    if env.maps and not env.names:
        found.extend(_name_the_axis(view, env.maps[-1], name))
    return tuple(found)


def _rename(view: FileView, site: Site, use: AxisUse, to: str, safety: str) -> list[Fix]:
    if to in [name.value for name in names_in(use.whole)[0]]:
        return []
    literal = use.name.origin if isinstance(use.name, Const) else None
    place = literal if literal is not None and is_string(view.text(literal)) else site
    text = rewritten(view.text(place), to)
    if text is None or (place != site and place.path != site.path):
        return []
    edit = FileEdit(view.path_of(place), Edit(view.span(place), text))
    if safety == "safe":
        return [Fix(f'change to "{to}"', (edit,))]
    return [Fix(f'change to "{to}"', (edit,), "unsafe", "the map's axis name may be wrong instead")]


def _name_the_axis(view: FileView, binder: Binder, name: str) -> list[Fix]:
    row = row_of(canonical(binder.dotted))
    if row is None or binder.kind not in ("pmap", "vmap") or row.names_from != "axis_name":
        return []
    if any(given in ("*", "**", row.names) for given, _ in binder.arguments):
        return []
    edit = with_argument(view, binder.site, f'{row.names}="{name}"')
    return [Fix(f'bind axis "{name}" in the {binder.kind}', (edit,))] if edit is not None else []
