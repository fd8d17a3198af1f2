"""The starting points of runs: a module's top level, its tests and `main`, functions and classes without callers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from meshlens.axes.domain.classes import inner_of
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Class,
    Function,
    Instance,
    Mapped,
    Site,
    Value,
    Wrapped,
)
from meshlens.axes.interpreter import new_run
from meshlens.axes.jax.mapping import run_uncalled
from meshlens.axes.python.objects import as_method, construct
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.dependence import without_twice
from meshlens.axes.runs.fixtures import sets_of_arguments, taken_apart
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.ledger import Ledger
from meshlens.axes.runs.programs import PROGRAM, is_program, program_of, sets_variables
from meshlens.axes.runs.records import Records
from meshlens.axes.runs.run import Left, ModuleState, Run, World
from meshlens.axes.runs.spots import Moment, may_do_more
from meshlens.facts.nodes import FunctionDef, FunctionShape
from meshlens.jaxapi.known_names import NOT_EXPECTED_TO_PASS

_SPLAT = (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))
_CLOSED = Context(AxisEnv(), ())
_OPEN = Context(AxisEnv(open=True), ())
_STARTS = frozenset({"main", "setUp", "setUpClass"})


@dataclass(frozen=True, slots=True)
class RootResult:
    """The result of one root.

    Attributes:
        records: the records for the rules.
        deps: its dependencies, as in `Run.deps`.
        entered: the functions whose bodies ran.
        relied: roots whose calls were reused; the records are incomplete without theirs.
        called: the maps whose results were called.
        moments: the times at which the watched statement ran; None if it cannot be replaced on its own.
        has_calls_left: whether it stayed far below its limits, so that a few more calls make no difference.
        ledger: the entries that it found from earlier roots, and those that it leaves to later ones.
    """

    records: Records
    deps: frozenset[tuple[str, str]]
    entered: frozenset[Site]
    relied: frozenset[tuple[str, str]]
    called: frozenset[Site] = frozenset()
    moments: tuple[Moment, ...] | None = None
    has_calls_left: bool = True
    ledger: Ledger = field(default_factory=Ledger)


def run_module(world: World, path: str, state: ModuleState, run: Run) -> None:
    """Runs the top level of a file and fills its state; other runs may read the state before it is complete."""
    facts = world.facts(path)
    if facts is None:
        return
    run.heap = state.heap
    run.ambient = state.ambient
    run.grown = state.grown
    run.deps.add((path, "module"))
    frame = state.frame
    for key in facts.top:
        block = facts.blocks.get(key)
        header = block.header if block is not None else None
        if header is None or isinstance(header, FunctionShape) or is_program(header):
            continue
        if not isinstance(header, FunctionDef):
            run.deps.add((path, key))
        frame.block = key
        run.execute((header,), frame, _CLOSED)
    state.left = Left(dict(run.mapped), dict(run.made), frozenset(run.called), frozenset(run.entered))


def finished_module(world: World, path: str, state: ModuleState, run: Run) -> RootResult:
    """Runs the top level of a file, and returns the result."""
    run_module(world, path, state, run)
    return result_of(run)


def run_program(world: World, path: str) -> RootResult:
    """Runs a file as a program, after its top level; discards the variables that it sets.

    Args:
        world: the workspace.
        path: the file.
    """
    run = _beside_module(world, path, PROGRAM)
    state, facts = world.module_state(path, run), world.facts(path)
    if state is None or facts is None:
        return result_of(run)
    frame = state.frame
    variables, exits = frame.vars, frame.exits
    frame.vars, world.program = dict(variables), path
    program = program_of(facts)
    run.is_apart = any(sets_variables(facts.blocks[key].shape) for key in program)
    try:
        for key in program:
            run.deps.add((path, key))
            frame.block = key
            shape = facts.blocks[key].shape
            run.execute((shape,) if not isinstance(shape, FunctionShape) else (), frame, _CLOSED)
        finish(run)
    finally:
        # The module's frame outlives this solution, whatever happens to the run.
        frame.vars, frame.exits, world.program = variables, exits, None
    return result_of(run)


def run_left_map(world: World, path: str, name: str, left: tuple[Mapped, Context]) -> RootResult:
    """Runs the operand of a map that a module's top level created and that no visible code calls."""
    run = _beside_module(world, path, name)
    mapped, ctx = left
    run.called.add(mapped.binder.site)
    run_uncalled(run, mapped, ctx)
    finish(run)
    return result_of(run)


