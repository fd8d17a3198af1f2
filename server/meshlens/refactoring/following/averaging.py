"""The values that a step must reduce so that all devices hold the same result, and the code that reduces them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby
from typing import Literal, NamedTuple

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    Call,
    Constant,
    ExpressionStatement,
    FunctionDef,
    Lambda,
    Name,
    Return,
    Subscript,
    TupleDisplay,
    last_name,
)
from meshlens.project.trees import Node, bound_by, names_bound, names_used, nodes_of_block, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.axes_known import AxesSeen
from meshlens.refactoring.following.following import Constructs, Follow, Loosened
from meshlens.refactoring.following.following_calls import call_of
from meshlens.refactoring.following.following_statements import follow_body, follow_function
from meshlens.refactoring.following.helpers import (
    Helper,
    Place,
    must_reduce_alike,
    reducing_helpers,
)
from meshlens.refactoring.following.kinds import (
    LINEAR,
    OVER_DEVICES,
    SAME,
    Keyed,
    Kind,
    Listed,
    either,
    leaves,
)
from meshlens.refactoring.following.known_classes import Owner, annotated_classes
from meshlens.refactoring.following.random import bundles_of, is_key, stream_of, streams_of
from meshlens.refactoring.following.sizes import Shape, nothing_known, shapes_inside
from meshlens.refactoring.following.within import Gather, must_always_reduce, within
from meshlens.refactoring.maps.mixing import Mixing
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.prefix import Entries, Items, Prefix
from meshlens.refactoring.reading.axes_shown import axes_shown
from meshlens.refactoring.reading.functions import Target, dotted_name, line_of
from meshlens.refactoring.reading.made import BATCH, used_as_arrays
from meshlens.refactoring.reading.own_methods import owner_of
from meshlens.refactoring.reading.scopes import home_of
from meshlens.refactoring.writing.hoisting import hoisted, reduction, start_of_own_line
from meshlens.refactoring.writing.spelling import Spelling, fresh
from meshlens.refactoring.writing.writing import lines_before, wrapping
from meshlens.text import Edit, FileEdit, Span

_PUTS_TOGETHER = frozenset(
    "flax.nnx.merge flax.nnx.bind equinox.combine equinox.nn.inference_mode equinox.tree_at".split()
)
_MOST_KEYS = 4
_MOST_GATHERS = 3
_WAYS: list[tuple[Literal["by losses", "by helpers", ""], bool, bool]] = [
    *(("", by_helpers, is_kept) for by_helpers, is_kept in itertools.product((False, True), repeat=2)),
    ("by losses", False, False),
    ("by losses", True, False),
    ("by helpers", True, False),
]
"""The ways to reduce, in the order in which they are tried; see `_Modes`."""
_REDUCERS = {"mean": "pmean", "total": "psum"}
_CONSTRUCTS = Constructs(call_of, follow_function)


@dataclass(frozen=True, slots=True)
class Reductions:
    """The values that a step must reduce over devices.

    Attributes:
        lines: statements that assign means or sums, each with the assigned names and the collective.
        inside: inline expressions to change, each with the change: a collective, "divided", for keys "folded", and for
            numbers of rows "numbered".
        out: for every result, None if all devices hold the same value after reducing, else 0.
        results: the kind of the results.
        keys: the key parameters that each device folds its index into.
        streams: the parameters that hold random streams of flax.nnx, each with the name of a stream that is used.
        bundles: the parameters that are dictionaries of keys that each device folds its index into.
        folded: statements that assign keys that each device folds its index into, with the names of the keys.
        renewed: the names in the step's `return`s that are in `keys`, and to which the step assigned the next key.
        calls: the calls to functions that reduce and so need the step's axis name.
        helpers: those functions and the functions that they call.
        loosened: the sizes in assertions that expect all rows of the batch, with their replacements.
        changed: the names of objects in which the step stores values that differ between devices.
        seen: the minimum number of axes of arrays at known calls.
        gathers: the variables that are gathered, with the statements before which this happens.
        mixing: the expressions that may combine rows, innermost first.
    """

    lines: tuple[tuple[Node, tuple[str, ...], str], ...]
    inside: tuple[tuple[Node, str], ...]
    out: Prefix
    results: Kind = "same"
    keys: tuple[str, ...] = ()
    streams: tuple[tuple[str, str], ...] = ()
    bundles: tuple[str, ...] = ()
    folded: tuple[tuple[Node, tuple[str, ...]], ...] = ()
    renewed: tuple[Name, ...] = ()
    calls: tuple[tuple[Call, Helper], ...] = ()
    helpers: tuple[Helper, ...] = ()
    loosened: tuple[Loosened, ...] = ()
    changed: tuple[str, ...] = ()
    seen: AxesSeen = field(default_factory=AxesSeen)
    gathers: tuple[Gather, ...] = ()
    mixing: tuple[Mixing, ...] = ()

    @property
    def sums(self) -> bool:
        """Returns whether any value is combined over devices other than by averaging."""
        every = {how for *_, how in (*self.lines, *self.inside)}
        every |= {how for one in self.helpers for _, how in one.inside.values()}
        every |= {_REDUCERS[kind] for one in self.helpers for _, kind in one.within.lines}
        gathers = any(self.gathers) or any(one.within.gathers for one in self.helpers)
        return gathers or not {"psum", "all_gather", "divided", "numbered"}.isdisjoint(every)

    @property
    def folds_index(self) -> bool:
        """Returns whether each device folds its index into keys."""
        is_inside = any(how == "folded" for _, how in self.inside)
        return bool(self.keys or self.folded or self.streams or self.bundles or is_inside)


@dataclass(frozen=True, slots=True)
class _Modes:
    """How a step is to use its keys and layers.

    Attributes:
        parameters: the parameters that are keys.
        folds: the names of keys that each device folds its index into.
        kept: the names of keys that stay the same; each device folds its index into them only where calls receive them.
        joins_norms: whether its layers are made to average batch statistics over all devices.
        by_helpers: whether the functions that the step calls may reduce on its behalf.
        gathers: whether rows may be gathered, so that every device computes the rest of a loss for all rows: by losses
            alone, by the helpers that run for them too, or "" for neither.
    """

    parameters: tuple[str, ...]
    folds: frozenset[str]
    kept: frozenset[str]
    joins_norms: bool
    by_helpers: bool
    gathers: Literal["by losses", "by helpers", ""] = ""


class Passed(NamedTuple):
    """The facts about a step's parameters that its calls show.

    Attributes:
        shapes: their shapes.
        classes: the project's classes that they are instances of.
        entries: the minimum number of axes of the arrays in them, by the key of a dictionary.
    """

    shapes: Mapping[str, Shape]
    classes: Mapping[str, Owner]
    entries: Mapping[str, int]


def reductions(
    view: FileView,
    target: Target,
    shared: frozenset[str],
    passed: Passed | None = None,
    *,
    joins_norms: bool = False,
) -> Reductions:
    """Returns the values that a step must reduce over devices.

    Each device folds its index into the keys that are not part of a result.

    Args:
        view: the file.
        target: the step.
        shared: its parameters that are the same on every device; the others hold rows.
        passed: what its calls show about its parameters.
        joins_norms: whether its layers are made to average batch statistics over all devices.

    Raises:
        Obstacle: the step takes gradients of a value that is not certainly a mean over the rows.
    """
    used = _used_as_keys(view, target)
    names = [one.name for one in target.node.function.parameters if one.name in shared]
    parameters = [name for name in names if is_key(name) or name in used]
    binding = [node for statement in target.body for node in walk(statement) if isinstance(node, Assign)]
    made = names_bound(node for node in binding if _makes_keys(view, node))
    bound = made | {name for name in names_bound(binding) if is_key(name)}
    keys = [*parameters, *sorted(bound.difference(parameters))][:_MOST_KEYS]
    first: Obstacle | None = None
    unknown: Reductions | None = None
    renewing: Reductions | None = None
    for gathers, by_helpers, is_kept in _WAYS:
        for alike in (alike for count in range(is_kept, len(keys) + 1) for alike in combinations(keys, count)):
            try:
                folds, stay = frozenset(keys) - {*alike}, frozenset(alike if is_kept else ())
                modes = _Modes(tuple(parameters), folds, stay, joins_norms, by_helpers, gathers)
                found = _gathered(view, target, shared, modes, passed or Passed({}, {}, {}))
            except Obstacle as obstacle:
                first = first or obstacle
                continue
            if not _holds(found.results, "own", "mixed", "count", *LINEAR):
                return found
            if gathers:
                continue
            renewing = renewing or _renewing(view, target, found)
            if unknown is None and not _holds(found.results, "own"):
                unknown = found
    if (possible := renewing or unknown) is not None:
        return possible
    raise first or Obstacle("random-numbers", f'"{target.name}" returns a random key that would differ between devices')


def _renewing(view: FileView, target: Target, found: Reductions) -> Reductions | None:
    """Returns reductions with which the step returns the same keys on every device; None if there are none.

    A function that gets a device's key may return the next key. If the step assigns that key to its own parameter and
    returns it, the step can instead split the key that it receives before folding the device index into it.
    """
    if not isinstance(found.results, tuple) or _holds(found.results, "mixed"):
        return None
    inner = {id(one) for node in _walked(target.body) if isinstance(node, (FunctionDef, Lambda)) for one in walk(node)}
    returns = [one for one in _walked(target.body) if isinstance(one, Return) and id(one) not in inner]
    several = [one for one in _walked(target.body) if isinstance(one, Assign) and _makes_keys(view, one)]
    names = {*found.keys} - {one.name for made in several for one in made.targets if isinstance(one, Name)}
    renewed: list[Name] = []
    for one in returns:
        items = one.value.items if isinstance(one.value, TupleDisplay) else ()
        if len(items) != len(found.results):
            return None
        own = [item for item, kind in zip(items, found.results, strict=True) if _holds(kind, "own")]
        renewed += [item for item in own if isinstance(item, Name) and item.name in names]
        if len(own) != len({item.name for item in own if isinstance(item, Name)} & names):
            return None
    results = tuple("same" if _holds(kind, "own") else kind for kind in found.results)
    return replace(found, results=results, out=_out(results), renewed=tuple(renewed))


def _walked(statements: tuple[Node, ...]) -> list[Node]:
    return [node for statement in statements for node in walk(statement)]


def _used_as_keys(view: FileView, target: Target) -> frozenset[str]:
    """Returns the variables that a function passes to JAX's random functions as their keys."""
    calls = [node for one in target.body for node in walk(one) if isinstance(node, Call) and node.arguments]
    given = [call.arguments[0].value for call in calls if dotted_name(view, call.callee).startswith("jax.random.")]
    return frozenset(one.name for one in given if isinstance(one, Name))


