"""Handles `tree.map`: runs a function on the leaves of trees, and keeps the structure if it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from meshlens.axes.data.arrays import is_array, shape_of
from meshlens.axes.data.layer_shapes import parameters_of_layer
from meshlens.axes.domain.joining import join_all, labels_of, options, union, variation_of
from meshlens.axes.domain.keys import SOME_KEY, as_value
from meshlens.axes.domain.labels import PLACES, STATE_OF, of_kinds, travelling
from meshlens.axes.domain.map_values import Leaf
from meshlens.axes.domain.specs import chosen_for
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Instance, Made, Seq, Site, Spec, Union, Value
from meshlens.axes.jax.parameter_trees import module_of
from meshlens.axes.jax.train_states import is_state
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import DEEPEST, fields_of, with_fields
from meshlens.jaxapi.meshes import SPECS_OF_METADATA

_DEEPEST_TREE = 10
_MOST_ITEMS = 16
_MOST_LEAVES = 16
_WHOLE = SPECS_OF_METADATA | {"jax.sharding.NamedSharding"}


@dataclass(frozen=True)
class Mapping:
    """A function that runs on the leaves of a tree.

    Attributes:
        call: calls it with arguments.
        is_leaf: returns whether a tree certainly counts as one leaf; None if only non-containers count as leaves.
    """

    call: Callable[[tuple[Arg, ...]], Value]
    is_leaf: Callable[[Value], bool] | None = None


def leaf(value: Value) -> Value:
    """Returns a value that represents any leaf of a mapped tree."""
    if isinstance(value, Seq):
        return join_all(leaf(item) for item in value.items) if value.items else UNKNOWN
    labels = labels_of(value)
    if isinstance(value, Dict) and not labels.isdisjoint(PLACES):
        places = labels_of(join_all(leaf(item) for _, item in value.items)) & PLACES
        return Data(travelling(labels) | places, over=variation_of(value))
    if isinstance(value, (Data, Const)) or all(map(is_whole, options(value))):
        return value
    return Data(travelling(labels), over=variation_of(value))


def leaves_of(tree: Value, is_leaf: Callable[[Value], bool | None] | None = None) -> list[Value] | None:
    """Returns the leaves of a tree in JAX's order; None if they are too many or not all known.

    Args:
        tree: the tree.
        is_leaf: returns whether a tree counts as one leaf, None if unknown; without it, only non-containers do.
    """
    found: list[Value] = []
    waiting = [(tree, 0)]
    while waiting:
        part, depth = waiting.pop()
        if len(found) >= _MOST_LEAVES or depth >= _DEEPEST_TREE:
            return None
        verdict = is_leaf(part) if is_leaf is not None else False
        if verdict:
            found.append(part)
        elif verdict is None and isinstance(part, (Seq, Dict)):
            return None
        elif isinstance(part, Const) and part.value is None:
            continue
        elif isinstance(part, Seq) and not part.open:
            waiting.extend([(item, depth + 1) for item in part.items[::-1]])
        elif isinstance(part, Dict) and not part.open and all(isinstance(key, str) for key, _ in part.items):
            waiting.extend([(item, depth + 1) for _, item in sorted(part.items, key=itemgetter(0), reverse=True)])
        elif is_array(part) or is_whole(part):
            found.append(part)
        else:
            return None
    return found


def is_whole(value: Value) -> bool:
    """Returns whether a value is a spec or a sharding, which counts as a leaf, or represents a tree of them."""
    return isinstance(value, Spec) or (isinstance(value, Made) and value.dotted in _WHOLE)


def _is_mapped(value: Value) -> bool:
    """Returns whether a field may hold arrays or specs, unlike names, functions and static fields."""
    if is_whole(value):
        return True
    if isinstance(value, Const):
        return not isinstance(value.value, str) and value.value is not None
    return isinstance(value, (Data, Seq, Dict, Instance)) or is_state(value)


def mapped_tree(run: Run, mapping: Mapping, tree: Value, site: Site, depth: int = 0) -> Value:
    """Runs a function on each leaf of a tree, or only once if the structure of the tree is unknown."""
    is_leaf = mapping.is_leaf is not None and mapping.is_leaf(tree)
    if isinstance(tree, Union) and depth == 0 and all(isinstance(one, (Seq, Dict)) for one in tree.options):
        return union([mapped_tree(run, mapping, one, site, depth + 1) for one in tree.options])
    if isinstance(tree, (Seq, Dict)) and not is_leaf and depth < _DEEPEST_TREE and len(tree.items) <= _MOST_ITEMS:
        if isinstance(tree, Seq) and (tree.items or not tree.open):
            items = tuple([mapped_tree(run, mapping, one, site, depth + 1) for one in tree.items])
            return Seq(tree.kind, items, tree.open)
        if isinstance(tree, Dict) and (tree.items or not tree.open):
            entries = tuple([(key, mapped_tree(run, mapping, one, site, depth + 1)) for key, one in tree.items])
            return Dict(entries, tree.open, tree.attributes)
    if isinstance(tree, Instance) and not is_leaf and depth < DEEPEST and fields_of(run, tree):
        return with_fields(
            run,
            tree,
            lambda _, held: mapped_tree(run, mapping, held, site, depth + 1) if _is_mapped(held) else held,
            site,
        )
    if isinstance(tree, Data) and tree.labels:
        for _, shapes in of_kinds(tree.labels, STATE_OF):
            for shape in shapes:
                mapping.call((Arg(None, Data(travelling(tree.labels), shape, array=True), None, site),))
    value = _in_place(mapping.call((Arg(None, tree if is_leaf else leaf(tree), None, site),)), tree)
    if isinstance(tree, Made) and is_state(tree):
        return replace(tree, labels=frozenset(labels_of(value)), over=variation_of(value))
    return value if is_array(tree) else as_tree(value)


def mapped_module(run: Run, mapping: Mapping, tree: Value, site: Site) -> Value:
    """Runs a function on the leaves of the arrays of an equinox module; on others, it works like `mapped_tree`.

    Only a tree of specs, and code that stops at layers, need the structure of the module.
    """
    module = module_of(tree)
    if module is None or mapping.is_leaf is not None:
        return mapped_tree(run, mapping, module or tree, site)
    made = mapping.call((Arg(None, Data(travelling(labels_of(tree)), over=variation_of(tree)), None, site),))
    if is_whole(made):
        # What is returned for an unknown leaf is returned for each.
        return mapped_tree(run, Mapping(lambda _: made), module, site)
    return mapped_tree(run, mapping, module, site) if any(map(is_whole, options(made))) else as_tree(made)


def _in_place(value: Value, leaf: Value) -> Value:
    """Returns a sharding with the spec that it was made from; an equal spec may come from another place."""
    if not isinstance(leaf, Spec) or not isinstance(value, Made):
        return value
    return replace(value, arguments=tuple([(name, leaf if one == leaf else one) for name, one in value.arguments]))


def mapped_with_paths(run: Run, run_operand: Callable[..., Value], operand: Arg, tree: Value, site: Site) -> Value:
    """Runs a function on the path and the value of each leaf of a tree, or only once if its structure is unknown.

    A spec that the function returns for a leaf keeps the leaf's path and shape. A layer of a library stays as it is.
    """
    others: list[Value] = []

    def of_others() -> Value:
        if not others:
            others.append(_at_leaf(run_operand, operand, UNKNOWN, site, None))
        return others[0]

    def mapped(part: Value, path: tuple[Value, ...]) -> Value:
        if isinstance(part, Instance) and fields_of(run, part) and len(path) < _DEEPEST_TREE:
            return of_fields(part, path)
        if isinstance(part, Seq) and part.open and len(part.items) == 1 and len(path) < _DEEPEST_TREE:
            return Seq(part.kind, (mapped(part.items[0], (*path, _SOME_PLACE)),), True)
        is_known = isinstance(part, (Seq, Dict)) and (not part.open or SOME_KEY in dict(_entries(part)))
        if not isinstance(part, (Seq, Dict)) or not is_known or not 0 < len(part.items) <= _MOST_ITEMS:
            return _at_leaf(run_operand, operand, part, site, path if path and is_array(part) else None)
        if len(path) >= _DEEPEST_TREE:
            return of_others()
        kind = "idx" if isinstance(part, Seq) else "name" if part.attributes else "key"
        made: list[tuple[Any, Value]] = []
        for key, one in _entries(part):
            made.append((key, of_others() if key is SOME_KEY else mapped(one, (*path, _step(kind, key)))))
        if isinstance(part, Seq):
            return Seq(part.kind, tuple([value for _, value in made]))
        return Dict(tuple(made), part.open, part.attributes)

    def of_fields(part: Instance, path: tuple[Value, ...]) -> Value:
        made = {name: of_field(one, (*path, _step("name", name))) for name, one in (fields_of(run, part) or {}).items()}
        if any(is_whole(one) or isinstance(one, Dict) for one in made.values()):
            return Dict((*made.items(), (SOME_KEY, UNKNOWN)), True, True)
        return with_fields(run, part, lambda name, _: made[name], site)

    def of_field(held: Value, path: tuple[Value, ...]) -> Value:
        if not isinstance(held, Made):
            return mapped(held, path) if is_array(held) or isinstance(held, (Seq, Dict, Instance)) else held
        shapes = {name: shape for (name, *rest), shape in parameters_of_layer(held, ()).items() if not rest}
        arrays = {name: Data(frozenset({"fresh"}), shape, None, True) for name, shape in shapes.items()}
        made = {name: mapped(one, (*path, _step("name", name))) for name, one in arrays.items()}
        return Dict((*made.items(), (SOME_KEY, UNKNOWN)), True, True) if any(map(is_whole, made.values())) else held

    return mapped(tree, ())


def _step(kind: str, key: object) -> Value:
    """Returns a step of a path, such as a `GetAttrKey`, with the attribute that holds its key."""
    return Dict(((kind, as_value(key)),), attributes=True)


_SOME_PLACE = Dict((("idx", UNKNOWN),), attributes=True)


def _entries(tree: Seq | Dict) -> tuple[tuple[Any, Value], ...]:
    """Returns the entries of a tree in JAX's order, which sorts the keys of dictionaries."""
    if isinstance(tree, Seq):
        return tuple(enumerate(tree.items))
    is_sorted = tree.attributes or not all(isinstance(key, str) for key, _ in tree.items)
    return tree.items if is_sorted else tuple(sorted(tree.items, key=itemgetter(0)))