def run_left_function(world: World, path: str, name: str, left: tuple[Function, Context]) -> RootResult:
    """Runs a nested function that a module's top level created and that no visible code calls."""
    run = _beside_module(world, path, name)
    run.made[left[0].site] = left
    finish(run)
    return result_of(run)


def _beside_module(world: World, path: str, name: str) -> Run:
    run = new_run(world, path, name)
    state = world.module_state(path, run)
    if state is not None:
        # If several meshes were current in turn, the mesh of an unseen caller is unknown.
        several = any(mesh != state.ambient[0] for mesh in state.ambient)
        run.ambient = [UNKNOWN] if several else list(state.ambient)
        run.grown = dict(state.grown)
    return run


def run_root(world: World, path: str, name: str, value: Value) -> RootResult:
    """Runs a function without callers, plain or wrapped, or a class whose methods have no callers."""
    run = _beside_module(world, path, name)
    if isinstance(value, Class):
        _run_class(run, value)
    elif isinstance(value, Function):
        _run_function(run, value)
    elif isinstance(taken_apart(value)[0], Function):
        _run_marked(run, value)
    else:
        _run_wrapped(run, value, inner_of(value))
    finish(run)
    return result_of(run)


def result_of(run: Run) -> RootResult:
    """Returns the result of a completed run."""
    return RootResult(
        run.records,
        frozenset(without_twice(run.deps)),
        frozenset(run.entered),
        frozenset(run.relied - {run.root}),
        frozenset(run.called),
        tuple(run.moments) if run.moments is not None and not run.is_brief else None,
        may_do_more(run),
        run.ledger,
    )


def is_start(function: Function) -> bool:
    """Returns whether Python or a test runner calls a function, judging by its name."""
    return function.name.startswith("test") or function.name in _STARTS


def _run_marked(run: Run, value: Value, receiver: tuple[Arg, ...] = ()) -> None:
    """Runs a function with pytest marks: a test once per set of parameters, a fixture like any function."""
    function, marks = taken_apart(value)
    if isinstance(function, Function):
        _run_function(run, function, receiver, marks)


def _run_function(run: Run, function: Function, receiver: tuple[Arg, ...] = (), marks: Sequence[Wrapped] = ()) -> None:
    ctx = _CLOSED if is_start(function) else _OPEN
    if any(mark.dotted in NOT_EXPECTED_TO_PASS for mark in marks):
        ctx = ctx._replace(guarded=True, conditional=True, expected=True)
    if function.name.startswith("test") and len(function.parameters) > len(receiver):
        own = receiver[0].value if receiver else None
        for given in sets_of_arguments(run, function, marks, own, ctx):
            args = (*receiver, *given, Arg("**", UNKNOWN, None, None))
            run.invoke(_start(function, args, function, ctx))
        return
    args = (*receiver, *unknown_arguments(function, len(receiver)), Arg("**", UNKNOWN, None, None))
    run.invoke(_start(function, args, function, ctx))


def _run_wrapped(run: Run, value: Value, inner: Value | None, receiver: tuple[Arg, ...] = ()) -> None:
    if isinstance(inner, Function):
        args = unknown_arguments(inner, len(receiver))
        run.invoke(_start(value, args, inner, _OPEN))
        if inner.site not in run.entered:
            # The wrapper's call skipped a body that reaches no axis; as a root, the body is still worth running.
            run.invoke(_start(inner, (*receiver, *args), inner, _OPEN))


