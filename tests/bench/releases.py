"""Reads the public names of every release of JAX and writes the table for the rules on removed and deprecated names.

    python tests/bench/releases.py fetch FOLDER 0.12.0 0.11.2 …    installs releases, each into a folder of its own
    python tests/bench/releases.py read FOLDER                     imports each in a process and notes its names
    python tests/bench/releases.py write FOLDER                    writes server/meshlens/jaxapi/released.py

A new release is a `fetch` of that release, a `read` and a `write`; FOLDER keeps what was read before.  Releases before
0.4.17 need `--python` with an interpreter that their wheels were built for.
Replacements are written by hand in `history_core.py` and `history_sharding.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "server" / "meshlens" / "jaxapi" / "released.py"
ALSO_NEEDED = ("flatbuffers", "absl-py", "six", "typing_extensions", "tensorstore")
"""Packages that modules of JAX import although JAX does not require them."""
NOT_TOLD = ("jax.extend.mlir", "jax.experimental.mosaic")
"""The internals of compilers, which change with every release."""
OF_ENUMS = frozenset({"module", "qualname", "arg0"})
"""Parameters of Python's own classes, whose signatures differ between releases of Python."""

Version: TypeAlias = "tuple[int, ...]"
Modules: TypeAlias = "dict[str, dict[str, list[Any]]]"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The public names of one release.

    Attributes:
        version: the release.
        modules: by module and name: "here", "going", "gone" or "foreign", the parameters, and JAX's message.
        unread: modules that exist but could not be imported.
    """

    version: Version
    modules: Modules
    unread: frozenset[str]


@dataclass(slots=True)
class Life:
    """The life of one name: the first release that warns of it, and the first without it."""

    deprecated: Version | None = None
    removed: Version | None = None


def version_of(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def fetch(folder: Path, releases: list[str], python: str, extra: list[str]) -> None:
    install = ["uv", "pip", "install", "--quiet", "--python", python, "--target"]
    for release in releases:
        target = folder / "installed" / release
        if not (target / "jax").is_dir():
            subprocess.run([*install, str(target), f"jax=={release}", f"jaxlib=={release}", *extra], check=False)
        beside = folder / "beside" / release
        subprocess.run([*install, str(beside), "--no-deps", *ALSO_NEEDED], check=False)


def read(folder: Path, python: str) -> None:
    (folder / "read").mkdir(exist_ok=True)
    for target in sorted((folder / "installed").iterdir()):
        told = folder / "read" / f"{target.name}.json"
        if told.exists():
            continue
        paths = f"{target}:{folder / 'beside' / target.name}"
        command = [python, "-S", str(HERE / "release_names.py"), "jax"]
        ran = subprocess.run(command, env={"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True)
        if ran.returncode:
            print(target.name, ran.stderr[-300:], file=sys.stderr)
        else:
            told.write_text(ran.stdout)


def snapshots(folder: Path) -> list[Snapshot]:
    found = []
    for path in (folder / "read").glob("*.json"):
        told = json.loads(path.read_text())
        found.append(Snapshot(version_of(path.stem), told["modules"], frozenset(told["failed"])))
    return sorted(found, key=lambda one: one.version)


def known(snapshot: Snapshot, module: str) -> bool:
    """Returns true if the contents of a module are known in a release: it was read, or it certainly does not exist."""
    parts = module.split(".")
    if any(".".join(parts[:end]) in snapshot.unread for end in range(1, len(parts) + 1)):
        return False
    parent, _, last = module.rpartition(".")
    # A module may survive only as an attribute of its package.
    return module in snapshot.modules or last not in snapshot.modules.get(parent, {})


def states(releases: list[Snapshot], module: str, name: str) -> list[tuple[Version, str]]:
    """Returns the state of a name in each release that can tell."""
    found = []
    for one in releases:
        if known(one, module) and f"{module}.{name}" not in one.unread:
            own = one.modules.get(module, {}).get(name)
            whole = f"{module}.{name}" in one.modules
            found.append((one.version, own[0] if own is not None else "here" if whole else "gone"))
    return found


def life(told: list[tuple[Version, str]]) -> Life | None:
    """Derives the removal and the deprecation from the states of a name by release; None if neither happened."""
    here = [place for place, (_, state) in enumerate(told) if state != "gone"]
    if not any(state in ("here", "going") for _, state in told):
        return None
    last = here[-1]
    removed = told[last + 1][0] if last + 1 < len(told) else None
    deprecated = None
    if told[last][1] == "going":
        first = last
        while first > 0 and told[first - 1][1] == "going":
            first -= 1
        deprecated = told[first][0]
    return Life(deprecated, removed) if removed or deprecated else None


def lives(releases: list[Snapshot]) -> dict[str, dict[str, Life]]:
    """Returns the life of each name, by module; a module that is gone covers its names by its own entry."""
    names: dict[str, set[str]] = defaultdict(set)
    for one in releases:
        for module, held in one.modules.items():
            if module.startswith(NOT_TOLD):
                continue
            names[module].update(held)
            parent, _, last = module.rpartition(".")
            if parent:
                names[parent].add(last)
    found: dict[str, dict[str, Life]] = {}
    for module in sorted(names):
        of_module = {name: life(states(releases, module, name)) for name in sorted(names[module])}
        found[module] = {name: one for name, one in of_module.items() if one is not None}
    gone = {f"{module}.{name}": one.removed for module, held in found.items() for name, one in held.items()}
    told = {
        module: {name: one for name, one in held.items() if _adds(module, one, gone)} for module, held in found.items()
    }
    return {module: held for module, held in told.items() if held}


def _adds(module: str, one: Life, gone: dict[str, Version | None]) -> bool:
    """Returns true if a life says more than that of the module, which says that all its names went at once."""
    parts = module.split(".")
    of_module = [gone.get(".".join(parts[:end])) for end in range(1, len(parts) + 1)]
    removed = min((version for version in of_module if version is not None), default=None)
    if removed is None:
        return True
    return (one.removed is not None and one.removed < removed) or (
        one.deprecated is not None and one.deprecated < removed
    )


def keyword_lives(releases: list[Snapshot]) -> dict[str, dict[str, Life]]:
    """Returns the life of each keyword argument of each function that still exists."""
    told: dict[str, dict[str, list[tuple[Version, str]]]] = defaultdict(lambda: defaultdict(list))
    signatures: dict[str, list[tuple[Version, list[str]]]] = defaultdict(list)
    for one in releases:
        for module, held in one.modules.items():
            for name, (_, taken, _) in held.items() if not module.startswith(NOT_TOLD) else ():
                if taken is not None and OF_ENUMS.isdisjoint(taken):
                    signatures[f"{module}.{name}"].append((one.version, taken))
    for dotted, seen in signatures.items():
        every = {keyword.rstrip("!") for _, taken in seen for keyword in taken if keyword != "*"}
        for version, taken in seen:
            for keyword in every if "*" not in taken else ():
                what = "here" if keyword in taken else "going" if f"{keyword}!" in taken else "gone"
                told[dotted][keyword].append((version, what))
    found = {
        dotted: {keyword: life(states) for keyword, states in sorted(of_one.items())}
        for dotted, of_one in sorted(told.items())
    }
    return {
        dotted: held
        for dotted, lived in found.items()
        if (held := {keyword: one for keyword, one in lived.items() if one is not None})
    }


def spelled(version: Version | None) -> str:
    return ".".join(map(str, version)) if version is not None else ""


def lines_of(held: dict[str, Life]) -> str:
    """Returns the lives of the names in one place: `0.7.0-0.8.1 load store; -0.4.36 old`."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, one in held.items():
        alike[(spelled(one.deprecated), spelled(one.removed))].append(name)
    parts = [f"{first}-{last} {' '.join(names)}" for (first, last), names in sorted(alike.items())]
    return "; ".join(parts)


