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

    def marked(path: Path, _: Value) -> Value:
        return Made(_LEAF, site, tuple((place, Const(name)) for place, name in enumerate(path)))

    marks = _changed(run, tree, marked, site)
    chosen = run.invoke(call.inside(found["where"].value, (Arg(None, marks, None, site),), call.ctx, "run"))
    replaced = _pairs(chosen, found["replace"].value)
    if not replaced:
        return None
    return _changed(run, tree, lambda path, held: replaced.get(path, held), site)


def _changed(run: Run, tree: Value, change: Change, site: Site, path: Path = ()) -> Value:
    """Returns a copy of a tree with every leaf changed by a function of the leaf and its path."""
    if len(path) >= DEEPEST:
        return change(path, tree)
    if isinstance(tree, Instance) and fields_of(run, tree):
        return with_fields(run, tree, lambda name, held: _changed(run, held, change, site, (*path, name)), site)
    if isinstance(tree, Seq) and not tree.open:
        items = [_changed(run, item, change, site, (*path, str(place))) for place, item in enumerate(tree.items)]
        return Seq(tree.kind, tuple(items))
    if isinstance(tree, Dict) and not tree.open:
        pairs = [(key, _changed(run, item, change, site, (*path, repr(key)))) for key, item in tree.items]
        return Dict(tuple(pairs), tree.open, tree.attributes)
    return change(path, tree)


def _pairs(chosen: Value, new: Value) -> Mapping[Path, Value]:
    """Returns the new value of each chosen leaf, by path; nothing if some leaf or value is unknown."""
    if isinstance(chosen, Made) and chosen.dotted == _LEAF:
        return {tuple([str(name.value) for _, name in chosen.arguments if isinstance(name, Const)]): new}
    if not isinstance(chosen, Seq) or not isinstance(new, Seq) or chosen.open or new.open:
        return {}
    pairs = [_pairs(*pair) for pair in zip(chosen.items, new.items, strict=False)]
    if len(chosen.items) != len(new.items) or not all(pairs):
        return {}
    return {path: value for one in pairs for path, value in one.items()}
