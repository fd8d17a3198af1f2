"""The program needs more devices than there are, or splits an axis that does not divide evenly over them.

The target devices are those that you set with `--devices`, in the configuration or in a `# meshlens: devices=8`
comment, or those that the file itself requests (`XLA_FLAGS`, `jax_num_cpu_devices`).
If no target is set, the rule checks only arrays that are split over a mesh of known sizes.
`pmap` raises `ValueError: cannot select an axis to squeeze out which has size not equal to one, got shape=(2, 4)` for
16 rows on 8 devices, and `make_mesh` raises `ValueError: Number of devices 8 must be >= the product of mesh_shape
(16,)`.
A batch that does not divide evenly raises an `IndivisibleError`.
None of these messages says which line of your code is at fault.

The rule also checks numbers that are defaults of command-line options.

`devices: 8`

```python
import jax
import jax.numpy as jnp

CHAINS = 16


@jax.pmap
def leapfrog(q):
    return q - 0.1 * jnp.sin(q)


positions = leapfrog(jnp.zeros((CHAINS, 4)))
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX301: 16 rows are mapped, but the target has 8 devices
mesh = jax.make_mesh((4, 4), ("data", "model"))
#                    ^^^^^^ AX301: this mesh needs 16 devices, but the target has 8 devices
```

Give each device several rows with `vmap` inside `pmap`, or take the number from `jax.device_count()`:

```python
import jax
import jax.numpy as jnp

CHAINS = 16


@jax.pmap
@jax.vmap
def leapfrog(q):
    return q - 0.1 * jnp.sin(q)


positions = leapfrog(jnp.zeros((jax.device_count(), CHAINS // jax.device_count(), 4)))
mesh = jax.make_mesh((jax.device_count() // 2, 2), ("data", "model"))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import product, shape_of, sizes
from meshlens.axes.domain.values import Arg, Data, Mesh, Seq, Site
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.meshes import DEVICE_GRIDS, MESHES
from meshlens.project.settings.devices import Devices, local_there_are, there_are
from meshlens.project.view import FileView
from meshlens.rules.helpers.device_sharing import shared_badly
from meshlens.rules.helpers.specs import argument_of
from meshlens.rules.helpers.splitting import split_badly
from meshlens.text import Span


@rule("AX301", Severity.WARNING, reads="places")
def devices_exceeded(view: FileView) -> Iterator[Finding]:
    """Compares the sizes that the program splits with the assumed number of devices."""
    if not view.devices.sure:
        return
    yield from split_badly(view)
    if view.devices.target is not None:
        yield from _exceeding(view, view.devices)


def _exceeding(view: FileView, devices: Devices) -> Iterator[Finding]:
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted == "numpy.ndarray.reshape" or call.dotted in MESHES or call.dotted in DEVICE_GRIDS:
            places[call.call].append(call)
    for calls in places.values():
        found = certain((call, call.context, bool(_complaint(view, call))) for call in calls)
        if found is not None and not found.guarded:
            span, message = _complaint(view, found) or (view.span(found.call), "")
            yield Finding(span, message)
    yield from shared_badly(view, devices)


def _complaint(view: FileView, call: ApiCall) -> tuple[Span, str] | None:
    if call.dotted == "numpy.ndarray.reshape":
        return _reshape(view, call)
    if call.dotted in DEVICE_GRIDS:
        return _grid(view, call)
    return _mesh(view, call)


def _reshape(view: FileView, call: ApiCall) -> tuple[Span, str] | None:
    """Returns the fault in `devices.reshape(3, 2)`, or in reshaping a batch to one part per device."""
    receiver, wanted = call.args[0].value, [arg.value for arg in call.args[1:] if arg.label is None]
    if not isinstance(receiver, Data) or len(wanted) != len(call.args) - 1:
        return None
    shape = sizes(wanted[0] if len(wanted) == 1 else Seq("tuple", tuple(wanted)))
    have = product(receiver.shape)
    if have is None or shape is None or any(size is None for size in shape) or shape.count(-1) > 1:
        return None
    want = 1
    for size in shape:
        want *= size if size is not None and size != -1 else 1
    span = Span(_method(view, call), view.span(call.call).end)
    if want <= 0 or (have % want == 0 if -1 in shape else have == want):
        return None
    if "devices" in receiver.labels:
        needed = "a multiple of" if -1 in shape else "exactly"
        return span, f"reshape needs {needed} {counted(want, 'device')}, but {_there_are(view, have)}"
    if shape and shape[0] is not None and shape[0] in (view.devices.local_count, view.device_count):
        return span, f"{have} values do not fit shape {shape}; {_there_are(view, shape[0])}"
    return None


def _method(view: FileView, call: ApiCall) -> int:
    callee = view.span(call.callee)
    text = view.text(call.callee)
    return callee.end - len(text.rpartition(".")[2].encode())


def _grid(view: FileView, call: ApiCall) -> tuple[Span, str] | None:
    shape = argument_of(call.args, "mesh_shape", 0)
    if call.dotted.endswith("hybrid_device_mesh") or shape is None or argument_of(call.args, "devices", 1) is not None:
        return None
    want = product(sizes(shape.value))
    if want is None or want == view.device_count or want <= 0:
        return None
    return _at(view, call, shape), f"this mesh needs exactly {counted(want, 'device')}, but {there_are(view.devices)}"


def _mesh(view: FileView, call: ApiCall) -> tuple[Span, str] | None:
    row = MESHES[call.dotted]
    if row.kind != "Mesh" or row.shape is None or not isinstance(call.result, Mesh):
        return None
    shape, devices = argument_of(call.args, row.shape, 0), argument_of(call.args, row.devices or "", 99)
    have = product(shape_of(devices.value)) if devices is not None else view.device_count
    want = product(call.result.sizes)
    if shape is None or want is None or have is None or want <= have:
        return None
    return _at(view, call, shape), f"this mesh needs {want} devices, but {_there_are(view, have)}"


def _there_are(view: FileView, have: int) -> str:
    """Returns a number of devices in words, with its source if it is the number of local devices or of all devices."""
    if have == view.devices.local_count and have != view.device_count:
        return local_there_are(view.devices)
    return there_are(view.devices) if have == view.device_count else f"there are {have}"


def _at(view: FileView, call: ApiCall, arg: Arg) -> Span:
    return view.span(arg.site if arg.site is not None and view.is_here(arg.site) else call.call)
