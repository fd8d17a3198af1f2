"""The history of JAX's other APIs: trees, core, randomness, moved modules."""

from __future__ import annotations

from meshlens.jaxapi.changes import Change, Version

_TREES = ("flatten", "leaves", "structure", "transpose", "unflatten")
_TREE_SINCE = (0, 4, 25)
_CALLBACKS = "use jax.pure_callback, jax.experimental.io_callback or jax.debug.callback"


def _core(
    names: str, removed: Version | None, deprecated: Version | None, home: str = "", home_since: Version | None = None
) -> tuple[Change, ...]:
    return tuple(
        Change(
            f"jax.core.{name}",
            removed,
            deprecated,
            None,
            f"{home}.{name}" if home else None,
            rewrite="rename" if home else "",
            replacement_since=home_since,
        )
        for name in names.split()
    )


def _moved(
    old: str, new: str, removed: Version | None, deprecated: Version | None, names: str, since: Version | None = None
) -> tuple[Change, ...]:
    return tuple(
        Change(f"{old}.{name}", removed, deprecated, None, f"{new}.{name}", "", "rename", since)
        for name in names.split()
    )


_TREE_ROWS = (
    Change("jax.tree_map", (0, 6, 0), (0, 4, 26), None, "jax.tree.map", "", "tree", _TREE_SINCE),
    *(
        Change(f"jax.tree_{name}", (0, 6, 0), (0, 3, 15), None, f"jax.tree.{name}", "", "tree", _TREE_SINCE)
        for name in _TREES
    ),
    Change("jax.tree_all", (0, 4, 26), (0, 3, 15), None, "jax.tree.all", "", "tree", _TREE_SINCE),
    Change("jax.tree_reduce", (0, 4, 26), (0, 3, 15), None, "jax.tree.reduce", "", "tree", _TREE_SINCE),
    Change("jax.treedef_is_leaf", (0, 6, 0), (0, 3, 15), None, "jax.tree_util.treedef_is_leaf", rewrite="rename"),
    Change("jax.tree_multimap", (0, 3, 16), (0, 3, 5), None, "jax.tree.map", "", "tree", _TREE_SINCE),
    Change("jax.tree_util.tree_multimap", (0, 3, 16), (0, 3, 5), None, "jax.tree.map", "", "tree", _TREE_SINCE),
    Change("jax.tree_util.build_tree", (0, 7, 0), (0, 6, 1), None, "jax.tree.unflatten"),
    Change("jax.tree", since=_TREE_SINCE),
)

_CORE_ROWS = (
    Change("jax.core.axis_frame", (0, 7, 0), (0, 4, 38), None, "jax.lax.axis_size", replacement_since=(0, 6, 1)),
    Change("jax.core.NamedShape", removed=(0, 4, 31)),
    *_core(
        "ClosedJaxpr Jaxpr JaxprEqn Literal Primitive Token Var jaxpr_as_fun",
        (0, 6, 0),
        (0, 4, 38),
        "jax.extend.core",
    ),
    *_core(
        "AxisSize EvalTrace InDBIdx InputType MapPrimitive OutDBIdx concrete_aval dedup_referents "
        "extend_axis_env_nd full_lower get_referent join_effects lattice_join raise_to_shaped "
        "raise_to_shaped_mappings reset_trace_state str_eqn_compact substitute_vars_in_output_ty typecompat "
        "used_axis_names_jaxpr",
        (0, 6, 0),
        (0, 4, 38),
    ),
    *_core("call_p closed_call_p trace_state_clean typecheck typematch", (0, 7, 0), (0, 4, 38)),
    Change(
        "jax.core.ConcretizationTypeError",
        (0, 7, 0),
        (0, 4, 38),
        None,
        "jax.errors.ConcretizationTypeError",
        rewrite="rename",
    ),
    Change("jax.core.get_aval", (0, 10, 0), (0, 8, 2), None, "jax.typeof"),
    *_core(
        "call_impl subjaxprs AbstractToken",
        (0, 10, 0),
        (0, 8, 2),
        "jax.extend.core",
        (0, 10, 0),
    ),
    *_core("mapped_aval unmapped_aval", (0, 10, 0), (0, 8, 2), "jax.extend.core", (0, 9, 0)),
    *_core("traverse_jaxpr_params", (0, 10, 0), (0, 8, 2)),
)

