"""The code uses an API that the JAX version in use no longer has.

An import raises `ImportError` and an attribute raises `AttributeError`, but only when the line runs.
Type checkers may miss it: JAX 0.10 still declares `jax.device_put_replicated` for them.
Code under `try: … except ImportError`, `hasattr` or a version check is not reported.

```python
import jax
import jax.numpy as jnp

params = {"w": jnp.ones(3)}
print(jax.tree_map(jnp.shape, params))
#     ^^^^^^^^^^^^ AX501: "jax.tree_map" was removed in JAX 0.6.0; use "jax.tree.map"
```

becomes

```python
import jax
import jax.numpy as jnp

params = {"w": jnp.ones(3)}
print(jax.tree.map(jnp.shape, params))
```

A `pmap` inside a `pmap` is no longer supported either: since JAX 0.8, it raises `ValueError: The context mesh … should
match the mesh passed to shard_map`.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.checking.callees import callee_span
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.jaxapi.history import holds
from meshlens.project.view import FileView
from meshlens.rules.helpers.history import dated_keywords, dated_names, is_removed
from meshlens.rules.helpers.history_fixes import history_fixes, keyword_finding, version_words, wording
from meshlens.rules.helpers.uses_of_names import UsesOfNames
from meshlens.text import Span


@rule("AX501", Severity.ERROR, reads="names")
def removed_api(view: FileView) -> Iterator[Finding]:
    """Reports names and nestings that the JAX in use does not have."""
    names = UsesOfNames(view)
    for dated in dated_names(view, lambda row: is_removed(row, view.jax_version)):
        assert dated.change.removed is not None
        since = version_words(dated.change.removed)
        message = f'"{dated.change.dotted}" was removed in {since}{wording(dated, view.jax_version)}'
        yield Finding(dated.span, message, history_fixes(view, dated, names))
    yield from _keywords(view)
    if holds("nested-pmap-fails", view.jax_version) and b"fake_pmap" not in view.source:
        yield from _nested(view)


def _keywords(view: FileView) -> Iterator[Finding]:
    version = view.jax_version
    for dated in dated_keywords(view, lambda row: is_removed(row, version)):
        row = dated.change
        assert row.removed is not None
        since = version_words(row.removed)
        message = f'argument "{row.keyword}" of "{row.dotted}" was removed in {since}'
        yield keyword_finding(view, dated, message)


def _nested(view: FileView) -> Iterator[Finding]:
    seen: set[Span] = set()
    for call in view.records.mapped_calls:
        outer = next((binder for binder in reversed(call.context.env.maps) if binder.kind == "pmap"), None)
        context = call.context
        if call.binder.kind != "pmap" or outer is None or outer.site == call.binder.site or not call.visible:
            continue
        if context.guarded or context.conditional or context.expected or context.host or not context.sure:
            continue
        if not all(binder.dotted.startswith("jax.") for binder in (outer, call.binder)):
            continue
        here = view.is_here(call.binder.site)
        span = callee_span(view, call.binder.site, "pmap") if here else view.span(call.call)
        if span in seen:
            continue
        seen.add(span)
        place = Related(view.path_of(outer.site), view.span(outer.site), "the outer pmap is created here")
        message = "pmap inside pmap fails as of JAX 0.8.0; use one shard_map over two mesh axes"
        yield Finding(span, message, (), (place,))
