"""Follows how values depend on the rows of a batch through a function, its helpers and its losses.

Shapes are mostly unknown, so the rows of an array are assumed to be along its first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from meshlens.facts.nodes import (
    AnyFunction,
    Argument,
    Attribute,
    BinaryOperation,
    BoolOperation,
    Call,
    Comparison,
    Comprehension,
    Constant,
    DictDisplay,
    FunctionDef,
    IfExpression,
    Lambda,
    ListDisplay,
    Name,
    Pair,
    Parameter,
    Return,
    SeparateDef,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    Walrus,
    Yield,
    last_name,
    parameters_of,
    root_name,
)
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, definitions, name_of_block, names_used, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.axes_known import Axes, AxesSeen, Least, fewest, least_axes, least_of
from meshlens.refactoring.following.grad_calls import takes
from meshlens.refactoring.following.helpers import Helper, helper_called, is_entered
from meshlens.refactoring.following.kinds import (
    LINEAR,
    MEANS,
    SUMS,
    Keyed,
    Kind,
    Listed,
    applied,
    combined,
    either,
    flat,
    index_of,
    is_mixture,
    joined,
    kept,
    leaves,
    plain,
    together,
)
from meshlens.refactoring.following.known_classes import Owner, annotated_classes, class_of
from meshlens.refactoring.following.row_by_row import is_of_arrays
from meshlens.refactoring.following.settled_tests import constant_of, outcome
from meshlens.refactoring.following.sizes import Shape, Shapes, nothing_known, shape_of, shapes_inside
from meshlens.refactoring.following.within import Within
from meshlens.refactoring.maps.mixing import Mixing
from meshlens.refactoring.reading.axes_shown import axes_given, axes_of_entries, axes_shown
from meshlens.refactoring.reading.decorators import is_transparent
from meshlens.refactoring.reading.functions import Target, dotted_name, functions_called
from meshlens.refactoring.reading.made import (
    MAKES,
    in_arithmetic,
    kind_outside,
    made_outside,
    times_bound,
    used_as_arrays,
)
from meshlens.refactoring.reading.own_methods import Own, OwnMethod, Unread, class_named, own_method
from meshlens.refactoring.reading.scopes import home_of
from meshlens.refactoring.reading.siblings import imported_function

DEPTH = 6
_PLAIN_DECORATORS = frozenset(
    {
        "jax.jit",
        "jax.checkpoint",
        "jax.remat",
        "jax.named_call",
        "equinox.filter_jit",
        "equinox.filter_checkpoint",
        "flax.linen.compact",
        "flax.linen.jit",
        "flax.linen.nowrap",
        "flax.linen.remat",
        "flax.nnx.jit",
        "flax.nnx.remat",
        "jax.named_scope",
    }
)
_NUMBERS = (Attribute, BinaryOperation, Constant, Name, UnaryOperation)
Env = dict[str, Kind]
Defined: TypeAlias = "tuple[AnyFunction, Follow | None]"
"""A function, with the scope whose variables it sees; None for the top level of its file."""
Functions: TypeAlias = "dict[str, tuple[Node, Follow | None]]"


class Constructs(NamedTuple):
    """The functions that follow calls and statements; each calls the other.

    Attributes:
        call: returns the kind of a call's result, given the calling scope, the scope of the callee, the callee and the
            call.
        run: follows the statements of a function.
    """

    call: Callable[[Follow, Follow, Node, Call], Kind]
    run: Callable[[Follow, Iterable[Node]], None]


class Loosened(NamedTuple):
    """A size in an assertion that expects all rows of the batch, with the size's replacement."""

    view: FileView
    size: Node
    text: str


