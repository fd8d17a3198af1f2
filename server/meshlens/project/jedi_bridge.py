"""Queries jedi about installed packages: where and how they define a name.

jedi reads sources and stubs. It would import modules that have neither, such as extension modules; `look_up` leaves it
nothing to import from, and `import_nothing_else` prevents its process from importing anything but Python's own modules,
jedi's and ours. jedi is slow, so it runs in another process and never while the user types.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshlens.devices.environments import environment_of, packages_of
from meshlens.foreign_files import Unread
from meshlens.project.disk.python_text import read_source
from meshlens.project.settings.jax_version import package_folders
from meshlens.settings import Settings
from meshlens.text import LineIndex, Span

_LARGEST = 3_000_000
_NEVER = frozenset(
    "os.exec os.fork os.forkpty os.posix_spawn os.spawn os.startfile os.system pty.spawn socket.connect socket.bind "
    "subprocess.Popen ctypes.dlopen".split()
)


@dataclass(frozen=True, slots=True)
class Found:
    """The place of a definition.

    Attributes:
        path, span: the location of the name in the assignment or definition.
        line: its line number, counting from 1.
        names: the string assigned to the name, or the strings in a tuple assigned to it; empty for anything else.
        documentation: its docstring, or the comment of its assignment.
    """

    path: Path
    span: Span
    line: int
    names: tuple[str, ...]
    documentation: str


def package_paths(root: Path, settings: Settings) -> tuple[Path, ...]:
    """Returns the folders of packages: those of the project's environment, or else of MeshLens's own environment.

    Args:
        root: the project.
        settings: its settings; a configured interpreter takes precedence over environments in the project.
    """
    own = tuple(folder for folder in package_folders(root, settings) if folder.is_dir())
    if not own:
        own = tuple(Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))
    # A Python that was started without `site` does not have its own packages on its path.
    return own or tuple(packages_of(environment_of(sys.executable)))


def import_nothing_else() -> None:
    """Prevents this process from importing anything but Python's own modules, jedi's and ours.

    jedi puts the paths of a project into `sys.path` while it searches them; meanwhile nothing at all is imported,
    because a standard library module needed at that moment would be searched for in the project. Starting programs is
    disabled, too.
    This cannot be undone, so call it only in a process that does nothing else.
    """
    import jedi  # noqa: F401  # loads what jedi itself imports, before imports are refused

    own = list(sys.path)
    allowed = frozenset((*sys.stdlib_module_names, "jedi", "parso", "meshlens"))

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _NEVER:
            raise PermissionError(event)
        if event != "import":
            return
        path = arguments[2]
        if arguments[0].partition(".")[0] not in allowed or (path is not None and list(path) != own):
            raise ImportError(f"{arguments[0]} must not be imported here")

    sys.addaudithook(refuse)


def look_up(dotted: str, root: Path, packages: Sequence[Path]) -> Found | None:
    """Returns where a module outside the workspace defines a name.

    Args:
        dotted: the module and the name: `package.constants.AXIS`.
        root: the project.
        packages: the folders of installed packages.

    Returns:
        The place; None if there is no source, or more than one definition.
    """
    import jedi

    module, _, name = dotted.rpartition(".")
    if not module or not all(part.isidentifier() for part in dotted.split(".")):
        return None
    # Do not use the pickled cache, which all programs that use jedi share; let jedi import no modules by itself.
    jedi.settings.use_filesystem_cache = False
    jedi.settings.auto_import_modules = []
    project = jedi.Project(root, sys_path=[*map(str, packages), str(root)], smart_sys_path=False)
    # jedi imports modules without source from the paths that the project shares with its environment: here, none.
    environment = jedi.api.environment.InterpreterEnvironment()
    environment.get_sys_path = list
    code = f"from {module} import {name}\n{name}"
    script = jedi.Script(code, project=project, environment=environment)
    places = script.goto(2, 0, follow_imports=True, follow_builtin_imports=False)
    if len(places) != 1 or places[0].module_path is None or places[0].line is None or places[0].type == "module":
        return None
    (place,) = places
    return _found(Path(place.module_path), place.line, place.column, place.name, place.description, place.docstring())


def _found(path: Path, line: int, column: int, name: str, written: str, documentation: str) -> Found | None:
    raw = read_source(path, _LARGEST)
    if isinstance(raw, Unread):
        return None
    start = LineIndex(raw).offset(line - 1, column, "utf-32")
    span = Span(start, start + len(name.encode()))
    if raw[span.start : span.end] != name.encode():
        return None
    return Found(path, span, line, _strings(written), documentation)


def _strings(written: str) -> tuple[str, ...]:
    """Returns the strings in an assignment `A = "x"` or `A = ("x", "y")`."""
    try:
        (statement,) = ast.parse(written).body
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        held = ast.literal_eval(value) if value is not None else None
    except (SyntaxError, ValueError):
        return ()
    held = held if isinstance(held, (tuple, list)) else (held,)
    return tuple(one for one in held if isinstance(one, str)) if all(isinstance(one, str) for one in held) else ()
