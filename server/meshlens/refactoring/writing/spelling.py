"""Spells names in new code as the file spells them, and collects the imports that the file lacks."""

from __future__ import annotations

from meshlens.project.view import FileView
from meshlens.project.writing.drafts import Import, is_written_in
from meshlens.project.writing.import_statements import name_of_module
from meshlens.project.writing.new_imports import is_written, late_import, spelled
from meshlens.text import Span

_SHARD_MAP_IN_JAX = (0, 6, 1)
_SHARD_MAP_OF_NNX = (0, 8, 1)
"""The oldest JAX that flax 0.12.1 supports; since that flax, `nnx.shard_map` has `check_vma` instead of `check_rep`."""
_TREE_IN_JAX = (0, 4, 25)


class Spelling:
    """Collects imports while code is written.

    Attributes:
        needed: the imports that the file lacks, in order of request.
        at: the start of the new code, before which the names must be imported; None for anywhere.
    """

    def __init__(self, view: FileView, at: int | None = None) -> None:
        self._view = view
        self.at = at
        self._before = late_import(view, at) if at is not None else None
        self.needed: list[Import] = []

    def of(self, module: str, name: str) -> str:
        """Returns the file's spelling of `module.name`."""
        text, needed = spelled(self._view, module, name, self._before)
        self.needed += needed
        return text

    def numpy(self, name: str) -> str:
        """Returns the file's spelling of a NumPy name."""
        if name_of_module(self._view, "numpy", self._before) is None and not is_written(self._view, "np"):
            self.needed.append(Import("numpy", alias="np", before=self._before))
            return f"np.{name}"
        return self.of("numpy", name)

    def jax_numpy(self, name: str) -> str:
        """Returns the file's spelling of a name of `jax.numpy`."""
        known = name_of_module(self._view, "jax.numpy", self._before)
        if known is not None:
            return f"{known}.{name}"
        if not is_written(self._view, "jnp"):
            self.needed.append(Import("jax.numpy", alias="jnp", before=self._before))
            return f"jnp.{name}"
        return self.of("jax", f"numpy.{name}")

    def tree_map(self) -> str:
        """Returns the file's spelling of `jax.tree.map`."""
        if self._view.jax_version < _TREE_IN_JAX:
            return self.of("jax", "tree_util.tree_map")
        return self.of("jax", "tree.map")

    def mesh(self) -> str:
        """Returns the file's spelling of `jax.sharding.Mesh`."""
        return self._imported("jax.sharding", "Mesh", "Mesh")

    def named_sharding(self) -> str:
        """Returns the file's spelling of `jax.sharding.NamedSharding`."""
        return self._imported("jax.sharding", "NamedSharding", "NamedSharding")

    def spec(self) -> str:
        """Returns the file's spelling of `jax.sharding.PartitionSpec`."""
        for known in ("jax.sharding.PartitionSpec", "jax.P", "jax.experimental.PartitionSpec"):
            name = name_of_module(self._view, known, self._before)
            if name is not None:
                return name
        return self._imported("jax.sharding", "PartitionSpec", "P")

    def shard_map(self) -> str:
        """Returns the file's spelling of `shard_map`, from the module that has it in the project's JAX version."""
        if self._view.jax_version >= _SHARD_MAP_IN_JAX:
            return self.of("jax", "shard_map")
        return self._imported("jax.experimental.shard_map", "shard_map", "shard_map")

    def unchecked(self, library: str = "jax") -> str:
        """Returns the argument that turns off a library's `shard_map` check, which would sum gradients over devices."""
        since = _SHARD_MAP_OF_NNX if library == "nnx" else _SHARD_MAP_IN_JAX
        return "check_vma=False" if self._view.jax_version >= since else "check_rep=False"

    def _imported(self, module: str, name: str, alias: str) -> str:
        own = name_of_module(self._view, f"{module}.{name}", self._before)
        if own is not None:
            return own
        if is_written(self._view, alias):
            if alias != name and not is_written(self._view, name):
                alias = name
            else:
                return self.of(module, name)
        names = (name if alias == name else f"{name} as {alias}",)
        self.needed.append(Import(module, names, before=self._before))
        return alias


def fresh(view: FileView, *names: str, inside: Span | None = None) -> str:
    """Returns the first unused name among those given, or the last one with a number appended.

    Args:
        view: the file.
        names: the candidates, best first.
        inside: where it must be unused; None for the whole file.
    """
    text = view.source if inside is None else view.source[inside.start : inside.end]

    def is_taken(name: str) -> bool:
        return is_written_in(text, name) or view.draft.has(name, inside)

    for name in names:
        if not is_taken(name):
            return name
    number = 2
    while is_taken(f"{names[-1]}{number}"):
        number += 1
    return f"{names[-1]}{number}"
