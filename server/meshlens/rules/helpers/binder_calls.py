"""Checks that JAX accepts the call that creates a map, so that its arguments can be trusted."""

from __future__ import annotations

from meshlens.axes.domain.values import Binder
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.keywords import keywords
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView


def is_accepted(view: FileView, binder: Binder) -> bool:
    """Returns whether a map gets only arguments that it accepts, and not too many by position."""
    name = canonical(binder.dotted)
    row, known = BINDERS.get(name), keywords(name, view.jax_version)
    if row is None or known is None:
        return True
    if any(label not in known and label not in ("*", "**") for label, _ in binder.arguments):
        return False
    records = view.solution.by_file.get(binder.site.path)
    return not any(
        call.call == binder.site and sum(arg.label is None for arg in call.args) > len(row.parameters)
        for call in (records.calls if records is not None else ())
    )
