"""The role of each argument of a call: batch, state, or neither."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    Call,
    Comparison,
    Constant,
    For,
    FString,
    Lambda,
    ListDisplay,
    Name,
    Not,
    Parameter,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
    root_name,
)
from meshlens.project.trees import Node, bound_by, names_bound, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.drawn import is_yielded
from meshlens.refactoring.following.gradients import differentiated
from meshlens.refactoring.reading.functions import Target, dotted_name, function_at
from meshlens.refactoring.reading.host_calls import Callee, HostCall
from meshlens.refactoring.reading.made import BATCH
from meshlens.refactoring.reading.scopes import parent_of

Role = Literal["batch", "state", "rest"]

_STATE = re.compile(
    r"(?:.*_)?(?:params|parameters|param|state|states|opt|optim|optimizer|model|module|network|net|variables|weights?"
    r"|metrics?|agent|critic|actor|policy|generator|discriminator|encoder|decoder|stats|w|b|graphdef|ema|carry)"
)
_KEY = re.compile(r"(?:.*_)?(?:key|keys|rng|rngs|prng|seed|seeds)\d*")
_PLAIN = re.compile(
    r"(?:.*_)?(?:step|steps|epoch|idx|index|lr|rate|config|cfg|args|kwargs|scale|temperature|size|num|fn|func|apply"
    r"|train|training|deterministic|tx|loss_fn|beta|alpha|gamma|tau|eps|epsilon|dt|coef|weight_decay)"
    r"|(?:(?:batch|epoch|iter|loop|step)_)?(?:i|n|t)"
)
_SETTINGS = re.compile(r"(?:.*_)?(?:config|cfg|conf|args|flags|hparams|hp|options|opts|settings)")
_MADE = re.compile(r"(?:.*_)?(?:batch|batches|minibatch|images?|labels?|inputs?|targets?|tokens|observations?)")
_WEAK = frozenset({"state", "states", "w", "b"})
_SCALARS = frozenset({"int", "float", "bool", "str"})
_PUT_TOGETHER = frozenset({"equinox.combine", "flax.nnx.merge"})
_OF_OBJECTS = frozenset(f"flax.nnx.{name}" for name in "state update split clone graphdef variables pop".split())
_PARTS_OF_STATE = frozenset({"params", "apply_gradients", "opt_state", "apply_fn", "replace"})


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a call.

    Attributes:
        node: the expression, without the stars of a splat.
        name: the parameter's name if known, else a name in the expression.
        role: its role.
        is_carried: whether the call's result is assigned to the argument's name.
    """

    node: Node
    name: str
    role: Role
    is_carried: bool


def underlying(view: FileView, callee: Callee) -> Target | None:
    """Returns the function of the file that a callee ultimately runs."""
    if callee.target is not None:
        return callee.target
    above = parent_of(view, callee.site)
    node: Node = above.value if isinstance(above, Assign) else NOTHING
    while isinstance(node, Call) and node.arguments:
        node = node.arguments[0].value
    if not isinstance(node, (Name, Attribute)):
        return None
    return function_at(view, view.span(Site(callee.site.path, callee.site.block, node.site)))


def read_roles(
    view: FileView, callee: Callee, call: HostCall, said: tuple[tuple[str, int], ...] = ()
) -> tuple[Given, ...]:
    """Returns the role of each argument of a call; empty for a call without a batch.

    A wrong guess about the batch costs speed but never changes results, because splitting an array does not change its
    values.

    Args:
        view: the file of the function.
        callee: the function.
        call: a call to it, in this file or another.
        said: the arguments that the user named as the batch, each with the axis of its rows.
    """
    target = underlying(view, callee)
    static = static_names(view, target)
    found = tuple(_given(view, target, call, place, static) for place in range(len(call.node.arguments)))
    if said:
        names = {name for name, _ in said}
        found = tuple(_as_said(one, names) for one in found)
        return found if any(one.role == "batch" for one in found) else ()
    if any(one.role == "batch" for one in found):
        return found
    second = tuple(_second_thought(view, target, call, one) for one in found)
    return second if any(one.role == "batch" for one in second) else ()


def _as_said(given: Given, names: set[str]) -> Given:
    role: Role = "batch" if given.name in names else "rest" if given.role == "batch" else given.role
    return Given(given.node, given.name, role, given.is_carried)


def batch_parameters(view: FileView, target: Target) -> tuple[str, ...]:
    """Returns the parameters of a function that hold the batch, determined without a call."""
    static = static_names(view, target)
    named = [one.name for one in target.parameters if one.how in ("only", "any", "key") and one.default is None]
    roles = {name: _role_of_name(view, target, name) for name in named if name not in static}
    found = tuple(name for name, role in roles.items() if role == "batch")
    return found or tuple(name for name in roles if name in _WEAK and not _is_taken_apart(view, target, name))


