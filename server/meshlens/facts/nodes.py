"""The nodes of a file's tree, as records whose fields have names and types.

A node is a `NamedTuple` whose first field is its tag, so that it is compared, hashed and walked as a tuple. Code
identifies a node by its class (`isinstance(node, Call)`) and reads its fields by name, never by index.

Every node carries a *site*, a number that the block's table maps to a place. Class and field names follow Python's
`ast` where it has an equivalent. `await e` is `e`; parentheses leave no node. Adjacent string literals are one
constant; a byte string is opaque without children, and a complex number is opaque around its imaginary part, at the
same site. An unsupported statement is an opaque expression as a statement. No tree is nested deeper than about 150
nodes.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard

Expressions: TypeAlias = "tuple[Expression, ...]"
Statements: TypeAlias = "tuple[Statement, ...]"
How: TypeAlias = Literal["only", "any", "*", "key", "**"]
"""How a parameter is passed: `only` by position (before `/`), in `any` way, by `key`word, or collected by a star."""


class Argument(NamedTuple):
    """An argument of a call; its label is None, a keyword, "*" or "**", and its site spans the whole argument."""

    label: str | None
    site: int
    value: Expression


class Pair(NamedTuple):
    """A key and its value; the key is None for `**value`."""

    key: Expression | None
    value: Expression


class Clause(NamedTuple):
    """A `for` in a comprehension, with the conditions after it."""

    target: Expression
    iterable: Expression
    conditions: Expressions


class Parameter(NamedTuple):
    """A parameter; its site is its name without stars."""

    name: str
    site: int
    how: How
    default: Expression | None
    annotation: Expression | None


class FunctionShape(NamedTuple):
    """A function; its site is its name, and its flags are any of "async" and "generator"."""

    name: str
    site: int
    parameters: tuple[Parameter, ...]
    decorators: Expressions
    body: Statements
    flags: frozenset[str]


class WithItem(NamedTuple):
    """A context manager and the target after `as`."""

    value: Expression
    target: Expression | None


class Handler(NamedTuple):
    """An `except`."""

    type: Expression | None
    name: str | None
    body: Statements


class Imported(NamedTuple):
    """An imported name; its site is the name without its alias."""

    name: str
    alias: str | None
    site: int


class Arm(NamedTuple):
    """A `case`; its pattern is an expression.

    A pattern with alternatives, classes or lists is an opaque expression with the names it captures and the values it
    compares with.
    """

    pattern: Expression
    guard: Expression | None
    body: Statements


class Name(NamedTuple):
    """A name."""

    tag: Literal["name"]
    site: int
    name: str


class Constant(NamedTuple):
    """A str, int, float, bool, None or `...`."""

    tag: Literal["const"]
    site: int
    value: Any


class FString(NamedTuple):
    """An f-string; its literal text is in constants."""

    tag: Literal["fstr"]
    site: int
    parts: Expressions


class Attribute(NamedTuple):
    """An attribute; its name ends where the node ends."""

    tag: Literal["attr"]
    site: int
    object: Expression
    name: str


class Call(NamedTuple):
    """A call."""

    tag: Literal["call"]
    site: int
    callee: Expression
    arguments: tuple[Argument, ...]


class TupleDisplay(NamedTuple):
    """A tuple."""

    tag: Literal["tuple"]
    site: int
    items: Expressions


class ListDisplay(NamedTuple):
    """A list."""

    tag: Literal["list"]
    site: int
    items: Expressions


class SetDisplay(NamedTuple):
    """A set."""

    tag: Literal["set"]
    site: int
    items: Expressions


class Starred(NamedTuple):
    """`*value` in a tuple, list, set or target."""

    tag: Literal["star"]
    site: int
    value: Expression


class DictDisplay(NamedTuple):
    """A dictionary."""

    tag: Literal["dict"]
    site: int
    pairs: tuple[Pair, ...]


class Lambda(NamedTuple):
    """A lambda."""

    tag: Literal["lambda"]
    site: int
    parameters: tuple[Parameter, ...]
    body: Expression


class IfExpression(NamedTuple):
    """`then if test else otherwise`."""

    tag: Literal["ifexp"]
    site: int
    test: Expression
    then: Expression
    otherwise: Expression


class BoolOperation(NamedTuple):
    """Items joined by `and` or `or`."""

    tag: Literal["bool"]
    site: int
    operator: str
    items: Expressions


class Not(NamedTuple):
    """`not operand`."""

    tag: Literal["not"]
    site: int
    operand: Expression


class UnaryOperation(NamedTuple):
    """`-operand`, `+operand` or `~operand`."""

    tag: Literal["unary"]
    site: int
    operator: str
    operand: Expression


class BinaryOperation(NamedTuple):
    """An arithmetic operation."""

    tag: Literal["bin"]
    site: int
    operator: str
    left: Expression
    right: Expression


class Comparison(NamedTuple):
    """A chain of comparisons: one fewer operator than operands."""

    tag: Literal["cmp"]
    site: int
    operators: tuple[str, ...]
    operands: Expressions


class Subscript(NamedTuple):
    """`object[key]`."""

    tag: Literal["sub"]
    site: int
    object: Expression
    key: Expression


class Slice(NamedTuple):
    """`lower:upper:step`."""

    tag: Literal["slice"]
    site: int
    lower: Expression | None
    upper: Expression | None
    step: Expression | None


class Comprehension(NamedTuple):
    """A comprehension; its kind is list, set, dict or gen, and the element of a dict is a pair."""

    tag: Literal["comp"]
    site: int
    kind: str
    element: Expression | Pair
    clauses: tuple[Clause, ...]


class Walrus(NamedTuple):
    """`name := value`."""

    tag: Literal["walrus"]
    site: int
    name: str
    value: Expression


class Yield(NamedTuple):
    """`yield value`; the value of `yield from` is starred."""

    tag: Literal["yield"]
    site: int
    value: Expression | None


class Opaque(NamedTuple):
    """Anything else, including broken syntax, with the expressions in it."""

    tag: Literal["opaque"]
    site: int
    children: Expressions


class Hole(NamedTuple):
    """Unreadable code: the names in it, and those that it may assign, with "return" if it may return."""

    tag: Literal["hole"]
    site: int
    names: frozenset[str]
    unsettled: frozenset[str]


class ExpressionStatement(NamedTuple):
    """An expression as a statement."""

    tag: Literal["expr"]
    site: int
    value: Expression


class Assign(NamedTuple):
    """`target = … = value`."""

    tag: Literal["assign"]
    site: int
    targets: Expressions
    value: Expression


class AnnAssign(NamedTuple):
    """`target: annotation = value`."""

    tag: Literal["ann"]
    site: int
    target: Expression
    annotation: Expression
    value: Expression | None


class AugAssign(NamedTuple):
    """`target += value`; the operator is stored without "="."""

    tag: Literal["aug"]
    site: int
    target: Expression
    operator: str
    value: Expression


class SeparateDef(NamedTuple):
    """A function that has a separate block, given by the block's key."""

    tag: Literal["def"]
    site: int
    key: str


