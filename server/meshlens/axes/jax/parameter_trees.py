"""The parameter trees of flax models, by path and shape.

A model's `init` returns data with a label that names the model and its arguments. Only code that looks at the paths of
leaves, such as partition rules with patterns, asks for the tree itself; then the methods of the model run again, and
each layer that they certainly call notes the parameters that it creates. The tree may have further leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.data.layer_shapes import parameters_of_layer
from meshlens.axes.domain.classes import class_attribute, names_of_fields
from meshlens.axes.domain.keys import SOME_KEY, as_value
from meshlens.axes.domain.labels import PARAMETERS
from meshlens.axes.domain.map_values import Leaf
from meshlens.axes.domain.specs import chosen_for, leaf_of, sharding_parts
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Bound,
    Const,
    Data,
    Dict,
    Function,
    Instance,
    Made,
    Partial,
    Seq,
    Spec,
    Value,
)
from meshlens.axes.jax.module_methods import library_method
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.train_states import is_state
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.heap import GIVEN, attributes_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.parameter_scopes import Budget, ParameterScope
from meshlens.axes.runs.records import Records
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.transparent import STACKING

_MOST_PARTS = 15
_MOST_FLAT = 60
_DEEPEST = 8
_FILTER = "equinox.filter"
_PARAM = "flax.nnx.Param"
_NUMBER = re.compile(r"\d+")
_STACKS = STACKING | {"vmap", "vmap_with_axes", "layer_stack", "Stacked"}
"""Functions that give the parameters of a module another axis."""
_RENAMES = frozenset({"remat", "checkpoint"})
"""Functions after which flax gives an unnamed module another name."""
_OF_MODEL, _OF_STATE, _PLAIN, _ITSELF = "model", "state", "plain", "itself"
"""How a label gives a tree: the variables that `init` of a linen module returns, the state of an nnx module, that
state as plain dictionaries, or an equinox module, which is a tree itself."""

Label = tuple[str, Instance, Any, tuple[Any, ...]]


def of_init(model: Instance, args: tuple[Arg, ...]) -> frozenset[Any]:
    """Returns the label of the variables that `init` returns.

    Args:
        model: the model.
        args: the arguments that its method gets.
    """
    label = (PARAMETERS, model, (_OF_MODEL, args), ())
    try:
        return frozenset({label})
    except TypeError:
        return frozenset()


def of_state(model: Value) -> frozenset[Any]:
    """Returns the label of the state of an nnx module; none for any other value."""
    return frozenset({(PARAMETERS, model, (_OF_STATE, ()), ())}) if _is_nnx(model) else frozenset()


def of_module(module: Value) -> frozenset[Any]:
    """Returns the label of the arrays of an equinox module; none for any other value."""
    is_tree = isinstance(module, Instance) and module.cls.dataclass
    return frozenset({(PARAMETERS, module, (_ITSELF, ()), ())}) if is_tree else frozenset()


def module_of(tree: Value) -> Instance | None:
    """Returns the equinox module whose arrays a tree consists of; None for any other tree."""
    if isinstance(tree, Made) and tree.dotted == _FILTER:
        module = dict(tree.arguments).get(0, UNKNOWN)
        return module if isinstance(module, Instance) and of_module(module) else None
    label = label_of(tree.labels) if isinstance(tree, Data) and tree.labels else None
    return label[1] if label is not None and label[2] == (_ITSELF, ()) and not label[3] else None


def _is_nnx(value: Value) -> bool:
    return isinstance(value, Instance) and library_method(value, "set_attributes") is not None


def label_of(labels: frozenset[Any]) -> Label | None:
    """Returns the label of a model's parameters; None if there is none, or if the value may be of several models."""
    found = [label for label in labels if isinstance(label, tuple) and label[0] == PARAMETERS]
    return found[0] if len(found) == 1 else None


