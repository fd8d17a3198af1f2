"""The arguments that pytest passes to a test: fixture results and parametrized values."""

from __future__ import annotations

from collections.abc import Sequence

from meshlens.axes.domain.classes import class_attribute
from meshlens.axes.domain.joining import join_all
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Const,
    Function,
    Instance,
    Made,
    Seq,
    Site,
    Value,
    Wrapped,
)
from meshlens.axes.python.unpacking import element
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.known_names import FIXTURES, NOT_EXPECTED_TO_PASS, PARAM, PARAMETRIZE, REQUEST

MARKS = FIXTURES | NOT_EXPECTED_TO_PASS | {PARAMETRIZE}
_MOST_NESTED = 6
_MOST_SETS = 4


def marked(dotted: str, function: Value, site: Site, arguments: tuple[tuple[str | int, Value], ...]) -> Wrapped:
    """Returns a function marked as a fixture or as a parametrized test."""
    args = tuple(Arg(name if isinstance(name, str) else None, value, None, None) for name, value in arguments)
    return Wrapped("same", dotted, function, site, args)


def taken_apart(value: Value) -> tuple[Value, list[Wrapped]]:
    """Returns the marked function or class and its pytest marks."""
    marks: list[Wrapped] = []
    while isinstance(value, Wrapped) and value.dotted in MARKS and len(marks) < _MOST_NESTED:
        marks.append(value)
        value = value.operand
    return value, marks


def sets_of_arguments(
    run: Run, function: Function, marks: Sequence[Wrapped], receiver: Value | None, ctx: Context
) -> list[tuple[Arg, ...]]:
    """Returns the argument sets that pytest calls a test with, up to a limit.

    Args:
        run: the run.
        function: the test.
        marks: the marks on it.
        receiver: the object that the test is a method of; None for a function.
        ctx: the context.
    """
    names = _names(function, 0 if receiver is None else 1)
    tables = [_direct(mark) for mark in marks if mark.dotted == PARAMETRIZE]
    given: dict[str, list[Value]] = {}
    for table in tables:
        given.update(table)
    count = max([len(values) for values in given.values()], default=1)
    sets: list[tuple[Arg, ...]] = []
    fixed = {name: _fixture(run, name, function, receiver, ctx, 0) for name in names if name not in given}
    for place in range(min(count, _MOST_SETS)):
        args: list[Arg] = []
        for name in names:
            value = fixed[name] if name in fixed else given[name][place % len(given[name])]
            args.append(Arg(name, value, None, None))
        sets.append(tuple(args))
    return sets


def _names(function: Function, first: int) -> list[str]:
    return [
        name for name, _, how, default, _ in function.parameters[first:] if how in ("any", "key") and default is None
    ]


def _direct(mark: Wrapped) -> dict[str, list[Value]]:
    """Returns the values of each parameter that the test itself receives; a fixture receives the others."""
    indirect = next((arg.value for arg in mark.arguments if arg.label == "indirect"), Const(False))
    if isinstance(indirect, Seq):
        others = {item.value for item in indirect.items if isinstance(item, Const)}
        return {name: values for name, values in _parameters(mark).items() if name not in others}
    return _parameters(mark) if indirect == Const(False) else {}


def _parameters(mark: Wrapped) -> dict[str, list[Value]]:
    """Returns the values of each parameter, in the order of the argument sets; unknown if they cannot be determined."""
    positional = [arg.value for arg in mark.arguments if arg.label is None]
    named = {arg.label: arg.value for arg in mark.arguments if arg.label is not None}
    names = named.get("argnames", positional[0] if positional else UNKNOWN)
    rows = named.get("argvalues", positional[1] if len(positional) > 1 else UNKNOWN)
    if isinstance(names, Const) and isinstance(names.value, str):
        texts = [text.strip() for text in names.value.split(",") if text.strip()]
    elif isinstance(names, Seq):
        texts = [str(item.value) for item in names.items if isinstance(item, Const)]
    else:
        return {}
    known = [_plain(row) for row in rows.items] if isinstance(rows, Seq) and not rows.open else []
    if not known:
        return {text: [UNKNOWN] for text in texts}
    if len(texts) == 1 and isinstance(names, Const):
        return {texts[0]: known}
    columns: dict[str, list[Value]] = {text: [] for text in texts}
    for row in known:
        fits = isinstance(row, Seq) and len(row.items) == len(texts) and not row.open
        for place, text in enumerate(texts):
            columns[text].append(row.items[place] if isinstance(row, Seq) and fits else UNKNOWN)
    return columns


def _plain(row: Value) -> Value:
    """Returns the value or tuple of values in a `pytest.param(…, id=…)`; any other value unchanged.

    The values are unknown if the row has marks of its own, because then it may be skipped or expected to fail.
    """
    if isinstance(row, Made) and row.dotted == PARAM:
        if any(name in ("marks", "*", "**") for name, _ in row.arguments):
            return UNKNOWN
        items = tuple([value for name, value in row.arguments if isinstance(name, int)])
        return items[0] if len(items) == 1 else Seq("tuple", items)
    return row


def _fixture(run: Run, name: str, function: Function, receiver: Value | None, ctx: Context, depth: int) -> Value:
    """Returns the value of a fixture; unknown if no fixture of this name is visible."""
    found = _find(run, name, function, receiver) if depth < _MOST_NESTED else None
    if found is None:
        return UNKNOWN
    inner, marks = taken_apart(found)
    if not isinstance(inner, Function):
        return UNKNOWN
    is_method = inner.owner is not None and isinstance(receiver, Instance)
    request = Made(REQUEST, inner.site, (("param", _param(marks)),))
    args = [Arg(None, receiver, None, None)] if is_method and receiver is not None else []
    for other in _names(inner, len(args)):
        value = request if other == "request" else _fixture(run, other, inner, receiver, ctx, depth + 1)
        args.append(Arg(other, value, None, None))
    result = run.invoke(Invocation(inner, tuple(args), inner.site, inner.site, inner.frame, ctx, "start"))
    return element(result) if "generator" in inner.flags else result


def _param(marks: Sequence[Wrapped]) -> Value:
    for mark in marks:
        for arg in mark.arguments:
            if arg.label == "params" and isinstance(arg.value, Seq):
                return join_all(map(_plain, arg.value.items))
    return UNKNOWN


def _find(run: Run, name: str, function: Function, receiver: Value | None) -> Value | None:
    if isinstance(receiver, Instance):
        own = class_attribute(receiver.cls, name)
        if _is_fixture(own):
            return own
    for frame in _modules(run, function.path):
        found = frame.vars.get(name)
        if _is_fixture(found):
            return found
        for value in frame.vars.values():
            if isinstance(value, Wrapped) and value.dotted in FIXTURES and _named(value) == name:
                return value
    return None


def _named(mark: Wrapped) -> str | None:
    said = next((arg.value for arg in mark.arguments if arg.label == "name"), None)
    return said.value if isinstance(said, Const) and isinstance(said.value, str) else None


def _is_fixture(value: Value | None) -> bool:
    return value is not None and any(mark.dotted in FIXTURES for mark in taken_apart(value)[1])


def _modules(run: Run, path: str) -> list[Frame]:
    """Returns the module of a test, and the `conftest.py` modules of its folder and the parent folders."""
    parts = path.split("/")[:-1]
    folders = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    paths = [path, *[f"{folder}/conftest.py" if folder else "conftest.py" for folder in folders]]
    states = [run.world.module_state(one, run) for one in paths if run.world.facts(one) is not None]
    return [state.frame for state in states if state is not None]
