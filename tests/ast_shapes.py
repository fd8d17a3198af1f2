"""The shapes that `facts` should make of a program, computed from Python's own `ast`; each site is the node itself."""

from __future__ import annotations

import ast
from typing import Any

_BIN = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^",
}  # fmt: skip
_CMP = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_COMP = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "gen"}

ANY = object()
"""Equals whatever the lowering says: patterns, and what only the text of an f-string shows."""


def module(source: bytes) -> list[Any]:
    return [_statement(node) for node in ast.parse(source).body]


def _e(node: Any) -> Any:
    match node:
        case None:
            return None
        case ast.Await():
            return _e(node.value)
        case ast.Name():
            return ("name", node, node.id)
        case ast.Constant():
            if isinstance(node.value, complex):
                return ("opaque", node, (("const", node, node.value.imag),))
            if isinstance(node.value, bytes) or _surrogates(node.value):
                return ("opaque", node, ())
            return ("const", node, node.value)
        case ast.JoinedStr():
            return ("fstr", node, ANY)
        case ast.Attribute():
            return ("attr", node, _e(node.value), node.attr)
        case ast.Call():
            listed = [*node.args, *node.keywords]
            listed.sort(key=lambda item: (item.lineno, item.col_offset))
            return ("call", node, _e(node.func), tuple(_argument(item) for item in listed))
        case ast.Tuple() | ast.List() | ast.Set():
            return (type(node).__name__.lower(), node, tuple(_e(item) for item in node.elts))
        case ast.Starred():
            return ("star", node, _e(node.value))
        case ast.Dict():
            return ("dict", node, tuple((_e(k), _e(v)) for k, v in zip(node.keys, node.values, strict=True)))
        case ast.Lambda():
            return ("lambda", node, _parameters(node.args), _e(node.body))
        case ast.IfExp():
            return ("ifexp", node, _e(node.test), _e(node.body), _e(node.orelse))
        case ast.BoolOp():
            return ("bool", node, "and" if isinstance(node.op, ast.And) else "or", tuple(map(_e, node.values)))
        case ast.UnaryOp(op=ast.Not()):
            return ("not", node, _e(node.operand))
        case ast.UnaryOp():
            return ("unary", node, _UNARY[type(node.op)], _e(node.operand))
        case ast.BinOp():
            return ("bin", node, _BIN[type(node.op)], _e(node.left), _e(node.right))
        case ast.Compare():
            operators = tuple(_CMP[type(op)] for op in node.ops)
            return ("cmp", node, operators, tuple(map(_e, [node.left, *node.comparators])))
        case ast.Subscript():
            return ("sub", node, _e(node.value), _e(node.slice))
        case ast.Slice():
            return ("slice", node, _e(node.lower), _e(node.upper), _e(node.step))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return ("comp", node, _COMP[type(node)], _e(node.elt), _clauses(node))
        case ast.DictComp():
            return ("comp", node, "dict", (_e(node.key), _e(node.value)), _clauses(node))
        case ast.NamedExpr():
            return ("walrus", node, node.target.id, _e(node.value))
        case ast.Yield():
            return ("yield", node, _e(node.value))
        case ast.YieldFrom():
            return ("yield", node, ("star", node, _e(node.value)))
    raise AssertionError(node)


def _surrogates(value: object) -> bool:
    return isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value)


def _clauses(node: Any) -> Any:
    return tuple((_e(c.target), _e(c.iter), tuple(map(_e, c.ifs))) for c in node.generators)


def _argument(node: Any) -> Any:
    if isinstance(node, ast.keyword):
        return (node.arg or "**", node, _e(node.value))
    return ("*", node, _e(node.value)) if isinstance(node, ast.Starred) else (None, ANY, _e(node))


def _parameters(args: ast.arguments) -> Any:
    plain = [(arg, "only") for arg in args.posonlyargs] + [(arg, "any") for arg in args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + [*args.defaults]
    listed = [(arg, how, default) for (arg, how), default in zip(plain, defaults, strict=True)]
    listed += [(args.vararg, "*", None)] if args.vararg else []
    listed += [(arg, "key", default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    listed += [(args.kwarg, "**", None)] if args.kwarg else []
    return tuple((arg.arg, ANY, how, _e(default), _e(arg.annotation)) for arg, how, default in listed)


def _body(nodes: Any) -> Any:
    return tuple(_statement(node) for node in nodes)


def _generates(nodes: Any) -> bool:
    inner = [node for node in nodes if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    return any(isinstance(node, ast.Yield | ast.YieldFrom) or _generates(ast.iter_child_nodes(node)) for node in inner)


def _function(node: Any) -> Any:
    flags = {"async"} if isinstance(node, ast.AsyncFunctionDef) else set()
    flags |= {"generator"} if _generates(node.body) else set()
    decorators = tuple(map(_e, node.decorator_list))
    return (node.name, ANY, _parameters(node.args), decorators, _body(node.body), frozenset(flags))


def _names(node: Any) -> Any:
    return tuple((alias.name, alias.asname, ANY) for alias in node.names)


def _statement(node: Any) -> Any:
    match node:
        case ast.Expr():
            return ("expr", node, _e(node.value))
        case ast.Assign():
            return ("assign", node, tuple(map(_e, node.targets)), _e(node.value))
        case ast.AnnAssign():
            return ("ann", node, _e(node.target), _e(node.annotation), _e(node.value))
        case ast.AugAssign():
            return ("aug", node, _e(node.target), _BIN[type(node.op)], _e(node.value))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return ("fn", ANY, _function(node))
        case ast.ClassDef():
            bases = tuple(_argument(item) for item in [*node.bases, *node.keywords])
            decorators = tuple(map(_e, node.decorator_list))
            return ("class", ANY, node.name, ANY, bases, decorators, _body(node.body))
        case ast.Return():
            return ("return", node, _e(node.value))
        case ast.Raise():
            return ("raise", node, _e(node.exc))
        case ast.If():
            return ("if", node, _e(node.test), _body(node.body), _body(node.orelse))
        case ast.While():
            return ("while", node, _e(node.test), _body(node.body), _body(node.orelse))
        case ast.For() | ast.AsyncFor():
            return ("for", node, _e(node.target), _e(node.iter), _body(node.body), _body(node.orelse))
        case ast.With() | ast.AsyncWith():
            listed = tuple((_e(item.context_expr), _e(item.optional_vars)) for item in node.items)
            return ("with", node, listed, _body(node.body))
        case ast.Import():
            return ("import", node, _names(node))
        case ast.ImportFrom():
            return ("from", node, node.level, node.module or "", _names(node))
        case ast.Global() | ast.Nonlocal():
            return (type(node).__name__.lower(), node, tuple(node.names))
        case ast.Delete():
            return ("del", node, tuple(map(_e, node.targets)))
        case ast.Assert():
            return ("assert", node, _e(node.test), _e(node.msg))
        case ast.Match():
            arms = tuple((ANY, _e(case.guard), _body(case.body)) for case in node.cases)
            return ("match", node, _e(node.subject), arms)
        case ast.Break() | ast.Continue() | ast.Pass():
            return (type(node).__name__.lower(), node)
    if type(node).__name__ == "TypeAlias":
        return ("assign", node, (_e(node.name),), _e(node.value))
    handlers = getattr(node, "handlers", None)
    if handlers is not None:
        caught = tuple((_e(handler.type), handler.name, _body(handler.body)) for handler in handlers)
        return ("try", node, _body(node.body), caught, _body(node.orelse), _body(node.finalbody))
    raise AssertionError(node)
