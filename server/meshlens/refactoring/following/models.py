"""The code of a called object: the `__call__` of its class, a transformed function, or a function that a caller passes.

A model must keep rows apart.
If its code can be read, it is followed, and nothing in it may combine rows. Most layers of flax, nnx, equinox and haiku
keep rows apart. Code that cannot be read may do anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from meshlens.facts.nodes import (
    NOTHING,
    AnnAssign,
    Argument,
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    ClassDef,
    Comprehension,
    Constant,
    DictDisplay,
    FunctionDef,
    IfExpression,
    Import,
    ImportFrom,
    Lambda,
    ListDisplay,
    Name,
    Pair,
    Parameter,
    Return,
    Subscript,
    TupleDisplay,
    last_name,
    root_name,
)
from meshlens.project.trees import Node, definitions, nodes_of_block, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.axes_known import axes_added, fewest
from meshlens.refactoring.following.following import (
    Follow,
    Result,
    called,
    function_defined,
    made_by,
    method_of_class,
    result_of,
)
from meshlens.refactoring.following.kinds import LINEAR, SAME, Kind, either, flat, index_of
from meshlens.refactoring.following.known_classes import Owner
from meshlens.refactoring.following.layer_calls import is_scanned_along_rows, works_along_rows
from meshlens.refactoring.following.random import holds_keys, is_key
from meshlens.refactoring.following.row_by_row import is_elementwise
from meshlens.refactoring.following.settled_tests import constant_of, outcome
from meshlens.refactoring.following.sizes import shape_of
from meshlens.refactoring.maps.mixing import Mixing
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.assigned import assigned_parts
from meshlens.refactoring.reading.constructed import (
    Made,
    field_values,
    is_declared,
    parameter_values,
    parameters_at,
)
from meshlens.refactoring.reading.functions import dotted_name, functions, site_of_call
from meshlens.refactoring.reading.importing import reached_from
from meshlens.refactoring.reading.layers import layers_of
from meshlens.refactoring.reading.made import made_outside, times_bound
from meshlens.refactoring.reading.own_methods import class_meant, classes_above, method_defined, owner_of
from meshlens.refactoring.reading.passed import callees
from meshlens.refactoring.reading.scopes import home_of
from meshlens.refactoring.reading.siblings import calls_elsewhere, imported_value, view_of


class Body(NamedTuple):
    """A function that a call may run.

    Attributes:
        function: its node.
        around: the scope around it.
        before: how many of the call's arguments precede those passed to the function; None if unknown.
        has_state: whether the call returns a state in addition to its result.
    """

    function: FunctionDef | Lambda
    around: Follow | None
    before: int | None = 0
    has_state: bool = False


Bodies: TypeAlias = tuple[Body, ...]

_TFP = "tensorflow_probability.substrates.jax."
NETWORKS = (
    *("flax.", "haiku.", "equinox.", "diffrax.", "distrax.", "einops.", "numpyro.distributions."),
    *(f"{_TFP}{module}." for module in ("distributions", "bijectors")),
)
"""The libraries most of whose functions and layers treat each row separately."""
_MODULES = frozenset({"flax.linen.Module", "flax.nnx.Module", "equinox.Module", "haiku.Module"})
_OBJECTS = ("flax.nnx.", "equinox.")
_TRANSFORMS = frozenset({"haiku.transform", "haiku.transform_with_state", "haiku.without_apply_rng"})
_MAPS = frozenset({"flax.linen.vmap", "flax.nnx.vmap", "haiku.vmap"})
_STAX = "jax.example_libraries.stax."
_APPLY = frozenset({"apply", "apply_fn"})
_AXES = re.compile(r"ax[ei]s|(?:reduction|feature|in|out)_axes|time_major|window_shape")
_SAME = re.compile(r"(?:is_|use_)?(?:train|training|deterministic|eval|inference|mode|cache|use_running_average)")
_OPTIONS = frozenset({"rngs", "mutable", "method", "capture_intermediates"})
"""The arguments of `apply` that are not passed to the module itself."""
_SPREADS = frozenset("tile repeat broadcast_to".split())
_MAKERS = frozenset("param zeros ones normal uniform truncated_normal".split())
_KNOWN = "assists: results of models"
_KEPT = "assists: models that keep rows apart"
_DEEPEST = 4


def model_called(follow: Follow, home: Follow, callee: Node, node: Call) -> Result:
    """Returns the kind of a called object's result: it has rows if all of its readable code keeps rows apart.

    Args:
        follow: the calling scope.
        home: the scope of the callee's names.
        callee: the callee.
        node: the call.
    """
    stacked = _stacked_by(home, callee)
    if stacked is not None:
        result = _result_of_all(follow, _of_made(home, stacked, 0), node)
        return Result(_along_new_axis(result.kind))
    method = next((value for label, _, value in node.arguments if label == "method"), None)
    bodies = _bodies(home, callee, 0) if method is None else _of_method(home, method, callee)
    chosen = [_chosen(home, maker) for maker in _makers(home, callee)]
    makers = [maker for one in chosen for maker in one or ()]
    if bodies is None or None in chosen or works_along_rows(follow, home, callee, node, makers):
        return Result("mixed")
    return _result_of_all(follow, bodies, node) if bodies else _of_layers(follow, home, callee, node)


def _result_of_all(follow: Follow, bodies: Bodies | None, node: Call) -> Result:
    """Returns the kind of the result of a call that runs one of several functions."""
    found = [_result_of_body(follow, body, node) for body in bodies or ()]
    kind: Kind = found[0].kind if found else "mixed"
    for one in found[1:]:
        kind = either(kind, one.kind)
    return Result(kind, fewest([one.axes for one in found]))


def _along_new_axis(kind: Kind) -> Kind:
    """Returns the kind of several results stacked along a new first axis."""
    if isinstance(kind, tuple):
        return tuple(map(_along_new_axis, kind))
    return "turned" if kind in ("rows", "tree") else "same" if kind == "same" else "mixed"


def _stacked_by(home: Follow, callee: Node) -> Call | None:
    """Returns the call that creates a module that a library's `vmap` runs several times on the same rows."""
    makers = _makers(home, callee)
    made = makers[0] if len(makers) == 1 else None
    if not isinstance(made, Call):
        return None
    lifts = _values(home, made.callee) if isinstance(made.callee, Name) else [made.callee]
    lift = lifts[0] if len(lifts) == 1 else None
    if not isinstance(lift, Call) or not lift.arguments:
        return None
    if home.dotted(lift.callee) in _MAPS and _stacks(lift) and index_of(_out_axes(lift)) == 0:
        return made._replace(callee=lift.arguments[0].value)
    return None


