"""Resolves import statements to files of the workspace, without IO."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from meshlens.axes.domain.values import Module
from meshlens.axes.runs.programs import is_program
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import If, Import, ImportFrom, Try, With
from meshlens.facts.walking import nodes

LIBRARIES = frozenset({"jax", "jaxlib", "flax", "haiku", "equinox", "optax", "chex", "objax", "haliax", "numpy"})
_IMPORTS = (Import, ImportFrom)
_HOLD_IMPORTS = (If, Try, With)
SOURCE_FOLDERS = ("", "src", "lib", "python", "server")


class ModuleIndex:
    """The modules and packages of a workspace.

    Packages need no `__init__.py`. Libraries that MeshLens has tables for count as outside the workspace even if their
    source is in it, unless their own files import them.
    """

    def __init__(self, paths: Iterable[str], roots: Iterable[str]) -> None:
        self._files = frozenset(path for path in paths if path.endswith(".py"))
        self._roots = tuple(roots)
        self._folders: set[str] = set()
        for path in self._files:
            folder = _parent(path)
            while folder not in self._folders and folder not in ("", "/"):
                self._folders.add(folder)
                folder = _parent(folder)
        self._found: dict[tuple[str, int, str], Module | None] = {}

    @property
    def roots(self) -> tuple[str, ...]:
        """Returns the folders that imports are resolved from."""
        return self._roots

    def locate(self, importer: str, level: int, module: str) -> Module | None:
        """Returns the module that `from <dots><module> import …` in a file refers to."""
        folder = _parent(importer)
        key = (folder, level, module)
        if key not in self._found:
            self._found[key] = self._relative(folder, level, module) if level else self._absolute(folder, module)
        return self._found[key]

    def submodule(self, module: Module, name: str) -> Module | None:
        """Returns a module or package inside a package."""
        base = self._folder_of(module)
        return self._at(f"{base}/{name}", f"{module.name}.{name}") if base is not None else None

    def _folder_of(self, module: Module) -> str | None:
        if module.path is None:
            return module.name.split(":", 1)[1] if ":" in module.name else None
        return _parent(module.path) if module.path.endswith("/__init__.py") else None

    def _relative(self, folder: str, level: int, module: str) -> Module | None:
        for _ in range(level - 1):
            folder = _parent(folder)
        return self._at("/".join((folder, *module.split("."))) if module else folder, module)

    def _absolute(self, folder: str, module: str) -> Module | None:
        parts = module.split(".")
        if parts[0] in LIBRARIES and f"/{parts[0]}/" not in f"{self._under_root(folder)}/":
            return None
        if parts[0] == "jax":
            return None
        current, around = folder, None
        while True:
            for extra in SOURCE_FOLDERS:
                base = f"{current}/{extra}" if extra else current
                found = self._at("/".join((base, *parts)), module)
                if found is not None and (found.path is not None or len(parts) > 1 or extra):
                    return found
                if found is not None and around is None and f"{folder}/".startswith(f"{base}/{parts[0]}/"):
                    # A checkout often has the name of its package, so the inner folder is the package.
                    around = found
                if found is not None and current in self._roots:
                    return around or found
            if current in self._roots or current in ("", "/"):
                return around
            current = _parent(current)

    def _under_root(self, folder: str) -> str:
        """Returns the part of a folder's path below the root that contains it, because a root may have any name."""
        below = [folder.removeprefix(root) for root in self._roots if f"{folder}/".startswith(f"{root}/")]
        return min(below, key=len, default=folder)

    def _at(self, base: str, name: str) -> Module | None:
        if base + ".py" in self._files:
            return Module(name, base + ".py")
        if base + "/__init__.py" in self._files:
            return Module(name, base + "/__init__.py")
        if base in self._folders:
            return Module(f"{name}:{base}", None)
        return None


def packages_around(paths: Iterable[str], files: Container[str]) -> frozenset[str]:
    """Returns the `__init__.py` files of the packages that contain these modules; Python runs those files first."""
    found: set[str] = set()
    for path in paths:
        folder = _parent(path)
        while (package := f"{folder}/__init__.py") in files and package not in found:
            found.add(package)
            folder = _parent(folder)
    return frozenset(found)


def imported_by(facts: FileFacts, path: str, index: ModuleIndex) -> Iterator[str]:
    """Yields the workspace files that the top level of a file imports, in order, possibly with duplicates."""
    for key in facts.top:
        shape = facts.blocks[key].header
        if isinstance(shape, _IMPORTS):
            yield from _files_of(shape, path, index)
        elif isinstance(shape, _HOLD_IMPORTS) and not is_program(shape):
            for node in nodes(shape):
                if isinstance(node, _IMPORTS):
                    yield from _files_of(node, path, index)


def _files_of(statement: Import | ImportFrom, path: str, index: ModuleIndex) -> Iterator[str]:
    found: list[Module | None] = []
    if isinstance(statement, Import):
        found = [index.locate(path, 0, dotted) for dotted, _, _ in statement.names if dotted]
    elif isinstance(statement, ImportFrom):
        module = index.locate(path, statement.level, statement.module)
        if module is not None:
            found = [module, *[index.submodule(module, text) for text, _, _ in statement.names if text != "*"]]
    for one in found:
        if one is not None and one.path is not None:
            yield one.path


def _parent(path: str) -> str:
    head = path.rpartition("/")[0]
    return head or ("/" if path.startswith("/") else ".")
