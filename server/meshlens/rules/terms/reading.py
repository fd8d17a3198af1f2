"""Reads the functions of a file as terms, and notes what becomes of random orders and of arrays in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from meshlens.axes.domain.values import Class, Const, Ext, Function, Module, Site
from meshlens.facts.nodes import (
    AnnAssign,
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
    Expression,
    ExpressionStatement,
    For,
    FString,
    FunctionDef,
    FunctionShape,
    If,
    IfExpression,
    Import,
    ImportFrom,
    ListDisplay,
    Name,
    Not,
    Pair,
    Raise,
    Return,
    SeparateDef,
    Slice,
    Starred,
    Statement,
    Statements,
    Subscript,
    Try,
    TupleDisplay,
    UnaryOperation,
    Walrus,
    While,
    With,
    Yield,
)
from meshlens.jaxapi.names import canonical
from meshlens.project.solving.room import enough_room
from meshlens.project.trees import Node, names_bound, tree, walk
from meshlens.project.view import FileView
from meshlens.rules.terms.model import MOST_NODES, RANKS, Term, mentions
from meshlens.rules.terms.orders import (
    SHUFFLES,
    Args,
    Share,
    changed_by_call,
    may_shuffle,
    of_call,
    of_filter,
    of_subscript,
)
from meshlens.rules.terms.pieces import ASSEMBLES, FETCHES, Assembly, Piece, Window, piece_of, window_of

_MOST_STEPS, _DEEPEST_CALL = 10_000, 4
_ASSEMBLES = re.compile("make_array_from_(?:single_device_arrays|callback)")
_UNPACKED = frozenset({"attribute", "root", "call", "generator"})
_SELF = "self"
_PROPERTIES = frozenset({"property", "cached_property"})
_Env = dict[str, Term]


@dataclass(frozen=True, slots=True, eq=False)
class _Code:
    """A function: its shape, its block, the variables around it and the object that it is bound to."""

    shape: FunctionShape
    path: str
    block: str
    around: _Env
    owner: _Object | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Object:
    """An object of a class: its methods and properties, and the attributes that only `__init__` sets."""

    methods: dict[str, _Code]
    properties: frozenset[str]
    fields: tuple[str, ...]
    attributes: _Env = field(default_factory=dict)


@dataclass(slots=True)
class _Frame:
    """The state of one function: its variables, where its code is, how many pieces came before, and its results."""

    env: _Env
    path: str
    block: str
    owner: _Object | None
    first_piece: int = 0
    returned: list[Term] = field(default_factory=list)
    ended: bool = False

    def site(self, node: Node) -> Site:
        """Returns the place of a node."""
        return Site(self.path, self.block, node.site)


class _Reader:
    """Evaluates code symbolically, and collects shares of random orders and pieces of arrays."""

    def __init__(self, view: FileView) -> None:
        self.view = view
        self.shares: list[Share] = []
        self.pieces: list[Piece] = []
        self.assemblies: list[Assembly] = []
        self.windows: list[Window] = []
        self.fetching: tuple[Term, Site] | None = None
        self.loops: tuple[Term, ...] = ()
        self._depth = 0
        self._steps = 0
        self._numbers = count()
        self._read: dict[type[Any], Callable[[Any, _Frame], Term]] = {
            Name: self._name,
            Constant: self._constant,
            Attribute: self._attribute,
            Call: self._call,
            TupleDisplay: self._display,
            ListDisplay: self._display,
            FString: self._text,
            BinaryOperation: self._binary,
            IfExpression: self._either,
            Subscript: self._subscript,
            Slice: self._slice,
            Comprehension: self._comprehension,
            Walrus: self._walrus,
            Starred: self._inside,
            Yield: self._inside,
        }

    def unknown(self) -> Term:
        """Returns a value about which nothing is known."""
        return Term("unknown", str(next(self._numbers)))

    def evaluate(self, node: Expression, frame: _Frame) -> Term:
        """Returns the value of an expression."""
        self._steps += 1
        read: Callable[[Any, _Frame], Term] = self._read.get(type(node), self._other)
        found = read(node, frame) if self._steps <= _MOST_STEPS else self.unknown()
        return (found if found.nodes <= MOST_NODES else self.unknown()).at(frame.site(node))

    def _name(self, node: Name, frame: _Frame) -> Term:
        return frame.env.get(node.name) or self._of_module(frame.path, node.name)

    def _of_module(self, path: str, name: str) -> Term:
        state = self.view.solution.modules.get(path)
        value = state.frame.vars.get(name) if state is not None else None
        if isinstance(value, Ext):
            return Term("outside", canonical(value.dotted))
        if isinstance(value, Const):
            return Term("constant", value=value.value)
        if isinstance(value, (Function, Class, Module)):
            return Term("defined", name, value=value)
        builtin = value is None and (state is None or name not in state.frame.vars)
        return Term("outside", name) if builtin else Term("root", name, scope=path)

    def _constant(self, node: Constant, frame: _Frame) -> Term:
        return Term("constant", value=node.value)

    def _attribute(self, node: Attribute, frame: _Frame) -> Term:
        of = self.evaluate(node.object, frame)
        if of.kind == "outside":
            return Term("outside", canonical(f"{of.name}.{node.name}"))
        if of.kind == "defined" and isinstance(of.value, Module) and of.value.path is not None:
            return self._of_module(of.value.path, node.name)
        if of.kind == "object" and isinstance(of.value, _Object):
            if node.name in of.value.properties:
                return self._run(of.value.methods[node.name], (), frame)
            if node.name in of.value.methods:
                return Term("method", node.name, value=of.value.methods[node.name])
            return of.value.attributes.get(node.name) or Term("root", f"{of.name}.{node.name}", scope=of.scope)
        return Term("attribute", node.name, (of,))

    def _display(self, node: TupleDisplay | ListDisplay, frame: _Frame) -> Term:
        return Term("operation", "tuple", tuple([self.evaluate(item, frame) for item in node.items]))

    def _text(self, node: FString, frame: _Frame) -> Term:
        return Term("operation", "tuple", tuple([self.evaluate(part, frame) for part in node.parts]))

    def _binary(self, node: BinaryOperation, frame: _Frame) -> Term:
        parts = (self.evaluate(node.left, frame), self.evaluate(node.right, frame))
        return Term("operation", node.operator, parts)

    def _either(self, node: IfExpression, frame: _Frame) -> Term:
        self.evaluate(node.test, frame)
        return self._joined(self.evaluate(node.then, frame), self.evaluate(node.otherwise, frame))

    def _joined(self, one: Term, other: Term) -> Term:
        """Returns one of two values; an order stands for itself and the same records in their first order."""
        if one == other:
            return one
        for order, rest in ((one, other), (other, one)):
            if order.kind == "order" and rest.kind != "order":
                records = order.parts[-1]
                if rest == records or (rest.kind == "call" and records in rest.parts):
                    return order
        return self.unknown()

    def _subscript(self, node: Subscript, frame: _Frame) -> Term:
        container, key = self.evaluate(node.object, frame), self.evaluate(node.key, frame)
        window = window_of(key, *self.fetching) if self.fetching is not None else None
        # What the callback itself reads or selects may be other rows each time; a variable of the module may change.
        is_of_module = container.kind == "root" and container.scope == frame.path
        is_shared = container.kind in ("root", "attribute", "loop") and not is_of_module
        self.windows += [window] if window is not None and (is_shared or not window.is_first) else []
        return of_subscript(container, key, self.shares, frame.site(node))

    def _slice(self, node: Slice, frame: _Frame) -> Term:
        ends = (node.lower, node.upper, node.step)
        none = Term("constant")
        return Term("operation", "slice", tuple([none if end is None else self.evaluate(end, frame) for end in ends]))

    def _walrus(self, node: Walrus, frame: _Frame) -> Term:
        value = frame.env[node.name] = self.evaluate(node.value, frame)
        return value

    def _inside(self, node: Starred | Yield, frame: _Frame) -> Term:
        if node.value is not None:
            self.evaluate(node.value, frame)
        return self.unknown()

    def _other(self, node: Expression, frame: _Frame) -> Term:
        """Returns the value of a comparison or of another operation with words or signs; any other is unknown."""
        operands = tuple([self.evaluate(part, frame) for part in _operands(node)])
        return Term("operation", node.tag, operands) if operands else self.unknown()

    def _comprehension(self, node: Comprehension, frame: _Frame) -> Term:
        inner = _Frame(dict(frame.env), frame.path, frame.block, frame.owner, frame.first_piece)
        loops, first = self.loops, self.unknown()
        for place, clause in enumerate(node.clauses):
            iterable = self.evaluate(clause.iterable, inner)
            first = iterable if place == 0 else first
            self._enter_loop(clause.target, iterable, inner)
            for condition in clause.conditions:
                of_filter(iterable, self.evaluate(condition, inner), self.shares, frame.site(node))
        parts = node.element if isinstance(node.element, Pair) else (node.element,)
        for part in parts:
            if part is not None:
                self.evaluate(part, inner)
        self.loops = loops
        is_whole = len(node.clauses) == 1 and not node.clauses[0].conditions
        return first if is_whole and first.kind == "order" else self.unknown()

    def _enter_loop(self, target: Expression, iterable: Term, frame: _Frame) -> None:
        scope = str(next(self._numbers))
        names = [node.name for node in walk(target) if isinstance(node, Name)]
        first = Term("loop", names[0] if names else "", (iterable,), scope, site=frame.site(target))
        variables = [first, *[Term("loop", name, (iterable,), scope, first, first.site) for name in names[1:]]]
        frame.env.update(zip(names, variables, strict=False))
        self.loops = (*self.loops, *variables)

    def _call(self, node: Call, frame: _Frame) -> Term:
        callee = self.evaluate(node.callee, frame)
        args = tuple([(given.label, self.evaluate(given.value, frame)) for given in node.arguments])
        code = self._code_of(callee)
        if code is not None:
            return self._run(code, args, frame)
        if callee.kind == "defined" and isinstance(callee.value, Class):
            return self._constructed(callee.value, args, frame)
        module, _, last = callee.name.rpartition(".")
        if callee.kind == "outside" and module + "." in frame.env:
            callee = Term("attribute", last, (frame.env[module + "."],))
        if callee.name == FETCHES:
            self._fetch(args, frame, frame.site(node))
        elif callee.name == ASSEMBLES:
            self._assemble(args, frame.first_piece, frame.site(node))
        elif callee.name == "jax.device_put" and len(args) > 1:
            piece = piece_of(*[term for _, term in args[:2]])
            self.pieces += [piece] if piece is not None else []
        changed = changed_by_call(callee, args, self.loops, frame.site(node))
        if changed is not None:
            self._change(node, callee, changed, frame)
        return of_call(callee, args, self.shares, self.loops, frame.site(node))

    def _fetch(self, args: Args, frame: _Frame, site: Site) -> None:
        """Runs the callback of an array, and notes the rows that it fetches."""
        callback = next(
            (term for place, (label, term) in enumerate(args) if label == "data_callback" or place == 2), None
        )
        code, around = self._code_of(callback) if callback is not None else None, self.fetching
        if code is not None:
            index = Term("root", "index", scope=str(next(self._numbers)))
            self.fetching = (index, site)
            begun = len(self.windows)
            returned = self._run(code, ((None, index),), frame)
            is_part = returned.name == "[]"
            self.windows[begun:] = [one for one in self.windows[begun:] if is_part or not one.is_first]
            self.fetching = around

    def _assemble(self, args: Args, first: int, site: Site) -> None:
        """Notes the pieces of an array, if all of them are put on the devices by one expression of the function."""
        pieces = {piece.block.site: piece for piece in self.pieces[first:]}
        if len(pieces) == 1 and len(args) > 1:
            (piece,) = pieces.values()
            _, (_, sharding), *_ = args
            self.assemblies += [Assembly(site, piece)] if mentions(sharding, piece.mesh) else []

    def _change(self, node: Call, callee: Term, changed: Term, frame: _Frame) -> None:
        """Sets the variable that a call changes in place: its first argument, a generator, or a module's generator.

        The name of a module's generator ends in a period, so that it differs from all variables.
        """
        given = next((argument.value for argument in node.arguments), None)
        target = given if changed.kind == "order" else node.callee.object if type(node.callee) is Attribute else None
        if callee.kind == "outside":
            frame.env[callee.name.rpartition(".")[0] + "."] = changed
        elif isinstance(target, Name):
            frame.env[target.name] = changed

    def _code_of(self, callee: Term) -> _Code | None:
        if isinstance(callee.value, _Code):
            return callee.value
        if callee.kind != "defined" or not isinstance(callee.value, Function):
            return None
        function = callee.value
        shape = tree(self.view, function.path, function.block)
        if not isinstance(shape, FunctionDef) or shape.function.name != function.name or function.owner is not None:
            return None
        return _Code(shape.function, function.path, function.block, {}) if not shape.function.decorators else None

    def _run(self, code: _Code, args: Args, frame: _Frame) -> Term:
        if self._depth >= _DEEPEST_CALL or any(label in ("*", "**") for label, _ in args):
            return self.unknown()
        given = self._bound(code, args, frame)
        self._depth += 1
        result = self.body(code, given)
        self._depth -= 1
        return result

    def _bound(self, code: _Code, args: Args, frame: _Frame) -> _Env:
        parameters = code.shape.parameters[1:] if code.owner is not None else code.shape.parameters
        by_place = [parameter.name for parameter in parameters if parameter.how in ("any", "only")]
        given = dict(zip(by_place, [term for label, term in args if label is None], strict=False))
        given |= {label: term for label, term in args if label is not None}
        for parameter in parameters:
            if parameter.name not in given and parameter.default is not None:
                given[parameter.name] = self.evaluate(parameter.default, _Frame({}, code.path, code.block, None))
        return given

    def body(self, code: _Code, given: _Env) -> Term:
        """Runs a function with values for some of its parameters; returns its result."""
        env = dict(code.around)
        for parameter in code.shape.parameters:
            scope = f"{code.path}:{code.block}"
            if code.owner is not None and code.shape.name == "__init__":
                scope = f"{code.path}:{code.block.rsplit('.', 1)[0]}"
            env[parameter.name] = given.get(parameter.name) or Term("root", parameter.name, scope=scope)
        if code.owner is not None and code.shape.parameters:
            first = next(iter(code.shape.parameters)).name
            env[first] = Term("object", _SELF, scope=code.path, value=code.owner)
        frame = _Frame(env, code.path, code.block, code.owner, len(self.pieces))
        self.run(code.shape.body, frame)
        results = frame.returned
        if not results or "generator" in code.shape.flags:
            return self.unknown()
        result, *others = results
        for other in others:
            result = self._joined(result, other)
        return result

    def _constructed(self, cls: Class, args: Args, frame: _Frame) -> Term:
        """Reads the methods of a class again with the arguments of one of its objects."""
        block = self.view.solution.facts[cls.path].blocks.get(cls.site.block) if cls.path else None
        shape = block.shape if block is not None else None
        is_worth_it = sum(not term.is_constant for _, term in args) > 1
        if not isinstance(shape, ClassDef) or self._depth >= _DEEPEST_CALL or not is_worth_it:
            return self.unknown()
        made = self.object_of(shape, cls.path, cls.site.block, {})
        self._depth += 1
        start = made.methods.get("__init__")
        if start is not None:
            self.start(made, start, self._bound(start, args, frame))
        else:
            by_place = [term for label, term in args if label is None]
            made.attributes.update(zip(made.fields, by_place, strict=False))
            made.attributes.update({label: term for label, term in args if label in made.fields and label is not None})
        for name, code in made.methods.items():
            if name != "__init__":
                self.body(code, {})
        self._depth -= 1
        return Term("object", cls.name, scope=str(next(self._numbers)), value=made)

    def object_of(self, shape: ClassDef, path: str, block: str, around: _Env) -> _Object:
        """Returns an object of a class, whose attributes are not known yet."""
        defined = [self._defined(node, path, block, around) for node in shape.body]
        codes = {code.shape.name: code for code in defined if code is not None and not _is_unbound(code.shape)}
        properties = [name for name, code in codes.items() if _decorators(code.shape) & _PROPERTIES]
        fields = [node.target.name for node in shape.body if isinstance(node, AnnAssign) and type(node.target) is Name]
        made = _Object({}, frozenset(properties), tuple(fields))
        made.methods.update({name: replace(code, owner=made) for name, code in codes.items()})
        return made

    def _defined(self, node: Node, path: str, block: str, around: _Env) -> _Code | None:
        if isinstance(node, SeparateDef):
            block, found = node.key, tree(self.view, path, node.key)
            return _Code(found.function, path, block, around) if isinstance(found, FunctionDef) else None
        return _Code(node.function, path, block, around) if isinstance(node, FunctionDef) else None

    def start(self, made: _Object, start: _Code, given: _Env) -> None:
        """Runs an object's `__init__`, which sets its attributes; drops those that other methods set, too."""
        self.body(start, given)
        others = [code for name, code in made.methods.items() if name != "__init__"]
        for name in {name for code in others for name in _attributes_set(code.shape)}:
            made.attributes.pop(name, None)

    def run(self, body: Statements, frame: _Frame) -> None:
        """Runs statements."""
        for statement in body:
            if frame.ended:
                return
            self.step(statement, frame)

    def step(self, node: Statement, frame: _Frame) -> None:
        """Runs one statement."""
        if isinstance(node, ExpressionStatement):
            self.evaluate(node.value, frame)
        elif isinstance(node, Assign):
            value = self.evaluate(node.value, frame)
            for target in node.targets:
                self._assign(target, value, frame)
        elif isinstance(node, AnnAssign):
            if node.value is not None:
                self._assign(node.target, self.evaluate(node.value, frame), frame)
        elif isinstance(node, AugAssign):
            parts = (self.evaluate(node.target, frame), self.evaluate(node.value, frame))
            self._assign(node.target, Term("operation", node.operator, parts), frame)
        elif isinstance(node, (Return, Raise)):
            value = self.evaluate(node.value, frame) if node.value is not None else Term("constant")
            frame.returned += [value] if isinstance(node, Return) else []
            frame.ended = True
        elif isinstance(node, (Break, Continue)):
            frame.ended = True
        elif isinstance(node, If):
            self.evaluate(node.test, frame)
            self._branch([node.body, node.orelse], frame)
        elif isinstance(node, (For, While)):
            self._loop(node, frame)
        elif isinstance(node, With):
            for item in node.items:
                value = self.evaluate(item.value, frame)
                if item.target is not None:
                    self._assign(item.target, value, frame)
            self.run(node.body, frame)
        elif isinstance(node, Try):
            self.run(node.body, frame)
            self._branch([node.orelse, *[handler.body for handler in node.handlers]], frame)
            self.run(node.final, frame)
        else:
            self._define(node, frame)

    def _define(self, node: Statement, frame: _Frame) -> None:
        """Runs a definition, an import, or any other statement, which may bind names."""
        code = self._defined(node, frame.path, frame.block, frame.env)
        if code is not None:
            frame.env[code.shape.name] = self.unknown()
            if not code.shape.decorators:
                frame.env[code.shape.name] = Term("method", code.shape.name, value=code)
            self.body(code, {})
        elif isinstance(node, (Import, ImportFrom)):
            self._import(node, frame)
        else:
            for name in names_bound((node,)):
                frame.env[name] = self.unknown()

    def _import(self, node: Import | ImportFrom, frame: _Frame) -> None:
        for name in node.names:
            if isinstance(node, ImportFrom):
                dotted = canonical(f"{node.module}.{name.name}")
                frame.env[name.alias or name.name] = self.unknown() if node.level else Term("outside", dotted)
            elif name.alias is not None:
                frame.env[name.alias] = Term("outside", canonical(name.name))
            else:
                top = name.name.split(".", 1)[0]
                frame.env[top] = Term("outside", top)

    def _assign(self, target: Expression, value: Term, frame: _Frame) -> None:
        if isinstance(target, Name):
            frame.env[target.name] = value
        elif isinstance(target, TupleDisplay) and value.name == "tuple" and len(value.parts) == len(target.items):
            for item, part in zip(target.items, value.parts, strict=True):
                self._assign(item, part, frame)
        elif isinstance(target, TupleDisplay) and value.kind in _UNPACKED:
            for place, item in enumerate(target.items):
                self._assign(item, Term("operation", "[]", (value, Term("constant", value=place))), frame)
        elif isinstance(target, Attribute):
            of = self.evaluate(target.object, frame)
            if of.kind == "object" and isinstance(of.value, _Object):
                of.value.attributes[target.name] = value
        else:
            frame.env.update({node.name: self.unknown() for node in walk(target) if isinstance(node, Name)})

    def _branch(self, bodies: list[Statements], frame: _Frame) -> None:
        """Runs alternatives, and joins the variables of those that do not leave the function."""
        before, ways = frame.env, []
        for body in bodies:
            frame.env, frame.ended = dict(before), False
            self.run(body, frame)
            if not frame.ended:
                ways.append(frame.env)
        frame.env, frame.ended = (ways[0], False) if ways else (before, True)
        for way in ways[1:]:
            for name in frame.env.keys() | way.keys():
                one, other = frame.env.get(name), way.get(name)
                if one is not other:
                    frame.env[name] = self._joined(one, other) if one and other else self.unknown()

    def _loop(self, node: For | While, frame: _Frame) -> None:
        loops = self.loops
        iterable = self.evaluate(node.iterable, frame) if isinstance(node, For) else self.unknown()
        for name in names_bound(node.body):
            frame.env[name] = self.unknown()
        if isinstance(node, For):
            self._enter_loop(node.target, iterable, frame)
        else:
            self.loops = (*loops, self.unknown())
        self.run(node.body, frame)
        self.loops, frame.ended = loops, False
        self.run(node.orelse, frame)


