"""`equinox.tree_at`: a copy of a tree in which chosen leaves or subtrees are replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from meshlens.axes.domain.values import Arg, Const, Dict, Instance, Made, Seq, Site, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import DEEPEST, fields_of, with_fields

TREE_AT = "equinox.tree_at"
_LEAF = "meshlens.leaf"
_PARAMETERS = ("where", "pytree", "replace")

Path = tuple[str, ...]
Change = Callable[[Path, Value], Value]


def call_tree_at(run: Run, call: Invocation) -> Value | None:
    """Returns a tree in which the leaves chosen by a function are replaced; None if the old or new ones are unknown."""
    found = by_parameter(_PARAMETERS, call.args)
    if any(name not in found for name in _PARAMETERS):
        return None
    tree, site = found["pytree"].value, call.site

    def marked(path: Path, held: Value) -> Value:
        if len(path) < DEEPEST and _has_parts(run, held):
            return held
        return Made(_LEAF, site, tuple((place, Const(name)) for place, name in enumerate(path)))

    marks = _changed(run, tree, marked, site)
    chosen = run.invoke(call.inside(found["where"].value, (Arg(None, marks, None, site),), call.ctx, "run"))
    replaced = _pairs(run, chosen, found["replace"].value)
    if not replaced:
        return None
    return _changed(run, tree, lambda path, held: replaced.get(path, held), site)


def _has_parts(run: Run, tree: Value) -> bool:
    if isinstance(tree, Instance):
        return bool(fields_of(run, tree))
    return isinstance(tree, (Seq, Dict)) and not tree.open


def _changed(run: Run, tree: Value, change: Change, site: Site, path: Path = ()) -> Value:
    """Returns a copy of a tree in which a function of a path and what is there changes leaves and subtrees."""
    new = change(path, tree)
    if new is not tree or len(path) >= DEEPEST or not _has_parts(run, tree):
        return new
    if isinstance(tree, Instance):
        return with_fields(run, tree, lambda name, held: _changed(run, held, change, site, (*path, name)), site)
    if isinstance(tree, Seq):
        items = [_changed(run, item, change, site, (*path, str(place))) for place, item in enumerate(tree.items)]
        return Seq(tree.kind, tuple(items))
    assert isinstance(tree, Dict)
    pairs = [(key, _changed(run, item, change, site, (*path, repr(key)))) for key, item in tree.items]
    return Dict(tuple(pairs), tree.open, tree.attributes)


def _pairs(run: Run, chosen: Value, new: Value) -> Mapping[Path, Value]:
    """Returns the new value of each chosen leaf or object, by path; nothing if one of them or its value is unknown."""
    path = _path_of(run, chosen)
    if path is not None:
        return {path: new}
    if not isinstance(chosen, Seq) or not isinstance(new, Seq) or chosen.open or new.open:
        return {}
    pairs = [_pairs(run, *pair) for pair in zip(chosen.items, new.items, strict=False)]
    if len(chosen.items) != len(new.items) or not all(pairs):
        return {}
    return {path: value for one in pairs for path, value in one.items()}


def _path_of(run: Run, chosen: Value) -> Path | None:
    """Returns the path to a marked leaf, or to an object that contains one; None for anything else."""
    if isinstance(chosen, Made) and chosen.dotted == _LEAF:
        return tuple([str(name.value) for _, name in chosen.arguments if isinstance(name, Const)])
    if not isinstance(chosen, Instance):
        return None
    inside = (_path_of(run, held) for held in (fields_of(run, chosen) or {}).values())
    return next((path[:-1] for path in inside if path), None)
