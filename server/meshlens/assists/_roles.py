"""Which arguments of a call hold the batch, which the state, and which neither."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from meshlens.assists._functions import Target, dotted_name, function_at
from meshlens.assists._gradients import differentiated
from meshlens.assists._host_calls import Callee, HostCall
from meshlens.assists._made import BATCH
from meshlens.assists._scopes import parent_of
from meshlens.axes.values import Site
from meshlens.facts.nodes import NOTHING, Attribute, Call, Name
from meshlens.project.trees import Node, bound_by, names_bound, path_to, tree, walk
from meshlens.project.view import FileView

Role = Literal["batch", "state", "rest"]

_STATE = re.compile(
    r"(?:.*_)?(?:params|parameters|param|state|states|opt|optim|optimizer|model|module|network|net|variables|weights?"
    r"|metrics?|agent|critic|actor|policy|generator|discriminator|encoder|decoder|stats|w|b|graphdef|ema|carry)"
)
_KEY = re.compile(r"(?:.*_)?(?:key|keys|rng|rngs|prng|seed|seeds)\d*")
_PLAIN = re.compile(
    r"(?:.*_)?(?:step|steps|epoch|i|idx|index|lr|rate|config|cfg|args|kwargs|scale|temperature|size|num|n|fn|func|apply"
    r"|train|training|deterministic|tx|loss_fn|beta|alpha|gamma|tau|eps|epsilon|t|dt|coef|weight_decay)"
)
_SETTINGS = re.compile(r"(?:.*_)?(?:config|cfg|conf|args|flags|hparams|hp|options|opts|settings)")
_MADE = re.compile(r"(?:.*_)?(?:batch|batches|minibatch|images?|labels?|inputs?|targets?|tokens|observations?)")
_WEAK = frozenset({"state", "states", "w", "b"})
_SCALARS = frozenset({"int", "float", "bool", "str"})
_PUT_TOGETHER = frozenset({"equinox.combine", "flax.nnx.merge"})
_PARTS_OF_STATE = frozenset({"params", "apply_gradients", "opt_state", "apply_fn", "replace"})


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a call.

    Attributes:
        node: the expression, of a splat without its stars.
        name: what it is called: the parameter if that is known, else a name in the expression.
        role: what it holds.
        is_carried: whether the call's result gets its name.
    """

    node: Node
    name: str
    role: Role
    is_carried: bool


def underlying(view: FileView, callee: Callee) -> Target | None:
    """Returns the function of the file that a callee runs in the end."""
    if callee.target is not None:
        return callee.target
    above = parent_of(view, callee.site)
    node: Node = above[3] if above[0] == "assign" else NOTHING
    while node[0] == "call" and node[3]:
        node = node[3][0][2]
    if node[0] not in ("name", "attr"):
        return None
    return function_at(view, view.span(Site(callee.site.path, callee.site.block, node[1])))


def read_roles(
    view: FileView, callee: Callee, call: HostCall, said: tuple[tuple[str, int], ...] = ()
) -> tuple[Given, ...]:
    """Returns what each argument of a call holds; nothing for a call that hands over no batch.

    A wrong guess about the batch costs speed and never numbers, as an array that is split computes what it did.

    Args:
        view: the file of the function.
        callee: the function.
        call: a call of it, of this file or another.
        said: the arguments that hold the batch, where somebody said it.
    """
    target = underlying(view, callee)
    static = _static_names(view, target)
    found = tuple(_given(view, target, call, place, static) for place in range(len(call.node[3])))
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
    """Returns the parameters of a function that hold the batch, told without a call."""
    static = _static_names(view, target)
    named = [one[0] for one in target.parameters if one[2] in ("only", "any", "key") and one[3] is None]
    roles = {name: _role_of_name(view, target, name) for name in named if name not in static}
    found = tuple(name for name, role in roles.items() if role == "batch")
    return found or tuple(name for name in roles if name in _WEAK and not _is_taken_apart(view, target, name))


def batches_made(view: FileView, target: Target) -> tuple[Site, ...]:
    """Returns the expressions in a function that make a batch: what gets such a name, and several keys at once."""
    found = []
    for node in walk(target.node):
        if node[0] != "assign" or node[3][0] != "call" or len(node[2]) != 1 or node[2][0][0] not in ("name", "tuple"):
            continue
        names = names_bound([node])
        is_batch = all(_MADE.fullmatch(name) for name in names)
        is_keys = dotted_name(view, node[3][2]) == "jax.random.split" and node[2][0][0] == "name"
        if is_batch or (is_keys and len(node[3][3]) > 1 and node[3][3][1][2][0] != "const"):
            found.append(target.at(node[3][1]))
    return tuple(found)


def _given(view: FileView, target: Target | None, call: HostCall, place: int, static: frozenset[str]) -> Given:
    label, _, node = call.node[3][place]
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
    if name in static or node[0] in ("const", "fstr", "lambda", "cmp", "not") or (node[0] == "unary"):
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
    return _role_of_name(view, target, name)


