"""The top of a hover on a map or collective: its signature in this JAX, what it does, and where JAX documents it."""

from __future__ import annotations

from meshlens.ide.prose import Prose
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.signatures import SUMMARIES, signature


def reference_text(prose: Prose, dotted: str) -> str | None:
    """What JAX itself says of a callable; None for one that is not a map or collective of this release."""
    name = canonical(dotted)
    found = signature(name, prose.view.jax_version)
    if found is None:
        return None
    page = f"[{name} in JAX's docs]({found.page})" if found.page and not prose.is_plain else found.page
    return prose.page(prose.snippet(found.text), SUMMARIES.get(name), page)
