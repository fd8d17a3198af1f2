"""Calls with keyword arguments, which `pmap` maps over axis 0 and `shard_map` does not accept."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import MappedCall
from meshlens.facts.nodes import Argument, Call
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle, Pmap
from meshlens.refactoring.maps.prefix import Items, Prefix
from meshlens.text import Edit, FileEdit, Span

_KEYWORD = re.compile(r"\w+\s*=\s*")


def by_position(view: FileView, pmap: Pmap) -> tuple[tuple[FileEdit, ...], Prefix, tuple[str, ...]]:
    """Returns the edits that make calls pass all arguments by position, the new `in_axes`, and the keywords to restore.

    The mapped function must still receive its last arguments under the keywords to restore.

    Raises:
        Obstacle: a call cannot be rewritten this way.
    """
    for call in pmap.calls:
        if call.exact:
            _must_fit(view, pmap, call)
    # An argument with one star passes values by position, however many there are.
    keyword_calls = {call.call: call for call in pmap.calls if _keywords(call)}
    if not keyword_calls:
        return (), pmap.in_axes, ()
    nodes = {site: _node(view, call) for site, call in keyword_calls.items()}
    names: tuple[str, ...] = ()
    try:
        wanted = {site: _wanted(view, pmap, site, node) for site, node in nodes.items()}
    except Obstacle:
        names = tuple(label for label, _, _ in next(iter(nodes.values())).arguments if label is not None)
        if any(_keywords(call) != set(names) for call in pmap.calls):
            raise
        wanted = dict.fromkeys(nodes, names)
    edits = tuple(edit for site, node in nodes.items() for edit in _edits(view, site, node, wanted[site]))
    if pmap.in_axes == 0:
        return edits, 0, names
    starred = next((call for call in pmap.calls if not call.exact), None)
    if starred is not None:
        where = f"the call on line {_line(view, starred.call)}"
        raise Obstacle("splat", f"{where} passes arguments with a splat, and other calls pass keyword arguments")
    axes = {_axes(pmap, call) for call in pmap.calls}
    if len(axes) > 1:
        raise Obstacle("keyword-arguments", "the calls pass different arguments by keyword")
    return edits, axes.pop(), names


def _keywords(call: MappedCall) -> set[str | None]:
    return {arg.label for arg in call.args} - {None, "*"}


def _must_fit(view: FileView, pmap: Pmap, call: MappedCall) -> None:
    count = sum(arg.label is None for arg in call.args)
    if isinstance(pmap.in_axes, Items) and len(pmap.in_axes.items) != count:
        entries = f"{len(pmap.in_axes.items)} {'entry' if len(pmap.in_axes.items) == 1 else 'entries'}"
        arguments = f"{count} argument{'s' * (count != 1)} by position"
        text = f"in_axes has {entries}, but the call on line {_line(view, call.call)} passes {arguments}"
        raise Obstacle("in-axes-mismatch", text)


def _axes(pmap: Pmap, call: MappedCall) -> Prefix:
    axes = pmap.in_axes
    positional = [arg for arg in call.args if arg.label is None]
    own = axes.items if isinstance(axes, Items) else tuple([axes] * len(positional))
    return Items("tuple", (*own, *[0] * (len(call.args) - len(positional))))


def _node(view: FileView, call: MappedCall) -> Call:
    path = path_to(view, call.call)
    node = path[-1] if path else None
    if not isinstance(node, Call) or any(label in ("*", "**") for label, _, _ in node.arguments) or not call.exact:
        where = f"the call on line {_line(view, call.call)}"
        raise Obstacle("splat", f"{where} passes keyword arguments and a splat")
    return node


def _wanted(view: FileView, pmap: Pmap, site: Site, node: Call) -> tuple[str, ...]:
    """Returns the names of a call's keyword arguments, in the order of the parameters."""
    where = f"the call on line {_line(view, site)}"
    if pmap.parameters is None:
        raise Obstacle(
            "keyword-arguments", f"{where} passes arguments by keyword, but the function's parameters are unknown"
        )
    only = {name for name, how, _ in pmap.binding.parameters or () if how == "key"}
    named = next((label for label, _, _ in node.arguments if label in only), None)
    if named is not None:
        raise Obstacle("keyword-only", f'{where} passes "{named}", which the function only accepts by keyword')
    positional = sum(label is None for label, _, _ in node.arguments)
    labels = [label for label, _, _ in node.arguments if label is not None]
    wanted = pmap.parameters[positional : positional + len(labels)]
    if sorted(wanted) != sorted(labels):
        raise Obstacle("keyword-arguments", f"{where} leaves out arguments that come before its keyword arguments")
    return wanted


def _edits(view: FileView, site: Site, node: Call, wanted: tuple[str, ...]) -> list[FileEdit]:
    keywords = [argument for argument in node.arguments if argument.label is not None]
    texts = {argument.label: _value(view, site, argument) for argument in keywords}
    edits = []
    for argument, name in zip(keywords, wanted, strict=True):
        span = view.span(Site(site.path, site.block, argument.site))
        if argument.label == name:
            span = Span(span.start, span.end - len(texts[name].encode()))
            edits.append(FileEdit(view.path_of(site), Edit(span, "")))
        else:
            edits.append(FileEdit(view.path_of(site), Edit(span, texts[name])))
    return edits


def _value(view: FileView, call: Site, argument: Argument) -> str:
    text = view.text(Site(call.path, call.block, argument.site))
    found = _KEYWORD.match(text)
    return text[found.end() :] if found is not None else text


def _line(view: FileView, site: Site) -> int:
    return view.texts[site.path].count(b"\n", 0, view.span(site).start) + 1