@dataclass(slots=True)
class Follow:
    """The state while a function is followed.

    Attributes:
        constructs: the functions that follow calls and statements.
        view: the file.
        env: the kinds of variables.
        local: the functions that the followed function defines, with the variables that they see.
        depth: the call depth.
        made: the expressions such as `grad(…)` or `vmap(…)` that make functions, by the function's name, each with the
            scope of the expression.
        imports: the names bound by import statements inside the function.
        reduce: receives an expression and how to reduce it over devices; None in functions that cannot reduce.
        within: the known facts about the functions that the step defines; None in functions that cannot reduce.
        folded: in the step itself, the statements that assign keys that each device folds its index into, by site.
        folds: the names of the keys that each device folds its index into.
        kept: the names of keys that stay the same; each device folds its index into them only where calls receive them.
        own_here: the sites where calls receive kept keys that each device folds its index into.
        lines: in the step itself, the statements after which assigned values are reduced, by site and kind.
        reduced_later: the names that the step reduces itself, later.
        bound: in the step itself, the names that its statements assign.
        together: the names that are assigned once and hold a model assembled from its parts.
        home: the outermost function around the step; None for the top level.
        own: the instance whose method is followed; None outside of methods.
        models: the functions of models that run this code, outermost first; the functions passed to them are layers.
        mixing: the expressions that may combine rows, innermost first.
        changed: the names of objects in which statements store values that differ between devices.
        joins_norms: whether layers with batch statistics are made to average these over all devices.
        arrays: the names of variables that hold arrays, not trees of arrays.
        computed: the names that are used in arithmetic, or assigned from array functions or a `vmap`.
        shapes: the shapes of variables, if the code shows them.
        axes: for variables that are bound once, the number of axes below which the code would fail.
        least: the minimum number of axes of variables, from the values that they are bound to.
        handed: the parameters that still hold their argument, each with whether it is multiplied by a matrix.
        features: the size of the last axis of variables: a number, or the name of a sequence whose product is the size.
        widened: for a variable, another variable, and how many more axes the former has than the latter.
        results: the minimum number of axes of the results of calls, by the sites of the calls.
        looped: for each loop variable, the iterable, and the variable's position in the items if they are tuples.
        returned: the kinds that the function returns.
        returned_axes: the minimum number of axes of the returned values.
        has_ended: whether a `return` has certainly run already.
        classes: for variables, the project's class whose instance they certainly hold.
        top: the file of the step, from which its models are reached; None if it is this file.
        step: the step.
        entered_by: the call that runs the followed function, with its file, if known.
        helper: the step, or a function that it calls, if values can be reduced over devices there; None elsewhere.
        entered: the function that this scope was made for, if values can be reduced over devices in it.
        loosened: the sizes in assertions to replace.
        seen: the minimum number of axes of arrays at known calls, in all functions.
        given: the parameters of the function.
    """

    constructs: Constructs
    view: FileView
    env: Env
    local: dict[str, Defined] = field(default_factory=dict)
    depth: int = 0
    made: Functions = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    reduce: Callable[[Node, str], object] | None = None
    within: Within | None = None
    lines: dict[tuple[int, str], tuple[Node, tuple[str, ...]]] | None = None
    folded: dict[int, tuple[Node, tuple[str, ...]]] = field(default_factory=dict)
    folds: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    own_here: set[int] = field(default_factory=set)
    reduced_later: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    together: frozenset[str] = frozenset()
    home: str | None = None
    own: Own | None = None
    models: tuple[int, ...] = ()
    mixing: list[Mixing] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    joins_norms: bool = False
    arrays: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    constants: dict[str, object] = field(default_factory=dict)
    shapes: Shapes = nothing_known
    axes: dict[str, int] = field(default_factory=dict)
    features: dict[str, int | str] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    handed: dict[str, bool] = field(default_factory=dict)
    widened: dict[str, tuple[str, int]] = field(default_factory=dict)
    results: dict[int, Least] = field(default_factory=dict)
    looped: dict[str, tuple[Node, int | None]] = field(default_factory=dict)
    returned: list[Kind] = field(default_factory=list)
    returned_axes: list[Least] = field(default_factory=list)
    has_ended: bool = False
    classes: dict[str, Owner] = field(default_factory=dict)
    top: FileView | None = None
    step: Target | None = None
    entered_by: tuple[FileView, Call] | None = None
    helper: Helper | None = None
    entered: AnyFunction | None = None
    loosened: list[Loosened] = field(default_factory=list)
    seen: AxesSeen = field(default_factory=AxesSeen)
    given: frozenset[str] = frozenset()

    @property
    def in_model(self) -> bool:
        """Returns whether a model runs this code."""
        return bool(self.models)

    @property
    def is_inner(self) -> bool:
        """Returns whether the followed function is defined in the step, which then reduces the function's results."""
        return self.reduce is not None and self.lines is None

    def kind(self, node: Node) -> Kind:
        """Returns the kind of an expression."""
        follower = _EXPRESSIONS.get(type(node))
        found = follower(self, node) if follower is not None else applied(self.names(node))
        if self.helper is not None and node.site in self.helper.inside and self.helper.inside[node.site][0] is node:
            self.helper.kinds.setdefault((node.site, ""), set()).add(flat(found))
        if found == "mixed" and not isinstance(node, Name):
            self.mixing.append(Mixing(self.view, node))
        return found

    @property
    def known_classes(self) -> dict[str, Owner]:
        """Returns the classes of variables, and of the instance whose method is followed."""
        own = self.own
        is_own = own is not None and own.receiver not in self.local and own.receiver not in self.classes
        return {**self.classes, own.receiver: (own.view, own.owner)} if own is not None and is_own else self.classes

    def class_of(self, node: Node) -> Owner | None:
        """Returns the project's class that an object is certainly an instance of; None if unknown."""
        return class_of(self.view, self.known_classes, node, self.top or self.view)

    def least_axes(self, node: Node) -> int:
        """Returns the minimum number of axes of an expression."""
        shape = shape_of(node, self.shapes)
        return max(least_axes(node, self.known_axes), len(shape) if shape is not None else 0)

    @property
    def known_axes(self) -> Axes:
        """Returns the facts known here about the axes of arrays."""
        return Axes(
            self._axes_of_name,
            self.dotted,
            lambda call: self.results.get(call.site, 0),
            lambda key: max(axes_of_entries(self.view).get(key, 0), self.seen.entries.get(key, 0)),
        )

    def _axes_of_name(self, name: str) -> int:
        has_rows = flat(self.env.get(name, "same")) == "rows"
        return max(self.least.get(name, 0), self.axes.get(name, 0), int(has_rows))

    def multiplies(self, left: Node, kind: Kind) -> None:
        """Notes that code multiplies an array by a matrix, which contracts an axis other than the row axis."""
        known = self.results.get(left.site, 0)
        if isinstance(left, Call) and isinstance(known, int) and flat(kind) == "rows":
            self.results[left.site] = max(known, 2)
        if isinstance(left, Name) and flat(kind) == "rows":
            self.least[left.name] = max(self.least.get(left.name, 0), 2)
            if left.name in self.handed:
                self.handed[left.name] = True

    def whole(self, node: Node) -> Kind:
        """Returns the kind of a complete expression, reducing means and sums in it."""
        if isinstance(node, (TupleDisplay, ListDisplay)):
            kinds = tuple(kind for item in node.items for kind in self._whole_items(item))
            return kinds if isinstance(node, TupleDisplay) else Listed(kinds)
        display = self._displayed(node)
        if display is not None:
            return self._entries(display)
        if self.is_inner:
            return self.kind(node)
        return self.put_together(node, self.kind(node))

    def items(self, node: Node) -> tuple[Kind, ...]:
        """Returns the kind of a tuple's item or, for an item such as `*values`, the kinds of the values if known."""
        kind = self.kind(node.value) if isinstance(node, Starred) else self.kind(node)
        return kind if isinstance(node, Starred) and isinstance(kind, tuple) else (kind,)

    def _whole_items(self, node: Node) -> tuple[Kind, ...]:
        return self.items(node) if isinstance(node, Starred) else (self.whole(node),)

    def _displayed(self, node: Node) -> DictDisplay | None:
        """Returns a dictionary as written, also for a call such as `dict(loss=loss)`; None for other expressions."""
        if isinstance(node, DictDisplay):
            return node
        if not isinstance(node, Call) or not isinstance(node.callee, Name) or node.callee.name != "dict":
            return None
        if self.binds("dict") or not {None, "*", "**"}.isdisjoint(label for label, _, _ in node.arguments):
            return None
        pairs = (Pair(Constant("const", site, label), value) for label, site, value in node.arguments)
        return DictDisplay("dict", node.site, tuple(pairs))

    def forget_keys(self, name: str) -> None:
        """Marks the keys of a dictionary as unknown, because other code may add or remove some."""
        held = self.env.get(name)
        if isinstance(held, Keyed):
            self.env[name] = kept(held.kinds)

    def _entries(self, node: DictDisplay) -> Kind:
        """Returns a dictionary's kind; in a function that the step defines, entries of different kinds are reduced."""
        kinds = [self.whole(value) for _, value in node.pairs]
        found = {flat(kind) for kind in kinds}
        is_summed = found <= {"total", "count"}
        known = {*LINEAR, "same", "count"} | ({"rows"} if self.helper is not None else set())
        if self.is_inner and found & LINEAR and len(found) > 1 and not is_summed and found <= known:
            kinds = [self.put_together(value, kind) for (_, value), kind in zip(node.pairs, kinds, strict=True)]
        return dictionary(node, kinds)

    def put_together(self, node: Node, kind: Kind) -> Kind:
        """Returns the kind of a value for all devices, after reducing a mean, a sum or a number of rows over them."""
        if self.reduce is None or kind != "count":
            return self.settled(node, kind)
        self.reduce(node, "psum")
        return "same"

    def settled(self, node: Node, kind: Kind) -> Kind:
        """Returns the kind of an expression that is used nonlinearly, after reducing it if possible."""
        one = kind if isinstance(kind, str) else kept(leaves(kind))
        if self.reduce is None or one not in LINEAR:
            return kind
        self.reduce(node, "pmean" if one == "mean" else "psum")
        return "same"

    def names(self, node: Node) -> list[Kind]:
        """Returns the kinds of an expression's free variables."""
        return [self.look_up(name) for name in names_used(node)]

    def look_up(self, name: str) -> Kind:
        """Returns the kind of a variable; a name that is not bound here belongs to the file or to Python."""
        if name in self.local:
            body, around = self.local[name]
            return applied((around or self).names(body)) if self.depth < DEPTH else "mixed"
        if name not in self.env and name not in self.imports:
            return kind_outside(self.view, self.home, name)
        return plain(self.env.get(name, "same"))

    def binds(self, name: str) -> bool:
        """Returns whether a name is bound here, and so does not have its meaning at the file's top level."""
        return name in self.env or name in self.local or name in self.imports

    def forget(self, name: str) -> None:
        """Drops everything that is known about a name."""
        if not self.handed.get(name, True):
            del self.handed[name]
        for known in (
            self.env,
            self.local,
            self.made,
            self.imports,
            self.constants,
            self.widened,
            self.features,
            self.least,
            self.looped,
            self.classes,
        ):
            known.pop(name, None)
        for other in [one for one, (root, _) in self.widened.items() if root == name]:
            del self.widened[other]
        for other in [one for one, size in self.features.items() if size == name]:
            del self.features[other]

    def dotted(self, node: Node) -> str:
        """Returns the dotted name of a name or attribute, according to the imports; "" if unknown."""
        root = node
        while isinstance(root, Attribute):
            root = root.object
        if not isinstance(root, Name) or not self.binds(root.name):
            return dotted_name(self.view, node)
        if root.name not in self.imports:
            return ""
        attributes: list[str] = []
        while isinstance(node, Attribute):
            attributes.append(node.name)
            node = node.object
        return canonical(".".join((self.imports[root.name], *reversed(attributes))))

    def meant(self, callee: Node) -> tuple[Follow, Node]:
        """Returns the expression that a callee refers to, and the scope of that expression."""
        home = self
        for _ in range(DEPTH):
            if not isinstance(callee, Name) or callee.name not in home.made or callee.name in home.local:
                break
            callee, around = home.made[callee.name]
            home = around or home.outside()
        return home, callee

    def outside(self) -> Follow:
        """Returns the scope around a function of the file that is called from here."""
        made: Functions = {**made_outside(self.view, self.home)}
        found = Follow(self.constructs, self.view, {}, depth=self.depth, made=made, home=self.home, own=self.own)
        found.models, found.mixing, found.joins_norms = self.models, self.mixing, self.joins_norms
        found.top, found.loosened, found.seen = self.top, self.loosened, self.seen
        found.changed, found.step = self.changed, self.step
        return found

    def frozen(self) -> Follow:
        """Returns a snapshot of the scope, for a function that captures values when it is created."""
        inner = Follow(
            self.constructs,
            self.view,
            dict(self.env),
            dict(self.local),
            self.depth,
            dict(self.made),
            dict(self.imports),
        )
        inner.home, inner.own, inner.models = self.home, self.own, self.models
        inner.mixing, inner.changed, inner.joins_norms = self.mixing, self.changed, self.joins_norms
        inner.arrays, inner.computed, inner.shapes = self.arrays, self.computed, self.shapes
        inner.constants, inner.widened, inner.least = dict(self.constants), dict(self.widened), dict(self.least)
        inner.looped, inner.results = dict(self.looped), self.results
        inner.classes, inner.top, inner.loosened = dict(self.classes), self.top, self.loosened
        inner.seen, inner.step = self.seen, self.step
        return inner


