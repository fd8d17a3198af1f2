"""A fix that replaces a string literal with another axis name."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.checking.model import Fix
from meshlens.project.view import FileView
from meshlens.project.writing.literals import rewritten
from meshlens.text import Edit, FileEdit


def write_name(view: FileView, site: Site, name: str, title: str, why: str = "") -> tuple[Fix, ...]:
    """Returns the fix that replaces a string literal with another name in the same quotes; () if there is no literal.

    Args:
        view: the file.
        site: the literal.
        name: the new name.
        title: the title of the fix.
        why: why the fix is unsafe; empty if it is safe.
    """
    text = rewritten(view.text(site), name)
    if text is None:
        return ()
    edit = FileEdit(view.path_of(site), Edit(view.span(site), text))
    return (Fix(title, (edit,), "unsafe" if why else "safe", why),)
