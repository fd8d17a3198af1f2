"""Selects the calls to run: dull functions are skipped, plain ones run only a few times, and results are shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from meshlens.axes.data.fillers import is_filled
from meshlens.axes.data.typed_shardings import is_typed
from meshlens.axes.domain.classes import class_attribute
from meshlens.axes.domain.joining import join_all, variations_in
from meshlens.axes.domain.keys import STEPS
from meshlens.axes.domain.kinds import is_plain_data
from meshlens.axes.domain.labels import COORDINATES, INTEGERS, ONES, PART_SIZE, of_kinds
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Made,
    Mapped,
    Mesh,
    Module,
    Partial,
    Seq,
    Site,
    Spec,
    Super,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import VARYING
from meshlens.axes.python.context_managers import MANAGED
from meshlens.axes.python.tables import forgotten, is_table
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.heap import attributes_of, set_attribute
from meshlens.axes.runs.ledger import MOST_PLAIN_RUNS, MOST_TELLING_RUNS, Key, Shared, most_runs
from meshlens.axes.runs.run import MOST_FOLLOWED, Run
from meshlens.axes.runs.tree_objects import fields_of
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    Call,
    ClassDef,
    Constant,
    DictDisplay,
    Expression,
    FunctionDef,
    FunctionShape,
    Lambda,
    ListDisplay,
    Name,
    Return,
    Starred,
    Subscript,
    TupleDisplay,
    Yield,
)
from meshlens.facts.walking import nodes
from meshlens.jaxapi.binders import BINDERS, MAPS_ON_DEVICES
from meshlens.jaxapi.consumers import CONSUMERS

_HOLD_NAMES = frozenset(
    name for row in BINDERS.values() if row.names_from == "parameters" for name in (row.names, *row.more_names)
)
"""Keywords that give a binder its axis names; a function that takes one, even through `**`, may pass it to a binder."""

_AXES_OF_LAYERS = frozenset(row.parameter for row in CONSUMERS.values())
"""Keywords that give a library's layer the axis over which it reduces."""
_HOLD_NO_FUNCTION = frozenset({Data, Const, Ext, Made, Mesh, Spec, Class, Instance, Module, Super})
_HOLDS_NOTHING = _HOLD_NO_FUNCTION - {Instance}
_TELL_LEAVES = frozenset({Const, Dict, Seq, Spec})
_HOLD_FUNCTIONS = frozenset({Function, Partial, Mapped, Wrapped})
_MAKE_ATTRIBUTES = frozenset({"__init__", "__post_init__", "setup"})
_ITERATE = ("__iter__", "__getitem__", "__next__")
_MOST_SHORT = 16
"""Maximum number of runs of a function whose body is one statement and that gets sizes, names or a key."""
MOST_NAMED = 64
_MOST_DATA = 300
"""Maximum number of runs of a function that gets the path to a tree leaf, or of a method that stores values by name."""
_SHOWN_BY_SHAPES = frozenset({INTEGERS})
_OF_PARTS = (COORDINATES, PART_SIZE)
"""The kinds of labels of a part's size, and of what a device computes from it."""
_DEEPEST_OBJECT = 2
"""Maximum depth at which an object is searched for sizes."""
_FEW = 5
"""Maximum number of statements of a method that stores values by name; such a method runs again for each name."""
_THIN = 2
"""Maximum number of statements of a thin wrapper, such as one around a map."""