def _start(callee: Value, args: tuple[Arg, ...], function: Function, ctx: Context) -> Invocation:
    """Returns the call that begins a run of a function or of a wrapper around it."""
    return Invocation(callee, args, function.site, function.site, function.frame, ctx, "start")


def unknown_arguments(function: Function, given: int) -> tuple[Arg, ...]:
    """Returns unknown values for required parameters beyond those given, and for `*args`."""
    taken = [how for _, _, how, _, _ in function.parameters[:given]]
    # All given arguments may go to `*args`, which accepts more.
    parameters = function.parameters[taken.index("*") if "*" in taken else given :]
    needed = tuple(
        Arg(None, UNKNOWN, None, None)
        for _, _, how, default, _ in parameters
        if how in ("any", "only") and default is None
    )
    return (*needed, _SPLAT[0]) if any(how == "*" and name for name, _, how, _, _ in parameters) else needed


def _run_class(run: Run, cls: Class) -> None:
    instance = construct(run, cls, Invocation(cls, _SPLAT, cls.site, cls.site, cls.frame, _OPEN))
    if not isinstance(instance, Instance):
        return
    for name, value in list(cls.frame.vars.items()):
        inner = inner_of(value)
        if not isinstance(inner, Function) or inner.site in run.entered or name == "__init__":
            continue
        if not run.world.is_worth_a_root(inner.path, inner.block, starts=is_start(inner)):
            run.weighs(inner)
            continue
        run.begin_afresh()
        receiver = (
            (Arg(None, cls if inner.kind == "class" else instance, None, None),) if inner.kind != "static" else ()
        )
        if isinstance(value, Wrapped) and isinstance(taken_apart(value)[0], Function):
            _run_marked(run, value, receiver)
        elif not isinstance(value, Function):
            _run_wrapped(run, as_method(instance, value), inner, receiver)
        else:
            _run_function(run, value, receiver)


def finish(run: Run) -> None:
    """Runs the nested functions and the operands of maps that were created, but that no visible code calls."""
    for _ in range(4):
        mapped = [item for site, item in run.mapped.items() if site not in run.called]
        waiting = [item for site, item in run.made.items() if site not in run.entered and is_inside(item[0])]
        functions = [item for item in waiting if _is_worth_starting(run, item[0])]
        lambdas = [item for item in waiting if item[0].name == "<lambda>"]
        if not mapped and not functions and not lambdas:
            return
        for value, ctx in reversed(mapped):
            if value.binder.site not in run.called:
                run.called.add(value.binder.site)
                run_uncalled(run, value, ctx)
        if mapped:
            continue
        for function, ctx in [*functions, *lambdas]:
            if function.site in run.entered:
                continue
            inner = ctx.perhaps(replace(ctx.env, open=True))
            run.invoke(_start(function, unknown_arguments(function, 0), function, inner))
            run.entered.add(function.site)


def is_inside(function: Function) -> bool:
    """Returns whether a function is nested in another one, or is a lambda."""
    return function.name == "<lambda>" or function.frame.parent is not None


def _is_worth_starting(run: Run, function: Function) -> bool:
    """Returns whether to run an uncalled nested function; a function with its own block must be worth running."""
    if function.name == "<lambda>" or function.frame.parent is None:
        return False
    return function.body is not None or run.world.is_worth_a_root(function.path, function.block, starts=False)


def candidates(frame: Frame) -> Iterator[tuple[str, Value, Function | Class]]:
    """Yields the name, value and wrapped object of each function or class of a module that may be a root, in order."""
    seen: set[Site] = set()
    for name, value in list(frame.vars.items()):
        inner = inner_of(value)
        if inner is not None and inner.path == frame.path and inner.site not in seen:
            seen.add(inner.site)
            yield name, value, inner


def methods(cls: Class) -> Iterator[Function]:
    """Yields the functions in a class body."""
    for value in cls.frame.vars.values():
        inner = inner_of(value)
        if isinstance(inner, Function):
            yield inner
