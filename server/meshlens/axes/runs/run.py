"""One run of the interpreter from one root, and the interface to its workspace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from meshlens.axes.domain.values import UNKNOWN, Class, Const, Dict, Function, Mapped, Module, Site, Value
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.dependence import worth_of
from meshlens.axes.runs.frames import Current, Frame, Sites
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.ledger import Entry, Item, Key, Ledger, Ledgers
from meshlens.axes.runs.parameter_scopes import GivenParameters, ParameterScope
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
from meshlens.facts.content import function_in
from meshlens.facts.model import FileFacts, Shape
from meshlens.facts.nodes import Expression, Statements

if TYPE_CHECKING:
    from meshlens.axes.runs.spots import Moment

Entries: TypeAlias = tuple[tuple[Any, Value], ...]

MOST_WORK_OF_A_LOOP = 20_000
MOST_ITERATIONS = 1_200
CALLS_TO_SPARE, WORK_TO_SPARE, ITERATIONS_TO_SPARE = 500, 2_000, 400
"""A run within this margin of its limits might exceed them if one statement were different."""
DEEPEST = 200
MOST_CONTEXTS = 12
MOST_VAGUE_CONTEXTS = 4
DEEPEST_IN_MAP = 24
DEEPEST_CLOSED = 8
DEEPEST_OPEN = 3
DEEPEST_ASKED = 16
MOST_FOLLOWED = 40
"""Maximum number of calls that are followed only for their effect on arrays."""


class World(Protocol):
    """The workspace as the interpreter sees it.

    Attributes:
        watched: the shapes of blocks with a watched statement.
        program: the file that is now running as the program.
        by_default: whether options of command lines and environment variables have their defaults, not unknown values.
        asked: the function whose calls are recorded; None for an ordinary analysis.
    """

    watched: Mapping[tuple[str, str], Shape]
    program: str | None
    by_default: bool
    asked: Site | None

    @property
    def ledgers(self) -> Ledgers:
        """Returns the entries of the roots that have run."""
        ...

    def new_number(self) -> int:
        """Returns a number that no object has yet."""
        ...

    def reaches(self, path: str, block: str, env: AxisEnv) -> bool:
        """Returns whether calling a block in an environment can reveal anything about axes."""
        ...

    def makes_arrays(self, path: str, block: str) -> bool:
        """Returns whether a block is short and creates arrays."""
        ...

    def is_short(self, path: str, block: str) -> bool:
        """Returns whether a block mentions few names."""
        ...

    def maps_trees(self, path: str, block: str) -> bool:
        """Returns whether a block mentions `jax.tree.map`."""
        ...

    def fills_up(self, path: str, block: str) -> bool:
        """Returns whether a block mentions a function that may fill up a batch."""
        ...

    def matches_patterns(self, path: str, block: str) -> bool:
        """Returns whether a block mentions a function that selects a table entry by path or pattern."""
        ...

    def is_worth_a_root(self, path: str, block: str, *, starts: bool) -> bool:
        """Returns whether a block is worth running as a root."""
        ...

    def names_axes(self, path: str, block: str) -> tuple[bool, tuple[str, ...]]:
        """Returns whether a block or a block inside it mentions axes, and the keys of all these blocks."""
        ...

    def parse_toml(self, text: str) -> Mapping[str, Any] | None:
        """Returns the contents of a TOML text; None if it is invalid."""
        ...

    def parse_yaml(self, text: str) -> object:
        """Returns the value of a YAML text; None if it is invalid."""
        ...

    def jax_version_of(self, path: str) -> tuple[int, ...]:
        """Returns the JAX version that a file targets."""
        ...

    def version_of(self, library: str, path: str) -> tuple[int, ...]:
        """Returns the version of another library that a file targets; empty if it is unknown."""
        ...

    def devices_of(self, path: str) -> Topology | None:
        """Returns the devices that a file targets; None if not configured."""
        ...

    def sites_of(self, path: str, block: str) -> Sites | None:
        """Returns the sites that earlier runs of a block created; None if it runs for the first time."""
        ...

    def facts(self, path: str) -> FileFacts | None:
        """Returns the facts of a file."""
        ...

    def locate(self, importer: str, level: int, module: str) -> Module | None:
        """Returns the workspace module that an import refers to; None if it is outside."""
        ...

    def submodule(self, module: Module, name: str) -> Module | None:
        """Returns a submodule of a workspace package."""
        ...

    def module_state(self, path: str, asking: Run) -> ModuleState | None:
        """Returns the state after a module's top level; partial while it is running."""
        ...

    def is_running(self, path: str) -> bool:
        """Returns whether a file's top level or program is running, so that its variables may change."""
        ...


