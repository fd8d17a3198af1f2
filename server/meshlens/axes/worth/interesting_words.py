"""The names that make a function worth entering, or worth running as a root."""

from __future__ import annotations

from functools import cache

from meshlens.facts.mentioned import HOLDS_MESH
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.collectives import COLLECTIVES, PROCESS_COLLECTIVES
from meshlens.jaxapi.consumers import CONSUMERS
from meshlens.jaxapi.history import CHANGES, changed_keywords, changed_names
from meshlens.jaxapi.libraries import DEVICE_COUNTS, DEVICE_LISTS, DRAWS, NORMS, SAVES
from meshlens.jaxapi.meshes import DEVICE_GRIDS, MESHES, PARTITIONED, SPECS

_PLACING = frozenset(
    "with_sharding_constraint donate donate_argnums donate_argnames in_shardings out_shardings set_mesh use_mesh "
    "with_partitioning apply_fn make_array_from_single_device_arrays make_array_from_callback "
    "addressable_shards global_shards".split()
)
"""The names that say where arrays or their parts are, make a mesh current, or donate arrays."""
_WRITE_ANYTHING = frozenset({"dump", "dumps"})
_COMPILERS = frozenset("jit grad value_and_grad vmap filter_vmap P set_mesh use_mesh axis".split())


def _last(dotted: str) -> str:
    return dotted.rsplit(".", 1)[-1]


@cache
def binding_words() -> frozenset[str]:
    """Returns the names that bind axes or create meshes; a function that reaches one is worth entering anywhere."""
    words = {_last(dotted) for dotted, row in BINDERS.items() if row.kind != "vmap"} | {
        _last(dotted) for dotted in MESHES
    }
    return frozenset(words - {"start", "kernel", "scan"}) | _PLACING | {"axis_name", HOLDS_MESH}


@cache
def using_words() -> frozenset[str]:
    """Returns the names that use axes; a function that reaches one is worth entering if the bound axes are known."""
    return frozenset(
        {_last(dotted) for dotted in (*COLLECTIVES, *SAVES)} - _WRITE_ANYTHING
        | {row.parameter for row in CONSUMERS.values() if row.parameter}
    )


@cache
def spec_words() -> frozenset[str]:
    """Returns the names of specs; a short function that reaches one may return a table of them."""
    return frozenset({_last(dotted) for dotted in SPECS} | {"P"})


@cache
def root_words() -> frozenset[str]:
    """Returns the names that make a function worth running as a root."""
    tables = (CHANGES, DEVICE_LISTS, DEVICE_COUNTS, SPECS, DEVICE_GRIDS, PROCESS_COLLECTIVES, PARTITIONED)
    words = {_last(dotted) for table in tables for dotted in table}
    return frozenset(words) | using_words() | _COMPILERS


@cache
def dated_words() -> frozenset[str]:
    """Returns the names that some JAX release removed or deprecated, and those whose arguments changed."""
    return frozenset(_last(dotted) for dotted in changed_names() | changed_keywords())


@cache
def words_in_maps() -> frozenset[str]:
    """Returns the names that make a function worth entering inside a map."""
    # "norm" alone is the name of many layers.
    return frozenset({_last(dotted) for dotted in (*DRAWS, *NORMS)} - {"norm"}) | root_words()
