"""One run of the interpreter from one root, and what it needs of the world around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from meshlens.axes.domain.values import Const, Function, Mapped, Module, Site, Value
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.dependence import worth_of
from meshlens.axes.runs.frames import Frame, Sites
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.ledger import Entry, Key, Ledger, Ledgers
from meshlens.axes.runs.records import Records
from meshlens.axes.worth.spending import (
    ALL,
    LEVELS_THAT_SHARE,
    MOST_BODIES_OUTSIDE,
    Later,
    Limit,
    Share,
    at_the_top,
    most_of,
    without,
)
from meshlens.devices.topology import Topology
from meshlens.facts.model import FileFacts, Shape
from meshlens.facts.nodes import Expression, FunctionDef, Statements

if TYPE_CHECKING:
    from meshlens.axes.runs.spots import Moment

Entries: TypeAlias = tuple[tuple[Any, Value], ...]

MOST_WORK_OF_A_LOOP = 20_000
MOST_ITERATIONS = 2_000
CALLS_TO_SPARE, WORK_TO_SPARE, ITERATIONS_TO_SPARE = 500, 2_000, 500
"""A run that comes as close as this to what it may spend might spend it all if one statement were another."""
DEEPEST = 200
MOST_CONTEXTS = 12
MOST_VAGUE_CONTEXTS = 4
DEEPEST_IN_MAP = 24
DEEPEST_CLOSED = 8
DEEPEST_OPEN = 3


class World(Protocol):
    """The workspace as the interpreter sees it.

    Attributes:
        watched: the shapes of blocks in which a statement is watched.
        program: the file that runs as the program now.
    """

    watched: Mapping[tuple[str, str], Shape]
    program: str | None

    @property
    def ledgers(self) -> Ledgers:
        """The results left by the roots that ran."""
        ...

    def new_number(self) -> int:
        """A number that no object has."""
        ...

    def reaches(self, path: str, block: str, env: AxisEnv) -> bool:
        """Returns whether calling a block in an environment can tell anything about axes."""
        ...

    def makes_arrays(self, path: str, block: str) -> bool:
        """Returns whether a block is short and makes arrays."""
        ...

    def is_worth_a_root(self, path: str, block: str, *, starts: bool) -> bool:
        """Returns whether a block is worth running for itself."""
        ...

    def names_axes(self, path: str, block: str) -> tuple[bool, tuple[str, ...]]:
        """Tells if a block or a function in it says something that binds axes or uses them, and the blocks of these."""
        ...

    def jax_version_of(self, path: str) -> tuple[int, ...]:
        """The JAX version that a file is written for."""
        ...

    def devices_of(self, path: str) -> Topology | None:
        """The devices that a file is meant for; None if nobody said."""
        ...

    def sites_of(self, path: str, block: str) -> Sites | None:
        """The sites of a block that runs of it have asked for; None where it runs for the first time."""
        ...

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file."""
        ...

    def locate(self, importer: str, level: int, module: str) -> Module | None:
        """The workspace module that an import statement means, None if it lies outside."""
        ...

    def submodule(self, module: Module, name: str) -> Module | None:
        """A module inside a package of the workspace."""
        ...

    def module_state(self, path: str, asking: Run) -> ModuleState | None:
        """Returns what a module's top level leaves behind; partial while it is being run."""
        ...

    def is_running(self, path: str) -> bool:
        """Tells if a file's top level is being run, or the file as a program, so that its variables may change."""
        ...


@dataclass(frozen=True, slots=True)
class Left:
    """The maps and functions that a module's top level made and did not call.

    Attributes:
        mapped: mapped functions, by their binder, each with the circumstances.
        made: functions, by their place.
        called: the maps whose result was called.
        entered: the functions whose bodies ran.
    """

    mapped: dict[Site, tuple[Mapped, Context]]
    made: dict[Site, tuple[Function, Context]]
    called: frozenset[Site]
    entered: frozenset[Site]


