"""Reads a file's syntax: the names that statements bind and read, calls to a function, and the code before them.

Nothing is run here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from typing import Any

Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_OWN_NAMES = (*Function, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ASSUMED = re.compile(r"#\s*meshlens:\s*assume\s+(.+)")
_CHANGES_ALL = frozenset({"set_mesh", "use_mesh"})
"""Functions that affect later code although no name connects the two."""


class Site:
    """A place where a function is called, or passed to something that calls it.

    Attributes:
        call: the call.
        owners: the classes and functions that it is in, outermost first.
        chain: the statements that it is in, from the one in the owner's body to the innermost.
        hands_on: whether the function is an argument of the call instead of the callee.
    """

    def __init__(self, call: ast.Call, owners: tuple[Any, ...], chain: tuple[ast.stmt, ...], hands_on: bool) -> None:
        self.call = call
        self.owners = owners
        self.chain = chain
        self.hands_on = hands_on

    @property
    def owner(self) -> Any:
        """Returns the function whose code makes the call; None for the file itself."""
        return next((one for one in reversed(self.owners) if isinstance(one, Function)), None)


class Step:
    """A part of the code that runs before a call.

    Attributes:
        node: the statement that runs; an assignment if a loop, a context or a comment provides a value.
        context: whether a `with` enters a context here; then `node` assigns the context to its name, or to `_`.
        binds: the names that it binds, or whose value it changes.
        changes: the name of the object whose method it calls: `parser` in `parser.add_argument(…)`.
        reads: the names that it reads.
    """

    def __init__(self, node: ast.stmt, context: bool = False) -> None:
        self.node = node
        self.context = context
        self.binds = binds(node)
        self.changes = changed_by_call(node)
        self.reads = reads(node)


class Source:
    """A file's syntax tree, and the assignments in its comments.

    Attributes:
        file: its path.
        tree: its module.
        assumed: the assignments in its comments, by row.
        modules: the names that it imports.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.tree = ast.parse(text, file)
        self.assumed = dict(_assumptions(text))
        self.modules = {
            name for one in ast.walk(self.tree) if isinstance(one, (ast.Import, ast.ImportFrom)) for name in binds(one)
        }

    def sites(self, name: str, aliases: bool = True) -> list[Site]:
        """Returns the calls to a function or to a transformed version of it, then the calls that it is passed to."""
        names = {name}
        if aliases:
            names |= set(self._aliases(name))
        found = list(self._sites(self.tree, (), (), names))
        return sorted(found, key=lambda site: (site.hands_on, site.call.lineno))

    def definition(self, dotted: str) -> Any:
        """Returns the definition of a function, by its qualified name; None if there is none."""
        wanted = dotted.split(".")
        for owners in self._definitions(self.tree, ()):
            names = [one.name for one in owners]
            if names[-len(wanted) :] == wanted:
                return owners[-1]
        return None

    def _definitions(self, node: ast.AST, owners: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        for child in ast.iter_child_nodes(node):
            inner = (*owners, child) if isinstance(child, Scope) else owners
            if inner is not owners and isinstance(child, Function):
                yield inner
            yield from self._definitions(child, inner)

    def _aliases(self, name: str) -> Iterator[str]:
        """Yields the names of transformed versions of the function: `fast = jax.jit(step)`."""
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if any(_last(one) == name for one in _operands(node.value)):
                yield from (last for target in node.targets if (last := _last(target)))

    def _sites(
        self, node: ast.AST, owners: tuple[Any, ...], chain: tuple[ast.stmt, ...], names: set[str]
    ) -> Iterator[Site]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Lambda):
                continue
            if isinstance(child, ast.Call):
                if _last(child.func) in names:
                    yield Site(child, owners, chain, False)
                elif any(_last(one) in names for one in _operands(child)) and chain and _is_handed_on(child, chain[-1]):
                    yield Site(child, owners, chain, True)
            if isinstance(child, Scope):
                for one in (*child.decorator_list, *getattr(child, "bases", ())):
                    yield from self._sites(one, owners, chain, names)
                for one in child.body:
                    yield from self._sites(_Holder(one), (*owners, child), (), names)
            elif isinstance(child, ast.stmt):
                yield from self._sites(child, owners, (*chain, child), names)
            else:
                yield from self._sites(child, owners, chain, names)

    def steps(self, site: Site) -> list[Step]:
        """Returns the steps before a call in its owner's body, in order, with one iteration of each loop around it."""
        body = site.owner.body if site.owner is not None else self.tree.body
        found: list[Step] = []
        for depth, statement in enumerate(site.chain):
            found += self._plain(_before(body, statement))
            if depth + 1 < len(site.chain):
                inner = site.chain[depth + 1]
                found += self._entered(statement)
                body = next(block for block in _blocks(statement) if inner in block)
        last = site.chain[-1]
        found += (
            self._entered(last) if not isinstance(last, (ast.If, ast.While)) and _is_in_body(site.call, last) else []
        )
        found += [_first_of(one.target, one.iter) for one in _comprehensions_around(site.call, last)]
        found += [Step(one) for one in self._assumed_at(last)]
        return found

    def _plain(self, statements: Iterable[ast.stmt]) -> Iterator[Step]:
        for one in statements:
            told = self._assumed_at(one)
            names = {name for assumed in told for name in binds(assumed)}
            yield from map(Step, told)
            if not names or not (binds(one) & names):
                yield Step(one)

    def _entered(self, statement: ast.stmt) -> Iterator[Step]:
        told = self._assumed_at(statement)
        yield from map(Step, told)
        names = {name for one in told for name in binds(one)}
        if isinstance(statement, (ast.For, ast.AsyncFor)) and not (_bound_by(statement.target) & names):
            yield _first_of(statement.target, statement.iter)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                target = item.optional_vars or ast.Name("_", ast.Store())
                yield Step(_at(ast.Assign([target], item.context_expr), item.context_expr), context=True)

    def _assumed_at(self, statement: ast.stmt) -> list[ast.Assign]:
        """Returns the assignments in comments on a statement's lines before its body, and directly above it."""
        end = statement.end_lineno or statement.lineno
        body = getattr(statement, "body", None)
        if body:
            end = max(statement.lineno, body[0].lineno - 1)
        rows = [row for row in range(statement.lineno, end + 1) if row in self.assumed]
        above = statement.lineno - 1
        while above in self.assumed and self.assumed[above][1]:
            rows.insert(0, above)
            above -= 1
        return [self.assumed[row][0] for row in rows]