def is_unread(home: Follow, callee: Node) -> bool:
    """Returns whether a callee is a method whose code cannot be read, and that is not the `apply` of a model."""
    return isinstance(callee, Attribute) and callee.name not in _APPLY and _bodies(home, callee, 0) is None


def _of_layers(follow: Follow, home: Follow, callee: Node, node: Call) -> Result:
    """Returns the result of a call to a library's layer or function; an array if the layer is known to return one."""
    more = [axes_added(name) for name in _layers(home, callee)]
    if not more or not node.arguments or any(one is None for one in more):
        return Result("tree")
    least = follow.least_axes(node.arguments[0].value)
    return Result("rows", max(least + min(one for one in more if one is not None), 2))


def _layers(home: Follow, callee: Node) -> list[str]:
    """Returns the dotted names of the layer classes that a callee may be an instance of; "" for an unknown class."""
    own = home.own
    if own is not None and isinstance(callee, Attribute) and root_name(callee) == own.receiver:
        made = _set_on(home, callee)
        return [dotted_name(one.view, one.value.callee) if isinstance(one.value, Call) else "" for one in made]
    values = _values(home, callee) if isinstance(callee, Name) else [callee]
    return [home.dotted(value.callee) if isinstance(value, Call) else "" for value in values]


def _result_of_body(follow: Follow, body: Body, node: Call) -> Result:
    arguments = [one for one in node.arguments if one.label != "**" or follow.kind(one.value) != ()]
    stars = [place for place, one in enumerate(arguments) if one.label == "*"]
    is_plain = all(one.label != "**" for one in arguments)
    is_plain &= all(isinstance(follow.kind(arguments[place].value), tuple) for place in stars)
    if body.before is None or not is_plain or any(place < body.before for place in stars):
        return Result("tree" if _keeps(follow, body) else "mixed")
    positional = [one for one in arguments if one.label in (None, "*")][body.before :]
    options = _OPTIONS if body.before else frozenset()
    named = [one for one in arguments if one.label not in (None, "*") and one.label not in options]
    result = _with_arguments(follow, body, (*positional, *named), node)
    if result.kind == "mixed":
        return Result("mixed")
    changed = next((value for label, _, value in node.arguments if label == "mutable" and body.before), None)
    if isinstance(changed, IfExpression) and (certain := outcome(follow.constants, changed.test)) is not None:
        changed = changed.then if certain else changed.otherwise
    if body.has_state or not (changed is None or (isinstance(changed, Constant) and not changed.value)):
        if not follow.joins_norms and any(not one.said for one in layers_of(follow.view).norms):
            return Result("mixed")
        # Batch statistics over all devices are the same on every device, and so is their mean.
        is_joined = changed is not None and _is_of_joined_norms(follow, changed)
        state = "mean" if is_joined else "mixed" if body.has_state else "tree"
        return Result((result.kind, state), (result.axes, 0))
    # A result may depend on rows even if nothing shows that it does.
    return result._replace(kind="tree") if flat(result.kind) in SAME else result


def _is_of_joined_norms(follow: Follow, changed: Node) -> bool:
    """Returns whether a call to `apply` changes only batch statistics that layers average over devices."""
    items = changed.items if isinstance(changed, (ListDisplay, TupleDisplay)) else (changed,)
    if not follow.joins_norms or [one.value for one in items if isinstance(one, Constant)] != ["batch_stats"]:
        return False
    nodes = (node for view in _views(follow.view) for node in _every(view))
    has_own = any(isinstance(node, Attribute) and node.name in ("variable", "put_variable") for node in nodes)
    return not has_own and not any(one.said for one in layers_of(follow.view).norms)


def _with_arguments(follow: Follow, body: Body, handed: tuple[Argument, ...], call: Call) -> Result:
    """Returns the kind of the result of a model's function for the arguments of a call."""
    function, scope = body.function, body.around if body.around is not None else follow.outside()
    if is_scanned_along_rows(scope.view, function):
        return Result("mixed")
    inside = id(function.body if isinstance(function, Lambda) else function.function.body)
    if follow.models.count(inside) > 1:
        # A model may call itself.
        return Result("tree")
    given = [(label, follow.kind(value)) for label, _, value in handed]
    values = [value for _, _, value in handed]
    outer = follow.frozen()
    outer.depth, outer.models = 0, (*follow.models, inside)
    outer.axes, outer.results = follow.axes, follow.results

    def find() -> Result:
        try:
            return result_of(outer, function, scope.frozen(), given, handed, call)
        except Obstacle:
            return Result("mixed")

    sees_variables = len(scope.env) > (scope.own is not None)
    if sees_variables or any(made_by(follow, value) is not None for value in values):
        return find()
    constants = (constant_of(follow.constants, value) for value in values)
    key = (
        inside,
        # The function may apply the model of its instance.
        id(call.callee),
        str(_root(scope).path),
        tuple(given),
        tuple(map(follow.least_axes, values)),
        tuple(None if one is None else repr(one.value) for one in constants),
        tuple(repr(shape_of(value, follow.shapes)) for value in values),
    )
    known: dict[object, tuple[object, Result, list[Mixing]]] = scope.view.solution.once(_KNOWN, lambda _: {})
    if key not in known:
        begun = len(follow.mixing)
        result = find()
        # The function is stored with its result, so that no other object can get its id.
        known[key] = function, result, follow.mixing[begun:]
    else:
        follow.mixing.extend(known[key][2])
    return known[key][1]


def has_one_entry(home: Follow, node: Node) -> bool:
    """Returns whether an array in a model, such as a class token, has size 1 along its first axis."""
    if isinstance(node, Attribute) and node.name == "value":
        node = node.object
    values = [value for _, value in _held_anywhere(home, node)] if isinstance(node, (Name, Attribute)) else []
    made = [one for one in values if not (isinstance(one, Call) and last_name(one.callee) in _SPREADS)]
    return bool(made) and all(map(_begins_with_one, made))


def _begins_with_one(made: Node) -> bool:
    if not isinstance(made, Call):
        return False
    if last_name(made.callee) == "Param" and made.arguments:
        return _begins_with_one(made.arguments[0].value)
    is_maker = last_name(made.callee) in _MAKERS
    shapes = [one.value for one in made.arguments if isinstance(one.value, (TupleDisplay, ListDisplay))]
    first = shapes[0].items[0] if is_maker and len(shapes) == 1 and shapes[0].items else None
    return isinstance(first, Constant) and first.value == 1


