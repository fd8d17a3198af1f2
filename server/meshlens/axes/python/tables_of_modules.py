"""Module-level tables that other modules add entries to, such as registries."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.values import UNKNOWN, Dict, Value
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Entries, ModuleState, Run


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
    added = run.grown.get(origin_of(home, name)) if run.grown else None
    if added is None:
        return value
    run.overlaid += 1
    return with_added(value, added)


def origin_of(home: Frame, name: str) -> tuple[str, str]:
    """Returns the file where a module's table was made and its name there, if the module imported it."""
    return home.tables.get(name, (home.path, name))


def note_imported(home: Frame, alias: str, module: Frame, name: str) -> None:
    """Notes where a table that a module imports under this name was made."""
    home.tables = {**home.tables, alias: origin_of(module, name)}


def with_added(table: Dict, added: Entries) -> Dict:
    """Returns a module's table with further entries; there may be others."""
    return replace(table, items=tuple({**dict(table.items), **dict(added)}.items()), open=not table.attributes)


def grow(run: Run, key: tuple[str, str], before: Value, after: Value) -> None:
    """Records entries that a run adds to a table of a completed module, because other runs may see it differently.

    Args:
        run: the run.
        key: the file of the table, and its name.
        before: the table before the change.
        after: the table after it.
    """
    run.epoch += 1
    if isinstance(before, Dict) and isinstance(after, Dict):
        added = tuple((key, value) for key, value in after.items if before.get(key) != value)
        added += tuple((key, UNKNOWN) for key, _ in before.items if after.get(key) is None)
        run.grown[key] = tuple({**dict(run.grown.get(key, ())), **dict(added)}.items())


def take_over(run: Run, state: ModuleState) -> None:
    """Adopts the entries that an imported module added to other modules' tables, and notes that it set a mesh."""
    if state.ambient:
        run.may_set_mesh()
    for table, entries in state.grown.items():
        known = run.grown.get(table, ())
        if known is not entries:
            run.grown[table] = tuple({**dict(known), **dict(entries)}.items())