def literal(name: str, table: dict[str, dict[str, Life]]) -> str:
    rows = []
    for place, held in table.items():
        text = lines_of(held)
        rows += (
            [f'    "{place}": (', *_wrapped(text), "    ),"]
            if len(place) + len(text) > 106
            else [f'    "{place}": "{text}",']
        )
    return "\n".join([f"{name}: dict[str, str] = {{", *rows, "}"])


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(text, 108, break_long_words=False, break_on_hyphens=False)
    return [f'        "{line}{" " if number < len(lines) else ""}"' for number, line in enumerate(lines, 1)]


def write(folder: Path) -> None:
    releases = snapshots(folder)
    newest = [one for one in releases if one.version[:2] == releases[-1].version[:2]][-1]
    listed = " ".join(spelled(one.version) for one in releases)
    TABLE.write_text(
        "\n".join(
            [
                '"""Names and keywords that releases of JAX removed or warn of; written by tests/bench/releases.py."""',
                "",
                "from __future__ import annotations",
                "",
                "# Made of what each release says when it is imported: change the script, not this file.",
                "",
                "RELEASES = (",
                *_wrapped_flat(listed),
                ")",
                '"""The releases that were read."""',
                "",
                literal("NAMES", lives(releases)),
                '"""By module: first release that warns, first release without, and the names."""',
                "",
                literal("KEYWORDS", keyword_lives(releases)),
                '"""By function: the same of its keyword arguments."""',
                "",
            ]
        )
    )
    print(f"{len(releases)} releases up to {spelled(newest.version)}")


def _wrapped_flat(text: str) -> list[str]:
    return [line[4:] for line in _wrapped(text)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("what", choices=("fetch", "read", "write"))
    asked.add_argument("folder", type=Path)
    asked.add_argument("releases", nargs="*")
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--also", nargs="*", default=[], help="more requirements, such as numpy<2 for old releases")
    given = asked.parse_args()
    if given.what == "fetch":
        fetch(given.folder, given.releases, given.python, given.also)
    elif given.what == "read":
        read(given.folder, given.python)
    else:
        write(given.folder)


if __name__ == "__main__":
    main()
