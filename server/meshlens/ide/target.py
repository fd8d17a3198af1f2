"""The sites at an offset in a file, innermost first."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.project.view import FileView


def sites_at(view: FileView, offset: int) -> tuple[Site, ...]:
    """Returns the sites whose text contains an offset, the shortest first; the end of a site counts as inside.

    Sites of whole statements or blocks come last; of two sites with the same text, the inner one comes first.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
    """
    found = sorted(_sites(view, offset))
    return tuple(site for _, _, site in found)


def _sites(view: FileView, offset: int) -> Iterator[tuple[int, int, Site]]:
    path = str(view.path)
    for key, block in view.facts.blocks.items():
        whole = block.span(0)
        if not whole.start <= offset <= whole.end:
            continue
        for index in range(len(block.spans) // 2):
            span = block.span(index)
            if span.start <= offset <= span.end:
                yield span.end - span.start, -index, Site(path, key, index)