def _role_of_name(view: FileView, target: Target | None, name: str) -> Role:
    parameter = _parameter_named(target, name)
    annotation = parameter[4] if parameter is not None else None
    said = str(annotation[-1]) if annotation is not None and annotation[0] in ("name", "attr", "const") else ""
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
    """A state that nothing but its name speaks for is a batch where there is no other, as in reinforcement learning."""
    is_named_only = given.role == "state" and not given.is_carried and given.name in _WEAK
    if not is_named_only or (target is not None and _is_taken_apart(view, target, given.name)):
        return given
    return Given(given.node, given.name, "batch", False)


def is_setting(node: Node) -> bool:
    """Returns whether an expression is an entry of a configuration."""
    while node[0] in ("attr", "sub"):
        node = node[2]
        if node[0] in ("name", "attr") and _SETTINGS.fullmatch(str(node[-1]).lower()):
            return True
    return False


def _is_taken_apart(view: FileView, target: Target, name: str) -> bool:
    """Returns whether a function uses a parameter as the state of a training."""
    return any(_takes_apart(view, node, name) for statement in target.body for node in walk(statement))


def _takes_apart(view: FileView, node: Node, name: str) -> bool:
    """Returns whether an expression reads a part that only states have, or puts a model together from its parts."""
    if isinstance(node, Attribute):
        return isinstance(node.object, Name) and node.object.name == name and node.name in _PARTS_OF_STATE
    return (
        isinstance(node, Call)
        and dotted_name(view, node.callee) in _PUT_TOGETHER
        and any(isinstance(one.value, Name) and one.value.name == name for one in node.arguments)
    )


def _parameter(target: Target | None, call: HostCall, place: int, label: str | None) -> str:
    if label not in (None, "*"):
        return label if label != "**" and label is not None else ""
    if target is None or label == "*":
        return ""
    before = [given[0] for given in call.node[3][:place]]
    at = call.skipped + place
    if "*" in before or at >= len(target.parameters) or target.parameters[at][2] not in ("only", "any"):
        return ""
    return str(target.parameters[at][0])


def _parameter_named(target: Target | None, name: str) -> Node | None:
    parameters = target.parameters if target is not None else ()
    return next((parameter for parameter in parameters if parameter[0] == name), None)


def _own_name(node: Node) -> str:
    """Returns the name that tells most of an expression: `x` of `x`, `self.x`, `x[0]`, `next(x)` and `np.array(x)`."""
    if node[0] == "name":
        return str(node[2])
    if node[0] == "attr":
        return str(node[3])
    if node[0] == "sub":
        key = node[3]
        return str(key[2]) if key[0] == "const" and isinstance(key[2], str) else _own_name(node[2])
    if node[0] == "call":
        return next((name for _, _, value in node[3] if (name := _own_name(value))), "")
    return ""


def _static_names(view: FileView, target: Target | None) -> frozenset[str]:
    """Returns the parameters that a `jit` of a function is told to be static."""
    if target is None:
        return frozenset()
    names = [parameter[0] for parameter in target.node[2][2]]
    applied = [(node[3], 1) for node in target.node[2][3] if node[0] == "call"]
    for call in view.records.calls:
        operand = call.args[0].site if call.args else None
        path = path_to(view, call.call) if operand is not None and view.is_here(call.call) else ()
        node = path[-1] if path and path[-1][0] == "call" and not call.decorator else None
        if node is not None and node[3] and node[3][0][2][-1] == target.name and "jit" in dotted_name(view, node[2]):
            applied.append((node[3], 0))
    found: set[str] = set()
    for arguments, _ in applied:
        for label, _, value in arguments:
            if label in ("static_argnums", "static_argnames", "nondiff_argnums"):
                items = value[2] if value[0] in ("tuple", "list") else (value,)
                for item in items:
                    said = item[2] if item[0] == "const" else None
                    if isinstance(said, str):
                        found.add(said)
                    elif isinstance(said, int) and -len(names) <= said < len(names):
                        found.add(names[said])
    return frozenset(found)


def _is_carried(view: FileView, call: HostCall, node: Node) -> bool:
    """Returns whether the result of a call gets the name or attribute that an argument has."""
    if node[0] not in ("name", "attr"):
        return False
    root = tree(view, call.site.path, call.site.block)
    for one in walk(root) if root is not None else ():
        if one[0] == "assign" and any(inner is call.node for inner in walk(one[3])):
            if node[0] == "name" and node[2] in names_bound([one]):
                return True
            if any(_same_attribute(inner, node) for target in one[2] for inner in walk(target)):
                return True
    return False


def _same_attribute(one: Node, other: Node) -> bool:
    return bool(one[0] == other[0] == "attr" and one[3] == other[3] and one[2][-1] == other[2][-1])


def _is_counter(view: FileView, call: HostCall, node: Node) -> bool:
    """Returns whether an argument counts the iterations of a loop."""
    return node[0] == "name" and any(
        one[0] == "for"
        and one[3][0] == "call"
        and (
            (one[3][2][-1] in ("range", "arange", "trange") and node[2] in bound_by(one))
            or (one[3][2][-1] == "enumerate" and one[2][0] == "tuple" and one[2][2][0][-1] == node[2])
        )
        for one in path_to(view, call.site)
    )