def _at_leaf(
    run_operand: Callable[..., Value], operand: Arg, tree: Value, site: Site, path: tuple[Value, ...] | None
) -> Value:
    steps = Seq("tuple", path) if path is not None else UNKNOWN
    value = run_operand(operand, (Arg(None, steps, None, site), Arg(None, leaf(tree), None, site)))
    shape = shape_of(tree)
    if path is not None and shape is not None:
        keys = [held.value for step in path if isinstance(step, Dict) for _, held in step.items if type(held) is Const]
        return chosen_for(value, Leaf("/".join(map(str, keys)), shape))
    return value if is_array(tree) else as_tree(value)


def mapped_trees(
    run: Run, run_operand: Callable[..., Value], operand: Arg, trees: tuple[Value, ...], site: Site, depth: int = 0
) -> Value:
    """Runs a function on several trees; the first gives the structure, and the others must match it or be unknown."""
    first, rest = trees[0], trees[1:]
    if depth < _DEEPEST_TREE and all(_are_alike(first, one) for one in rest):
        if isinstance(first, Seq):
            columns = zip(*(one.items for one in trees if isinstance(one, Seq)), strict=True)
            made = tuple([mapped_trees(run, run_operand, operand, column, site, depth + 1) for column in columns])
            return Seq(first.kind, made)
        if isinstance(first, Dict):
            entries: list[tuple[Any, Value]] = []
            for key, _ in first.items:
                column = tuple([one.get(key) or UNKNOWN for one in trees if isinstance(one, Dict)])
                entries.append((key, mapped_trees(run, run_operand, operand, column, site, depth + 1)))
            return Dict(tuple(entries))
    fields = _fields_alike(run, trees) if isinstance(first, Instance) and depth < DEEPEST else []
    if fields and isinstance(first, Instance):

        def mapped(name: str, held: Value) -> Value:
            column = tuple([one[name] for one in fields])
            return mapped_trees(run, run_operand, operand, column, site, depth + 1) if _is_mapped(held) else held

        return with_fields(run, first, mapped, site)
    # At a leaf of the first tree, JAX passes what the others hold there, even a tree such as a tuple of names.
    is_certain = is_array(first) or is_whole(first)
    leaves = [leaf(first), *(one if is_certain else leaf(one) for one in rest)]
    value = run_operand(operand, tuple([Arg(None, one, None, site) for one in leaves]))
    is_one = is_array(first) or (is_certain and all(map(is_array, rest)))
    return value if is_one else as_tree(value)


def _fields_alike(run: Run, trees: tuple[Value, ...]) -> list[dict[str, Value]]:
    """Returns the fields of each tree if all trees are objects with the same field names; otherwise none."""
    fields = [fields_of(run, tree) or {} for tree in trees]
    alike = all(isinstance(tree, Instance) for tree in trees) and all(one.keys() == fields[0].keys() for one in fields)
    return fields if alike and fields[0] else []


def _are_alike(one: Value, other: Value) -> bool:
    """Returns whether two trees have the same keys or length, with few entries and none of them unknown."""
    if not isinstance(one, (Seq, Dict)) or one.open or not 0 < len(one.items) <= _MOST_ITEMS:
        return False
    if isinstance(one, Dict) and isinstance(other, Dict):
        return not other.open and {key for key, _ in one.items} == {key for key, _ in other.items}
    return isinstance(one, Seq) and isinstance(other, Seq) and not other.open and len(one.items) == len(other.items)


def as_tree(leaf: Value) -> Value:
    """Returns a value that represents a tree with leaves like the given one, not necessarily a single array."""
    return Data(leaf.labels, over=leaf.over) if isinstance(leaf, Data) else leaf