def spent(run: Run, function: Function, values: dict[str, Value], decides: bool, ctx: Context) -> Value | None:
    """Returns the result to reuse once a function has used up its runs outside any map; None if it may run again.

    Runs are counted separately if they may never happen, happen only with some JAX releases, or initialize a module's
    parameters, which skips some collectives.

    Args:
        run: the run.
        function: the function.
        values: its arguments.
        decides: whether they may affect axes.
        ctx: the context of the call.
    """
    telling = (decides, ctx.sure and run.api_guard == run.broad_guard, ctx.skip)
    ran: tuple[Site, tuple[bool, ...]] = (function.site, telling)
    left = run.ledger.left
    given = [value for value in values.values() if type(value) not in _HOLDS_NOTHING]
    # The object whose method runs does not count as an argument.
    owner: Value | None = None
    if given and type(given[0]) is Instance and function.owner is not None and function.kind != "static":
        owner = given.pop(0)
    handed: frozenset[Any] = frozenset([site for value in given for site in _worthwhile(run, value)])
    if function.frame.parent is not None:
        handed = handed.union(_names_closed_over(run, function))
    # However often a function has run, it runs again for a new function or object related to axes, an inner function
    # also for new names that its factory was passed, and a thin wrapper for names, meshes and specs.
    is_thin = (decides or _makes_spec_of(run, function, owner)) and (
        len(run.body(function)) <= _THIN or MANAGED in function.flags
    )
    is_news = (handed and not run.count((function.site, handed))) or is_thin
    # Most strings are not axis names. They count only near a binder or a use of an axis, and when an object is created,
    # because it has no attributes yet.
    is_plain = not decides or not (
        any(map(_is_choice, values.values())) or function.name in _MAKE_ATTRIBUTES or _names_axes(run, function)
    )
    count = run.count(ran)
    if is_plain and decides and MOST_PLAIN_RUNS <= count < MOST_TELLING_RUNS:
        is_plain = not _picks_entry(run, function, values)
    most = MOST_PLAIN_RUNS if is_plain else most_runs(ran)
    if is_news or count < most or _may_run_again(run, function, values, count):
        own = left.get(ran, 0)
        left[ran] = own + 1 if type(own) is int else 1
        if handed:
            left[(function.site, handed)] = 1
        return None
    is_shared = not (decides or run.scoped) and run.shares(function)
    known = left.get(function.site) or run.find(function.site) if is_shared else None
    if not isinstance(known, Shared):
        return UNKNOWN
    run.relied.add(known.root)
    # A closure's result also depends on the variables that it closes over.
    if function.frame.parent is None:
        if known.given == values:
            return known.value
        if known.is_for_any_number and _differ_in_numbers(known.given, values):
            return _of_any_rows(known.value)
    key = ("whatever given", function.site, known.value)
    if key not in run.memo:
        # The returned expressions matter only for a container, because they may show its number of items.
        written = _returned(run.body(function)) if type(known.value) in (Seq, Dict) else ()
        run.memo[key] = _whatever_given(_Result(run, function, known.given), known.value, written)
    return run.memo[key]


def latest(run: Run, function: Function, result: Value, given: dict[str, Value]) -> Shared:
    """Returns the latest result of a function, to be reused once the function has used up its runs."""
    before = run.ledger.left.get(function.site)
    is_for_any = isinstance(before, Shared) and before.value == result and _differ_in_numbers(before.given, given)
    return Shared(result, run.root, {}, given=given, is_for_any_number=is_for_any)


