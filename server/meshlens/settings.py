"""All settings: the keys of `[tool.meshlens]` and of editors with their defaults, meanings and checks.

This module does not read files; `project/settings/configuration.py` finds and reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from itertools import islice
from typing import Any, Literal, TypeAlias

from meshlens.devices.topology import BadTopology, Topology, parse_topology

_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}(?!\.?[0-9])")
_MOST_PATTERNS = 10_000
_LONGEST_PATTERN = 4096
_LONGEST_PATH = 4096
_MOST_RULES = 1000
_LONGEST_RULE = 100
_DEEPEST_SHOWN = 3
_LONGEST_SHOWN = 60
_MOST_BITS = 200
_MOST_OF_A_MACHINE = 1e30


DevicesWanted: TypeAlias = Topology | Literal["detected"]
"""The devices that a program is meant for: those of a topology, or the detected ones."""


class BadSetting(ValueError):
    """An unknown key, or an invalid value for one; the message says what is wrong."""


def parse_devices(value: object) -> DevicesWanted:
    """Returns the target devices for a value such as 8, "8", "2x4", "v5e-16", "8xH100" or "detected".

    Raises:
        BadSetting: the value is invalid.
    """
    if value == "detected":
        return "detected"
    try:
        return parse_topology(value)
    except BadTopology as error:
        raise BadSetting(str(error)) from None


def parse_device_sizes(value: object) -> tuple[int, ...]:
    """Returns the sizes of the device axes for a value such as 8, "8" or "2x4".

    Raises:
        BadSetting: the value is invalid.
    """
    try:
        found = parse_topology(value)
    except BadTopology as error:
        raise BadSetting(str(error)) from None
    return (found.count,) if found.platform else found.shape


def parse_version(value: object) -> tuple[int, ...]:
    """Returns a version of JAX, such as "0.4.30", as numbers.

    Raises:
        BadSetting: it is not a version.
    """
    found = _VERSION.match(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise BadSetting('expected a version of JAX, such as "0.4.30"')
    numbers = tuple(int(part) for part in found[0].split("."))
    return numbers + (0,) * (3 - len(numbers))


def spell_version(version: tuple[int, ...]) -> str:
    """Returns the version as text."""
    return ".".join(map(str, version))


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise BadSetting("expected a list of strings")
    return tuple(value)


def _rules(value: object) -> tuple[str, ...]:
    found = _strings(value)
    if len(found) > _MOST_RULES or any(len(one) > _LONGEST_RULE for one in found):
        raise BadSetting(f"expected at most {_MOST_RULES:,} rules, each of at most {_LONGEST_RULE} characters")
    return found


def _patterns(value: object) -> tuple[str, ...]:
    found = _strings(value)
    if len(found) > _MOST_PATTERNS:
        raise BadSetting(f"expected at most {_MOST_PATTERNS:,} patterns")
    if any(len(one) > _LONGEST_PATTERN for one in found):
        raise BadSetting(f"expected patterns of at most {_LONGEST_PATTERN:,} characters")
    return found


def _string(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadSetting("expected a non-empty string")
    return value


def _path(value: object) -> str:
    path = _string(value)
    if "\0" in path or len(path) > _LONGEST_PATH:
        raise BadSetting("expected a path")
    return path


def _strings_by_pattern(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise BadSetting("expected a table that maps file patterns to lists of rules")
    _patterns(tuple(map(str, value)))
    return tuple((str(pattern), _rules(rules)) for pattern, rules in value.items())


_ENTRY = re.compile(r"[^\0]+\.py::[A-Za-z_][\w.]*")


def _entries(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise BadSetting("expected a table that maps names to entries")
    if len(value) > _MOST_RULES:
        raise BadSetting(f"expected at most {_MOST_RULES:,} entries")
    for entry in value.values():
        if not isinstance(entry, str) or len(entry) > _LONGEST_PATH or not _ENTRY.fullmatch(entry):
            raise BadSetting('expected entries such as "train.py::entry"')
    return tuple((str(name), str(entry)) for name, entry in value.items())


MACHINE_NUMBERS = ("flops", "bandwidth", "network-bandwidth", "per-host", "memory", "memory-bandwidth")
MACHINE_NAMES = ("link", "network")
"""The keys of a machine whose values are names of links; the values of all others are positive numbers."""

_MACHINE_KEYS = (*MACHINE_NUMBERS, *MACHINE_NAMES)


def _machines(value: object) -> tuple[tuple[str, tuple[tuple[str, float | str], ...]], ...]:
    """Returns the name of each machine with its keys and their values."""
    if not isinstance(value, Mapping) or len(value) > _MOST_RULES:
        raise BadSetting("expected a table of machines")
    return tuple((str(name), _machine(machine)) for name, machine in value.items())


def _machine(value: object) -> tuple[tuple[str, float | str], ...]:
    if not isinstance(value, Mapping) or not {"flops", "bandwidth"} <= set(value) <= set(_MACHINE_KEYS):
        raise BadSetting(
            f'expected machines with "flops" and "bandwidth", and optionally {", ".join(_MACHINE_KEYS[2:])}'
        )
    pairs: list[tuple[str, float | str]] = []
    for key, one in value.items():
        is_number = isinstance(one, (int, float)) and not isinstance(one, bool) and 0 < one < _MOST_OF_A_MACHINE
        if key in MACHINE_NUMBERS and not is_number:
            raise BadSetting(f'expected a positive number for "{key}" of a machine')
        if key not in MACHINE_NUMBERS and not (isinstance(one, str) and 0 < len(one) <= _LONGEST_RULE):
            raise BadSetting(f'expected a string for "{key}" of a machine')
        pairs.append((str(key), one if isinstance(one, str) else float(one)))
    return tuple(pairs)


def _key(default: Any, *, kind: str, parse: Callable[[object], object], example: str, doc: str) -> Any:
    metadata = {"kind": kind, "parse": parse, "example": example, "doc": doc}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a project.

    Attributes:
        folder: the folder of the configuration, to which patterns are relative.
    """

    select: tuple[str, ...] = _key(
        (),
        kind="list of rules",
        parse=_rules,
        example='select = ["AX1", "axis-not-in-mesh"]',
        doc="Rules to enable: codes, code prefixes, names, or `ALL`.\n"
        "If `select` is not set, MeshLens runs the rules that are on by default.",
    )
    extend_select: tuple[str, ...] = _key(
        (),
        kind="list of rules",
        parse=_rules,
        example='extend-select = ["AX503"]',
        doc="Rules to enable in addition to `select`.",
    )
    ignore: tuple[str, ...] = _key(
        (),
        kind="list of rules",
        parse=_rules,
        example='ignore = ["AX602"]',
        doc="Rules to disable.\n"
        "If `select` and `ignore` both name a rule, the more specific one wins; on a tie, `ignore` does.",
    )
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = _key(
        (),
        kind="table of lists of rules",
        parse=_strings_by_pattern,
        example='per-file-ignores = { "tests/**" = ["AX301"] }',
        doc="Rules to disable in the files that match a pattern.\n"
        "Patterns work as in `.gitignore` and are relative to the configuration file.",
    )
    exclude: tuple[str, ...] = _key(
        (),
        kind="list of patterns",
        parse=_patterns,
        example='exclude = ["third_party", "*_generated.py"]',
        doc="Files and folders to skip, in addition to those that are always skipped "
        "(`.git`, `.venv`, `node_modules`, …).\n"
        "Patterns work as in `.gitignore` and are relative to the configuration file.\n"
        "A file named on the command line is always checked.",
    )
    devices: DevicesWanted | None = _key(  # noqa: RUF009
        None,
        kind="number, shape or topology",
        parse=parse_devices,
        example='devices = 8  # or "2x4", "v5e-16", "8xH100", "4x8xH100", "detected"',
        doc="The target: the devices that the code is meant for, whatever machine it is checked on.\n"
        "`# meshlens: devices=8` at the top of a file, or the number of virtual devices that a file itself requests, "
        "takes precedence; [devices.md](devices.md) lists every form.\n"
        "Without a target, MeshLens does not check device counts.",
    )
    jax_version: tuple[int, ...] | None = _key(
        None,
        kind="version",
        parse=parse_version,
        example='jax-version = "0.4.30"',
        doc="The version of JAX that the project uses.\n"
        "If it is not set, MeshLens reads the project's environment, lock file and `pyproject.toml`, then "
        "the active environment (`VIRTUAL_ENV`). If none of them names a version, it assumes the newest one "
        "that it knows. `meshlens config` shows the result.\n"
        "A subfolder is checked against the version in its own requirements, lock file or environment, if there is "
        "one.\n"
        "The version of flax is read in the same places, from an active environment only if the project names no "
        "version of JAX; of bounds such as `flax>=0.12`, the oldest version counts. If none is found, what depends on "
        "it is not reported.",
    )
    axis_name: str | None = _key(
        None,
        kind="name",
        parse=_string,
        example='axis-name = "data"',
        doc="The axis name that refactorings give to a new map, if the collectives inside do not name one.\n"
        'The default is "batch".',
    )
    interpreter: str | None = _key(
        None,
        kind="path",
        parse=_path,
        example='interpreter = ".venv/bin/python"',
        doc="The project's Python; its installed packages determine the versions of JAX and flax.\n"
        "A relative path is relative to the configuration file.",
    )
    entries: tuple[tuple[str, str], ...] = _key(
        (),
        kind="table of entries",
        parse=_entries,
        example='entries = { train = "train.py::entry" }',
        doc="Names for the entries that `meshlens trace` and `meshlens cost` can run. "
        "An entry is a file and a function in it that returns `(function, args)`.\n"
        "Paths are relative to the configuration file; only these commands run the entries.",
    )
    machines: tuple[tuple[str, tuple[tuple[str, float | str], ...]], ...] = _key(
        (),
        kind="table of machines",
        parse=_machines,
        example="machines.lab = { flops = 3.1e14, bandwidth = 3e11, network-bandwidth = 2.5e10, per-host = 4 }",
        doc="Your own machines, so that `meshlens cost --machine NAME` can estimate times. "
        "Give the operations per second of one device (`flops`) and the bytes per second over its links (`bandwidth`); "
        "for several hosts, also give the bytes per second over their network (`network-bandwidth`) and the number of "
        "devices per host (`per-host`).\n"
        "You can also set `link` and `network` (the names of the links), `memory` and `memory-bandwidth`.",
    )
    folder: str = ""


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadSetting("expected true or false")
    return value


