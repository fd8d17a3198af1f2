"""The hover of a collective: its effect, its axes, their binders, the routes that reach it, and its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from meshlens.axes.domain.values import Const, Seq, Site
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.hovering.collective_words import words_for
from meshlens.ide.hovering.environment_words import environment_words, operand_name, route_words
from meshlens.ide.hovering.prose import Prose
from meshlens.ide.shown.devices import axis_size, devices_of
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.collectives import Collective


def collective_text(prose: Prose, call: Site, arguments: frozenset[Site]) -> str | None:
    """Returns the description of the call at a site; None if it is not a collective that the analysis reached.

    Args:
        prose: the writing style.
        call: the call.
        arguments: the arguments of the call; if one is the axis of a collective, the call creates an object that later
            reduces over this axis, such as a `BatchNorm` or a `partial`.
    """
    uses = [use for use in prose.view.records.uses if use.call == call or use.axis in arguments]
    if not uses:
        return None
    words = words_for(uses[0].kind, _switched_on(uses[0]))
    names = tuple(dict.fromkeys(name for use in uses if (name := literal_name(use.name)) is not None))
    sizes = _sizes(prose, uses, names)
    groups = _groups(uses[0])
    total = _total(uses, names, sizes) if groups is None else _size_of_group(groups)
    size = str(total) if total is not None else None
    last = str(total - 1) if total is not None else "n - 1"
    over = _over(prose, names, sizes, uses)
    counted = "n " if size is None and names and ("{size}" in words.out or "{last}" in words.out) else ""
    if groups is not None:
        over += f", within each group of {counted}indices"
    elif counted:
        over += " (size n)"
    everywhere = _everywhere(uses, names) if groups is None else "at every index of a group"
    out = words.out.format(size=size or "n", last=last, everywhere=everywhere)
    return prose.page(
        words.does.format(over=over),
        out if _may_be_bound(uses) else None,
        *_bindings(prose, uses, names),
        *_environments(prose, uses, names),
        route_words(prose, [use.context for use in uses]),
    )


def unreached_text(prose: Prose, row: Collective) -> str:
    """Returns the description of a collective in code that no visible route reaches."""
    words = words_for(row.name, frozenset())
    return prose.page(words.does.format(over="the axis that its argument names"), "No known call reaches this code.")


def _over(prose: Prose, names: tuple[str, ...], sizes: dict[str, int], uses: Sequence[AxisUse]) -> str:
    if not names:
        whole = uses[0].axis
        if any(isinstance(use.name, Const) and use.name.value is None for use in uses):
            return "no axis, because the axis name is None"
        shown = f" {prose.code(prose.view.text(whole))}" if whole is not None and prose.view.is_here(whole) else ""
        return f"the axis that{shown or ' its argument'} names"
    axes = [prose.axis(name) + (f" (size {sizes[name]})" if name in sizes else "") for name in names]
    if not _together(uses):
        return f"axis {' or '.join(axes)}"
    return f"axes {' and '.join(axes)}"


def _everywhere(uses: Sequence[AxisUse], names: tuple[str, ...]) -> str:
    """Returns words for all indices of the axes: "on every device" if they are all the axes of a map over devices."""
    together = _together(uses)
    pairs = [
        (use.context.env.binder_of(name), name)
        for use in uses
        for name in names
        if together or name == literal_name(use.name)
    ]
    whole = {
        binder is not None
        and binder.kind in MAPS_ON_DEVICES
        and not binder.open
        and {const.value for const in binder.names} <= (set(names) if together else {name})
        for binder, name in pairs
    }
    return "on every device" if whole == {True} else f"at every index of the {'axes' if together else 'axis'}"


def _total(uses: Sequence[AxisUse], names: tuple[str, ...], sizes: dict[str, int]) -> int | None:
    """Returns the number of participating indices; None if it is unknown or differs between routes."""
    if not names or not all(name in sizes for name in names) or (len(names) > 1 and not _together(uses)):
        return None
    return prod(sizes[name] for name in names)


def _together(uses: Sequence[AxisUse]) -> bool:
    """Returns whether several axes are named at once, rather than a different axis on each route."""
    return any(isinstance(use.whole, Seq) and len(use.whole.items) > 1 for use in uses)


def _may_be_bound(uses: Sequence[AxisUse]) -> bool:
    """Returns whether any route binds or may bind the axis."""
    for use in uses:
        name = literal_name(use.name)
        if name is None or use.context.env.open or use.context.env.binder_of(name) is not None:
            return True
    return False


def _bindings(prose: Prose, uses: Sequence[AxisUse], names: tuple[str, ...]) -> Iterator[str]:
    """Yields a sentence about the binders of each axis; axes with the same binders share a sentence."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_binding(prose, uses, name), []).append(name)
    for sentence, group in alike.items():
        named = " and ".join(prose.axis(name) for name in group)
        yield sentence.replace("{axes}", named).replace("{are}", "is" if len(group) == 1 else "are")


