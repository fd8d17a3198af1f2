"""Completions at a cursor: axis names, mesh axes, skeletons of `in_axes` and specs, snippets."""

from __future__ import annotations

from meshlens.ide.completing.complete_axes import bound_axes
from meshlens.ide.completing.complete_layouts import layouts
from meshlens.ide.completing.complete_mesh_axes import mesh_axes_here
from meshlens.ide.completing.complete_new_axis import new_axis
from meshlens.ide.completing.complete_snippets import snippets
from meshlens.ide.completing.completing import Completion, CompletionWants, Place
from meshlens.ide.completing.typed import typed_at
from meshlens.ide.completing.typed_call import calls_at
from meshlens.project.view import FileView

__all__ = ["Completion", "CompletionWants", "complete"]

_KINDS = (mesh_axes_here, new_axis, layouts, bound_axes)


def complete(
    view: FileView, offset: int, wants: CompletionWants, before: FileView | None = None
) -> tuple[Completion, ...]:
    """Returns the completions at a cursor, best first.

    Args:
        view: the file as it is now, broken or not.
        offset: the cursor, in bytes.
        wants: the capabilities of the client.
        before: the same file when it last had no errors, for information missing from the broken text.
    """
    typed = typed_at(view.source, offset)
    if typed is None:
        return ()
    if not typed.openings:
        return snippets(view, typed, wants) if typed.string is None else ()
    place = Place(view, before, typed, calls_at(view, typed), wants)
    for kind in _KINDS:
        found = kind(place)
        if found is not None:
            return found
    return ()