def made_by(follow: Follow, value: Node) -> tuple[Node, Follow] | None:
    """Returns the function that an expression certainly makes or names, and its scope; None for other expressions."""
    if isinstance(value, Name) and value.name in follow.env and value.name not in follow.made:
        return None
    home, callee = follow.meant(value)
    if isinstance(callee, Name) and function_defined(home, callee) is not None:
        return callee, home.frozen()
    if isinstance(callee, (Name, Attribute)):
        return (callee, home) if home.dotted(callee) or method_called(home, callee) is not None else None
    is_made = isinstance(callee, Lambda) or (
        isinstance(callee, Call)
        and (home.dotted(callee.callee) in {*MAKES, "functools.partial"} or returns_function(home, callee.callee))
    )
    return (callee, home.frozen()) if is_made else None


def returns_function(follow: Follow, callee: Node) -> bool:
    """Returns whether a function of the file returns a function that it defines or makes."""
    known = function_defined(follow, callee)
    function = known[0] if known is not None else None
    if not isinstance(function, FunctionDef):
        return function is not None and isinstance(function.body, Lambda)
    inside = {
        name_of_block(one.key) if isinstance(one, SeparateDef) else one.function.name
        for one in definitions(function.function.body)
    }
    returned = [one.value for one in walk(function) if isinstance(one, (Return, Yield)) and one.value is not None]
    return any(
        isinstance(one, Lambda)
        or (isinstance(one, Name) and one.name in inside)
        or (isinstance(one, Call) and follow.dotted(one.callee) in {*MAKES, "functools.partial"})
        for one in returned
    )


