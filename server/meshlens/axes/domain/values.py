"""The values that the analysis follows: axis names, functions, meshes, specs, and facts about arrays.

A value is immutable; the attributes of objects are in the heap of a run. A value of any other kind is `Data`, which may
still have a shape and labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from meshlens.axes.domain.atoms import STATIC, UNKNOWN, Arg, Data, Site
from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.variation import ANYTHING, Variation
from meshlens.axes.domain.weight import DEEPEST_VALUE, MOST_WEIGHT, lightened, lightened_arguments, weighed

if TYPE_CHECKING:
    from meshlens.axes.runs.frames import Frame


class Part(NamedTuple):
    """The place that makes a number the size of a part of an array.

    Attributes:
        site: the place: an array's shape that is read, or a quotient.
        axes: the axes over which the dimension with this size is split.
        parts: for a quotient, the divisor, which may be the number of devices along an axis.
        is_less: whether 1 was subtracted, as for an unbiased variance.
    """

    site: Site
    axes: tuple[str, ...]
    parts: int | None = None
    is_less: bool = False


@immutable
class Const:
    """A Python constant.

    Attributes:
        value: str, int, float, bool, None or Ellipsis.
        origin: the site of the literal, if it is in the workspace.
        via: the argument or default that passed it to the function that uses it.
        part: for a number that may be the size of a part of an array, where it was taken.
        traced: the call on whose route it is a tracer; None if it is a plain value.
        counts: whether it is the number of devices, or a product of this number.
    """

    value: Any
    origin: Site | None = field(default=None, compare=False)
    via: Site | None = field(default=None, compare=False)
    part: Part | None = field(default=None, compare=False)
    traced: Site | None = field(default=None, compare=False)
    counts: bool = field(default=False, compare=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


@immutable
class Seq:
    """A tuple, list or set; `open` if there may be further unknown items."""

    kind: str
    items: tuple[Value, ...]
    open: bool = False
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed(self.items)
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            kept = lightened(self.items)
            own.items, own.open = kept, self.open or len(kept) < len(self.items)
            own.weight, own.depth = weighed(kept)


@immutable
class Dict:
    """A dictionary with known keys.

    Attributes:
        items: keys and values; `keys.py` defines the possible keys.
        open: whether there may be further entries.
        attributes: whether its entries are also attributes, as in a `ConfigDict`.
    """

    items: tuple[tuple[Any, Value], ...]
    open: bool = False
    attributes: bool = False
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed([value for _, value in self.items])
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            kept = lightened(tuple([value for _, value in self.items]))
            own.open = self.open or len(kept) < len(self.items)
            own.items = tuple([(key, value) for (key, _), value in zip(self.items, kept, strict=False)])
            own.weight, own.depth = weighed(kept)

    def get(self, key: Any) -> Value | None:
        """Returns the value of a key, or None if the key is not certainly present."""
        for known, value in self.items:
            if known == key and type(known) is type(key):
                return value
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A workspace function with the frame that it closes over; equal only to itself.

    Attributes:
        name: its name.
        path, block: the block that its sites belong to.
        site: the site of its name.
        frame: the frame that it closes over; a module's frame for a top-level function.
        parameters: as in the facts.
        body: as in the facts; None for a function with its own block, whose body is looked up when it runs, so that an
            edit in the body changes no other value.
        flags: as in the facts.
        defaults: the values of the defaults by parameter name.
        owner: the class that defines it, for `super()`.
        kind: "", "static", "class" or "property".
    """

    name: str
    path: str
    block: str
    site: Site
    frame: Frame
    parameters: tuple[Any, ...]
    body: tuple[Any, ...] | None
    flags: frozenset[str]
    defaults: tuple[tuple[str, Value], ...] = ()
    owner: Class | None = None
    kind: str = ""