class _Holder(ast.AST):
    """Wraps one statement of a body, so that the statement is walked as a child."""

    _fields = ("statement",)

    def __init__(self, statement: ast.stmt) -> None:
        super().__init__()
        self.statement = statement


def sliced(steps: list[Step], needed: set[str], modules: set[str]) -> list[Step]:
    """Returns the steps that the given names depend on, in order, and all contexts and steps that affect later code.

    Args:
        steps: the steps that run.
        needed: the names.
        modules: the names of imported modules, which calls to the modules' functions do not change.
    """
    late: set[str] = set()
    while True:
        kept = _needed_steps(steps, needed | late, late, modules)
        # A function reads its names when called, which may be after they are bound again.
        more = {name for step in kept if isinstance(step.node, Scope) for name in step.reads}
        if more <= late:
            return kept
        late |= more


def _needed_steps(steps: list[Step], live: set[str], late: set[str], modules: set[str]) -> list[Step]:
    """Returns the needed steps, walking once from last to first and tracking the names whose values matter."""
    kept: list[Step] = []
    live = set(live)
    for step in reversed(steps):
        if step.context or _changes_all(step.node) or step.binds & live or step.changes in live - modules:
            kept.insert(0, step)
            live = (live - (_rebound(step.node) - late)) | step.reads
    return kept


def _rebound(node: ast.stmt) -> set[str]:
    """Returns the names that a statement certainly rebinds."""
    if isinstance(node, ast.Assign):
        targets = [one for target in node.targets for one in getattr(target, "elts", [target])]
        return {one.id for one in targets if isinstance(one, ast.Name)}
    return binds(node) if isinstance(node, (*Scope, ast.Import, ast.ImportFrom)) else set()


def binds(node: ast.AST) -> set[str]:
    """Returns the names that a statement binds, or whose value it changes: `x.y = 1`, `x[0] = 1`."""
    changed = (
        _root(one)
        for one in _own_nodes(node)
        if isinstance(one, (ast.Attribute, ast.Subscript)) and isinstance(one.ctx, ast.Store)
    )
    return binds_exactly(node) | {name for name in changed if name}


