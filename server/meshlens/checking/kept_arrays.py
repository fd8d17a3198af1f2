"""Finds reads of donated arrays through other variables or attributes that still refer to them.

A function is followed along its paths: each loop runs twice, each branch that matters is both taken and not taken, and
functions, methods and constructors of the workspace are entered. Conditions are not evaluated, but within an iteration,
conditions with the same text have the same outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple, TypeAlias

from meshlens.axes.domain.values import Site
from meshlens.checking.reading_after import HOLD_ARRAYS, KNOWN_WITHOUT_DATA, LOOK_AT_NO_DATA, key_of
from meshlens.facts.model import FileFacts, Shape
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    BoolOperation,
    Break,
    Call,
    ClassDef,
    Comparison,
    Constant,
    Continue,
    Delete,
    DictDisplay,
    ExpressionStatement,
    For,
    FunctionDef,
    If,
    IfExpression,
    ImportFrom,
    Lambda,
    ListDisplay,
    Name,
    Raise,
    Return,
    SeparateDef,
    Starred,
    Try,
    TupleDisplay,
    While,
    With,
)
from meshlens.project.trees import Node, children, name_of_block, tree, walk
from meshlens.project.view import FileView

_DEEPEST = 4
"""Maximum nesting of the calls that are entered."""
_MOST_PATHS = 24
"""Maximum number of different paths that are followed further."""
_FEW_PATHS = 12
"""Number of paths up to which finding those that are alike takes longer than following them."""
_MOST_STEPS = 1_000
"""Maximum number of statements on all paths together."""
_ITERATIONS = 2
_NOT_ARRAYS = frozenset({"int", "float", "bool", "str", "bytes"})
_IDENTITIES = frozenset({"stop_gradient", "jnp.asarray", "jax.numpy.asarray"})
"""Functions that return the array that they are given, except inside a trace; NumPy's `asarray` copies to the host."""


class Origin(NamedTuple):
    """Arrays, identified by their origin.

    Attributes:
        number: identifies the call result, argument or object that they come from.
        path: the attributes that lead from there to these arrays.
    """

    number: int
    path: tuple[str, ...] = ()


_Value: TypeAlias = "Origin | tuple[_Value, ...]"


class Slot(NamedTuple):
    """A variable in one run of a function, or an attribute of an object."""

    owner: int | Origin
    name: str


class Kept(NamedTuple):
    """A read of donated arrays.

    Attributes:
        reads: the calls that lead from the followed function to the read, then the read itself.
        kept: the assigned value through which the variable or attribute got the arrays.
        donated: the donated argument.
    """

    reads: tuple[Site, ...]
    kept: Site
    donated: Site


class BlockPlace(NamedTuple):
    """Where a block is: its file and its key."""

    path: str
    key: str


class _Frame(NamedTuple):
    """A run of a function."""

    number: int
    block: BlockPlace
    depth: int

    def site(self, node: Node) -> Site:
        return Site(self.block.path, self.block.key, node.site)


class _Loss(NamedTuple):
    """A donated argument, its variable, and whether it certainly holds arrays."""

    argument: Site
    variable: Slot | None
    is_full: bool


