"""The helper that lets a function under `shard_map` work on arrays without the mapped axis, as under `pmap`."""

from __future__ import annotations

from meshlens.project.view import FileView
from meshlens.refactoring.writing.helpers import with_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import FileEdit

_WITH_KEYWORDS = "with_keywords"
_KEYWORDS_TEXT = '''\
def {name}(function, names):
    """Passes a function's last arguments by keyword, which shard_map does not accept."""

    def called(*args):
        count = len(args) - len(names)
        return function(*args[:count], **dict(zip(names, args[count:])))

    return called'''
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
    """Returns the helper's name in a file, and the edit that adds it after the imports if it is missing."""
    return with_helper(
        view,
        _NAME,
        _TEXT,
        spelling.at,
        tree_map=spelling.tree_map(),
        expand_dims=spelling.jax_numpy("expand_dims"),
        squeeze=spelling.jax_numpy("squeeze"),
    )


def keywords_helper(view: FileView) -> tuple[str, tuple[FileEdit, ...]]:
    """Returns the name of the helper that passes arguments by keyword, and the edit that adds it if it is missing."""
    return with_helper(view, _WITH_KEYWORDS, _KEYWORDS_TEXT)