class Result(NamedTuple):
    """The result of a function of the file.

    Attributes:
        kind: its kind.
        axes: its minimum number of axes.
    """

    kind: Kind
    axes: Least = 0


def called(
    follow: Follow,
    function: AnyFunction,
    around: Follow | None,
    arguments: list[tuple[str | None, Kind]],
    handed: tuple[Argument, ...] = (),
) -> Kind:
    """Returns the kind of the result of calling a function of the file; see `result_of`."""
    return result_of(follow, function, around, arguments, handed).kind


def result_of(
    follow: Follow,
    function: AnyFunction,
    around: Follow | None,
    arguments: list[tuple[str | None, Kind]],
    handed: tuple[Argument, ...] = (),
    call: Call | None = None,
) -> Result:
    """Returns the result of calling a function of the file.

    Args:
        follow: the calling scope.
        function: its node.
        around: the scope of the enclosing function, whose variables it sees.
        arguments: the kinds of the arguments, with their keywords.
        handed: the arguments as written, if known.
        call: the call, if there is one.
    """
    parameters = parameters_of(function)
    arguments = _spread(arguments, parameters)
    if follow.depth >= DEPTH or any(label in ("*", "**") for label, _ in arguments):
        return Result("same" if applied(kind for _, kind in arguments) == "same" else "mixed")
    scope = around.frozen() if around is not None else follow.outside()
    inner = Follow(scope.constructs, scope.view, scope.env, scope.local, follow.depth + 1, scope.made, scope.imports)
    inner.home, inner.own, inner.constants = scope.home, scope.own, scope.constants
    inner.models, inner.mixing, inner.joins_norms = follow.models, follow.mixing, follow.joins_norms
    inner.top, inner.classes, inner.loosened = follow.top, scope.classes, follow.loosened
    inner.seen, inner.step = follow.seen, follow.step
    inner.entered_by = (follow.view, call) if call is not None else None
    said = annotated_classes(scope.view, parameters)
    inner.changed = follow.changed
    if inner.own is not None and any(one.name == inner.own.receiver for one in parameters):
        inner.own = None
    inner.arrays, inner.computed = used_as_arrays(function), in_arithmetic((function,))
    inner.axes = axes_shown(function, inner.dotted)
    positional = [kind for label, kind in arguments if label is None]
    by_name = {label: kind for label, kind in arguments if label is not None}
    nodes = [value for label, _, value in handed if label is None]
    nodes_by_name = {label: value for label, _, value in handed if label is not None}
    given_shapes: dict[str, Shape] = {}
    handed_on: dict[str, str] = {}
    body = (function.body,) if isinstance(function, Lambda) else function.function.body
    inner.least, given_axes = dict(scope.least), axes_given(function, inner.dotted)
    for name, _, how, default, _ in parameters:
        inner.forget(name)
        given = nodes_by_name.get(name)
        is_given = name in by_name
        if how in ("only", "any") and positional:
            inner.env[name], is_given = positional.pop(0), True
            given = nodes.pop(0) if nodes else None
        elif how == "*":
            inner.env[name] = tuple(positional)
        elif how == "**":
            named = {one.name for one in parameters}
            left = [kind for label, kind in by_name.items() if label not in named]
            inner.env[name] = together(left) if left else ()
        else:
            left_out = scope.kind(default) if default is not None and around is not None else "same"
            inner.env[name] = by_name.get(name, left_out)
        passed = given if is_given else default
        constant = constant_of(follow.constants if is_given else {}, passed) if passed is not None else None
        if constant is not None and how not in ("*", "**"):
            inner.constants[name] = constant.value
        given_shapes[name] = shape_of(given, follow.shapes) if given is not None else None
        inner.least[name] = max(follow.least_axes(given) if given is not None else 0, given_axes.get(name, 0))
        if isinstance(given, Name):
            handed_on[name] = given.name
        made = made_by(follow, given) if given is not None else None
        if made is not None:
            inner.made[name] = made
        owner = (follow.class_of(given) if given is not None else None) or said.get(name)
        if owner is not None:
            inner.classes[name] = owner
    if around is not None and around.entered is function and around.helper is not None:
        inner.constants |= {one: one for one in (around.helper.parameter,) if one is not None}
    inner.shapes = shapes_inside(body, given_shapes, scope.shapes)
    inner.looped = {name: one for name, one in scope.looped.items() if name not in inner.bound}
    if around is not None and around.entered is function:
        inner.reduce, inner.within, inner.helper = around.reduce, around.within, around.helper
    elif around is not None and around.within is not None and around.within.holds(function):
        inner.reduce, inner.within, inner.helper = around.reduce, around.within, around.helper
        read = {*names_used(function), *(one.name for one in parameters)}
        around.within.entered.setdefault(function.site, []).append({
            name: inner.look_up(name) for name in read if inner.binds(name)
        })  # fmt: skip
    inner.handed = dict.fromkeys(handed_on, False)
    inner.given = frozenset(one.name for one in parameters)
    if isinstance(function, Lambda):
        return Result(inner.kind(function.body), least_of(function.body, inner.known_axes))
    follow.constructs.run(inner, function.function.body)
    for name, is_multiplied in inner.handed.items():
        if is_multiplied:
            follow.multiplies(Name("name", 0, handed_on[name]), "rows")
    result = inner.returned[0] if inner.returned else "same"
    for other in inner.returned[1:]:
        result = either(result, other)
    return Result(result, fewest(inner.returned_axes))


