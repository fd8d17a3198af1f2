"""Which modules may import which: a package only those to its left, a library only where it belongs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from own_sources import modules, nodes_of

LEVELS = (
    ("text", "caches", "foreign_files", "launching"),
    ("devices",),
    ("settings",),
    ("syntax",),
    ("jaxapi",),
    ("facts",),
    ("axes",),
    ("project",),
    ("tracing",),
    ("checking",),
    ("refactoring",),
    ("rules", "assists", "ide"),
    ("lsp",),
    ("cli",),
    ("start",),
    ("__main__",),
)
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}

HOMES = {
    "ruamel": "project/disk/yaml_text.py",
    "tree_sitter": "syntax/",
    "tree_sitter_python": "syntax/",
    "jedi": "project/jedi_bridge.py",
    "platformdirs": "caches/",
    "pygls": "lsp/",
    "lsprotocol": "lsp/",
    "rich": "cli/",
    "click": "cli/",
    "jax": "devices/probe.py tracing/worker/",
    "jaxlib": "devices/probe.py tracing/worker/",
}
CONCURRENCY = {"asyncio", "threading", "concurrent.futures", "_thread", "multiprocessing"}
# Cold scans go to worker processes, which the command line and the server start and the core only provides.
MAY_RUN_ASIDE = (
    "lsp/",
    "cli/",
    "devices/runner.py",
    "tracing/warm.py",
    "project/disk/pool.py",
    "project/disk/workers.py",
)

READING_COMPLAINT = "outside foreign_files: a file of others can be a device, a pipe, or endless"
MAY_READ = {
    "foreign_files.py": "the one reader",
    "caches/folder.py": "the mark of our own cache folder, to write",
    "caches/own_files.py": "our own caches, without following links",
    "cli/writing.py": "files that were read before, to write",
    "devices/reports.py": "the kernel's id of this boot",
    "devices/processes.py": "files that we make for a child, and the kernel's list of variables",
    "devices/probe.py": "runs in the user's Python, which has no MeshLens to import; a child that is ended in time",
    "tracing/worker/start.py": "runs in the user's Python, which has no MeshLens to import",
    "tracing/worker/entries.py": "the same",
    "tracing/worker/performing.py": "the same",
    "tracing/worker/plugin.py": "a file of our own package",
    "project/snippets.py": "a file of our own package",
    "lsp/to_lsp.py": "a file of our own package",
    "cli/main.py": "the null device, to write to",
    "lsp/beside/aside.py": "the memory of its own process, as the kernel tells it",
}


def complaints(trees: Mapping[str, ast.Module]) -> list[str]:
    """Returns every breach of the layering in the modules of a package."""
    return [f"{name}:{line}: {text}" for name, tree in trees.items() for line, text in _of_file(name, tree)]


def _of_file(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for line, module in _imports(name, tree):
        if module.split(".")[0] == "meshlens":
            yield from ((line, text) for text in _inside(name, module))
        else:
            yield from ((line, text) for text in _outside(name, module))
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            if not name.startswith(("cli/", "devices/probe.py", "tracing/worker/")):
                yield node.lineno, "print outside cli"
        elif (called := _reads(node)) and name not in MAY_READ:
            yield node.lineno, f"{called} {READING_COMPLAINT}"
        elif isinstance(node, (ast.AsyncFunctionDef, ast.Await)) and not name.startswith("lsp/"):
            yield node.lineno, "async below lsp"


def _reads(node: ast.AST) -> str:
    """Returns the name by which a file is read, called or passed on; our own readers are imported by name."""
    if isinstance(node, ast.Attribute) and node.attr in ("read_bytes", "read_text"):
        return node.attr
    called = node.func if isinstance(node, ast.Call) else None
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    return name if name == "open" else ""


def _imports(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    package = ["meshlens", *Path(name).parent.parts]
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            if module == "meshlens":
                yield from ((node.lineno, f"meshlens.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def _inside(name: str, module: str) -> Iterator[str]:
    here = Path(name).parts[0].removesuffix(".py")
    there = module.split(".")[1] if "." in module else ""
    if here in ("__init__", there) or not there:
        return
    if there not in LEVEL or here not in LEVEL:
        yield f'"{there if there not in LEVEL else here}" has no place in the layers'
    elif LEVEL[there] >= LEVEL[here]:
        yield f"{here} imports {there}, which is not to its left"


def _outside(name: str, module: str) -> Iterator[str]:
    library = module.split(".")[0]
    home = HOMES.get(library)
    if home is not None and not name.startswith(tuple(home.split())):
        yield f"{library} belongs in {home}"
    if module in CONCURRENCY and not name.startswith(MAY_RUN_ASIDE):
        yield f"{module} below lsp"


@pytest.mark.slow
def test_every_import_goes_to_the_left():
    assert not complaints(modules())


def test_the_package_is_read():
    assert len(modules()) > 20


@pytest.mark.parametrize(
    ("name", "source", "complaint"),
    [
        ("facts/extract.py", "from meshlens.axes.runs.run import run", "facts imports axes, which is not to its left"),
        ("facts/extract.py", "from ..rules import _model", "facts imports rules, which is not to its left"),
        ("rules/unbound_axis.py", "import meshlens.ide.hovering.hover", "rules imports ide, which is not to its left"),
        ("text.py", "from meshlens import syntax", "text imports syntax, which is not to its left"),
        ("axes/helper.py", "from meshlens.misc import thing", '"misc" has no place in the layers'),
        ("facts/extract.py", "import tree_sitter", "tree_sitter belongs in syntax/"),
        ("project/modules.py", "def f():\n    import jedi", "jedi belongs in project/jedi_bridge.py"),
        ("cli/main.py", "from lsprotocol import types", "lsprotocol belongs in lsp/"),
        ("checking/check.py", "from rich.console import Console", "rich belongs in cli/"),
        ("axes/runs/run.py", "import jax.numpy as jnp", "jax belongs in devices/probe.py tracing/worker/"),
        ("project/disk/cache.py", "print('hello')", "print outside cli"),
        ("project/disk/cache.py", "async def f(): ...", "async below lsp"),
        ("project/disk/cache.py", "import threading", "threading below lsp"),
        *(
            ("project/imports.py", source, f"{called} {READING_COMPLAINT}")
            for called, source in (
                ("open", "with open(path) as file: pass"),
                ("open", "file = path.open('rb')"),
                ("open", "import os\nhandle = os.open(path, os.O_RDONLY)"),
                ("read_bytes", "path.read_bytes()"),
                ("read_text", "texts = map(Path.read_text, paths)"),
            )
        ),
    ],
)
def test_a_planted_breach_is_seen(name, source, complaint):
    assert [text.split(": ", 1)[1] for text in complaints({name: ast.parse(source)})] == [complaint]


def test_every_exception_is_still_needed():
    for name in MAY_READ:
        assert any(map(_reads, nodes_of(modules()[name]))), name


def test_what_is_allowed_is_not_seen():
    source = "from meshlens.checking.model import Finding\nfrom . import _registry\n"
    assert not complaints({"rules/x.py": ast.parse(source), "__init__.py": ast.parse("")})
