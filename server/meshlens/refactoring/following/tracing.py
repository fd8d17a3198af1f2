"""Follows a function as `jit` would trace it, to find out which values are known at compile time."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    AnnAssign,
    AnyFunction,
    Assert,
    Assign,
    Attribute,
    AugAssign,
    BinaryOperation,
    BoolOperation,
    Break,
    Call,
    ClassDef,
    Comparison,
    Comprehension,
    Constant,
    Continue,
    Delete,
    ExpressionStatement,
    For,
    FString,
    FunctionDef,
    Global,
    Hole,
    If,
    IfExpression,
    Import,
    ImportFrom,
    Lambda,
    ListDisplay,
    Match,
    Name,
    Nonlocal,
    Not,
    Pair,
    Parameter,
    Pass,
    Raise,
    Return,
    SeparateDef,
    Starred,
    Subscript,
    Try,
    TupleDisplay,
    UnaryOperation,
    Walrus,
    While,
    With,
    last_name,
    parameters_of,
)
from meshlens.project.trees import Node, children, name_of_block, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.traced_calls import LIBRARIES, called, indexed
from meshlens.refactoring.following.traced_model import Function, Kind, Problem, Seen, Trace
from meshlens.refactoring.reading.functions import Target, dotted_name, functions_called
from meshlens.refactoring.reading.made import BATCH
from meshlens.refactoring.reading.scopes import home_of
from meshlens.refactoring.reading.siblings import imported_function

_SHAPES = frozenset("shape ndim dtype size itemsize nbytes weak_type".split())
_DEEPEST = 12
_REMEDIES = {
    "branches": "use jnp.where or jax.lax.cond",
    "matches": "use jax.lax.switch",
    "calls": "return the array instead",
    "formats": "return the array instead",
    "loops": "use jax.lax.fori_loop",
    "slices": "use jax.lax.dynamic_slice",
}


def traced(view: FileView, target: Target, static: Iterable[str]) -> Seen:
    """Follows a function whose arguments are traced except for the static ones."""
    seen = Seen()
    held = set(static)
    names = {
        one.name: "python" if one.name in held else f"={one.name}"
        for one in target.node.function.parameters
        if one.name
    }
    Walk(Trace(view, target.site.block, dict(names), None, 0), seen, top=True).run_function(target.node)
    return seen


class Walk:
    """Runs a function with kinds instead of values."""

    def __init__(self, at: Trace, seen: Seen, *, top: bool = False) -> None:
        self.at, self.seen, self.top = at, seen, top
        self.returned: list[Kind] = []

    def run_function(self, node: AnyFunction) -> Kind:
        """Runs the body of a function, and returns the kind of its result."""
        if isinstance(node, Lambda):
            return self.kind(node.body)
        if node.function.flags:
            self.problem("generator", "is a generator or coroutine")
        self.run(node.function.body)
        return _joined(self.returned) if self.returned else "python"

    def problem(self, code: str, message: str, cure: Kind = "") -> None:
        """Notes code that cannot be traced."""
        self.seen.problems.append(Problem(code, message, cure[1:] if cure.startswith("=") else None))

    def text(self, node: Node) -> str:
        """Returns the source of a node on one line."""
        text = " ".join(self.at.view.text(Site(str(self.at.view.path), self.at.block, node.site)).split())
        return text if len(text) <= 40 else f"{text[:37]}..."

    def run(self, statements: Iterable[Node]) -> None:
        """Runs statements in order."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: Node) -> None:
        """Follows one statement."""
        if isinstance(node, (FunctionDef, SeparateDef)):
            self.define(node)
        elif isinstance(node, Assign):
            kind = self.value_or_function(node.value)
            for target in node.targets:
                self.bind(target, kind, node.value)
        elif isinstance(node, AnnAssign):
            if node.value is not None:
                self.bind(node.target, self.value_or_function(node.value), node.value)
        elif isinstance(node, AugAssign):
            self.bind(node.target, _joined([self.kind(node.target), self.kind(node.value)]), node.value)
        elif isinstance(node, Return):
            kind = self.kind(node.value) if node.value is not None else "python"
            self.returned.append(kind)
            if self.top and node.value is not None:
                self.seen.results.append((node.value, kind))
        elif isinstance(node, (If, While)):
            self.test(node.test)
            for _ in range(1 if isinstance(node, If) else 2):
                self.branches(node.body, node.orelse)
        elif isinstance(node, For):
            self.loop(node)
        elif isinstance(node, With):
            for item in node.items:
                kind = self.kind(item.value)
                if item.target is not None:
                    self.bind(item.target, kind, item.value)
            self.run(node.body)
        elif isinstance(node, Try):
            self.branches(node.body, *(handler.body for handler in node.handlers), node.orelse, node.final)
        elif isinstance(node, Match):
            self.needs(node.subject, "matches on")
            self.branches(*(arm.body for arm in node.arms))
        elif isinstance(node, Assert):
            self.test(node.test)
        elif isinstance(node, (Global, Nonlocal)):
            self.problem("outer-variables", f'sets the outer variable "{node.names[0]}"')
        elif isinstance(node, Delete):
            for target in node.targets:
                if isinstance(target, (Subscript, Attribute)):
                    self.bind(target, "python", target)
        elif isinstance(node, (Import, ImportFrom)):
            self.imports(node)
        elif isinstance(node, ExpressionStatement):
            self.kind(node.value, is_statement=True)
        elif not isinstance(node, (Raise, Break, Continue, Pass, ClassDef)):
            for child in children(node):
                self.kind(child)

    def imports(self, node: Import | ImportFrom) -> None:
        """Notes the modules that an import binds."""
        for name, alias, _ in node.names:
            module = name if isinstance(node, Import) else node.module
            if module.split(".")[0] not in LIBRARIES:
                self.problem("unknown-function", f'imports "{module}" when it runs')
            self.at.names[alias or name.split(".")[0]] = "python"

    def define(self, node: FunctionDef | SeparateDef) -> None:
        """Notes a nested function."""
        if isinstance(node, FunctionDef):
            self.at.names[node.function.name] = Function(self.at.view, self.at.block, node, self.at)
            return
        root = tree(self.at.view, str(self.at.view.path), node.key)
        if isinstance(root, FunctionDef):
            self.at.names[name_of_block(node.key)] = Function(self.at.view, node.key, root, self.at)

    def branches(self, *suites: tuple[Node, ...]) -> None:
        """Runs alternative branches; afterwards, a name is traced if any branch leaves it traced."""
        before = dict(self.at.names)
        after = dict(before)
        for suite in suites:
            self.at.names = dict(before)
            self.run(suite or ())
            for name, kind in self.at.names.items():
                known = after.get(name)
                after[name] = kind if known is None or known == kind or known == before.get(name) else "value"
                if isinstance(before.get(name), str) and before[name] != "python" and after[name] == "python":
                    after[name] = "value"
        self.at.names = after

    def loop(self, node: For) -> None:
        """Follows a `for` loop for two iterations, since the second may depend on the first."""
        iterable = node.iterable
        kind = self.kind(iterable)
        name = iterable.name if isinstance(iterable, Name) else ""
        if kind.startswith("=") and any(word in name.lower() for word in ("loader", "dataset", "iter", "batches")):
            self.problem("runs-a-loop", f'loops over "{name}", whose data is on the host')
        if (
            isinstance(iterable, Call)
            and dotted_name(self.at.view, iterable.callee) == ""
            and last_name(iterable.callee) == "range"
        ):
            for rows in (one for one in walk(iterable) if isinstance(one, Name) and BATCH.fullmatch(one.name)):
                if (self.at.found(rows.name) or "python") != "python":
                    self.problem("runs-a-loop", f'loops over the rows of "{rows.name}"')
        for _ in range(2):
            self.bind(node.target, "value" if kind != "python" else "python", iterable)
            self.branches(node.body, node.orelse)

    def bind(self, target: Node, kind: Kind | Function, value: Node) -> None:
        """Binds the names of a target to a kind."""
        if isinstance(target, Name):
            self.at.names[target.name] = kind
        elif isinstance(target, (TupleDisplay, ListDisplay)):
            items = (
                value.items
                if isinstance(value, (TupleDisplay, ListDisplay)) and len(value.items) == len(target.items)
                else None
            )
            for place, item in enumerate(target.items):
                single = kind if not isinstance(kind, str) or kind == "python" else "value"
                self.bind(item, self.value_or_function(items[place]) if items is not None else single, value)
        elif isinstance(target, Starred):
            self.bind(target.value, kind, value)
        elif isinstance(target, (Subscript, Attribute)):
            self.stores(target)

    def stores(self, target: Node) -> None:
        """Notes an in-place change of an object; compiled code cannot change an outside object."""
        root = target
        while isinstance(root, (Subscript, Attribute)):
            root = root.object
        name = root.name if isinstance(root, Name) else ""
        if name and self.is_from_outside(name):
            self.changes(name)

    def changes(self, name: str) -> None:
        """Notes that a value is changed in place."""
        found = self.at.found(name)
        own = found[1:] if isinstance(found, str) else ""
        self.seen.problems.append(Problem("changes-in-place", f'changes "{name}" in place', changed=own))

    def is_from_outside(self, name: str) -> bool:
        """Returns whether a name refers to an argument, or to a value from outside the function."""
        found = self.at.found(name)
        return found is None or (isinstance(found, str) and found.startswith("="))

    def value_or_function(self, node: Node) -> Kind | Function:
        """Returns the function that an expression refers to, or else its kind."""
        known = self.function(node)
        return known if known is not None else self.kind(node)

    def function(self, node: Node) -> Function | None:
        """Returns the function that an expression certainly refers to."""
        if isinstance(node, Lambda):
            return Function(self.at.view, self.at.block, node, self.at)
        if isinstance(node, Name):
            found = self.at.found(node.name)
            if found is not None:
                return found if isinstance(found, Function) else None
            view, home = self.at.view, home_of(self.at.view, Site(str(self.at.view.path), self.at.block, 0))
            meant = [one for one in functions_called(view, node.name) if not one.is_method]
            meant = [one for one in meant if home_of(view, one.at(one.node.site)) in (None, home)]
            if len(meant) == 1:
                return Function(view, meant[0].site.block, meant[0].node, None)
        if isinstance(node, (Name, Attribute)):
            imported = imported_function(self.at.view, node)
            if imported is not None:
                return Function(imported[0], imported[1].site.block, imported[1].node, None)
        return None

    def kind(self, node: Node, *, is_statement: bool = False) -> Kind:
        """Returns the kind of an expression, and notes the parts that cannot be traced."""
        if isinstance(node, (Constant, Hole)):
            return "python"
        if isinstance(node, Name):
            return self.name(node)
        if isinstance(node, Attribute):
            inner = self.kind(node.object)
            return "python" if node.name in _SHAPES else "value" if inner != "python" else "python"
        if isinstance(node, Call):
            return called(self, node, is_statement=is_statement)
        if isinstance(node, Lambda):
            self.follow(Function(self.at.view, self.at.block, node, self.at), None)
            return "python"
        if isinstance(node, Comparison):
            return self.compared(node)
        if isinstance(node, IfExpression):
            self.test(node.test)
            return _joined([self.kind(node.then), self.kind(node.otherwise)])
        if isinstance(node, BoolOperation):
            for item in node.items[:-1]:
                self.test(item)
            return _joined(self.kind(item) for item in node.items)
        if isinstance(node, Not):
            self.test(node.operand)
            return "python"
        if isinstance(node, FString):
            for part in node.parts:
                self.needs(part, "formats")
            return "python"
        if isinstance(node, Comprehension):
            return self.comprehension(node)
        if isinstance(node, Walrus):
            kind = self.kind(node.value)
            self.at.names[node.name] = kind
            return kind
        if isinstance(node, Subscript):
            indexed(self, node.key)
        kinds = [self.kind(child) for child in children(node)]
        if isinstance(node, (TupleDisplay, BinaryOperation, UnaryOperation, Subscript)):
            return _joined(kinds)
        return "python" if all(one == "python" for one in kinds) else "value"

    def name(self, node: Name) -> Kind:
        """Returns the kind of a name."""
        found = self.at.found(node.name)
        if isinstance(found, str):
            return found
        known = self.function(node)
        if known is not None:
            self.follow(known, None)
        if found is None:
            home = home_of(self.at.view, Site(str(self.at.view.path), self.at.block, 0))
            self.seen.outside.add((str(self.at.view.path), node.name, home))
        return "python"

    def compared(self, node: Comparison) -> Kind:
        """Returns the kind of a comparison."""
        kinds = [self.kind(item) for item in node.operands]
        if all(one in ("is", "is not") for one in node.operators):
            return "python"
        if all(one in ("in", "not in") for one in node.operators):
            return kinds[0] if kinds[0] == "python" else "value"
        changed = [kind for kind in kinds if kind != "python"]
        constant = any(
            isinstance(item, Constant) and isinstance(item.value, (str, bool, type(None))) for item in node.operands
        )
        # An argument compared with a string, a flag or None is a Python value, however the result is used.
        if len(changed) == 1 and constant and changed[0].startswith("="):
            return changed[0]
        return "python" if not changed else changed[0] if len(changed) == 1 else "value"

    def comprehension(self, node: Comprehension) -> Kind:
        """Returns the kind of a comprehension; its variables are bound only inside it."""
        found: list[Kind] = []
        before = dict(self.at.names)
        for target, iterable, conditions in node.clauses:
            kind = self.kind(iterable)
            self.bind(target, "value" if kind != "python" else "python", iterable)
            for condition in conditions:
                self.test(condition)
            found.append(kind)
        element = node.element
        parts = element if isinstance(element, Pair) else (element,)
        found += [self.kind(part) for part in parts]
        self.at.names = before
        return "python" if all(one == "python" for one in found) else "value"

    def test(self, node: Node) -> None:
        """Notes a test that depends on a traced value."""
        if isinstance(node, BoolOperation):
            for item in node.items:
                self.test(item)
        elif isinstance(node, Not):
            self.test(node.operand)
        else:
            self.needs(node, "branches on")

    def needs(self, node: Node, does: str) -> None:
        """Notes that Python needs the concrete value of an expression, which may be traced."""
        kind = self.kind(node)
        if kind != "python":
            remedy = _REMEDIES.get(does.split()[0], "pass it as a constant")
            self.problem("python-value", f'{does} "{self.text(node)}", which is traced; {remedy}', kind)

    def given(self, node: Node) -> Kind | Function:
        """Returns the function passed as an argument, or else the argument's kind."""
        known = self.function(node)
        return known if known is not None else self.kind(node)

    def follow(self, function: Function, given: list[tuple[str | None, Kind | Function]] | None) -> Kind:
        """Runs a function with the given arguments; `given` is None if other code calls it with traced values."""
        if self.at.depth >= _DEEPEST:
            return "value"
        names = _bound(parameters_of(function.node), given)
        key = (id(function.node), tuple((name, kind if isinstance(kind, str) else "f") for name, kind in names.items()))
        if key in self.seen.done:
            return self.seen.done[key]
        self.seen.done[key] = "value"
        around = function.around if function.around is not None else None
        inner = Trace(function.view, function.block, names, around, self.at.depth + 1)
        found = Walk(inner, self.seen).run_function(function.node)
        self.seen.done[key] = found
        return found


def _bound(
    parameters: tuple[Parameter, ...], given: list[tuple[str | None, Kind | Function]] | None
) -> dict[str, Kind | Function]:
    """Returns the kinds of a function's parameters, or the functions passed for them."""
    names: dict[str, Kind | Function] = {}
    positional = [one for one in parameters if one.how in ("only", "any")]
    for one in parameters:
        if one.name:
            names[one.name] = "value" if one.default is None else "python"
    if given is None:
        return names
    by_name = {label: kind for label, kind in given if label not in (None, "*", "**")}
    in_order = [kind for label, kind in given if label is None]
    is_open = any(label in ("*", "**") for label, _ in given)
    for one, kind in zip(positional, in_order, strict=False):
        names[one.name] = kind
    for name, kind in by_name.items():
        if name is not None and name in names:
            names[name] = kind
    if is_open:
        return {name: "value" if name not in by_name and kind == "python" else kind for name, kind in names.items()}
    return names


def _joined(kinds: Iterable[Kind]) -> Kind:
    found = {kind for kind in kinds if kind != "python"}
    return "python" if not found else found.pop() if len(found) == 1 else "value"