def _decorators(shape: FunctionShape) -> set[str]:
    """Returns the last parts of the names of a function's decorators."""
    return {one.name for one in shape.decorators if isinstance(one, (Name, Attribute))}


def _is_unbound(shape: FunctionShape) -> bool:
    """Returns whether a function in a class is not a method of its objects, or sets a property."""
    return not _decorators(shape).isdisjoint(("staticmethod", "classmethod", "setter"))


def _operands(node: Expression) -> tuple[Expression, ...]:
    if isinstance(node, BoolOperation):
        return node.items
    if isinstance(node, Comparison):
        return node.operands
    return (node.operand,) if isinstance(node, (Not, UnaryOperation)) else ()


def _attributes_set(shape: FunctionShape) -> set[str]:
    """Returns the attributes that a method sets on any object."""
    nodes = [node for statement in shape.body for node in walk(statement)]
    targets = [target for node in nodes if isinstance(node, Assign) for target in node.targets]
    targets += [node.target for node in nodes if isinstance(node, (AnnAssign, AugAssign))]
    inner = [node for target in targets for node in walk(target)]
    return {node.name for node in inner if isinstance(node, Attribute)}


def _that_use(view: FileView, words: re.Pattern[str]) -> dict[str, set[str]]:
    """Returns the names in each top-level function or class that mentions a word, perhaps through others of the file.

    The other top-level statements count as one, called "=".
    """
    names: dict[str, set[str]] = {}
    for key, block in view.facts.blocks.items():
        names.setdefault("=" if key.startswith("=") else key.partition(".")[0], set()).update(block.names)
    found = {key for key, used in names.items() if any(words.search(name) for name in used)}
    while more := {key for key, used in names.items() if key not in found and not used.isdisjoint(found)}:
        found |= more
    return {key: names[key] for key in found}


