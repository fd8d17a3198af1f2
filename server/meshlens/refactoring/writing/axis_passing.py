"""Writes the code that passes a step's axis name to the functions that reduce for it."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Call
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.following.averaging import Reductions, helper_reductions, reducing
from meshlens.refactoring.following.helpers import Helper, name_for_axis
from meshlens.refactoring.reading.functions import Target
from meshlens.refactoring.reading.parameters import new_parameter
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import width_of
from meshlens.text import Edit, FileEdit, Span


def passing_axis(view: FileView, target: Target, found: Reductions, spelling: Spelling, axis: str) -> list[FileEdit]:
    """Returns the edits that pass on a step's axis name and add reductions to the functions that receive it.

    Args:
        view: the file of the step.
        target: the step.
        found: the values that it reduces, and the functions that reduce for it.
        spelling: spells the names in the step's file.
        axis: the source of the axis name in the step.

    Raises:
        Obstacle: a function has no room for another parameter, or no place for its reductions.
    """
    edits = _passed(view, target, found.calls, axis)
    for one in found.helpers:
        is_here = one.view.path == view.path
        start = one.view.span(one.target.at(one.target.node.site)).start
        own = spelling if is_here else Spelling(one.view, start)
        name = name_for_axis(one)
        if one.parameter is None:
            edits.append(new_parameter(one.view, one.target, name))
        guard = f"if {name} is not None:"
        edits += reducing(one.view, one.target, helper_reductions(one), own, name, guard)
        edits += _passed(
            one.view, one.target, (each for site, each in one.calls.items() if site not in one.passing), name
        )
        edits += () if is_here else import_edits(one.view, own.needed)
    return edits


def _passed(view: FileView, target: Target, calls: Iterable[tuple[Call, Helper]], axis: str) -> list[FileEdit]:
    return [_with_axis(view, target, call, f"{name_for_axis(one)}={axis}") for call, one in calls if one.needs_axis()]


def _with_axis(view: FileView, target: Target, call: Call, text: str) -> FileEdit:
    """Returns the edit that adds an argument to a call, on a new line if the layout or the line length requires it."""
    end = view.span(target.at(call.site)).end - 1
    if not call.arguments:
        return FileEdit(view.path, Edit(Span(end, end), text))
    last = _span(view, target, call.arguments[-1].site)
    line = view.source.rfind(b"\n", 0, last.start) + 1
    indent = view.source[line : last.start].decode("utf-8", "replace")
    after = view.source[last.end :].split(b"\n", 1)[0].decode("utf-8", "replace")
    is_alone = not indent.strip() and view.source[last.end : end].strip() in (b"", b",")
    is_long = len(view.source[line : last.end].decode("utf-8", "replace")) + len(text) + len(after) + 2 > width_of(view)
    column = " " * (_span(view, target, call.arguments[0].site).start - _line_start(view, target, call))
    gap = f"\n{indent}" if is_alone else f"\n{column}" if is_long else " "
    return FileEdit(view.path, Edit(Span(last.end, last.end), f",{gap}{text}"))


def _span(view: FileView, target: Target, site: int) -> Span:
    return view.span(Site(target.site.path, target.site.block, site))


def _line_start(view: FileView, target: Target, call: Call) -> int:
    return view.source.rfind(b"\n", 0, _span(view, target, call.arguments[0].site).start) + 1
