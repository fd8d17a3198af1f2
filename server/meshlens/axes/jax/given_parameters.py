"""The parameters that `apply` gives to a linen module and to the modules inside it, by their names.

If the tree is known, as in a map whose `in_specs` name the leaves, each parameter is split as its own spec says. If it
is unknown, one value stands for all parameters.
"""

from __future__ import annotations

from collections.abc import Callable

from meshlens.axes.domain.values import Const, Data, Dict, Instance, Value
from meshlens.axes.jax.module_methods import library_method
from meshlens.axes.jax.parameter_trees import name_in, stacks
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.parameter_scopes import Budget, GivenParameters, ParameterScope
from meshlens.axes.runs.run import Run

_COLLECTION = "params"


def given_to(model: Instance, variables: Value, summary: Data) -> GivenParameters:
    """Returns the parameters of a model.

    Args:
        model: the model.
        variables: the variables passed to `apply`.
        summary: one value for all of them.
    """
    tree = variables.get(_COLLECTION) if isinstance(variables, Dict) else None
    if not isinstance(tree, Dict):
        return GivenParameters(summary)
    return GivenParameters(summary, tree, ParameterScope(model, Budget()))


def inside(run: Run, receiver: Value, call: Invocation, invoke: Callable[[], Value]) -> Value:
    """Runs a method of an object; a module inside the running one gets its own part of the parameters.

    Args:
        run: the run.
        receiver: the object.
        call: the call of the method.
        invoke: runs the method.
    """
    given = run.given_parameters
    if given is None or given.names is None or not isinstance(receiver, Instance):
        return invoke()
    if _owns(given, receiver) or library_method(receiver, "param") is None:
        return invoke()
    if call.ctx.conditional:
        # Whether this module gets the next number is unknown, and so are the names of those after it.
        given.tree = None
    name = name_in(run, given.names, receiver, receiver.cls.name) if given.tree is not None else None
    tree = given.tree.get(name) if name is not None and isinstance(given.tree, Dict) else None
    is_plain = isinstance(tree, Dict) and not stacks(run, receiver)
    names = given.names.inside(name or receiver.cls.name, receiver)
    run.given_parameters = GivenParameters(given.summary, tree if is_plain else None, names)
    result = invoke()
    run.given_parameters = given
    return result


def given_leaf(given: GivenParameters, receiver: Instance, name: Value) -> Data | None:
    """Returns a parameter of the running module; None if it is unknown."""
    if not _owns(given, receiver) or not isinstance(given.tree, Dict) or not isinstance(name, Const):
        return None
    found = given.tree.get(name.value)
    return found if isinstance(found, Data) else None


def _owns(given: GivenParameters, receiver: Instance) -> bool:
    owner = given.names.owner if given.names is not None else None
    return isinstance(owner, Instance) and owner.number == receiver.number