def _makes_keys(view: FileView, statement: Assign) -> bool:
    """Returns whether a statement assigns keys that a JAX function creates, regardless of their names."""
    value = statement.value
    dotted = dotted_name(view, value.callee) if isinstance(value, Call) else ""
    return dotted in ("jax.random.split", "jax.random.fold_in", "jax.random.key", "jax.random.PRNGKey")


def _holds(kind: Kind, *wanted: str) -> bool:
    return any(one in wanted for one in leaves(kind))


def _gathered(view: FileView, target: Target, shared: frozenset[str], keys: _Modes, passed: Passed) -> Reductions:
    """Returns the reductions of a step, with one more place at which rows are gathered as long as that helps."""
    gathers: dict[Place, dict[int, Gather]] = {}
    for _ in range(_MOST_GATHERS):
        wanted: list[Helper] = []
        try:
            found = _reductions(view, target, shared, keys, passed, (gathers, wanted))
        except Obstacle:
            if not _adds(gathers, wanted):
                raise
        else:
            if not _adds(gathers, wanted):
                return found
    return _reductions(view, target, shared, keys, passed, (gathers, []))


def _adds(gathers: dict[Place, dict[int, Gather]], wanted: Iterable[Helper]) -> bool:
    """Adds the places at which functions want to gather rows; returns whether there are any."""
    before = {place: dict(known) for place, known in gathers.items()}
    for one in wanted:
        for site, more in (one.within.wanted or {}).items():
            known = gathers.setdefault(one.place, {})
            known[site] = more.together(known.get(site, more))
    return gathers != before


