"""Objects that are tables with attributes: `ConfigDict` and similar classes, `SimpleNamespace`, OmegaConf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from meshlens.axes.domain.classes import lineage
from meshlens.axes.domain.joining import join_all, options, union
from meshlens.axes.domain.keys import SOME_KEY, as_value, key_of
from meshlens.axes.domain.values import UNKNOWN, Arg, Class, Const, Dict, Seq, Value
from meshlens.axes.python.shared_tables import copied
from meshlens.jaxapi.known_names import FLAT_TABLES, NESTED_TABLES, UNKNOWN_ENTRIES

_COPIES = frozenset({"copy_and_resolve_references", "copy", "as_configdict", "__copy__"})
_PLAIN = frozenset({"to_dict", "_asdict"})
_OF_TABLES = frozenset({"__init__", "__getattr__", "__setattr__", "__delattr__"})
"""Methods that make a dictionary a table with attributes."""
_ITSELF = frozenset({"lock", "unlock"})
_QUIET = frozenset({"unlocked", "ignore_type", "eval", "is_locked"})
_READS = frozenset({"items", "keys", "values", "get"})
METHODS = (
    _COPIES
    | _PLAIN
    | _ITSELF
    | _QUIET
    | _READS
    | {"update", "get_ref", "get_oneway_ref", "get_type", "setdefault", "pop"}
)


def make_table(name: str, args: tuple[Arg, ...]) -> Value | None:
    """Returns the table with attributes that a library callable creates; None for any other callable."""
    if name in UNKNOWN_ENTRIES:
        return UNKNOWN
    if name == "omegaconf.OmegaConf.merge":
        return _merged([arg.value for arg in args])
    if name in ("vars", "omegaconf.OmegaConf.to_container"):
        value = args[0].value if args else UNKNOWN
        return replace(value, attributes=False) if isinstance(value, Dict) and value.attributes else None
    nested = name in NESTED_TABLES
    if not nested and name not in FLAT_TABLES:
        return None
    entries: dict[object, Value] = {}
    is_open = False
    for arg in args:
        if arg.label in ("*", "**"):
            is_open = True
        elif arg.label is not None:
            if arg.label not in ("type_safe", "convert_dict", "flags"):
                entries[arg.label] = arg.value
        elif isinstance(arg.value, Dict):
            entries.update(arg.value.items)
            is_open |= arg.value.open
        elif not (isinstance(arg.value, Const) and arg.value.value is None):
            is_open = True
    made = Dict(tuple(entries.items()), is_open, attributes=True)
    if name.endswith("FrozenConfigDict"):
        return copied(as_tables(made))
    return as_tables(made) if nested else made


def is_table_class(cls: Class) -> bool:
    """Returns whether a class is a dictionary whose keys are attributes as well, and nothing else.

    Such a class has a `__getattr__` that looks up the key, as in `__getattr__ = dict.__getitem__`.
    """
    line = lineage(cls)
    if {getattr(base, "dotted", "?") for member in line for base in member.bases if base not in line} != {"dict"}:
        return False
    names = {name for member in line for name in member.frame.vars if not name.startswith("__") or name in _OF_TABLES}
    return names <= _OF_TABLES and "__getattr__" in names


def as_tables(value: Value, depth: int = 0) -> Value:
    """Returns a dictionary as a table, converting the dictionaries in it too."""
    if not isinstance(value, Dict) or depth > 8:
        return value
    items = tuple((key, as_tables(item, depth + 1)) for key, item in value.items)
    if value.attributes and all(new is old for (_, new), (_, old) in zip(items, value.items, strict=True)):
        return value
    return Dict(items, value.open, attributes=True)


def entry(table: Dict, name: str) -> Value | None:
    """Returns the value of `table.name`; None for a method."""
    if name in METHODS and table.get(name) is None:
        return None
    found = table.get(name)
    return found if found is not None else UNKNOWN


def with_entry(table: Dict, key: object, value: Value) -> Dict:
    """Returns a table with an entry set; a dictionary in a table becomes a table."""
    if table.get(key) is value:
        return table
    items = tuple((known, held) for known, held in table.items if known != key or type(known) is not type(key))
    return replace(table, items=(*items, (key, as_tables(value) if table.attributes else value)))


def with_unknown_entry(table: Dict, value: Value) -> Dict:
    """Returns a table with an entry set under an unknown key."""
    others = value if (some := table.get(SOME_KEY)) is None else join_all((some, value))
    known = [(key, join_all((held, value))) for key, held in table.items if key is not SOME_KEY]
    return replace(table, items=(*known, (SOME_KEY, others)), open=True)


def forgotten(table: Dict) -> Dict:
    """Returns a table of the same kind with unknown entries."""
    return replace(table, items=(), open=True)


def call_table(table: Dict, name: str, args: tuple[Arg, ...]) -> Value | None:
    """Returns the result of a table method that dictionaries lack; None for other methods."""
    if name in _COPIES:
        return copied(table)
    if name in _PLAIN:
        return replace(table, attributes=False)
    if name in _ITSELF:
        return table
    return Const(None) if name in _QUIET else UNKNOWN if name not in _READS else None


def updated(table: Dict, args: tuple[Arg, ...]) -> Dict:
    """Returns a table after `update`: updates the tables in it, and replaces other entries."""
    for arg in args:
        if arg.label in (None, "*", "**"):
            table = _merge(table, arg.value)
        else:
            table = _merge(table, Dict(((arg.label, arg.value),)))
    return table


def _merge(table: Dict, other: Value) -> Dict:
    if isinstance(other, Seq):
        pairs = [item.items for item in other.items if isinstance(item, Seq) and len(item.items) == 2]
        known = [(key_of(pair[0]), pair[1]) for pair in pairs]
        if other.open or len(pairs) < len(other.items) or any(key is None for key, _ in known):
            return _opened(table)
        other = Dict(tuple((key[0], value) for key, value in known if key is not None))
    if not isinstance(other, Dict):
        return _opened(table)
    for key, value in other.items:
        held = table.get(key)
        if table.attributes and isinstance(held, Dict) and held.attributes and isinstance(value, Dict):
            value = _merge(held, value)
        table = with_entry(table, key, value)
    return _opened(table) if other.open else table


def _opened(table: Dict) -> Dict:
    """Returns a table after unknown keys were assigned; in a configuration, they may overwrite any entry."""
    return forgotten(table) if table.attributes else replace(table, open=True)


def _merged(values: list[Value]) -> Value:
    result = Dict((), attributes=True)
    for value in values:
        result = _merge(result, value)
    return result


def keys_of(table: Dict) -> tuple[Value, ...]:
    """Returns the keys of a dictionary as values."""
    return tuple([as_value(key) for key, _ in table.items])


def changed(value: Value, change: Callable[[Dict], Dict]) -> Value | None:
    """Returns a value with a change applied to each dictionary that it may be; None if it may be something else."""
    known = options(value)
    if not all(isinstance(option, Dict) for option in known):
        return None
    return union([change(option) for option in known if isinstance(option, Dict)])


def is_table(value: Value) -> bool:
    """Returns whether a value is a table with attributes."""
    return isinstance(value, Dict) and value.attributes
