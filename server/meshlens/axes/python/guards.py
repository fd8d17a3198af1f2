"""`with` and `try`: what they guard, which mesh they make current, and which errors a test expects."""

from __future__ import annotations

from typing import Any

from meshlens.axes.domain.leaving import NEXT_TURN, RAISED, RETURNED, joined
from meshlens.axes.domain.values import UNKNOWN, Ext, Made, Mesh, Value
from meshlens.axes.python.assign import assign
from meshlens.axes.python.context_managers import MANAGED, Held, begin, end, enter
from meshlens.axes.python.expressions import evaluate
from meshlens.axes.python.imports import note_mention
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.run import Run
from meshlens.axes.worth.words import mentions
from meshlens.facts.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Handler,
    Name,
    Raise,
    Try,
    TupleDisplay,
    With,
)
from meshlens.jaxapi.known_names import ENDS_TEST, RAISES, SKIPS_TEST
from meshlens.jaxapi.meshes import ENTERS

_NARROW = frozenset(
    "ImportError AttributeError ModuleNotFoundError TypeError ConcretizationTypeError TracerBoolConversionError".split()
)
_API_ERRORS = _NARROW | {"Exception", "BaseException"}


_AXIS_ERRORS = frozenset({"NameError", "Exception", "BaseException", "KeyError", "AssertionError", "ValueError"})


_EXPECTED_TO_RAISE = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesWithLiteralMatch", "suppress", "patch", "mock"}
)

_KEEP_MESH = frozenset(
    "open suppress nullcontext tqdm trace StepTraceAnnotation TraceAnnotation named_scope default_matmul_precision "
    "default_device debug_nans log_compiles enable_x64 disable_jit errstate TemporaryDirectory "
    "logical_axis_rules".split()
)
"""The context managers that certainly make no mesh current."""

_PUTS_IN_PLACE = frozenset({"setattr", "patch", "object"})

_ENDS_TEST = frozenset({SKIPS_TEST, *(name.rpartition(".")[2] for name in ENDS_TEST)})

REPLACED = "replaced"
"""An item of a frame's `exits` after code in the frame has replaced a part of JAX."""


def run_with(run: Run, node: With, frame: Frame, ctx: Context) -> str | None:
    """Runs a `with` statement."""
    ambient, entered_meshes, unclear = len(run.ambient), len(run.entered_meshes), run.unclear_contexts
    scoped, held = run.scoped, list[Held]()
    may_raise = False
    entered: list[tuple[Mesh, Any, Context]] = []
    for expression, target in node.items:
        value = evaluate(run, expression, frame, ctx)
        if mentions(expression, _EXPECTED_TO_RAISE) or (isinstance(value, Made) and value.dotted == RAISES):
            ctx = ctx._replace(guarded=True, conditional=True, expected=True)
            may_raise = True
        if isinstance(value, Made) and value.dotted in (
            "jax.set_mesh",
            "jax.sharding.use_mesh",
            "jax.sharding.use_abstract_mesh",
        ):
            mesh = next((inner for _, inner in value.arguments), UNKNOWN)
            run.ambient.append(mesh)
            value = mesh
        elif isinstance(value, Mesh):
            entered.append((value, expression, ctx))
            run.entered_meshes.append(value)
        elif isinstance(value, Made) and value.dotted == MANAGED:
            value = enter(run, value, held)
        elif not mentions(expression, _KEEP_MESH):
            run.unclear_contexts += 1
            if run.scoped:
                held += begin(run, dict.fromkeys(run.scoped, UNKNOWN))
        if target is not None:
            assign(run, target, value, frame, ctx)
    for mesh, expression, circumstances in entered:
        # Code that also calls `set_mesh` enters the mesh only for older releases.
        if mesh not in run.ambient[ambient:]:
            note_mention(run, "jax.sharding.Mesh.__enter__", site_of(frame, expression), circumstances, "with")
    inner = len(run.ambient)
    left = run.execute(node.body, frame, ctx)
    # A mesh that the body sets by a call stays current.
    del run.ambient[ambient:inner], run.entered_meshes[entered_meshes:]
    run.unclear_contexts = unclear
    if run.scoped is not scoped:
        end(run, held, scoped)
    return None if left == RAISED and may_raise else left