def _sizes(prose: Prose, uses: Sequence[AxisUse], names: tuple[str, ...]) -> dict[str, int]:
    """Returns the known sizes of the axes by name, without axes whose size differs between routes."""
    found: dict[str, int] = {}
    for name in names:
        binders = {binder.site: binder for use in uses if (binder := use.context.env.binder_of(name)) is not None}
        sizes = {axis_size(prose.view, binder, name) for binder in binders.values()}
        size = sizes.pop() if len(sizes) == 1 else None
        if size is not None:
            found[name] = size
    return found


def _binding(prose: Prose, uses: Sequence[AxisUse], name: str) -> str:
    """Returns a sentence that says which maps bind an axis, or that nothing does; `{axes}` stands for the axis."""
    mine = [use for use in uses if literal_name(use.name) == name]
    binders = {binder.site: binder for use in mine if (binder := use.context.env.binder_of(name)) is not None}
    unbound = [use for use in mine if use.context.env.binder_of(name) is None]
    if not binders:
        if any(use.context.env.open for use in unbound):
            return f"No known map binds {{axes}}; {_who_may(prose, unbound)} may."
        bound = tuple(dict.fromkeys(other for use in mine for other in use.context.env.names))
        instead = f"; bound here: {prose.axes(bound)}" if bound else ""
        return f"Nothing binds {{axes}}{instead}."
    shown = []
    for binder in list(binders.values())[:3]:
        devices = devices_of(prose.view, binder) if binder.kind in MAPS_ON_DEVICES else None
        mapped = operand_name(prose, binder)
        words = f"{prose.code(binder.kind)} of {mapped} ({prose.place(binder.site)})"
        shown.append(f"{words}, {devices}" if devices else words)
    more = len(binders) - len(shown)
    text = f"{{axes}} {{are}} bound by {'; by '.join(shown)}{f'; and by {more} more' if more > 0 else ''}."
    closed = [use for use in unbound if not use.context.env.open and use.context.sure]
    return f"{text} Other call paths leave {{axes}} unbound." if closed else text


def _who_may(prose: Prose, uses: Sequence[AxisUse]) -> str:
    """Describes the possible binder of a name that no known map binds: a map with unknown axes, or else a caller."""
    for use in uses:
        for binder in reversed(use.context.env.maps):
            if binder.open:
                return (
                    f"the {prose.code(binder.kind)} at {prose.place(binder.site)}, whose axis names are unknown here,"
                )
    return "a caller"


def _environments(prose: Prose, uses: Sequence[AxisUse], names: tuple[str, ...]) -> list[str]:
    """Returns sentences about the axis environments, unless the binders of the names describe them fully."""
    found: list[str] = []
    for use in uses:
        env = use.context.env
        binders = {binder.site for name in names if (binder := env.binder_of(name)) is not None}
        said = len(env.maps) == 1 and {env.maps[0].site} == binders and not env.open
        words = environment_words(prose, env)
        said = said or (env.open and not env.maps)
        if not said and words not in found:
            found.append(words)
    return [f"Runs {words}." for words in found[:3]]


def _switched_on(use: AxisUse) -> frozenset[str]:
    return frozenset(name for name, arg in use.arguments if isinstance(arg.value, Const) and arg.value.value is True)


def _groups(use: AxisUse) -> Seq | None:
    """Returns the groups of indices within which a collective communicates; None if no groups are known."""
    given = (arg.value for name, arg in use.arguments if name == "axis_index_groups")
    return next((value for value in given if isinstance(value, Seq)), None)


def _size_of_group(groups: Seq) -> int | None:
    """Returns the number of indices in each group; None if it is unknown or differs between groups."""
    sizes = {len(one.items) if isinstance(one, Seq) and not one.open else None for one in groups.items}
    return sizes.pop() if len(sizes) == 1 and not groups.open else None