def loss_applied(follow: Follow, home: Follow, callee: Node, node: Call) -> Kind | None:
    """Returns the kind of the result of `f.apply` if haiku made `f` from a function that returns a mean or a sum.

    Args:
        follow: the calling scope.
        home: the scope of the callee's names.
        callee: the callee.
        node: the call.
    """
    if not isinstance(callee, Attribute) or callee.name != "apply" or not isinstance(callee.object, Name):
        return None
    defined = function_defined(home, callee.object)
    makers = _transforms_above(home, defined[0]) if defined is not None else []
    if defined is None or not makers:
        values = _values(home, callee.object)
        made = list(_transforms_in(home, values[0])) if len(values) == 1 else []
        makers = [maker for maker, _ in made]
        defined = function_defined(home.outside(), made[-1][1]) if made else None
        replaced = _replaced_by(home, values[0], made[-1][1]) if made and isinstance(values[0], Call) else None
        defined = (replaced, None) if replaced is not None else defined
    if defined is None or isinstance(defined[0], Lambda):
        return None
    has_state = "haiku.transform_with_state" in makers
    before = 1 + has_state + ("haiku.without_apply_rng" not in makers)
    outer = follow.frozen()
    outer.models = (*follow.models, id(defined[0]))
    given = [(label, follow.kind(value)) for label, _, value in node.arguments[before:]]
    found = called(outer, *defined, given, node.arguments[before:])
    if not LINEAR & {flat(one) for one in (found if isinstance(found, tuple) else (found,))}:
        return None
    return (found, "mixed") if has_state else found


def _transforms_above(home: Follow, function: FunctionDef | Lambda) -> list[str]:
    """Returns the haiku transformations that decorate a function, if nothing else does."""
    decorators = function.function.decorators if isinstance(function, FunctionDef) else ()
    makers = [home.dotted(one) for one in decorators]
    return makers if _TRANSFORMS.issuperset(makers) else []


def _transforms_in(home: Follow, value: Node) -> Iterator[tuple[str, Node]]:
    """Yields the haiku transformations in an expression, outermost first, each with its operand."""
    while isinstance(value, Call) and value.arguments and (maker := home.dotted(value.callee)) in _TRANSFORMS:
        value = value.arguments[0].value
        yield maker, value


def _makers(home: Follow, callee: Node) -> list[Node]:
    """Returns the known expressions that may create a called object."""
    if isinstance(callee, Name):
        return _values(home, callee)
    own = home.own
    if own is not None and isinstance(callee, Attribute) and root_name(callee) == own.receiver:
        return [one.value for one in _set_on(home, callee)]
    return [callee]


def _chosen(home: Follow, maker: Node) -> list[Node] | None:
    """Returns the constructor calls for a layer whose class a table selects; None if the table is unknown."""
    if not isinstance(maker, Call):
        return [maker]
    callee = maker.callee
    if isinstance(callee, Call) and isinstance(callee.callee, Name) and callee.callee.name == "getattr":
        return None
    if not isinstance(callee, Subscript):
        return [maker]
    tables = _values(home, callee.object) if isinstance(callee.object, Name) else [callee.object]
    if len(tables) != 1 or not isinstance(tables[0], DictDisplay):
        return None
    return [maker._replace(callee=value) for _, value in tables[0].pairs]


def _keeps(follow: Follow, body: Body) -> bool:
    """Returns whether a function returns rows and its readable code combines none, regardless of its arguments."""
    return _kept_by(follow, body) not in ("mixed", "turned", *LINEAR)


def _kept_by(follow: Follow, body: Body) -> str:
    """Returns the kind of a function's result for arguments with rows; "mixed" if its readable code combines some."""
    function, scope = body.function, body.around if body.around is not None else follow.outside()
    inside = function.body if isinstance(function, Lambda) else function.function.body
    known: dict[tuple[int, str], tuple[object, str]] = scope.view.solution.once(_KEPT, lambda _: {})
    key = id(inside), str(_root(scope).path)
    if key not in known:
        # A model may call itself.
        known[key] = inside, "tree"
        is_along = is_scanned_along_rows(scope.view, function)
        known[key] = inside, "mixed" if is_along else _kind_for_rows(scope, function)
    return known[key][1]


def _kind_for_rows(scope: Follow, function: FunctionDef | Lambda) -> str:
    parameters = function.function.parameters if isinstance(function, FunctionDef) else function.parameters
    given: list[tuple[str | None, Kind]] = [
        (None if one.how in ("only", "any") else one.name, _given_to(one))
        for one in parameters
        if one.how not in ("*", "**")
    ]
    outer = scope.frozen()
    outer.depth, outer.models = 0, (*scope.models, id(function))
    try:
        return flat(called(outer, function, outer, given))
    except Obstacle:
        return "mixed"


def _given_to(parameter: Parameter) -> str:
    """Returns the kind of the argument that is passed for a parameter of a model."""
    name, annotation, default = parameter.name, parameter.annotation, parameter.default
    is_flag = isinstance(annotation, Name) and annotation.name in ("bool", "int", "float", "str")
    is_flag = is_flag or (isinstance(default, Constant) and type(default.value) in (bool, str))
    if is_key(name) or holds_keys(name):
        return "own"
    return "same" if is_flag or _SAME.fullmatch(name) else "tree"


def _bodies(home: Follow, callee: Node, depth: int) -> Bodies | None:
    """Returns the functions that a call may run; empty if a library's code runs, None if they are unknown."""
    found = _bodies_shown(home, callee, depth)
    if depth or not isinstance(callee, (Name, Attribute)) or (found is not None and len(found) < 2):
        return found
    called = _called_by_step(home, callee)
    if called is None:
        return found
    is_apply = isinstance(callee, Attribute) and callee.name in _APPLY
    return tuple(one._replace(before=1) for one in called) if is_apply else called


def _is_row_by_row(dotted: str) -> bool:
    """Returns whether a library's function treats each row separately, or makes something that does."""
    is_of_jax = dotted.startswith("jax.") and is_elementwise(dotted.rpartition(".")[2])
    return dotted.startswith(NETWORKS) or is_of_jax


