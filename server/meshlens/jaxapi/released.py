"""Names and keywords that releases of JAX removed or warn of; written by tests/bench/releases.py."""

from __future__ import annotations

# Made of what each release says when it is imported: change the script, not this file.

RELEASES = (
    "0.4.18 0.4.19 0.4.20 0.4.21 0.4.22 0.4.23 0.4.24 0.4.25 0.4.26 0.4.27 0.4.28 0.4.29 0.4.30 0.4.31 0.4.33 "
    "0.4.34 0.4.35 0.4.36 0.4.37 0.4.38 0.5.0 0.5.1 0.5.2 0.5.3 0.6.0 0.6.1 0.6.2 0.7.0 0.7.1 0.7.2 0.8.0 0.8.1 "
    "0.8.2 0.8.3 0.9.0 0.9.1 0.9.2 0.10.0 0.10.1 0.10.2 0.11.0 0.11.1 0.11.2 0.12.0"
)
"""The releases that were read."""

NAMES: dict[str, str] = {
    "jax": (
        "-0.10.0 custom_transpose enable_custom_vjp_by_custom_transpose; -0.11.0 cloud_tpu_init; -0.12.0 "
        "custom_remat; -0.4.24 linear_util prng; -0.4.26 enable_key_reuse_checks; -0.5.3 get_ty; -0.6.1 spmd_mode; "
        "-0.8.0 util; 0.4.18-0.6.0 tree_flatten tree_leaves tree_structure tree_transpose tree_unflatten "
        "treedef_is_leaf; 0.4.26-0.4.36 clear_backends; 0.4.26-0.6.0 tree_map; 0.4.30-0.4.34 xla_computation; "
        "0.8.0-0.9.0 ArrayRef array_ref; 0.8.1-0.10.0 device_put_replicated device_put_sharded"
    ),
    "jax.ad_checkpoint": "0.8.2-0.10.0 checkpoint remat",
    "jax.cloud_tpu_init": "0.8.1-0.10.0 cloud_tpu_init",
    "jax.config": "0.4.20-0.4.25 config",
    "jax.core": (
        "-0.4.27 token; -0.4.31 NamedShape as_named_shape join_named_shapes; -0.4.36 ConcreteArray MainTrace "
        "NameGatheringSubst Sublevel ThreadLocalState TraceStack TraceState apply_todos call_bind_with_continuation "
        "cur_sublevel do_subst_axis_names_jaxpr extend_axis_env jaxpr_uses_outfeed map_bind "
        "map_bind_with_continuation new_base_main new_main new_sublevel outfeed_primitives primitive_uses_outfeed "
        "raise_as_much_as_possible stash_axis_env subst_axis_names subst_axis_names_eqn subst_axis_names_jaxpr "
        "subst_axis_names_var thread_local_state used_axis_names; -0.4.38 unsafe_get_current_trace_DO_NOT_USE; -0.5.1 "
        "JaxprDebugInfo; -0.8.2 DShapedArray UnshapedArray; 0.10.0- pytype_aval_mappings; 0.10.0-0.11.0 CallPrimitive "
        "DebugInfo DropVar Effect Effects InconclusiveDimensionOperation JaxprPpContext JaxprPpSettings "
        "JaxprTypeError OutputType abstract_token aval_mapping_handlers call check_jaxpr concrete_or_error "
        "concretization_function_error custom_typechecks find_top_trace gensym get_opaque_trace_state is_concrete "
        "is_constant_dim is_constant_shape jaxprs_in_params literalable_types new_jaxpr_eqn no_axis_name no_effects "
        "nonempty_axis_env_DO_NOT_USE primal_dtype_to_tangent_dtype trace_ctx unsafe_am_i_under_a_jit_DO_NOT_USE "
        "unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE valid_jaxtype; 0.4.19-0.4.24 "
        "TracerArrayConversionError TracerIntegerConversionError UnexpectedTracerError as_hashable_function "
        "collections dtypes lu map namedtuple partial pp ref safe_map safe_zip source_info_util total_ordering "
        "traceback_util tuple_delete tuple_insert zip; 0.4.19-0.4.29 DimSize Shape; 0.4.24-0.4.31 canonicalize_shape "
        "definitely_equal dimension_as_value symbolic_equal_dim; 0.4.24-0.4.38 non_negative_dim; 0.4.30-0.4.34 "
        "pp_aval pp_eqn pp_eqn_rules pp_eqns pp_jaxpr pp_jaxpr_eqn_range pp_jaxpr_skeleton pp_jaxprs pp_kv_pair "
        "pp_kv_pairs pp_var pp_vars; 0.4.33-0.4.38 check_eqn check_type check_valid_jaxtype; 0.4.38-0.6.0 AxisSize "
        "ClosedJaxpr EvalTrace InDBIdx InputType Jaxpr JaxprEqn Literal MapPrimitive OpaqueTraceState OutDBIdx "
        "Primitive TRACER_LEAK_DEBUGGER_WARNING Token Var concrete_aval dedup_referents escaped_tracer_error "
        "extend_axis_env_nd full_lower get_referent jaxpr_as_fun join_effects lattice_join leaked_tracer_error "
        "maybe_find_leaked_tracers raise_to_shaped raise_to_shaped_mappings reset_trace_state str_eqn_compact "
        "substitute_vars_in_output_ty typecompat used_axis_names_jaxpr; 0.4.38-0.7.0 AxisName ConcretizationTypeError "
        "axis_frame call_p closed_call_p get_type trace_state_clean typecheck typematch; 0.8.2-0.10.0 AbstractToken "
        "TraceTag call_impl get_aval mapped_aval set_current_trace subjaxprs take_current_trace traverse_jaxpr_params "
        "unmapped_aval"
    ),
    "jax.custom_derivatives": "-0.6.1 custom_vjp_call_jaxpr_p; 0.6.1-0.8.0 custom_jvp_call_jaxpr_p",
    "jax.dlpack": "-0.8.0 SUPPORTED_DTYPES; 0.6.0-0.7.0 to_dlpack",
    "jax.errors": "0.7.0-0.8.0 SimplifiedTraceback",
    "jax.example_libraries.optimizers": "-0.4.33 register_pytree_node tree_flatten tree_map tree_unflatten",
    "jax.experimental": (
        "-0.10.0 custom_dce x64_context; -0.11.1 control_deps cur_qdd; -0.11.2 shard_alike; -0.4.31 maps; -0.4.36 "
        "export; -0.5.0 array_api; -0.7.0 attrs shard; -0.8.0 host_callback; -0.8.2 saved_input_vjp si_vjp; "
        "0.8.0-0.9.0 MutableArray disable_x64 enable_x64 mutable_array"
    ),
    "jax.experimental.array_api": "0.4.33-0.4.38 round_",
    "jax.experimental.array_serialization": "-0.6.0 serialization_test",
    "jax.experimental.array_serialization.pytree_serialization_utils": "-0.11.2 T",
    "jax.experimental.array_serialization.serialization": (
        "-0.4.35 DLL; -0.6.1 BarrierTimeoutException create_async_array_from_callback estimate_read_memory_footprint "
        "transfer_shard_to_host; -0.6.2 Layout"
    ),
    "jax.experimental.array_serialization.serialization_test": (
        "-0.4.29 prev_xla_flags; -0.4.31 extract_minor_to_major; -0.5.0 setUpModule tearDownModule"
    ),
    "jax.experimental.array_serialization.tensorstore_impl": "-0.6.2 Layout",
    "jax.experimental.attrs": (
        "-0.4.29 GetAttrPrimitive SetAttrPrimitive getattr_p setattr_p; -0.4.36 top_trace; -0.6.1 Append ReadWrite "
        "Zero dne_sentinel dtype float0 jax_extendattr jvp linearize map register safe_map safe_zip split_list "
        "tree_flatten tree_structure tree_unflatten treedef_tuple unsafe_map unsafe_zip unzip2 vjp zip"
    ),
    "jax.experimental.colocated_python.api": "-0.4.38 xla_extension_version",
    "jax.experimental.colocated_python.obj": "-0.9.2 wraps",
    "jax.experimental.compilation_cache.compilation_cache": "0.7.1-0.8.0 initialize_cache is_initialized",
    "jax.experimental.compute_on": "-0.11.1 compute_on2",
    "jax.experimental.custom_partitioning": (
        "-0.4.28 xla_extension_version; -0.4.31 UnexpectedTracerError argnums_partial"
    ),
    "jax.experimental.export": (
        "-0.4.24 serialization shape_poly; -0.4.29 args_specs serialization_generated; 0.4.30-0.4.36 export"
    ),
    "jax.experimental.export.export": "-0.4.21 poly_spec poly_specs",
    "jax.experimental.export.shape_poly": "-0.4.21 arg_aval jaxlib_version",
    "jax.experimental.hijax": (
        "-0.11.1 AvalMutableQDD AvalQDD MutableHiType apply_derived_linearization transpose_jvp transpose_linearized "
        "vjp_fwd_from_jvp vjp_fwd_from_lin; -0.11.2 HiPrimitive VJPHiPrimitive; -0.9.2 HipSpec"
    ),
    "jax.experimental.host_callback": (
        "-0.4.29 deprecated register; -0.4.35 CallbackException CallbackFlavor TapFunctionException XlaBuilder "
        "XlaDevice XlaLocalClient XlaOp XlaShape barrier_wait id_p id_print io_callback outside_call_p "
        "stop_outfeed_receiver xla_extension_version"
    ),
    "jax.experimental.jet": "-0.5.0 shaped_abstractify",
    "jax.experimental.key_reuse": "-0.4.25 unconsumed_copy; -0.4.26 KeyReuseError reuse_key",
    "jax.experimental.layout": (
        "-0.4.26 SpecifiedLayout; -0.4.27 AUTO; -0.6.1 with_dll_constraint; -0.7.0 DeviceLocalLayout"
    ),
    "jax.experimental.multihost_utils": "-0.4.33 pjit; -0.4.35 tree_map",
    "jax.experimental.overlap": "-0.12.0 control_dep schedule",
    "jax.experimental.pallas": (
        "-0.6.1 Unblocked gpu unblocked; -0.6.2 enable_runtime_assert runtime_assert_enabled; 0.10.2-0.11.2 "
        "debug_checks_enabled dot; 0.11.1- core_map; 0.11.2- reciprocal; 0.12.0- DeviceIdType; 0.7.1-0.9.0 atomic_add "
        "atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor load store; 0.8.1-0.9.0 "
        "max_contiguous swap"
    ),
    "jax.experimental.pallas.fuser": "-0.6.0 fusable",
    "jax.experimental.pallas.gpu": "-0.4.28 get_compute_capability",
    "jax.experimental.pallas.mosaic_gpu": (
        "-0.10.1 TransposeTransform; -0.10.2 unswizzle_ref untile_ref; -0.11.2 transform_ref; -0.6.0 ThreadSemantics; "
        "-0.6.1 GPUBlockSpec GPUCompilerParams GPUMemorySpace GPUMesh; -0.6.2 GPUShapeDtypeStruct; -0.9.1 "
        "MemoryRefTransform; 0.11.2- transpose_ref"
    ),
    "jax.experimental.pallas.ops": "-0.4.29 attention layer_norm rms_norm softmax",
    "jax.experimental.pallas.ops.gpu.attention_mgpu": "-0.11.1 T",
    "jax.experimental.pallas.ops.gpu.decode_attention": "-0.4.36 attn_unbatched",
    "jax.experimental.pallas.ops.gpu.hopper_matmul_mgpu": "-0.8.1 matmul_kernel",
    "jax.experimental.pallas.ops.gpu.layer_norm": "-0.7.2 for_loop",
    "jax.experimental.pallas.ops.gpu.rms_norm": "-0.7.2 for_loop",
    "jax.experimental.pallas.ops.tpu.ragged_paged_attention": (
        "-0.6.0 ceil_div check_inputs_shapes validate_inputs_on_runtime; -0.6.1 DEFAULT_MASK_VALUE "
        "MultiPageAsyncCopyDescriptor get_dtype_packing get_min_heads_per_blk ragged_paged_attention_kernel; -0.7.1 "
        "cdiv"
    ),
    "jax.experimental.pallas.ops.tpu.ragged_paged_attention.kernel": "-0.7.1 cdiv",
    "jax.experimental.pallas.tpu": (
        "-0.10.0 get_pipeline_schedule make_pipeline_allocations; -0.10.1 CoreMemorySpace; -0.11.2 HOST; -0.4.27 "
        "trace; -0.4.28 ManualPrefetchArgs PipelineCallbackArgs PipelinePrefetchArgs; -0.4.30 "
        "encode_kernel_regeneration_metadata extract_kernel_regeneration_metadata; -0.4.36 CostEstimate run_scoped; "
        "-0.6.0 device_id; -0.6.2 enable_runtime_assert runtime_assert_enabled; -0.7.0 get_memory_space; -0.7.2 "
        "is_accelerated; -0.8.1 verification; 0.10.0-0.11.0 DeviceIdType semaphore semaphore_read semaphore_signal "
        "semaphore_wait; 0.11.0- create_tensorcore_mesh; 0.12.0- BufferedRefBase; 0.6.2-0.7.2 TPUCompilerParams "
        "TPUMemorySpace; 0.8.1-0.10.0 delay; 0.8.2-0.10.0 ANY; 0.9.1-0.10.2 KernelType repeat"
    ),
    "jax.experimental.pallas.tpu_sc": "-0.10.1 BlockSpec MemoryRef; -0.8.1 kernel; -0.8.2 masked_cumsum",
    "jax.experimental.pallas.triton": "-0.7.2 is_accelerated; 0.6.2-0.7.2 TritonCompilerParams",
    "jax.experimental.pjit": "-0.10.1 AUTO; -0.7.0 pjit_p; 0.4.18-0.4.24 with_sharding_constraint; 0.8.0- pjit",
    "jax.experimental.roofline.roofline": "-0.4.38 abstractify",
    "jax.experimental.scheduling_groups": (
        "-0.11.0 FlatTree attr_get dce_jaxpr_xla_metadata_rule debug_info map safe_map safe_zip split_list subs_list "
        "tree_flatten tree_unflatten unsafe_map unsafe_zip unzip2 weakref_lru_cache xla_metadata_call_p zip; -0.8.0 "
        "scheduling_group_p xla_metadata"
    ),
    "jax.experimental.serialize_executable": "-0.6.2 jaxlib_extension_version",
    "jax.experimental.shard_map": (
        "-0.4.29 weakref_lru_cache; -0.4.36 unzip3; -0.5.0 shaped_abstractify; -0.5.1 argnums_partial "
        "sharding_constraint_p; -0.5.3 AxisTypes set_abstract_mesh; -0.6.0 get_replication pbroadcast pbroadcast_p "
        "psum2_p; -0.6.1 AxisNames AxisType HashableFunction HashablePartial KeyPath NamedSharding NoFail P "
        "PartitionSpec PyTreeDef RewriteTrace RewriteTracer ShardMapPrimitive ShardMapTrace ShardMapTracer "
        "SpecErrorType T Tracer as_hashable_function broadcast_prefix eager_rules foreach generate_key_paths "
        "get_abstract_mesh get_mesh_from_args global_array_to_host_local_array host_local_array_to_global_array "
        "keystr map memoize merge_lists no_fail o p partition_list pmap prefix_errors pvary pvary_p register_check "
        "register_norewrite register_reduction_collective register_rewrite register_standard_check "
        "register_standard_collective register_standard_rewrite shard_map_p split_list subs_list2 tree_flatten "
        "tree_leaves tree_map tree_structure tree_unflatten typeof unsafe_map unsafe_zip unzip2 use_abstract_mesh "
        "zip; -0.8.0 AbstractMesh Mesh; 0.8.0- shard_map"
    ),
    "jax.experimental.sparse": "-0.10.0 nm",
    "jax.experimental.sparse.test_util": "-0.4.27 GPU_LOWERING_ENABLED",
    "jax.experimental.sparse.transform": "-0.4.36 popattr setnewattr",
    "jax.experimental.transfer": "-0.5.3 xla_extension_version",
    "jax.experimental.x64_context": "0.8.0-0.9.0 disable_x64 enable_x64",
    "jax.extend": "-0.8.0 ffi",
    "jax.extend.core": "-0.11.1 CallPrimitive call_impl",
    "jax.extend.core.primitives": (
        "-0.10.0 xla_pmap_p; -0.6.0 random_gamma_grad_p; -0.6.1 custom_jvp_call_jaxpr_p custom_vjp_call_jaxpr_p; "
        "-0.7.0 infeed_p outfeed_p pjit_p; -0.7.1 zeros_like_p"
    ),
    "jax.extend.ffi": "0.5.0-0.7.0 ffi_call ffi_lowering include_dir pycapsule register_ffi_target",
    "jax.extend.random": "-0.4.20 PRNGImpl",
    "jax.interpreters.ad": (
        "-0.4.24 instantiate_zeros_aval; -0.4.34 recast_to_float0 replace_float0s; -0.4.36 CustomJVPException "
        "CustomVJPException zeros_like_jaxval; -0.7.1 backward_pass_internal unpair_pval; -0.8.2 vjp; 0.4.19-0.4.26 "
        "config source_info_util; 0.7.1-0.8.2 closed_backward_pass; 0.7.1-0.9.0 bilinear_transpose "
        "call_param_updaters call_transpose call_transpose_param_updaters custom_lin_p defjvp_zero f_jvp_traceable "
        "jvp_subtrace jvp_subtrace_aux jvpfun linear_jvp linear_transpose linear_transpose2 map_transpose "
        "nonzero_outputs nonzero_tangent_outputs rearrange_binders standard_jvp standard_jvp2 traceable zero_jvp "
        "zeros_like_p; 0.9.0-0.10.0 reducing_transposes"
    ),
    "jax.interpreters.batching": (
        "-0.10.2 not_mapped; -0.4.24 add_batched zeros_like_batched zeros_like_p; -0.4.36 "
        "spmd_axis_primitive_batchers; -0.7.1 Zero; -0.9.0 Zeros; 0.7.1-0.10.0 NotMapped; 0.7.1-0.8.2 IndexedAxisSize "
        "Jumble JumbleAxis JumbleTy RaggedAxis batch_jaxpr2 jumble_axis; 0.7.1-0.9.0 Array AxisSize BatchTrace "
        "BatchTracer BatchingRule Elt FromEltHandler GetIdx MakeIotaHandler MapSpec ToEltHandler Vmappable "
        "ZeroIfMapped batch batch_custom_jvp_subtrace batch_custom_vjp_bwd batch_jaxpr broadcast_batcher "
        "flatten_fun_for_vmap from_elt from_elt_handlers is_vmappable make_iota make_iota_handlers matchaxis moveaxis "
        "reducer_batcher spec_types to_elt to_elt_handlers vectorized_batcher vmappables vtile"
    ),
    "jax.interpreters.mlir": (
        "-0.10.1 ReplicaAxisContext; -0.4.29 dense_int_array_v6; -0.6.0 xla_computation_to_mlir_module; -0.7.0 "
        "flatten_lowering_ir_args; -0.8.0 dense_bool_array; -0.9.1 dense_bool_elements; 0.6.0-0.8.0 custom_call"
    ),
    "jax.interpreters.partial_eval": (
        "-0.4.36 extend_jaxpr_stack trace_to_jaxpr trace_to_jaxpr_final trace_to_jaxpr_final2 "
        "trace_to_subjaxpr_dynamic trace_to_subjaxpr_dynamic2; -0.5.0 DebugInfo arg_info_all debug_info "
        "debug_info_final result_info sig_info; -0.5.1 tracing_debug_info tracing_debug_info_final; -0.6.0 "
        "trivial_ctx; 0.7.2-0.8.2 AbstractedAxesSpec AbstractedAxisName BoundedAxisSize call_padding_rule "
        "def_trivial_padding infer_lambda_input_type pad_jaxpr padding_rules trace_to_jaxpr_dynamic2; 0.7.2-0.9.0 "
        "Const ConstFoldRule ConstVar DCERule DynamicJaxprTrace ForwardingRule FreeVar Jaxpr JaxprEqnRecipe "
        "JaxprStackFrame JaxprTrace JaxprTracerRecipe LambdaBinding ParamsUpdater PartialEvalCustomResult "
        "PartialEvalCustomRule ResAvalUpdater TracerAsName TracerId call_param_updaters call_partial_eval_custom_rule "
        "call_partial_eval_rules closed_call_partial_eval_custom_rule config const_fold_rules "
        "convert_envvars_to_constvars convert_invars_to_constvars custom_staging_rules forwarding_rules has_effects "
        "instantiate_const_at make_jaxpr_effects move_binders_to_front partial_eval_jaxpr_custom "
        "partial_eval_jaxpr_custom_rule_not_implemented partial_eval_wrapper_nounits partition_pvals recipe_to_eqn "
        "trace_to_subjaxpr_nounits trace_to_subjaxpr_nounits_fwd tracers_to_jaxpr"
    ),
    "jax.interpreters.pxla": (
        "-0.4.24 mesh_sharding_specs; -0.4.30 shard_arg; -0.7.2 are_op_shardings_equal is_op_sharding_replicated; "
        "0.8.2- MeshComputation global_avals_to_results_handler thread_resources; 0.8.2-0.10.0 Chunked MapTracer "
        "NoSharding PmapExecutable Replicated ShardedAxis ShardingSpec Unstacked parallel_callable shard_args "
        "spec_to_indices xla_pmap_p; 0.8.2-0.11.0 ArrayMapping Index MeshAxisName MeshExecutable "
        "are_hlo_shardings_equal array_mapping_to_axis_resources global_aval_to_result_handler global_result_handlers "
        "is_hlo_sharding_replicated op_sharding_to_indices"
    ),
    "jax.interpreters.xla": (
        "0.4.18-0.4.24 AxisEnv ConcreteArray ShapedArray axis_groups backend_compile; 0.4.25-0.4.29 "
        "TranslationContext TranslationRule XlaOp backend_specific_translations register_translation translations "
        "xla_destructure; 0.4.31-0.4.36 xb xc xe; 0.5.0-0.7.0 abstractify pytype_aval_mappings; 0.7.0-0.8.0 "
        "canonicalize_dtype"
    ),
    "jax.lax": (
        "-0.10.0 all_gather_done all_gather_start; -0.11.1 dce_sink_p; -0.4.31 pdot xeinsum; -0.4.36 scan_bind; "
        "-0.6.0 random_gamma_grad_p; -0.7.0 infeed infeed_p outfeed outfeed_p; -0.8.2 all_gather_invariant "
        "all_gather_reduced preduced unreduced_psum unreduced_psum_scatter; 0.12.0- precv psend; 0.4.18-0.4.24 dtypes "
        "itertools naryop naryop_dtype_rule standard_abstract_eval standard_naryop standard_primitive standard_unop "
        "unop unop_dtype_rule; 0.4.24-0.4.29 tie_in; 0.7.1-0.9.0 zeros_like_array; 0.8.2-0.10.0 pvary"
    ),
    "jax.lib": "-0.9.0 xla_bridge xla_client xla_extension",
    "jax.lib.xla_bridge": (
        "0.4.33-0.4.38 default_backend xla_client; 0.4.33-0.8.0 get_backend; 0.7.0-0.8.0 get_compile_options"
    ),
    "jax.lib.xla_client": (
        "-0.4.34 execute_with_python_values; 0.4.33-0.4.38 bfloat16; 0.4.34-0.5.0 Device XlaRuntimeError; "
        "0.4.35-0.6.0 FftType PaddingType PrimitiveType Shape XlaBuilder XlaComputation dtype_to_etype ops "
        "register_custom_call_target shape_from_pyval; 0.4.36-0.6.0 ArrayImpl; 0.6.0-0.7.0 DeviceAssignment "
        "get_topology_for_devices heap_profile mlir_api_version; 0.6.0-0.8.0 Client CompileOptions Frame HloSharding "
        "OpSharding Traceback"
    ),
    "jax.lib.xla_extension": (
        "-0.8.0 jax; 0.4.36-0.6.0 ArrayImpl XlaRuntimeError; 0.6.0-0.7.0 Device DistributedRuntimeClient HloModule "
        "OpSharding PjitFunctionCache get_distributed_runtime_client get_distributed_runtime_service jax_jit pmap_lib "
        "pytree; 0.6.0-0.8.0 HloPrintOptions PjitFunction PmapFunction hlo_module_cost_analysis "
        "hlo_module_to_dot_graph ifrt_proxy mlir profiler"
    ),
    "jax.linear_util": (
        "0.4.18-0.4.24 StoreException WrappedFun cache merge_linear_aux transformation transformation_with_aux "
        "wrap_init"
    ),
    "jax.nn": "0.4.21-0.4.29 normalize",
    "jax.numpy": (
        "0.4.18-0.4.24 NINF NZERO PZERO in1d issubsctype row_stack trapz; 0.4.33-0.4.38 round_; 0.9.0-0.10.0 fix"
    ),
    "jax.prng": (
        "0.4.18-0.4.24 PRNGImpl rbg_prng_impl seed_with_impl threefry2x32_p threefry_2x32 threefry_prng_impl "
        "unsafe_rbg_prng_impl"
    ),
    "jax.random": (
        "0.4.18-0.4.24 KeyArray PRNGKeyArray rbg_key threefry2x32_key unsafe_rbg_key; 0.4.20-0.4.24 default_prng_impl "
        "threefry2x32_p threefry_2x32; 0.4.21-0.4.31 shuffle"
    ),
    "jax.ref": "0.8.0-0.9.0 ArrayRef array_ref",
    "jax.scipy.linalg": "0.4.18-0.4.24 tril triu",
    "jax.scipy.special": "0.5.0- lpmn lpmn_values; 0.7.0-0.10.0 sph_harm",
    "jax.sharding": (
        "-0.5.3 AxisTypes; -0.7.1 use_mesh; 0.4.29-0.4.34 XLACompatibleSharding; 0.6.0-0.7.0 GSPMDSharding "
        "PositionalSharding; 0.8.1-0.10.0 PmapSharding"
    ),
    "jax.stages": "-0.4.28 Specialized; -0.7.0 OutInfo",
    "jax.tree_util": (
        "0.4.18-0.4.24 AttributeKeyPathEntry GetitemKeyPathEntry register_keypaths; 0.6.1-0.7.0 build_tree"
    ),
    "jax.util": (
        "0.6.0-0.7.0 HashableFunction as_hashable_function cache safe_map safe_zip split_dict split_list "
        "split_list_checked split_merge subvals to_dlpack toposort unzip2 wrap_name wraps"
    ),
}
"""By module: first release that warns, first release without, and the names."""

