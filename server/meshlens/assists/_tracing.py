"""Follows a function as `jit` would trace it: which of its values are known while it is compiled, and which are not."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.assists._functions import Target, dotted_name, functions_called
from meshlens.assists._made import BATCH
from meshlens.assists._scopes import home_of
from meshlens.assists._siblings import imported_function
from meshlens.assists._traced_calls import LIBRARIES, called, indexed
from meshlens.assists._traced_model import Function, Kind, Problem, Seen, Trace
from meshlens.axes.values import Site
from meshlens.project.trees import Node, children, name_of_block, tree, walk
from meshlens.project.view import FileView

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
    """Follows a function whose arguments are traced, but for those that are static."""
    seen = Seen()
    held = set(static)
    names = {str(one[0]): "python" if one[0] in held else f"={one[0]}" for one in target.node[2][2] if one[0]}
    Walk(Trace(view, target.site.block, dict(names), None, 0), seen, top=True).run_function(target.node)
    return seen


class Walk:
    """Runs a function with kinds in the place of its values."""

    def __init__(self, at: Trace, seen: Seen, *, top: bool = False) -> None:
        self.at, self.seen, self.top = at, seen, top
        self.returned: list[Kind] = []

    def run_function(self, node: Node) -> Kind:
        """Runs the body of a function; returns the kind of its result."""
        if node[0] == "lambda":
            return self.kind(node[3])
        if node[2][5]:
            self.problem("generator", "is a generator or a coroutine")
        self.run(node[2][4])
        return _joined(self.returned) if self.returned else "python"

    def problem(self, code: str, message: str, cure: Kind = "") -> None:
        """Notes what cannot be traced."""
        self.seen.problems.append(Problem(code, message, cure[1:] if cure.startswith("=") else None))

    def text(self, node: Node) -> str:
        """Returns the code of a node, on one line."""
        text = " ".join(self.at.view.text(Site(str(self.at.view.path), self.at.block, node[1])).split())
        return text if len(text) <= 40 else f"{text[:37]}..."

    def run(self, statements: Iterable[Node]) -> None:
        """Runs statements in order."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: Node) -> None:
        tag = node[0]
        if tag in ("fn", "def"):
            self.define(node)
        elif tag == "assign":
            kind = self.value_or_function(node[3])
            for target in node[2]:
                self.bind(target, kind, node[3])
        elif tag == "ann":
            if node[4] is not None:
                self.bind(node[2], self.value_or_function(node[4]), node[4])
        elif tag == "aug":
            self.bind(node[2], _joined([self.kind(node[2]), self.kind(node[4])]), node[4])
        elif tag == "return":
            kind = self.kind(node[2]) if node[2] is not None else "python"
            self.returned.append(kind)
            if self.top and node[2] is not None:
                self.seen.results.append((node[2], kind))
        elif tag in ("if", "while"):
            self.test(node[2])
            for _ in range(1 if tag == "if" else 2):
                self.branches(node[3], node[4])
        elif tag == "for":
            self.loop(node)
        elif tag == "with":
            for value, target in node[2]:
                kind = self.kind(value)
                if target is not None:
                    self.bind(target, kind, value)
            self.run(node[3])
        elif tag == "try":
            self.branches(node[2], *(handler[2] for handler in node[3]), node[4], node[5])
        elif tag == "match":
            self.needs(node[2], "matches on")
            self.branches(*(arm[2] for arm in node[3]))
        elif tag == "assert":
            self.test(node[2])
        elif tag in ("global", "nonlocal"):
            self.problem("outer-variables", f'sets the outer variable "{node[2][0]}"')
        elif tag == "del":
            for target in node[2]:
                if target[0] in ("sub", "attr"):
                    self.bind(target, "python", target)
        elif tag in ("import", "from"):
            self.imports(node)
        elif tag == "expr":
            self.kind(node[2], is_statement=True)
        elif tag not in ("raise", "break", "continue", "pass", "class"):
            for child in children(node):
                self.kind(child)

    def imports(self, node: Node) -> None:
        for name, alias, _ in node[-1]:
            module = name if node[0] == "import" else node[3]
            if module.split(".")[0] not in LIBRARIES:
                self.problem("unknown-function", f'imports "{module}" while it runs')
            self.at.names[alias or name.split(".")[0]] = "python"

    def define(self, node: Node) -> None:
        if node[0] == "fn":
            self.at.names[node[2][0]] = Function(self.at.view, self.at.block, node, self.at)
            return
        root = tree(self.at.view, str(self.at.view.path), node[2])
        if root is not None:
            self.at.names[name_of_block(node[2])] = Function(self.at.view, node[2], root, self.at)

    def branches(self, *suites: tuple[Node, ...]) -> None:
        """Runs what may or may not run; what one of them binds to a value is a value."""
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

    def loop(self, node: Node) -> None:
        iterable = node[3]
        kind = self.kind(iterable)
        name = iterable[2] if iterable[0] == "name" else ""
        if kind.startswith("=") and any(word in name.lower() for word in ("loader", "dataset", "iter", "batches")):
            self.problem("runs-a-loop", f'loops over "{name}", which is data of the host')
        if iterable[0] == "call" and dotted_name(self.at.view, iterable[2]) == "" and iterable[2][-1] == "range":
            for rows in (one for one in walk(iterable) if one[0] == "name" and BATCH.fullmatch(one[2])):
                if (self.at.found(rows[2]) or "python") != "python":
                    self.problem("runs-a-loop", f'loops over the rows of "{rows[2]}"')
        for _ in range(2):
            self.bind(node[2], "value" if kind != "python" else "python", iterable)
            self.branches(node[4], node[5])

    def bind(self, target: Node, kind: Kind | Function, value: Node) -> None:
        if target[0] == "name":
            self.at.names[target[2]] = kind
        elif target[0] in ("tuple", "list"):
            items = value[2] if value[0] in ("tuple", "list") and len(value[2]) == len(target[2]) else None
            for place, item in enumerate(target[2]):
                single = kind if not isinstance(kind, str) or kind == "python" else "value"
                self.bind(item, self.value_or_function(items[place]) if items is not None else single, value)
        elif target[0] == "star":
            self.bind(target[2], kind, value)
        elif target[0] in ("sub", "attr"):
            self.stores(target)

    def stores(self, target: Node) -> None:
        """Notes that an object is changed in place, which compiled code cannot do for one of outside."""
        root = target
        while root[0] in ("sub", "attr"):
            root = root[2]
        name = str(root[2]) if root[0] == "name" else ""
        if name and self.is_from_outside(name):
            self.changes(name)

    def changes(self, name: str) -> None:
        found = self.at.found(name)
        own = found[1:] if isinstance(found, str) else ""
        self.seen.problems.append(Problem("changes-in-place", f'changes "{name}" in place', changed=own))

    def is_from_outside(self, name: str) -> bool:
        found = self.at.found(name)
        return found is None or (isinstance(found, str) and found.startswith("="))

    def value_or_function(self, node: Node) -> Kind | Function:
        """Returns the function that an expression is, or the kind of it."""
        known = self.function(node)
        return known if known is not None else self.kind(node)

    def function(self, node: Node) -> Function | None:
        """Returns the function that an expression certainly means."""
        if node[0] == "lambda":
            return Function(self.at.view, self.at.block, node, self.at)
        if node[0] == "name":
            found = self.at.found(node[2])
            if found is not None:
                return found if isinstance(found, Function) else None
            view, home = self.at.view, home_of(self.at.view, Site(str(self.at.view.path), self.at.block, 0))
            meant = [one for one in functions_called(view, node[2]) if not one.is_method]
            meant = [one for one in meant if home_of(view, one.at(one.node[1])) in (None, home)]
            if len(meant) == 1:
                return Function(view, meant[0].site.block, meant[0].node, None)
        if node[0] in ("name", "attr"):
            imported = imported_function(self.at.view, node)
            if imported is not None:
                return Function(imported[0], imported[1].site.block, imported[1].node, None)
        return None

    def kind(self, node: Node, *, is_statement: bool = False) -> Kind:
        """Returns the kind of an expression, and notes what in it cannot be traced."""
        tag = node[0]
        if tag in ("const", "hole"):
            return "python"
        if tag == "name":
            return self.name(node)
        if tag == "attr":
            inner = self.kind(node[2])
            return "python" if node[3] in _SHAPES else "value" if inner != "python" else "python"
        if tag == "call":
            return called(self, node, is_statement=is_statement)
        if tag == "lambda":
            self.follow(Function(self.at.view, self.at.block, node, self.at), None)
            return "python"
        if tag == "cmp":
            return self.compared(node)
        if tag == "ifexp":
            self.test(node[2])
            return _joined([self.kind(node[3]), self.kind(node[4])])
        if tag == "bool":
            for item in node[3][:-1]:
                self.test(item)
            return _joined(self.kind(item) for item in node[3])
        if tag == "not":
            self.test(node[2])
            return "python"
        if tag == "fstr":
            for part in node[2]:
                self.needs(part, "formats")
            return "python"
        if tag == "comp":
            return self.comprehension(node)
        if tag == "walrus":
            kind = self.kind(node[3])
            self.at.names[node[2]] = kind
            return kind
        if tag == "sub":
            indexed(self, node[3])
        kinds = [self.kind(child) for child in children(node)]
        if tag in ("tuple", "bin", "unary", "sub"):
            return _joined(kinds)
        return "python" if all(one == "python" for one in kinds) else "value"

    def name(self, node: Node) -> Kind:
        found = self.at.found(node[2])
        if isinstance(found, str):
            return found
        known = self.function(node)
        if known is not None:
            self.follow(known, None)
        if found is None:
            home = home_of(self.at.view, Site(str(self.at.view.path), self.at.block, 0))
            self.seen.outside.add((str(self.at.view.path), node[2], home))
        return "python"

    def compared(self, node: Node) -> Kind:
        kinds = [self.kind(item) for item in node[3]]
        if all(one in ("is", "is not") for one in node[2]):
            return "python"
        if all(one in ("in", "not in") for one in node[2]):
            return kinds[0] if kinds[0] == "python" else "value"
        changed = [kind for kind in kinds if kind != "python"]
        constant = any(item[0] == "const" and isinstance(item[2], (str, bool, type(None))) for item in node[3])
        # An argument that is compared with a string is a Python value, whatever the result is used for.
        if len(changed) == 1 and constant and changed[0].startswith("="):
            return changed[0]
        return "python" if not changed else changed[0] if len(changed) == 1 else "value"

    def comprehension(self, node: Node) -> Kind:
        found: list[Kind] = []
        before = dict(self.at.names)
        for target, iterable, conditions in node[4]:
            kind = self.kind(iterable)
            self.bind(target, "value" if kind != "python" else "python", iterable)
            for condition in conditions:
                self.test(condition)
            found.append(kind)
        element = node[3]
        parts = element if isinstance(element[0], tuple) else (element,)
        found += [self.kind(part) for part in parts]
        self.at.names = before
        return "python" if all(one == "python" for one in found) else "value"

    def test(self, node: Node) -> None:
        """Notes a test that hangs on a value."""
        if node[0] == "bool":
            for item in node[3]:
                self.test(item)
        elif node[0] == "not":
            self.test(node[2])
        else:
            self.needs(node, "branches on")

    def needs(self, node: Node, does: str) -> None:
        """Notes that Python needs what is a value."""
        kind = self.kind(node)
        if kind != "python":
            remedy = _REMEDIES.get(does.split()[0], "hand it over as a constant")
            self.problem("python-value", f'{does} "{self.text(node)}", which is traced; {remedy}', kind)

    def given(self, node: Node) -> Kind | Function:
        known = self.function(node)
        return known if known is not None else self.kind(node)

    def follow(self, function: Function, given: list[tuple[str | None, Kind | Function]] | None) -> Kind:
        """Runs a function with what it is given; None for a function that something else runs, with values."""
        if self.at.depth >= _DEEPEST:
            return "value"
        parameters = function.node[2][2] if function.node[0] == "fn" else function.node[2]
        names = _bound(parameters, given)
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
    parameters: tuple[Node, ...], given: list[tuple[str | None, Kind | Function]] | None
) -> dict[str, Kind | Function]:
    """Returns what the parameters of a function hold."""
    names: dict[str, Kind | Function] = {}
    positional = [one for one in parameters if one[2] in ("only", "any")]
    for one in parameters:
        if one[0]:
            names[one[0]] = "value" if one[3] is None else "python"
    if given is None:
        return names
    by_name = {label: kind for label, kind in given if label not in (None, "*", "**")}
    in_order = [kind for label, kind in given if label is None]
    is_open = any(label in ("*", "**") for label, _ in given)
    for one, kind in zip(positional, in_order, strict=False):
        names[one[0]] = kind
    for name, kind in by_name.items():
        if name is not None and name in names:
            names[name] = kind
    if is_open:
        return {name: "value" if name not in by_name and kind == "python" else kind for name, kind in names.items()}
    return names


def _joined(kinds: Iterable[Kind]) -> Kind:
    found = {kind for kind in kinds if kind != "python"}
    return "python" if not found else found.pop() if len(found) == 1 else "value"
