"""Tables of modules into which other modules put entries, as registries are filled."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.values import Dict, Value
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import ModuleState, Run


def as_seen(run: Run, value: Dict, name: str, frame: Frame) -> Value:
    """Returns a dictionary that a name stands for, with what this run knows to be in it besides.

    Args:
        run: the run.
        value: the dictionary as its module left it.
        name: the name.
        frame: the frame that asks.
    """
    home = next((one for one in frame.chain() if name in one.vars), frame)
    if home.parent is not None:
        return value
    if not value.items:
        run.overlaid += 1
    added = run.grown.get((home.path, name)) if run.grown else None
    if added is None:
        return value
    run.overlaid += 1
    return replace(value, items=tuple({**dict(value.items), **dict(added)}.items()), open=not value.attributes)


def take_over(run: Run, state: ModuleState) -> None:
    """Notes what an imported module put into tables of others."""
    for table, entries in state.grown.items():
        known = run.grown.get(table, ())
        if known is not entries:
            run.grown[table] = tuple({**dict(known), **dict(entries)}.items())
