"""The shard of an array on each device of a mesh, according to a spec."""

from __future__ import annotations

from itertools import product

from meshlens.axes.domain.values import Const, Mesh, Seq, Spec, Value
from meshlens.axes.jax.mapped_values import is_shared
from meshlens.ide.shown.devices import mesh_sizes, spec_names

MOST_DEVICES = 4096


def shards_of(spec: Spec, mesh: Mesh) -> tuple[tuple[str, int], ...] | None:
    """Returns the name, such as "[0, :]", and number of each device's shard, row by row; None if unknown or not split.

    In a dimension split over several mesh axes, the first axis varies slowest, as in `PartitionSpec`.
    """
    known = mesh_sizes(mesh)
    sizes = {name: size for name, size in known.items() if size is not None}
    if (
        spec.open
        or mesh.open
        or len(sizes) != len(mesh.names)
        or not all(_is_told(entry, sizes) for entry in spec.entries)
    ):
        return None
    total = 1
    for size in sizes.values():
        total *= size
    if not 0 < total <= MOST_DEVICES or not any(spec_names(entry) for entry in spec.entries):
        return None
    numbers: dict[str, int] = {}
    found = []
    for position in product(*(range(size) for size in sizes.values())):
        at = dict(zip(sizes, position, strict=True))
        blocks = [_block(spec_names(entry), at, sizes) for entry in spec.entries]
        name = f"[{', '.join(blocks)}]"
        found.append((name, numbers.setdefault(name, len(numbers))))
    return tuple(found)


def _is_told(entry: Value, sizes: dict[str, int]) -> bool:
    """Returns whether every mesh axis of an entry is known."""
    items = entry.items if isinstance(entry, Seq) else (entry,)
    if isinstance(entry, Seq) and entry.open:
        return False
    return all(is_shared(one) is True or (isinstance(one, Const) and one.value in sizes) for one in items)


def _block(names: tuple[str, ...], at: dict[str, int], sizes: dict[str, int]) -> str:
    """Returns the number of the block along one dimension; ":" if the dimension is not split."""
    number = 0
    for name in names:
        number = number * sizes[name] + at[name]
    return str(number) if names else ":"
