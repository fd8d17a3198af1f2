"""The release of JAX that the tests run with."""

from importlib.metadata import PackageNotFoundError, version


def _version() -> tuple[int, ...]:
    """Returns the release of JAX; (0, 0) without JAX, as the tests of every change are collected even without it."""
    try:
        return tuple(int(part) for part in version("jax").split(".")[:2])
    except PackageNotFoundError:
        return 0, 0


VERSION = _version()


SINCE = {
    "levels `traced` and `partitioned`": (0, 4),
    "`pmap`": (0, 4),
    "axes that a value varies over": (0, 6),
    "collectives in a `cond` in a `shard_map`": (0, 6),
    "the line of a value that is gathered to change its sharding": (0, 6),
    "a `shard_map` over some axes of a mesh": (0, 6),
    "explicit axes": (0, 7),
    "gradients marked *backward* outside of loops and maps": (0, 7),
    "the GPU plugin's partitioner without a GPU": (0, 10),
}
"""The first release of JAX that supports each feature of traces: the table in docs/trace.md."""