def made_plain(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the label of a tree after its conversion to plain dictionaries."""
    label = label_of(labels)
    if label is None:
        return frozenset()
    kind, model, (how, args), path = label
    return frozenset({(kind, model, (_PLAIN if how == _OF_STATE else how, args), path)})


def part_at(labels: frozenset[Any], key: Value) -> frozenset[Any]:
    """Returns the label of a part of a model's parameters."""
    label = label_of(labels) if labels and isinstance(key, Const) else None
    if label is None or not isinstance(key, Const) or len(label[3]) >= _DEEPEST:
        return frozenset()
    return frozenset({(*label[:3], (*label[3], key.value))})


def with_leaves(run: Run, tree: Value, call: Invocation) -> Value:
    """Returns a tree whose known parameters of models are written out, as dictionaries that may have further entries.

    Args:
        run: the run.
        tree: the tree.
        call: the call that looks at the tree.
    """
    if is_state(tree) and isinstance(tree, Made):
        held = dict(tree.arguments).get("params", UNKNOWN)
        params = with_leaves(run, held, call)
        return tree if params is held else Dict((("params", params), (SOME_KEY, UNKNOWN)), True, True)
    if (module := module_of(tree)) is not None:
        return module
    label = label_of(tree.labels) if isinstance(tree, Data) and tree.labels else None
    if label is None:
        return tree
    _, model, (how, args), path = label
    if how == _ITSELF:
        return tree
    found: Value | None = None
    if how in (_PLAIN, _OF_STATE):
        found = _of_object(run, model, call)
        found = _boxed(found) if how == _OF_STATE else found
    else:
        key = PARAMETERS, model, args
        if key not in run.memo:
            params = _of_scope(_collected(run, model, args, call))
            run.memo[key] = Dict((("params", params), (SOME_KEY, UNKNOWN)), True)
        found = run.memo[key]
    for step in path:
        found = found.get(step) if isinstance(found, Dict) else None
    return found if isinstance(found, Dict) and len(found.items) > 1 else tree


def with_leaves_named(run: Run, shardings: Value, tree: Value, call: Invocation) -> Value:
    """Returns a tree of shardings in which each one names the leaf that it is for, if the leaf's shape is known.

    Args:
        run: the run.
        shardings: the shardings.
        tree: the tree of arrays that gets them.
        call: the call that uses the shardings.
    """
    is_tree = isinstance(shardings, (Seq, Dict)) and any(True for _ in _plain_specs(shardings))
    return _named(run, shardings, tree, call, ()) if is_tree else shardings


def _plain_specs(shardings: Value) -> Iterator[Spec]:
    parts = [shardings]
    while parts:
        part = parts.pop()
        spec = part if isinstance(part, Spec) else sharding_parts(part)[1]
        if isinstance(part, (Seq, Dict)):
            parts += [item[1] if isinstance(item, tuple) else item for item in part.items]
        elif isinstance(spec, Spec) and leaf_of(spec) is None:
            yield spec


def _named(run: Run, shardings: Value, tree: Value, call: Invocation, path: tuple[str, ...]) -> Value:
    if len(path) > _DEEPEST:
        return shardings
    if isinstance(shardings, Seq):
        if not isinstance(tree, Seq) or tree.open or len(tree.items) != len(shardings.items):
            return shardings
        pairs = zip(shardings.items, tree.items, strict=True)
        items = tuple([_named(run, own, part, call, (*path, str(place))) for place, (own, part) in enumerate(pairs)])
        return Seq(shardings.kind, items, shardings.open)
    if isinstance(shardings, Dict):
        known = with_leaves(run, tree, call)
        if not isinstance(known, Dict):
            return shardings
        entries = [
            (key, _named(run, own, known.get(key) or UNKNOWN, call, (*path, str(key)))) for key, own in shardings.items
        ]
        return Dict(tuple(entries), shardings.open, shardings.attributes)
    shape = shape_of(tree) if isinstance(tree, Data) and "fresh" in tree.labels else None
    spec = shardings if isinstance(shardings, Spec) else sharding_parts(shardings)[1]
    if shape is None or not path or leaf_of(spec) is not None:
        return shardings
    return chosen_for(shardings, Leaf("/".join(path), shape))


def flattened(run: Run, call: Invocation) -> Value | None:
    """Returns the result of `flax.traverse_util.flatten_dict`; None if nothing is known about the tree."""
    given = by_parameter(("xs", "keep_empty_nodes", "is_leaf", "sep"), call.args)
    tree = with_leaves(run, given["xs"].value, call) if "xs" in given and "is_leaf" not in given else None
    separator = given["sep"].value if "sep" in given else Const(None)
    if not isinstance(tree, Dict) or not _is_separator(separator):
        return None
    entries, is_open = _flat(tree)
    joint = separator.value
    found = {path if joint is None else joint.join(map(str, path)): value for path, value in entries.items()}
    rest = ((SOME_KEY, UNKNOWN),) if is_open else ()
    return Dict((*found.items(), *rest), is_open)


def _flat(tree: Dict) -> tuple[dict[tuple[Any, ...], Value], bool]:
    """Returns the leaves of nested dictionaries by their paths, and whether there may be others."""
    found: dict[tuple[Any, ...], Value] = {}
    waiting: list[tuple[tuple[Any, ...], Value]] = [((), tree)]
    is_open = False
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, Dict) and _held(part) is None and len(path) < _DEEPEST:
            is_open |= part.open
            waiting += [((*path, key), value) for key, value in part.items[::-1] if key is not SOME_KEY]
        elif len(found) < _MOST_FLAT:
            found[path] = part
        else:
            is_open = True
    return found, is_open


