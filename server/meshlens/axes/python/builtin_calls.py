"""Calls to Python's built-in functions, as far as the analysis follows them."""

from __future__ import annotations

import fnmatch
import itertools
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeGuard

from meshlens.axes.data import fillers
from meshlens.axes.data.arrays import count_of, product, shape_of, sizes
from meshlens.axes.data.gradients import rows_here
from meshlens.axes.data.operating import of_all
from meshlens.axes.domain.classes import FIELD, class_attribute, has_unknown_base, names_of_fields
from meshlens.axes.domain.constants import counted, joined, matched
from meshlens.axes.domain.joining import join_all, labels_of
from meshlens.axes.domain.keys import STEPS, as_value, key_of
from meshlens.axes.domain.kinds import is_instance, is_tracer_instance
from meshlens.axes.domain.labels import AXIS_SIZE, travelling
from meshlens.axes.domain.values import (
    STATIC,
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
    Partial,
    Seq,
    Site,
    Value,
    Wrapped,
)
from meshlens.axes.jax import logical_rules
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.parameter_trees import flat_state, flattened, unflattened, with_leaves
from meshlens.axes.jax.replaced_leaves import TREE_AT, call_tree_at
from meshlens.axes.jax.taken_apart import SPLITS_AND_MERGES, call_split_or_merge
from meshlens.axes.jax.traced import is_traced_array
from meshlens.axes.jax.tree_maps import leaf, leaves_of, mapped_with_paths
from meshlens.axes.python.attributes import attribute
from meshlens.axes.python.class_variables import set_variable
from meshlens.axes.python.conditions import truth
from meshlens.axes.python.imports import load_module
from meshlens.axes.python.iterating import iterated, length_of_object
from meshlens.axes.python.objects import NAMED_TUPLES, named_tuple
from meshlens.axes.python.parsed_texts import PARSERS, parsed
from meshlens.axes.python.shared_tables import copied, holds_others, mark_unclear
from meshlens.axes.python.tables import make_table
from meshlens.axes.python.unpacking import element, items_of
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.heap import altered, attributes_of, set_attribute
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import CONTEXT_VARIABLE, THREAD_LOCAL
from meshlens.axes.runs.tree_objects import as_tuple, fields_of
from meshlens.facts.nodes import Call, Return, last_name
from meshlens.jaxapi.known_names import AS_DICTIONARY, REPLACES, TABLES
from meshlens.jaxapi.names import canonical

_DIGITS = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")

_MOST_ITEMS = 16
_MOST_CHOICES = 64
_DEEPEST_DICTIONARY = 8
_LONGEST_NAME, _MOST_STARS, _LONGEST_TEXT = 200, 4, 20_000
_ITERATE = frozenset({"enumerate", "zip", "iter", "itertools.product", "itertools.chain", "itertools.islice"})
_OF_ITEMS = _ITERATE | frozenset("len tuple list set frozenset next reversed".split())
_SCOPED = frozenset({CONTEXT_VARIABLE, THREAD_LOCAL})
_SETS = frozenset({"setattr", "object.__setattr__"})
_OTHERS = (
    REPLACES
    | PARSERS
    | _SCOPED
    | NAMED_TUPLES
    | {"getattr", *_SETS, "enum.auto", "hasattr", "re.compile", "importlib.import_module"}
)
_RANGE = "range"
"""The kind of a sequence of unknown length that begins with 0."""
PATTERN = "re.Pattern"
"""The type of a compiled pattern; its method `search` is `re.search` with the pattern as the first argument."""
MATCH = "re.Match"
"""The type of a match, which holds what each group matches by its number and name."""
_WITH_PATHS = frozenset({"jax.tree.leaves_with_path", "jax.tree.flatten_with_path"})
_WITH_STRUCTURE = frozenset({"jax.tree.flatten", "jax.tree.flatten_with_path"})
_FLATTEN = _WITH_PATHS | _WITH_STRUCTURE | {"jax.tree.leaves"}
_OF_LIBRARIES = TABLES | SPLITS_AND_MERGES | logical_rules.TO_SPEC


