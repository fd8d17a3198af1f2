"""The values that maps are about: meshes, specs, applications of binders, mapped and transformed functions."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from meshlens.axes.immutable import immutable

if TYPE_CHECKING:
    from meshlens.axes.values import Arg, Const, Site, Value


@immutable
class Mesh:
    """A mesh whose axis names are known, at least partly.

    Attributes:
        names: values of the axis names, in order.
        sizes: sizes of the axes, None where unknown; None if not even their number is known.
        site: the call that made it.
        open: true when there may be further axes.
    """

    names: tuple[Value, ...]
    sizes: tuple[int | None, ...] | None
    site: Site = field(compare=False)
    open: bool = False
    kind: str = "Mesh"


@immutable
class Spec:
    """A PartitionSpec; an entry is a value: None, a name, a tuple of names, or not known."""

    entries: tuple[Value, ...]
    site: Site = field(compare=False)
    sites: tuple[Site, ...] = field(default=(), compare=False)
    open: bool = False


@immutable
class Binder:
    """One application of a binder: `jax.pmap(step, axis_name="batch")`.

    Attributes:
        kind: "pmap", "vmap", "shard_map", "smap", "axis_env", …
        dotted: the callable as it is called here.
        site: the call (or the decorator) that applies it.
        names: the axis names that it binds, with their values.
        open: true when it may bind names that are not known.
        arguments: parameter name, the argument.
        mesh: the mesh of a shard_map, if known.
        operand: what it maps.
        operand_site: where the operand stands.
        checked: false when `check_vma`/`check_rep` is off; true for shard_map otherwise.
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

    def argument(self, name: str) -> Arg | None:
        """The argument given for a parameter, or None."""
        for known, arg in self.arguments:
            if known == name:
                return arg
        return None


@immutable
class Mapped:
    """The mapped function: the result of applying a binder."""

    binder: Binder


@immutable
class Wrapped:
    """The result of a transparent transformation: `Wrapped("jit", f)`.

    Attributes:
        how: the row's `how` in `jaxapi.transparent`: "same", "grad", "value_and_grad", …
        dotted: the callable.
        operand: the function that runs.
        site: the call.
        arguments: the other arguments.
    """

    how: str
    dotted: str
    operand: Value
    site: Site
    arguments: tuple[Arg, ...] = ()