@dataclass(frozen=True, slots=True)
class Left:
    """The maps and functions that a module's top level created and did not call.

    Attributes:
        mapped: mapped functions, by their binder, each with its context.
        made: functions, by their site.
        called: the maps whose results were called.
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
        heap: attributes of the objects that the top level created.
        ambient: meshes that `set_mesh` made current, innermost last.
        left: the maps and functions that were created but not called; None while the module runs.
        names: the names of the module's functions, by their sites, and of its classes, by the sites of their methods;
            computed on first use.
        grown: entries that it and its imports added to tables of other modules.
    """

    frame: Frame
    heap: dict[Any, dict[str, Value]]
    ambient: list[Value] = field(default_factory=list)
    left: Left | None = None
    names: dict[Site, str] | None = None
    grown: dict[tuple[str, str], Entries] = field(default_factory=dict)


class Constructs(NamedTuple):
    """The interpreter's entry points, which may call each other: a call runs statements, a statement evaluates calls.

    Attributes:
        evaluate: returns the value of an expression.
        execute: runs statements, and returns how control is certain to leave them.
        invoke: returns the result of a call.
    """

    evaluate: Callable[[Run, Expression, Frame, Context], Value]
    execute: Callable[[Run, Statements, Frame, Context], str | None]
    invoke: Callable[[Run, Invocation], Value]