def call_builtin(run: Run, name: str, call: Invocation) -> Value | None:
    """Returns the result of a built-in function; None if the function is not followed."""
    args, site = call.args, call.site
    handler = _HANDLERS.get(name)
    if name == TREE_AT:
        return call_tree_at(run, call)
    if name in AS_DICTIONARY and len(args) == 1 and isinstance(args[0].value, Instance):
        return _as_dictionary(run, args[0].value, nested=name != "vars")
    if name == "flax.traverse_util.flatten_dict":
        return flattened(run, call)
    if name == "flax.traverse_util.unflatten_dict":
        return unflattened(call)
    if name == "flax.nnx.to_flat_state":
        return flat_state(run, call)
    if name in _FLATTEN:
        leaves = _leaves_with_paths(run, call) if name in _WITH_PATHS else _leaves(run, call)
        return Seq("tuple", (leaves, UNKNOWN)) if name in _WITH_STRUCTURE else leaves
    if name in _OF_LIBRARIES:
        if name in logical_rules.TO_SPEC:
            return logical_rules.as_spec(args, site)
        found = call_split_or_merge(run, name, call) or make_table(name, args)
        if found is not None and not holds_others(name):
            mark_unclear(run, found)
        return found
    if handler is None and name not in _OTHERS:
        return None
    if name == "getattr":
        return _getattr(run, args, site, call.ctx)
    if name in NAMED_TUPLES:
        return named_tuple(run, call)
    if name == "importlib.import_module":
        return load_module(run, args, call.frame)
    if name in _SETS:
        return _setattr(run, args, call.ctx)
    if name in REPLACES and args and isinstance(args[0].value, Instance):
        return _replace(run, args[0].value, args[1:], site)
    if name == "enum.auto" or name in _SCOPED:
        return Made(name, site)
    if name == "re.compile" and len(args) == 1:
        return Made(PATTERN, site, (("pattern", args[0].value),))
    if name == "isinstance" and len(args) == 2 and is_traced_array(args[0].value, call.ctx):
        verdict = is_tracer_instance(args[1].value)
        return Const(verdict) if verdict is not None else UNKNOWN
    if name == "hasattr":
        if len(args) == 2 and _step_text(args[0].value) is not None and isinstance(args[1].value, Const):
            return Const(not _lacks(args[0].value, args[1].value.value))
        return Data(frozenset({"version"}))
    if name in PARSERS:
        is_text_alone = len(args) == 1 or (len(args) == 2 and name == "yaml.load")
        return parsed(run, name, args[0].value) if is_text_alone and args[0].label is None else None
    if handler is None or any(arg.label in ("*", "**") for arg in args):
        return None
    values = [arg.value for arg in args if arg.label is None]
    if name == "len" and len(values) == 1 and type(values[0]) is Instance:
        length = length_of_object(run, values[0], call)
        return length if length is not None else handler((as_tuple(run, values[0]),), args)
    if name in _ITERATE:
        values = [iterated(run, value, site, call.frame, call.ctx) for value in values]
    return handler(tuple([as_tuple(run, value) for value in values] if name in _OF_ITEMS else values), args)


def _getattr(run: Run, args: tuple[Arg, ...], site: Site, ctx: Context) -> Value:
    if len(args) > 1 and isinstance(args[1].value, Const) and isinstance(args[1].value.value, str):
        run.api_guard += len(args) > 2
        value = attribute(run, args[0].value, args[1].value.value, site, ctx)
        run.api_guard -= len(args) > 2
        if len(args) > 2 and _lacks(args[0].value, args[1].value.value):
            return args[2].value
        if len(args) > 2 and isinstance(value, Ext) and value.dotted.startswith("jax."):
            return join_all((value, args[2].value))
        return value
    return UNKNOWN