def entered(follow: Follow, home: Follow, known: Defined, node: Call) -> Follow | None:
    """Returns the scope around a function that a call runs, in which a helper may reduce for the step.

    Args:
        follow: the calling scope.
        home: the scope of the function's name.
        known: the function, and the scope around it.
        node: the call, to which the name of the axis can be added.
    """
    function, around = known
    caller = follow.helper
    is_plain = all(label != "**" for label, _, _ in node.arguments)
    if caller is None or not is_plain or not isinstance(function, FunctionDef):
        return around
    helper = helper_called(around.view if around is not None else home.view, function, caller)
    if helper is None or not is_entered(caller, node, helper):
        return around
    scope = around.frozen() if around is not None else home.outside()
    scope.entered, scope.reduce, scope.within, scope.helper = function, helper.reduce, helper.within, helper
    return scope


def _spread(
    arguments: list[tuple[str | None, Kind]], parameters: tuple[Parameter, ...]
) -> list[tuple[str | None, Kind]]:
    """Returns the arguments with a splat such as `*batch` expanded; unless it is a tuple, it fills all parameters."""
    labels = [label for label, _ in arguments]
    if labels.count("*") != 1 or "**" in labels:
        return arguments
    place = labels.index("*")
    kind = arguments[place][1]
    if isinstance(kind, tuple):
        return [*arguments[:place], *((None, part) for part in kind), *arguments[place + 1 :]]
    left = [one for one in parameters[place:] if one.how in ("only", "any") and one.name not in labels]
    is_open = None in labels[place:] or any(one.default is not None or one.how == "*" for one in parameters[place:])
    if is_open or kind not in ("tree", "same"):
        return arguments
    return [*arguments[:place], *((None, kind) for _ in left), *arguments[place + 1 :]]


def function_of(follow: Follow, callee: Node) -> Defined | None:
    """Returns the project's function or method that an expression refers to, and the scope around it.

    Returns None if decorators replace the function with something else.
    """
    known = function_defined(follow, callee)
    if known is None:
        return None
    view = known[1].view if known[1] is not None else follow.view
    if isinstance(known[0], FunctionDef) and not all(_is_plain(view, one) for one in known[0].function.decorators):
        return None
    return known


def function_defined(follow: Follow, callee: Node) -> Defined | None:
    """Returns the same as `function_of`, but does not exclude functions that decorators replace with something else."""
    if isinstance(callee, Lambda):
        return callee, follow
    if isinstance(callee, Attribute):
        method = method_called(follow, callee)
        if method is not None:
            return _bound_method(follow, callee, method) if isinstance(method, OwnMethod) else None
        return _of_another_file(follow, callee) if not follow.binds(root_name(callee)) else None
    if not isinstance(callee, Name):
        return None
    known = follow.local.get(callee.name)
    if known is not None or callee.name in follow.env:
        return known
    found = [one for one in functions_called(follow.view, callee.name) if not one.is_method]
    homes = {one.site: home_of(follow.view, one.at(one.node.site)) for one in found}
    inside = [one for one in found if homes[one.site] == follow.home] if follow.home is not None else []
    found = inside or [one for one in found if homes[one.site] is None]
    is_one = len(found) == 1 and times_bound(follow.view, follow.home if inside else None, callee.name) <= 1
    if not found and not follow.binds(callee.name):
        return _of_another_file(follow, callee)
    return (found[0].node, None) if is_one else None


def method_called(follow: Follow, callee: Node) -> OwnMethod | Unread | None:
    """Returns the project's method that an attribute of an instance or a class refers to."""
    if not isinstance(callee, Attribute):
        return None
    name = callee.object.name if isinstance(callee.object, Name) else ""
    own = follow.own
    if own is not None and name == own.receiver:
        is_own = name not in follow.local and flat(follow.env.get(name, "same")) == "same"
        return own_method(own.view, own.owner, callee.name, through_class=False) if is_own else "unread"
    owner = class_named(follow.view, name) if name and not follow.binds(name) else None
    if owner is not None:
        return own_method(follow.view, owner, callee.name, through_class=True)
    held = follow.class_of(callee.object)
    if held is None or flat(follow.kind(callee.object)) != "same":
        return None
    return own_method(*held, callee.name, through_class=False)


def _bound_method(follow: Follow, callee: Attribute, method: OwnMethod) -> tuple[FunctionDef, Follow]:
    """Returns a method as a function without `self`, with a scope in which its instance is bound to a name."""
    node = method.target.node
    scope = Follow(follow.constructs, method.view, {}, depth=follow.depth, made={**made_outside(method.view, None)})
    scope.top, scope.step = follow.top, follow.step
    kinds = ("staticmethod", "classmethod")
    decorators = tuple(one for one in node.function.decorators if not (isinstance(one, Name) and one.name in kinds))
    parameters = node.function.parameters
    if method.is_bound:
        receiver, given = parameters[0].name, callee.object.name if isinstance(callee.object, Name) else ""
        scope.env[receiver] = "same"
        owner = class_named(follow.view, given)
        held = follow.class_of(callee.object)
        if follow.own is not None and given == follow.own.receiver:
            scope.own = replace(follow.own, receiver=receiver)
        elif owner is not None:
            scope.own = Own(follow.view, owner, receiver)
        elif held is not None:
            scope.own = Own(*held, receiver)
        parameters = parameters[1:]
    return node._replace(function=node.function._replace(parameters=parameters, decorators=decorators)), scope


def method_of_class(follow: Follow, method: OwnMethod, view: FileView, owner: str) -> tuple[FunctionDef, Follow]:
    """Returns a method of any instance of a class as a function without `self`, and its scope."""
    node = method.target.node
    scope = Follow(follow.constructs, method.view, {}, depth=follow.depth, made={**made_outside(method.view, None)})
    scope.top, scope.step = follow.top, follow.step
    parameters = node.function.parameters
    if method.is_bound and parameters:
        scope.env[parameters[0].name] = "same"
        scope.own = Own(view, owner, parameters[0].name)
        parameters = parameters[1:]
    return node._replace(function=node.function._replace(parameters=parameters)), scope


