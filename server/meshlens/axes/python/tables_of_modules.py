"""Module-level tables that other modules add entries to, such as registries."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.values import Dict, Value
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import ModuleState, Run


def as_seen(run: Run, value: Dict, name: str, frame: Frame) -> Value:
    """Returns a module's dictionary with the further entries that this run knows about.

    Args:
        run: the run.
        value: the dictionary after its module has run.
        name: the variable that holds it.
        frame: the frame that reads it.
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
    """Adopts the entries that an imported module added to other modules' tables."""
    for table, entries in state.grown.items():
        known = run.grown.get(table, ())
        if known is not entries:
            run.grown[table] = tuple({**dict(known), **dict(entries)}.items())
