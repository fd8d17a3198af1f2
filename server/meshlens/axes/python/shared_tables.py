"""Tables with attributes that several variables hold: a change through one of them shows in the others."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.atoms import UNKNOWN
from meshlens.axes.domain.joining import join
from meshlens.axes.domain.values import Dict, Seq, Value
from meshlens.axes.python.tables_of_modules import grow
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run

_DEEPEST_TABLE = 6
_MOST_TABLES_WALKED = 100_000
"""Number of tables walked in a run after which a change makes all tables that hold others unknown."""
_IN_PLACE = ("ml_collections.", "types.", "argparse.")
"""The libraries whose tables hold the tables that are assigned to their entries, rather than copies."""


def holds_others(name: str) -> bool:
    """Returns whether the tables of a library callable hold the tables that are put into them, not copies."""
    return name.startswith(_IN_PLACE)


def mark_unclear(run: Run, value: Value, depth: int = 0) -> None:
    """Notes that a value may stand for several tables, such as the result of a call that is not run again."""
    if depth > _DEEPEST_TABLE:
        return
    if isinstance(value, Seq):
        for item in value.items:
            mark_unclear(run, item, depth + 1)
    elif isinstance(value, Dict) and value.attributes:
        run.unclear_tables[id(value)] = value
        for _, item in value.items:
            mark_unclear(run, item, depth + 1)


def copied(value: Value, depth: int = 0) -> Value:
    """Returns a copy of a table and of the tables in it, which later changes do not affect."""
    if not isinstance(value, Dict) or not value.attributes or depth > _DEEPEST_TABLE:
        return value
    return replace(value, items=tuple([(key, copied(item, depth + 1)) for key, item in value.items]))


def tell_others(run: Run, name: str, before: Dict, after: Dict, frame: Frame, is_conditional: bool) -> None:
    """Changes a table in the other variables that hold it, or hold a table that it is part of.

    Entries become unknown if it may be another table, or if the change may not happen. A variable of a completed
    module forgets its entries, unless the table changes through this variable.

    Args:
        run: the run.
        name: the variable through which the table changes, if any.
        before: the table before the change.
        after: the table after it.
        frame: the running frame.
        is_conditional: whether the change may not happen.
    """
    changes = _changes(run, before, after)
    walked: dict[int, Dict] = {}
    for home in frame.chain():
        for other, value in list(home.vars.items()):
            if not isinstance(value, Dict) or not value.attributes or (value.depth == 1 and id(value) not in changes):
                continue
            is_short = run.tables_walked < _MOST_TABLES_WALKED or other == name
            changed = _with_changes(value, changes, walked) if is_short else UNKNOWN
            if changed is value:
                continue
            if home.parent is None and not (home.path == run.path and run.world.is_running(home.path)):
                if other != name:
                    grow(run, (home.path, other), value, Dict((), attributes=True))
                continue
            run.epoch += home is not frame
            home.vars[other] = join(value, changed) if is_conditional and home is not frame else changed
            if other in home.given:
                home.altered |= {other}
    run.tables_walked += len(walked)


def _changes(run: Run, before: Dict, after: Dict, depth: int = 0) -> dict[int, Value]:
    """Returns what becomes of a table and of the tables in it, by the identity of each."""
    found: dict[int, Value] = {}
    for key, held in before.items if depth < _DEEPEST_TABLE else ():
        other = after.get(key)
        if other is not held and isinstance(held, Dict) and isinstance(other, Dict) and held.attributes:
            found.update(_changes(run, held, other, depth + 1))
    found[id(before)] = after
    if id(before) in run.unclear_tables:
        found[id(before)] = both = join(before, after)
        mark_unclear(run, both)
    return found


def _with_changes(table: Dict, changes: dict[int, Value], walked: dict[int, Dict], depth: int = 0) -> Value:
    changed = changes.get(id(table))
    if changed is not None or depth > _DEEPEST_TABLE:
        return changed if changed is not None else table
    known = walked.get(id(table))
    if known is not None:
        return known
    items = tuple(
        [
            (
                key,
                _with_changes(held, changes, walked, depth + 1) if isinstance(held, Dict) and held.attributes else held,
            )
            for key, held in table.items
        ]
    )
    is_same = all(new is old for (_, new), (_, old) in zip(items, table.items, strict=True))
    walked[id(table)] = result = table if is_same else replace(table, items=items)
    return result