def _feature(doc: str, *, default: bool) -> Any:
    return _key(default, kind="true or false", parse=_switch, example="", doc=doc)


WORKSPACE_DIAGNOSTICS = ("small", "all", "off")
"""The allowed values of `workspace_diagnostics`."""


def _workspace_diagnostics(value: object) -> str:
    if isinstance(value, bool):
        return "all" if value else "off"
    if value not in WORKSPACE_DIAGNOSTICS:
        raise BadSetting('expected "small", "all" or "off"')
    return str(value)


EDITOR_GROUPS = ("inlay_hints",)
"""Key prefixes that form groups in editors: `inlay_hints_axes` becomes `inlayHints.axes`."""


@dataclass(frozen=True, slots=True)
class EditorSettings:
    """The features that can be configured only in editors."""

    hover: bool = _feature("Show hovers on maps, collectives, axis names, meshes and specs.", default=True)
    completion: bool = _feature("Complete axis names, specs and `in_axes`.", default=True)
    snippets: bool = _feature("Offer snippets, and add the imports that they need.", default=True)
    axis_colors: bool = _feature("Color axis names, each axis in its own color.", default=True)
    symbols: bool = _feature("List maps and meshes as symbols of the file and the workspace.", default=True)
    workspace_diagnostics: str = _key(
        "small",
        kind=f"one of {', '.join(WORKSPACE_DIAGNOSTICS)}",
        parse=_workspace_diagnostics,
        example="",
        doc="Also report findings in files that are not open: in `small` projects (up to 200 KB of Python), in `all`, "
        "or in none (`off`).",
    )
    code_lens: bool = _feature("Show devices, axes and collectives above each map.", default=False)
    detect_devices: bool = _feature(
        "Query the project's Python for its devices; [devices.md](devices.md) describes what runs and when.",
        default=True,
    )
    inlay_hints_axes: bool = _feature("After a `def`, show the axes bound while the function runs.", default=False)
    inlay_hints_sizes: bool = _feature(
        "Show the size of an axis after its name in a collective, and the value of `jax.device_count()`.",
        default=False,
    )


