"""How much work a call is worth: dull functions are not entered, plain ones only a few times, results are shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from meshlens.axes.records import Context
from meshlens.axes.run import MOST_PLAIN_RUNS, MOST_TELLING_RUNS, Run, Shared
from meshlens.axes.values import (
    UNKNOWN,
    Arg,
    Bound,
    Const,
    Dict,
    Function,
    Mapped,
    Mesh,
    Partial,
    Seq,
    Site,
    Spec,
    Union,
    Value,
    Wrapped,
)
from meshlens.jaxapi.binders import BINDERS

_HOLD_NAMES = frozenset(
    name for row in BINDERS.values() if row.names_from == "parameters" for name in (row.names, *row.more_names)
)
"""Keywords that give a binder its axis names: who takes one, under `**` perhaps, hands it on to a binder."""


def spent(run: Run, function: Function, values: dict[str, Value], ctx: Context) -> Value | None:
    """What stands for another run of a function that ran often enough outside every map; None if it may run again.

    Runs that may never happen do not use up what those that certainly happen may spend.
    """
    telling = (any(tells(value) for value in values.values()), ctx.sure)
    effort = run.world.effort
    handed = frozenset(site for value in values.values() for site in _worthwhile(run, value))
    count = effort.get((function.site, telling), 0)
    # What a helper makes of a function that has to do with axes is news, however often the helper ran for others.
    if count < (MOST_TELLING_RUNS if telling[0] else MOST_PLAIN_RUNS) or (
        handed and (function.site, handed) not in effort
    ):
        effort[(function.site, telling)] = count + 1
        if handed:
            effort[(function.site, handed)] = 1
        return None
    latest = run.world.latest.get(function.site)
    if latest is None or telling[0]:
        return UNKNOWN
    run.relied.add(latest.root)
    return latest.value


def tells(value: Value) -> bool:
    """Whether an argument may decide about axes: a name, a function, a mesh, a spec."""
    if isinstance(value, Const):
        return isinstance(value.value, str)
    if isinstance(value, Seq):
        return any(tells(item) for item in value.items)
    if isinstance(value, Dict):
        return any(tells(item) for _, item in value.items)
    return isinstance(value, (Mesh, Spec)) or _holds_function(value)


def share(run: Run, key: Any, result: Value, begun: int, names: tuple[Const, ...]) -> None:
    """Keeps a result for other roots, unless the call changed an object that was there before."""
    new = {number for number, made in run.written[begun:] if made}
    if all(number in new for number, _ in run.written[begun:]):
        heap = {number: dict(run.heap.get(number, {})) for number in new}
        run.world.shared[key] = Shared(result, run.root, heap, names)


def is_dull(run: Run, function: Function, args: tuple[Arg, ...], ctx: Context) -> bool:
    """Whether running the body can tell nothing: no axis in reach, and neither a function nor axis names handed in."""
    if run.world.reaches(function.path, function.block, ctx.env):
        return False
    return not any(_holds_function(arg.value) or arg.label in _HOLD_NAMES for arg in args)


def _holds_function(value: Value) -> bool:
    if isinstance(value, (Function, Partial, Mapped, Wrapped)):
        return True
    if isinstance(value, Bound):
        return isinstance(value.function, (Function, Mapped, Wrapped))
    return any(_holds_function(part) for part in _parts(value))


def _worthwhile(run: Run, value: Value) -> Iterator[Site]:
    """Where the functions stand that a value comes down to, those only that have to do with axes."""
    if isinstance(value, Function):
        if run.world.is_worth_a_root(value.path, value.block, starts=True):
            yield value.site
    elif isinstance(value, Bound):
        yield from _worthwhile(run, value.function)
    elif isinstance(value, Partial):
        yield from _worthwhile(run, value.callee)
    elif isinstance(value, Wrapped):
        yield from _worthwhile(run, value.operand)
    else:
        for part in _parts(value):
            yield from _worthwhile(run, part)


def _parts(value: Value) -> Iterable[Value]:
    if isinstance(value, Seq):
        return value.items
    if isinstance(value, Dict):
        return (item for _, item in value.items)
    return value.options if isinstance(value, Union) else ()


def memo_key(function: Function, values: dict[str, Value], ctx: Context, run_differentiates: bool) -> Any:
    """What a call's result depends on, if that can be hashed; None if not."""
    key = (
        function,
        tuple(values.items()),
        ctx.env,
        ctx.conditional,
        ctx.remote,
        ctx.guarded,
        ctx.sure,
        ctx.host,
        ctx.loop,
        ctx.branch,
        ctx.skip,
        run_differentiates,
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key
