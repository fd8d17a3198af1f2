"""The start of a multi-process program, which joins the processes before anything requests devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from meshlens.facts.model import Block
from meshlens.facts.nodes import (
    NOTHING,
    Call,
    ClassDef,
    Comparison,
    Constant,
    ExpressionStatement,
    FunctionDef,
    If,
    Import,
    ImportFrom,
    Lambda,
    Name,
    Pass,
    SeparateDef,
    Statement,
)
from meshlens.project.trees import Node, children
from meshlens.project.view import FileView
from meshlens.project.views import view_of
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.importing import imported_by, reached_from
from meshlens.refactoring.writing.helpers import with_helper
from meshlens.refactoring.writing.placing import Place
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import Edit, FileEdit, Span

_JOIN = '''\
def {name}():
    """Joins the processes of a cluster, or those that environment variables describe, if there are any."""
    variables = {{"num_processes": "JAX_NUM_PROCESSES", "process_id": "JAX_PROCESS_ID"}}
    given = {{name: int({environ}[key]) for name, key in variables.items() if key in {environ}}}
    try:
        {initialize}(**given)
    except ValueError as error:
        if given or "coordinator_address" not in str(error):
            raise'''

# These only create functions or describe layouts; anything else in JAX may start a backend.
_LAZY = frozenset(
    """jax.jit jax.pmap jax.vmap jax.shard_map jax.experimental.shard_map.shard_map jax.grad jax.value_and_grad
    jax.checkpoint jax.remat jax.custom_vjp jax.custom_jvp jax.config.update jax.sharding.PartitionSpec
    jax.ShapeDtypeStruct jax.tree_util.Partial functools.partial""".split()
)
_PLAIN = (Import, ImportFrom, Pass, SeparateDef)


class _Top(NamedTuple):
    """A statement of the top level, with its block."""

    block: Block
    statement: Statement


def joining(view: FileView, spelling: Spelling) -> tuple[FileEdit, ...]:
    """Returns the edits that join the processes at the start of a file's program.

    Raises:
        Obstacle: devices are requested before the file's program starts, or it is unknown where the program starts.
    """
    for other in _imported(view):
        asking = (one for one in _top(other) if any(_asks(other, node) for node in _run(one.statement)))
        first = next(asking, None)
        if first is not None:
            line = other.lines.line_of(first.block.span(0).start) + 1
            raise Obstacle("devices-at-import", f"importing {other.path.name} runs line {line}, which requests devices")
    name, helper = with_helper(
        view, "join_processes", _JOIN, environ=spelling.of("os", "environ"),
        initialize=spelling.of("jax", "distributed.initialize"),
    )  # fmt: skip
    at, indent, definition = _start(view)
    text = Place(at, indent, True, definition).text(f"{name}()")
    return (*helper, FileEdit(view.path, Edit(Span(at, at), text)))


def _start(view: FileView) -> tuple[int, str, bool]:
    """Returns the start of the program, the indentation there, and whether a definition follows."""
    mains = ((one.block, one.statement) for one in _top(view) if _is_main(one.statement))
    block, main = next(mains, (None, None))
    if (
        block is not None
        and isinstance(main, If)
        and not any(_may_ask(view, node) for one in _top(view) for node in _run(one.statement))
    ):
        start = block.span(main.body[0].site).start
        line = view.source.rfind(b"\n", 0, start) + 1
        head = view.source[line:start].decode()
        if not head.strip():
            return start, head, False
    importer = next((path for path in sorted(view.solution.facts) if _imports(view, path)), None)
    if importer is not None:
        message = f"{importer.rsplit('/', 1)[-1]} imports this file, which would then call jax.distributed.initialize"
        raise Obstacle("imported", message)
    for one in _top(view):
        shape = one.statement
        is_text = isinstance(shape, ExpressionStatement) and isinstance(shape.value, Constant)
        if not isinstance(shape, (Import, ImportFrom)) and not is_text:
            start = one.block.span(0).start
            return start, "", isinstance(shape, (FunctionDef, SeparateDef, ClassDef))
    raise Obstacle("no-program", "this file contains no code to run")


def _imports(view: FileView, path: str) -> bool:
    return path != str(view.path) and any(one.path == str(view.path) for one in imported_by(view, path))


def _asks(view: FileView, node: Node) -> bool:
    """Returns whether a call certainly requests devices."""
    name = dotted_name(view, node.callee) if isinstance(node, Call) else ""
    return name.startswith("jax.") and name not in _LAZY


def _may_ask(view: FileView, node: Node) -> bool:
    """Returns whether a call may request devices, assuming that workspace functions and objects do not."""
    if not isinstance(node, Call):
        return False
    return not dotted_name(view, node.callee) or _asks(view, node)


def _run(node: Node) -> Iterator[Node]:
    """Yields the nodes of a top-level statement that run at import, without function bodies or the main program."""
    if isinstance(node, (_PLAIN, Lambda)):
        return
    if isinstance(node, If) and _is_main(node):
        return
    yield node
    below = children(node)
    if isinstance(node, FunctionDef):
        parameters, decorators = node.function.parameters, node.function.decorators
        below = iter([*decorators, *(one.default for one in parameters if one.default is not None)])
    for child in below:
        yield from _run(child)


def _is_main(shape: Node) -> bool:
    test: Node = shape.test if isinstance(shape, If) else NOTHING
    names = test.operands if isinstance(test, Comparison) else ()
    return any(isinstance(item, Name) and item.name == "__name__" for item in names)


def _top(view: FileView) -> Iterator[_Top]:
    for key, statement in zip(view.facts.top, view.facts.statements, strict=True):
        yield _Top(view.facts.blocks[key], statement)


def _imported(view: FileView) -> Iterator[FileView]:
    """Yields views of the workspace files that run when a file is imported."""
    for path in sorted(reached_from(view, str(view.path)) - {str(view.path)}):
        yield view_of(view, path)
