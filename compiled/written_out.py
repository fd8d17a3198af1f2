"""Writes out what mypyc cannot know about a module: what dataclass decorators add, and which names are final.

mypyc cannot compile a class decorated with one of our own decorators, and does not compile the methods that
`dataclasses` adds. Once they are written out, a value is created, compared and hashed in C, and its fields are read
from a struct. A `Final` variable is read directly; any other variable is looked up by name each time.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_IMPORTS = """
from typing import Any, ClassVar, Final, final
from meshlens._written_out import known_to_dataclasses as _known_to_dataclasses
"""
_FUTURE = "from __future__ import annotations"
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class _Field:
    """One field, as declared.

    Attributes:
        name, annotation: as they are written.
        default, made: the expression of the default, and the one that makes a new default for each instance.
        compare: whether comparisons include the field.
        given: whether the constructor accepts it.
    """

    name: str
    annotation: str
    default: str | None
    made: str | None
    compare: bool
    given: bool

    @property
    def parameter(self) -> str:
        if self.made is not None:
            return f"{self.name}: ({self.annotation}) | None = None"
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default is not None else "")

    @property
    def value(self) -> str:
        return f"{self.name} if {self.name} is not None else {self.made}" if self.made is not None else self.name


def written_out(source: str) -> str:
    """Returns a module with final constants, and its `@immutable` and `@dataclass` classes without bases written out.

    A constant is a name in capitals; if a constant is assigned again, the module does not compile.
    """
    lines = source.split("\n")
    if _FUTURE not in lines:
        return source
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ClassDef) and not node.bases:
            decorators = [one for one in node.decorator_list if _name(one) in ("immutable", "dataclass")]
            if decorators:
                assert len(node.decorator_list) == 1, f"{node.name} has another decorator"
                lines[decorators[0].lineno - 1 : node.end_lineno] = _class(node, decorators[0])
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            _finalize(lines, node.targets[0], None)
        elif isinstance(node, ast.AnnAssign):
            _finalize(lines, node.target, node.annotation)
    future = lines.index(_FUTURE)
    lines[future + 1 : future + 1] = _IMPORTS.split("\n")
    return "\n".join(lines)


def _finalize(lines: list[str], target: ast.expr, annotation: ast.expr | None) -> None:
    if not isinstance(target, ast.Name) or not _CONSTANT.fullmatch(target.id):
        return
    row, begin, end = target.lineno - 1, target.col_offset, target.end_col_offset
    if annotation is None:
        lines[row] = f"{lines[row][:end]}: Final{lines[row][end:]}"
        return
    assert annotation.end_lineno == target.lineno, f"{target.id} is declared in several lines"
    declared = f"{target.id}: Final[{ast.unparse(annotation)}]"
    lines[row] = lines[row][:begin] + declared + lines[row][annotation.end_col_offset :]


def _name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _class(node: ast.ClassDef, decorator: ast.expr) -> list[str]:
    fields = [_field(one) for one in node.body if isinstance(one, ast.AnnAssign)]
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    own = {method.name for method in methods}
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    options = {one.arg: ast.literal_eval(one.value) for one in keywords}
    is_frozen = _name(decorator) == "immutable" or options.get("frozen", False)
    compared = [one.name for one in fields if one.compare]
    # No class inherits from an `@immutable` one; whether any class inherits from a dataclass is unknown here.
    lines = ["@final"] if _name(decorator) == "immutable" else []
    lines += [f"class {node.name}:", "    __dataclass_fields__: ClassVar[dict[str, Any]]"]
    lines += [f"    {one.name}: {one.annotation}" for one in fields]
    given = [one for one in fields if one.given]
    lines.append(f"    def __init__({', '.join(['self', *[one.parameter for one in given]])}) -> None:")
    lines += [f"        self.{one.name} = {one.value}" for one in given] or ["        pass"]
    if "__post_init__" in own:
        lines.append("        self.__post_init__()")
    if options.get("eq", True) and "__eq__" not in own:
        equal = [f"(self.{name} is other.{name} or self.{name} == other.{name})" for name in compared]
        lines += [
            "    def __eq__(self, other: object) -> bool:",
            f"        if not isinstance(other, {node.name}):",
            "            return NotImplemented",
            f"        return {' and '.join(equal) or 'True'}",
        ]
    if options.get("eq", True) and is_frozen and "__hash__" not in own:
        hashed = "".join(f"self.{name}, " for name in compared)
        lines += ["    def __hash__(self) -> int:", f"        return hash(({hashed}))"]
    for method in methods:
        lines += ["    " + line for line in ast.unparse(method).split("\n")]
    return [*lines, f"_known_to_dataclasses({node.name}, {tuple(one.name for one in given)!r})"]


def _field(declared: ast.AnnAssign) -> _Field:
    assert isinstance(declared.target, ast.Name)
    annotation, value = ast.unparse(declared.annotation), declared.value
    if not (isinstance(value, ast.Call) and _name(value) == "field"):
        default_here = ast.unparse(value) if value is not None else None
        return _Field(declared.target.id, annotation, default_here, None, True, True)
    given = {one.arg: one.value for one in value.keywords}
    default, factory = given.get("default"), given.get("default_factory")
    compare, init = given.get("compare"), given.get("init")
    made = None
    if factory is not None:
        made = ast.unparse(factory.body) if isinstance(factory, ast.Lambda) else f"{ast.unparse(factory)}()"
    return _Field(
        declared.target.id,
        annotation,
        ast.unparse(default) if default is not None else None,
        made,
        compare is None or bool(ast.literal_eval(compare)),
        init is None or bool(ast.literal_eval(init)),
    )
