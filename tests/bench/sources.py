"""Python sources of a folder as `ast` sees them, and what their names may mean, without using MeshLens.

Notebooks are not read.  What a file does not say by itself (which module an import means) is guessed by file name.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

DefNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FunctionNode: TypeAlias = DefNode | ast.Lambda
DEF_NODES = (ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTION_NODES = (*DEF_NODES, ast.Lambda)
_SKIPPED = {".git", ".venv", "venv", "node_modules", "build", "dist", "__pycache__"}


@dataclass(eq=False, slots=True)
class Source:
    """One parsed file.

    Attributes:
        path: the path of the file.
        data: its bytes.
        tree: its syntax tree.
        starts: byte offset of each line.
        parents: the parent of every node.
        calls: all calls.
        named: what each name may refer to: functions, classes, assigned expressions.
        imports: local name to dotted name, relative imports with their dots.
    """

    path: Path
    data: bytes
    tree: ast.Module
    starts: list[int]
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    named: dict[str, list[ast.AST]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Returns the bytes of an expression."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def functions_around(self, node: ast.AST) -> Iterator[FunctionNode]:
        """Yields the functions whose body or decorators contain a node, innermost first, including lambdas."""
        at: ast.AST | None = node
        while at is not None:
            if isinstance(at, FUNCTION_NODES):
                yield at
            at = self.parents.get(at)

    def is_visible(self, node: ast.AST, mention: ast.AST) -> bool:
        """Returns true if a name that is defined here (a function, a class, an assigned value) can be meant there."""
        parent = self.parents.get(node)
        if isinstance(node, DEF_NODES) and isinstance(parent, ast.ClassDef):
            return self.parents.get(mention) is parent
        return set(self.functions_around(mention)).issuperset(self.functions_around(parent or node))

    def dotted(self, node: ast.AST) -> str | None:
        """Returns `jax.lax.psum` for an expression that names it, with import aliases undone."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self.imports.get(node.id, node.id), *reversed(parts)])


def read_sources(root: Path) -> dict[Path, Source]:
    """Returns every Python file below a folder that parses."""
    sources = {}
    for path in sorted(root.rglob("*.py")):
        if _SKIPPED.intersection(path.relative_to(root).parts) or not path.is_file() or path.is_symlink():
            continue
        source = _read(path)
        if source is not None:
            sources[path] = source
    return sources


def _read(path: Path) -> Source | None:
    data = path.read_bytes()
    try:
        data.decode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return None
    if data.startswith(b"\xef\xbb\xbf") or b"\f" in data or b"\r" in data.replace(b"\r\n", b""):
        return None
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    source = Source(path, data, tree, starts)
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            source.parents[child] = node
        _note(source, node)
    return source


def _note(source: Source, node: ast.AST) -> None:
    if isinstance(node, ast.Call):
        source.calls.append(node)
    elif isinstance(node, (*DEF_NODES, ast.ClassDef)):
        source.named.setdefault(node.name, []).append(node)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name | ast.Attribute):
                name = target.id if isinstance(target, ast.Name) else target.attr
                source.named.setdefault(name, []).append(node.value)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.split(".")[0]
            source.imports[alias.asname or first] = alias.name if alias.asname else first
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            joint = "" if module.endswith(".") or not module else "."
            source.imports[alias.asname or alias.name] = f"{module}{joint}{alias.name}"


class Project:
    """The sources of a folder, and what their names mean."""

    def __init__(self, sources: dict[Path, Source]) -> None:
        self.sources = sources
        self._by_tail: dict[str, list[tuple[str, ...]]] = {}
        self._paths: dict[tuple[str, ...], Path] = {}
        for path in sources:
            parts = path.parts[:-1] if path.stem == "__init__" else (*path.parts[:-1], path.stem)
            self._paths[parts] = path
            self._by_tail.setdefault(parts[-1], []).append(parts)
        self._meant: dict[tuple[Path, str, FunctionNode | None], list[tuple[Source, ast.AST]]] = {}
        self._calls: dict[str, list[tuple[Source, ast.Call]]] = {}
        for source in sources.values():
            for call in source.calls:
                self._calls.setdefault(_last(call.func), []).append((source, call))

    def calls(self, name: str) -> list[tuple[Source, ast.Call]]:
        """Returns every call whose callee's last name is this one."""
        return self._calls.get(name, [])

    def meant(self, source: Source, mention: ast.expr) -> list[tuple[Source, ast.AST]]:
        """Returns what a name or attribute may refer to in the project: functions, classes, assigned expressions."""
        dotted = source.dotted(mention)
        if dotted is None:
            return []
        key = (source.path, dotted, next(source.functions_around(mention), None))
        if key not in self._meant:
            self._meant[key] = list(self._search(source, mention, dotted))
        return self._meant[key]

    def _search(self, source: Source, mention: ast.expr, dotted: str) -> Iterator[tuple[Source, ast.AST]]:
        root = mention
        while isinstance(root, ast.Attribute):
            root = root.value
        imported = isinstance(root, ast.Name) and root.id in source.imports
        first, _, rest = dotted.lstrip(".").partition(".")
        if not imported and not rest:
            yield from ((source, node) for node in source.named.get(first, ()) if source.is_visible(node, mention))
            return
        if not imported and first in ("self", "cls") and "." not in rest:
            yield from ((source, node) for node in source.named.get(rest, ()))
            return
        found = self._split(source.path, dotted) if imported and first != "jax" else None
        if found is not None:
            for node in self.sources[found[0]].named.get(found[1], ()):
                yield self.sources[found[0]], node

    def _split(self, importer: Path, dotted: str) -> tuple[Path, str] | None:
        """Returns the file that a dotted name means, and the name in that file."""
        level = len(dotted) - len(dotted.lstrip("."))
        *parts, name = dotted.lstrip(".").split(".")
        if level:
            path = self._paths.get((*importer.parents[level - 1].parts, *parts))
            return None if path is None else (path, name)
        if not parts:
            return None
        whole = tuple(parts)
        found = [known for known in self._by_tail.get(parts[-1], ()) if known[-len(whole) :] == whole]
        if not found:
            return None
        nearest = max(found, key=lambda known: (_shared(known, importer.parts), -len(known)))
        return self._paths[nearest], name


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
