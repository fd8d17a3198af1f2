"""Callables that make meshes, shardings and specs, and context managers that make a mesh current."""

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
        devices: the parameter for an array of devices.
        shape: the parameter for the sizes.
        names: the parameters for axis names, each a string or a tuple of strings.
        axis_types: the parameter for the types of the axes.
        explicit_since: first version in which axes are Explicit by default; None if they are Auto.
        since: first version with it.
        kind: "Mesh", "AbstractMesh" or "pallas".
        subset: whether the sizes may use only some of the devices.
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
    """A context manager (or call) that makes a mesh current; it binds no axis name.

    Attributes:
        dotted: its canonical name.
        supplies: whether `shard_map` without a mesh uses this one.
        call: whether calling it without `with` has a lasting effect.
        since, until: first version with it, first version without it.
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

MESH_HOLDERS = frozenset({"jax.interpreters.pxla.thread_resources", "jax.sharding.thread_resources"})
"""The canonical names of the object whose `env` holds the mesh of `with mesh:`; programs set it for good.

`jax.sharding.thread_resources` stands for `jax._src.mesh.thread_resources`.
"""

ENTERS = frozenset({"__enter__", "enter_context"})
"""Methods that enter a context manager, which stays entered after the call."""


PARTITION_SPEC = "jax.sharding.PartitionSpec"

SPECS: dict[str, tuple[str, ...]] = {
    "jax.sharding.PartitionSpec": (),
    "jax.sharding.NamedSharding": ("mesh", "spec"),
    "jax.lax.with_sharding_constraint": ("x", "shardings"),
    "jax.reshard": ("xs", "out_shardings"),
}
"""Callables that accept or make specs, with the names of their positional parameters."""

CONSTRAINT = "jax.lax.with_sharding_constraint"

TAKE_SPECS: dict[str, str] = {
    CONSTRAINT: "shardings",
    "jax.reshard": "out_shardings",
    "jax.device_put": "device",
}
"""Callables that accept a bare spec for the current mesh as their second argument, with the name of that argument."""

OUT_SHARDING = "out_sharding"
"""The keyword of array functions for the spec of the result, which refers to the current mesh."""

DEVICE_GRIDS: dict[str, tuple[str, ...]] = {
    "jax.experimental.mesh_utils.create_device_mesh": ("mesh_shape", "devices"),
    "jax.experimental.mesh_utils.create_hybrid_device_mesh": ("mesh_shape", "dcn_mesh_shape", "devices"),
}
"""Callables that arrange the devices in an array, whose shape depends on their first argument."""

GRID_SPECS: dict[str, int] = {
    "jax.experimental.pallas.GridSpec": 0,
    "jax.experimental.pallas.tpu.PrefetchScalarGridSpec": 1,
}
"""Callables that describe the grid of a `pallas_call`, with the position of `grid`."""

CURRENT_MESH = frozenset({"jax.sharding.get_mesh", "jax.sharding.get_abstract_mesh"})
"""Functions that return the mesh of `jax.set_mesh`."""

PARTITIONED = frozenset({"flax.linen.with_logical_partitioning", "flax.linen.LogicallyPartitioned"})
"""Callables that set the logical names of an array's dimensions."""

NAME_MESH_AXES: dict[str, str] = {
    "flax.linen.with_partitioning": "names",
    "flax.nnx.with_partitioning": "sharding",
}
"""Callables that put the mesh axes of an array's dimensions in its metadata, with the name of their second argument."""

SHARDS_NEW_VARIABLES = "flax.nnx.with_partitioning"
"""The callable whose initializers make variables that are sharded at once, over the mesh of `jax.set_mesh`."""

SHARDS_NEW_VARIABLES_SINCE: Version = (0, 12)
"""The first release of flax that shards new variables at once."""

USED_WITH_SHARDING_FLAX: Version = (0, 8)
"""The first release of JAX with which a project whose flax is unknown is taken to have such a flax."""

TAKES_ENTERED_MESH_UNTIL: Version = (0, 12, 1)
"""The first release of flax that does not shard new variables over the mesh of `with mesh:`."""

VARIABLES = frozenset(f"flax.nnx.{name}" for name in "Variable Param BatchStat Cache Intermediate".split())
"""The classes of nnx's variables, which take annotations as keywords."""

ANNOTATE_VARIABLES: dict[str, Version] = {"sharding": (0, 12), "sharding_names": (0, 12), "out_sharding": (0, 12, 4)}
"""The keywords that annotate a variable, each with the first release of flax that shards the variable because of it."""

ANNOTATED_PARAMETERS = frozenset({"kernel", "embedding", "scale"})
"""The parameters of nnx's layers that exist unless `use_…=False`; `…_init` and `…_metadata` may annotate them."""

SHARDS_FLAG = "flax_always_shard_variable"
"""The flag of flax by which new variables are sharded, and in capitals the environment variable that sets it."""

STOPS_SHARDING = "flax.nnx.use_eager_sharding"
"""The callable that may make flax create variables without sharding them."""

SETS_FLAX_FLAGS = frozenset({STOPS_SHARDING, "flax.config.update", "os.environ.setdefault", "os.putenv"})
"""Callables that may set flags of flax, whose names are their first arguments."""

SPECS_OF_METADATA = frozenset({"flax.linen.get_partition_spec", "flax.nnx.get_partition_spec"})
"""Callables that return the specs given by the metadata of arrays."""

SHARDINGS_OF_METADATA = frozenset({"flax.linen.get_sharding", "flax.nnx.get_named_sharding"})
"""Callables that return the shardings given by the metadata of arrays for a mesh, their second argument."""