def _of_another_file(follow: Follow, callee: Node) -> tuple[FunctionDef, Follow] | None:
    """Returns the function of another workspace file that an expression refers to, and its scope."""
    found = imported_function(follow.view, callee)
    if found is None or times_bound(found[0], None, found[1].name) > 1:
        return None
    scope = Follow(follow.constructs, found[0], {}, depth=follow.depth, made={**made_outside(found[0], None)})
    scope.top, scope.step = follow.top, follow.step
    return found[1].node, scope


def _is_plain(view: FileView, decorator: Node) -> bool:
    """Returns whether a decorator leaves a function's result unchanged."""
    if (
        isinstance(decorator, Call)
        and dotted_name(view, decorator.callee) == "functools.partial"
        and decorator.arguments
    ):
        decorator = decorator.arguments[0].value
    dotted = dotted_name(view, decorator.callee if isinstance(decorator, Call) else decorator)
    return dotted in _PLAIN_DECORATORS or is_transparent(view, decorator)


def _attribute(follow: Follow, node: Attribute) -> Kind:
    kind = follow.kind(node.object)
    if flat(kind) in ("rows", "turned") and node.name in ("ndim", "dtype"):
        return "same"
    if flat(kind) == "rows" and node.name in ("shape", "size"):
        return {"shape": "shape", "size": "count"}[node.name]
    if flat(kind) in ("rows", "turned") and node.name in ("T", "mT", "shape", "size"):
        return "mixed"
    if kind in ("rows", "turned") and (node.name in MEANS | SUMS or is_of_arrays(node.name)):
        return "mixed"
    return "tree" if kind == "tree" else flat(kind)


def _name(follow: Follow, node: Name) -> Kind:
    if node.site in follow.own_here:
        return "own"
    kind = follow.look_up(node.name)
    return "rows" if kind == "tree" and node.name in follow.computed else kind


def dictionary(node: DictDisplay, kinds: Iterable[Kind]) -> Kind:
    """Returns the kind of a dictionary, given the kinds of its values."""
    found: dict[str, Kind] = {}
    kinds = list(kinds)
    for (key, _), kind in zip(node.pairs, kinds, strict=True):
        if key is None and isinstance(kind, Keyed):
            found |= dict(kind.items)
        elif isinstance(key, Constant) and isinstance(key.value, str):
            found[key.value] = kind
        else:
            return kept(kinds)
    return Keyed(tuple(found.items())) if found else kept(kinds)


def _item(follow: Follow, node: Subscript) -> Kind:
    kind, index = follow.kind(node.object), node.key
    if isinstance(kind, Keyed):
        entry = kind.at(index.value) if isinstance(index, Constant) else None
        return entry if entry is not None else "mixed"
    if isinstance(kind, tuple):
        number = index.value if isinstance(index, Constant) and type(index.value) is int else None
        if number is not None and -len(kind) <= number < len(kind):
            return kind[number]
        return "mixed" if is_mixture(kind) else flat(kind)
    if kind == "shape" and _has_no_rows(follow, node.object, index):
        return "same"
    if kind == "shape":
        # A size that is counted from the end may be the number of rows or another size.
        return "count" if isinstance(index, Slice) or index_of(index) == 0 else "mixed"
    if kind == "both" and isinstance(index, Constant) and isinstance(index.value, str):
        return "both"
    is_array = isinstance(node.object, Name) and node.object.name in follow.arrays
    if kind == "tree" and not is_array and _is_key(follow, index):
        return "tree" if flat(follow.kind(index)) == "same" else "mixed"
    if flat(kind) == "rows":
        return _rows_of(follow, index)
    if kind == "turned":
        return "rows" if index_of(index) is not None else "mixed"
    if kind == "grouped":
        return "grouped" if isinstance(index, Constant) and isinstance(index.value, str) else "mixed"
    inside = _inside(follow, index)
    return kind if inside == "same" else applied((kind, inside))


def _has_no_rows(follow: Follow, shape: Node, index: Node) -> bool:
    """Returns whether an index into a shape certainly does not select the number of rows."""
    is_slice = isinstance(index, Slice) and index.lower is not None and index.step is None
    place = index_of(index.lower if isinstance(index, Slice) and is_slice else index)
    if place is None or place > 0:
        return place is not None
    given = shape.arguments[:1] if isinstance(shape, Call) else ()
    array = shape.object if isinstance(shape, Attribute) else given[0].value if given else None
    return place < 0 and array is not None and -place < follow.least_axes(array)


def _inside(follow: Follow, index: Node) -> Kind:
    """Returns the kind of the values in an index, including the bounds of its slices."""
    items = index.items if isinstance(index, TupleDisplay) else (index,)
    parts = [part for one in items for part in ((one.lower, one.upper, one.step) if isinstance(one, Slice) else (one,))]
    return applied(follow.kind(part) for part in parts if part is not None)


def _is_key(follow: Follow, index: Node) -> bool:
    """Returns whether an index may be a tree's key; slices, multiple indices and index arrays apply only to arrays."""
    if isinstance(index, (Name, Attribute)):
        return flat(follow.kind(index)) == "same"
    return bool(isinstance(index, Constant) and index.value not in (None, ...))


def _rows_of(follow: Follow, index: Node) -> Kind:
    """Returns the kind of the part that an index selects from an array with rows."""
    items = index.items if isinstance(index, TupleDisplay) else (index,)
    if not items:
        return "rows"
    first, rest = items[0], [flat(follow.kind(one)) for one in items[1:]]
    if isinstance(first, Constant) and first.value is None:
        return (
            "turned"
            if all(isinstance(one, Slice) or (isinstance(one, Constant) and one.value is ...) for one in items[1:])
            else "mixed"
        )
    if isinstance(first, Slice):
        is_whole = all(part is None for part in (first.lower, first.upper, first.step))
        return "rows" if is_whole and set(rest) <= {"same"} else "mixed"
    if isinstance(first, Constant) and first.value is ...:
        return "rows" if set(rest) <= {"same"} else "mixed"
    if isinstance(first, Constant) and isinstance(first.value, str):
        return "rows"
    return "rows" if flat(follow.kind(first)) == "places" and set(rest) <= {"rows", "same"} else "mixed"


