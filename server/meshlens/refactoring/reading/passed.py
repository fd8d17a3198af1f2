"""The arrays that calls from the host pass to a function, as the interpreter knows them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from meshlens.axes.domain.values import Class, Const, Data, Ext, Seq, Site, Value
from meshlens.axes.runs.records import ApiCall
from meshlens.facts.nodes import Call, For, FunctionDef, While, parameters_of
from meshlens.project.solving.solution import Solution, callees_in, calls_to
from meshlens.project.trees import bound_by, names_used, path_to, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import Target

Sizes: TypeAlias = "tuple[int | None, ...] | None"
Arrays: TypeAlias = "tuple[Sizes, ...]"
"""The distinct shapes of the arrays in an argument; None stands for unknown values."""
_Pairs: TypeAlias = "list[tuple[str, Sizes]]"
"""The arrays in an argument, each as its key and its shape."""


def passed_by_host(view: FileView, target: Target) -> Mapping[Site, Mapping[str, Arrays]]:
    """Returns the arrays in each argument, by parameter, for every call of a function from the host in its file.

    Calls about whose arguments nothing is known are left out.
    """
    found: dict[Site, dict[str, dict[Sizes, None]]] = {}
    for (call, label, _), shapes in _arrays_passed(view, target).items():
        found.setdefault(call, {}).setdefault(label, {}).update(dict.fromkeys(shapes))
    return {site: {name: tuple(shapes) for name, shapes in call.items()} for site, call in found.items()}


def visits_by_host(view: FileView, target: Target) -> tuple[tuple[Site, Mapping[str, Arrays]], ...]:
    """Returns the calls of a function from the host, each as often as it is reached, with the arrays by parameter."""
    return tuple(
        (site, {label: tuple(shape for _, shape in pairs) for label, pairs in visit.items()})
        for site, visit in _visits(view, target)
    )


def axes_by_key(view: FileView, target: Target) -> dict[str, int]:
    """Returns the minimum number of axes of the arrays that the calls pass under each key of a dictionary."""
    found: dict[str, int] = {}
    for (_, _, key), shapes in _arrays_passed(view, target).items():
        least = min((len(shape) if shape is not None else 0 for shape in shapes), default=0)
        found[key] = min(least, found.get(key, least))
    return found


def rows_by_key(view: FileView, target: Target) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yields the dictionaries that calls pass, each as the parameter and the known number of rows under each key.

    A dictionary of which not all arrays are known is left out.
    """
    for _, visit in _visits(view, target):
        for label, pairs in visit.items():
            arrays = dict(pairs)
            if "" not in arrays and len(arrays) == len(pairs) and None not in arrays.values():
                yield label, {key: shape[0] for key, shape in arrays.items() if shape and shape[0] is not None}


def _arrays_passed(view: FileView, target: Target) -> Mapping[tuple[Site, str, str], Arrays]:
    """Returns the shapes of the arrays that calls pass, by call, parameter and key."""
    found: dict[tuple[Site, str, str], dict[Sizes, None]] = {}
    for site, visit in _visits(view, target):
        for label, pairs in visit.items():
            for key, shape in pairs or [("", ())]:
                found.setdefault((site, label, key), {})[shape] = None
    return {place: _known(tuple(shapes)) for place, shapes in found.items()}


def _visits(view: FileView, target: Target) -> Iterator[tuple[Site, Mapping[str, _Pairs]]]:
    """Yields the arrays that calls pass, by parameter, each time that the interpreter reached the call.

    The first times, it may not know the arrays yet; visits that tell nothing, or less than others of the same call, are
    left out.
    """
    found: dict[Site, list[dict[str, _Pairs]]] = {}
    for call in records_of_calls(view, target):
        found.setdefault(call.call, []).append({arg.label or "": _known_pairs(arg.value) for arg in call.args})
    for site, visits in found.items():
        most = max(map(_known_shapes, visits))
        yield from (
            (site, one) for one in visits if _known_shapes(one) == most and (not one or any(map(_tells, one.values())))
        )


def _known_shapes(visit: Mapping[str, _Pairs]) -> int:
    """Returns the number of arrays of a call whose shapes are fully known."""
    return sum(shape is not None and None not in shape for pairs in visit.values() for _, shape in pairs)


def records_of_calls(view: FileView, target: Target) -> tuple[ApiCall, ...]:
    """Returns the calls of a function from the host as `note_passed` records them, each as often as it is reached."""
    key = f"assists: arrays passed to {target.site}"
    found: tuple[ApiCall, ...] = view.solution.once(key, lambda one: calls_to(one, target.site, target.name))
    return found


def _tells(pairs: _Pairs) -> bool:
    return not pairs or any(shape is not None for _, shape in pairs)


def _known(shapes: Arrays) -> Arrays:
    """Returns the shapes without those that say less than another one with as many axes."""
    axes = {len(shape) for shape in shapes if shape is not None and None not in shape}
    kept = tuple(shape for shape in shapes if shape is not None and (None not in shape or len(shape) not in axes))
    return kept or shapes


