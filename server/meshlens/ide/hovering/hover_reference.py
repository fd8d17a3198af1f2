"""The start of a hover on a map or collective: its signature in the JAX in use, its purpose, a link to JAX's docs."""

from __future__ import annotations

from meshlens.ide.hovering.prose import Prose
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.signatures import SUMMARIES, signature


def with_reference(prose: Prose, dotted: str, *ours: str | None) -> str | None:
    """Returns JAX's own description of a callable, followed by ours; None if there is neither."""
    reference, own = _reference(prose, dotted), prose.page(*ours)
    rule = "---" if reference and own and not prose.is_plain else None
    return prose.page(reference, rule, own) or None


def _reference(prose: Prose, dotted: str) -> str | None:
    """Returns JAX's description; None for a name that is not a map or collective of this release."""
    name = canonical(dotted)
    found = signature(name, prose.view.jax_version)
    if found is None:
        return None
    page = f"[{name} in JAX's docs]({found.page})" if found.page and not prose.is_plain else found.page
    return prose.page(prose.snippet(found.text), SUMMARIES.get(name), page)