def _lacks(value: Value, name: str) -> bool:
    """Returns whether a value is a step of a path to a leaf of a tree, and has no attribute of this name."""
    return _step_text(value) is not None and isinstance(value, Dict) and value.get(name) is None


def _setattr(run: Run, args: tuple[Arg, ...], ctx: Context) -> Value:
    if len(args) == 3 and isinstance(args[0].value, Instance) and isinstance(args[1].value, Const):
        set_attribute(run, args[0].value, str(args[1].value.value), args[2].value)
    if len(args) == 3 and isinstance(args[0].value, Class) and isinstance(args[1].value, Const):
        set_variable(run, args[0].value, str(args[1].value.value), args[2].value, not ctx.conditional)
    return Const(None)


def _as_dictionary(run: Run, value: Value, *, nested: bool, depth: int = 0) -> Value:
    """Returns the attributes of an object as a dictionary, and those of the objects in it too if they are `nested`."""
    if not isinstance(value, Instance) or depth > _DEEPEST_DICTIONARY:
        return value
    held = fields_of(run, value) if nested else attributes_of(run, value)
    if held is None:
        return value if depth else UNKNOWN
    items = [
        (name, _as_dictionary(run, one, nested=True, depth=depth + 1) if nested else one) for name, one in held.items()
    ]
    return Dict(tuple(items), open=has_unknown_base(value.cls))


def _replace(run: Run, instance: Instance, args: tuple[Arg, ...], site: Site) -> Value | None:
    """Returns a copy of a configuration with replaced entries; None if an entry is unknown or may be an array."""
    if any(arg.label in (None, "*", "**") or isinstance(arg.value, Data) for arg in args):
        return None
    if class_attribute(instance.cls, "__post_init__") is not None:
        return None
    return altered(run, instance, args, site)


Values = tuple[Value, ...]