def _reductions(
    view: FileView,
    target: Target,
    shared: frozenset[str],
    keys: _Modes,
    passed: Passed,
    gathering: tuple[dict[Place, dict[int, Gather]], list[Helper]],
) -> Reductions:
    known, (gathers, wanted) = within(target), gathering
    step = Helper(view, target, known, {}, gathers, is_step=True)
    known.gathers, known.wanted = gathers.get(step.place, {}), {} if keys.gathers else None
    known.is_for_losses = keys.gathers == "by losses"
    wanted.append(step)
    streams = tuple((name, stream_of(view, target, name)) for name in streams_of(view, target))
    bundles = bundles_of(target)
    reduced = -1
    while True:
        follow = _begun(view, target, shared, keys, passed)
        follow.env |= dict.fromkeys((*bundles, *(name for name, _ in streams)), "own")
        follow.within, follow.reduce, follow.lines = known, step.reduce, known.lines
        follow.helper = step if keys.by_helpers else None
        follow.given = frozenset(one.name for one in target.node.function.parameters)
        try:
            follow_function(follow, target.body)
        finally:
            wanted[1:] = step.every.values()
        helpers = tuple(reducing_helpers(step))
        # A reduction found in a function for one call must also suit the function's earlier and later calls.
        before, reduced = reduced, sum(one.reductions for one in helpers)
        if before == reduced or not helpers:
            break
    must_always_reduce(view, target, known, {*step.inside, *(site for site, _ in known.lines), *known.gathers})
    for one in helpers:
        must_reduce_alike(one)
        sites = {*one.inside, *(site for site, _ in one.within.lines), *one.within.gathers}
        must_always_reduce(one.view, one.target, one.within, sites)
    lines = tuple((statement, names, _REDUCERS[kind]) for (_, kind), (statement, names) in known.lines.items())
    own = tuple(name for name in keys.parameters if name in keys.folds)
    results = _results(follow.returned)
    folded = tuple(follow.folded.values())
    found = Reductions(lines, tuple(step.inside.values()), _out(results), results, own, streams, bundles, folded)
    calls = tuple((call, one) for call, one in step.calls.values() if one.needs_axis())
    loosened, changed = tuple(follow.loosened), tuple(follow.changed)
    found = replace(found, gathers=tuple(known.gathers.values()))
    return replace(
        found,
        calls=calls,
        helpers=helpers,
        loosened=loosened,
        changed=changed,
        seen=follow.seen,
        mixing=tuple(follow.mixing),
    )