def _bodies_shown(home: Follow, callee: Node, depth: int) -> Bodies | None:
    """Returns the functions that a call may run, as far as the code around it shows; see `_bodies`."""
    if depth > _DEEPEST:
        return None
    if isinstance(callee, Lambda):
        return (Body(callee, home),)
    dotted, defined = home.dotted(callee), function_defined(home, callee)
    if _is_row_by_row(dotted):
        return ()
    if defined is not None:
        return (Body(*defined),)
    if dotted:
        return _every_model(home) if _is_object_of_project(home, callee) else None
    if isinstance(callee, Call):
        return _of_made(home, callee, depth)
    if isinstance(callee, Attribute) and callee.name in _APPLY:
        return _of_apply(home, callee, depth)
    if isinstance(callee, Name):
        return _of_name(home, callee.name, depth)
    if isinstance(callee, Attribute) and (given := _given_at_creation(home, callee)):
        return _of_given(home, given, depth)
    held = _of_layer(home, callee, depth) if isinstance(callee, Attribute) else None
    if held is not None:
        return held
    if isinstance(callee, Attribute) and any(_is_chosen(one.value) for one in _set_on(home, callee)):
        return None
    if isinstance(callee, (Attribute, Subscript)) and _is_of_model(home, callee):
        return _every_model(home, callee.name if isinstance(callee, Attribute) else "__call__")
    if isinstance(callee, Attribute) and isinstance(callee.object, Name):
        return _of_attribute(home, callee, depth)
    return None


def _given_at_creation(home: Follow, callee: Attribute) -> list[Made]:
    """Returns the values passed for an attribute when a model's class is instantiated; empty if unknown."""
    own = home.own
    if own is None or not isinstance(callee.object, Name) or callee.object.name != own.receiver:
        return []
    fields = field_values(own.view, own.owner, callee.name, _views(_root(home)))
    if fields is not None:
        return fields
    found: list[Made] = []
    for one in _set_on(home, callee):
        if not isinstance(one.value, Name) or one.value.name not in parameters_at(one.view, one.block):
            return []
        found += parameter_values(own.view, own.owner, one.value.name, _views(_root(home)))
    return found


def _of_given(home: Follow, given: list[Made], depth: int, *, makes: bool = False) -> Bodies | None:
    """Returns the functions that run when a model calls a given object or, with `makes`, the result of calling it."""
    found: list[Bodies | None] = []
    for one in given:
        scope, value = _scope_at(home, one), one.value
        if isinstance(value, Constant) and value.value is None:
            continue
        if makes and not isinstance(value, Lambda):
            value = Call("call", value.site, value, ())
        if _works_along_given_axes(value):
            return None
        scope.models = ()
        bodies = _of_value(scope, value, depth)
        if bodies is None and isinstance(value, Call) and not _is_getattr(value) and not _is_function(scope, value):
            # The called object is one of the project's models, used as a layer.
            bodies = _every_model(home) if home.in_model else None
        found.append(bodies)
    return _all(found)


def _of_value(scope: Follow, value: Node, depth: int) -> Bodies | None:
    """Returns the functions that run when a value is called, which may be an entry of a table."""
    if not isinstance(value, Subscript):
        return _bodies(scope, value, depth + 1)
    tables = _values(scope, value.object) if isinstance(value.object, Name) else [value.object]
    if len(tables) != 1 or not isinstance(tables[0], DictDisplay):
        return None
    return _all([_bodies(scope, entry, depth + 1) for _, entry in tables[0].pairs])


def _is_chosen(value: Node) -> bool:
    """Returns whether a value is chosen from a table or by `getattr`, so that it may be any function."""
    return isinstance(value, Subscript) or _is_getattr(value)


def _is_getattr(node: Node) -> bool:
    return isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name == "getattr"


def _works_along_given_axes(value: Node) -> bool:
    """Returns whether an expression such as `partial(nn.LayerNorm, reduction_axes=0)` tells a layer its axes."""
    labels = [label for one in walk(value) if isinstance(one, Call) for label, _, _ in one.arguments]
    return any(label is not None and _AXES.fullmatch(label) is not None for label in labels)


def _is_function(scope: Follow, value: Node) -> bool:
    """Returns whether an expression is a function, or a `partial` of one."""
    if isinstance(value, Call) and scope.dotted(value.callee) == "functools.partial" and value.arguments:
        return _is_function(scope, value.arguments[0].value)
    return isinstance(value, Lambda) or bool(scope.dotted(value)) or function_defined(scope, value) is not None


def _scope_at(home: Follow, made: Made) -> Follow:
    """Returns the scope of a value's code."""
    scope = Follow(home.constructs, made.view, {}, depth=home.depth, made={**made_outside(made.view, None)})
    scope.own, scope.models, scope.mixing = owner_of(made.view, made.block), home.models, home.mixing
    scope.top, scope.loosened, scope.seen, scope.step = home.top, home.loosened, home.seen, home.step
    return scope


def _of_made(home: Follow, made: Call, depth: int) -> Bodies | None:
    """Returns the functions that run when the result of an expression is called."""
    if _is_getattr(made):
        return None
    maker = home.dotted(made.callee)
    if isinstance(made.callee, Attribute) and (given := _given_at_creation(home, made.callee)):
        return _of_given(home, given, depth, makes=True)
    if maker in _TRANSFORMS or maker == "functools.partial" or maker in ("jax.jit", "jax.checkpoint", "jax.remat"):
        operand = next((value for label, _, value in made.arguments if label in (None, "f", "fun")), None)
        replaced = _replaced_by(home, made, operand) if maker in _TRANSFORMS else None
        if replaced is not None:
            return (Body(replaced, home.outside()),)
        return _bodies(home, operand, depth + 1) if operand is not None else None
    if maker.startswith(NETWORKS):
        if maker.startswith(_OBJECTS) and maker.rpartition(".")[2][:1].islower():
            return _every_model(home)
        return _all([_bodies(home, value, depth + 1) for value in _functions_given(home, made)])
    if maker.startswith(_STAX):
        return () if not any(_is_stax_norm(home.view, node) for node in walk(made)) else None
    owner = class_meant(home.view, made.callee) if not home.binds(root_name(made.callee)) else None
    if owner is not None:
        return _of_class(home, *owner, "__call__")
    made_by_it = [(scope, value) for scope, value in _behind_factory(home, made) if value is not made]
    if made_by_it and (found := _all([_bodies(scope, value, depth + 1) for scope, value in made_by_it])) is not None:
        return found
    return _every_model(home) if home.in_model else None


def _replaced_by(home: Follow, made: Call, operand: Node | None) -> FunctionDef | None:
    """Returns the function whose name is rebound to its own transformation, as in `f = hk.transform(f)`."""
    if not isinstance(operand, Name) or _values(home, operand) != [made]:
        return None
    found = [one for one in functions(home.view) if one.name == operand.name]
    is_one = len(found) == 1 and not found[0].is_method and not found[0].node.function.decorators
    is_at_top = is_one and home_of(home.view, found[0].at(found[0].node.site)) is None
    return found[0].node if is_at_top and times_bound(home.view, None, operand.name) == 2 else None


