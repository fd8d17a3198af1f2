"""The layers and functions of network libraries; some work along the row axis, depending on their arguments.

Most treat each row separately.
A recurrent layer runs along the first axis if its arguments make that the time axis, and a normalization runs along the
axes given by its arguments. Equinox layers have no row axis at all: they work on one example unless a `vmap` maps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from meshlens.facts.nodes import (
    Argument,
    Call,
    Constant,
    FunctionDef,
    Lambda,
    ListDisplay,
    Name,
    TupleDisplay,
    UnaryOperation,
)
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.refactoring.following.following import Follow
from meshlens.refactoring.following.kinds import Kind, flat, over_rows
from meshlens.refactoring.following.settled_tests import constant_of
from meshlens.refactoring.reading.decorators import applied_by
from meshlens.refactoring.reading.functions import dotted_name

_RECURRENT = frozenset(
    f"{library}.{name}" for library in ("flax.linen", "flax.nnx") for name in ("RNN", "Bidirectional")
)
_UNROLLS = frozenset({"haiku.dynamic_unroll", "haiku.static_unroll"})
_SCANS = frozenset({"flax.linen.scan", "flax.nnx.scan"})
_LOOPS = frozenset(f"{library}.{name}" for library in ("haiku", "flax.linen", "flax.nnx") for name in (
    "scan", "while_loop", "fori_loop", "cond", "switch", "map"
))  # fmt: skip
_POOLS = frozenset({"haiku.max_pool", "haiku.avg_pool", "haiku.MaxPool", "haiku.AvgPool"})
_OVER_AXES: dict[str, tuple[str, int | None]] = {
    "flax.linen.DenseGeneral": ("axis", None),
    "haiku.LayerNorm": ("axis", 0),
    "haiku.RMSNorm": ("axis", 0),
    **{
        f"flax.{module}.{name}": ("reduction_axes", None)
        for module in ("linen", "nnx")
        for name in ("LayerNorm", "RMSNorm", "GroupNorm")
    },
    **{f"flax.{module}.LinearGeneral": ("axis", None) for module in ("linen", "nnx")},
    **{
        f"flax.{module}.{name}": ("axis", 1)
        for module in ("linen", "nnx")
        for name in ("standardize", "logsumexp", "softmax", "log_softmax", "normalize")
    },
}
"""The layers and functions that work along axes given by an argument, with the argument's name and position, if any."""
_OF_ALL_AXES = frozenset({"flax.linen.logsumexp", "flax.nnx.logsumexp"})
_COUPLES = frozenset({
    "haiku.BatchNorm", "haiku.nets.ResNet", "haiku.nets.ResNet18", "haiku.nets.ResNet34", "haiku.nets.ResNet50",
    "haiku.nets.ResNet101", "haiku.nets.ResNet152", "haiku.nets.ResNet200", "haiku.nets.MobileNetV1",
    "haiku.nets.VectorQuantizer", "haiku.nets.VectorQuantizerEMA",
})  # fmt: skip
_OF_ONE_EXAMPLE = "equinox.nn."
_BY_ELEMENT = frozenset(f"equinox.nn.{name}" for name in ("Dropout", "Identity", "Lambda", "PReLU"))
_EINOPS = frozenset({"einops.rearrange", "einops.reduce", "einops.repeat"})


def works_along_rows(follow: Follow, home: Follow, callee: Node, node: Call, makers: list[Node]) -> bool:
    """Returns whether a function or layer of a network library may combine the rows passed to it.

    Args:
        follow: the calling scope.
        home: the scope of the callee's names.
        callee: the callee.
        node: the call.
        makers: the expressions that may have created the layer.
    """
    dotted = home.dotted(callee)
    if dotted in _UNROLLS:
        return not _is_false(_given(node, "time_major", 3))
    if dotted in _LOOPS or dotted.startswith("diffrax."):
        return True
    if dotted in _POOLS:
        return _pools_rows(_given(node, "window_shape", 1))
    if dotted in _OVER_AXES:
        return _is_over_rows(dotted, node)
    return any(_made_along_rows(home, one, follow, node) for maker in makers for one in _chain(maker))


def _chain(maker: Node) -> Iterator[Call]:
    """Yields the calls in an expression such as `nn.scan(nn.LSTMCell, …)(8)` or `nn.Sequential([nn.Dense(8), …])`."""
    if isinstance(maker, Call):
        yield maker
        yield from _chain(maker.callee)
        for _, _, value in maker.arguments:
            if isinstance(value, (ListDisplay, TupleDisplay)):
                yield from (one for item in value.items for one in _chain(item))


def _made_along_rows(home: Follow, made: Call, follow: Follow, node: Call) -> bool:
    callee, given = applied_by(made, home.dotted)
    dotted, made = home.dotted(callee), made._replace(arguments=given)
    if dotted in _RECURRENT:
        told = (_given(made, "time_major"), _given(node, "time_major"))
        return any(one is not None and not _is_false(one) for one in told)
    if dotted in _SCANS:
        return _scans_rows(made, [follow.kind(value) for _, _, value in node.arguments])
    if dotted in _POOLS:
        return _pools_rows(_given(made, "window_shape", 0))
    if dotted in _OVER_AXES:
        least = follow.least_axes(node.arguments[0].value) if node.arguments else 0
        return _is_over_rows(dotted, made, least)
    is_of_one = dotted.startswith(_OF_ONE_EXAMPLE) and dotted.rpartition(".")[2][:1].isupper()
    couples = dotted in _COUPLES and not _uses_known_averages(follow, dotted, node)
    return couples or (is_of_one and dotted not in _BY_ELEMENT)