def flat_state(run: Run, call: Invocation) -> Value | None:
    """Returns the result of `flax.nnx.to_flat_state`: pairs of a path and a variable; None if the state is unknown."""
    given = by_parameter(("state",), call.args)
    state = given["state"].value if "state" in given else UNKNOWN
    tree = with_leaves(run, state, call)
    if tree is state or not isinstance(tree, Dict):
        return None
    variables = [(path, array) for path, part in _flat(tree)[0].items() if (array := _held(part)) is not None]
    pairs = [Seq("tuple", (as_value(path), Made(_PARAM, call.site, ((0, array),)))) for path, array in variables]
    return Seq("list", (*pairs, Seq("tuple", (UNKNOWN, UNKNOWN))), True)


def _is_separator(value: Value) -> TypeGuard[Const]:
    return isinstance(value, Const) and (value.value is None or isinstance(value.value, str))


def unflattened(call: Invocation) -> Value | None:
    """Returns the result of `flax.traverse_util.unflatten_dict`; None if the dictionary is unknown."""
    given = by_parameter(("xs", "sep"), call.args)
    flat = given["xs"].value if "xs" in given else UNKNOWN
    separator = given["sep"].value if "sep" in given else Const(None)
    if not isinstance(flat, Dict) or not _is_separator(separator):
        return None
    rest = flat.get(SOME_KEY)
    tree: dict[Any, Any] = {}
    for key, value in flat.items:
        path = key if isinstance(key, tuple) else str(key).split(separator.value) if separator.value else (key,)
        inner = tree
        for step in path[:-1] if key is not SOME_KEY else ():
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                return None
        if key is not SOME_KEY:
            # Equal specs for different paths have different places.
            inner[path[-1]] = chosen_for(value, Leaf("/".join(map(str, path)), None))
    return _as_dict(tree, ((SOME_KEY, rest),) if rest is not None else (), flat.open)


def _as_dict(tree: dict[Any, Any], rest: tuple[tuple[Any, Value], ...], is_open: bool) -> Dict:
    items = [(key, _as_dict(part, rest, is_open) if isinstance(part, dict) else part) for key, part in tree.items()]
    return Dict((*items, *rest), is_open)


def _collected(run: Run, model: Instance, args: tuple[Arg, ...], call: Invocation) -> ParameterScope:
    """Returns the parameters of a linen model."""
    scope = ParameterScope(model, Budget())
    method = class_attribute(model.cls, "__call__")
    if run.scope is None and method is not None and not stacks(run, model):
        _run_apart(run, scope, call, Bound(model, method), args)
    return scope


def _run_apart(run: Run, scope: ParameterScope, call: Invocation, callee: Value, args: tuple[Arg, ...]) -> None:
    """Runs a method of a model to collect its parameters; the analysis itself does not see that it ran."""
    sets = run.records, run.entered, run.made, run.mapped, run.called
    counts = run.calls, run.work, run.iterations, len(run.altered)
    outer = run.given_key, run.given_parameters, run.differentiating
    run.enters()
    run.records, run.entered, run.made, run.mapped, run.called = Records(), set(), {}, {}, set()
    run.given_key, run.given_parameters, run.differentiating = None, None, 0
    run.scope = scope
    ctx = Context(AxisEnv(), (), skip=True)
    try:
        run.invoke(Invocation(callee, args, call.site, call.callee_site, call.frame, ctx, "run"))
    finally:
        run.scope = None
        run.records, run.entered, run.made, run.mapped, run.called = sets
        run.calls, run.work, run.iterations, altered = counts
        run.given_key, run.given_parameters, run.differentiating = outer
        del run.altered[altered:]