def _functions_given(home: Follow, made: Call) -> Iterator[Node]:
    """Yields the functions and the project's objects among a layer's arguments or in its list of layers."""
    is_list = home.dotted(made.callee).endswith(".Sequential")
    for _, _, value in made.arguments:
        for node in value.items if is_list and isinstance(value, (ListDisplay, TupleDisplay)) else (value,):
            is_named = is_list and bool(dotted := home.dotted(node)) and not dotted.startswith("jax.")
            if (
                is_named
                or isinstance(node, Lambda)
                or function_defined(home, node) is not None
                or (isinstance(node, Call) and class_meant(home.view, node.callee) is not None)
            ):
                yield node


def _is_stax_norm(view: FileView, node: Node) -> bool:
    return isinstance(node, (Name, Attribute)) and dotted_name(view, node) == f"{_STAX}BatchNorm"


def _of_class(home: Follow, view: FileView, owner: str, name: str) -> Bodies | None:
    method = method_defined(view, owner, name)
    return None if method is None else (Body(*method_of_class(home, method, view, owner)),)


def _of_apply(home: Follow, callee: Attribute, depth: int) -> Bodies | None:
    """Returns the functions that run in `model.apply` or `state.apply_fn`."""
    if callee.name == "apply_fn":
        given = [(one, value) for one in _views(_root(home)) for value in _given_by_keyword(one, "apply_fn")]
        # An `apply_fn` copied from another state is one of the other values.
        given = [(one, value) for one, value in given if last_name(value) != "apply_fn"]
        found = [_bodies(_top_of(home, one), value, depth + 1) for one, value in given]
        if not found:
            return _every_model(home)
    elif (decorated := _transformed(home, callee.object)) is not None:
        return (decorated,)
    else:
        values = [one for held in _held_anywhere(home, callee.object) for one in _behind_factory(*held)]
        found = [_behind_apply(scope, value, depth) for scope, value in values]
        if not found or None in found:
            is_open = not any(_is_layer(scope, value) for scope, value in values)
            return _every_model(home) if is_open and _has_models(_root(home)) else None
    return _all(found)


def _called_by_step(home: Follow, callee: Node) -> Bodies | None:
    """Returns the function that a call runs, if all calls of the step that are understood lead to the same one."""
    step, top, site = home.step, home.top, site_of_call(home.view, callee)
    if step is None or top is None or site is None or _moves_rows(_root(home)):
        return None
    caller = site_of_call(home.entered_by[0], home.entered_by[1].callee) if home.entered_by is not None else None
    found = callees(top, step).get((site, caller), frozenset())
    path, key = next(iter(found)) if len(found) == 1 else ("", "")
    if path:
        # How often a loop changes a state is not always known, so no model that it may hold may combine rows.
        is_safe = not any(_mixes(home, owner) for owner in _models_on_host(_root(home)))
        return _of_class(home, view_of(top, path), key, "__call__") if is_safe else None
    return () if _is_row_by_row(key) and _is_handed_on(home, callee) else None


def _is_handed_on(home: Follow, callee: Node, seen: frozenset[tuple[str, str, str]] = frozenset()) -> bool:
    """Returns whether all values of an instance's attribute are library functions, or handed on from such attributes.

    The same holds for an attribute of a variable that stands for a module, such as `tfd = tfp.distributions`. Other
    values, such as entries of tables, may be functions that the calls of the step do not show.
    """
    if not isinstance(callee, Attribute):
        return False
    if home.own is None or root_name(callee) != home.own.receiver:
        values = _values(home, Name("name", 0, root_name(callee))) if not home.binds(root_name(callee)) else []
        return len(values) == 1 and bool(home.dotted(values[0]))
    attribute = str(home.own.view.path), home.own.owner, callee.name
    return attribute in seen or all(
        scope.dotted(one.value) or _is_handed_on(scope, one.value, seen | {attribute})
        for one in _given_at_creation(home, callee)
        for scope in [_scope_at(home, one)]
    )


def _models_on_host(view: FileView) -> tuple[Owner, ...]:
    """Returns the classes of models that code outside of models creates, in a file or its imports."""

    def find() -> tuple[Owner, ...]:
        owners = {(str(one.path), key) for one, key in _classes(view)}
        found: dict[tuple[str, str], None] = {}
        for one in _views(view):
            for block in one.facts.blocks:
                if (str(one.path), block.rpartition(".")[0]) in owners:
                    continue
                calls = (node for node in nodes_of_block(one, str(one.path), block) if isinstance(node, Call))
                meant = [owner for call in calls if (owner := class_meant(one, call.callee)) is not None]
                found |= dict.fromkeys(place for path, key in meant if (place := (str(path.path), key)) in owners)
        return tuple((view_of(view, path), key) for path, key in found)

    return view.solution.once(f"assists: models made on the host around {view.path}", lambda _: find())


def _mixes(home: Follow, owner: Owner) -> bool:
    """Returns whether the code of a model may combine rows."""
    bodies = _of_class(home, *owner, "__call__") or ()
    return any(_kept_by(home, body) == "mixed" for body in bodies)


def _transformed(home: Follow, node: Node) -> Body | None:
    """Returns the function that haiku's transformations decorate."""
    defined = function_defined(home, node) if isinstance(node, Name) else None
    makers = _transforms_above(home, defined[0]) if defined is not None else []
    if defined is None or not makers:
        return None
    has_state = "haiku.transform_with_state" in makers
    return Body(*defined, 1 + has_state + ("haiku.without_apply_rng" not in makers), has_state)


def _held_anywhere(home: Follow, node: Node) -> list[tuple[Follow, Node]]:
    """Returns the possible values of a variable, or of an attribute of any object, each with its scope."""
    if not isinstance(node, Attribute) or _is_field(home.view, node.name):
        found = [(home, value) for value in _values(home, node)]
        return found or (_handed_elsewhere(home, node.name) if isinstance(node, Name) else [])
    return [(_scope_at(home, one), one.value) for one in _set_on(home, node)]


def _is_layer(home: Follow, value: Node) -> bool:
    return isinstance(value, Call) and home.dotted(value.callee).startswith(NETWORKS)