def batches_made(view: FileView, target: Target) -> tuple[Site, ...]:
    """Returns the expressions in a function that make a batch: several keys at once, or a value named like a batch."""
    found = []
    for node in walk(target.node):
        if (
            not isinstance(node, Assign)
            or not isinstance(node.value, Call)
            or len(node.targets) != 1
            or not isinstance(node.targets[0], (Name, TupleDisplay))
        ):
            continue
        names = names_bound([node])
        is_batch = all(_MADE.fullmatch(name) for name in names)
        is_keys = dotted_name(view, node.value.callee) == "jax.random.split" and isinstance(node.targets[0], Name)
        if is_batch or (
            is_keys and len(node.value.arguments) > 1 and not isinstance(node.value.arguments[1].value, Constant)
        ):
            found.append(target.at(node.value.site))
    return tuple(found)


def _given(view: FileView, target: Target | None, call: HostCall, place: int, static: frozenset[str]) -> Given:
    label, node = call.node.arguments[place].label, call.node.arguments[place].value
    name = _parameter(target, call, place, label) or _own_name(node)
    carried = _is_carried(view, call, node)
    role = _role(view, target, call, (label, node, name), static, carried)
    is_shared = call.skipped + place in call.shared and label is None
    return Given(node, name, "rest" if is_shared and role == "batch" else role, carried)


def _role(
    view: FileView,
    target: Target | None,
    call: HostCall,
    given: tuple[str | None, Node, str],
    static: frozenset[str],
    carried: bool,
) -> Role:
    label, node, name = given
    if name in static or isinstance(node, (Constant, FString, Lambda, Comparison, Not, UnaryOperation)):
        return "rest"
    if is_setting(node):
        return "rest"
    if label == "**":
        return "batch" if BATCH.fullmatch(_own_name(node)) else "rest"
    if call.is_vmapped:
        return "state" if carried and not _KEY.fullmatch(name) else "batch"
    if carried and not _KEY.fullmatch(name):
        return "state"
    if _is_counter(view, call, node):
        return "rest"
    role = _role_of_name(view, target, name)
    return "batch" if role == "rest" and _PLAIN.fullmatch(name) and is_yielded(view, call.site, node) else role


def _role_of_name(view: FileView, target: Target | None, name: str) -> Role:
    parameter = _parameter_named(target, name)
    annotation = parameter.annotation if parameter is not None else None
    said = str(annotation.value) if isinstance(annotation, Constant) else last_name(annotation)
    if said in _SCALARS or said.endswith("Config") or name == "static":
        return "rest"
    if said.endswith("Batch") or name == "batch":
        return "batch"
    if said.endswith(("State", "Params", "Module", "Optimizer", "Model")):
        return "state"
    if target is not None and (name in differentiated(view, target) or _is_taken_apart(view, target, name)):
        return "state"
    if BATCH.fullmatch(name):
        return "batch"
    if _KEY.fullmatch(name) or _PLAIN.fullmatch(name):
        return "rest"
    return "state" if _STATE.fullmatch(name) else "batch"


def _second_thought(view: FileView, target: Target | None, call: HostCall, given: Given) -> Given:
    """Treats an argument as the batch if only its name suggests state and there is no other batch, as in RL.

    The same applies to an argument that is named like a batch and reassigned by the call, as in a sampler.
    """
    is_named_only = given.role == "state" and not given.is_carried and given.name in _WEAK
    is_renewed = given.is_carried and BATCH.fullmatch(given.name) is not None
    if not (is_named_only or is_renewed) or (target is not None and _is_taken_apart(view, target, given.name)):
        return given
    return Given(given.node, given.name, "batch", False)


def is_setting(node: Node) -> bool:
    """Returns whether an expression is an entry of a configuration."""
    while isinstance(node, (Attribute, Subscript)):
        node = node.object
        if isinstance(node, (Name, Attribute)) and _SETTINGS.fullmatch(node.name.lower()):
            return True
    return False


def _is_taken_apart(view: FileView, target: Target, name: str) -> bool:
    """Returns whether a function uses a parameter as a training state."""
    return any(_takes_apart(view, node, name) for statement in target.body for node in walk(statement))


