"""Maps applied at import time: the mesh is created at the first call, so no import starts a backend.

A module-level `Mesh(jax.devices(), …)` starts the backend when the file is imported, even before
`jax.distributed.initialize` or on a machine without the devices. A function mapped by `pmap` requests devices only
when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Const
from meshlens.axes.runs.programs import is_program
from meshlens.facts.nodes import Attribute, Call, Expression, FunctionDef, FunctionShape, Lambda, Name
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.refactoring.maps.pmap import Pmap
from meshlens.refactoring.writing.helpers import with_helper
from meshlens.refactoring.writing.mesh import mesh_name
from meshlens.refactoring.writing.placing import Place, place_before
from meshlens.refactoring.writing.sharding import OnMesh, mesh_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import FileEdit

_ON_CALL = '''\
def {name}(function, mesh, **specs):
    """Runs a function on the mesh that `mesh()` creates at the first call."""

    def run(*args):
        return {shard_map}(function, mesh=mesh(), **specs)(*args)

    return run'''
_MAKE_ARRAYS = ("jax.numpy", "jax.random")
_ASK_DEVICES = frozenset({"devices", "local_devices", "device_count", "local_device_count", "device_put", "make_mesh"})


@dataclass(frozen=True, slots=True)
class MeshUse:
    """The way a map gets its mesh.

    Attributes:
        shard_map: the callee that applies the map.
        mesh: the callee's argument `mesh`.
        edits: the edits that the callee and the mesh need.
    """

    shard_map: str
    mesh: str
    edits: tuple[FileEdit, ...] = ()


def mesh_for(view: FileView, spelling: Spelling, made: OnMesh, pmap: Pmap) -> MeshUse:
    """Returns a map's mesh, which exists already or is created by a statement before the map or at the first call.

    Args:
        view: the file.
        spelling: spells the names.
        made: the source of the mesh.
        pmap: the map.
    """
    site = pmap.binder.site
    place = place_before(view, site)
    if place is None or (not place.same_scope and pmap.given("devices") is not None):
        return MeshUse(spelling.shard_map(), made.made)
    name, edits = mesh_name(view, made.made, site, place)
    if not edits or not _is_made_at_import(view, pmap, place):
        return MeshUse(spelling.shard_map(), name, edits)
    mesh, mesh_edits = mesh_helper(view, spelling, made)
    helper, helper_edits = with_helper(view, "on_mesh", _ON_CALL, spelling.at, shard_map=spelling.shard_map())
    return MeshUse(helper, mesh, (*mesh_edits, *helper_edits))


def _is_made_at_import(view: FileView, pmap: Pmap, place: Place) -> bool:
    """Returns whether importing the file would start the backend only because a mesh is created at a place."""
    size = pmap.given("axis_size")
    is_plain = pmap.given("devices") is None and (size is None or isinstance(size.value, Const))
    return not place.indent and is_plain and not _starts_backend(view, pmap)


def _starts_backend(view: FileView, pmap: Pmap) -> bool:
    """Returns whether importing a file calls the map, requests devices or creates arrays."""
    seen = {(call.call.block, call.call.index) for call in pmap.calls if view.is_here(call.call)}
    jax = name_of_module(view, "jax")
    arrays = {name_of_module(view, module) for module in _MAKE_ARRAYS} - {None}
    arrays |= {module.replace("jax", jax, 1) for module in _MAKE_ARRAYS if jax is not None}
    for key in view.facts.top:
        block = view.facts.blocks[key]
        if is_program(block.header):
            continue
        for call in _calls_at_import(block.shape):
            if (key, call.site) in seen or _asks_backend(call.callee, jax, arrays):
                return True
    return False


def _asks_backend(callee: Expression, jax: str | None, arrays: set[str | None]) -> bool:
    if not isinstance(callee, Attribute):
        return False
    module = _spelled(callee.object)
    return module in arrays or (module == jax and callee.name in _ASK_DEVICES)


def _spelled(node: Expression) -> str | None:
    """Returns a name with its attributes, as the file spells it."""
    if isinstance(node, Name):
        return node.name
    outer = _spelled(node.object) if isinstance(node, Attribute) else None
    return f"{outer}.{node.name}" if outer is not None and isinstance(node, Attribute) else None


def _calls_at_import(shape: object) -> Iterator[Call]:
    """Yields the calls in a top-level statement that run at import."""
    waiting = [shape]
    while waiting:
        node = waiting.pop()
        if not node or not isinstance(node, tuple) or isinstance(node, (FunctionDef, FunctionShape, Lambda)):
            continue
        if isinstance(node, Call):
            yield node
        waiting.extend(node)
