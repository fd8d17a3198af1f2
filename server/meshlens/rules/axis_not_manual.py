"""A spec of a partially manual `shard_map` names a mesh axis that is not in its `axis_names`.

If `axis_names` is given, only the axes in it are manual; the compiler handles the others, and specs may name only
manual axes.
Otherwise, `shard_map` raises `ValueError: shard_map in_specs argument must refer to an axis marked as manual
(frozenset({'dp'})), but: in_specs refers to 'tp'`.

```python
import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("dp", "tp"))


def scale(x):
    return x * 2


f = jax.shard_map(scale, mesh=mesh, in_specs=P("dp", "tp"), out_specs=P("dp", "tp"), axis_names={"dp"})
#                                                    ^^^^ AX204: axis "tp" is not manual here (axis_names: "dp")
#                                                                             ^^^^ AX204: axis "tp" is not manual \\
#                                                                             here (axis_names: "dp")
```

becomes

```python
import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("dp", "tp"))


def scale(x):
    return x * 2


f = jax.shard_map(scale, mesh=mesh, in_specs=P("dp", "tp"), out_specs=P("dp", "tp"), axis_names={"dp", "tp"})
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.specs import spec_names, specs_in
from meshlens.axes.domain.values import Seq, Site
from meshlens.axes.jax.naming import names_in
from meshlens.axes.runs.records import Binding
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.places import quoted
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.view import FileView
from meshlens.rules.helpers.specs import blamed, mesh_axes
from meshlens.text import Edit, FileEdit, Span

_OTHER_MAPS = MAPS_ON_DEVICES - {"shard_map"}
"""Maps that cannot contain a `shard_map`; a `shard_map` can, if the inner one names axes that are not manual yet."""


@rule("AX204", Severity.ERROR, reads="places")
def axis_not_manual(view: FileView) -> Iterator[Finding]:
    """Compares the axis names of a `shard_map`'s specs with its `axis_names`."""
    places: dict[tuple[Site, str], list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if _manual(binding) is None:
            continue
        for parameter in ("in_specs", "out_specs"):
            arg = binding.binder.argument(parameter)
            for spec in specs_in(arg.value) if arg is not None else ():
                for name, site in spec_names(spec):
                    place = blamed(view, name, site, arg.site if arg is not None else None)
                    if place is not None:
                        places[(place, name.value)].append(binding)
    for (place, text), bindings in places.items():
        found = certain((one, one.context, text not in (_manual(one) or ())) for one in bindings)
        axes = mesh_axes(found.binder.mesh) if found is not None else None
        if found is not None and (axes is None or {text, *(_manual(found) or ())} <= set(axes)):
            yield _finding(view, place, text, found)


def _manual(binding: Binding) -> tuple[str, ...] | None:
    binder = binding.binder
    chosen = binder.argument("axis_names")
    if binder.kind != "shard_map" or chosen is None or not isinstance(chosen.value, Seq) or chosen.value.open:
        return None
    if any(outer.kind in _OTHER_MAPS for outer in binding.context.env.maps) or binding.context.env.open:
        return None
    names, unknown = names_in(chosen.value)
    return None if unknown or not names else tuple(name.value for name in names)


def _finding(view: FileView, place: Site, name: str, binding: Binding) -> Finding:
    manual = _manual(binding) or ()
    chosen = binding.binder.argument("axis_names")
    assert chosen is not None and chosen.site is not None
    are = "is" if len(manual) == 1 else "are"
    related = Related(view.path_of(chosen.site), view.span(chosen.site), f"only {quoted(manual)} {are} manual here")
    message = f'axis "{name}" is not manual here (axis_names: {quoted(manual)})'
    is_bound = binding.context.env.binder_of(name) is not None
    fixes = _also_manual(view, chosen.site, name) if not is_bound else ()
    return Finding(view.span(place), message, fixes, (related,))


def _also_manual(view: FileView, site: Site, name: str) -> tuple[Fix, ...]:
    text = view.text(site)
    if not (text.startswith("{") and text.endswith(("'}", '"}'))):
        return ()
    quote = text[-2]
    end = view.span(site).end - 1
    edit = FileEdit(view.path_of(site), Edit(Span(end, end), f", {quote}{name}{quote}"))
    why = "the function body then sees shards along this axis"
    return (Fix(f'make axis "{name}" manual too', (edit,), "unsafe", why),)
