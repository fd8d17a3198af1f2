"""Definitions: functions with their decorators, and classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.domain.classes import HASH_OF_FIELDS, above
from meshlens.axes.domain.values import Arg, Class, Const, Ext, Function, Made, Mapped, Partial, Value
from meshlens.axes.python.class_variables import has_hook, tell_bases
from meshlens.axes.python.context_managers import MANAGED
from meshlens.axes.python.enums import number_members
from meshlens.axes.python.expressions import arguments, evaluate, evaluate_decorator
from meshlens.axes.python.lambdas import enclosing
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.dependence import header_of
from meshlens.axes.runs.frames import Frame, numbered, site_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.worth.words import mentions
from meshlens.facts.content import function_in
from meshlens.facts.nodes import (
    AnnAssign,
    ClassDef,
    Expression,
    FunctionDef,
    FunctionShape,
    Name,
    SeparateDef,
)

_DATACLASS_WORDS = (
    "dataclass",
    "attr.s",
    "attr.define",
    "attrs.define",
    "attrs.frozen",
    "attr.attrs",
    "jax_dataclasses.pytree_dataclass",
)
_FIELD_BASES = (
    "flax.linen.Module",
    "typing.NamedTuple",
    "equinox.Module",
    "flax.struct.PyTreeNode",
    "pydantic.BaseModel",
    "simple_parsing.Serializable",
)


def define_block(run: Run, node: SeparateDef, frame: Frame, ctx: Context) -> None:
    """Defines a function that is a separate block."""
    facts = run.world.facts(frame.path)
    block = facts.blocks.get(node.key) if facts is not None else None
    if block is None:
        return
    own = Frame(frame.path, node.key, frame)
    shape = function_in(block.header)
    assert shape is not None
    run.deps.add(header_of(frame.path, node.key))
    value = make_function(run, shape, own, frame, ctx, separate=True)
    frame.home(shape.name).vars[shape.name] = value


def define_function(run: Run, node: FunctionDef, frame: Frame, ctx: Context) -> None:
    """Defines a function inside the running block, or at the top level."""
    function = node.function
    facts = run.world.facts(frame.path) if frame.parent is None else None
    block = facts.blocks.get(frame.block) if facts is not None else None
    separate = block is not None and block.header is node
    if separate:
        run.deps.add(header_of(frame.path, frame.block))
    frame.home(function.name).vars[function.name] = make_function(run, function, frame, frame, ctx, separate=separate)


def make_function(run: Run, shape: FunctionShape, sites: Frame, frame: Frame, ctx: Context, *, separate: bool) -> Value:
    """Returns the value of a `def`: the function with its decorators applied from the inside out.

    Args:
        run: the run.
        shape: the function's node.
        sites: a frame whose block is the function's own block.
        frame: the frame in which the `def` runs.
        ctx: the context.
        separate: whether the body is looked up by its block when it runs.
    """
    closure = enclosing(frame)
    # mypyc cannot iterate over a tuple of such nodes in reverse.
    decorators: Any = shape.decorators
    applied = [(evaluate_decorator(run, one, sites, ctx), one) for one in reversed(decorators)]
    is_static = any(_method_kind(callee) == "static" for callee, _ in applied)
    function = Function(
        shape.name,
        frame.path,
        sites.block,
        numbered(sites, shape.site),
        closure,
        shape.parameters,
        None if separate else shape.body,
        shape.flags,
        tuple(
            (one.name, evaluate(run, one.default, sites, ctx)) for one in shape.parameters if one.default is not None
        ),
        frame.owner if frame.owner is not None and frame.owner.frame is frame else None,
        "static" if is_static else "",
    )
    run.made.setdefault(function.site, (function, ctx))
    value: Value = function
    for callee, decorator in applied:
        special = _method_kind(callee)
        if special == "static":
            continue
        if special is not None and isinstance(value, Function):
            value = replace(value, kind=special)
            continue
        if isinstance(value, Function) and isinstance(callee, Ext) and callee.dotted == MANAGED:
            value = replace(value, flags=value.flags | {MANAGED})
            continue
        site = site_of(sites, decorator)
        argument = Arg(None, value, function.site, function.site)
        value = run.invoke(Invocation(callee, (argument,), site, site, sites, ctx, decorator=True))
    return value


def _method_kind(decorator: Value) -> str | None:
    if not isinstance(decorator, Ext):
        return None
    if decorator.dotted in ("staticmethod", "builtins.staticmethod"):
        return "static"
    if decorator.dotted in ("classmethod", "builtins.classmethod"):
        return "class"
    if decorator.dotted in ("property", "functools.cached_property", "flax.linen.module.property"):
        return "property"
    return None


def define_class(run: Run, node: ClassDef, frame: Frame, ctx: Context) -> None:
    """Runs a class body in its own frame and binds the class."""
    text, name_site, bases, body = node.name, node.name_site, node.bases, node.body
    # `Any` for the same reason as in `make_function`.
    decorators: Any = node.decorators
    inner = Frame(frame.path, frame.block, frame)
    values = tuple(evaluate(run, expression, frame, ctx) for label, _, expression in bases if label is None)
    callees = [(evaluate_decorator(run, decorator, frame, ctx), decorator) for decorator in reversed(decorators)]
    fields = tuple(
        statement.target.name
        for statement in body
        if isinstance(statement, AnnAssign)
        and isinstance(statement.target, Name)
        and not _class_variable(statement.annotation)
    )
    is_dataclass = any(_makes_dataclass(callee) for callee, _ in callees) or any(_has_fields(base) for base in values)
    plain = not decorators and all(base.label is None for base in bases)
    cls = Class(text, frame.path, numbered(frame, name_site), values, inner, fields, is_dataclass, plain, above(values))
    inner.owner = cls
    run.own_classes.add(cls)
    run.execute(body, inner, ctx)
    number_members(cls)
    if has_hook(cls):
        keywords = tuple(one for one in bases if one.label not in (None, "metaclass"))
        tell_bases(run, cls, arguments(run, keywords, frame, ctx), frame, ctx)
    if "__hash__" not in inner.vars and ("__eq__" in inner.vars or any(_compares(callee) for callee, _ in callees)):
        # As in Python, an object that is compared by its contents is not hashable.
        inner.vars["__hash__"] = Const(None)
    elif "__hash__" not in inner.vars and any(_hashes(callee) for callee, _ in callees):
        inner.vars["__hash__"] = HASH_OF_FIELDS
    value: Value = cls
    for callee, decorator in callees:
        if not _makes_dataclass(callee):
            site = site_of(frame, decorator)
            argument = Arg(None, value, cls.site, cls.site)
            result = run.invoke(Invocation(callee, (argument,), site, site, frame, ctx, decorator=True))
            lifted = isinstance(result, Mapped) and result.binder.operand == value
            value = result if lifted or isinstance(result, Class) else cls
    frame.home(text).vars[text] = value


def _class_variable(annotation: Expression) -> bool:
    return mentions(annotation, frozenset({"ClassVar"}))


def _makes_dataclass(decorator: Value) -> bool:
    if isinstance(decorator, Partial):
        decorator = decorator.callee
    if not isinstance(decorator, (Ext, Made)):
        return False
    return decorator.dotted in _DATACLASS_WORDS or decorator.dotted.endswith(".dataclass")


def _compares(decorator: Value) -> bool:
    """Returns whether a decorator is the standard library's `dataclass`, without options that affect hashing."""
    if isinstance(decorator, Ext):
        return decorator.dotted == "dataclasses.dataclass"
    if isinstance(decorator, Made) and decorator.dotted == "dataclasses.dataclass":
        given = {str(name) for name, _ in decorator.arguments}
        return given.isdisjoint({"frozen", "eq", "unsafe_hash", "*", "**"})
    return False


def _hashes(decorator: Value) -> bool:
    """Returns whether a decorator makes a dataclass whose hash is that of its fields."""
    if isinstance(decorator, Ext):
        return decorator.dotted == "flax.struct.dataclass"
    if isinstance(decorator, Made) and decorator.dotted == "dataclasses.dataclass":
        given = dict(decorator.arguments)
        named = [given.get(name) for name in ("frozen", "unsafe_hash")]
        is_true = [isinstance(value, Const) and value.value is True for value in named]
        return any(is_true) and "eq" not in given
    return False


def _has_fields(base: Value) -> bool:
    if isinstance(base, Class):
        return base.dataclass
    return isinstance(base, Ext) and (base.dotted in _FIELD_BASES or base.dotted.endswith(".linen.Module"))
