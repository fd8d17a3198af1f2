"""A mesh has more or fewer axis names than its array of devices has dimensions.

Each dimension of the device array needs one name.
`Mesh` raises `ValueError: Mesh requires the ndim of its first argument ("devices") to equal the length of its second
argument ("axis_names")`; `make_mesh` and `AbstractMesh` raise similar errors.
`jax.devices()` returns a list, so an array made from it has one dimension until you reshape it.

```python
import jax
import numpy as np
from jax.sharding import Mesh

mesh = Mesh(np.array(jax.devices()), ("data", "model"))
#                                    ^^^^^^^^^^^^^^^^^ AX203: the mesh has 2 axis names, but its device array has 1 \\
#                                    dimension

grid = jax.make_mesh((4, 2), ("data",))
#                            ^^^^^^^^^ AX203: the mesh has 1 axis name, but its shape has 2 dimensions
```

Reshape the array, or use `jax.make_mesh`, which takes the sizes and arranges the devices:

```python
import jax
import numpy as np
from jax.sharding import Mesh

mesh = Mesh(np.array(jax.devices()).reshape(-1, 1), ("data", "model"))
grid = jax.make_mesh((4, 2), ("data", "model"))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Mesh, Seq, Site
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.places import route_places
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.meshes import MESHES
from meshlens.project.view import FileView
from meshlens.rules.helpers.specs import argument_of


@rule("AX203", Severity.ERROR, reads="places")
def mesh_shape_mismatch(view: FileView) -> Iterator[Finding]:
    """Compares each mesh's number of axis names with the dimensions of its devices and with its axis types."""
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted in MESHES and MESHES[call.dotted].kind != "pallas" and isinstance(call.result, Mesh):
            places[call.call].append(call)
    for calls in places.values():
        for differs, explain in ((_sizes_differ, _of_sizes), (_types_differ, _of_types)):
            found = certain((call, call.context, differs(call)) for call in calls)
            if found is not None:
                yield explain(view, found)
                break


def _sizes_differ(call: ApiCall) -> bool | None:
    mesh = call.result
    if not isinstance(mesh, Mesh) or mesh.open or mesh.sizes is None:
        return None
    return len(mesh.sizes) != len(mesh.names)


def _types_differ(call: ApiCall) -> bool | None:
    mesh = call.result
    types = argument_of(call.args, "axis_types", 2)
    if not isinstance(mesh, Mesh) or mesh.open or types is None or not isinstance(types.value, Seq) or types.value.open:
        return None
    return len(types.value.items) != len(mesh.names)


def _of_sizes(view: FileView, call: ApiCall) -> Finding:
    mesh, row = call.result, MESHES[call.dotted]
    assert isinstance(mesh, Mesh) and mesh.sizes is not None
    dimensions = len(mesh.sizes)
    what = (
        f"its device array has {counted(dimensions, 'dimension')}"
        if row.shape is None
        else f"its shape has {counted(dimensions, 'dimension')}"
    )
    message = f"the mesh has {counted(len(mesh.names), 'axis name')}, but {what}"
    shape = argument_of(call.args, row.shape or row.devices or "", 0)
    related: tuple[Related, ...] = ()
    if shape is not None and shape.site is not None:
        here = f"{counted(dimensions, 'dimension')} here"
        related = (Related(view.path_of(shape.site), view.span(shape.site), here),)
    return Finding(view.span(_names(view, call)), message, (), (*route_places(view, call.context), *related))


def _of_types(view: FileView, call: ApiCall) -> Finding:
    types = argument_of(call.args, "axis_types", 2)
    assert isinstance(call.result, Mesh) and types is not None and isinstance(types.value, Seq)
    site = types.site if view.is_here(types.site) else None
    given, names = counted(len(types.value.items), "axis type"), counted(len(call.result.names), "axis name")
    message = f"the mesh has {given}, but {names}"
    return Finding(view.span(site or call.call), message, (), route_places(view, call.context))


def _names(view: FileView, call: ApiCall) -> Site:
    names = argument_of(call.args, "axis_names", 1)
    return names.site if names is not None and names.site is not None and view.is_here(names.site) else call.call