@immutable
class Bound:
    """A bound method: a function and the object that it is bound to."""

    receiver: Value
    function: Value
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        plain = type(self.receiver) in _PLAIN and type(self.function) in _PLAIN
        own.weight, own.depth = (3, 1) if plain else weighed((self.receiver, self.function))
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            own.receiver, own.function = UNKNOWN, UNKNOWN
            own.weight, own.depth = 1, 1


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A workspace class.

    Attributes:
        name: its name.
        path, site: where it is defined.
        bases: the values of its bases.
        frame: the variables that its body sets.
        fields: names of annotated attributes in order, for a dataclass's constructor.
        dataclass: whether the constructor takes the fields (dataclasses, flax modules, pytree structs).
        plain: whether it has neither a decorator nor a metaclass.
        above: the workspace classes that it inherits from, in the order of `classes.py`.
    """

    name: str
    path: str
    site: Site
    bases: tuple[Value, ...]
    frame: Frame
    fields: tuple[str, ...] = ()
    dataclass: bool = False
    plain: bool = False
    above: tuple[Class, ...] = ()


@immutable
class Instance:
    """An instance of a workspace class.

    Attributes:
        cls: the class.
        number: distinguishes objects by construction site and arguments.
        made: the call that created it.
        home: the file whose run created it, which may differ from the files of the class and the call.
    """

    cls: Class
    number: int
    made: Site | None = field(default=None, compare=False)
    home: str | None = field(default=None, compare=False)


@immutable
class Super:
    """The result of `super()` inside a method."""

    receiver: Value
    cls: Class
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed((self.receiver,))
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            own.receiver = UNKNOWN
            own.weight, own.depth = 1, 1


@immutable
class Module:
    """A workspace module, or a package without `__init__.py` (path None)."""

    name: str
    path: str | None


@immutable
class Ext:
    """A name outside the workspace, such as `jax.lax.psum`."""

    dotted: str


@immutable
class Made:
    """An object that a library callable returned: `Made("jax.sharding.NamedSharding", …)`.

    Attributes:
        dotted: the dotted name of the callable.
        site: the call.
        arguments: parameter name (or position) and value.
        labels: its labels as data.
        over: the variation of its arrays.
    """

    dotted: str
    site: Site = field(compare=False)
    arguments: tuple[tuple[str | int, Value], ...] = ()
    labels: frozenset[Any] = frozenset()
    over: Variation = ANYTHING
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed([value for _, value in self.arguments])
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            kept = lightened(tuple([value for _, value in self.arguments]))
            named = tuple([(name, value) for (name, _), value in zip(self.arguments, kept, strict=False)])
            own.arguments = named if named else (("*", UNKNOWN), ("**", UNKNOWN))
            own.weight, own.depth = weighed(kept)


@immutable
class Partial:
    """`functools.partial(callee, *args, **kwargs)`."""

    callee: Value
    args: tuple[Arg, ...]
    site: Site
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed((self.callee, *[arg.value for arg in self.args]))
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            own.callee, own.args = lightened((self.callee,))[0], lightened_arguments(self.args)
            own.weight, own.depth = weighed((self.callee, *[arg.value for arg in self.args]))


@immutable
class Union:
    """One of several possible values.

    Attributes:
        options: the values.
        of_table: whether the options are entries of a table, one of which an unknown key selects.
    """

    options: tuple[Value, ...]
    of_table: bool = False
    weight: int = field(init=False, repr=False, compare=False)
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the value's weight; drops details if the value is too heavy."""
        own: Any = self
        own.weight, own.depth = weighed(self.options)
        if self.weight > MOST_WEIGHT or self.depth > DEEPEST_VALUE:
            kept = tuple(dict.fromkeys(lightened(self.options))) or (UNKNOWN,)
            own.options = kept if len(kept) > 1 else (*kept, UNKNOWN)
            own.weight, own.depth = weighed(self.options)


_PLAIN = frozenset({Data, Const, Function, Class, Instance, Module, Ext})
"""Types of values that contain no other values."""

from meshlens.axes.domain.map_values import Binder, Mapped, Mesh, Spec, Wrapped  # noqa: E402 - these hold values

Value: TypeAlias = (
    Data
    | Const
    | Seq
    | Dict
    | Function
    | Bound
    | Class
    | Instance
    | Super
    | Module
    | Ext
    | Made
    | Partial
    | Mesh
    | Spec
    | Mapped
    | Wrapped
    | Union
)

__all__ = [
    "STATIC",
    "UNKNOWN",
    "Arg",
    "Binder",
    "Bound",
    "Class",
    "Const",
    "Data",
    "Dict",
    "Ext",
    "Function",
    "Instance",
    "Made",
    "Mapped",
    "Mesh",
    "Module",
    "Part",
    "Partial",
    "Seq",
    "Site",
    "Spec",
    "Super",
    "Union",
    "Value",
    "Wrapped",
]