def _len(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    if isinstance(value, (Seq, Dict)) and not value.open:
        return Const(len(value.items))
    if isinstance(value, Data) and value.labels and (filled := fillers.length(value)):
        return Data(filled, ())
    if isinstance(value, Data) and value.shape and value.shape[0] is not None:
        return Const(value.shape[0], counts="devices" in value.labels)
    if isinstance(value, Data) and "devices" in value.labels:
        return Data(AXIS_SIZE, ())
    if isinstance(value, Const) and isinstance(value.value, str):
        return Const(len(value.value))
    site = args[0].site if args else None
    here = rows_here(value, site) if site is not None else None
    return here if here is not None else UNKNOWN


def _slice(values: Values, args: tuple[Arg, ...]) -> Value:
    none: Value = Const(None)
    if len(values) == 1:
        return Seq("slice", (none, *values, none))
    return Seq("slice", (*values, none, none)[:3]) if 1 < len(values) <= 3 else UNKNOWN


def _range(values: Values, args: tuple[Arg, ...]) -> Value:
    numbers = [value.value for value in values if isinstance(value, Const) and isinstance(value.value, int)]
    if 0 < len(numbers) == len(values) <= 3 and (len(numbers) < 3 or numbers[2] != 0):
        turns = range(*numbers)
        if counted(turns) <= 4:
            return Seq("list", tuple(Const(turn) for turn in turns))
        if len(numbers) == 3:
            # With the first and the last begin the first and the last batch; the last may be smaller.
            return Seq("list", (Const(turns[0]), STATIC, Const(turns[-1])), True)
    return Seq(_RANGE if len(args) == 1 else "list", (UNKNOWN,), True)


def _enumerate(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    if isinstance(value, Seq) and not value.open and len(value.items) <= _MOST_ITEMS:
        return Seq("list", tuple(Seq("tuple", (Const(place), item)) for place, item in enumerate(value.items)))
    items = value.items if isinstance(value, Seq) and 1 < len(value.items) <= _MOST_ITEMS else (element(value),)
    return Seq("list", tuple([Seq("tuple", (UNKNOWN, item)) for item in items]), True)


def _columns(values: Values) -> list[tuple[Value, ...]] | None:
    """Returns the items of every value; None if any are unknown."""
    columns = [items_of(value) for value in values]
    known = [tuple(column) for column in columns if column is not None]
    return known if len(known) == len(columns) else None


def _zip(values: Values, args: tuple[Arg, ...]) -> Value:
    columns = _columns(values)
    if columns:
        return Seq("list", tuple(Seq("tuple", row) for row in zip(*columns, strict=False)))
    return Seq("list", (Seq("tuple", tuple(element(value) for value in values)),), True)


def _choices(values: Values, args: tuple[Arg, ...]) -> Value | None:
    """Returns the result of `itertools.product`, with every tuple if there are few."""
    if any(arg.label is not None for arg in args):
        return None
    columns = _columns(values)
    if columns is not None and math.prod(map(len, columns)) <= _MOST_CHOICES:
        return Seq("list", tuple(Seq("tuple", row) for row in itertools.product(*columns)))
    return Seq("list", (Seq("tuple", tuple(element(value) for value in values)),), True)


def _chain(values: Values, args: tuple[Arg, ...]) -> Value:
    columns = _columns(values)
    if columns is not None and sum(map(len, columns)) <= _MOST_CHOICES:
        return Seq("list", tuple(itertools.chain(*columns)))
    return Seq("list", (join_all(element(value) for value in values),), True)


def _some_items(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns the result of `itertools.islice`: any of the items, because an earlier call may have taken the first."""
    return Seq("list", (element(values[0]),), True) if values else UNKNOWN


def _deque(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns a deque as a list; of one that has a maximum length, items may be gone."""
    items = _sequence("list")(values[:1], args)
    is_limited = len(args) > 1 or any(arg.label is not None for arg in args)
    return replace(items, open=True) if is_limited and isinstance(items, Seq) else items


def _sequence(kind: str) -> Callable[[Values, tuple[Arg, ...]], Value]:
    def convert(values: Values, args: tuple[Arg, ...]) -> Value:
        if not values:
            return Seq(kind, ())
        value = values[0]
        if isinstance(value, Seq):
            first = (Const(0),) if value.kind == _RANGE and kind == "tuple" else ()
            return Seq(kind, (*first, *value.items), value.open)
        if isinstance(value, Dict):
            return Seq(kind, tuple(as_value(key) for key, _ in value.items), value.open)
        return Seq(kind, (element(value),), True)

    return convert


def _dict(values: Values, args: tuple[Arg, ...]) -> Value:
    entries: dict[object, Value] = {}
    is_open = False
    for value in values:
        if isinstance(value, Dict):
            entries.update(value.items)
            is_open |= value.open
        elif isinstance(value, Seq) and not value.open:
            for pair in value.items:
                key = key_of(pair.items[0]) if isinstance(pair, Seq) and len(pair.items) == 2 else None
                if isinstance(pair, Seq) and key is not None:
                    entries[key[0]] = pair.items[1]
                else:
                    is_open = True
        else:
            is_open = True
    entries.update((arg.label, arg.value) for arg in args if arg.label is not None)
    return Dict(tuple(entries.items()), is_open)


def _keys(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns the result of `dict.fromkeys` for known keys."""
    keys = values[0] if values else UNKNOWN
    known = [key_of(key) for key in keys.items] if isinstance(keys, Seq) else [None]
    if not isinstance(keys, Seq) or None in known:
        return UNKNOWN
    value = values[1] if len(values) > 1 else Const(None)
    names = dict.fromkeys(key[0] for key in known if key is not None)
    return Dict(tuple((name, value) for name in names), keys.open)


def _any_item(values: Values, args: tuple[Arg, ...]) -> Value:
    return element(values[0]) if values else UNKNOWN


def _grids(values: Values, args: tuple[Arg, ...]) -> Value | None:
    """Returns the arrays that `meshgrid` returns, one for each vector; None if their shapes are unknown."""
    given = by_parameter((), args)
    order = given["indexing"].value if "indexing" in given else Const("xy")
    shapes = [shape_of(value) for value in values]
    if given.keys() - {"indexing"} or order not in (Const("xy"), Const("ij")):
        return None
    counts = [shape[0] if shape else 1 for shape in shapes if shape is not None and len(shape) < 2]
    if len(counts) < len(values) or len(values) > _MOST_ITEMS:
        return None
    if order == Const("xy"):
        counts[:2] = counts[1::-1]
    return Seq("list", tuple([replace(_not_computed(values), shape=tuple(counts)) for _ in values]))


def _number(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        return value
    return Data(travelling(labels_of(value)), ())


def _integer(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    if isinstance(value, Const) and isinstance(value.value, float) and math.isfinite(value.value):
        return Const(int(value.value))
    if isinstance(value, Const) and isinstance(value.value, str) and len(args) == 1 and _DIGITS.fullmatch(value.value):
        return Const(int(value.value), value.origin)
    return _number(values, args)


def _computed(name: str) -> Callable[[Values, tuple[Arg, ...]], Value]:
    """Returns the handler of a function in `math`, which always returns a number."""
    function = getattr(math, name)

    def compute(values: Values, args: tuple[Arg, ...]) -> Value:
        numbers = [
            value.value for value in values if isinstance(value, Const) and isinstance(value.value, (int, float))
        ]
        try:
            return Const(function(*numbers)) if len(numbers) == len(args) == len(values) else _not_computed(values)
        except (ArithmeticError, ValueError, TypeError):
            return _not_computed(values)

    return compute


def _not_computed(values: Values) -> Data:
    labels = [travelling(labels_of(value)) for value in values]
    return Data(frozenset().union(*labels), (), over=of_all(values))


def _str(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    if isinstance(value, Const):
        return Const(str(value.value), value.origin, value.via)
    text = _step_text(value)
    return Const(text) if text is not None else UNKNOWN


def _callable(values: Values, args: tuple[Arg, ...]) -> Value:
    if values and isinstance(values[0], (Function, Bound, Partial, Mapped, Wrapped)):
        return Const(True)
    return UNKNOWN


def _reversed(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    return (
        Seq("list", value.items[::-1], value.open) if isinstance(value, Seq) else Seq("list", (element(value),), True)
    )


def _extreme(pick: Callable[[list[Any]], Any]) -> Callable[[Values, tuple[Arg, ...]], Value]:
    def extreme(values: Values, args: tuple[Arg, ...]) -> Value:
        given = values[0] if len(values) == 1 else UNKNOWN
        among = given.items if isinstance(given, Seq) and not given.open else values
        if among is not values and len(among) == 1:
            return among[0]
        numbers = [value.value if _is_number(value) else count_of(value) for value in among]
        if len(values) == len(args) and len(among) > 1 and None not in numbers:
            return Const(pick(numbers))
        return Data(travelling(frozenset().union(*(labels_of(value) for value in values))) if values else frozenset())

    return extreme


def _is_number(value: Value) -> TypeGuard[Const]:
    return isinstance(value, Const) and type(value.value) in (int, float)


def _product(values: Values, args: tuple[Arg, ...]) -> Value | None:
    """Returns the product of the sizes of a shape; None for any other argument."""
    total = product(sizes(values[0])) if len(args) == len(values) == 1 else None
    return Const(total) if total is not None else None


def _sorted(values: Values, args: tuple[Arg, ...]) -> Value:
    value = values[0] if values else UNKNOWN
    if isinstance(value, Dict):
        value = Seq("list", tuple([as_value(key) for key, _ in value.items]), value.open)
    if not isinstance(value, Seq) or not value.items:
        return UNKNOWN
    by_text = {item.value: item for item in value.items if isinstance(item, Const) and isinstance(item.value, str)}
    reverse = by_parameter(("iterable", "reverse"), args).get("reverse")
    if len(args) == 1 + (reverse is not None) and len(by_text) == len(value.items):
        order = sorted(by_text, reverse=reverse is not None and reverse.value == Const(True))
        return Seq("list", tuple([by_text[text] for text in order]), value.open)
    return Seq("list", (join_all(value.items),), True)


def _dedented(values: Values, args: tuple[Arg, ...]) -> Value:
    text = values[0].value if len(values) == 1 and isinstance(values[0], Const) else None
    return Const(textwrap.dedent(text)) if isinstance(text, str) and len(text) <= _LONGEST_TEXT else UNKNOWN


def _wildcards(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns whether a name matches a pattern with wildcards, such as `*/kernel`."""
    texts = [value.value for value in values if isinstance(value, Const) and isinstance(value.value, str)]
    if not len(texts) == len(args) == 2 or any(len(text) > _LONGEST_NAME for text in texts):
        return UNKNOWN
    return Const(fnmatch.fnmatchcase(*texts)) if texts[1].count("*") <= _MOST_STARS else UNKNOWN


def _isinstance(values: Values, args: tuple[Arg, ...]) -> Value | None:
    if len(values) == 2 and _step_text(values[0]) is not None and isinstance(values[0], Dict):
        classes = values[1].items if isinstance(values[1], Seq) else (values[1],)
        known = [canonical(one.dotted) for one in classes if isinstance(one, Ext)]
        is_of_steps = len(known) == len(classes) and any(name in STEPS.values() for name in known)
        return Const(STEPS[values[0].items[0][0]] in known) if is_of_steps else None
    verdict = is_instance(values[0], values[1]) if len(values) == 2 else None
    return Const(verdict) if verdict is not None else None


def _type(values: Values, args: tuple[Arg, ...]) -> Value | None:
    """Returns `NoneType` for the constant None, or no result (None) for any other argument."""
    is_none = len(args) == 1 and isinstance(args[0].value, Const) and args[0].value.value is None
    return Ext("types.NoneType") if is_none else None


def _verdict_on(all_or_any: bool) -> Callable[[Values, tuple[Arg, ...]], Value | None]:
    """Returns the handler for `all` (decided by one false item) or `any` (decided by one true item)."""

    def verdict(values: Values, args: tuple[Arg, ...]) -> Value | None:
        if len(args) != 1 or not values or not isinstance(values[0], Seq):
            return None
        verdicts = [truth(item) for item in values[0].items]
        if (not all_or_any) in verdicts:
            return None if values[0].open else Const(not all_or_any)
        return None if values[0].open or None in verdicts else Const(all_or_any)

    return verdict


def _merged(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns the result of `merge_param(name, a, b)`: the argument that is not None."""
    given = [value for value in values[1:] if not (isinstance(value, Const) and value.value is None)]
    return given[0] if len(given) == 1 else UNKNOWN


def _leaves(run: Run, call: Invocation) -> Value:
    """Returns the leaves of a tree, each separately if all are known; otherwise one value that represents them."""
    found = by_parameter(("tree", "is_leaf"), call.args)
    if "tree" not in found:
        return UNKNOWN
    tree, stops = found["tree"].value, found.get("is_leaf")
    is_leaf: Callable[[Value], bool | None] | None = None
    if stops is not None and stops.value != Const(None):
        test, place = stops.value, stops.site or call.site
        by_class = _tests_class(run, test)
        verdicts: dict[object, bool | None] = {}

        def is_leaf(part: Value) -> bool | None:
            kind = _class_of(part) if by_class else len(verdicts)
            if kind not in verdicts:
                verdicts[kind] = truth(run.invoke(call.inside(test, (Arg(None, part, None, place),), call.ctx, "run")))
            return verdicts[kind]

    known = leaves_of(tree, is_leaf)
    return Seq("list", tuple(known)) if known is not None else Seq("list", (leaf(tree),), True)


def _leaves_with_paths(run: Run, call: Invocation) -> Value:
    """Returns the leaves of a tree, each in a pair with its path; the path is unknown if the structure is."""
    leaves = _leaves(run, call)
    if not isinstance(leaves, Seq):
        return leaves
    pairs: list[Value] = []

    def note(_: Arg, args: tuple[Arg, ...]) -> Value:
        pairs.append(Seq("tuple", (args[0].value, args[1].value)))
        return args[1].value

    tree = with_leaves(run, call.args[0].value, call)
    if len(call.args) == 1 and isinstance(tree, (Seq, Dict, Instance)):
        mapped_with_paths(run, note, call.args[0], tree, call.site)
    is_whole = not leaves.open and len(pairs) == len(leaves.items)
    if pairs and (leaves.open or is_whole):
        return Seq("list", tuple(pairs), not is_whole)
    return replace(leaves, items=tuple([Seq("tuple", (UNKNOWN, one)) for one in leaves.items]))


def _tests_class(run: Run, test: Value) -> bool:
    """Returns whether a function only returns `isinstance(…)`, so that one answer counts for all objects of a class.

    That saves runs, of which a function has few.
    """
    body = run.body(test) if isinstance(test, Function) else ()
    result = body[0].value if len(body) == 1 and isinstance(body[0], Return) else None
    return isinstance(result, Call) and last_name(result.callee) == "isinstance"


def _class_of(value: Value) -> object:
    """Returns the class of an object, or what stands for it."""
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Seq):
        return value.kind
    return type(value.value) if isinstance(value, Const) else type(value)


def _field(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns the default of a dataclass field, or the field if it has a factory for the constructor or metadata."""
    given = {arg.label: arg for arg in args}
    told = given.get("default_factory") or given.get("metadata")
    if "default" in given and "metadata" not in given:
        return given["default"].value
    if told is None or told.site is None:
        return UNKNOWN
    kept = [name for name in ("default_factory", "default", "metadata", "hash", "compare") if name in given]
    return Made("dataclasses.field", told.site, tuple([(name, given[name].value) for name in kept]))


def _fields(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns the fields of a dataclass or of an object of one, with their names, defaults and metadata."""
    of = values[0] if len(values) == 1 else UNKNOWN
    cls = of.cls if isinstance(of, Instance) else of
    if not isinstance(cls, Class) or not cls.dataclass or has_unknown_base(cls):
        return UNKNOWN
    return Seq("tuple", tuple([_field_of(cls, name) for name in names_of_fields(cls)]))


def _field_of(cls: Class, name: str) -> Made:
    declared = class_attribute(cls, name)
    told = dict(declared.arguments) if isinstance(declared, Made) and declared.dotted == "dataclasses.field" else {}
    default = told.get("default") if told else declared
    known: dict[int | str, Value] = {"name": Const(name), "metadata": Dict(()), **told}
    return Made(FIELD, cls.site, tuple({**known, "default": default if default is not None else UNKNOWN}.items()))


def _pattern(how: str) -> Callable[[Values, tuple[Arg, ...]], Value]:
    """Returns the handler of an `re` function."""

    def match(values: Values, args: tuple[Arg, ...]) -> Value:
        texts = [value.value for value in values if isinstance(value, Const) and isinstance(value.value, str)]
        found = matched(how, *texts) if len(texts) == len(args) == 2 else None
        if not found:
            return UNKNOWN if found is None else Const(None)
        site = args[-1].site
        groups = tuple([(name, Const(text)) for name, text in found.items()])
        return Made(MATCH, site, groups) if site is not None else Const(True)

    return match


def _path_text(values: Values, args: tuple[Arg, ...]) -> Value:
    """Returns the text of a path to a leaf: `['a'][0]`, or `a/0` with `simple=True, separator="/"`."""
    path = values[0] if values else UNKNOWN
    given = {arg.label: arg.value.value for arg in args if arg.label is not None and isinstance(arg.value, Const)}
    if not isinstance(path, Seq) or path.open or len(given) + 1 != len(args):
        return UNKNOWN
    entries = [value for one in path.items if isinstance(one, Dict) and one.attributes for _, value in one.items]
    if not all(isinstance(value, Const) for value in entries) or len(entries) != len(path.items):
        return UNKNOWN
    if given.get("simple"):
        steps = [str(value.value) for value in entries if isinstance(value, Const)]
    else:
        steps = [step for one in path.items if (step := _step_text(one)) is not None]
    text = joined(str(given.get("separator", "")), steps)
    return Const(text) if text is not None else UNKNOWN


def _step_text(step: Value) -> str | None:
    """Returns the text of a step of a path to a leaf, such as `['a']`, `[0]` or `.a`; None for any other value."""
    if not isinstance(step, Dict) or not step.attributes or step.open or len(step.items) != 1:
        return None
    kind, key = step.items[0]
    if not isinstance(key, Const) or kind not in STEPS:
        return None
    return f".{key.value}" if kind == "name" else f"[{key.value!r}]"


def _nothing(values: Values, args: tuple[Arg, ...]) -> Value:
    return Const(None)


_IN_MATH = (
    "ceil cos cosh erf exp expm1 fabs floor gcd hypot isqrt log log10 log1p log2 pow sin sinh sqrt tan tanh trunc"
).split()
"""The functions of `math` that take and return numbers, except those that are slow for large numbers."""

_HANDLERS: dict[str, Callable[[Values, tuple[Arg, ...]], Value | None]] = {
    "all": _verdict_on(True),
    "any": _verdict_on(False),
    "len": _len,
    "slice": _slice,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "itertools.product": _choices,
    "itertools.chain": _chain,
    "itertools.islice": _some_items,
    "collections.deque": _deque,
    "tuple": _sequence("tuple"),
    "list": _sequence("list"),
    "set": _sequence("set"),
    "frozenset": _sequence("set"),
    "iter": _sequence("list"),
    "dict": _dict,
    "dict.fromkeys": _keys,
    "type": _type,
    "collections.OrderedDict": _dict,
    "types.MappingProxyType": _dict,
    "next": _any_item,
    "int": _integer,
    "float": _number,
    "str": _str,
    "callable": _callable,
    "reversed": _reversed,
    "min": _extreme(min),
    "max": _extreme(max),
    "sorted": _sorted,
    "numpy.prod": _product,
    "math.prod": _product,
    "textwrap.dedent": _dedented,
    "fnmatch.fnmatch": _wildcards,
    "fnmatch.fnmatchcase": _wildcards,
    **{f"math.{name}": _computed(name) for name in _IN_MATH},
    "print": _nothing,
    "re.search": _pattern("search"),
    "re.match": _pattern("match"),
    "re.fullmatch": _pattern("fullmatch"),
    "numpy.meshgrid": _grids,
    "jax.numpy.meshgrid": _grids,
    "jax.tree_util.keystr": _path_text,
    "isinstance": _isinstance,
    "flax.linen.merge_param": _merged,
    "typing.cast": lambda values, args: values[1] if len(values) > 1 else UNKNOWN,
    "flax.nnx.List": _sequence("list"),
    "flax.nnx.Dict": _dict,
    "flax.nnx.clone": lambda values, args: values[0] if values else UNKNOWN,
    "copy.copy": lambda values, args: values[0] if values else UNKNOWN,
    "copy.deepcopy": lambda values, args: copied(values[0]) if values else UNKNOWN,
    "dataclasses.field": _field,
    "dataclasses.fields": _fields,
    "flax.struct.field": _field,
}