def inside(run: Run, receiver: Value, call: Invocation, invoke: Callable[[], Value]) -> Value:
    """Runs a method of an object while parameters are collected, in the scope of its module.

    Args:
        run: the run.
        receiver: the object.
        call: the call of the method.
        invoke: runs the method.
    """
    scope = run.scope
    if scope is None or not isinstance(receiver, Instance) or library_method(receiver, "param") is None:
        return invoke()
    if isinstance(scope.owner, Instance) and scope.owner.number == receiver.number:
        return invoke()
    is_plain = not stacks(run, receiver) and not call.ctx.conditional
    name = name_in(run, scope, receiver, receiver.cls.name) if is_plain else None
    if name is None:
        return UNKNOWN
    run.scope = scope.inside(name, receiver)
    # A module that another one creates and passes on belongs to the other one.
    run.scope.names.update({id(arg.value): (arg.value, None) for arg in call.args})
    result = invoke()
    run.scope = scope
    return result


def note_layer(run: Run, layer: Made, args: tuple[Arg, ...], ctx: Context) -> None:
    """Notes the parameters of a layer that is called while parameters are collected."""
    scope = run.scope
    created = parameters_of_layer(layer, args) if scope is not None and not ctx.conditional else {}
    if scope is None or not created or not canonical(layer.dotted).startswith("flax.linen."):
        return
    name = name_in(run, scope, layer, canonical(layer.dotted).rsplit(".", 1)[-1])
    if name is None:
        return
    for path, shape in created.items():
        own = scope.inside(name, None)
        for part in path[:-1]:
            own = own.inside(part, None)
        own.leaves[path[-1]] = shape


def note_parameter(run: Run, receiver: Instance, name: Value, shape: Sizes | None, ctx: Context) -> None:
    """Notes a parameter that a module creates itself."""
    scope = run.scope
    if scope is None or shape is None or ctx.conditional or not isinstance(scope.owner, Instance):
        return
    if scope.owner.number == receiver.number and isinstance(name, Const) and isinstance(name.value, str):
        scope.leaves[name.value] = shape


def name_in(run: Run, scope: ParameterScope, module: Instance | Made, kind: str) -> str | None:
    """Returns the name of a module in the scope of the module that calls it; None if it is unknown."""
    known = scope.names.get(id(module))
    if known is not None:
        return known[1]
    name = _new_name(run, scope, module, kind)
    scope.names[id(module)] = (module, name)
    return name


def _new_name(run: Run, scope: ParameterScope, module: Instance | Made, kind: str) -> str | None:
    given = attributes_of(run, module) if isinstance(module, Instance) else dict(module.arguments)
    if "**" in given:
        return None
    name = given.get("name", Const(None))
    if not isinstance(name, Const) or name.value is not None:
        return name.value if isinstance(name, Const) and isinstance(name.value, str) else None
    if not isinstance(scope.owner, Instance):
        return None
    for attribute, held in attributes_of(run, scope.owner).items():
        for own, value in _members(attribute, held):
            if value is module:
                return own if attribute not in names_of_fields(scope.owner.cls) else None
    return None if _mentions(run, scope.owner.cls.path, _RENAMES, lambda _: True) else scope.numbered(kind)


def _members(name: str, held: Value) -> Iterator[tuple[str, Value]]:
    if isinstance(held, Seq):
        yield from ((f"{name}_{place}", item) for place, item in enumerate(held.items))
    elif isinstance(held, Dict):
        yield from ((f"{name}_{key}", item) for key, item in held.items)
    else:
        yield name, held


def stacks(run: Run, module: Instance) -> bool:
    """Returns whether a module or those that it creates may be stacked, which gives their parameters another axis.

    Modules that a method stacks while parameters are collected are known; others are stacked by the class, its
    constructor, or the statements of its file outside functions.
    """
    if module.cls.site in run.stacked:
        return True
    own = module.cls.site.block
    makers = {own, *[f"{own}.{name}" for name in ("setup", "__init__", "__post_init__")]}
    return _mentions(run, module.cls.path, _STACKS, lambda key: key in makers or key.startswith("="))


