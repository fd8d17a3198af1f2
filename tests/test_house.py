"""The house rules that code can check: folders, parameter counts, late imports, access to nodes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from meshlens.facts.extract import extract
from own_sources import SERVER, modules, nodes_of
from reading_nodes import MAY_READ_BY_NUMBER, PACKAGE

MOST_MODULES = 30
MAY_BE_LONGER = {
    "rules": "one file for each rule: the listing is the list of rules",
    "lsp/handlers": "one file for each request of the protocol",
}
MOST_PARAMETERS = 6
MAY_TAKE_MORE = {
    "cli/parallelize.py: command": "click gives each option of the command as a parameter",
    "cli/devices.py: command": "click gives each option of the command as a parameter",
}
OWN_MODULES_LATE = {
    "cli": "a command loads what it runs, so that `--help` and a result from the cache come at once",
    "lsp": "`initialize` is answered before what later requests need is loaded",
    "start.py": "a server needs no command line, and a command no server",
}
"""Packages whose functions may import modules of MeshLens, which makes the start faster."""
LIBRARIES_LATE = {
    "cli": OWN_MODULES_LATE["cli"],
    "lsp": OWN_MODULES_LATE["lsp"],
    "devices": "the probe runs in the user's Python, and what it needs of a platform may not be there",
    "tracing/worker": "runs in the user's Python, where JAX is imported after its devices are set",
    "project": "jedi, multiprocessing, tomllib and packaging take tens of milliseconds, and few projects need them",
}
"""Packages whose functions may import libraries, because that makes the start faster or they may be missing."""
COMPILED = ("syntax", "facts", "axes", "project", "checking", "rules")


@cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Returns the functions of MeshLens, each with its module."""
    return [
        (name, node)
        for name, tree in modules().items()
        for node in nodes_of(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns how many parameters a function has, without `self` and `cls`."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    receiver = names[:1] in (["self"], ["cls"])
    return len(names) + len(given.kwonlyargs) + (given.vararg is not None) + (given.kwarg is not None) - receiver


def late_imports() -> Iterator[tuple[str, str]]:
    """Yields the modules that are imported in functions, each after the module that imports it."""
    for module, function in functions():
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom):
                yield module, node.module or ""
            elif isinstance(node, ast.Import):
                yield from ((module, name.name) for name in node.names)


def test_no_folder_has_more_modules_than_a_page():
    counts = Counter(path.parent.relative_to(SERVER).as_posix() for path in SERVER.rglob("*.py"))
    assert {folder for folder, count in counts.items() if count > MOST_MODULES} == set(MAY_BE_LONGER)


def test_a_node_that_is_read_by_number_fails_a_test():
    """Tests `reading_nodes.py`, which watches whatever the tests run."""
    (block,) = extract(b"f(x)\n").blocks.values()
    code = compile("def read(node): return node[0]", f"{PACKAGE}axes/made_up.py", "exec")
    made: dict = {}
    exec(code, made)
    with pytest.raises(AssertionError, match=r"axes/made_up.py reads ExpressionStatement\[0\]"):
        made["read"](block.shape)
    assert block.shape[0] == "expr", "tests may"


@pytest.mark.slow
def test_functions_take_few_parameters():
    long = {f"{module}: {one.name}" for module, one in functions() if parameters(one) > MOST_PARAMETERS}
    assert long == set(MAY_TAKE_MORE)


@pytest.mark.slow
def test_imports_in_functions_are_for_start_up_time():
    def is_in(module: str, rooms: dict[str, str]) -> bool:
        return any(module == room or module.startswith(f"{room}/") for room in rooms)

    late = list(late_imports())
    own = {module for module, name in late if name.startswith("meshlens") and not is_in(module, OWN_MODULES_LATE)}
    assert own == set()
    libraries = {module for module, name in late if not name.startswith("meshlens")}
    assert {module for module in libraries if not is_in(module, LIBRARIES_LATE)} == set()


@pytest.mark.slow
def test_fields_of_named_tuples_have_types_that_are_imported():
    """Checks that the fields' types exist at run time, because mypyc builds named tuples with them."""
    missing = [
        f"{module}: {made.name}.{name}"
        for module, tree in modules().items()
        for made in nodes_of(tree)
        if isinstance(made, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in made.bases)
        for name in sorted(_names(made) & _only_for_type_checkers(tree))
    ]
    assert missing == []


@pytest.mark.slow
def test_no_type_alias_stands_for_anything():
    aliases = [
        f"{module}:{made.lineno}"
        for module, tree in modules().items()
        for made in nodes_of(tree)
        if isinstance(made, ast.AnnAssign) and ast.unparse(made.annotation) == "TypeAlias"
        if made.value is not None and ast.unparse(made.value) == "Any"
    ]
    assert aliases == []


def test_nothing_is_written_that_mypyc_gets_wrong():
    """Checks for `in` on a generator or on `(a, *b)`, and for a slice that starts before the first byte."""
    compiled = [(module, tree) for module, tree in modules().items() if module.startswith(COMPILED)]
    nodes = [(module, node) for module, tree in compiled for node in nodes_of(tree)]
    generators = {
        node.name
        for _, node in nodes
        if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns).startswith("Iterator")
    }
    searched = [
        f"{module}:{node.lineno}"
        for module, node in nodes
        if isinstance(node, ast.Compare) and isinstance(node.ops[-1], (ast.In, ast.NotIn))
        for one in [node.comparators[-1]]
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in generators
    ]
    before = [
        f"{module}:{node.lineno}"
        for module, node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)
        if isinstance(node.slice.lower, ast.BinOp) and re.search(r"\[(\w+) - \d:\1\]", ast.unparse(node))
    ]
    unpacked = [
        f"{module}:{node.lineno}"
        for module, node in nodes
        if isinstance(node, ast.Compare) and isinstance(node.ops[-1], (ast.In, ast.NotIn))
        if isinstance(node.comparators[-1], (ast.Tuple, ast.List, ast.Set))
        if any(isinstance(item, ast.Starred) for item in node.comparators[-1].elts)
    ]
    assert searched + before + unpacked == []


def _names(made: ast.ClassDef) -> set[str]:
    types = [field.annotation for field in made.body if isinstance(field, ast.AnnAssign)]
    return {node.id for one in types for node in ast.walk(one) if isinstance(node, ast.Name)}


def _only_for_type_checkers(tree: ast.Module) -> set[str]:
    guarded = [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]
    imports = [one for block in guarded for one in block.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    return {alias.asname or alias.name for one in imports for alias in one.names}


def test_a_long_list_of_parameters_and_a_late_import_are_noticed():
    (function,) = ast.parse("def f(self, a, b, *c, d, **e): ...").body
    assert isinstance(function, ast.FunctionDef)
    assert parameters(function) == 5
    assert {"lsp/collector.py", "project/disk/pool.py"} <= {module for module, _ in late_imports()}


def test_exceptions_are_few_and_each_has_its_reason():
    lists = (MAY_BE_LONGER, MAY_READ_BY_NUMBER, MAY_TAKE_MORE, LIBRARIES_LATE)
    assert max(map(len, lists)) <= 5
    assert all(reason for one in lists for reason in one.values())
    assert all((SERVER / module).is_file() for module in MAY_READ_BY_NUMBER)