def _takes_apart(view: FileView, node: Node, name: str) -> bool:
    """Returns whether an expression reads a part of a training state, or runs, updates or assembles a model."""
    if isinstance(node, Attribute):
        return isinstance(node.object, Name) and node.object.name == name and node.name in _PARTS_OF_STATE
    if not isinstance(node, Call):
        return False
    given = [one.value for one in node.arguments if one.label is None]
    if dotted_name(view, node.callee) in _PUT_TOGETHER:
        return any(isinstance(one.value, Name) and one.value.name == name for one in node.arguments)
    if dotted_name(view, node.callee) in _OF_OBJECTS:
        return bool(given) and isinstance(given[0], Name) and given[0].name == name
    # A dictionary's `update` takes one argument, an optimizer's the model and its gradients.
    updated = node.callee.object if last_name(node.callee) == "update" and isinstance(node.callee, Attribute) else None
    is_optimizer = updated is not None and len(given) > 1 and root_name(updated) == name
    is_called = isinstance(node.callee, Name) and node.callee.name == name
    return is_optimizer or (is_called and _PLAIN.fullmatch(name) is None)


def _parameter(target: Target | None, call: HostCall, place: int, label: str | None) -> str:
    if label not in (None, "*"):
        return label if label != "**" and label is not None else ""
    if target is None or label == "*":
        return ""
    before = [given.label for given in call.node.arguments[:place]]
    at = call.skipped + place
    if "*" in before or at >= len(target.parameters) or target.parameters[at].how not in ("only", "any"):
        return ""
    return target.parameters[at].name


def _parameter_named(target: Target | None, name: str) -> Parameter | None:
    parameters = target.parameters if target is not None else ()
    return next((parameter for parameter in parameters if parameter.name == name), None)


def _own_name(node: Node) -> str:
    """Returns the most specific name in an expression: `x` for `x`, `self.x`, `x[0]`, `next(x)` and `np.array(x)`."""
    if isinstance(node, (Name, Attribute)):
        return node.name
    if isinstance(node, Subscript):
        key = node.key
        return str(key.value) if isinstance(key, Constant) and isinstance(key.value, str) else _own_name(node.object)
    if isinstance(node, Call):
        return next((name for _, _, value in node.arguments if (name := _own_name(value))), "")
    return ""


def static_names(view: FileView, target: Target | None) -> frozenset[str]:
    """Returns the parameters that a function's `jit` declares as static."""
    if target is None:
        return frozenset()
    names = [parameter.name for parameter in target.node.function.parameters]
    applied = [(node.arguments, 1) for node in target.node.function.decorators if isinstance(node, Call)]
    for call in view.records.calls:
        operand = call.args[0].site if call.args else None
        path = path_to(view, call.call) if operand is not None and view.is_here(call.call) else ()
        node = path[-1] if path and isinstance(path[-1], Call) and not call.decorator else None
        if (
            node is not None
            and node.arguments
            and last_name(node.arguments[0].value) == target.name
            and "jit" in dotted_name(view, node.callee)
        ):
            applied.append((node.arguments, 0))
    found: set[str] = set()
    for arguments, _ in applied:
        for label, _, value in arguments:
            if label in ("static_argnums", "static_argnames", "nondiff_argnums"):
                items = value.items if isinstance(value, (TupleDisplay, ListDisplay)) else (value,)
                for item in items:
                    said = item.value if isinstance(item, Constant) else None
                    if isinstance(said, str):
                        found.add(said)
                    elif isinstance(said, int) and -len(names) <= said < len(names):
                        found.add(names[said])
    return frozenset(found)


def _is_carried(view: FileView, call: HostCall, node: Node) -> bool:
    """Returns whether a call's result is assigned to the name or attribute that is passed as an argument."""
    if not isinstance(node, (Name, Attribute)):
        return False
    root = tree(view, call.site.path, call.site.block)
    for one in walk(root) if root is not None else ():
        if isinstance(one, Assign) and any(inner is call.node for inner in walk(one.value)):
            if isinstance(node, Name) and node.name in names_bound([one]):
                return True
            if any(_same_attribute(inner, node) for target in one.targets for inner in walk(target)):
                return True
    return False


def _same_attribute(one: Node, other: Node) -> bool:
    if not isinstance(one, Attribute) or not isinstance(other, Attribute) or one.name != other.name:
        return False
    objects = one.object, other.object
    return all(isinstance(each, (Name, Attribute)) for each in objects) and len(set(map(last_name, objects))) == 1


def _is_counter(view: FileView, call: HostCall, node: Node) -> bool:
    """Returns whether an argument counts the iterations of a loop."""
    return isinstance(node, Name) and any(
        isinstance(one, For)
        and isinstance(one.iterable, Call)
        and (
            (last_name(one.iterable.callee) in ("range", "arange", "trange") and node.name in bound_by(one))
            or (
                last_name(one.iterable.callee) == "enumerate"
                and isinstance(one.target, TupleDisplay)
                and last_name(one.target.items[0]) == node.name
            )
        )
        for one in path_to(view, call.site)
    )