def shares_in(view: FileView) -> list[Share]:
    """Returns the shares of records that the code of a file selects from random orders."""
    if not may_shuffle(view.source):
        return []
    used = _that_use(view, SHUFFLES)
    return _read(view, {key for key, names in used.items() if any(RANKS.search(name) for name in names)}).shares


def assembled_in(view: FileView) -> tuple[list[Assembly], list[Window]]:
    """Returns the arrays that the code of a file assembles from pieces, and the rows that callbacks fetch."""
    reader = _read(view, set(_that_use(view, _ASSEMBLES)))
    return reader.assemblies, reader.windows


def _read(view: FileView, wanted: set[str]) -> _Reader:
    """Reads the top-level statements of a file, and the given functions and classes."""
    reader, path = _Reader(view), str(view.path)
    top = _Frame({}, path, "", None)
    later: list[_Code] = []
    if not wanted:
        return reader
    with enough_room():
        for key in view.facts.top:
            shape = view.facts.blocks[key].shape if key in wanted or key.startswith("=") else None
            if isinstance(shape, FunctionShape):
                later.append(_Code(shape, path, key, top.env))
            elif isinstance(shape, ClassDef):
                made = reader.object_of(shape, path, key, top.env)
                start = made.methods.get("__init__")
                later.extend(code for name, code in made.methods.items() if name != "__init__")
                if start is not None:
                    reader.start(made, start, {})
            elif shape is not None and not isinstance(shape, (Import, ImportFrom)):
                top.block = key
                reader.step(shape, top)
        for code in later:
            reader.body(code, {})
    return reader
