"""The function that makes `shard_map` give and take what `pmap` does: arrays without the mapped axis."""

from __future__ import annotations

from meshlens.assists._placing import behind_imports
from meshlens.assists._spelling import Spelling, fresh
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_NAME = "without_mapped_axis"
_TEXT = '''\
def {name}(function, in_axes=0, out_axes=0):
    """Calls a function as pmap does: without the mapped axis, which has size 1 on a shard."""

    def each(change, axes, values):
        def leaves(axis, value):
            return value if axis is None else {tree_map}(lambda x: change(x, axis), value)

        return {tree_map}(leaves, axes, values, is_leaf=lambda axis: axis is None)

    def on_shard(*args):
        return each({expand_dims}, out_axes, function(*each({squeeze}, in_axes, args)))

    return on_shard'''


def mapped_axis_helper(view: FileView, spelling: Spelling) -> tuple[str, tuple[FileEdit, ...]]:
    """What the helper is called in a file, and the edit that puts it behind the imports if it is not there yet."""
    known = _known(view)
    if known is not None:
        return known, ()
    name = fresh(view, _NAME)
    text = _written(name, spelling)
    at, blank = behind_imports(view)
    if not at:
        edit = Edit(Span(0, 0), f"{text}\n\n\n")
    else:
        edit = Edit(Span(at, at), f"\n\n\n{text}" + "\n" * max(2 - blank, 0))
    return name, (FileEdit(view.path, edit),)


def _known(view: FileView) -> str | None:
    spelling = Spelling(view)
    for key in view.facts.top:
        if key.startswith(_NAME):
            span = view.facts.blocks[key].span(0)
            text = view.source[span.start : span.end].decode("utf-8", "replace").replace("\r\n", "\n")
            if text.rstrip() == _written(key, spelling):
                return key
    return None


def _written(name: str, spelling: Spelling) -> str:
    return _TEXT.format(
        name=name,
        tree_map=spelling.tree_map(),
        expand_dims=spelling.jax_numpy("expand_dims"),
        squeeze=spelling.jax_numpy("squeeze"),
    )