@dataclass
class _State:
    """The state at one place on one path.

    Attributes:
        held: the values of variables and attributes.
        given: the expressions assigned to variables and attributes, if something else may hold the values too.
        same: for each parameter, the caller's variable that was passed for it.
        classes: the classes of objects.
        lost: the donated arrays.
        left_out: the assignments in branches that this path does not take, by the name that they assign.
        taken: the outcome of conditions in this iteration, by their text.
        results: the values of calls, by frame and site.
        flow: the kind of the statement by which the path leaves its suite; empty if it does not.
        returned: the value that the path returns.
        is_last: whether the path has taken a branch that runs in only one iteration, such as the last one.
    """

    held: dict[Slot, _Value] = field(default_factory=dict)
    given: dict[Slot, Site] = field(default_factory=dict)
    same: dict[Slot, Slot] = field(default_factory=dict)
    classes: dict[Origin, BlockPlace] = field(default_factory=dict)
    lost: dict[Origin, _Loss] = field(default_factory=dict)
    left_out: dict[str, frozenset[Site]] = field(default_factory=dict)
    taken: dict[str, bool] = field(default_factory=dict)
    results: dict[tuple[int, int], _Value] = field(default_factory=dict)
    flow: str = ""
    returned: _Value | None = None
    is_last: bool = False

    def fork(self) -> _State:
        """Returns a copy that another path may change."""
        return replace(
            self,
            held=dict(self.held),
            given=dict(self.given),
            same=dict(self.same),
            classes=dict(self.classes),
            lost=dict(self.lost),
            left_out=dict(self.left_out),
            taken=dict(self.taken),
            results=dict(self.results),
        )

    def forget(self, frame: int) -> None:
        """Forgets the variables of a run of a function that has ended, and the objects that only they held."""
        for slots in (self.held, self.given, self.same):
            for slot in [slot for slot in slots if slot.owner == frame]:
                del slots[slot]
        self.forget_results(frame)
        attributes: dict[int, list[_Value]] = {}
        for slot, value in self.held.items():
            if isinstance(slot.owner, Origin):
                attributes.setdefault(slot.owner.number, []).append(value)
        waiting = [value for slot, value in self.held.items() if isinstance(slot.owner, int)]
        waiting += [*self.results.values(), *([self.returned] if self.returned is not None else [])]
        met: set[int] = set()
        while waiting:
            for origin in _origins(waiting.pop()):
                if origin.number not in met:
                    met.add(origin.number)
                    waiting += attributes.get(origin.number, ())
        for slot in [slot for slot in self.held if isinstance(slot.owner, Origin) and slot.owner.number not in met]:
            del self.held[slot]

    def forget_results(self, frame: int) -> None:
        """Forgets the values of the calls in a statement that has ended."""
        for place in [place for place in self.results if place[0] == frame]:
            del self.results[place]

    def outcome(self) -> object:
        """Returns what the rest of a path depends on; it is equal for paths that differ only in how they came here.

        Values matter if a variable or attribute keeps them that something else held before.
        """
        numbers: dict[int, int] = {}

        def seen(origin: Origin) -> tuple[int, tuple[str, ...]]:
            return numbers.setdefault(origin.number, len(numbers)), origin.path

        def named(slot: Slot) -> tuple[object, str]:
            return (seen(slot.owner) if isinstance(slot.owner, Origin) else slot.owner), slot.name

        parts: list[object] = []
        for slot, site in self.given.items():
            value = self.held.get(slot)
            values = [seen(origin) for origin in _origins(value)] if value is not None else []
            parts.append((named(slot), site, values, self.same.get(slot)))
        for slot, value in self.held.items():
            if slot not in self.given and isinstance(value, Origin) and value.number in numbers:
                parts.append((named(slot), seen(value), self.same.get(slot)))
        lost = [(seen(origin), loss) for origin, loss in self.lost.items() if origin.number in numbers]
        returned = [seen(origin) for origin in _origins(self.returned)] if self.returned is not None else None
        return parts, lost, returned, self.flow, self.is_last, self.left_out, self.taken


def _origins(value: _Value) -> Iterator[Origin]:
    if isinstance(value, Origin):
        yield value
    else:
        for one in value:
            yield from _origins(one)