def _behind_factory(home: Follow, value: Node, depth: int = 0) -> list[tuple[Follow, Node]]:
    """Returns the values that a call to one of the project's model factories may return, each with its scope.

    Returns the given value itself if it is not such a call.
    """
    defined = function_defined(home, value.callee) if isinstance(value, Call) and depth < _DEEPEST else None
    function, around = defined if defined is not None else (None, None)
    if not isinstance(function, FunctionDef) or not isinstance(value, Call):
        return [(home, value)]
    scope = around.frozen() if around is not None else home.outside()
    _bind_parameters(home, scope, function, value)
    for one in definitions(function.function.body):
        if isinstance(one, FunctionDef):
            scope.local[one.function.name] = (one, scope)
    nodes = [node for one in function.function.body for node in walk(one) if not isinstance(one, FunctionDef)]
    returned = [node.value for node in nodes if isinstance(node, Return) and node.value is not None]
    if not returned or any(_is_function(scope, one) for one in returned):
        return [(home, value)]
    return [one for node in returned for one in _behind_factory(scope, node, depth + 1)]


def _bind_parameters(home: Follow, scope: Follow, function: FunctionDef, call: Call) -> None:
    """Binds a function's parameters in a scope to the kinds of a call's arguments, and to the functions among them."""
    positional = [value for label, _, value in call.arguments if label is None]
    named = {label: value for label, _, value in call.arguments}
    for place, one in enumerate(function.function.parameters):
        given = named.get(one.name, positional[place] if place < len(positional) else one.default)
        scope.forget(one.name)
        scope.env[one.name] = home.kind(given) if given is not None else "same"
        made = made_by(home, given) if given is not None else None
        if made is not None:
            scope.made[one.name] = made


def _behind_apply(home: Follow, value: Node, depth: int) -> Bodies | None:
    if not isinstance(value, Call):
        return None
    owner = class_meant(home.view, value.callee) if not home.binds(root_name(value.callee)) else None
    if owner is not None and method_defined(*owner, "apply") is not None:
        return _of_class(home, *owner, "apply")
    found = _of_made(home, value, depth + 1)
    if found is None:
        return None
    makers = [maker for maker, _ in _transforms_in(home, value)]
    has_state = "haiku.transform_with_state" in makers
    before = 1 if not makers else 1 + has_state + ("haiku.without_apply_rng" not in makers)
    return tuple(one._replace(before=before, has_state=has_state) for one in found)


def _of_method(home: Follow, method: Node, callee: Node) -> Bodies | None:
    """Returns the methods of models that `method=…` may refer to."""
    name = method.value if isinstance(method, Constant) else method.name if isinstance(method, Attribute) else None
    if isinstance(method, Constant) and name is None:
        name = "__call__"
    before = 1 if isinstance(callee, Attribute) and callee.name in _APPLY else None
    found = (method_defined(view, owner, str(name)) for view, owner in _classes(_root(home)))
    places = zip(found, _classes(_root(home)), strict=True)
    bodies = tuple(Body(*method_of_class(home, one, *place), before) for one, place in places if one is not None)
    return bodies or None


def _of_name(home: Follow, name: str, depth: int) -> Bodies | None:
    values = [(home, value) for value in _values(home, Name("name", 0, name))] or _handed_elsewhere(home, name)
    given = [_bodies(scope, value, depth + 1) for scope, value in values if not _is_name(value, name)]
    if given and (found := _all(given)) is not None:
        return found
    owner = home.known_classes.get(name)
    if owner is not None and (not is_of_modules(owner) or not _has_subclasses(home, owner)):
        return _of_class(home, *owner, "__call__")
    return _every_model(home) if _is_of_model(home, Name("name", 0, name)) else None


def _is_name(node: Node, name: str) -> bool:
    return isinstance(node, Name) and node.name == name


def _of_attribute(home: Follow, callee: Attribute, depth: int) -> Bodies | None:
    """Returns the functions that an attribute of a method's own instance, or of a known class's instance, may hold."""
    own, name = home.own, root_name(callee)
    if own is not None and name == own.receiver:
        scope = _top_of(home, own.view)
        held = [_bodies(scope, value, depth + 1) for value in _held_by(own.view, own.owner, callee.name)]
        return _all(held) if held else None
    owners = [
        class_meant(home.view, value.callee) if isinstance(value, Call) else None
        for value in _values(home, callee.object)
    ]
    found = [_of_class(home, *owner, callee.name) if owner is not None else None for owner in owners]
    return _all(found) if found else None


def _of_layer(home: Follow, callee: Attribute, depth: int) -> Bodies | None:
    """Returns the functions that run for a layer in an attribute of a model; None if a value is unknown."""
    own = home.own
    if own is None or not isinstance(callee.object, Name) or callee.object.name != own.receiver:
        return None
    places = _set_on(home, callee)
    is_field = is_declared(own.view, own.owner, callee.name)
    if not places or is_field or _moves_rows(own.view) or _has_no_axis_of_rows(own.view):
        return None
    return _all([_of_value(_scope_at(home, one), one.value, depth) for one in places])


def _set_on(home: Follow, node: Attribute) -> list[Made]:
    """Returns the values that an attribute may hold; if its class sets it, values from other classes are left out."""
    own = home.own
    if own is None or not isinstance(node.object, Name) or node.object.name != own.receiver:
        return _set_anywhere(home.view, node.name)
    every = _set_anywhere(own.view, node.name)
    classes = {(str(view.path), key) for view, key in classes_above(own.view, own.owner)}
    owners = {id(one): _owner(one) for one in every}
    found = [one for one in every if not owners[id(one)] or (str(one.view.path), owners[id(one)]) in classes]
    return found if any(owners[id(one)] for one in found) else every


def _owner(made: Made) -> str:
    """Returns the class of the method that contains a value; "" if no method contains it."""
    above = made.view.facts.blocks.get(made.block.rpartition(".")[0])
    return above.key if above is not None and isinstance(above.shape, ClassDef) else ""


def _set_anywhere(view: FileView, name: str) -> list[Made]:
    """Returns the values that a file and its imports assign to attributes of this name on any object."""

    def find() -> dict[str, list[Made]]:
        found: dict[str, list[Made]] = {}
        for one in _views(view):
            for key in one.facts.blocks:
                for node in nodes_of_block(one, str(one.path), key):
                    if isinstance(node, (Assign, AnnAssign)) and node.value is not None:
                        for part in (part for target in _targets(node) for part in walk(target)):
                            if isinstance(part, Attribute):
                                found.setdefault(part.name, []).append(Made(one, key, node.value))
        return found

    known: dict[str, list[Made]]
    known = view.solution.once(f"assists: values of attributes in {view.path}", lambda _: find())
    return known.get(name, [])


def _is_field(view: FileView, name: str) -> bool:
    """Returns whether a class of a file or of its imports declares a field with this name."""
    return any(
        isinstance(node, (AnnAssign, Assign))
        and any(isinstance(one, Name) and one.name == name for one in _targets(node))
        for one in _views(view)
        for _, shape in _class_blocks(one)
        for node in shape.body
    )