def changed_by_call(node: ast.AST) -> str | None:
    """Returns the name of the object whose method a statement calls: `parser` in `parser.add_argument(…)`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return _root(node.value.func)
    return None


def reads(node: ast.AST) -> set[str]:
    """Returns the names that code reads but does not bind itself."""
    if isinstance(node, (*Function, ast.Lambda)):
        arguments = node.args
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        own = {one.arg for one in (*plain, arguments.vararg, arguments.kwarg) if one is not None}
        body = node.body if isinstance(node.body, list) else [node.body]
        inner = {name for one in body for name in reads(one)}
        for one in body:
            own |= binds_exactly(one)
        decorators = getattr(node, "decorator_list", [])
        outer = [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None), *decorators]
        return (inner - own) | {name for one in outer for name in reads(one)}
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        own = {name for one in node.generators for name in _bound_by(one.target)}
        return {name for child in ast.iter_child_nodes(node) for name in reads(child)} - own
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found = {name for child in ast.iter_child_nodes(node) for name in reads(child)}
    if isinstance(node, ast.AugAssign):
        found |= _bound_by(node.target)
    return found


def binds_exactly(node: ast.AST) -> set[str]:
    """Returns the names that a statement makes local to its function."""
    found: set[str] = set()
    for one in _own_nodes(node):
        if isinstance(one, Scope):
            found.add(one.name)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            found.add(one.id)
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in one.names}
        elif isinstance(one, ast.ExceptHandler) and one.name:
            found.add(one.name)
    return found


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the parts of a statement, without those of the functions, classes and comprehensions in it."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, _OWN_NAMES):
            waiting += ast.iter_child_nodes(one)


def runs_on_import(site: Site) -> bool:
    """Returns whether importing the file runs a call, which must be outside definitions and the `__main__` block."""
    return not site.owners and not any(isinstance(one, ast.If) and is_main_test(one.test) for one in site.chain)


def is_main_test(test: ast.expr) -> bool:
    """Returns whether a condition compares `__name__`, as in `__name__ == "__main__"`."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _changes_all(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    func = node.value.func
    if _last(func) in _CHANGES_ALL:
        return True
    return isinstance(func, ast.Attribute) and func.attr == "update" and ast.unparse(func.value).endswith("jax.config")


def _before(body: list[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    return body[: next((index for index, one in enumerate(body) if one is statement), len(body))]


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, None) or []
    for one in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield one.body


def _is_in_body(call: ast.Call, statement: ast.stmt) -> bool:
    return any(call is one for block in _blocks(statement) for inner in block for one in ast.walk(inner))


def _is_handed_on(call: ast.Call, statement: ast.stmt) -> bool:
    """Returns whether a function is passed to something that runs it, in a statement such as `app.run(main)`."""
    return isinstance(statement, (ast.Expr, ast.If)) and not (
        isinstance(statement, ast.Expr) and statement.value is not call
    )


def _comprehensions_around(call: ast.Call, statement: ast.stmt) -> list[ast.comprehension]:
    found: list[ast.comprehension] = []
    for node in ast.walk(statement):
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)) and any(
            one is call for one in ast.walk(node)
        ):
            found += node.generators
    return found


def _first_of(target: ast.expr, iterated: ast.expr) -> Step:
    """Returns the first iteration of a loop as an assignment."""
    first = ast.Call(ast.Name("next", ast.Load()), [ast.Call(ast.Name("iter", ast.Load()), [iterated], [])], [])
    return Step(_at(ast.Assign([target], first), iterated))


def _at(node: Any, place: ast.AST) -> Any:
    ast.copy_location(node, place)
    node.type_comment = None
    return ast.fix_missing_locations(node)


def _bound_by(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def _operands(call: ast.Call) -> list[ast.expr]:
    """Returns the arguments of a call, and those of calls among them, such as a `partial`."""
    found = [*call.args, *(keyword.value for keyword in call.keywords)]
    inner = [one for one in found if isinstance(one, ast.Call)]
    return [*found, *(argument for one in inner for argument in _operands(one))]


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.AST) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _assumptions(text: str) -> Iterator[tuple[int, tuple[ast.Assign, bool]]]:
    """Yields the assignments in comments, by row, and whether each comment is alone on its row."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        found = _ASSUMED.match(token.string) if token.type == tokenize.COMMENT else None
        if found is None:
            continue
        try:
            (node,) = ast.parse(found[1].strip()).body
        except (SyntaxError, ValueError):
            continue
        if isinstance(node, ast.Assign):
            row, column = token.start
            ast.increment_lineno(node, row - 1)
            yield row, (node, not token.line[:column].strip())
