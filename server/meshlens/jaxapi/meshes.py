"""How meshes, shardings and specs are made, and which contexts put a mesh in force."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MeshMaker:
    """A callable that returns a mesh.

    Attributes:
        dotted: its canonical name.
        parameters: names of the positional parameters in order.
        keywords: names of the keyword-only parameters.
        devices: the parameter with an array of devices.
        shape: the parameter with the sizes.
        names: the parameters that hold axis names; each a string or a tuple of them.
        axis_types: the parameter with the types of the axes.
        explicit_since: first version in which the axes are Explicit by default; None: they are Auto.
        since: first version that has it.
        kind: "Mesh", "AbstractMesh" or "pallas".
        subset: whether fewer sizes than devices are accepted.
    """

    dotted: str
    parameters: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    devices: str | None = None
    shape: str | None = None
    names: tuple[str, ...] = ("axis_names",)
    axis_types: str | None = "axis_types"
    explicit_since: Version | None = None
    since: Version | None = None
    kind: str = "Mesh"
    subset: bool = False


_SC = "jax.experimental.pallas.tpu_sc"
_ROWS = (
    MeshMaker("jax.sharding.Mesh", ("devices", "axis_names", "axis_types"), devices="devices"),
    MeshMaker(
        "jax.make_mesh",
        ("axis_shapes", "axis_names", "axis_types"),
        ("devices", "axis_sizes"),
        devices="devices",
        shape="axis_shapes",
        explicit_since=(0, 9, 0),
        since=(0, 4, 32),
        subset=True,
    ),
    MeshMaker(
        "jax.sharding.AbstractMesh",
        ("axis_sizes", "axis_names", "axis_types"),
        ("abstract_device",),
        shape="axis_sizes",
        since=(0, 4, 32),
        kind="AbstractMesh",
        subset=True,
    ),
    MeshMaker(
        f"{_SC}.VectorSubcoreMesh",
        (),
        ("core_axis_name", "subcore_axis_name", "num_cores", "num_subcores"),
        names=("core_axis_name", "subcore_axis_name"),
        axis_types=None,
        kind="pallas",
    ),
    MeshMaker(
        f"{_SC}.ScalarSubcoreMesh", (), ("axis_name", "num_cores"), names=("axis_name",), axis_types=None, kind="pallas"
    ),
    MeshMaker(
        "jax.experimental.pallas.tpu.create_tensorcore_mesh",
        ("axis_name", "devices", "num_cores"),
        names=("axis_name",),
        devices="devices",
        axis_types=None,
        kind="pallas",
    ),
    MeshMaker(
        "jax.experimental.pallas.mosaic_gpu.WarpMesh",
        ("axis_name",),
        names=("axis_name",),
        axis_types=None,
        kind="pallas",
    ),
    MeshMaker(
        "jax.experimental.pallas.mosaic_gpu.Mesh",
        (),
        ("grid", "grid_names", "cluster", "cluster_names", "num_threads", "thread_name", "kernel_name"),
        shape="grid",
        names=("grid_names", "cluster_names", "thread_name"),
        axis_types=None,
        kind="pallas",
    ),
)

MESHES: dict[str, MeshMaker] = {row.dotted: row for row in _ROWS}


@dataclass(frozen=True, slots=True)
class MeshContext:
    """A context (or call) that puts a mesh in force; it binds no axis name.

    Attributes:
        dotted: its canonical name.
        supplies: `shard_map` without a mesh takes this one.
        call: calling it without `with` has an effect that stays.
        since, until: first version that has it, first version without it.
    """

    dotted: str
    supplies: bool = True
    call: bool = False
    since: Version | None = None
    until: Version | None = None


_CONTEXTS = (
    MeshContext("jax.set_mesh", call=True, since=(0, 5, 3)),
    MeshContext("jax.sharding.use_mesh", since=(0, 5, 0), until=(0, 7, 1)),
    MeshContext("jax.sharding.use_abstract_mesh", since=(0, 7, 2)),
    MeshContext("jax.sharding.Mesh", supplies=False),
)

MESH_CONTEXTS: dict[str, MeshContext] = {row.dotted: row for row in _CONTEXTS}


PARTITION_SPEC = "jax.sharding.PartitionSpec"

SPECS: dict[str, tuple[str, ...]] = {
    "jax.sharding.PartitionSpec": (),
    "jax.sharding.NamedSharding": ("mesh", "spec"),
    "jax.lax.with_sharding_constraint": ("x", "shardings"),
    "jax.reshard": ("xs", "out_shardings"),
}
"""Callables that take or make specs, with the names of their positional parameters."""

TAKE_SPECS: dict[str, str] = {
    "jax.lax.with_sharding_constraint": "shardings",
    "jax.reshard": "out_shardings",
    "jax.device_put": "device",
}
"""What takes a bare spec as its second argument, under that name, for the mesh that is in force."""

OUT_SHARDING = "out_sharding"
"""The keyword under which functions of arrays take a spec for their result, for the mesh that is in force."""

DEVICE_GRIDS: dict[str, tuple[str, ...]] = {
    "jax.experimental.mesh_utils.create_device_mesh": ("mesh_shape", "devices"),
    "jax.experimental.mesh_utils.create_hybrid_device_mesh": ("mesh_shape", "dcn_mesh_shape", "devices"),
}
"""Callables that arrange the devices in an array of the shape that is their first argument."""

GRID_SPECS: dict[str, int] = {
    "jax.experimental.pallas.GridSpec": 0,
    "jax.experimental.pallas.tpu.PrefetchScalarGridSpec": 1,
}
"""What describes the grid of a `pallas_call`, with the position of its parameter `grid`."""

PARTITIONED = frozenset({"flax.linen.with_logical_partitioning", "flax.linen.LogicallyPartitioned"})
"""What says the logical names of an array's dimensions."""
