"""The specs that are certainly used: in a `NamedSharding`, a sharding constraint, or a `shard_map`."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.specs import specs_in
from meshlens.axes.domain.values import Site, Spec
from meshlens.axes.runs.context import Context
from meshlens.jaxapi.meshes import OUT_SHARDING, TAKE_SPECS
from meshlens.project.view import FileView

_USERS = frozenset({"jax.sharding.NamedSharding", *TAKE_SPECS})


def specs_in_use(view: FileView) -> Iterator[tuple[Spec, Context, Site]]:
    """Yields each spec with the context and place of its use, for uses in this file."""
    for call in view.records.calls:
        is_user = call.dotted in _USERS
        for arg in call.args:
            if is_user or arg.label == OUT_SHARDING:
                for spec in specs_in(arg.value):
                    yield spec, call.context, call.call
    for binding in view.records.bindings:
        if binding.binder.kind != "shard_map":
            continue
        for name, arg in binding.binder.arguments:
            if name in ("in_specs", "out_specs"):
                for spec in specs_in(arg.value):
                    yield spec, binding.context, binding.binder.site