def names_rules(settings: Settings) -> bool:
    """Returns whether a configuration names rules, and so may name one that does not exist."""
    return bool(settings.select or settings.extend_select or settings.ignore or settings.per_file_ignores)


def keys() -> dict[str, Field[Any]]:
    """Returns every key as users write it, with its field."""
    return {entry.name.replace("_", "-"): entry for entry in fields(Settings) if entry.metadata}


def parse(key: str, value: object) -> object:
    """Returns the parsed value of a key.

    Raises:
        BadSetting: there is no such key, or the value is invalid.
    """
    return _parse(key, value, keys())


def parse_editor(key: str, value: object) -> object:
    """Returns the parsed value of an editor setting.

    Raises:
        BadSetting: there is no such key, or the value is invalid.
    """
    return _parse(key, value, {entry.name.replace("_", "-"): entry for entry in fields(EditorSettings)})


def _parse(key: str, value: object, known: Mapping[str, Field[Any]]) -> object:
    entry = known.get(key)
    if entry is None:
        key = key if len(key) <= _LONGEST_SHOWN else f"{key[: _LONGEST_SHOWN - 1]}…"
        close = get_close_matches(key.lower().replace("_", "-"), known, n=1, cutoff=0.5)
        raise BadSetting(f'unknown key "{key}"' + (f'; did you mean "{close[0]}"?' if close else ""))
    try:
        return entry.metadata["parse"](value)
    except BadSetting as error:
        said = str(error)
        raise BadSetting(f'"{key}": ' + (said if ', not "' in said else f"{said}, not {shown(value)}")) from None


def shown(value: object) -> str:
    """Returns a value as written in a TOML file, shortened if it is long."""
    text = _spelled(value, _DEEPEST_SHOWN)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _spelled(value: object, depth: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value[:_LONGEST_SHOWN].replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Topology):
        return value.text if value.text.isdigit() else f'"{value.text}"'
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _MOST_BITS else "a number with more than 60 digits"
    if isinstance(value, Mapping):
        first = islice(value.items(), _LONGEST_SHOWN)
        held = (f"{_spelled(str(key), 0)} = {_spelled(item, depth - 1)}" for key, item in first)
        return "{ " + ", ".join(held) + " }" if depth else "{ … }"
    if isinstance(value, (list, tuple)):
        first = islice(value, _LONGEST_SHOWN)
        return "[" + ", ".join(_spelled(item, depth - 1) for item in first) + "]" if depth else "[ … ]"
    return str(value)