class Run:
    """The state of one run: its records, its caches, its limits.

    Attributes:
        constructs: the functions that run code, used by `evaluate`, `execute` and `invoke`.
        world: the workspace.
        path: the file of the root.
        root: the path and the name of the root's function, "" for the module's top level.
        relied: the roots whose calls this run reused.
        ledger: the entries it found from other roots and those it leaves to them.
        written: the objects whose attributes were set, in order, and whether each was just created.
        records: the records for the rules.
        heap: attributes of objects, by the object's number; copied from a module's state on first use.
        initial: an object's attributes after its constructor.
        deps: the dependencies of this run, as in `dependence.py`.
        entered: sites of the functions whose bodies ran.
        made: functions and mapped functions created here that may never be called.
        called: binders whose results were called.
        memo: results of calls, by arguments and environment.
        names: the strings among the arguments of the calls in `memo`.
        contexts: how many times each function's body ran.
        mapped_by: the functions whose bodies ran inside maps, with the innermost map.
        stack: sites of the running functions.
        calls: the number of calls made.
        bodies: the number of function bodies run.
        bodies_before: the number of bodies run when the budget was last reset.
        followed: the number of bodies entered only to follow arrays.
        api_guard: nesting depth of `try/except ImportError`, `hasattr`, version checks.
        broad_guard: the number of these guards that catch any exception, which reveals nothing about the code inside.
        ambient: meshes made current by `set_mesh`, innermost last; UNKNOWN for one that unseen code may have set.
        entered_meshes: meshes made current by `with mesh:`, innermost last.
        given_key: the key that a running haiku function was given, from which `next_rng_key` derives others.
        given_parameters: the parameters that a running flax module was given.
        scope: the module whose parameters are being collected; None during the analysis itself.
        stacked: the classes of modules that flax stacks, as `flax.linen.scan` does.
        unclear_contexts: the number of enclosing `with` statements that may have made another mesh current.
        differentiating: nesting depth of `grad` and `vjp`.
        in_maps: the number of enclosing maps.
        of_maps: the objects created or changed in a map.
        entrances: the number of calls to functions worth entering.
        left: the remaining budget for calls and loops at the top of the root.
        spent: the amount spent when the current call or loop began.
        limit: the amount that may be spent by the end of the current call or loop; None at the top of the root, where
            the work is proportional to the text.
        is_at_the_top: whether a call at the top of the root has begun but has entered no function yet.
        refused: the number of calls skipped because the budget was used up.
        later: postponed calls; None for each that was made or dropped.
        begun: the length of the route to the postponed call that is running.
        work: the number of statements, calls and elements of comprehensions processed.
        iterations: the number of iterations of loops and comprehensions.
        depth: the nesting depth of statements and expressions.
        loop: the outermost running loop's share of the budget; None outside loops.
        open_loops: the number of running loops whose number of iterations is unknown.
        is_brief: whether a limit on work or depth was reached or nearly reached.
        moments: the times at which the watched statement ran; None if it cannot be replaced on its own.
        is_apart: whether the functions of its file may see different variables than in other runs.
        altered: containers that a function was given and changed, before and after, for its caller.
        stored: the values that devices write into arrays, each at the same place on all devices, with the place.
        sent: the values that a `ppermute` sends, with the axis.
        hops: the arrays that a `ppermute` moves by one device, in the running step of a loop, with the axis.
        grown: entries that this run or its imports added to tables of completed modules, by path and name of the table.
        own_classes: the classes that this run created.
        unclear_tables: tables with attributes, by identity, that may stand for several tables.
        tables_walked: the number of tables searched for one that changed.
        epoch: the number of changes to containers outside the running function.
        scoped: what context managers in the workspace have set for the running code: variables of modules, context
            variables, and attributes of objects.
        scoping: the number of running generators that become such context managers.
        overlaid: the number of reads of tables in which other runs may find other entries.
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
        self.entered_meshes: list[Value] = []
        self.given_key: Value | None = None
        self.given_parameters: GivenParameters | None = None
        self.scope: ParameterScope | None = None
        self.stacked: set[Site] = set()
        self.unclear_contexts = 0
        self.differentiating = 0
        self.entrances = 0
        self.left = ALL
        self.spent = Limit(0, 0, 0)
        self.limit: Limit | None = None
        self.is_at_the_top = False
        self.refused = 0
        self.later: dict[Any, Later | None] = {}
        self.begun = 0
        self.work = 0
        self.iterations = 0
        self.depth = 0
        self.loop: Share | None = None
        self.open_loops = 0
        self.is_brief = False
        self.moments: list[Moment] | None = []
        self.is_apart = False
        self.altered: list[tuple[Value, Value]] = []
        self.stored: list[tuple[Value, Site]] = []
        self.sent: list[tuple[Value, str]] = []
        self.hops: list[tuple[Value, str]] = []
        self.grown: dict[tuple[str, str], Entries] = {}
        self.own_classes: set[Class] = set()
        self.unclear_tables: dict[int, Dict] = {}
        self.tables_walked = 0
        self.epoch = 0
        self.overlaid = 0
        self.scoped: dict[Hashable, Value] = {}
        self.scoping = 0

    def evaluate(self, node: Expression, frame: Frame, ctx: Context) -> Value:
        """Returns the value of an expression."""
        return self.constructs.evaluate(self, node, frame, ctx)

    def execute(self, statements: Statements, frame: Frame, ctx: Context) -> str | None:
        """Runs statements in order; returns how control is certain to leave them, or None if it may fall through."""
        return self.constructs.execute(self, statements, frame, ctx)

    def invoke(self, call: Invocation) -> Value:
        """Returns the result of a call."""
        return self.constructs.invoke(self, call)

    def enters(self) -> None:
        """Notes a call to a function that is worth entering."""
        self.entrances += 1

    def may_set_mesh(self) -> None:
        """Notes that from here on, an unknown mesh may be current where none was."""
        if not self.ambient and not self.entered_meshes:
            self.ambient.append(UNKNOWN)
        elif not self.ambient:
            # Constraints keep to the mesh of the `with`; whether there is another one is unclear.
            self.unclear_contexts += 1

    def find(self, item: Item) -> Entry | None:
        """Returns the entry of an item from other roots, as of this root's first request."""
        found = self.ledger.found
        if item not in found:
            found[item] = self.world.ledgers.find(item, self.root)
        return found[item]

    def count(self, item: Item) -> int:
        """Returns how many times a function has run, in this root and in earlier ones, up to a limit."""
        before, own = self.find(item), self.ledger.left.get(item, 0)
        return (before if type(before) is int else 0) + (own if type(own) is int else 0)

    def number_of(self, parts: tuple[object, ...]) -> int:
        """Returns an object's number, derived from what creates it: the same in all roots."""
        left, key = self.ledger.left, Key(parts)
        number = left[key] if key in left else self.world.ledgers.find(key, self.root)
        if type(number) is not int:
            number = self.world.new_number()
        left[key] = number
        return number

    def current(self) -> Current:
        """Returns what `with` statements and `set_mesh` have made current."""
        return Current(tuple(self.ambient), tuple(self.entered_meshes), self.unclear_contexts, dict(self.scoped))

    def begin_afresh(self) -> None:
        """Resets the budget for the next method of a class without callers."""
        self.left, self.bodies_before = ALL, self.bodies
        self.contexts.clear()
        self.mapped_by.clear()

    def runs_body(self, function: Site, ctx: Context, most: int = MOST_CONTEXTS) -> bool:
        """Returns whether a function's body may run, and counts the run: a few are allowed, then one in each new map.

        Fewer runs are enough if it is unknown both whether the code runs and which other axes are bound. The first run
        of a function for a postponed call is free, because the number of such runs is limited by the text.

        Args:
            function: the function.
            ctx: the context of the call.
            most: how many times it may run outside new maps.
        """
        seen, maps = self.contexts.get(function, 0), ctx.env.maps
        mapped = (function, maps[-1].site) if maps else None
        most = MOST_VAGUE_CONTEXTS if maps and ctx.env.open and not ctx.sure else most
        if seen >= most and (mapped is None or mapped in self.mapped_by):
            return False
        self.contexts[function] = seen + 1
        if mapped is not None:
            self.mapped_by.add(mapped)
        if seen or not self.begun:
            self.bodies += 1
        return True

    def begin_loop(self) -> Share | None:
        """Begins a loop and returns its share of the budget; None if it is nested and uses the outer loop's share."""
        if self.loop is not None:
            return None
        outer = self.limit
        limit = self.limit = outer or self._begin_at_the_top()
        work = min(self.work + MOST_WORK_OF_A_LOOP, limit.work)
        bodies = self.bodies + (limit.bodies - self.bodies + 1) // 2
        self.loop = share = Share(work, self.iterations + MOST_ITERATIONS, bodies, outer)
        return share

    def end_loop(self, share: Share | None) -> None:
        """Ends a loop that has a share."""
        if share is not None:
            iterations = self.iterations + ITERATIONS_TO_SPARE > share.iterations
            self.is_brief = self.is_brief or iterations or self.work + WORK_TO_SPARE > share.work
            self.loop = None
            self.end_call(share.limit)

    def begin_call(self) -> Limit | None:
        """Begins a call, limits its budget and returns the previous limit."""
        outer = self.limit
        if outer is None:
            self.limit = self._begin_at_the_top()
        elif self.is_at_the_top:
            self.is_at_the_top = False
        elif len(self.stack) < LEVELS_THAT_SHARE and not self.begun:
            self.limit = most_of(outer, self._now())
        return outer

    def begin_call_at_the_top(self) -> None:
        """Limits the budget of a call at the top of the root; the first function that the call enters shares it."""
        self.limit = self._begin_at_the_top()
        self.is_at_the_top = True

    def end_call(self, outer: Limit | None) -> None:
        """Ends the budget of a call, or of a loop at the top of the root.

        Args:
            outer: the limit before it began.
        """
        limit = self.limit
        if limit is None or limit is outer:
            return
        self.is_brief = (
            self.is_brief or self.work + WORK_TO_SPARE > limit.work or self.calls + CALLS_TO_SPARE > limit.calls
        )
        self.limit = outer
        if outer is None:
            self.is_at_the_top = False
            self.left = without(self.left, self.spent, self._now())

    def _now(self) -> Limit:
        return Limit(self.work, self.calls, self.bodies)

    def _begin_at_the_top(self) -> Limit:
        self.spent = self._now()
        return at_the_top(self.left, self.spent)

    def may_go_on(self) -> bool:
        """Returns whether the running loop may begin another iteration, within the outermost loop's share."""
        share = self.loop
        self.iterations += 1
        if share is None or (
            self.work < share.work and self.iterations < share.iterations and self.bodies < share.bodies
        ):
            return True
        self.is_brief = True
        return False

    def shares(self, function: Function) -> bool:
        """Returns whether a function returns the same results as in other runs for the same arguments."""
        return not (self.is_apart and function.path == self.path)

    def may_enter(self, ctx: Context) -> bool:
        """Returns whether the budget allows running another function's body.

        The budget outside maps is smaller, because a function that is not entered there is a root itself.
        """
        is_left = self.limit is None or self.bodies < self.limit.bodies
        if is_left and (ctx.env.maps or self.bodies - self.bodies_before < MOST_BODIES_OUTSIDE):
            return True
        self.refused += 1
        return False

    def too_deep(self, ctx: Context) -> bool:
        """Returns whether a route is so long that following it further reveals nothing new.

        Outside maps, if unseen callers may bind more axes, a few steps are enough, because deeper functions are roots
        themselves. If the analysis is asked about a function, all that it calls is worth following.
        """
        if ctx.env.maps:
            return len(ctx.route) - self.begun > DEEPEST_IN_MAP
        if self.world.asked is not None:
            return len(ctx.route) > DEEPEST_ASKED
        return len(ctx.route) > (DEEPEST_OPEN if ctx.env.open else DEEPEST_CLOSED)

    def heap_entry(self, key: Any, path: str) -> dict[str, Value]:
        """Returns the heap entry of a key: from this run, else from the top level of its file or the root's."""
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
        """Notes that this run depends on whether a function is worth running; running it adds more dependencies."""
        self.deps.add(worth_of(function.path, function.block))

    def body(self, function: Function) -> Statements:
        """Returns the statements of a function, and notes the dependency."""
        self.deps.add((function.path, function.block))
        if function.body is not None:
            return function.body
        facts = self.world.facts(function.path)
        block = facts.blocks.get(function.block) if facts is not None else None
        if block is None:
            return ()
        whole = self.world.watched.get((function.path, function.block), block.shape)
        shape = function_in(whole)
        return shape.body if shape is not None else ()
