"""The parameters that a model creates while it is initialized, module by module."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshlens.axes.domain.values import Data, Value

_MOST_BODIES = 300
"""Maximum number of functions that are run to collect the parameters of one model."""


@dataclass(slots=True)
class Budget:
    """The number of functions that have run to collect the parameters of a model."""

    bodies: int = 0

    def allows_another(self) -> bool:
        """Returns whether another function may run, and counts it."""
        self.bodies += 1
        return self.bodies <= _MOST_BODIES


@dataclass(slots=True)
class ParameterScope:
    """The parameters of one module and of the modules inside it.

    Attributes:
        owner: the module; None for a layer of a library.
        budget: the budget, shared by all scopes of a model.
        leaves: the shapes of its own parameters, by name.
        inner: the scopes of the modules inside it, by name.
        names: the names of these modules, by identity; two calls with the same arguments create two modules.
        counts: the number of unnamed modules of each class.
    """

    owner: Value | None
    budget: Budget
    leaves: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    inner: dict[str, ParameterScope] = field(default_factory=dict)
    names: dict[int, tuple[Value, str | None]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def inside(self, name: str, owner: Value | None) -> ParameterScope:
        """Returns the scope of a module inside this one."""
        return self.inner.setdefault(name, ParameterScope(owner, self.budget))

    def numbered(self, kind: str) -> str:
        """Returns flax's name for the next unnamed module of a class, such as `Dense_0`."""
        count = self.counts.get(kind, 0)
        self.counts[kind] = count + 1
        return f"{kind}_{count}"


@dataclass(slots=True)
class GivenParameters:
    """The parameters that a running flax module was given.

    Attributes:
        summary: their variation, and which arguments of maps they depend on.
        tree: the module's own parameters; None if they are unknown.
        names: the scope in which the modules inside it get their names; None if the tree was unknown from the start.
    """

    summary: Data
    tree: Value | None = None
    names: ParameterScope | None = None