class FunctionDef(NamedTuple):
    """A function inside this block."""

    tag: Literal["fn"]
    site: int
    function: FunctionShape


class ClassDef(NamedTuple):
    """A class."""

    tag: Literal["class"]
    site: int
    name: str
    name_site: int
    bases: tuple[Argument, ...]
    decorators: Expressions
    body: Statements


class Return(NamedTuple):
    """`return value`."""

    tag: Literal["return"]
    site: int
    value: Expression | None


class Raise(NamedTuple):
    """`raise value`."""

    tag: Literal["raise"]
    site: int
    value: Expression | None


class If(NamedTuple):
    """`if`; an `elif` is an `if` in `orelse`."""

    tag: Literal["if"]
    site: int
    test: Expression
    body: Statements
    orelse: Statements


class While(NamedTuple):
    """`while`."""

    tag: Literal["while"]
    site: int
    test: Expression
    body: Statements
    orelse: Statements


class For(NamedTuple):
    """`for`."""

    tag: Literal["for"]
    site: int
    target: Expression
    iterable: Expression
    body: Statements
    orelse: Statements


class With(NamedTuple):
    """`with`."""

    tag: Literal["with"]
    site: int
    items: tuple[WithItem, ...]
    body: Statements


class Try(NamedTuple):
    """`try`."""

    tag: Literal["try"]
    site: int
    body: Statements
    handlers: tuple[Handler, ...]
    orelse: Statements
    final: Statements


class Import(NamedTuple):
    """`import a.b as c`."""

    tag: Literal["import"]
    site: int
    names: tuple[Imported, ...]


class ImportFrom(NamedTuple):
    """`from module import names`, with `level` dots before the module; the name is "*" for a star import."""

    tag: Literal["from"]
    site: int
    level: int
    module: str
    names: tuple[Imported, ...]


class Global(NamedTuple):
    """`global`."""

    tag: Literal["global"]
    site: int
    names: tuple[str, ...]


class Nonlocal(NamedTuple):
    """`nonlocal`."""

    tag: Literal["nonlocal"]
    site: int
    names: tuple[str, ...]