def _begun(view: FileView, target: Target, shared: frozenset[str], keys: _Modes, passed: Passed) -> Follow:
    """Returns the scope of a step before its first statement."""
    follow = Follow(
        _CONSTRUCTS,
        view,
        {one.name: "same" if one.name in shared else "tree" for one in target.node.function.parameters},
    )
    follow.env |= {name: "alike" for name in target.filled if BATCH.fullmatch(name) is not None}
    follow.shapes = shapes_inside(target.body, passed.shapes, nothing_known)
    follow.env |= {name: "own" if name in keys.folds else "key" for name in keys.parameters}
    follow.seen = AxesSeen(entries=passed.entries)
    follow.folds, follow.kept, follow.joins_norms = keys.folds, keys.kept, keys.joins_norms
    follow.reduced_later = _reduced(target)
    _place(follow, target)
    follow.classes = {**passed.classes, **follow.classes}
    return follow


def helper_reductions(helper: Helper) -> Reductions:
    """Returns the reductions that a function makes for the step that calls it."""
    every = helper.within.lines.items()
    lines = tuple((statement, names, _REDUCERS[kind]) for (_, kind), (statement, names) in every)
    return Reductions(lines, tuple(helper.inside.values()), None, gathers=tuple(helper.within.gathers.values()))


def out_axes_as_written(view: FileView, target: Target, axes: tuple[int | None, ...]) -> Prefix:
    """Returns None for every result that is certainly the same on all devices, and 0 for every other result.

    Args:
        view: the file.
        target: the function, which contains its own reductions.
        axes: for every parameter, None if it is the same on every device.
    """
    places = dict(zip((one.name for one in target.parameters), axes, strict=False))
    follow = Follow(
        _CONSTRUCTS,
        view,
        {one.name: "same" if places.get(one.name, 0) is None else "tree" for one in target.node.function.parameters},
    )
    _place(follow, target)
    try:
        follow_body(follow, target.body)
    except Obstacle:
        return 0
    return _out(_results(follow.returned))