@dataclass(slots=True)
class ModuleState:
    """The state of a module after its top level has run.

    Attributes:
        frame: the module's variables.
        heap: attributes of the objects made there.
        ambient: meshes that `set_mesh` made current, innermost last.
        left: what was made and not called; None while the module runs.
        names: the module's names of functions, and of classes by their methods; found when they are first asked for.
        grown: what it and the modules that it imports put into tables of other modules.
    """

    frame: Frame
    heap: dict[Any, dict[str, Value]]
    ambient: list[Value] = field(default_factory=list)
    left: Left | None = None
    names: dict[Site, str] | None = None
    grown: dict[tuple[str, str], Entries] = field(default_factory=dict)


class Constructs(NamedTuple):
    """The constructs of Python that may hold each other: a call runs statements, a statement evaluates calls.

    Attributes:
        evaluate: returns the value of an expression.
        execute: runs statements, and returns how they were left.
        invoke: returns what a call gives.
    """

    evaluate: Callable[[Run, Expression, Frame, Context], Value]
    execute: Callable[[Run, Statements, Frame, Context], str | None]
    invoke: Callable[[Run, Invocation], Value]


class Run:
    """The state of one run: where it writes, what it has seen, how far it may go.

    Attributes:
        constructs: what runs code; `evaluate`, `execute` and `invoke` hand over to it.
        world: the workspace.
        path: the file of the root.
        root: the root: its path and the name of its function, "" for the module's top level.
        relied: the roots whose calls this run did not repeat.
        ledger: what it found of other roots and leaves to them.
        written: the objects whose attributes were set, in order, and whether each was just made.
        records: what the rules will read.
        heap: attributes of objects, by the object's number; copied from a module's state on first touch.
        initial: the attributes that an object's constructor left it with.
        deps: what this run depends on: blocks whose text it read, and of others the header or what they are worth.
        entered: sites of the functions whose bodies ran.
        made: functions and mapped functions that were made here and may never be called.
        called: binders whose result was called.
        memo: results of calls already made with the same arguments in the same environment.
        names: the strings among the arguments of these calls.
        contexts: how often each function's body ran.
        mapped_by: the functions whose bodies ran inside maps, each with the innermost one.
        stack: sites of the functions now running.
        calls: how many calls were made.
        bodies: how often a function's body ran.
        bodies_before: how often that was when the run began afresh.
        followed: how many of them were entered only for what they make of arrays in a map.
        api_guard: depth of `try/except ImportError`, `hasattr`, version checks.
        broad_guard: how many of these catch any exception, which says nothing of what a function does that is called.
        ambient: meshes made current by `set_mesh`, innermost last.
        differentiating: depth of `grad` and `vjp`.
        in_maps: in how many maps code runs.
        of_maps: the objects that were made or changed in a map.
        entrances: how often a function was called that is worth entering.
        left: what calls and loops at the top of the root have left to spend.
        spent: what had been spent when the one that runs began.
        limit: what may have been spent when the call or loop ends that runs; None at the top of the root, where the
            work is that of reading the text.
        refused: how many calls were not made because there was nothing left to spend.
        later: calls that wait until what led to them has ended; None for each that was made, or is not any more.
        begun: how long the route was to what runs now, if that had to wait.
        work: how many statements ran, calls were made, and elements of comprehensions were worked out.
        iterations: how many loops and comprehensions began another iteration.
        depth: how many statements and expressions are being worked out inside each other.
        loop: what the outermost loop that runs may spend.
        is_brief: whether something was cut short for want of work or depth, or nearly so.
        moments: when the statement ran that is watched; None if it may not be replaced by another alone.
        is_apart: whether the functions of its file may see other variables than in other runs.
        altered: containers that a function was given and changed, before and after, for its caller to pick up.
        grown: what this run, or the modules that it imports, put into tables of modules that are complete, by the
            path and the name of the table.
        epoch: how often a container outside of the function that ran was changed.
        overlaid: how often a table was read in which other runs may find other entries.
    """

    def __init__(self, constructs: Constructs, world: World, path: str, name: str = "") -> None:
        self.constructs = constructs
        self.world = world
        self.path = path
        self.root = (path, name)
        self.relied: set[tuple[str, str]] = set()
        self.ledger = Ledger()
        self.written: list[tuple[int, bool]] = []
        self.records = Records()
        self.heap: dict[Any, dict[str, Value]] = {}
        self.initial: dict[int, dict[str, Value]] = {}
        self.deps: set[tuple[str, str]] = set()
        self.entered: set[Site] = set()
        self.made: dict[Site, tuple[Function, Context]] = {}
        self.mapped: dict[Site, tuple[Mapped, Context]] = {}
        self.called: set[Site] = set()
        self.memo: dict[Any, Value] = {}
        self.names: dict[Any, tuple[Const, ...]] = {}
        self.contexts: dict[Site, int] = {}
        self.mapped_by: set[tuple[Site, Site]] = set()
        self.stack: list[Site] = []
        self.calls = 0
        self.bodies = self.bodies_before = self.followed = self.in_maps = 0
        self.of_maps: set[int] = set()
        self.api_guard = 0
        self.broad_guard = 0
        self.ambient: list[Value] = []
        self.differentiating = 0
        self.entrances = 0
        self.left = ALL
        self.spent = Limit(0, 0, 0)
        self.limit: Limit | None = None
        self.refused = 0
        self.later: dict[Any, Later | None] = {}
        self.begun = 0
        self.work = 0
        self.iterations = 0
        self.depth = 0
        self.loop: Share | None = None
        self.is_brief = False
        self.moments: list[Moment] | None = []
        self.is_apart = False
        self.altered: list[tuple[Value, Value]] = []
        self.grown: dict[tuple[str, str], Entries] = {}
        self.epoch = 0
        self.overlaid = 0

    def evaluate(self, node: Expression, frame: Frame, ctx: Context) -> Value:
        """Returns the value of an expression."""
        return self.constructs.evaluate(self, node, frame, ctx)

    def execute(self, statements: Statements, frame: Frame, ctx: Context) -> str | None:
        """Runs statements in order; returns how they were left for certain, None if they ran to their end."""
        return self.constructs.execute(self, statements, frame, ctx)

    def invoke(self, call: Invocation) -> Value:
        """Returns what a call gives."""
        return self.constructs.invoke(self, call)

    def enters(self) -> None:
        """Notes that a function is called that is worth entering."""
        self.entrances += 1

    def find(self, item: Any) -> Entry | None:
        """Returns what other roots left under an item before this one first asked."""
        found = self.ledger.found
        if item not in found:
            found[item] = self.world.ledgers.find(item, self.root)
        return found[item]

    def count(self, item: Any) -> int:
        """Returns how often a function ran, in this root and before it; no more than it may."""
        before, own = self.find(item), self.ledger.left.get(item, 0)
        return (before if type(before) is int else 0) + (own if type(own) is int else 0)

    def number_of(self, parts: tuple[object, ...]) -> int:
        """The number of an object by what makes it: the same in all roots."""
        left, key = self.ledger.left, Key(parts)
        number = left[key] if key in left else self.world.ledgers.find(key, self.root)
        if type(number) is not int:
            number = self.world.new_number()
        left[key] = number
        return number

    def begin_afresh(self) -> None:
        """Gives the next method of a class that nobody calls as much to spend as the first one had."""
        self.left, self.bodies_before = ALL, self.bodies
        self.contexts.clear()
        self.mapped_by.clear()

    def runs_body(self, function: Site, ctx: Context) -> bool:
        """Tells if a function's body runs, which is counted: some times, and then once for each map that is new to it.

        Where it is not known whether the code runs, nor what else is bound, fewer times are enough.
        The first run of a function that is far down its route costs nothing: those are as many as there is text.

        Args:
            function: the function.
            ctx: the circumstances of the call.
        """
        seen, maps = self.contexts.get(function, 0), ctx.env.maps
        mapped = (function, maps[-1].site) if maps else None
        most = MOST_VAGUE_CONTEXTS if maps and ctx.env.open and not ctx.sure else MOST_CONTEXTS
        if seen >= most and (mapped is None or mapped in self.mapped_by):
            return False
        self.contexts[function] = seen + 1
        if mapped is not None:
            self.mapped_by.add(mapped)
        if seen or not self.begun:
            self.bodies += 1
        return True

    def begin_loop(self) -> Share | None:
        """The share of a loop that begins; None if it runs inside another, whose share it uses."""
        if self.loop is not None:
            return None
        outer = self.limit
        limit = self.limit = outer or self._begin_at_the_top()
        work = min(self.work + MOST_WORK_OF_A_LOOP, limit.work)
        bodies = self.bodies + (limit.bodies - self.bodies + 1) // 2
        self.loop = share = Share(work, self.iterations + MOST_ITERATIONS, bodies, outer)
        return share

    def end_loop(self, share: Share | None) -> None:
        """Ends the loop that has a share."""
        if share is not None:
            iterations = self.iterations + ITERATIONS_TO_SPARE > share.iterations
            self.is_brief = self.is_brief or iterations or self.work + WORK_TO_SPARE > share.work
            self.loop = None
            self.end_call(share.limit)

    def begin_call(self) -> Limit | None:
        """Limits what a call may spend that begins; returns what was limited before."""
        outer = self.limit
        if outer is None:
            self.limit = self._begin_at_the_top()
        elif len(self.stack) < LEVELS_THAT_SHARE and not self.begun:
            self.limit = most_of(outer, self._now())
        return outer

    def end_call(self, outer: Limit | None) -> None:
        """Ends what a call may spend, or a loop at the top of the root.

        Args:
            outer: what was limited before it began.
        """
        limit = self.limit
        if limit is None or limit is outer:
            return
        self.is_brief = (
            self.is_brief or self.work + WORK_TO_SPARE > limit.work or self.calls + CALLS_TO_SPARE > limit.calls
        )
        self.limit = outer
        if outer is None:
            self.left = without(self.left, self.spent, self._now())

    def _now(self) -> Limit:
        return Limit(self.work, self.calls, self.bodies)

    def _begin_at_the_top(self) -> Limit:
        self.spent = self._now()
        return at_the_top(self.left, self.spent)

    def may_go_on(self) -> bool:
        """Tells if the loop that runs begins another iteration: not if the outermost one has used up its share."""
        share = self.loop
        self.iterations += 1
        if share is None or (
            self.work < share.work and self.iterations < share.iterations and self.bodies < share.bodies
        ):
            return True
        self.is_brief = True
        return False

    def shares(self, function: Function) -> bool:
        """Returns whether a function does here what it does in other runs, given the same."""
        return not (self.is_apart and function.path == self.path)

    def may_enter(self, ctx: Context) -> bool:
        """Returns whether what runs has something left for the body of another function.

        Outside every map that is less, as what is not entered there is a root itself.
        """
        is_left = self.limit is None or self.bodies < self.limit.bodies
        if is_left and (ctx.env.maps or self.bodies - self.bodies_before < MOST_BODIES_OUTSIDE):
            return True
        self.refused += 1
        return False

    def too_deep(self, ctx: Context) -> bool:
        """Returns whether a route is so long that going on along it tells nothing new.

        Where no map encloses the code and unseen callers may bind more, a few steps are enough: whatever lies
        deeper is a root itself.
        """
        if ctx.env.maps:
            return len(ctx.route) - self.begun > DEEPEST_IN_MAP
        return len(ctx.route) > (DEEPEST_OPEN if ctx.env.open else DEEPEST_CLOSED)

    def heap_entry(self, key: Any, path: str) -> dict[str, Value]:
        """Returns what is kept under a key: in this run, else by the top level of its file or of the root's."""
        held = self.heap.get(key)
        if held is not None:
            return held
        for owner in (path, self.path):
            state = self.world.module_state(owner, self)
            if state is not None and key in state.heap:
                self.heap[key] = dict(state.heap[key])
                return self.heap[key]
        return {}

    def weighs(self, function: Function) -> None:
        """Notes that this run depends on what a function is worth; not needed where its body runs, as that notes more.

        A body that runs would not run if the function were worth less, and then its whole block counts as changed.
        """
        self.deps.add(worth_of(function.path, function.block))

    def body(self, function: Function) -> Statements:
        """The statements of a function, noted as something this run depends on."""
        self.deps.add((function.path, function.block))
        if function.body is not None:
            return function.body
        facts = self.world.facts(function.path)
        block = facts.blocks.get(function.block) if facts is not None else None
        if block is None:
            return ()
        whole = self.world.watched.get((function.path, function.block), block.shape)
        shape = whole.function if isinstance(whole, FunctionDef) else whole
        body = shape.body
        return body if isinstance(body, tuple) else ()