def _targets(node: Assign | AnnAssign) -> tuple[Node, ...]:
    return node.targets if isinstance(node, Assign) else (node.target,)


def _all(found: list[Bodies | None]) -> Bodies | None:
    """Returns the functions of all callees; None if those of any callee are unknown."""
    known = [one for one in found if one is not None]
    return tuple(body for one in known for body in one) if len(known) == len(found) else None


def _is_of_model(home: Follow, callee: Node) -> bool:
    """Returns whether a callee is a layer of the model that is followed, or a traced argument or part of one.

    A traced object that is called is an nnx or equinox module, because a plain function cannot be a traced argument.
    """
    name = root_name(callee)
    if home.in_model:
        return True
    if home.own is not None and name == home.own.receiver:
        return home.own.owner in {key for view, key in _classes(home.own.view) if view.path == home.own.view.path}
    return name in home.env and name not in home.bound and _has_objects(home.view)


def _is_object_of_project(home: Follow, callee: Node) -> bool:
    """Returns whether a callee is the `apply` of an object that another file of the project creates."""
    if not isinstance(callee, Attribute) or callee.name not in _APPLY or not isinstance(callee.object, Name):
        return False
    return imported_value(home.view, callee.object.name) is not None


def _top_of(home: Follow, view: FileView) -> Follow:
    if view.path == home.view.path:
        return home
    return Follow(home.constructs, view, {}, depth=home.depth, top=home.top, step=home.step)


def _values(home: Follow, node: Node) -> list[Node]:
    """Returns the values of a variable in its file, or the node itself if it is a call; empty if unknown."""
    if not isinstance(node, Name):
        return [node] if isinstance(node, Call) else []
    if node.name in home.looped:
        return _entries(home, node.name)
    key = f"assists: values of names in {home.view.path}"
    known: dict[str, list[Node]] = home.view.solution.once(key, lambda _: _bindings(home.view))
    found = known.get(node.name, [])
    return found or _handed(home, node.name)


def _bindings(view: FileView) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for statement in _every(view):
        if not isinstance(statement, (Assign, AnnAssign)) or statement.value is None:
            continue
        targets = statement.targets if isinstance(statement, Assign) else (statement.target,)
        for target in targets:
            for one, value in assigned_parts(target, statement.value):
                if isinstance(one, Name):
                    found.setdefault(one.name, []).append(value)
    return found


def _entries(home: Follow, name: str) -> list[Node]:
    """Returns the possible values of a loop variable; `NOTHING` for unknown ones."""
    iterable, place = home.looped[name]
    runner = last_name(iterable.callee) if isinstance(iterable, Call) else ""
    if place is not None:
        parts = [value for _, _, value in iterable.arguments] if isinstance(iterable, Call) else []
        parts = [NOTHING, *parts[:1]] if runner == "enumerate" else parts if runner == "zip" else []
        iterable = parts[place] if place < len(parts) else NOTHING
    if isinstance(iterable, (Name, Attribute)):
        return [one for _, value in _held_anywhere(home, iterable) for one in _items(value)] or [NOTHING]
    return _items(iterable)


def _items(value: Node) -> list[Node]:
    """Returns the possible entries of a list; `NOTHING` for unknown ones."""
    if isinstance(value, Call) and last_name(value.callee) in ("list", "tuple", "List", "reversed") and value.arguments:
        value = value.arguments[0].value
    if isinstance(value, (ListDisplay, TupleDisplay)):
        return list(value.items)
    if isinstance(value, Comprehension) and not isinstance(value.element, Pair):
        return [value.element]
    if isinstance(value, BinaryOperation) and value.operator == "+":
        return [*_items(value.left), *_items(value.right)]
    return [NOTHING]


def _every(view: FileView) -> Iterator[Node]:
    """Yields the nodes of a file."""
    for key in view.facts.blocks:
        yield from nodes_of_block(view, str(view.path), key)


def _handed(home: Follow, name: str) -> list[Node]:
    """Returns the arguments that calls pass for a parameter of the followed function, or of the function around it."""
    around = tree(home.view, str(home.view.path), home.home) if home.home is not None else None
    found: list[Node] = []
    for target in functions(home.view):
        names = [one.name for one in target.node.function.parameters]
        is_followed = target.node is around or home.env.keys() >= set(names)
        for given in _passed(home.view, target.name) if is_followed and name in names else ():
            positional = [value for label, _, value in given if label is None]
            named = {label: value for label, _, value in given}
            place = names.index(name)
            if name not in named and place >= len(positional):
                return []
            found.append(named[name] if name in named else positional[place])
    return found


def _handed_elsewhere(home: Follow, name: str) -> list[tuple[Follow, Node]]:
    """Returns the arguments that other files pass for a parameter of a function that its own file never calls."""
    found: list[tuple[Follow, Node]] = []
    for target in functions(home.view):
        names = [one.name for one in target.node.function.parameters]
        if target.is_method or name not in names or not home.env.keys() >= set(names):
            continue
        for view, key, call in calls_elsewhere(home.view, target.name):
            named = {label: value for label, _, value in call.arguments}
            positional = [value for label, _, value in call.arguments if label is None]
            place = names.index(name)
            if {"*", "**"} & named.keys() or (name not in named and place >= len(positional)):
                return []
            value = named[name] if name in named else positional[place]
            found.append((_scope_at(home, Made(view, key, value)), value))
    return found


def _passed(view: FileView, name: str) -> Iterator[tuple[Argument, ...]]:
    """Yields the arguments of each call to a function of the file, and of each `partial` of the function."""
    for node in _every(view):
        if not isinstance(node, Call):
            continue
        first = node.arguments[0].value if node.arguments else None
        if _is_name(node.callee, name):
            yield node.arguments
        elif first is not None and _is_name(first, name) and dotted_name(view, node.callee) == "functools.partial":
            yield node.arguments[1:]


def _given_by_keyword(view: FileView, keyword: str) -> list[Node]:
    """Returns the values that the calls in a file pass for a keyword."""
    key = f"assists: values of {keyword} in {view.path}"
    found: list[Node] = view.solution.once(
        key,
        lambda _: [
            value
            for node in _every(view)
            if isinstance(node, Call)
            for label, _, value in node.arguments
            if label == keyword
        ],
    )
    return found


