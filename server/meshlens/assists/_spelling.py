"""The names that new code uses, as a file spells them, with the imports that it still needs."""

from __future__ import annotations

from meshlens.project.drafts import Import, is_written_in
from meshlens.project.import_statements import name_of_module
from meshlens.project.new_imports import is_written, spelled
from meshlens.project.view import FileView
from meshlens.text import Span

_SHARD_MAP_IN_JAX = (0, 6, 1)
_TREE_IN_JAX = (0, 4, 25)


class Spelling:
    """Collects imports while code is written.

    Attributes:
        needed: the imports that the file lacks, in the order in which they were asked for.
    """

    def __init__(self, view: FileView) -> None:
        self._view = view
        self.needed: list[Import] = []

    def of(self, module: str, name: str) -> str:
        """What to write for `module.name`."""
        text, needed = spelled(self._view, module, name)
        self.needed += needed
        return text

    def numpy(self, name: str) -> str:
        """What to write for a name of NumPy."""
        if name_of_module(self._view, "numpy") is None and not is_written(self._view, "np"):
            self.needed.append(Import("numpy", alias="np"))
            return f"np.{name}"
        return self.of("numpy", name)

    def jax_numpy(self, name: str) -> str:
        """What to write for a name of `jax.numpy`."""
        known = name_of_module(self._view, "jax.numpy")
        if known is not None:
            return f"{known}.{name}"
        if not is_written(self._view, "jnp"):
            self.needed.append(Import("jax.numpy", alias="jnp"))
            return f"jnp.{name}"
        return self.of("jax", f"numpy.{name}")

    def tree_map(self) -> str:
        """What to write for `jax.tree.map`."""
        if self._view.jax_version < _TREE_IN_JAX:
            return self.of("jax", "tree_util.tree_map")
        return self.of("jax", "tree.map")

    def mesh(self) -> str:
        """What to write for `jax.sharding.Mesh`."""
        return self._imported("jax.sharding", "Mesh", "Mesh")

    def named_sharding(self) -> str:
        """What to write for `jax.sharding.NamedSharding`."""
        return self._imported("jax.sharding", "NamedSharding", "NamedSharding")

    def spec(self) -> str:
        """What to write for `jax.sharding.PartitionSpec`."""
        for known in ("jax.sharding.PartitionSpec", "jax.P", "jax.experimental.PartitionSpec"):
            name = name_of_module(self._view, known)
            if name is not None:
                return name
        return self._imported("jax.sharding", "PartitionSpec", "P")

    def shard_map(self) -> str:
        """What to write for `shard_map`, at the place where the JAX in use has it."""
        if self._view.jax_version >= _SHARD_MAP_IN_JAX:
            return self.of("jax", "shard_map")
        return self._imported("jax.experimental.shard_map", "shard_map", "shard_map")

    def unchecked(self) -> str:
        """The keyword that turns off the check of `shard_map`, which multiplies gradients."""
        return "check_vma=False" if self._view.jax_version >= _SHARD_MAP_IN_JAX else "check_rep=False"

    def _imported(self, module: str, name: str, alias: str) -> str:
        own = name_of_module(self._view, f"{module}.{name}")
        if own is not None:
            return own
        if is_written(self._view, alias):
            if alias != name and not is_written(self._view, name):
                alias = name
            else:
                return self.of(module, name)
        self.needed.append(Import(module, (name if alias == name else f"{name} as {alias}",)))
        return alias


def fresh(view: FileView, *names: str, inside: Span | None = None) -> str:
    """The first of some names that is not used, or the last one with a number.

    Args:
        view: the file.
        names: from the best to the last.
        inside: where it must not be used; None for the whole file.
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