class Delete(NamedTuple):
    """`del`."""

    tag: Literal["del"]
    site: int
    targets: Expressions


class Assert(NamedTuple):
    """`assert`."""

    tag: Literal["assert"]
    site: int
    test: Expression
    message: Expression | None


class Match(NamedTuple):
    """`match`."""

    tag: Literal["match"]
    site: int
    subject: Expression
    arms: tuple[Arm, ...]


class Break(NamedTuple):
    """`break`."""

    tag: Literal["break"]
    site: int


class Continue(NamedTuple):
    """`continue`."""

    tag: Literal["continue"]
    site: int


class Pass(NamedTuple):
    """`pass`."""

    tag: Literal["pass"]
    site: int


Expression: TypeAlias = (
    Name
    | Constant
    | FString
    | Attribute
    | Call
    | TupleDisplay
    | ListDisplay
    | SetDisplay
    | Starred
    | DictDisplay
    | Lambda
    | IfExpression
    | BoolOperation
    | Not
    | UnaryOperation
    | BinaryOperation
    | Comparison
    | Subscript
    | Slice
    | Comprehension
    | Walrus
    | Yield
    | Opaque
    | Hole
)
Statement: TypeAlias = (
    ExpressionStatement
    | Assign
    | AnnAssign
    | AugAssign
    | SeparateDef
    | FunctionDef
    | ClassDef
    | Return
    | Raise
    | If
    | While
    | For
    | With
    | Try
    | Import
    | ImportFrom
    | Global
    | Nonlocal
    | Delete
    | Assert
    | Match
    | Break
    | Continue
    | Pass
)
TreeNode: TypeAlias = Expression | Statement
TreePart: TypeAlias = (
    TreeNode | Argument | Arm | Clause | FunctionShape | Handler | Imported | Pair | Parameter | WithItem
)
Display: TypeAlias = TupleDisplay | ListDisplay | SetDisplay
AnyFunction: TypeAlias = FunctionDef | Lambda

CLASSES: dict[str, type[TreeNode]] = {
    "name": Name,
    "const": Constant,
    "fstr": FString,
    "attr": Attribute,
    "call": Call,
    "tuple": TupleDisplay,
    "list": ListDisplay,
    "set": SetDisplay,
    "star": Starred,
    "dict": DictDisplay,
    "lambda": Lambda,
    "ifexp": IfExpression,
    "bool": BoolOperation,
    "not": Not,
    "unary": UnaryOperation,
    "bin": BinaryOperation,
    "cmp": Comparison,
    "sub": Subscript,
    "slice": Slice,
    "comp": Comprehension,
    "walrus": Walrus,
    "yield": Yield,
    "opaque": Opaque,
    "hole": Hole,
    "expr": ExpressionStatement,
    "assign": Assign,
    "ann": AnnAssign,
    "aug": AugAssign,
    "def": SeparateDef,
    "fn": FunctionDef,
    "class": ClassDef,
    "return": Return,
    "raise": Raise,
    "if": If,
    "while": While,
    "for": For,
    "with": With,
    "try": Try,
    "import": Import,
    "from": ImportFrom,
    "global": Global,
    "nonlocal": Nonlocal,
    "del": Delete,
    "assert": Assert,
    "match": Match,
    "break": Break,
    "continue": Continue,
    "pass": Pass,
}
"""The class of a node by its tag."""

SPANNING: frozenset[type] = frozenset((*CLASSES.values(), Argument))
"""The classes whose site spans all their contents; the site of a parameter or a function is only its name."""
_NODES: frozenset[type] = frozenset(CLASSES.values())
NOTHING = Opaque("opaque", 0, ())
"""Used in place of a missing node."""


def is_node(part: object) -> TypeGuard[TreeNode]:
    """Returns whether a part of a tree is an expression or a statement."""
    return type(part) in _NODES


def parameters_of(function: AnyFunction) -> tuple[Parameter, ...]:
    """Returns the parameters of a function or a lambda."""
    return function.function.parameters if isinstance(function, FunctionDef) else function.parameters


def root_name(node: TreeNode) -> str:
    """Returns the variable at the root of attributes and items: `a` of `a.b[0].c`; empty for other expressions."""
    while isinstance(node, (Attribute, Subscript)):
        node = node.object
    return node.name if isinstance(node, Name) else ""


def last_name(node: object) -> str:
    """Returns the last part of a dotted name: `c` of `a.b.c`; empty for any other expression."""
    return node.name if isinstance(node, (Name, Attribute)) else ""
