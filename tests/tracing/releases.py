"""The release of JAX that the tests run with."""

from importlib.metadata import PackageNotFoundError, version


def _version() -> tuple[int, ...]:
    """Returns the release of JAX; the tests of every change, which trace nothing, are collected without one."""
    try:
        return tuple(int(part) for part in version("jax").split(".")[:2])
    except PackageNotFoundError:
        return 0, 0


VERSION = _version()