def _held_by(view: FileView, owner: str, name: str) -> Iterator[Node]:
    """Yields the values that the methods of a class assign to an attribute of their instance."""
    for key in view.facts.blocks:
        if key.rpartition(".")[0] != owner:
            continue
        for node in nodes_of_block(view, str(view.path), key):
            if isinstance(node, Assign) and any(
                isinstance(one, Attribute) and one.name == name for one in node.targets
            ):
                yield node.value


def _root(home: Follow) -> FileView:
    """Returns the file to search for models: the step's, or the followed file if the step's does not import it."""
    top = home.top
    return top if top is not None and str(home.view.path) in reached_from(top, str(top.path)) else home.view


def _views(view: FileView) -> list[FileView]:
    paths = (str(view.path), *sorted(reached_from(view, str(view.path)) - {str(view.path)}))
    return [view_of(view, path) for path in paths]


def _classes(view: FileView) -> tuple[tuple[FileView, str], ...]:
    """Returns the classes of a file and of its imports that derive from a library's module class."""

    def find() -> Iterator[tuple[FileView, str]]:
        names: set[str] = set()
        views = _views(view)
        for _ in range(_DEEPEST):
            for one in views:
                names |= {shape.name for _, shape in _class_blocks(one) if _is_module(one, shape.bases, names)}
        for one in views:
            yield from ((one, key) for key, shape in _class_blocks(one) if shape.name in names)

    key = f"assists: models of {view.path}"
    found: tuple[tuple[FileView, str], ...] = view.solution.once(key, lambda _: tuple(find()))
    return found


def is_of_modules(owner: Owner) -> bool:
    """Returns whether a class of the project derives from a library's module class."""
    view, key = owner
    return key in {one for other, one in _classes(view) if other.path == view.path}


def _has_subclasses(home: Follow, owner: Owner) -> bool:
    """Returns whether a class within reach may derive from a class, going by its name."""
    shape = owner[0].facts.blocks[owner[1]].shape
    return not isinstance(shape, ClassDef) or any(
        last_name(base.value) == shape.name
        for view in _views(_root(home))
        for _, one in _class_blocks(view)
        for base in one.bases
    )


def _class_blocks(view: FileView) -> Iterator[tuple[str, ClassDef]]:
    for key in view.facts.top:
        shape = view.facts.blocks[key].shape
        if isinstance(shape, ClassDef):
            yield key, shape


def _is_module(view: FileView, bases: Iterable[Argument], names: set[str]) -> bool:
    return any(
        dotted_name(view, base.value) in _MODULES or last_name(base.value) in names
        for base in bases
        if base.label is None
    )


def _every_model(home: Follow, also: str = "__call__") -> Bodies | None:
    """Returns `__call__` and the method named by `also` of every module within reach; the call may run any of them.

    Returns None if a library maps some modules in a way that may move rows to another axis, if a model's layers have no
    row axis, or if code outside a model reaches no module.
    """
    found: list[Body] = []
    root = _root(home)
    if _moves_rows(root) or _has_stacks(root) or (home.in_model and _has_no_axis_of_rows(root)):
        return None
    for view, owner in _classes(root):
        for method in filter(None, (method_defined(view, owner, name) for name in {"__call__", also})):
            found.append(Body(*method_of_class(home, method, view, owner), None))
    return tuple(found) if found or home.in_model else None


def _moves_rows(view: FileView) -> bool:
    """Returns whether a `vmap` of a library, in a file or its imports, may return rows along another axis."""

    def find() -> bool:
        nodes = ((one, node) for one in _views(view) for node in _every(one))
        return any(
            isinstance(node, Call) and dotted_name(one, node.callee) in _MAPS and _may_move_rows(node)
            for one, node in nodes
        )

    found: bool = view.solution.once(f"assists: modules mapped in {view.path}", lambda _: find())
    return found


def _has_stacks(view: FileView) -> bool:
    """Returns whether an unknown module of a file or its imports may return several results along a new first axis."""

    def find() -> bool:
        nodes = ((one, node) for one in _views(view) for node in _every(one))
        return any(
            isinstance(node, Call) and dotted_name(one, node.callee) in _MAPS and _stacks(node) for one, node in nodes
        )

    found: bool = view.solution.once(f"assists: modules stacked in {view.path}", lambda _: find())
    return found


def _stacks(made: Call) -> bool:
    """Returns whether a `vmap` maps none of its arguments, and stacks its results along a new first axis."""
    given = {label: value for label, _, value in made.arguments}
    axes, out = given.get("in_axes", Constant("const", 0, 0)), index_of(_out_axes(made))
    items = axes.items if isinstance(axes, (TupleDisplay, ListDisplay)) else (axes,)
    is_mapped = any(not (isinstance(one, Constant) and one.value is None) for one in items)
    return not is_mapped and not out


def _out_axes(made: Call) -> Node:
    return next((value for label, _, value in made.arguments if label == "out_axes"), Constant("const", 0, 0))


def _may_move_rows(made: Call) -> bool:
    axis = _mapped_axes(made)
    # If an axis other than the first is mapped, attention over another axis may be over the row axis.
    attends = any("Attention" in last_name(value) for label, _, value in made.arguments[:1] if label is None)
    return axis is None or (axis != 0 and attends)


def _mapped_axes(made: Call) -> object | None:
    """Returns the axis along which a `vmap` maps all mapped arguments and results; None if several or unknown."""
    given = {label: value for label, _, value in made.arguments}
    axes = [given.get(label, Constant("const", 0, 0)) for label in ("in_axes", "out_axes")]
    parts = [part for one in axes for part in (one.items if isinstance(one, (TupleDisplay, ListDisplay)) else (one,))]
    values = {part.value if isinstance(part, Constant) else part for part in parts} - {None}
    only = values.pop() if len(values) == 1 else None
    return only if type(only) is int and not any(label in ("*", "**") for label in given) else None


def _imports(view: FileView, prefixes: tuple[str, ...]) -> bool:
    return any(text.startswith(prefixes) for one in _views(view) for text in _imported_names(one))


def _imported_names(view: FileView) -> Iterator[str]:
    for shape in view.facts.statements:
        if isinstance(shape, (Import, ImportFrom)):
            before = f"{shape.module}." if isinstance(shape, ImportFrom) else ""
            yield from (f"{before}{one.name}" for one in shape.names)


def _has_no_axis_of_rows(view: FileView) -> bool:
    """Returns whether the layers that a file's models may call are equinox layers, which work on one example."""
    return _imports(view, ("equinox",)) and not _imports(view, ("flax", "haiku"))


def _has_models(view: FileView) -> bool:
    return _imports(view, ("flax", "haiku"))


def _has_objects(view: FileView) -> bool:
    return _imports(view, ("flax.nnx", "equinox"))