def _different(states: Sequence[_State]) -> list[_State]:
    """Returns the paths that may continue differently, and of too many only some."""
    found: list[_State] = []
    outcomes: list[object] = []
    for state in states:
        outcome = state.outcome()
        if outcome not in outcomes:
            outcomes.append(outcome)
            found.append(state)
    return (
        found
        if len(found) <= _MOST_PATHS
        else [found[place * len(found) // _MOST_PATHS] for place in range(_MOST_PATHS)]
    )


class _TooMuch(Exception):
    """Raised when the paths through a function are too long."""


def followed(view: FileView, root: BlockPlace, donated: Mapping[Site, Mapping[Site, bool]]) -> Followed:
    """Returns the reads of donated arrays through other variables or attributes that still refer to them.

    Args:
        view: a file.
        root: the function to follow; for a method, its class is constructed first.
        donated: the donated arguments of each call, by its site, each with whether it certainly holds arrays.
    """
    # `is_current` tells whether the previous result is still valid.
    before: list[Followed] = view.solution.once_of(("kept arrays", root), None, None, list)
    if before and before[0].donated == donated and before[0].is_current(view.solution.facts):
        return before[0]
    paths = _Paths(view, donated)
    with suppress(_TooMuch):
        paths.follow(root)
    before[:] = [Followed(donated, paths.read, paths.tops, list(paths.found.values()), frozenset(paths.reached))]
    return before[0]


class Followed(NamedTuple):
    """A function that was followed.

    Attributes:
        donated: the donated arguments.
        read: the shapes of the blocks that were read; None for those that do not exist.
        tops: the keys of the top-level statements of the files with these blocks.
        found: the reads that were found.
        reached: the donating calls that were reached.
    """

    donated: Mapping[Site, Mapping[Site, bool]]
    read: Mapping[BlockPlace, Shape | None]
    tops: Mapping[str, tuple[str, ...]]
    found: list[Kept]
    reached: frozenset[Site]

    def is_current(self, facts: Mapping[str, FileFacts]) -> bool:
        """Returns whether following the function again would read the same shapes."""
        return all(path in facts and tuple(facts[path].top) == top for path, top in self.tops.items()) and all(
            _shape_of(facts, block) is shape for block, shape in self.read.items()
        )


def _shape_of(facts: Mapping[str, FileFacts], block: BlockPlace) -> Shape | None:
    found = facts[block.path].blocks.get(block.key) if block.path in facts else None
    return found.shape if found is not None else None


class _Paths:
    """The paths through a function."""

    def __init__(self, view: FileView, donated: Mapping[Site, Mapping[Site, bool]]) -> None:
        self._view, self._donated = view, donated
        self._numbers = count()
        self._steps = 0
        self._targets: list[str] = []
        self._entered: list[BlockPlace] = []
        self._route: list[Site] = []
        # Values that may be empty, such as the state that comes with a model's parameters.
        self._perhaps_empty: set[_Value] = set()
        self._telling: dict[BlockPlace, bool] = {}
        self._told: dict[tuple[int, int], bool] = {}
        self._imported: dict[str, dict[str, BlockPlace]] = {}
        self._calls: dict[int, tuple[Call, ...]] = {}
        self._below: dict[int, tuple[Node, ...]] = {}
        self.read: dict[BlockPlace, Shape | None] = {}
        self.tops: dict[str, tuple[str, ...]] = {}
        self.found: dict[Site, Kept] = {}
        self.reached: set[Site] = set()

    def follow(self, root: BlockPlace) -> None:
        """Follows a function from its start, with unknown arguments."""
        owner = BlockPlace(root.path, root.key.rpartition(".")[0])
        function = self._node(root)
        state = _State()
        if not isinstance(function, FunctionDef):
            self._follow_module(root.path, state)
            return
        if not isinstance(self._node(owner), ClassDef):
            self._enter(root, function, {}, state)
            return
        made = self._new()
        state.classes[made] = owner
        begin = BlockPlace(root.path, f"{owner.key}.__init__")
        constructor = self._node(begin)
        states = [state]
        if isinstance(constructor, FunctionDef) and begin != root:
            states = self._enter(begin, constructor, self._self_of(constructor, made), state)
        for _ in range(_ITERATIONS):
            given = self._self_of(function, made)
            states = [after for one in states for after in self._enter(root, function, given, one)]
        for one in states:
            self._leave(one, made, owner, root)

    def _leave(self, state: _State, made: Origin, owner: BlockPlace, root: BlockPlace) -> None:
        """Notes the attributes of an object in which a method leaves donated arrays for other methods to read.

        Args:
            state: the state at the end of the method.
            made: the object.
            owner: its class.
            root: the method.
        """
        for slot, value in state.held.items():
            kept = state.given.get(slot)
            loss = state.lost.get(value) if isinstance(value, Origin) else None
            if slot.owner != made or loss is None or kept is None or (kept.path, kept.block) != root:
                continue
            of_donated = self._view.text(loss.argument)
            places = [
                state.given[other] for other, held in state.held.items() if held == value and other in state.given
            ]
            taken = next((place for place in places if self._view.text(place) == of_donated), kept)
            for read in self._reads_of(slot.name, owner, root):
                self.found.setdefault(taken, Kept((read,), taken, loss.argument))

    def _reads_of(self, name: str, owner: BlockPlace, root: BlockPlace) -> Iterator[Site]:
        """Yields the first read of an attribute of `self` in another method of its class."""
        facts = self._view.solution.facts[owner.path]
        for key in facts.blocks:
            block = BlockPlace(owner.path, key)
            method = self._node(block) if key.startswith(f"{owner.key}.") and block != root else None
            if not isinstance(method, FunctionDef) or not method.function.parameters:
                continue
            own = f"{method.function.parameters[0].name}.{name}"
            targets = {target.site for node in walk(method) for target, _ in _assignments(node)}
            for node in walk(method):
                if isinstance(node, Attribute) and key_of(node) == own and node.site not in targets:
                    yield Site(owner.path, key, node.site)
                    return

    def _follow_module(self, path: str, state: _State) -> None:
        facts = self._view.solution.facts[path]
        number = next(self._numbers)
        states = [state]
        for key in facts.top:
            statement = self._node(BlockPlace(path, key))
            if statement is not None and not isinstance(statement, (FunctionDef, ClassDef)):
                states = self._suite([statement], _Frame(number, BlockPlace(path, key), 0), states)

    def _new(self) -> Origin:
        return Origin(next(self._numbers))

    def _node(self, block: BlockPlace) -> Node | None:
        facts = self._view.solution.facts
        if block not in self.read:
            self.read[block] = _shape_of(facts, block)
            if block.path in facts:
                self.tops[block.path] = tuple(facts[block.path].top)
        return tree(self._view, block.path, block.key)

    @staticmethod
    def _self_of(function: FunctionDef, made: Origin) -> dict[str, _Value]:
        parameters = function.function.parameters
        return {parameters[0].name: made} if parameters else {}

    def _enter(
        self, block: BlockPlace, function: FunctionDef, given: Mapping[str, _Value], state: _State
    ) -> list[_State]:
        """Returns the paths through a function that no known call enters."""
        frame = _Frame(next(self._numbers), block, 0)
        state.held.update({Slot(frame.number, name): value for name, value in given.items()})
        return self._body(function, frame, state)

    def _body(self, function: FunctionDef, frame: _Frame, state: _State) -> list[_State]:
        """Returns the paths through a function whose parameters are set, each with the value that it returns."""
        self._entered.append(frame.block)
        targets, self._targets = self._targets, []
        states = self._suite(function.function.body, frame, [state])
        self._targets = targets
        self._entered.pop()
        for one in states:
            one.flow = ""
        return states

    def _suite(self, statements: Sequence[Node], frame: _Frame, states: list[_State]) -> list[_State]:
        for statement in statements:
            after: list[_State] = []
            for state in states:
                self._steps += 1
                after += [state] if state.flow else self._statement(statement, frame, state)
            if self._steps > _MOST_STEPS:
                raise _TooMuch
            for one in after:
                one.forget_results(frame.number)
            states = _different(after) if len(after) > _FEW_PATHS else after
        return states

    def _statement(self, statement: Node, frame: _Frame, state: _State) -> list[_State]:
        if isinstance(statement, (Assign, AnnAssign)) and statement.value is not None:
            value = statement.value
            targets = statement.targets if isinstance(statement, Assign) else (statement.target,)
            states = self._expression(value, frame, state, is_read=False)
            return [after for one in states for after in self._assign_all(targets, value, frame, one)]
        if isinstance(statement, AugAssign):
            states = self._expression(statement.value, frame, state)
            for one in states:
                self._assign(statement.target, statement.value, self._new(), frame, one)
            return states
        if isinstance(statement, ExpressionStatement):
            return self._expression(statement.value, frame, state, is_read=False)
        if isinstance(statement, Return):
            states = [state]
            if statement.value is not None:
                states = self._expression(statement.value, frame, state, is_read=False)
            for one in states:
                one.returned = self._value(statement.value, frame, one) if statement.value is not None else None
                one.flow = statement.tag
            return states
        if isinstance(statement, (Break, Continue)):
            state.flow = statement.tag
            return [state]
        if isinstance(statement, Raise):
            return []
        if isinstance(statement, (For, While)):
            return self._loop(statement, frame, state)
        if isinstance(statement, If):
            return self._branch(statement, frame, state)
        if isinstance(statement, With):
            states = [state]
            for item in statement.items:
                states = [after for one in states for after in self._expression(item.value, frame, one)]
            return self._suite(statement.body, frame, states)
        if isinstance(statement, Try):
            return self._suite((*statement.body, *statement.orelse, *statement.final), frame, [state])
        if isinstance(statement, Delete):
            for target in statement.targets:
                self._assign(target, target, self._new(), frame, state)
        return [state]

    def _assign_all(self, targets: Sequence[Node], node: Node, frame: _Frame, state: _State) -> list[_State]:
        """Returns the paths after the value of an expression is assigned; a choice of arrays is like a branch."""
        if not isinstance(node, IfExpression) or (key_of(node.then) is None and key_of(node.otherwise) is None):
            for target in targets:
                self._assign(target, node, self._value(node, frame, state), frame, state)
            return [state]
        text = self._view.text(frame.site(node.test))
        known = state.taken.get(text)
        states: list[_State] = []
        for is_taken in (True, False) if known is None else (known,):
            path = state.fork()
            path.taken[text] = is_taken
            states += self._assign_all(targets, node.then if is_taken else node.otherwise, frame, path)
        return states

    def _loop(self, loop: For | While, frame: _Frame, state: _State) -> list[_State]:
        head = loop.iterable if isinstance(loop, For) else loop.test
        states = self._expression(head, frame, state, is_read=isinstance(loop, For))
        if not self._tells(loop.body, frame, state):
            return [self._aside(loop.body, frame, one) for one in states]
        target = loop.target if isinstance(loop, For) else None
        targets = self._targets
        self._targets = [*targets, *(self._names_in(target) if target is not None else ())]
        left: list[_State] = []
        for _ in range(_ITERATIONS):
            for one in states:
                one.taken = {}
                if target is not None:
                    self._assign(target, target, self._new(), frame, one)
            states = self._suite(loop.body, frame, states)
            left += [one for one in states if one.flow in ("break", "return") or one.is_last]
            states = [one for one in states if one.flow not in ("break", "return") and not one.is_last]
            for one in states:
                one.flow = ""
        self._targets = targets
        for one in left:
            one.is_last = False
            one.flow = "" if one.flow in ("break", "continue") else one.flow
        return [*left, *states]

    @staticmethod
    def _names_in(target: Node) -> Iterator[str]:
        yield from (node.name for node in walk(target) if isinstance(node, Name))

    def _branch(self, branch: If, frame: _Frame, state: _State) -> list[_State]:
        after: list[_State] = []
        for one in self._expression(branch.test, frame, state, is_read=False):
            text = self._view.text(frame.site(branch.test))
            known = one.taken.get(text)
            if known is None and not self._tells((*branch.body, *branch.orelse), frame, one):
                after.append(self._aside(branch.orelse, frame, self._aside(branch.body, frame, one)))
                continue
            for is_taken in (True, False) if known is None else (known,):
                path = one.fork()
                path.taken[text] = is_taken
                body, other = (branch.body, branch.orelse) if is_taken else (branch.orelse, branch.body)
                path.is_last |= is_taken and self._is_for_one_iteration(branch.test)
                self._leave_out(other, frame, path)
                after += self._suite(body, frame, [path])
        return after

    def _is_for_one_iteration(self, test: Node) -> bool:
        """Returns whether a condition compares a loop variable for equality, so that it may be true only once."""
        compared = [node for node in walk(test) if isinstance(node, Comparison) and "==" in node.operators]
        names = {name for node in compared for name in self._names_in(node)}
        return bool(names & set(self._targets)) and not any(
            getattr(node, "operator", "") == "%" for one in compared for node in walk(one)
        )

    def _aside(self, statements: Sequence[Node], frame: _Frame, state: _State) -> _State:
        """Returns the state after statements that may or may not run and that neither keep nor donate arrays."""
        if not statements:
            return state
        targets, self._targets = self._targets, []
        self._suite(statements, frame, [state.fork()])
        self._targets = targets
        for statement in statements:
            for node in self._telling_nodes(statement):
                for target, _ in _assignments(node):
                    self._assign(target, target, self._new(), frame, state)
        return state

    def _leave_out(self, statements: Sequence[Node], frame: _Frame, state: _State) -> None:
        """Notes the assignments of a branch that is not taken, including in the functions that it calls."""
        waiting: list[tuple[Node, BlockPlace]] = [(one, frame.block) for one in statements]
        seen: set[BlockPlace] = set()
        while waiting:
            top, block = waiting.pop()
            for node in self._telling_nodes(top):
                for target, value in _assignments(node):
                    site = Site(block.path, block.key, value.site)
                    state.left_out[target.name] = state.left_out.get(target.name, frozenset()) | {site}
                if isinstance(node, Call):
                    called = self._called(node, frame, state) if block == frame.block else None
                    if called is not None and called[0] not in seen:
                        seen.add(called[0])
                        waiting += [(one, called[0]) for one in called[1].function.body]

    def _tells(self, statements: Sequence[Node], frame: _Frame, state: _State) -> bool:
        """Returns whether statements, or the functions that they call, keep or donate arrays."""
        return any(self._statement_tells(statement, frame, state) for statement in statements)

    def _statement_tells(self, statement: Node, frame: _Frame, state: _State) -> bool:
        # Which methods are called depends on the classes that are known.
        key = id(statement), len(state.classes)
        if key not in self._told:
            self._told[key] = any(
                self._keeps(node, frame.block)
                or (isinstance(node, Call) and self._calls_what_tells(node, frame, state))
                for node in self._telling_nodes(statement)
            )
        return self._told[key]

    def _telling_nodes(self, statement: Node) -> tuple[Node, ...]:
        """Returns the assignments, `for` loops, `return` statements and calls in a statement."""
        if id(statement) not in self._below:
            kinds = (Call, Assign, AnnAssign, AugAssign, For, Return)
            self._below[id(statement)] = tuple([node for node in walk(statement) if isinstance(node, kinds)])
        return self._below[id(statement)]

    def _keeps(self, node: Node, block: BlockPlace) -> bool:
        if isinstance(node, Call):
            return Site(block.path, block.key, node.site) in self._donated
        if not isinstance(node, (Assign, AnnAssign)) or node.value is None:
            return False
        value = node.value
        parts = value.items if isinstance(value, (TupleDisplay, ListDisplay)) else (value,)
        is_kept = any(key_of(part) is not None or isinstance(part, IfExpression) for part in parts)
        return is_kept or any(isinstance(target, Attribute) for target, _ in _assignments(node))

    def _calls_what_tells(self, call: Call, frame: _Frame, state: _State) -> bool:
        called = self._called(call, frame, state)
        if called is None:
            return False
        block, function = called
        if block not in self._telling:
            self._telling[block] = False
            body = function.function.body
            nodes = [node for one in body for node in self._telling_nodes(one)]
            self._telling[block] = any(self._keeps(node, block) or _returns_attribute(node) for node in nodes)
        return self._telling[block]

    def _expression(self, node: Node, frame: _Frame, state: _State, *, is_read: bool = True) -> list[_State]:
        """Returns the paths after an expression; its calls run in the order in which Python runs them."""
        states = [state]
        if id(node) not in self._calls:
            self._calls[id(node)] = tuple(_calls_in(node))
        for call in self._calls[id(node)]:
            states = [after for one in states for after in self._call(call, frame, one)]
        for one in states:
            self._look(node, frame, one, is_read=is_read)
        return states

    def _call(self, call: Call, frame: _Frame, state: _State) -> list[_State]:
        place = frame.number, call.site
        state.results[place] = self._new()
        arguments = [argument.value for argument in call.arguments]
        taken = self._donated.get(frame.site(call))
        if taken is not None:
            self.reached.add(frame.site(call))
            for argument in arguments:
                self._look(argument, frame, state)
            for argument in arguments:
                if frame.site(argument) in taken and key_of(argument) is not None:
                    self._lose(argument, taken[frame.site(argument)], frame, state)
            for argument in arguments:
                # The call must not get the same arrays through another argument either.
                if frame.site(argument) not in taken:
                    self._look(argument, frame, state)
            return [state]
        kept = self._given_back(call, frame, state)
        if kept is not None:
            state.results[place] = kept
            return [state]
        called = self._called(call, frame, state)
        if called is not None:
            given = self._bound(call, called[1], frame, state)
            if given is not None:
                return self._run(call, called, given, frame, state)
        made = self._constructed(call, frame, state)
        if made is not None:
            return made
        if not _looks_at_no_data(call):
            for argument in arguments:
                self._look(argument, frame, state)
        if isinstance(call.callee, Attribute):
            self._look(call.callee.object, frame, state)
            owner = self._value(call.callee.object, frame, state)
            if not isinstance(owner, Origin) or Slot(owner, call.callee.name) not in state.held:
                arguments.append(call.callee.object)
        for argument in arguments:
            # Unseen code may change the attributes of an object.
            value = self._value(argument, frame, state) if key_of(argument) is not None else None
            for slot in [slot for slot in state.held if slot.owner == value]:
                del state.held[slot]
        return [state]

    def _run(
        self,
        call: Call,
        called: tuple[BlockPlace, FunctionDef],
        given: Sequence[tuple[str, _Value, Slot | None]],
        frame: _Frame,
        state: _State,
        made: Origin | None = None,
    ) -> list[_State]:
        block, function = called
        inner = _Frame(next(self._numbers), block, frame.depth + 1)
        for name, value, slot in given:
            own = Slot(inner.number, name)
            state.held[own] = value
            if slot is not None:
                state.same[own] = state.same.get(slot, slot)
                if slot in state.given:
                    state.given[own] = state.given[slot]
        self._route.append(frame.site(call))
        before, state.taken = state.taken, {}
        states = self._body(function, inner, state)
        self._route.pop()
        for one in states:
            result = made if made is not None else one.returned
            one.results[frame.number, call.site] = result if result is not None else self._new()
            one.returned, one.taken = None, dict(before)
            one.forget(inner.number)
        return states

    def _given_back(self, call: Call, frame: _Frame, state: _State) -> _Value | None:
        """Returns the result of a call that returns the arrays of an argument; None for any other call."""
        values = [argument.value for argument in call.arguments if argument.label is None]
        if _is_identity(call.callee) and len(values) == 1:
            return self._value(values[0], frame, state)
        if _leaf(call.callee) in ("map", "tree_map") and len(values) == 2 and _is_identity(values[0]):
            return self._value(values[1], frame, state)
        return None

    def _constructed(self, call: Call, frame: _Frame, state: _State) -> list[_State] | None:
        """Returns the paths after the construction of an object; None if a call constructs no known object."""
        named = [argument for argument in call.arguments if argument.label not in (None, "*", "**")]
        if _leaf(call.callee) == "create" and any(argument.label in HOLD_ARRAYS for argument in named):
            made = self._new()
            for argument in named:
                self._put(made, str(argument.label), argument.value, frame, state)
            state.results[frame.number, call.site] = made
            return [state]
        block = self._named(call.callee, frame, state)
        found = self._node(block) if block is not None else None
        if block is None or not isinstance(found, ClassDef):
            return None
        begin = BlockPlace(block.path, f"{block.key}.__init__")
        constructor = self._node(begin)
        made = self._new()
        if isinstance(constructor, FunctionDef):
            if not self._may_enter(begin, constructor, frame):
                return None
            given = self._bound(call, constructor, frame, state, made)
            if given is None:
                return None
            state.classes[made] = block
            return self._run(call, (begin, constructor), given, frame, state, made)
        if not holds_what_it_is_given(found) or any(one.label in ("*", "**") for one in call.arguments):
            return None
        fields = {
            one.target.name: one.annotation
            for one in found.body
            if isinstance(one, AnnAssign) and isinstance(one.target, Name)
        }
        state.classes[made] = block
        for name, argument in zip(fields, call.arguments, strict=False):
            field_name = argument.label or name
            if field_name not in fields or not _is_of_numbers(fields[field_name]):
                self._put(made, field_name, argument.value, frame, state)
        state.results[frame.number, call.site] = made
        return [state]

    def _put(self, made: Origin, name: str, node: Node, frame: _Frame, state: _State) -> None:
        slot = Slot(made, name)
        state.held[slot] = self._value(node, frame, state)
        if key_of(node) is not None:
            state.given[slot] = frame.site(node)

    def _called(self, call: Call, frame: _Frame, state: _State) -> tuple[BlockPlace, FunctionDef] | None:
        """Returns the function that a call enters; None if it is unknown or must not be entered."""
        callee = call.callee
        block = self._named(callee, frame, state)
        if block is None and isinstance(callee, Attribute) and key_of(callee.object) is not None:
            owner = self._value(callee.object, frame, state)
            if not isinstance(owner, Origin) or Slot(owner, callee.name) in state.held or owner not in state.classes:
                return None
            of = state.classes[owner]
            block = BlockPlace(of.path, f"{of.key}.{callee.name}")
        function = self._node(block) if block is not None else None
        if block is None or not isinstance(function, FunctionDef) or not self._may_enter(block, function, frame):
            return None
        return block, function

    def _may_enter(self, block: BlockPlace, function: FunctionDef, frame: _Frame) -> bool:
        is_plain = not function.function.flags and not function.function.decorators
        return is_plain and frame.depth < _DEEPEST and block not in self._entered

    def _named(self, callee: Node, frame: _Frame, state: _State) -> BlockPlace | None:
        """Returns the function or class of the workspace that a name refers to."""
        if not isinstance(callee, Name) or Slot(frame.number, callee.name) in state.held:
            return None
        facts = self._view.solution.facts.get(frame.block.path)
        if facts is None:
            return None
        if callee.name in facts.blocks:
            return BlockPlace(frame.block.path, callee.name)
        if frame.block.path not in self._imported:
            self._imported[frame.block.path] = dict(self._imports(frame.block.path, facts))
        return self._imported[frame.block.path].get(callee.name)

    def _imports(self, path: str, facts: FileFacts) -> Iterator[tuple[str, BlockPlace]]:
        """Yields the names that a file imports from modules of the workspace, each with its block there."""
        for key in facts.top:
            shape = facts.blocks[key].shape
            if isinstance(shape, ImportFrom):
                module = self._view.solution.index.locate(path, shape.level, shape.module)
                if module is not None and module.path is not None:
                    yield from ((one.alias or one.name, BlockPlace(module.path, one.name)) for one in shape.names)

    def _bound(
        self, call: Call, function: FunctionDef, frame: _Frame, state: _State, made: Origin | None = None
    ) -> list[tuple[str, _Value, Slot | None]] | None:
        """Returns each parameter's name and value, and the variable passed for it if any; None if they are unknown.

        Args:
            call: the call.
            function: the function.
            frame: the run that the call is in.
            state: the state there.
            made: the object that a constructor initializes.
        """
        if any(argument.label in ("*", "**") for argument in call.arguments):
            return None
        parameters = function.function.parameters
        names = [one.name for one in parameters if one.how in ("only", "any")]
        given: list[tuple[str, _Value, Slot | None]] = []
        if made is not None:
            given.append((names.pop(0), made, None))
        elif isinstance(call.callee, Attribute) and names:
            given.append((names.pop(0), *self._seen(call.callee.object, frame, state)))
        positional = [argument for argument in call.arguments if argument.label is None]
        if len(positional) > len(names):
            return None
        pairs = [*zip(names, positional, strict=False)]
        pairs += [(str(one.label), one) for one in call.arguments if one.label is not None]
        for name, argument in pairs:
            value = argument.value
            if key_of(value) is not None:
                given.append((name, *self._seen(value, frame, state)))
            else:
                self._look(value, frame, state)
                given.append((name, self._value(value, frame, state), None))
        missing = {one.name for one in parameters} - {name for name, _, _ in given}
        return [*given, *((name, self._new(), None) for name in missing)]

    def _assign(self, target: Node, node: Node, value: _Value, frame: _Frame, state: _State) -> None:
        """Assigns a value to a variable, an attribute or several of these; `node` is the expression of the value."""
        if isinstance(target, (TupleDisplay, ListDisplay)):
            parts = value if isinstance(value, tuple) and not isinstance(value, Origin) else ()
            nodes = node.items if isinstance(node, (TupleDisplay, ListDisplay)) else ()
            is_same = len(parts) == len(target.items)
            for place, one in enumerate(target.items):
                part = parts[place] if is_same else self._new()
                if place and not is_same:
                    self._perhaps_empty.add(part)
                self._assign(one, nodes[place] if len(nodes) == len(target.items) else target, part, frame, state)
            return
        if isinstance(target, Starred):
            target, value = target.value, self._new()
        slot: Slot | None = None
        if isinstance(target, Name):
            slot = Slot(frame.number, target.name)
        elif isinstance(target, Attribute) and key_of(target) is not None:
            owner = self._value(target.object, frame, state)
            slot = Slot(owner, target.name) if isinstance(owner, Origin) else None
        if slot is None:
            return
        state.held[slot] = value
        state.left_out.pop(slot.name, None)
        state.same.pop(slot, None)
        state.given.pop(slot, None)
        if node is not target and (key_of(node) is not None or isinstance(node, Call)):
            state.given[slot] = frame.site(node)

    def _value(self, node: Node, frame: _Frame, state: _State) -> _Value:
        if key_of(node) is not None:
            return self._seen(node, frame, state)[0]
        if isinstance(node, Call):
            return state.results.get((frame.number, node.site)) or self._new()
        if isinstance(node, (TupleDisplay, ListDisplay)):
            return tuple([self._value(item, frame, state) for item in node.items])
        return self._new()

    def _seen(self, node: Node, frame: _Frame, state: _State) -> tuple[_Value, Slot | None]:
        """Returns the value of a variable or attribute, and the last assigned slot on the way to it."""
        if isinstance(node, Name):
            slot = Slot(frame.number, node.name)
            return state.held.setdefault(slot, self._new()), slot
        if not isinstance(node, Attribute) or node.name in KNOWN_WITHOUT_DATA:
            return self._new(), None
        owner, way = self._seen(node.object, frame, state)
        if not isinstance(owner, Origin):
            return self._new(), None
        slot = Slot(owner, node.name)
        if slot in state.held:
            return state.held[slot], slot
        return Origin(owner.number, (*owner.path, node.name)), way

    def _lose(self, argument: Node, is_full: bool, frame: _Frame, state: _State) -> None:
        """Notes that an argument is donated, with everything that its attributes hold."""
        value, slot = self._seen(argument, frame, state)
        loss = _Loss(frame.site(argument), state.same.get(slot, slot) if slot is not None else None, is_full)
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, Origin) and one not in state.lost:
                state.lost[one] = loss
                waiting += [held for slot, held in state.held.items() if slot.owner == one]

    def _look(self, node: Node, frame: _Frame, state: _State, *, is_read: bool = True, inside: bool = False) -> None:
        """Notes the reads in an expression, except those in its calls, which were noted when they ran.

        Args:
            node: the expression.
            frame: the run that it is in.
            state: the state there.
            is_read: whether the expression's own value is read, not only passed on.
            inside: whether it is part of a comprehension, whose calls do not run here.
        """
        if key_of(node) is not None:
            if is_read:
                self._note(node, frame, state)
            return
        if isinstance(node, (Lambda, FunctionDef)) or (isinstance(node, Attribute) and node.name in KNOWN_WITHOUT_DATA):
            return
        if isinstance(node, Call):
            if inside and not _looks_at_no_data(node):
                for argument in node.arguments:
                    self._look(argument.value, frame, state, inside=True)
            return
        hands_on = (TupleDisplay, ListDisplay, DictDisplay, Starred, BoolOperation)
        is_identity = isinstance(node, Comparison) and set(node.operators) <= {"is", "is not"}
        is_comprehension = inside or node.tag == "comp"
        for child in children(node):
            reads = is_read if isinstance(node, hands_on) else not is_identity
            if isinstance(node, IfExpression) and child is not node.test:
                reads = is_read
            self._look(child, frame, state, is_read=reads, inside=is_comprehension)

    def _note(self, node: Node, frame: _Frame, state: _State) -> None:
        value, slot = self._seen(node, frame, state)
        if slot is None or not isinstance(value, Origin):
            return
        is_perhaps_empty = Origin(value.number) in self._perhaps_empty
        for length in range(len(value.path) + 1):
            loss = state.lost.get(Origin(value.number, value.path[:length]))
            kept = state.given.get(slot)
            if loss is None or kept is None or state.same.get(slot, slot) == loss.variable:
                continue
            if is_perhaps_empty and not loss.is_full:
                continue
            if state.left_out.get(slot.name, frozenset()) <= {kept}:
                self.found.setdefault(kept, Kept((*self._route, frame.site(node)), kept, loss.argument))
            return


def _returns_attribute(node: Node) -> bool:
    return isinstance(node, Return) and isinstance(node.value, Attribute)


def _leaf(node: Node) -> str:
    return node.name if isinstance(node, (Name, Attribute)) else ""


def _is_identity(function: Node) -> bool:
    return _leaf(function) in _IDENTITIES or (isinstance(function, Attribute) and key_of(function) in _IDENTITIES)


def _is_of_numbers(annotation: Node) -> bool:
    """Returns whether an annotation names a class whose objects are not arrays, such as `int` or `str | None`."""
    if isinstance(annotation, BinaryOperation):
        return _is_of_numbers(annotation.left) and _is_of_numbers(annotation.right)
    return _leaf(annotation) in _NOT_ARRAYS or (isinstance(annotation, Constant) and annotation.value is None)


def _looks_at_no_data(call: Call) -> bool:
    return _leaf(call.callee) in LOOK_AT_NO_DATA


def _calls_in(node: Node) -> Iterator[Call]:
    """Yields the calls of an expression in the order in which they run, except those that may run many times."""
    if isinstance(node, (Lambda, FunctionDef)) or node.tag == "comp":
        return
    for child in children(node):
        yield from _calls_in(child)
    if isinstance(node, Call):
        yield node


def _assignments(node: Node) -> Iterator[tuple[Name | Attribute, Node]]:
    """Yields each variable or attribute that a statement assigns, with its part of the value if the code shows it."""
    waiting: list[tuple[Node, Node]] = []
    if isinstance(node, Assign):
        waiting += [(target, node.value) for target in node.targets]
    elif isinstance(node, (AnnAssign, AugAssign)) and node.value is not None:
        waiting.append((node.target, node.value))
    elif isinstance(node, For):
        waiting.append((node.target, node.target))
    while waiting:
        target, value = waiting.pop()
        if isinstance(target, (TupleDisplay, ListDisplay)):
            parts: Sequence[Node] = value.items if isinstance(value, (TupleDisplay, ListDisplay)) else ()
            is_apart = len(parts) == len(target.items)
            waiting += [(one, parts[place] if is_apart else value) for place, one in enumerate(target.items)]
        elif isinstance(target, (Name, Attribute)):
            yield target, value


def holds_what_it_is_given(found: ClassDef) -> bool:
    """Returns whether a class has no constructor of its own and is a named tuple or a dataclass."""
    names = [_leaf(base.value) for base in found.bases]
    makers = [_leaf(one.callee if isinstance(one, Call) else one) for one in found.decorators]
    own = [name_of_block(one.key) for one in found.body if isinstance(one, SeparateDef)]
    own += [one.function.name for one in found.body if isinstance(one, FunctionDef)]
    is_plain = not any(name in ("__init__", "__new__", "__post_init__") for name in own)
    return is_plain and ("NamedTuple" in names or "dataclass" in makers)
