"""Calls that hand over keyword arguments, which `pmap` maps on axis 0 and `shard_map` does not take."""

from __future__ import annotations

import re

from meshlens.assists._pmap import Obstacle, Pmap
from meshlens.assists._prefix import Items, Prefix
from meshlens.axes.records import MappedCall
from meshlens.axes.values import Site
from meshlens.project.trees import Node, path_to
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_KEYWORD = re.compile(r"\w+\s*=\s*")


def by_position(view: FileView, pmap: Pmap) -> tuple[tuple[FileEdit, ...], Prefix]:
    """Edits after which every call gives its arguments by position, and the `in_axes` that then hold.

    Raises:
        Obstacle: a call cannot be written that way.
    """
    for call in pmap.calls:
        if call.exact:
            _must_fit(view, pmap, call)
    keyword_calls = {call.call: call for call in pmap.calls if any(arg.label is not None for arg in call.args)}
    if not keyword_calls:
        return (), pmap.in_axes
    edits: list[FileEdit] = []
    for call in keyword_calls.values():
        edits += _edits(view, pmap, call)
    axes = {_axes(pmap, call) for call in pmap.calls}
    if pmap.in_axes == 0:
        return tuple(edits), 0
    if len(axes) > 1:
        raise Obstacle("keyword-arguments", "the calls give different arguments by keyword")
    return tuple(edits), axes.pop()


def _must_fit(view: FileView, pmap: Pmap, call: MappedCall) -> None:
    count = sum(arg.label is None for arg in call.args)
    if isinstance(pmap.in_axes, Items) and len(pmap.in_axes.items) != count:
        entries = f"{len(pmap.in_axes.items)} {'entry' if len(pmap.in_axes.items) == 1 else 'entries'}"
        text = f"in_axes has {entries}, the call in line {_line(view, call.call)} passes {count} arguments"
        raise Obstacle("in-axes-mismatch", text)


def _axes(pmap: Pmap, call: MappedCall) -> Prefix:
    axes = pmap.in_axes
    positional = [arg for arg in call.args if arg.label is None]
    own = axes.items if isinstance(axes, Items) else tuple([axes] * len(positional))
    return Items("tuple", (*own, *[0] * (len(call.args) - len(positional))))


def _edits(view: FileView, pmap: Pmap, call: MappedCall) -> list[FileEdit]:
    where = f"the call in line {_line(view, call.call)}"
    path = path_to(view, call.call)
    node = path[-1] if path else None
    if node is None or node[0] != "call" or any(label in ("*", "**") for label, _, _ in node[3]) or not call.exact:
        raise Obstacle("keyword-splat", f"{where} hands over keywords that are not written there")
    if pmap.parameters is None:
        raise Obstacle("keyword-arguments", f"{where} gives keywords, and the function's parameters are not known")
    only = {name for name, how, _ in pmap.binding.parameters or () if how == "key"}
    named = next((label for label, _, _ in node[3] if label in only), None)
    if named is not None:
        raise Obstacle("keyword-only", f'{where} gives "{named}", which the function takes by keyword only')
    positional = sum(label is None for label, _, _ in node[3])
    keywords = [argument for argument in node[3] if argument[0] is not None]
    wanted = pmap.parameters[positional : positional + len(keywords)]
    if sorted(wanted) != sorted(label for label, _, _ in keywords):
        raise Obstacle("keyword-arguments", f"{where} leaves out arguments before those that it names")
    texts = {argument[0]: _value(view, call.call, argument) for argument in keywords}
    edits = []
    for argument, name in zip(keywords, wanted, strict=True):
        span = view.span(Site(call.call.path, call.call.block, argument[1]))
        if argument[0] == name:
            span = Span(span.start, span.end - len(texts[name].encode()))
            edits.append(FileEdit(view.path_of(call.call), Edit(span, "")))
        else:
            edits.append(FileEdit(view.path_of(call.call), Edit(span, texts[name])))
    return edits


def _value(view: FileView, call: Site, argument: Node) -> str:
    text = view.text(Site(call.path, call.block, argument[1]))
    found = _KEYWORD.match(text)
    return text[found.end() :] if found is not None else text


def _line(view: FileView, site: Site) -> int:
    return view.texts[site.path].count(b"\n", 0, view.span(site).start) + 1
