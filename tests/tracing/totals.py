"""The collectives of an optimized module, exactly as they are: nothing is rewritten."""

from meshlens.tracing.hlo import read_module
from meshlens.tracing.partitioned import times_in
from meshlens.tracing.rewrites import MOVES


def totals_of_module(text):
    """Returns the size in bytes of the results of a module's collectives on one device, by kind."""
    module = read_module(text)
    times = times_in(module, {}).times
    found = {}
    for computation in module.computations.values():
        for one in computation.instructions.values():
            kind = one.opcode.removesuffix("-start")
            if kind not in MOVES:
                continue
            arrays = one.arrays
            if one.opcode.endswith("-start") and len(arrays) > len(one.operands):
                # The operands come before the results, and numbers that show its progress come after them;
                # an all-reduce of JAX 0.10 has only its results.
                arrays = tuple(array for array in arrays if array.dtype != "u32" or array.shape)
                arrays = arrays[len(arrays) // 2 :]
            size = times.get(computation.name, 0) * sum(array.bytes for array in arrays)
            found[kind] = found.get(kind, 0) + size
    return {kind: size for kind, size in sorted(found.items()) if size}