def _differ_in_numbers(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Returns whether arguments differ, but only in numbers, such as that of an epoch."""
    if one.keys() != other.keys():
        return False
    pairs = [(value, other[name]) for name, value in one.items() if value != other[name]]
    return bool(pairs) and all(_is_integer(value) for pair in pairs for value in pair)


def _is_integer(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int


def _of_any_rows(value: Value) -> Value:
    """Returns the shapes in a result for another number: of the last batches, it may be the one with fewer rows."""
    if isinstance(value, Seq):
        return Seq(value.kind, tuple(map(_of_any_rows, value.items)), value.open)
    if isinstance(value, Dict):
        return Dict(tuple([(key, _of_any_rows(held)) for key, held in value.items]), value.open, value.attributes)
    if isinstance(value, Data) and value.shape and "key" not in value.labels:
        return Data(value.labels & _SHOWN_BY_SHAPES, (None, *value.shape[1:]), array=value.array)
    return UNKNOWN


def _makes_spec_of(run: Run, function: Function, owner: Value | None) -> bool:
    """Returns whether a method may create a spec from what its object holds."""
    if not isinstance(owner, Instance) or not any(map(_decides, attributes_of(run, owner).values())):
        return False
    run.weighs(function)
    return run.world.is_worth_a_root(function.path, function.block, starts=True)


def _decides(value: Value) -> bool:
    """Returns whether an attribute is a name or switch by which a method may choose a spec."""
    return (type(value) is Const and type(value.value) is bool) or tells((value,))


def _may_run_again(run: Run, function: Function, values: dict[str, Value], count: int) -> bool:
    """Returns whether a function that has run this often may run again, because its result differs each time."""
    if count >= MOST_NAMED:
        return False
    length = len(run.body(function))
    if count < _MOST_SHORT and (
        (length == 1 and _gets_what_differs(run, values)) or _fills_up_rows(run, function, values)
    ):
        return True
    return tells_leaves_apart(run, function, values) or (length <= _FEW and _names_an_entry(run, function, values))


def _fills_up_rows(run: Run, function: Function, values: dict[str, Value]) -> bool:
    """Returns whether a function pads an array that it is given, such as the last batch or the weights of its rows."""
    is_given = any(type(value) is Data and (value.shape or ONES in value.labels) for value in values.values())
    return is_given and run.world.fills_up(function.path, function.block)


def tells_leaves_apart(run: Run, function: Function, values: dict[str, Value]) -> bool:
    """Returns whether a function gets the path to a tree leaf or a spec for one, or matches paths with patterns."""
    told = [value for value in values.values() if type(value) in _TELL_LEAVES]
    if not told:
        return False
    if any(map(_is_path, told)) or any(map(_is_of_leaf, told)):
        return True
    is_path = any(_is_text(value) or _is_names(value, numbers=True) for value in told)
    return is_path and run.world.matches_patterns(function.path, function.block)


def _names_an_entry(run: Run, function: Function, values: dict[str, Value]) -> bool:
    """Returns whether a method gets a name under which it may store a value in its object."""
    return any(map(_is_text, values.values())) and bool(_filled(run, function))


def _picks_entry(run: Run, function: Function, values: dict[str, Value]) -> bool:
    """Returns whether a function picks an entry of a table by a text that it gets, such as a preset by its name."""
    texts = {name for name, value in values.items() if _is_text(value)}
    keys = [node.key for node in nodes(run.body(function)) if isinstance(node, Subscript)] if texts else []
    return any(isinstance(key, Name) and key.name in texts for key in keys)


def _is_text(value: Value) -> bool:
    return type(value) is Const and type(value.value) is str


def _is_of_leaf(value: Value) -> bool:
    return type(value) is Spec and value.leaf is not None


def _is_path(value: Value) -> bool:
    """Returns whether a value is the path to a tree leaf, or a step of one."""
    if type(value) is Seq:
        return bool(value.items) and all(type(one) is Dict and _is_path(one) for one in value.items)
    return type(value) is Dict and value.attributes and len(value.items) == 1 and value.items[0][0] in STEPS


def _gets_what_differs(run: Run, values: dict[str, Value]) -> bool:
    """Returns whether a function gets sizes, names of dimensions, or labeled arrays, which differ from call to call."""
    return any(
        _holds_sizes(run, value) or _is_names(value) or (type(value) is Data and _differs_in_calls(value))
        for value in values.values()
    )


def _differs_in_calls(value: Data) -> bool:
    return value.shape == () or _is_told_apart(value.labels)


def _is_names(value: Value, *, numbers: bool = False) -> bool:
    """Returns whether a value is a tuple with a name, or None, for each dimension of an array.

    Args:
        value: the value.
        numbers: whether it may also be the path to a leaf, in which numbers select items of lists.
    """
    if type(value) is not Seq or value.open or not any(map(_is_text, value.items)):
        return False
    kinds = (str, int) if numbers else (str, type(None))
    return all(type(item) is Const and type(item.value) in kinds for item in value.items)


def _holds_layouts(value: Value) -> bool:
    """Returns whether a value is a table that holds the names of an array's dimensions, at any depth."""
    return isinstance(value, Dict) and any(_is_names(held) or _holds_layouts(held) for _, held in value.items)


def _is_told_apart(labels: frozenset[Any]) -> bool:
    """Returns whether an array is a key or each device's own mean or sum, which a short function may select from."""
    return "key" in labels or _is_apart(labels)


def _is_apart(labels: frozenset[Any]) -> bool:
    return any(isinstance(label, tuple) and label[0] == "apart" for label in labels)


def _names_axes(run: Run, function: Function) -> bool:
    says, blocks = run.world.names_axes(function.path, function.block)
    run.deps.update([(function.path, block) for block in blocks])
    return says


@dataclass(slots=True)
class _Result:
    """The result of a call while it is generalized to other arguments.

    Attributes:
        run: the run.
        function: the callee.
        given: the arguments of that call.
        frames: the generalized frames of the call.
    """

    run: Run
    function: Function
    given: Mapping[str, Value]
    frames: dict[int, Frame] = field(default_factory=dict)


def _whatever_given(result: _Result, value: Value, written: tuple[Any, ...]) -> Value:
    """Returns the part of a result that is valid for any arguments: functions and meshes, not numbers, shapes or keys.

    Args:
        result: the call.
        value: the result or a part of it.
        written: the returned expressions; none if they do not show the number of items.
    """
    if isinstance(value, Seq):
        if value.kind == "slice":
            return Seq("slice", tuple([_whatever_given(result, item, ()) for item in value.items]))
        if not _is_written_out(written, len(value.items)):
            items = [_whatever_given(result, item, ()) for item in value.items]
            return Seq(value.kind, (join_all(items),) * bool(items), True)
        columns = zip(*(node.items for node in written), strict=True)
        items = [_whatever_given(result, item, column) for item, column in zip(value.items, columns, strict=True)]
        return Seq(value.kind, tuple(items), value.open)
    if isinstance(value, Dict):
        is_open = value.open or not _is_dict_written_out(written, len(value.items))
        return Dict(tuple((key, _whatever_given(result, item, ())) for key, item in value.items), is_open)
    if isinstance(value, Union):
        options = dict.fromkeys(_whatever_given(result, one, ()) for one in value.options)
        return Union(tuple(options), value.of_table)
    if isinstance(value, Mesh):
        return replace(value, names=(), sizes=None, open=True, explicit=())
    if isinstance(value, Partial):
        args = tuple(replace(arg, value=_whatever_given(result, arg.value, ())) for arg in value.args)
        return replace(value, callee=_whatever_given(result, value.callee, ()), args=args)
    if isinstance(value, Bound):
        return replace(value, receiver=_whatever_given(result, value.receiver, ()))
    if isinstance(value, Instance):
        return _object_whatever_given(result, value)
    if isinstance(value, Function) and value.frame.parent is result.function.frame:
        return replace(value, frame=_frame_whatever_given(result, value.frame))
    return UNKNOWN if isinstance(value, (Data, Const, Spec, Made)) else value


def _object_whatever_given(result: _Result, value: Instance) -> Value:
    """Returns an object that the call created, with the attributes that it would have for any arguments."""
    run, site = result.run, result.function.site
    if value in result.given.values():
        return UNKNOWN
    if value.made is None or not _is_in_function(run, value.made):
        return value
    held = attributes_of(run, value)
    number = run.number_of(("whatever given", value.cls, value.made, site))
    own = replace(value, number=number)
    if number not in run.heap:
        run.heap[number] = {}
        run.heap[number].update({name: _whatever_given(result, one, ()) for name, one in held.items() if one != own})
    return own


def _is_in_function(run: Run, site: Site) -> bool:
    """Returns whether a site is in a function, so that each call creates its own object there."""
    facts = run.world.facts(site.path)
    block = facts.blocks.get(site.block) if facts is not None else None
    return block is not None and isinstance(block.shape, (FunctionDef, FunctionShape))


def _frame_whatever_given(result: _Result, frame: Frame) -> Frame:
    """Returns the call's variables as they would be for any arguments, for a function that closes over them."""
    known = result.frames.get(id(frame))
    if known is not None:
        return known
    own = result.frames[id(frame)] = Frame(frame.path, frame.block, frame.parent, frame.sites)
    own.globals, own.nonlocals, own.parameters = frame.globals, frame.nonlocals, frame.parameters
    own.owner, own.receiver = frame.owner, frame.receiver
    own.vars = {name: _whatever_given(result, one, ()) for name, one in frame.vars.items()}
    return own


def _is_written_out(written: tuple[Any, ...], count: int) -> bool:
    """Returns whether expressions are tuple or list displays with this many items."""
    return bool(written) and all(
        isinstance(node, (TupleDisplay, ListDisplay))
        and len(node.items) == count
        and not any(isinstance(item, Starred) for item in node.items)
        for node in written
    )


def _is_dict_written_out(written: tuple[Any, ...], count: int) -> bool:
    """Returns whether expressions are dictionary displays with this many items."""
    return bool(written) and all(
        isinstance(node, DictDisplay) and len(node.pairs) == count and all(pair.key is not None for pair in node.pairs)
        for node in written
    )


@lru_cache(maxsize=500)
def _returned(statements: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the expressions that statements return, excluding those of nested functions."""
    found: list[Any] = []
    waiting: list[Any] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (FunctionDef, Lambda, ClassDef)):
            continue
        if isinstance(node, (Return, Yield)):
            found.append(node.value if node.value is not None else node)
        else:
            waiting.extend([part for part in node if isinstance(part, tuple)])
    return tuple(found)


def tells(values: Iterable[Value]) -> bool:
    """Returns whether arguments may affect axes: names, functions, meshes or specs."""
    for value in values:
        kind = type(value)
        if kind is Data:
            continue
        if isinstance(value, Const):
            if type(value.value) is str:
                return True
        elif isinstance(value, Seq):
            if tells(value.items):
                return True
        elif isinstance(value, Dict):
            if tells([item for _, item in value.items]):
                return True
        elif kind in (Mesh, Spec) or _is_choice(value) or _holds_function(value):
            return True
    return False


def _is_choice(value: Value) -> bool:
    """Returns whether a value is an enum member, by which a program selects one of its variants."""
    return isinstance(value, Made) and value.dotted == "enum.Enum"


def share(run: Run, key: Key, result: Value, begun: int, names: tuple[Const, ...]) -> None:
    """Stores a result for other roots, unless the call changed an existing object."""
    new = {number for number, made in run.written[begun:] if made}
    if all(number in new for number, _ in run.written[begun:]):
        heap = {number: dict(run.heap.get(number, {})) for number in new}
        run.ledger.left[key] = Shared(result, run.root, heap, names)


def is_dull(run: Run, function: Function, args: tuple[Arg, ...], ctx: Context) -> bool:
    """Returns whether running a function reveals nothing: it reaches no axis, and gets no functions or axis names."""
    if run.world.reaches(function.path, function.block, ctx.env) or MANAGED in function.flags:
        return False
    if run.api_guard > run.broad_guard and run.world.is_worth_a_root(function.path, function.block, starts=False):
        return False
    if ctx.skip and run.world.is_worth_a_root(function.path, function.block, starts=False):
        # Initializing a model reveals the layout of its arrays.
        return False
    if any(_holds_function(arg.value) or arg.label in _HOLD_NAMES or _is_path(arg.value) for arg in args):
        return False
    if any(type(arg.value) is Dict and _sets_axis(arg.value) for arg in args):
        # The function may pass the settings on to a layer that reduces over the axis.
        return False
    if any(type(arg.value) is Mesh for arg in args):
        # The function may place arrays on the devices of the mesh.
        return False
    if any(isinstance(arg.value, (Data, Made)) and arg.value.labels and _is_apart(arg.value.labels) for arg in args):
        # The function may pick one device's part.
        return False
    if function.frame.parent is not None and _closes_over_axes(run, function):
        return False
    if run.world.makes_arrays(function.path, function.block) and _gets_sizes(run, function, args):
        return False
    gets_options = any(map(_is_command_line, args)) or (run.world.by_default and any(map(_is_empty, args)))
    if gets_options and run.world.is_short(function.path, function.block):
        # The function may read the command line.
        return False
    if not ctx.env.maps and run.world.is_short(function.path, function.block):
        if any(map(_is_one_key, args)):
            # The function may make the parameters of a model.
            return False
        if function.owner is None and all(is_small_data(arg.value) for arg in args):
            # The function may return a configuration.
            return False
        yields_rows = "generator" in function.flags or function.name in _ITERATE
        if yields_rows:
            # The last batch may be smaller than the others.
            return False
    if any(_holds_layouts(arg.value) for arg in args) and run.world.maps_trees(function.path, function.block):
        # The function may turn the names of each array's dimensions into a spec.
        return False
    handed = args[1:] if function.owner is not None and function.kind != "static" else args
    if len(handed) < len(args) and _keeps_map(run, args[0].value):
        return False
    if function.name in _MAKE_ATTRIBUTES and len(handed) < len(args) and tells([arg.value for arg in handed]):
        # Methods of the new object, or other code, may read an axis name from its attributes.
        handed = args
        is_plain = isinstance(args[0].value, Instance) and not args[0].value.cls.bases
        if is_plain and not ctx.env.maps and run.world.is_short(function.path, function.block):
            return False
    if function.name == "__init__" and len(handed) < len(args) and any(_holds_sizes(run, arg.value) for arg in handed):
        # Methods of the new object may split arrays whose shapes depend on its attributes.
        handed = args
        if _iterates(args[0].value):
            return False
    return not any(isinstance(arg.value, Instance) and _is_worthwhile(run, arg.value.cls) for arg in handed)


def _sets_axis(settings: Dict) -> bool:
    """Returns whether a dictionary has an entry that names the axis of a library's layer."""
    return not settings.open and any(
        key in _AXES_OF_LAYERS and type(value) is Const and type(value.value) is str for key, value in settings.items
    )


def _is_empty(arg: Arg) -> bool:
    """Returns whether an argument is an empty list, as are the options that nobody passes."""
    return isinstance(arg.value, Seq) and not arg.value.items and not arg.value.open


def _is_command_line(arg: Arg) -> bool:
    """Returns whether an argument is a list of options, such as `["--axis", "data"]`."""
    first = arg.value.items[0] if isinstance(arg.value, Seq) and arg.value.kind == "list" and arg.value.items else None
    return isinstance(first, Const) and isinstance(first.value, str) and first.value.startswith("-")


def _iterates(value: Value) -> bool:
    """Returns whether an object has rows or batches, which may not divide evenly over the devices."""
    return isinstance(value, Instance) and any(class_attribute(value.cls, name) is not None for name in _ITERATE)


def _gets_sizes(run: Run, function: Function, args: tuple[Arg, ...]) -> bool:
    """Returns whether a function gets sizes, or the defaults of its parameters are sizes, or it has no parameters."""
    if any(_holds_sizes(run, arg.value) for arg in args):
        return True
    others = [parameter for parameter in function.parameters if parameter.default is not None]
    return not function.parameters or any(
        isinstance(one.default, Constant) and type(one.default.value) is int for one in others
    )


def _keeps_map(run: Run, value: Value) -> bool:
    """Returns whether an object has an attribute that is a map over devices, which its methods may call."""
    if not isinstance(value, Instance):
        return False
    kept = attributes_of(run, value).values()
    return any(isinstance(one, Mapped) and one.binder.kind in MAPS_ON_DEVICES for one in kept)


def is_small_data(value: Value) -> bool:
    """Returns whether a value is known data of moderate size."""
    return getattr(value, "weight", 0) <= _MOST_DATA and is_plain_data(value)


def is_followed(run: Run, function: Function, args: tuple[Arg, ...], ctx: Context) -> bool:
    """Returns whether a dull function is entered to follow arrays that are, or may be, split over devices."""
    if not (_is_split_in_map(run, function, args, ctx) if ctx.env.maps else _may_be_split(run, args)):
        return False
    if run.followed >= MOST_FOLLOWED:
        run.is_brief = True
        return False
    run.followed += 1
    return True


def _is_split_in_map(run: Run, function: Function, args: tuple[Arg, ...], ctx: Context) -> bool:
    """Returns whether a function in a map over devices gets a key, or may see what depends on a device or its part."""
    if not any(binder.kind in MAPS_ON_DEVICES for binder in ctx.env.maps):
        return False
    if function.frame.maps > 0 or any(_varies(run, arg.value) or _is_one_key(arg) for arg in args):
        return True
    return any(isinstance(arg.value, Data) and of_kinds(arg.value.labels, *_OF_PARTS) for arg in args)


def _may_be_split(run: Run, args: tuple[Arg, ...]) -> bool:
    """Returns whether a function gets arrays of known sharding or rank, or runs under a mesh with explicit axes."""
    mesh = run.ambient[-1] if run.ambient else None
    if isinstance(mesh, Mesh) and mesh.explicit:
        return True
    arrays = [arg.value for arg in args if isinstance(arg.value, Data)]
    return any(is_typed(one) or bool(one.shape) or is_filled(one) for one in arrays)


def _varies(run: Run, value: Value) -> bool:
    parts = (fields_of(run, value) or {}).values() if isinstance(value, Instance) else ()
    if any(isinstance(part, Data) and _varies(run, part) for part in parts):
        return True
    return any(along.typed == VARYING for over in variations_in(value) for _, along in over.axes)


def _closes_over_axes(run: Run, function: Function) -> bool:
    """Returns whether an inner function's factory, such as a decorator, was passed a function related to axes."""
    for frame in function.frame.chain():
        for name in frame.parameters:
            value = frame.vars.get(name, UNKNOWN)
            if type(value) not in _HOLDS_NOTHING and any(_worthwhile(run, value)):
                return True
    return False


def _names_closed_over(run: Run, function: Function) -> Iterator[tuple[str, str]]:
    """Yields the texts that an inner function's factory was passed, also in configurations, each after its name."""
    for frame in function.frame.chain():
        for name in frame.parameters:
            value = frame.vars.get(name, UNKNOWN)
            if _is_text(value) or type(value) is Instance:
                yield from _texts_in(run, name, value)


def _texts_in(run: Run, name: str, value: Value, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, Const) and type(value.value) is str:
        yield name, value.value
    elif isinstance(value, Instance) and depth < _DEEPEST_OBJECT:
        for part, held in {**(fields_of(run, value) or {}), **attributes_of(run, value)}.items():
            yield from _texts_in(run, part, held, depth + 1)


def _holds_sizes(run: Run, value: Value, depth: int = 0) -> bool:
    """Returns whether a value is a size, an array of known sizes, or an object that contains either."""
    if not isinstance(value, Instance):
        return _has_sizes(value)
    held = {**(fields_of(run, value) or {}), **attributes_of(run, value)}
    return depth < _DEEPEST_OBJECT and any(_holds_sizes(run, one, depth + 1) for one in held.values())


def _is_one_key(arg: Arg) -> bool:
    return isinstance(arg.value, Data) and "key" in arg.value.labels


def _has_sizes(value: Value) -> bool:
    """Returns whether a value is a number or an array whose sizes are known."""
    if isinstance(value, Const):
        return type(value.value) is int
    if isinstance(value, Data):
        return bool(value.shape) and None not in (value.shape or ())
    return any(map(_has_sizes, _leaves(value)))


def _is_worthwhile(run: Run, cls: Class) -> bool:
    """Returns whether a class has methods related to axes, which a function that is passed an instance may call."""
    for value in cls.frame.vars.values():
        method = value.operand if type(value) is Wrapped else value
        if type(method) is Function:
            run.weighs(method)
            if run.world.is_worth_a_root(method.path, method.block, starts=True):
                return True
    return False


def _holds_function(value: Value) -> bool:
    kind = type(value)
    if kind in _HOLD_NO_FUNCTION:
        return False
    if kind in _HOLD_FUNCTIONS:
        return True
    if isinstance(value, Bound):
        return isinstance(value.function, (Function, Mapped, Wrapped))
    return any(map(_holds_function, _leaves(value)))


def _worthwhile(run: Run, value: Value) -> Iterator[Site]:
    """Yields the sites of the functions in a value that are related to axes."""
    if isinstance(value, Function):
        run.weighs(value)
        if run.world.is_worth_a_root(value.path, value.block, starts=True):
            yield value.site
    elif isinstance(value, Instance):
        if _is_worthwhile(run, value.cls):
            yield value.cls.site
    elif isinstance(value, Bound):
        yield from _worthwhile(run, value.function)
    elif isinstance(value, Partial):
        yield from _worthwhile(run, value.callee)
    elif isinstance(value, Wrapped):
        yield from _worthwhile(run, value.operand)
    else:
        for leaf in _leaves(value):
            if type(leaf) not in _HOLDS_NOTHING:
                yield from _worthwhile(run, leaf)


def _leaves(value: Value) -> Iterator[Value]:
    """Yields the leaves of a tree of values, visiting a repeated part once."""
    met: set[int] = set()
    waiting = list(_parts(value))
    waiting.reverse()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, (Seq, Dict, Union)):
            yield part
        elif id(part) not in met:
            met.add(id(part))
            waiting.extend(reversed(tuple(_parts(part))))


def _parts(value: Value) -> Iterable[Value]:
    if isinstance(value, Seq):
        return value.items
    if isinstance(value, Dict):
        return (item for _, item in value.items)
    return value.options if isinstance(value, Union) else ()


def forget_tables(run: Run, function: Function, args: tuple[Arg, ...]) -> None:
    """Forgets entries that a function may set if it is not run: those of configurations and of its object's tables."""
    values = [arg.value for arg in args if is_table(arg.value)]
    if values and _alters(run.body(function), frozenset(parameter.name for parameter in function.parameters)):
        run.altered.extend((value, forgotten(value)) for value in values if isinstance(value, Dict))

    owner = args[0].value if args else None
    if not isinstance(owner, Instance):
        return
    held = attributes_of(run, owner)
    known = {name: kept for name, kept in held.items() if isinstance(kept, (Seq, Dict)) and not kept.open}
    for name in _filled(run, function) if known else ():
        if name in known:
            set_attribute(run, owner, name, replace(known[name], open=True))


_FILL = frozenset("append extend add update setdefault insert".split())


def _filled(run: Run, function: Function) -> list[str]:
    """Returns the attributes of a method's object whose lists or tables the method adds to; none for a function."""
    if function.owner is None or function.kind or not function.parameters:
        return []
    owner = function.parameters[0].name
    found: dict[str, None] = {}
    for node in nodes(run.body(function)):
        if isinstance(node, Assign):
            targets = [one.object for one in node.targets if isinstance(one, Subscript)]
        elif isinstance(node, Call) and isinstance(node.callee, Attribute) and node.callee.name in _FILL:
            targets = [node.callee.object]
        else:
            continue
        for one in targets:
            if isinstance(one, Attribute) and isinstance(one.object, Name) and one.object.name == owner:
                found[one.name] = None
    return list(found)


def _alters(statements: tuple[Any, ...], names: frozenset[str]) -> bool:
    """Returns whether statements set an attribute or item of a variable, or call `update` or `pop` on it."""
    waiting: list[Any] = list(statements)
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is Assign:
            for target in node.targets:
                if isinstance(target, (Attribute, Subscript)) and _root_of(target) in names:
                    return True
        elif kind is Call and type(node.callee) is Attribute and node.callee.name in ("update", "pop"):
            altered = _root_of(node.callee.object)
            if altered in names:
                return True
        waiting.extend([part for part in node if isinstance(part, tuple)])
    return False


def _root_of(node: Expression) -> str:
    while isinstance(node, (Attribute, Subscript)):
        node = node.object
    return str(node.name) if isinstance(node, Name) else ""


def memo_key(run: Run, function: Function, values: dict[str, Value], ctx: Context) -> Key | None:
    """Returns the key of a call's result; None if it is not hashable."""
    parts = (
        function,
        tuple(values.values()),
        ctx.env,
        ctx.conditional,
        ctx.remote,
        ctx.guarded,
        ctx.sure,
        ctx.host,
        ctx.loop,
        ctx.branch,
        ctx.skip,
        ctx.expected,
        run.differentiating > 0,
        run.api_guard > run.broad_guard,
        run.epoch,
        run.ambient[-1] if run.ambient else None,
        run.entered_meshes[-1] if run.entered_meshes else None,
        run.given_key,
        (given.summary, given.tree) if (given := run.given_parameters) is not None else None,
        tuple(run.scoped.items()) if run.scoped else None,
    )
    try:
        return Key(parts)
    except TypeError:
        return None