def _binary(follow: Follow, node: BinaryOperation) -> Kind:
    # Checked first: following a factor such as `2 / x.shape[0]` by itself would sum the number of rows over devices.
    summed = _sum_over_rows(follow, node)
    if summed is not None:
        return summed
    left, right = (numbered(follow, operand, operand_kind(follow, operand)) for operand in (node.left, node.right))
    if (both := joined(node.operator, left, right)) is not None:
        return both
    if node.operator != "@" and rows_meet(follow, (node.left, node.right), (left, right)):
        return "mixed"
    if node.operator == "@" and flat(left) == flat(right) == "rows" and have_batches(follow, node.left, node.right):
        return "rows"
    if node.operator == "@" and right == "same":
        follow.multiplies(node.left, left)
    found = combined(node.operator, left, right)
    if found == "mixed" and follow.is_inner and node.operator == "/" and flat(left) in LINEAR:
        # In a loss, only the divisor is reduced: the gradients of a sum over devices are larger, and may overflow.
        return combined(node.operator, left, follow.put_together(node.right, right))
    if found == "mixed" and follow.reduce is not None:
        return combined(node.operator, follow.put_together(node.left, left), follow.put_together(node.right, right))
    return found


def numbered(follow: Follow, node: Node, kind: Kind) -> Kind:
    """Returns the kind of an operand; numbers of rows, as `jnp.arange(n)`, are made those of the whole batch."""
    if flat(kind) != "places" or follow.reduce is None:
        return kind
    follow.reduce(node, "numbered")
    return "rows"


def _sum_over_rows(follow: Follow, node: BinaryOperation) -> str | None:
    """Returns the kind of a matrix product that sums over the rows, or of a product that turns a sum into a mean."""
    if node.operator == "@":
        summed = product_over_rows(follow, node.left)
        return summed if summed is not None and flat(follow.kind(node.right)) == "rows" else None
    if node.operator != "*":
        return None
    sides = ((node.left, node.right), (node.right, node.left))
    total = next((other for scale, other in sides if _is_share(follow, scale)), None)
    return "mean" if total is not None and flat(follow.kind(total)) == "total" else None


def product_over_rows(follow: Follow, left: Node) -> str | None:
    """Returns the kind of the product of a matrix and an array with rows if it sums over the rows, as `x.T @ y` does.

    Args:
        follow: the scope.
        left: the matrix on the left, which may be scaled.
    """
    if isinstance(left, BinaryOperation) and left.operator == "*":
        sides = ((left.left, left.right), (left.right, left.left))
        found = ((scale, product_over_rows(follow, matrix)) for scale, matrix in sides)
        scale, kind = next(((scale, kind) for scale, kind in found if kind is not None), (left, None))
        if kind == "total" and _is_share(follow, scale):
            return "mean"
        return kind if kind is not None and flat(follow.kind(scale)) == "same" else None
    array = left.object if isinstance(left, Attribute) and left.name == "T" else None
    if isinstance(left, Call) and last_name(left.callee) == "transpose":
        is_method = isinstance(left.callee, Attribute) and not follow.dotted(left.callee)
        given = [left.callee.object] if is_method and isinstance(left.callee, Attribute) else []
        given += [one.value for one in left.arguments]
        array = given[0] if len(given) == 1 else None
    return "total" if array is not None and flat(follow.kind(array)) == "rows" else None


def _is_share(follow: Follow, node: Node) -> bool:
    """Returns whether an expression is a number divided by the number of rows, as `2 / x.shape[0]` is."""
    if not isinstance(node, BinaryOperation):
        return False
    if node.operator == "*":
        sides = ((node.left, node.right), (node.right, node.left))
        return any(_is_share(follow, one) and flat(follow.kind(other)) == "same" for one, other in sides)
    parts = tuple(walk(node.left))
    is_nested = any(isinstance(one, BinaryOperation) and one.operator == "/" for one in parts)
    if node.operator != "/" or is_nested or not all(isinstance(one, _NUMBERS) for one in parts):
        return False
    return flat(follow.kind(node.right)) == "count" and flat(follow.kind(node.left)) == "same"


def have_batches(follow: Follow, *nodes: Node) -> bool:
    """Returns whether the operands of a matrix product have a row axis before the axes that the product works on."""
    return all(follow.least_axes(node) > 2 for node in nodes)


def rows_meet(follow: Follow, nodes: Iterable[Node], kinds: Iterable[Kind]) -> bool:
    """Returns whether operands of an elementwise operation have rows but certainly different numbers of axes.

    Broadcasting aligns the last axes, so the row axis of the array with fewer axes lines up with another axis.
    """
    rows = [node for node, kind in zip(nodes, kinds, strict=True) if flat(kind) == "rows"]
    if len(rows) < 2:
        return False
    shapes = (shape_of(node, follow.shapes) for node in rows)
    exact = {len(shape) for shape in shapes if shape is not None}
    if len(exact) > 1 or (exact and max(map(follow.least_axes, rows)) > min(exact)):
        return True
    more = [one for one in (axes_more(follow, node) for node in rows) if one is not None]
    return any(root == other and count != others for root, count in more for other, others in more)


def axes_more(follow: Follow, node: Node) -> tuple[str, int] | None:
    """Returns the variable that an expression is computed from and the number of axes added; None if unknown."""
    if isinstance(node, Name):
        return follow.widened.get(node.name, (node.name, 0))
    if isinstance(node, UnaryOperation):
        return axes_more(follow, node.operand)
    if isinstance(node, BinaryOperation) and node.operator != "@":
        sides = [axes_more(follow, side) for side in (node.left, node.right) if flat(follow.kind(side)) == "rows"]
        return sides[0] if len(sides) == 1 else None
    if not isinstance(node, Subscript):
        return None
    found = axes_more(follow, node.object)
    items = node.key.items if isinstance(node.key, TupleDisplay) else (node.key,)
    if found is None or not all(isinstance(one, (Slice, Constant)) for one in items):
        return None
    added = sum(isinstance(one, Constant) and one.value is None for one in items)
    taken = sum(isinstance(one, Constant) and type(one.value) is int for one in items)
    return found[0], found[1] + added - taken


def counts_rows(follow: Follow, node: Node) -> bool:
    """Returns whether a test or a range depends on how many rows a device has."""
    return any(_is_count(follow, one) for one in walk(node))