def run_try(run: Run, node: Try, frame: Frame, ctx: Context) -> str | None:
    """Runs a `try` statement; a handler that expects an unbound axis guards the body."""
    body, handlers, orelse, final = node.body, node.handlers, node.orelse, node.final
    caught = frozenset().union(*(_caught(handler) for handler in handlers)) if handlers else frozenset()
    api = bool(caught & _API_ERRORS)
    guarded = bool(caught & _AXIS_ERRORS)
    inner = ctx._replace(guarded=True) if guarded and not ctx.guarded else ctx
    before = dict(frame.vars)
    broad = api and not caught & _NARROW
    run.api_guard += api
    run.broad_guard += broad
    left = run.execute(body, frame, inner)
    if left is None and orelse:
        left = run.execute(orelse, frame, inner)
    run.broad_guard -= broad
    after_body = frame.vars
    results: list[tuple[dict[str, Value], str | None]] = [(after_body, left)]
    for kind, text, handler in handlers:
        frame.vars = joined(before, after_body)
        if kind is not None:
            evaluate(run, kind, frame, ctx)
        if text is not None:
            frame.vars[text] = UNKNOWN
        left_handler = run.execute(handler, frame, ctx._replace(conditional=True))
        results.append((frame.vars, left_handler))
        if left_handler in (RETURNED, NEXT_TURN) and guarded and kind is not None:
            frame.exits |= {"guarded"}
    run.api_guard -= api
    going_on = [variables for variables, how in results if how is None]
    frame.vars = going_on[0] if going_on else results[0][0]
    for variables in going_on[1:]:
        frame.vars = joined(frame.vars, variables)
    if final:
        left_final = run.execute(final, frame, ctx)
        if left_final is not None:
            return left_final
    return None if going_on else results[0][1]


def replaces_jax(run: Run, node: Expression, frame: Frame, ctx: Context) -> bool:
    """Returns whether a call replaces a part of JAX: `monkeypatch.setattr(jax, "shard_map", fake)`."""
    if isinstance(node, Call) and isinstance(node.callee, Attribute) and node.callee.name == "start":
        node = node.callee.object
    if not isinstance(node, Call) or not isinstance(node.callee, (Name, Attribute)) or not node.arguments:
        return False
    if node.callee.name not in _PUTS_IN_PLACE:
        return False
    target = node.arguments[0].value
    if isinstance(target, Constant):
        return isinstance(target.value, str) and target.value.startswith("jax.")
    return isinstance(target, (Name, Attribute)) and _is_of_jax(evaluate(run, target, frame, ctx))


def enters_context(node: Expression) -> bool:
    """Returns whether an expression enters a context manager for good, as `mesh.__enter__()` does."""
    return isinstance(node, Call) and isinstance(node.callee, Attribute) and node.callee.name in ENTERS


def ends_test(run: Run, node: Expression, frame: Frame, ctx: Context) -> bool:
    """Returns whether a call ends the test that makes it, as `pytest.skip(…)` and `self.skipTest(…)` do."""
    if not isinstance(node, Call) or not isinstance(node.callee, (Name, Attribute)):
        return False
    if node.callee.name not in _ENDS_TEST:
        return False
    if node.callee.name == SKIPS_TEST:
        return isinstance(node.callee, Attribute) and isinstance(node.callee.object, Name)
    callee = evaluate(run, node.callee, frame, ctx)
    return isinstance(callee, Ext) and callee.dotted in ENDS_TEST


def assigns_in_jax(target: Expression, frame: Frame) -> bool:
    """Returns whether a function assigns to a name in JAX: `jax.shard_map = fake`."""
    if not isinstance(target, Attribute) or frame.parent is None or not isinstance(target.object, Name):
        return False
    return _is_of_jax(frame.find(target.object.name))


def _is_of_jax(value: Value | None) -> bool:
    return isinstance(value, Ext) and (value.dotted == "jax" or value.dotted.startswith("jax."))


def _caught(handler: Handler) -> frozenset[str]:
    kind, body = handler.type, handler.body
    if body and isinstance(body[-1], Raise):
        return frozenset()
    if kind is None:
        return frozenset({"BaseException"})
    kinds = kind.items if isinstance(kind, TupleDisplay) else (kind,)
    return frozenset(item.name for item in kinds if isinstance(item, (Name, Attribute)))