def _uses_known_averages(follow: Follow, dotted: str, node: Call) -> bool:
    """Returns whether a call of a haiku network with BatchNorm certainly uses its averages, not those of the batch."""
    if "Quantizer" in dotted:
        return False
    training, tests = (_given(node, name, place) for name, place in (("is_training", 1), ("test_local_stats", 2)))
    said = constant_of(follow.constants, training) if training is not None else None
    return said is not None and said.value is False and (tests is None or _is_false(tests))


def is_scanned_along_rows(view: FileView, function: FunctionDef | Lambda) -> bool:
    """Returns whether a decorator scans a method over the first axis of its argument."""
    decorators = function.function.decorators if isinstance(function, FunctionDef) else ()
    for one in decorators:
        callee, given = applied_by(one, partial(dotted_name, view))
        if dotted_name(view, callee) in _SCANS:
            return _scans_rows(Call("call", one.site, callee, given), ["rows", "rows"])
    return False


def _scans_rows(made: Call, kinds: list[Kind]) -> bool:
    """Returns whether a scan of a module may iterate over the row axis."""
    if all(flat(kind) == "same" for kind in kinds[1:]):
        return False
    axes = (_given(made, "in_axes"), _given(made, "out_axes"))
    return any(one is None or over_rows(one) is not False or isinstance(one, UnaryOperation) for one in axes)


def _is_over_rows(dotted: str, made: Call, least: int = 0) -> bool:
    """Returns whether a normalization or a similar function may work along the row axis, according to its arguments."""
    axis = _given(made, *_OVER_AXES[dotted])
    if isinstance(axis, Call) and isinstance(axis.callee, Name) and axis.callee.name == "slice":
        first = axis.arguments[0].value if len(axis.arguments) > 1 else None
        return not (isinstance(first, Constant) and type(first.value) is int and first.value > 0)
    return over_rows(axis, dotted in _OF_ALL_AXES, least) is not False


def _pools_rows(window: Node | None) -> bool:
    if isinstance(window, (TupleDisplay, ListDisplay)) and window.items:
        first = window.items[0]
        return not (isinstance(first, Constant) and first.value == 1)
    return not isinstance(window, Constant)


def _given(made: Call, keyword: str, place: int | None = None) -> Node | None:
    positional = [value for label, _, value in made.arguments if label is None]
    named: dict[str | None, Node] = {label: value for label, _, value in made.arguments}
    return named.get(keyword, positional[place] if place is not None and place < len(positional) else None)


def _is_false(node: Node | None) -> bool:
    return isinstance(node, Constant) and node.value is False


def rearranged(dotted: str, arguments: tuple[Argument, ...], kind: Kind) -> Kind:
    """Returns the kind of the result of an einops function applied to an array with rows.

    Args:
        dotted: the function.
        arguments: its arguments.
        kind: the kind of the array.
    """
    positional = [value for label, _, value in arguments if label is None]
    pattern = positional[1] if len(positional) > 1 else None
    text = pattern.value if isinstance(pattern, Constant) else None
    if dotted not in _EINOPS or not isinstance(text, str) or text.count("->") != 1:
        return "mixed"
    before, after = (_axes(one) for one in text.split("->"))
    if not before or not after or not before[0] or not after[0]:
        return "mixed"
    if flat(kind) == "turned":
        is_back = len(before) > 1 and before[1][:1] == after[0][:1] == before[1] and after[1:2] == before[:1]
        return "rows" if is_back else "mixed"
    if before[0][0] == after[0][0] and (len(before[0]) == 1 or len(after[0]) == 1):
        return "rows"
    given = {label for label, _, _ in arguments if label is not None}
    if _makes_groups(before, after, given) and dotted == "einops.rearrange":
        return "grouped"
    is_turned = len(after) > 1 and before[0] == after[1] and before[1] == after[0] and len(before[0]) == 1
    return "turned" if is_turned and dotted == "einops.rearrange" else "mixed"


def _makes_groups(before: list[list[str]], after: list[list[str]], given: set[str]) -> bool:
    """Returns whether a pattern splits the rows into a given number of groups along a new first axis.

    For example, `"(g b) ... -> g b ..."` does if only the size of `g` is given.
    """
    rows = before[0]
    is_split = after[:2] in ([[one] for one in rows], [[one] for one in reversed(rows)]) and before[1:] == after[2:]
    return len(rows) == 2 and is_split and set(rows) & given == {after[0][0]}


def _axes(side: str) -> list[list[str]]:
    """Returns the axes on one side of an einops pattern, each as the list of the names that are merged into it."""
    found: list[list[str]] = []
    group: list[str] | None = None
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            group = []
            found.append(group)
        elif word == ")":
            group = None
        elif group is not None:
            group.append(word)
        else:
            found.append([word])
    return found