def _is_count(follow: Follow, node: Node) -> bool:
    if isinstance(node, Call):
        is_len = isinstance(node.callee, Name) and node.callee.name == "len" and len(node.arguments) == 1
        return is_len and follow.kind(node.arguments[0].value) == "rows"
    return isinstance(node, (Name, Attribute, Subscript)) and flat(follow.kind(node)) == "count"


def operand_kind(follow: Follow, node: Node) -> Kind:
    """Returns the kind of an operand; gradients are reduced before other operations, as is conventional."""
    kind = follow.kind(node)
    return follow.settled(node, kind) if takes_gradient(follow, node) else kind


def takes_gradient(follow: Follow, node: Node) -> bool:
    """Returns whether an expression calls a gradient function."""
    if not isinstance(node, Call):
        return False
    home, maker = follow.meant(node.callee)
    return takes(home.view, maker)


def _comprehension(follow: Follow, node: Comprehension) -> Kind:
    inner = follow.frozen()
    for target, iterable, _ in node.clauses:
        kind = inner.kind(iterable)
        is_array = kind == "rows" or (isinstance(iterable, Name) and flat(kind) == "rows")
        whole = "mixed" if is_array or is_mixture(kind) else "tree" if kind == "tree" else flat(kind)
        for name, part in variables_of(target, entry_of(inner, iterable) or whole):
            inner.forget(name)
            inner.env[name] = part
        inner.looped |= loop_variables(target, iterable)
    for one in walk(node):
        if isinstance(one, Walrus):
            follow.forget(one.name)
            follow.env[one.name] = "mixed"
    parts = node.element if isinstance(node.element, Pair) else (node.element,)
    return together(inner.kind(part) for part in parts)


def entry_of(follow: Follow, iterable: Node) -> Kind | None:
    """Returns the kind of an entry of a dictionary's keys, values or items, or of a `zip`; None for anything else."""
    if not isinstance(iterable, Call) or any(label is not None for label, _, _ in iterable.arguments):
        return None
    name, given = last_name(iterable.callee), [value for _, _, value in iterable.arguments]
    if isinstance(iterable.callee, Attribute) and not given and name in ("items", "values", "keys"):
        value = _value_in(follow, iterable.callee.object)
        found: dict[str, Kind | None] = {"items": ("same", value) if value else None, "values": value, "keys": "same"}
        return found[name] if value is not None else None
    if not isinstance(iterable.callee, Name) or not given or follow.binds(name):
        return None
    parts = [entry_of(follow, one) or _value_in(follow, one) for one in given]
    if name == "enumerate":
        return ("same", parts[0]) if parts[0] is not None else None
    return tuple(one for one in parts if one is not None) if name == "zip" and None not in parts else None


def _value_in(follow: Follow, container: Node) -> Kind | None:
    """Returns the kind of every value in a container; None if they may have several kinds, or are rows of an array."""
    kind = follow.kind(container)
    held = {flat(one) for one in leaves(kind)}
    if len(held) != 1 or not held <= {"same", *LINEAR}:
        return None
    return held.pop()


def variables_of(target: Node, kind: Kind) -> Iterator[tuple[str, Kind]]:
    """Yields the variables of a loop, each with the kind of its part of an entry."""
    if isinstance(target, TupleDisplay) and isinstance(kind, tuple) and len(kind) == len(target.items):
        for item, part in zip(target.items, kind, strict=True):
            yield from variables_of(item, part)
    elif isinstance(target, Name):
        yield target.name, kind
    else:
        whole = "tree" if kind == "tree" else flat(kind)
        yield from ((name, whole) for name in names_used(target))


def loop_variables(target: Node, iterable: Node) -> dict[str, tuple[Node, int | None]]:
    """Returns the variables of a loop, each with the iterable and, if the items are tuples, its position in them."""
    if isinstance(target, Name):
        return {target.name: (iterable, None)}
    items = target.items if isinstance(target, TupleDisplay) else ()
    return {item.name: (iterable, place) for place, item in enumerate(items) if isinstance(item, Name)}


def _walrus(follow: Follow, node: Walrus) -> Kind:
    kind = follow.kind(node.value)
    made = made_by(follow, node.value)
    follow.forget(node.name)
    follow.env[node.name] = kind
    if made is not None:
        follow.made[node.name] = made
    return kind


def _call(follow: Follow, node: Call) -> Kind:
    callee = node.callee
    if follow.within is not None:
        follow.within.followed.add(node.site)
    if isinstance(callee, Walrus):
        follow.kind(callee)
        callee = Name("name", callee.site, callee.name)
    return follow.constructs.call(follow, *follow.meant(callee), node)


def _choice(follow: Follow, node: IfExpression) -> Kind:
    certain = outcome(follow.constants, node.test)
    if certain is not None:
        return follow.kind(node.then if certain else node.otherwise)
    if counts_rows(follow, node.test):
        return "mixed"
    return either(follow.kind(node.then), follow.kind(node.otherwise))


def _each(follow: Follow, nodes: tuple[Node, ...]) -> Kind:
    return applied(follow.settled(one, follow.kind(one)) for one in nodes)


def _comparison(follow: Follow, node: Comparison) -> Kind:
    return applied(follow.settled(one, numbered(follow, one, follow.kind(one))) for one in node.operands)


_EXPRESSIONS: dict[type[Node], Callable[[Follow, Any], Kind]] = {
    Name: _name,
    Constant: lambda follow, node: "same",
    Call: _call,
    Attribute: _attribute,
    Subscript: _item,
    BinaryOperation: _binary,
    UnaryOperation: lambda follow, node: follow.kind(node.operand),
    TupleDisplay: lambda follow, node: tuple(kind for item in node.items for kind in follow.items(item)),
    ListDisplay: lambda follow, node: Listed(kind for item in node.items for kind in follow.items(item)),
    DictDisplay: lambda follow, node: plain(dictionary(node, [follow.kind(value) for _, value in node.pairs])),
    IfExpression: _choice,
    Comparison: _comparison,
    BoolOperation: lambda follow, node: _each(follow, node.items),
    Comprehension: _comprehension,
    Walrus: _walrus,
}