def _place(follow: Follow, target: Target) -> None:
    """Records which function a scope belongs to."""
    follow.home = home_of(follow.view, target.at(target.node.site))
    follow.own = owner_of(follow.view, follow.home or target.site.block)
    follow.arrays, follow.axes = used_as_arrays(target.node), axes_shown(target.node, follow.dotted)
    follow.top, follow.step = follow.view, target
    follow.classes = annotated_classes(follow.view, target.parameters)
    follow.bound = frozenset(names_bound(target.body))
    follow.together = frozenset(_put_together(follow.view, target))
    parameters = {one.name for one in target.node.function.parameters}
    follow.made = {name: made for name, made in follow.outside().made.items() if name not in parameters}


def _put_together(view: FileView, target: Target) -> Iterator[str]:
    """Yields the names that a function assigns only once and that hold a model assembled from its parts."""
    counted = Counter(name for statement in target.body for node in walk(statement) for name in bound_by(node))
    for statement in target.body:
        if isinstance(statement, Assign) and isinstance(statement.value, Call) and len(statement.targets) == 1:
            name = statement.targets[0].name if isinstance(statement.targets[0], Name) else ""
            if counted[name] == 1 and dotted_name(view, statement.value.callee) in _PUTS_TOGETHER:
                yield name


def _results(returned: list[Kind]) -> Kind:
    kind = returned[0] if returned else "same"
    for other in returned[1:]:
        kind = either(kind, other)
    return kind


def _out(kind: Kind) -> Prefix:
    if isinstance(kind, str):
        return None if kind in SAME else 0
    found = {None if one in SAME else 0 for one in leaves(kind)}
    if len(found) <= 1:
        return found.pop() if found else None
    if isinstance(kind, Keyed):
        return Entries(tuple((key, _out(one)) for key, one in kind.items))
    return Items("list" if isinstance(kind, Listed) else "tuple", tuple(map(_out, kind)))


def _reduced(target: Target) -> frozenset[str]:
    """Returns the names in the arguments that a function itself passes to collectives."""
    calls = [node for statement in target.body for node in walk(statement) if isinstance(node, Call)]
    return frozenset(
        name
        for call in calls
        if last_name(call.callee) in OVER_DEVICES
        for argument in call.arguments
        for name in names_used(argument.value)
    )


def reducing(
    view: FileView, target: Target, found: Reductions, spelling: Spelling, axis: str, guard: str = ""
) -> list[FileEdit]:
    """Returns the edits that reduce values over devices.

    Args:
        view: the file.
        target: the step.
        found: the values to reduce.
        spelling: spells the names of the collectives.
        axis: the source of the axis name.
        guard: the header of a statement that guards the reductions; "" for none.

    Raises:
        Obstacle: there is no place for the reductions.
    """
    edits = [edit for edit, _ in groupby(sorted(map(_loosening, found.loosened)))]
    for gather in found.gathers:
        edits.append(_lines_above(view, target, gather, spelling, axis, guard))
    for statement, names, how in found.lines:
        edits.append(_line_below(view, target, statement, reduction(names, how, spelling, axis), guard))
    needs_index = found.folds_index or any(how == "numbered" for _, how in found.inside)
    index = f"{spelling.of('jax', 'lax.axis_index')}({axis})" if needs_index else ""
    own = [f"{name} = {spelling.of('jax', 'random.fold_in')}({name}, {index})" for name in found.keys]
    renewed = {one.name: fresh(view, f"next_{one.name}") for one in found.renewed}
    if renewed and guard:
        raise Obstacle("random-numbers", f'"{target.name}" returns a random key that would differ between devices')
    own[:0] = [f"{new}, {name} = {spelling.of('jax', 'random.split')}({name})" for name, new in renewed.items()]
    edits += [FileEdit(view.path, Edit(view.span(target.at(one.site)), renewed[one.name])) for one in found.renewed]
    for name, stream in found.streams:
        key = f"{spelling.of('jax', 'random.fold_in')}({name}.{stream}(), {index})"
        own.append(f"{name} = {spelling.of('flax.nnx', 'Rngs')}({key})")
    for name in found.bundles:
        key = spelling.of("jax", "random.fold_in")
        own.append(f"{name} = {spelling.tree_map()}(lambda key: {key}(key, {index}), {name})")
    edits += _at_the_start(view, target, own, guard)
    for statement, names in found.folded:
        for name in names:
            text = f"{name} = {spelling.of('jax', 'random.fold_in')}({name}, {index})"
            edits.append(_line_below(view, target, statement, text, guard))
    if guard and found.inside:
        return [*edits, *hoisted(view, target, found.inside, spelling, axis)]
    for node, how in found.inside:
        span = view.span(target.at(node.site))
        if how == "divided":
            edits += _divided(view, span, f"{spelling.of('jax', 'lax.psum')}(1, axis_name={axis})")
            continue
        if how == "folded":
            edits += wrapping(view, span, f"{spelling.of('jax', 'random.fold_in')}(", f", {index})")
            continue
        if how == "numbered":
            text = view.text(target.at(node.site))
            count = node.arguments[0].value if isinstance(node, Call) and len(node.arguments) == 1 else None
            is_short = isinstance(count, (Name, Attribute, Subscript, Call))
            own_rows = view.text(target.at(count.site)) if count is not None and is_short else f"{text}.shape[0]"
            edits.append(FileEdit(view.path, Edit(span, f"({text} + {index} * {own_rows})")))
            continue
        edits.append(FileEdit(view.path, Edit(Span(span.start, span.start), f"{spelling.of('jax', f'lax.{how}')}(")))
        rest = ", tiled=True" if how == "all_gather" else ""
        edits.append(FileEdit(view.path, Edit(Span(span.end, span.end), f", axis_name={axis}{rest})")))
    return edits


