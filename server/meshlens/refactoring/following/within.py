"""The functions that a step defines in its own body, where values can be reduced over devices as in the step itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from meshlens.facts.nodes import Assign, Call, FunctionDef, Lambda, Name
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.grad_calls import TAKES
from meshlens.refactoring.following.kinds import Kind
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, dotted_name
from meshlens.refactoring.reading.made import in_arithmetic

_WRAPS = frozenset({*TAKES, "jax.jit", "jax.checkpoint", "jax.remat", "functools.partial"})
_RUNS = frozenset(f"jax.lax.{name}" for name in ("scan", "fori_loop", "while_loop", "cond"))


@dataclass(frozen=True, slots=True)
class Gather:
    """The variables that are gathered before a statement, so that the rest of the function sees all rows.

    Attributes:
        statement: the statement.
        rows: the variables that hold rows.
        counts: those that hold numbers of rows.
    """

    statement: Node
    rows: tuple[str, ...]
    counts: tuple[str, ...]

    def together(self, other: Gather) -> Gather:
        """Returns this with the variables that another one gathers before the same statement."""
        rows, counts = (*self.rows, *other.rows), (*self.counts, *other.counts)
        return Gather(self.statement, tuple(dict.fromkeys(rows)), tuple(dict.fromkeys(counts)))


@dataclass(slots=True)
class Within:
    """The functions that a step defines in its own body, and how they were followed.

    Attributes:
        functions: the functions and lambdas in the step, by site.
        lines: the statements after which assigned values are reduced, by site and kind.
        arrays: the names of the step's parameters and of its arithmetic operands, which are arrays or trees of arrays.
        entered: for each function, by site, the kinds of the values that it read each time it was followed.
        followed: the sites of the calls that were followed.
        gathers: the statements before which variables are gathered, by site.
        wanted: more such statements, found by following the functions; None if nothing may be gathered.
        is_for_losses: whether only losses may reduce on behalf of a step, not their helpers.
    """

    functions: dict[int, FunctionDef | Lambda]
    arrays: frozenset[str]
    lines: dict[tuple[int, str], tuple[Node, tuple[str, ...]]]
    entered: dict[int, list[dict[str, Kind]]] = field(default_factory=dict)
    followed: set[int] = field(default_factory=set)
    gathers: dict[int, Gather] = field(default_factory=dict)
    wanted: dict[int, Gather] | None = None
    is_for_losses: bool = False

    def holds(self, function: Node) -> bool:
        """Returns whether the given function is defined in the step."""
        return self.functions.get(function.site) is function


def within(target: Target) -> Within:
    """Returns the functions in a step, none of which has been followed yet."""
    inside = (node for statement in target.body for node in walk(statement))
    functions = {node.site: node for node in inside if isinstance(node, (FunctionDef, Lambda))}
    parameters = frozenset(one.name for one in target.node.function.parameters)
    return Within(functions, parameters | in_arithmetic(target.body), {})


def must_always_reduce(view: FileView, target: Target, known: Within, sites: set[int]) -> None:
    """Checks that a function defined in a step needs its reductions every time it runs.

    Args:
        view: the file.
        target: the step.
        known: the facts about the step's functions, found by following the step.
        sites: the sites of the expressions to reduce.

    Raises:
        Obstacle: it is uncertain whether the function always needs them.
    """
    reducing = [one for one in known.functions.values() if any(node.site in sites for node in walk(one))]
    if not reducing:
        return
    for one in reducing:
        times = known.entered.get(one.site, [])
        is_alike = all(kinds == times[0] for kinds in times)
        decorators = one.function.decorators if isinstance(one, FunctionDef) else ()
        if not is_alike or any(_maker(view, decorator) not in _WRAPS for decorator in decorators):
            raise Obstacle("reduced-inside", f"{_called(one)} may need different reductions on different calls")
    for name, node in _other_uses(view, target, known, reducing):
        if node.site not in known.followed:
            message = f'"{name}" would reduce over the rows of all devices, but its other uses may not expect that'
            raise Obstacle("reduced-inside", message)


def _other_uses(
    view: FileView, target: Target, known: Within, reducing: list[FunctionDef | Lambda]
) -> Iterator[tuple[str, Node]]:
    """Yields the uses of functions that reduce: the name, with the call that it belongs to or else its own node."""
    nodes = [node for statement in target.body for node in walk(statement)]
    names = {one.function.name for one in reducing if isinstance(one, FunctionDef)}
    before: set[str] | None = None
    holders: list[tuple[str, Node]] = [
        *((one.function.name, one) for one in known.functions.values() if isinstance(one, FunctionDef)),
        *(
            (name.name, node.value)
            for node in nodes
            if isinstance(node, Assign) and _is_function(view, node.value)
            for name in node.targets
            if isinstance(name, Name)
        ),
    ]
    sites = {one.site for one in reducing}
    while names != before:
        before = set(names)
        for name, holder in holders:
            inner = list(walk(holder))
            if any((isinstance(one, Name) and one.name in before) or one.site in sites for one in inner):
                names.add(name)
    owners: dict[int, Node] = {}
    for node in nodes:
        if isinstance(node, Assign) and _is_function(view, node.value):
            owners |= {one.site: node for one in (*node.targets, *_operands(view, node.value))}
        elif isinstance(node, Call):
            owners |= {one.site: node for one in (node.callee, *_operands(view, node.callee)) if one.site not in owners}
            if _maker(view, node) in _RUNS:
                owners |= {argument.value.site: node for argument in node.arguments}
    for one in nodes:
        if isinstance(one, Name) and one.name in names:
            owner = owners.get(one.site, one)
            if not isinstance(owner, Assign):
                yield one.name, owner


def _operands(view: FileView, node: Node) -> Iterator[Node]:
    """Yields an expression for a function and, if it is a `grad(…)` or similar call, the operands in it."""
    yield node
    if isinstance(node, Call) and _maker(view, node) in _WRAPS and node.arguments:
        yield from _operands(view, node.arguments[0].value)


def _is_function(view: FileView, value: Node) -> bool:
    return isinstance(value, (Name, Lambda)) or (isinstance(value, Call) and _maker(view, value) in _WRAPS)


def _maker(view: FileView, node: Node) -> str:
    if isinstance(node, Call):
        node = node.callee
    return dotted_name(view, node)


def _called(function: FunctionDef | Lambda) -> str:
    return f'"{function.function.name}"' if isinstance(function, FunctionDef) else "a lambda"