def _stacks_objects(run: Run, module: Instance) -> bool:
    """Returns whether the files that define or create an nnx module may stack modules, by whatever function."""
    paths = {module.cls.path, module.home or module.cls.path, module.made.path if module.made else module.cls.path}
    return any(_mentions(run, path, _STACKS, lambda _: True) for path in sorted(paths))


def _mentions(run: Run, path: str, words: frozenset[str], is_asked: Callable[[str], bool]) -> bool:
    """Returns whether some of the blocks in a file mention any of the given names."""
    facts = run.world.facts(path)
    if facts is None:
        return True
    keys = [key for key in facts.blocks if is_asked(key)]
    run.deps.update([(path, key) for key in keys])
    return any(not words.isdisjoint(facts.blocks[key].names) for key in keys)


def _of_scope(scope: ParameterScope, depth: int = 0) -> Dict:
    parts = [(name, Data(frozenset({"fresh"}), shape, None, True)) for name, shape in scope.leaves.items()]
    inner = [(name, _of_scope(one, depth + 1)) for name, one in scope.inner.items()] if depth < _DEEPEST else []
    return _tree([*parts, *inner])


def _of_object(run: Run, module: Instance, call: Invocation, depth: int = 0) -> Dict:
    """Returns the parameters of an nnx module, which its attributes hold."""
    if depth >= _DEEPEST or _stacks_objects(run, module):
        return _tree([])
    held = _attributes_made(run, module, call).items()
    return _tree([(name, part) for name, value in held if (part := _of_part(run, value, call, depth + 1)) is not None])


def _attributes_made(run: Run, module: Instance, call: Invocation) -> dict[str, Value]:
    """Returns the attributes of an nnx module; runs its constructor if the analysis did not."""
    held = attributes_of(run, module)
    given, method = held.get(GIVEN), class_attribute(module.cls, "__init__")
    has_run = any(not name.startswith("<") for name in held)
    if not isinstance(given, Partial) or has_run or run.scope is not None or not isinstance(method, Function):
        return held
    before = dict(held)
    _run_apart(run, ParameterScope(module, Budget()), call, Bound(module, method), given.args)
    made = dict(held)
    held.clear()
    held.update(before)
    return made


def _of_part(run: Run, value: Value, call: Invocation, depth: int) -> Value | None:
    if isinstance(value, Instance) and _is_nnx(value):
        return _of_object(run, value, call, depth)
    if isinstance(value, Seq) and depth < _DEEPEST:
        items = [(place, _of_part(run, item, call, depth + 1)) for place, item in enumerate(value.items)]
        return _tree([(place, part) for place, part in items if part is not None])
    if not isinstance(value, Made) or not canonical(value.dotted).startswith("flax.nnx."):
        return None
    if canonical(value.dotted) == _PARAM:
        shape = shape_of(value)
        return Data(frozenset({"fresh"}), shape, None, True) if shape is not None else None
    if _mentions(run, value.site.path, _STACKS, lambda _: True):
        return None
    created = parameters_of_layer(value, ())
    shapes = {path[0]: shape for path, shape in created.items() if len(path) == 1}
    return _tree([(name, Data(frozenset({"fresh"}), shape, None, True)) for name, shape in shapes.items()])


def _boxed(tree: Value) -> Value:
    """Returns the state of an nnx module, whose leaves are the values of its variables."""
    if isinstance(tree, Dict):
        return Dict(tuple([(key, _boxed(value)) for key, value in tree.items]), tree.open)
    return Dict((("value", tree),), attributes=True) if isinstance(tree, Data) and tree.array else tree


def _held(part: Value) -> Data | None:
    """Returns the array of a variable in the state of an nnx module; None for anything else."""
    array = part.items[0][1] if isinstance(part, Dict) and part.attributes and len(part.items) == 1 else None
    return array if isinstance(array, Data) and array.array else None


def _tree(parts: list[tuple[Any, Value]]) -> Dict:
    """Returns a part of a tree, with only the first of parts that differ in a number, such as the layers of a model."""
    families: dict[str, tuple[Any, Value]] = {}
    for key, value in parts:
        if not isinstance(value, Dict) or len(value.items) > 1:
            families.setdefault(_NUMBER.sub("#", str(key)), (key, value))
    return Dict((*list(families.values())[:_MOST_PARTS], (SOME_KEY, UNKNOWN)), True)