def _loosening(one: Loosened) -> FileEdit:
    path = str(one.view.path)
    blocks = (
        key for key in one.view.facts.blocks if any(node is one.size for node in nodes_of_block(one.view, path, key))
    )
    return FileEdit(one.view.path, Edit(one.view.span(Site(path, next(blocks), one.size.site)), one.text))


def _divided(view: FileView, span: Span, by: str) -> list[FileEdit]:
    """Returns the edits that divide an expression, with parentheses if it is an operand."""
    before, after = view.source[: span.start].rstrip(b" "), view.source[span.end :].lstrip(b" ")
    is_alone = before.endswith((b"=", b"(", b",", b"return")) and after[:1] in (b"", b"\n", b"\r", b")", b",")
    opening, closing = ("", "") if is_alone else ("(", ")")
    return wrapping(view, span, opening, f" / {by}{closing}")


def _line_below(view: FileView, target: Target, statement: Node, text: str, guard: str) -> FileEdit:
    span = view.span(target.at(statement.site))
    end = view.source.find(b"\n", span.end)
    end = end if end >= 0 else len(view.source)
    end -= view.source[:end].endswith(b"\r")
    rest = view.source[span.end : end].strip()
    start = view.source.rfind(b"\n", 0, span.start) + 1
    head = view.source[start : span.start].decode("utf-8", "replace")
    if head.strip() or (rest and not rest.startswith(b"#")):
        line = line_of(view, target.at(statement.site))
        raise Obstacle("gradient-line", f"line {line} contains more than one statement; put each on its own line")
    lines = f"\n{head}{guard}\n{head}    {text}" if guard else f"\n{head}{text}"
    return FileEdit(view.path, Edit(Span(end, end), lines))


def _lines_above(view: FileView, target: Target, gather: Gather, spelling: Spelling, axis: str, guard: str) -> FileEdit:
    start = start_of_own_line(view, target, gather.statement)
    lines = [reduction(gather.rows, "all_gather", spelling, axis)]
    lines += [reduction(gather.counts, "psum", spelling, axis)] if gather.counts else []
    if guard:
        lines = [guard, *(f"    {line}" for line in lines)]
    return lines_before(view, gather.statement, start, lines)


def _at_the_start(view: FileView, target: Target, lines: list[str], guard: str) -> list[FileEdit]:
    """Returns the edit that inserts lines before the first statement of a function."""
    if not lines:
        return []
    body = [
        node for node in target.body if not (isinstance(node, ExpressionStatement) and isinstance(node.value, Constant))
    ]
    start = view.span(target.at(body[0].site)).start if body else 0
    head = view.source[view.source.rfind(b"\n", 0, start) + 1 : start].decode("utf-8", "replace")
    if not body or head.strip():
        raise Obstacle(
            "no-place", f'the body of "{target.name}" does not begin on its own line; move it to the next line'
        )
    if guard:
        lines = [guard, *(f"    {line}" for line in lines)]
    return [lines_before(view, body[0], start, lines)]
