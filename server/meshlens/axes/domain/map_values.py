"""The values that maps involve: meshes, specs, applied binders, mapped and transformed functions."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.weight import DEEPEST_VALUE, MOST_WEIGHT, lightened, lightened_arguments, weighed

if TYPE_CHECKING:
    from meshlens.axes.domain.values import Arg, Const, Site, Value


@immutable
class Mesh:
    """A mesh whose axis names are at least partly known.

    Attributes:
        names: the axis names, in order.
        sizes: sizes of the axes, each None if unknown; None if their number is unknown.
        site: the call that made it.
        open: whether there may be further axes.
        kind: "Mesh", "AbstractMesh" or "pallas".
        explicit: the names of the axes that are certainly explicit.
    """

    names: tuple[Value, ...]
    sizes: tuple[int | None, ...] | None
    site: Site = field(compare=False)
    open: bool = False
    kind: str = "Mesh"
    explicit: tuple[str, ...] = ()
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed(self.names)
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            kept = lightened(self.names)
            own.names, own.open = kept, self.open or len(kept) < len(self.names)
            own.weight, own.depth = weighed(kept)


class Leaf(NamedTuple):
    """A leaf of a tree of arrays, such as a model's parameters.

    Attributes:
        path: the keys that lead to it, separated by slashes.
        shape: the sizes of its axes, each None if unknown; None if not even the rank is known.
    """

    path: str
    shape: tuple[int | None, ...] | None


@immutable
class Spec:
    """A PartitionSpec; each entry is None, a name, a tuple of names, or unknown.

    Attributes:
        entries: the entries.
        site: the call that made it.
        sites: the sites of the entries.
        open: whether there may be further entries.
        leaf: the leaf for which a function of paths chose it; None if it was not chosen by path.
    """

    entries: tuple[Value, ...]
    site: Site = field(compare=False)
    sites: tuple[Site, ...] = field(default=(), compare=False)
    open: bool = False
    leaf: Leaf | None = None
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed(self.entries)
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            kept = lightened(self.entries)
            own.entries, own.open = kept, self.open or len(kept) < len(self.entries)
            own.weight, own.depth = weighed(kept)


@immutable
class Binder:
    """One application of a binder: `jax.pmap(step, axis_name="batch")`.

    Attributes:
        kind: "pmap", "vmap", "shard_map", "smap", "axis_env", …
        dotted: the callable's dotted name, as used at this place.
        site: the call (or the decorator) that applies it.
        names: the axis names that it binds.
        open: whether it may bind unknown names.
        arguments: arguments by parameter name.
        mesh: the mesh of a shard_map, if known.
        operand: the mapped function.
        operand_site: the site of the operand.
        checked: whether a shard_map checks types; false if `check_vma` or `check_rep` is off.
        objects: its `in_specs` or `in_axes` with their named tuples, which `arguments` stores as plain tuples; None if
            they contain none.
        compiled: whether it was passed to `jit`.
    """

    kind: str
    dotted: str
    site: Site
    names: tuple[Const, ...]
    open: bool
    arguments: tuple[tuple[str, Arg], ...]
    mesh: Value | None
    operand: Value
    operand_site: Site | None
    checked: bool = False
    objects: Value | None = None
    compiled: bool = False
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)
    hashed: int | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.hashed = None
        self._weigh()
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            given = lightened_arguments(tuple([arg for _, arg in self.arguments]))
            fits = len(given) == len(self.arguments)
            labels = [name for name, _ in self.arguments] if fits else ["*", "**"]
            own.arguments = tuple(zip(labels, given, strict=True))
            own.operand = lightened((self.operand,))[0]
            own.mesh = lightened((self.mesh,))[0] if self.mesh is not None else None
            own.objects = None
            self._weigh()

    def _weigh(self) -> None:
        own: Any = self
        parts = [self.operand, *[arg.value for _, arg in self.arguments], *self.names]
        own.weight, own.depth = weighed(parts if self.mesh is None else [*parts, self.mesh])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Binder) and hash(self) == hash(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        # Each call hashes the enclosing maps with all their contents, so the hash is kept.
        if self.hashed is None:
            own: Any = self
            own.hashed = hash(self._parts())
        assert self.hashed is not None
        return self.hashed

    def _parts(self) -> tuple[object, ...]:
        told = self.kind, self.dotted, self.site, self.names, self.open, self.arguments, self.mesh
        return (*told, self.operand, self.operand_site, self.checked, self.objects, self.compiled)

    def argument(self, name: str) -> Arg | None:
        """Returns the argument given for a parameter, or None."""
        for known, arg in self.arguments:
            if known == name:
                return arg
        return None


@immutable
class Mapped:
    """A mapped function, the result of applying a binder."""

    binder: Binder
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Takes its weight from its binder, which is never too heavy."""
        own: Any = self
        own.weight, own.depth = self.binder.weight, self.binder.depth


@immutable
class Wrapped:
    """The result of a transparent transformation: `Wrapped("jit", f)`.

    Attributes:
        how: the row's `how` in `jaxapi.transparent`: "same", "grad", "value_and_grad", …
        dotted: the dotted name of the callable.
        operand: the transformed function.
        site: the call.
        arguments: the other arguments.
    """

    how: str
    dotted: str
    operand: Value
    site: Site
    arguments: tuple[Arg, ...] = ()
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed((self.operand, *[arg.value for arg in self.arguments]))
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            own.operand, own.arguments = lightened((self.operand,))[0], lightened_arguments(self.arguments)
            own.weight, own.depth = weighed((self.operand, *[arg.value for arg in self.arguments]))
