"""Replays one statement: records each of its executions, so that a replacement can run without the rest of the code.

This works if the replacement leaves the same state as the original, apart from its own records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

from meshlens.axes.domain.values import Class, Function, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.records import Records
from meshlens.axes.runs.run import WORK_TO_SPARE, Constructs, Entries, Run, World
from meshlens.facts.nodes import Statement

WATCHED: Literal["watched"] = "watched"

_MOST_MOMENTS = 200
MOST_MORE_WORK = WORK_TO_SPARE
_LISTS = tuple(one.name for one in fields(Records))

Lengths = tuple[int, ...]


class Watched(NamedTuple):
    """A statement that is watched."""

    tag: Literal["watched"]
    site: int
    statement: Statement


@dataclass(frozen=True, slots=True)
class Moment:
    """One execution of a watched statement.

    Attributes:
        frame: the variables before it ran, with the enclosing frames.
        context: the context.
        heap: the attributes of objects.
        ambient, entered_meshes, grown, unclear_contexts, stack, api_guard, broad_guard, differentiating: as in `Run`.
        begun: the number of records of each kind before it ran.
        ended: the number of records of each kind after it ran.
        after: the variables that it set.
        globals: the module's variables, if the module was still running.
        begun_calls: the number of calls before it ran.
        calls: the number of calls it made.
        depth: the nesting depth of the run when it began.
        work: its work, plus four for each iteration of a loop.
    """

    frame: Frame
    context: Context
    heap: dict[Any, dict[str, Value]]
    ambient: tuple[Value, ...]
    entered_meshes: tuple[Value, ...]
    grown: Mapping[tuple[str, str], Entries]
    unclear_contexts: int
    stack: tuple[Site, ...]
    api_guard: int
    broad_guard: int
    differentiating: int
    begun: Lengths
    ended: Lengths
    after: Mapping[str, Value | None]
    globals: Mapping[str, Value] | None
    begun_calls: int
    calls: int
    depth: int
    work: int


@dataclass(frozen=True, slots=True)
class Left:
    """The effects of a statement that replaces another in a run.

    Attributes:
        records: the records for the rules.
        after: the variables that it set.
        calls: the number of calls it made.
        work: its work.
        deps, relied: as in `Run`.
    """

    records: Records
    after: Mapping[str, Value | None]
    calls: int
    work: int
    deps: frozenset[tuple[str, str]]
    relied: frozenset[tuple[str, str]]


class _EnteredError(Exception):
    """Raised when the statement calls a workspace function, whose effects may depend on what ran before."""


class _Alone(Run):
    """A run of a single statement."""

    def enters(self) -> None:
        """Gives up, because the statement calls a workspace function."""
        raise _EnteredError


def run_watched(run: Run, node: Watched, frame: Frame, ctx: Context) -> None:
    """Runs a watched statement."""
    moments = run.moments
    if moments is None or run.begun or run.scope is not None or len(moments) >= _MOST_MOMENTS:
        run.moments = None
        run.execute((node.statement,), frame, ctx)
        return
    begun = _lengths(run.records)
    before = _copied(frame)
    heap = {key: dict(held) for key, held in run.heap.items()}
    told = (len(run.written), len(run.ambient), run.entrances, run.epoch, run.overlaid, _handed(frame))
    calls, work, stack, ambient = run.calls, _work(run), tuple(run.stack), tuple(run.ambient)
    sets = run.entered, run.made, run.mapped, run.called
    run.entered, run.made, run.mapped, run.called = set(), {}, {}, set()
    run.execute((node.statement,), frame, ctx)
    is_alone = not (run.entered or run.made or run.mapped or run.called or frame.globals or frame.nonlocals)
    sets[0].update(run.entered)
    sets[1].update([item for item in run.made.items() if item[0] not in sets[1]])
    sets[2].update([item for item in run.mapped.items() if item[0] not in sets[2]])
    sets[3].update(run.called)
    run.entered, run.made, run.mapped, run.called = sets
    now = (len(run.written), len(run.ambient), run.entrances, run.epoch, run.overlaid, _handed(frame))
    if not is_alone or told != now or run.moments is None:
        run.moments = None
        return
    moments.append(
        Moment(
            before,
            ctx,
            heap,
            ambient,
            tuple(run.entered_meshes),
            dict(run.grown),
            run.unclear_contexts,
            stack,
            run.api_guard,
            run.broad_guard,
            run.differentiating,
            begun,
            _lengths(run.records),
            _changes(before.vars, frame.vars),
            dict(frame.module.vars) if run.world.is_running(frame.path) else None,
            calls,
            run.calls - calls,
            run.depth,
            _work(run) - work,
        )
    )


def run_alone(
    constructs: Constructs, world: World, root: tuple[str, str], moment: Moment, statement: Any
) -> Left | None:
    """Runs a statement in place of another; returns None if it does anything that may affect the rest of the run.

    Args:
        constructs: the functions that run code.
        world: the workspace.
        root: the original root.
        moment: the original execution.
        statement: the statement.
    """
    run = _Alone(constructs, world, *root)
    run.heap = dict(moment.heap)
    run.ambient, run.entered_meshes = list(moment.ambient), list(moment.entered_meshes)
    run.grown = dict(moment.grown)
    run.unclear_contexts = moment.unclear_contexts
    run.stack = list(moment.stack)
    run.calls = moment.begun_calls
    run.depth = moment.depth
    run.api_guard, run.broad_guard = moment.api_guard, moment.broad_guard
    run.differentiating = moment.differentiating
    frame = _copied_one(moment.frame, moment.frame.parent)
    module, variables = frame.module, frame.module.vars
    try:
        if moment.globals is not None:
            module.vars = dict(moment.globals)
        run.execute((statement,), frame, moment.context)
    except _EnteredError:
        return None
    finally:
        module.vars = variables
    if (
        run.is_brief
        or run.entered
        or run.made
        or run.mapped
        or run.called
        or run.written
        or run.epoch
        or run.overlaid
        or _handed(frame) != _handed(moment.frame)
        or len(run.ambient) != len(moment.ambient)
    ):
        return None
    return Left(
        run.records,
        _changes(moment.frame.vars, frame.vars),
        run.calls - moment.begun_calls,
        _work(run),
        frozenset(run.deps),
        frozenset(run.relied - {root}),
    )


def _work(run: Run) -> int:
    return run.work + 4 * run.iterations


def leaves_the_same(moment: Moment, left: Left, unread: frozenset[str] | None) -> bool:
    """Returns whether the code that follows cannot distinguish two statements.

    Args:
        moment: the original execution.
        left: the effects of the replacement.
        unread: the variables that only the statements mention; None if they may run again in the same frame.
    """
    variables = moment.frame.vars
    for name in moment.after.keys() | left.after.keys():
        if unread is not None and name in unread:
            continue
        old = moment.after[name] if name in moment.after else variables.get(name)
        new = left.after[name] if name in left.after else variables.get(name)
        if not same(old, new):
            return False
    return True


def spliced(
    records: Records, moments: Sequence[Moment], made: Sequence[Left]
) -> tuple[Records, tuple[Moment, ...]] | None:
    """Returns a root's records with those of a statement replaced, and the adjusted moments; None if nothing changed.

    Args:
        records: the records before.
        moments: the executions of the statement, in order.
        made: the effects of its replacements, in the same order.
    """
    spans: list[list[tuple[int, int]]] = []
    lists: list[list[Any]] = []
    is_changed = False
    for place, name in enumerate(_LISTS):
        old: list[Any] = getattr(records, name)
        fresh: list[list[Any]] = [getattr(left.records, name) for left in made]
        if not any(fresh) and all(one.begun[place] == one.ended[place] for one in moments):
            lists.append(old)
            spans.append([(one.begun[place], one.ended[place]) for one in moments])
            continue
        is_changed = True
        new: list[Any] = []
        counted: list[tuple[int, int]] = []
        at = 0
        for moment, come in zip(moments, fresh, strict=True):
            new += old[at : moment.begun[place]]
            counted.append((len(new), len(new) + len(come)))
            new += come
            at = moment.ended[place]
        new += old[at:]
        lists.append(new)
        spans.append(counted)
    if not is_changed:
        return None
    counts = [list(zip(*ends, strict=True)) for ends in zip(*spans, strict=True)]
    now = [replace(one, begun=begun, ended=ended) for one, (begun, ended) in zip(moments, counts, strict=True)]
    return Records(*lists), tuple(now)


def old_records(records: Records, moments: Sequence[Moment]) -> Records:
    """Returns the records that the statement itself added."""
    return Records(
        *[
            [one for moment in moments for one in getattr(records, name)[moment.begun[place] : moment.ended[place]]]
            for place, name in enumerate(_LISTS)
        ]
    )


def may_do_more(run: Run) -> bool:
    """Returns whether a run stays complete if a statement in it makes a few more calls or does more work."""
    return not run.is_brief


def same(one: Any, other: Any) -> bool:
    """Returns whether two values have identical contents, including parts that `==` ignores."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other) or kind is Function or kind is Class:
        return False
    if issubclass(kind, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    names = getattr(kind, "__match_args__", None)
    if names is None:
        return bool(one == other)
    return all(same(getattr(one, name), getattr(other, name)) for name in names)


def _lengths(records: Records) -> Lengths:
    return tuple([len(getattr(records, name)) for name in _LISTS])


def _changes(before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value | None]:
    changed: dict[str, Value | None] = {name: value for name, value in after.items() if before.get(name) is not value}
    changed.update((name, None) for name in before if name not in after)
    return changed


def _handed(frame: Frame) -> tuple[frozenset[str], ...]:
    """Returns the parameters of a frame that hold the caller's containers, were changed, or may have been rebound."""
    return frame.given, frame.altered, frame.blurred


def _copied(frame: Frame) -> Frame:
    """Returns a copy of a frame and its enclosing frames; module frames are not copied."""
    parent = frame.parent
    return frame if parent is None else _copied_one(frame, _copied(parent))


def _copied_one(frame: Frame, parent: Frame | None) -> Frame:
    made = Frame(frame.path, frame.block, parent)
    made.maps = frame.maps
    made.vars = dict(frame.vars)
    made.globals, made.nonlocals, made.parameters = frame.globals, frame.nonlocals, frame.parameters
    made.given, made.altered, made.blurred = frame.given, frame.altered, frame.blurred
    made.returned, made.yielded, made.exits = list(frame.returned), list(frame.yielded), frame.exits
    made.yields_all = frame.yields_all
    made.owner, made.receiver = frame.owner, frame.receiver
    return made