def shapes_passed(view: FileView, target: Target) -> dict[str, Sizes]:
    """Returns the shapes of the parameters that always receive one array of the same shape."""
    calls = tuple(passed_by_host(view, target).values())
    names = set(calls[0]).intersection(*calls) if calls else set()
    arrays = {name: {call[name] for call in calls} for name in names}
    return {name: shapes[0] for name, found in arrays.items() if len(found) == 1 and len(shapes := found.pop()) == 1}


def classes_passed_by_host(view: FileView, target: Target, calls: Collection[Site]) -> dict[str, tuple[str, str]]:
    """Returns the parameters that are instances of one class in all calls, each with the file and key of the class.

    Args:
        view: the file of the function.
        target: the function.
        calls: all calls.
    """
    found: dict[str, set[tuple[str, str] | None]] = {}
    records = records_of_calls(view, target)
    if not {record.call for record in records}.issuperset(calls):
        return {}
    for record in records:
        for arg in record.args:
            found.setdefault(arg.label or "", set()).add(_class_in(arg.value))
    return {name: only for name, classes in found.items() if len(classes) == 1 and (only := classes.pop()) is not None}


def _class_in(value: Value) -> tuple[str, str] | None:
    match value:
        case Seq(items=(Seq(items=(Const(value=""), Class(path=path, site=site))), *_)):
            return path, site.block
    return None


Callee: TypeAlias = "tuple[str, str]"
"""A called object's class, as its file and key, or a library's function, as "" and its dotted name; "" if unknown."""


def callees(view: FileView, target: Target) -> Mapping[tuple[Site, Site | None], frozenset[Callee]]:
    """Returns what the calls inside a function call.

    They are listed by the call together with the one that runs the function around it, or with None for all of these.

    Args:
        view: the file of the function.
        target: the function.
    """

    def find(solution: Solution) -> dict[tuple[Site, Site | None], frozenset[Callee]]:
        found: dict[tuple[Site, Site | None], set[Callee]] = {}
        for call in callees_in(solution, target.site, target.name):
            for caller in (call.context.route[-1].site, None):
                callee = call.args[0].value
                known = found.setdefault((call.call, caller), set())
                if isinstance(callee, Class):
                    known.add((callee.path, callee.site.block))
                else:
                    known.add(("", callee.dotted if isinstance(callee, Ext) else ""))
        return {place: frozenset(every) for place, every in found.items()}

    return view.solution.once(f"assists: callees in {target.site}", find)


def is_passed_anew(view: FileView, call: Site, name: str, place: int) -> bool:
    """Returns whether a call passes a value that was computed since the last call, or that its function was given.

    Args:
        view: the file of the function.
        call: the call.
        name: the parameter.
        place: its position.
    """
    path = path_to(view, call)
    node = path[-1] if path else None
    if not isinstance(node, Call):
        return False
    named = [value for label, _, value in node.arguments if label == name]
    splats = [value for label, _, value in node.arguments if label == "*"]
    given = [*named, *splats, *(value for label, _, value in node.arguments[place : place + 1] if label is None)][:1]
    loops = [one for one in path if isinstance(one, (For, While))]
    renewed = {bound for one in walk(loops[-1]) for bound in bound_by(one)} if loops else set()
    renewed |= {one.name for one in parameters_of(path[0])} if isinstance(path[0], FunctionDef) else set()
    return any(
        any(isinstance(part, Call) for part in walk(value)) or not renewed.isdisjoint(names_used(value))
        for value in given
    )


def rows_of(call: Mapping[str, Arrays], batches: Collection[str]) -> int | None:
    """Returns the number of rows that a call passes in the given arguments; None if it is unclear."""
    arrays = [one for name in batches for one in call.get(name, ()) if one != ()]
    rows = {one[0] for one in arrays if one}
    is_clear = len(rows) == 1 and all(one and one[0] not in one[1:] for one in arrays)
    return rows.pop() if is_clear else None


def hold_rows(arrays: Arrays, rows: int | None) -> bool:
    """Returns whether the first axis of every array, and no other axis, has the given number of rows."""
    return rows is not None and rows > 1 and all(one and one[0] == rows and rows not in one[1:] for one in arrays)


def hold_no_rows(arrays: Arrays, rows: int | None) -> bool:
    """Returns whether no array has an axis that may consist of the given number of rows, or of groups of them."""
    sizes = [size for one in arrays if one is not None for size in one]
    is_apart = rows is not None and rows > 1 and all(size is not None and size % rows for size in sizes)
    return None not in arrays and (not sizes or is_apart)


def begin_without_rows(arrays: Arrays, rows: int | None) -> bool:
    """Returns whether the first axis of every array is known to differ in size from the given number of rows."""
    return rows is not None and all(
        one is not None and (not one or (one[0] is not None and one[0] != rows)) for one in arrays
    )


def _known_pairs(value: Value) -> _Pairs:
    """Returns the arrays in a recorded argument, without the one that stands for any values if others are known."""
    pairs = list(_pairs(value))
    return [pair for pair in pairs if pair != ("", None)] or pairs


def _pairs(value: object) -> Iterator[tuple[str, Sizes]]:
    """Yields the arrays in a recorded argument, each as its key and its shape."""
    for pair in value.items if isinstance(value, Seq) else ():
        match pair:
            case Seq(items=(Const(value=str(key)), Data(shape=shape))):
                yield key, shape