_HOMES = (
    Change("jax.linear_util", (0, 4, 24), (0, 4, 16), None, "jax.extend.linear_util", rewrite="rename"),
    Change("jax.config.config", (0, 4, 25), (0, 4, 9), None, "jax.config", rewrite="rename"),
    Change("jax.util", (0, 8, 0), (0, 7, 0)),
    Change("jax.cloud_tpu_init.cloud_tpu_init", (0, 10, 0), (0, 8, 1), note="JAX does this itself", rewrite="drop"),
    Change("jax.cloud_tpu_init", (0, 11, 0), (0, 8, 1), note="JAX does this itself", rewrite="drop"),
    Change("jax.abstract_arrays", (0, 4, 17), (0, 4, 4), note="use jax.core.ShapedArray"),
    Change(
        "jax.lib.xla_bridge.get_backend",
        (0, 8, 0),
        (0, 4, 32),
        None,
        "jax.extend.backend.get_backend",
        "import jax.extend.backend",
        "rename",
    ),
    Change("jax.lib.xla_bridge", removed=(0, 9, 0)),
    Change("jax.lib.xla_client", removed=(0, 9, 0)),
    Change("jax.experimental.host_callback", (0, 8, 0), (0, 4, 26), note=_CALLBACKS),
    Change("jax.experimental.export", (0, 4, 36), (0, 4, 30), None, "jax.export", rewrite="rename"),
    Change("jax.experimental.array_api", (0, 5, 0), (0, 4, 32), None, "jax.numpy"),
    Change("jax.experimental.stax", (0, 4, 0), None, None, "jax.example_libraries.stax", rewrite="rename"),
    Change("jax.experimental.optimizers", (0, 4, 0), None, None, "jax.example_libraries.optimizers", rewrite="rename"),
    *_moved("jax.ad_checkpoint", "jax", (0, 10, 0), (0, 8, 2), "checkpoint remat"),
    *_moved("jax.experimental", "jax", (0, 9, 0), (0, 8, 0), "enable_x64", (0, 8, 0)),
    Change("jax.experimental.disable_x64", (0, 9, 0), (0, 8, 0), None, "jax.enable_x64", "use jax.enable_x64(False)"),
    Change("jax.enable_x64", since=(0, 8, 0)),
    Change("jax.new_ref", since=(0, 7, 2)),
    Change("jax.Ref", since=(0, 7, 2)),
    Change("jax.export", since=(0, 4, 30)),
    Change("jax.fwd_and_bwd", since=(0, 6, 1)),
    Change("jax.tree.map_with_path", since=(0, 4, 38)),
    Change("jax.extend.backend.get_backend", since=(0, 4, 32)),
    Change("jax.scipy.special.sph_harm_y", since=(0, 5, 0)),
    Change("jax.experimental.mutable_array", (0, 9, 0), (0, 8, 0), (0, 6, 1), "jax.new_ref", "", "rename", (0, 7, 1)),
    Change("jax.experimental.MutableArray", (0, 9, 0), (0, 8, 0), (0, 6, 1), "jax.Ref", "", "rename", (0, 8, 0)),
    Change("jax.array_ref", (0, 9, 0), (0, 8, 0), (0, 7, 1), "jax.new_ref", rewrite="rename"),
    Change("jax.ArrayRef", (0, 9, 0), (0, 8, 0), (0, 7, 1), "jax.Ref", rewrite="rename"),
    Change("jax.xla_computation", (0, 4, 34), (0, 4, 30), None, None, "use jax.jit(f).lower(...)"),
    Change("jax.clear_backends", (0, 4, 36), (0, 4, 26), None, "jax.clear_caches"),
    Change("jax.host_id", None, None, None, "jax.process_index"),
    Change("jax.host_count", None, None, None, "jax.process_count"),
)

_ARRAYS = (
    Change("jax.random.KeyArray", (0, 4, 24), (0, 4, 16), None, "jax.Array", rewrite="rename"),
    Change("jax.random.PRNGKeyArray", (0, 4, 24), (0, 4, 16), None, "jax.Array", rewrite="rename"),
    Change(
        "jax.random.shuffle",
        (0, 4, 31),
        (0, 4, 21),
        None,
        "jax.random.permutation",
        "use jax.random.permutation(…, independent=True)",
    ),
    Change("jax.nn.normalize", (0, 4, 29), (0, 4, 21), None, "jax.nn.standardize", rewrite="rename"),
    Change("jax.numpy.trapz", (0, 4, 24), (0, 4, 18), None, "jax.numpy.trapezoid", rewrite="rename"),
    Change("jax.numpy.fix", (0, 10, 0), (0, 9, 0), None, "jax.numpy.trunc", rewrite="rename"),
    Change("jax.lax.tie_in", (0, 4, 29), (0, 4, 24), None, None, "drop the call and use its second argument"),
    Change("jax.lax.zeros_like_array", (0, 9, 0), (0, 7, 1), None, "jax.numpy.zeros_like", rewrite="rename"),
    Change("jax.scipy.special.sph_harm", (0, 10, 0), (0, 7, 0), None, "jax.scipy.special.sph_harm_y"),
)

_PALLAS = "jax.experimental.pallas"
_INDEXED = "index the reference to read or write it: ref[index]"
_PALLAS_ROWS = (
    Change(f"{_PALLAS}.load", (0, 9, 0), (0, 7, 1), note=_INDEXED),
    Change(f"{_PALLAS}.store", (0, 9, 0), (0, 7, 1), note=_INDEXED),
    Change(
        f"{_PALLAS}.tpu.TPUCompilerParams",
        (0, 7, 2),
        (0, 6, 2),
        None,
        f"{_PALLAS}.tpu.CompilerParams",
        "",
        "rename",
        (0, 6, 2),
    ),
    Change(
        f"{_PALLAS}.tpu.TPUMemorySpace",
        (0, 7, 2),
        (0, 6, 2),
        None,
        f"{_PALLAS}.tpu.MemorySpace",
        "",
        "rename",
        (0, 6, 2),
    ),
    Change(
        f"{_PALLAS}.triton.TritonCompilerParams",
        (0, 7, 2),
        (0, 6, 2),
        None,
        f"{_PALLAS}.triton.CompilerParams",
        "",
        "rename",
        (0, 6, 2),
    ),
    Change(f"{_PALLAS}.tpu.repeat", (0, 10, 2), (0, 9, 1), None, "jax.numpy.tile"),
)

_SPELLINGS = (
    Change("jax.numpy.NINF", (0, 4, 24), (0, 4, 18), None, None, "use -jax.numpy.inf"),
    Change("jax.dlpack.to_dlpack", (0, 7, 0), (0, 6, 0), None, None, "pass the array to the consumer's from_dlpack"),
)

ROWS = (*_TREE_ROWS, *_CORE_ROWS, *_HOMES, *_ARRAYS, *_PALLAS_ROWS, *_SPELLINGS)