KEYWORDS: dict[str, str] = {
    "jax.ArrayRef": "-0.7.2 buf",
    "jax.ShapeDtypeStruct": "-0.10.0 vma; -0.4.34 named_shape",
    "jax.ad_checkpoint.checkpoint": "0.8.2- concrete",
    "jax.ad_checkpoint.remat": "0.8.2- concrete",
    "jax.api_util.donation_vector": "-0.4.27 args kwargs",
    "jax.checkpoint": "0.8.2-0.11.0 concrete",
    "jax.core.EvalTrace": "-0.4.36 main sublevel",
    "jax.core.OpaqueTraceState": "-0.4.36 convention trace_info",
    "jax.core.ShapedArray": "-0.10.0 vma; -0.4.34 named_shape; -0.6.0 varying_manual_axes",
    "jax.core.Trace": "-0.4.36 main sublevel",
    "jax.core.Var": "-0.4.25 count",
    "jax.core.axis_frame": "-0.4.36 main_trace",
    "jax.core.extend_axis_env_nd": "-0.4.36 axes tag",
    "jax.core.find_top_trace": "-0.4.36 xs",
    "jax.core.gensym": "-0.4.25 jaxprs; -0.6.2 suffix",
    "jax.core.maybe_find_leaked_tracers": "-0.4.36 x",
    "jax.core.raise_to_shaped": "-0.4.36 weak_type",
    "jax.core.set_current_trace": "-0.5.0 new",
    "jax.core.str_eqn_compact": "-0.4.31 primitive_name",
    "jax.core.typematch": "-0.4.36 aval1 aval2",
    "jax.core.unmapped_aval": "-0.5.1 axis_name",
    "jax.dlpack.to_dlpack": "-0.4.27 take_ownership",
    "jax.dtypes.canonicalize_dtype": "-0.4.21 allow_opaque_dtype",
    "jax.example_libraries.stax.log_softmax": "-0.6.0 initial",
    "jax.example_libraries.stax.logsoftmax": "-0.6.0 initial",
    "jax.example_libraries.stax.softmax": "-0.6.0 initial",
    "jax.experimental.MutableArray": "-0.7.2 buf",
    "jax.experimental.array_api.clip": "0.4.33- a a_max a_min",
    "jax.experimental.array_api.linalg.matrix_rank": "0.4.31- tol",
    "jax.experimental.array_api.linalg.pinv": "0.4.31- rcond",
    "jax.experimental.array_api.linalg.trace": "-0.4.29 a axis1 axis2 out",
    "jax.experimental.array_api.nanpercentile": "0.4.33- interpolation",
    "jax.experimental.array_api.nanquantile": "0.4.33- interpolation",
    "jax.experimental.array_api.percentile": "0.4.33- interpolation",
    "jax.experimental.array_api.quantile": "0.4.33- interpolation",
    "jax.experimental.array_api.reshape": "0.4.33- newshape",
    "jax.experimental.array_serialization.serialization.DLL": "-0.4.31 layout",
    "jax.experimental.array_serialization.serialization.Format": "-0.7.0 device_local_layout",
    "jax.experimental.array_serialization.serialization.async_deserialize": (
        "-0.4.29 in_sharding; -0.9.0 user_in_sharding"
    ),
    "jax.experimental.array_serialization.serialization_test.DLL": "-0.4.31 layout",
    "jax.experimental.array_serialization.tensorstore_impl.Format": "-0.7.0 device_local_layout",
    "jax.experimental.array_serialization.tensorstore_impl.async_deserialize": "-0.9.0 user_in_sharding",
    "jax.experimental.array_serialization.tensorstore_impl.get_tensorstore_spec": "-0.6.2 process_num",
    "jax.experimental.colocated_python.api.colocated_cpu_devices": "-0.6.2 devices",
    "jax.experimental.colocated_python.colocated_cpu_devices": "-0.6.2 devices",
    "jax.experimental.export.Exported": (
        "-0.4.29 in_shardings out_shardings; -0.4.30 lowering_platforms mlir_module_serialization_version "
        "uses_shape_polymorphism"
    ),
    "jax.experimental.export.export.Exported": (
        "-0.4.19 lowering_platform; -0.4.22 disabled_checks serialization_version"
    ),
    "jax.experimental.export.export.export": "-0.4.20 lowering_platform",
    "jax.experimental.export.export.wrap_with_sharding": "-0.4.21 exported",
    "jax.experimental.export.symbolic_args_specs": "-0.4.30 polymorphic_shapes",
    "jax.experimental.fused.weakref_lru_cache": "-0.9.1 call",
    "jax.experimental.hijax.ShapedArray": "-0.10.0 vma",
    "jax.experimental.jet.JetTrace": "-0.4.36 main sublevel",
    "jax.experimental.jet.weakref_lru_cache": "-0.9.1 call",
    "jax.experimental.layout.DeviceLocalLayout": "-0.4.31 layout",
    "jax.experimental.layout.Format": "-0.7.0 device_local_layout",
    "jax.experimental.layout.Layout": (
        "-0.7.0 device_local_layout sharding; -0.7.1 _sub_byte_element_size_in_bits _tiling"
    ),
    "jax.experimental.multihost_utils.ltg_batcher": "-0.4.36 axis_name axis_size main_type spmd_axis_name",
    "jax.experimental.ode.ravel_first_arg": "-0.11.1 debug_info",
    "jax.experimental.pallas.BlockSpec": "-0.7.1 indexing_mode",
    "jax.experimental.pallas.MemoryRef": "-0.8.1 dtype shape",
    "jax.experimental.pallas.empty": "-0.7.2 interpret memory_space; -0.8.1 backend",
    "jax.experimental.pallas.empty_like": "-0.7.2 interpret memory_space; -0.8.1 backend",
    "jax.experimental.pallas.empty_ref_like": "-0.7.2 backend",
    "jax.experimental.pallas.fuser.fuse": "-0.7.1 physicalize",
    "jax.experimental.pallas.fuser.pull_block_spec": "-0.9.1 grid",
    "jax.experimental.pallas.kernel": "-0.10.1 out_shape scratch_shapes",
    "jax.experimental.pallas.load": "-0.4.24 x_ref",
    "jax.experimental.pallas.mosaic_gpu.Barrier": "-0.7.0 for_tensor_core",
    "jax.experimental.pallas.mosaic_gpu.BlockSpec": "-0.7.1 indexing_mode",
    "jax.experimental.pallas.mosaic_gpu.CompilerParams": "-0.7.2 delay_release",
    "jax.experimental.pallas.mosaic_gpu.GPUCompilerParams": "-0.6.0 thread_semantics",
    "jax.experimental.pallas.mosaic_gpu.GPUMesh": "-0.5.0 approx_math; -0.6.0 axis_names",
    "jax.experimental.pallas.mosaic_gpu.async_load_tmem": "-0.7.1 idx",
    "jax.experimental.pallas.mosaic_gpu.async_prefetch": "-0.9.2 partitioned_axis",
    "jax.experimental.pallas.mosaic_gpu.copy_gmem_to_smem": "-0.11.1 impl; -0.9.2 partitioned_axis",
    "jax.experimental.pallas.mosaic_gpu.emit_pipeline": "-0.7.2 delay_release",
    "jax.experimental.pallas.mosaic_gpu.emit_pipeline_warp_specialized": (
        "-0.11.1 manual_ready_barriers; -0.6.1 carry_coroutine; -0.7.2 delay_release"
    ),
    "jax.experimental.pallas.mosaic_gpu.load": "-0.12.0 idx",
    "jax.experimental.pallas.mosaic_gpu.nd_loop": "-0.6.2 body init_val; -0.8.1 include_wave_step",
    "jax.experimental.pallas.mosaic_gpu.print_layout": "-0.8.1 array",
    "jax.experimental.pallas.ops.gpu.attention.mha": "-0.5.1 block_k block_q",
    "jax.experimental.pallas.ops.gpu.attention.mha_backward_kernel": (
        "-0.4.33 _ block_k block_q l_ref m_ref; -0.5.1 block_k1 block_k2 block_q1 block_q2; -0.6.2 block_d"
    ),
    "jax.experimental.pallas.ops.gpu.attention.mha_forward_kernel": "-0.6.2 block_d num_heads",
    "jax.experimental.pallas.ops.gpu.blackwell_matmul_mgpu.TuningConfig": "-0.7.2 grid_tile_n",
    "jax.experimental.pallas.ops.gpu.blackwell_ragged_dot_mgpu.TuningConfig": "-0.8.1 grid_tile_n",
    "jax.experimental.pallas.ops.gpu.blackwell_ragged_dot_mgpu.do_matmul": "-0.8.1 wave_step",
    "jax.experimental.pallas.ops.gpu.collective_matmul_mgpu.all_gather_lhs_matmul": (
        "-0.8.1 block_k block_m block_n max_concurrent_steps sm_n_tile"
    ),
    "jax.experimental.pallas.ops.tpu.paged_attention.paged_attention_kernel.paged_flash_attention_kernel": (
        "-0.6.0 step_ref; -0.6.2 sem"
    ),
    "jax.experimental.pallas.ops.tpu.paged_attention.paged_attention_kernel.paged_flash_attention_kernel_inline_seq_dim": (
        "-0.6.0 step_ref; -0.6.2 sem"
    ),
    "jax.experimental.pallas.ops.tpu.ragged_paged_attention.get_min_heads_per_blk": "-0.6.0 num_kv_heads",
    "jax.experimental.pallas.ops.tpu.ragged_paged_attention.ragged_paged_attention": "-0.6.0 k_pages v_pages",
    "jax.experimental.pallas.ops.tpu.ragged_paged_attention.ragged_paged_attention_kernel": (
        "-0.6.0 k_bufs k_pages_hbm_ref v_bufs v_pages_hbm_ref"
    ),
    "jax.experimental.pallas.ops.tpu.ragged_paged_attention.ref_ragged_paged_attention": "-0.6.0 k_pages v_pages",
    "jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel.flash_attention_kernel": (
        "-0.5.3 head_dim"
    ),
    "jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel.get_kernel_name": (
        "-0.9.0 block_metadata"
    ),
    "jax.experimental.pallas.pallas_call": "-0.4.33 f; -0.9.1 backend",
    "jax.experimental.pallas.semaphore_wait": "-0.7.2 dec",
    "jax.experimental.pallas.store": "-0.4.24 x_ref",
    "jax.experimental.pallas.swap": "-0.4.24 x_ref",
    "jax.experimental.pallas.tpu.ANY": "-0.4.23 dtype shape",
    "jax.experimental.pallas.tpu.BufferedRef": (
        "-0.10.0 _copy_in_slot_reg _copy_out_slot_reg _wait_in_slot_reg _wait_out_slot_reg accum_ref next_fetch_smem "
        "next_fetch_sreg swap; -0.12.0 _buffer_count; -0.4.33 sem_recv sem_send; -0.4.34 vmem_ref; -0.6.2 buffer_type "
        "next_slot spec; -0.7.0 _current_slot_reg current_slot; -0.8.2 dtype"
    ),
    "jax.experimental.pallas.tpu.CompilerParams": "-0.10.1 kernel_type",
    "jax.experimental.pallas.tpu.InterpretParams": (
        "-0.8.2 num_cores_per_device; -0.9.0 num_cores_or_threads_per_device"
    ),
    "jax.experimental.pallas.tpu.TPUCompilerParams": "-0.6.1 device_type",
    "jax.experimental.pallas.tpu.emit_pipeline": (
        "-0.10.0 should_accumulate_out; -0.7.1 use_lookahead use_sreg_for_state"
    ),
    "jax.experimental.pallas.tpu.emit_pipeline_with_allocations": (
        "-0.10.0 should_accumulate_out; -0.7.1 use_lookahead use_sreg_for_state"
    ),
    "jax.experimental.pallas.tpu.make_pipeline_allocations": "-0.7.1 use_lookahead",
    "jax.experimental.pallas.tpu.matmul_acc_lhs": "-0.11.2 acc_addr mxu_index",
    "jax.experimental.pallas.tpu.matmul_pop": "-0.11.2 acc_addr dtype mxu_index shape",
    "jax.experimental.pallas.tpu.semaphore_signal": "-0.4.24 sem",
    "jax.experimental.pallas.tpu.semaphore_wait": "-0.4.24 sem; -0.7.2 dec",
    "jax.experimental.pallas.triton.CompilerParams": "-0.7.0 serialized_metadata",
    "jax.experimental.pallas.triton.TritonCompilerParams": "-0.7.0 serialized_metadata",
    "jax.experimental.pallas.when": "-0.7.2 condition",
    "jax.experimental.pjit.pjit": "-0.8.2 abstracted_axes",
    "jax.experimental.roofline.roofline.AbstractMesh": "-0.5.3 shape_tuple",
    "jax.experimental.roofline.roofline.make_jaxpr": "-0.8.2 abstracted_axes",
    "jax.experimental.scheduling_groups.weakref_lru_cache": "-0.9.1 call",
    "jax.experimental.shard.auto_axes": "-0.6.1 out_shardings",
    "jax.experimental.shard.explicit_axes": "-0.6.1 in_shardings",
    "jax.experimental.shard_map.AbstractMesh": "-0.5.3 shape_tuple",
    "jax.experimental.shard_map.RewriteTrace": "-0.4.36 dyna",
    "jax.experimental.shard_map.shard_map": "-0.8.0 auto",
    "jax.experimental.sparse.bcoo.bcoo_dot_general": "-0.4.35 algorithm transpose_algorithm; -0.5.0 out_type",
    "jax.experimental.sparse.bcoo_dot_general": "-0.4.35 algorithm transpose_algorithm; -0.5.0 out_type",
    "jax.experimental.sparse.bcsr.bcsr_dot_general": "-0.4.35 algorithm transpose_algorithm; -0.5.0 out_type",
    "jax.experimental.sparse.bcsr_dot_general": "-0.4.35 algorithm transpose_algorithm; -0.5.0 out_type",
    "jax.experimental.sparse.transform.SparseTrace": "-0.4.36 main sublevel",
    "jax.experimental.sparse.transform.lift_jvp": "-0.5.1 jvp_jaxpr_thunk",
    "jax.export.Exported": "-0.11.1 _has_named_shardings",
    "jax.export.export": "-0.4.36 lowering_platforms",
    "jax.export.symbolic_args_specs": "-0.4.36 symbolic_constraints symbolic_scope",
    "jax.extend.backend.get_compile_options": (
        "-0.10.1 auto_spmd_partitioning_mesh_ids auto_spmd_partitioning_mesh_shape use_auto_spmd_partitioning "
        "use_spmd_partitioning"
    ),
    "jax.extend.core.ClosedJaxpr": "-0.11.0 jaxpr",
    "jax.extend.core.Jaxpr": "-0.6.2 final_typechange_env",
    "jax.extend.core.JaxprEqn": "-0.8.2 effects",
    "jax.extend.core.Var": "-0.11.1 final_qdd initial_qdd; -0.6.2 suffix",
    "jax.extend.ffi.ffi_call": "0.6.0- vectorized",
    "jax.extend.linear_util.transformation_with_aux": "-0.4.36 use_eq_store",
    "jax.extend.source_info_util.user_context": "-0.5.3 c",
    "jax.ffi.ffi_call": "0.6.0-0.10.0 vectorized",
    "jax.interpreters.ad.JVPTrace": "-0.4.36 main sublevel",
    "jax.interpreters.ad.backward_pass": "-0.11.1 cotangents_in reduce_axes",
    "jax.interpreters.ad.call_transpose": "-0.4.26 reduce_axes",
    "jax.interpreters.ad.closed_backward_pass": "-0.4.26 reduce_axes",
    "jax.interpreters.ad.map_transpose": "-0.4.26 reduce_axes",
    "jax.interpreters.ad.vjp": "-0.4.26 reduce_axes",
    "jax.interpreters.batching.BatchTrace": "-0.4.36 axis_name spmd_axis_name",
    "jax.interpreters.batching.batch": "-0.4.36 axis_name axis_size main_type spmd_axis_name",
    "jax.interpreters.batching.batch_custom_vjp_bwd": "-0.4.36 axis_name axis_size main_type spmd_axis_name",
    "jax.interpreters.batching.batch_jaxpr": "-0.4.36 axis_name axis_size main_type spmd_axis_name",
    "jax.interpreters.batching.batch_jaxpr2": "-0.4.36 axis_name axis_size main_type spmd_axis_name",
    "jax.interpreters.batching.batch_jaxpr_axes": "-0.4.36 axis_name axis_size main_type spmd_axis_name",
    "jax.interpreters.batching.defreducer": "-0.9.1 ident",
    "jax.interpreters.batching.vtile": "-0.4.36 main_type",
    "jax.interpreters.mlir.LoweringParameters": "-0.4.29 replace_tokens_with_dummy; -0.4.30 platforms",
    "jax.interpreters.mlir.LoweringRuleContext": "-0.4.31 compute_type",
    "jax.interpreters.mlir.ShardingContext": "-0.4.35 mesh_shape",
    "jax.interpreters.mlir.emit_python_callback": "-0.6.1 operand_layouts result_layouts",
    "jax.interpreters.mlir.ir_constant": "-0.7.2 canonicalize_dtype",
    "jax.interpreters.mlir.jaxpr_subcomp": "-0.7.1 consts",
    "jax.interpreters.mlir.lower_jaxpr_to_fun": (
        "-0.4.29 create_tokens num_output_tokens replace_tokens_with_dummy; -0.7.0 api_name name_stack public"
    ),
    "jax.interpreters.mlir.lower_jaxpr_to_module": (
        "-0.10.0 num_replicas; -0.4.20 platform; -0.4.33 mesh_shape_tuple; -0.5.0 backend_or_name; -0.7.0 name_stack"
    ),
    "jax.interpreters.partial_eval.DynamicJaxprTrace": "-0.4.36 main sublevel",
    "jax.interpreters.partial_eval.Jaxpr": "-0.6.2 final_typechange_env",
    "jax.interpreters.partial_eval.trace_to_jaxpr_dynamic": "-0.5.1 debug_info",
    "jax.interpreters.partial_eval.trace_to_jaxpr_dynamic2": "-0.5.1 debug_info",
    "jax.interpreters.pxla.MeshExecutable": (
        "-0.10.1 auto_spmd_lowering; -0.4.21 jaxpr_debug_info; -0.4.33 in_layouts out_layouts"
    ),
    "jax.interpreters.pxla.PmapExecutable": "-0.5.1 jaxpr_debug_info",
    "jax.interpreters.pxla.create_compile_options": "-0.10.1 auto_spmd_lowering mesh",
    "jax.interpreters.pxla.global_aval_to_result_handler": "-0.4.26 is_out_sharding_from_xla",
    "jax.interpreters.pxla.global_avals_to_results_handler": "-0.4.26 are_out_shardings_from_xla",
    "jax.interpreters.pxla.shard_arg": "-0.4.24 arg_indices devices",
    "jax.interpreters.pxla.shard_args": "-0.4.24 devices indices",
    "jax.jit": "-0.6.0 fun; -0.8.2 abstracted_axes",
    "jax.lax.broadcast": "-0.5.1 sharding",
    "jax.lax.broadcast_in_dim": "-0.5.1 sharding",
    "jax.lax.broadcasted_iota": "-0.5.0 _sharding; -0.5.1 sharding",
    "jax.lax.cond": "-0.4.31 linear",
    "jax.lax.dot": "-0.4.35 algorithm transpose_algorithm",
    "jax.lax.dot_general": "-0.4.35 algorithm transpose_algorithm; -0.5.0 out_type",
    "jax.lax.random_gamma_grad": "-0.6.0 a x",
    "jax.lax.reshape": "-0.5.1 sharding",
    "jax.lax.scatter_add": "-0.7.1 out_sharding",
    "jax.lib.xla_bridge.get_compile_options": "-0.7.0 use_shardy_partitioner",
    "jax.make_jaxpr": "-0.8.2 abstracted_axes",
    "jax.make_mesh": "-0.11.1 axis_shapes; -0.5.3 auto_axes explicit_axes manual_axes",
    "jax.nn.log_softmax": "-0.6.0 initial",
    "jax.nn.softmax": "-0.6.0 initial",
    "jax.numpy.clip": "-0.4.27 out; 0.4.27-0.10.0 a a_max a_min",
    "jax.numpy.einsum": "-0.4.22 _use_xeinsum; -0.5.0 out_type",
    "jax.numpy.einsum_path": "-0.4.29 subscripts",
    "jax.numpy.from_dlpack": "-0.4.27 x",
    "jax.numpy.nanpercentile": "0.4.29-0.9.0 interpolation",
    "jax.numpy.nanquantile": "0.4.29-0.9.0 interpolation",
    "jax.numpy.percentile": "0.4.29-0.9.0 interpolation",
    "jax.numpy.quantile": "0.4.29-0.9.0 interpolation",
    "jax.numpy.reshape": "0.4.28-0.6.0 newshape",
    "jax.numpy.save": "-0.4.30 fix_imports",
    "jax.numpy.ufunc": "-0.4.33 update_doc",
    "jax.numpy.where": "-0.4.27 condition x y",
    "jax.pmap": "-0.10.0 global_arg_shapes",
    "jax.ref.ArrayRef": "-0.7.2 buf",
    "jax.remat": "0.8.2-0.11.0 concrete",
    "jax.scipy.linalg.solve": "-0.4.21 sym_pos",
    "jax.scipy.special.beta": "-0.4.36 x y",
    "jax.scipy.stats.gennorm.cdf": "-0.4.27 p",
    "jax.scipy.stats.gennorm.logpdf": "-0.4.27 p",
    "jax.scipy.stats.gennorm.pdf": "-0.4.27 p",
    "jax.sharding.AbstractMesh": "-0.5.3 shape_tuple",
    "jax.stages.ArgInfo": "-0.4.29 aval",
    "jax.stages.Traced": (
        "-0.5.1 abstract_mesh; -0.7.2 arg_names args_flat args_info fun_name jaxpr lower_callable "
        "params_out_shardings; -0.8.1 lfg num_consts"
    ),
}
"""By function: the same of its keyword arguments."""
