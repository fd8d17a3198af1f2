"""The history of JAX's APIs for sharding, meshes and maps."""

from __future__ import annotations

from meshlens.jaxapi.changes import Change

_SHARDING = "jax.sharding"
_PXLA = (
    "Chunked MapTracer NoSharding PmapExecutable Replicated ShardedAxis ShardingSpec Unstacked "
    "parallel_callable shard_args spec_to_indices"
)
_XMAP = "use jax.shard_map"
_INVARYING = 'use jax.lax.all_gather(…, to="invarying")'
_DROP_IN = "use jax.device_put with a NamedSharding"

ROWS = (
    Change(
        "jax.experimental.maps",
        removed=(0, 4, 31),
        deprecated=(0, 4, 26),
        note="use jax.sharding.Mesh and jax.shard_map",
    ),
    Change("jax.experimental.maps.xmap", (0, 4, 31), (0, 4, 26), None, "jax.shard_map", _XMAP, "", (0, 6, 1)),
    Change("jax.experimental.maps.SerialLoop", (0, 4, 31), (0, 4, 26), note=_XMAP),
    Change("jax.experimental.maps.Mesh", (0, 4, 11), (0, 4, 4), None, "jax.sharding.Mesh", rewrite="rename"),
    Change("jax.experimental.maps.mesh", (0, 4, 11), (0, 4, 4), None, "jax.sharding.Mesh"),
    Change("jax.soft_pmap", (0, 3, 18), None, None, "jax.pmap"),
    Change("jax.experimental.pjit.pjit", None, (0, 8, 0), None, "jax.jit", rewrite="rename"),
    Change(
        "jax.experimental.pjit.with_sharding_constraint",
        (0, 4, 24),
        (0, 4, 16),
        None,
        "jax.lax.with_sharding_constraint",
        rewrite="rename",
    ),
    *(
        Change(dotted, (0, 4, 11), (0, 4, 4), None, "jax.sharding.PartitionSpec", rewrite="rename")
        for dotted in (
            "jax.experimental.PartitionSpec",
            "jax.experimental.pjit.PartitionSpec",
            "jax.interpreters.pxla.PartitionSpec",
            "jax.interpreters.sharded_jit.PartitionSpec",
        )
    ),
    *(
        Change(dotted, (0, 4, 11), (0, 4, 4), None, "jax.sharding.Mesh", rewrite="rename")
        for dotted in ("jax.experimental.pjit.Mesh", "jax.interpreters.pxla.Mesh")
    ),
    Change("jax.interpreters.pxla.ShardedDeviceArray", (0, 4, 14), (0, 4, 7), None, "jax.Array", rewrite="rename"),
    Change("jax.interpreters.xla.DeviceArray", (0, 4, 14), (0, 4, 7), None, "jax.Array", rewrite="rename"),
    Change("jax.numpy.DeviceArray", (0, 4, 14), (0, 4, 7), None, "jax.Array", rewrite="rename"),
    Change("jax.experimental.global_device_array", (0, 4, 14), (0, 4, 7), note="use jax.Array"),
    Change(
        "jax.experimental.global_device_array.GlobalDeviceArray",
        (0, 4, 14),
        (0, 4, 7),
        None,
        "jax.Array",
        rewrite="rename",
    ),
    Change(
        "jax.interpreters.pxla.thread_resources",
        None,
        (0, 8, 2),
        note="use jax.set_mesh and jax.sharding.get_abstract_mesh",
    ),
    Change(
        "jax.experimental.shard_map.shard_map",
        None,
        (0, 8, 0),
        None,
        "jax.shard_map",
        "pass mesh, in_specs and out_specs by keyword, and check_vma instead of check_rep",
        rewrite="shard_map",
    ),
    Change(
        "jax.experimental.shard",
        (0, 7, 0),
        None,
        (0, 5, 3),
        note="use jax.sharding.reshard, auto_axes and explicit_axes",
    ),
    Change("jax.shard_map", since=(0, 6, 1)),
    Change("jax.smap", since=(0, 7, 0)),
    Change("jax.P", since=(0, 7, 0)),
    Change("jax.NamedSharding", since=(0, 4, 27)),
    Change("jax.reshard", since=(0, 8, 2)),
    Change("jax.typeof", since=(0, 5, 3)),
    Change("jax.set_mesh", since=(0, 7, 1)),
    Change("jax.make_mesh", since=(0, 4, 32)),
    Change("jax.make_array_from_process_local_data", since=(0, 4, 27)),
    Change(f"{_SHARDING}.AbstractMesh", since=(0, 4, 32)),
    Change(f"{_SHARDING}.AxisType", since=(0, 5, 3)),
    Change(f"{_SHARDING}.AxisTypes", (0, 5, 3), None, (0, 5, 0), f"{_SHARDING}.AxisType", rewrite="rename"),
    Change(f"{_SHARDING}.use_mesh", (0, 7, 1), None, (0, 5, 0), "jax.set_mesh", rewrite="rename"),
    Change(f"{_SHARDING}.auto_axes", since=(0, 7, 0)),
    Change(f"{_SHARDING}.explicit_axes", since=(0, 7, 0)),
    Change(f"{_SHARDING}.reshard", since=(0, 7, 0)),
    Change(f"{_SHARDING}.set_mesh", since=(0, 5, 3)),
    Change(f"{_SHARDING}.get_abstract_mesh", since=(0, 5, 3)),
    Change(f"{_SHARDING}.use_abstract_mesh", since=(0, 7, 2)),
    Change(
        f"{_SHARDING}.PositionalSharding",
        (0, 7, 0),
        (0, 6, 0),
        None,
        f"{_SHARDING}.NamedSharding",
        "use a NamedSharding with a mesh and a spec",
    ),
    Change(f"{_SHARDING}.GSPMDSharding", (0, 7, 0), (0, 6, 0), None, f"{_SHARDING}.NamedSharding"),
    Change(
        f"{_SHARDING}.XLACompatibleSharding", (0, 4, 34), (0, 4, 29), None, f"{_SHARDING}.Sharding", rewrite="rename"
    ),
    Change(f"{_SHARDING}.PmapSharding", (0, 10, 0), (0, 8, 1), None, f"{_SHARDING}.NamedSharding"),
    Change("jax.device_put_replicated", (0, 10, 0), (0, 8, 1), None, "jax.device_put", _DROP_IN),
    Change("jax.device_put_sharded", (0, 10, 0), (0, 8, 1), None, "jax.device_put", _DROP_IN),
    *(Change(f"jax.interpreters.pxla.{name}", (0, 10, 0), (0, 8, 2)) for name in _PXLA.split()),
    Change("jax.lax.pdot", removed=(0, 4, 31)),
    Change("jax.lax.xeinsum", removed=(0, 4, 31)),
    Change("jax.lax.axis_size", since=(0, 6, 1), note="use jax.lax.psum(1, name), which works in every version"),
    Change(
        "jax.lax.pvary",
        (0, 10, 0),
        (0, 8, 2),
        (0, 6, 0),
        "jax.lax.pcast",
        'use jax.lax.pcast(…, to="varying")',
        rewrite="pvary",
    ),
    Change("jax.lax.pcast", since=(0, 8, 2)),
    Change("jax.lax.psend", since=(0, 7, 0)),
    Change("jax.lax.precv", since=(0, 7, 0)),
    Change("jax.lax.ragged_all_to_all", since=(0, 4, 38)),
    Change(
        "jax.lax.all_gather_invariant",
        (0, 8, 2),
        None,
        (0, 6, 2),
        "jax.lax.all_gather",
        _INVARYING,
    ),
)
