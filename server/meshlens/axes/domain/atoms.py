"""The parts that values are made of: places in the workspace, values that are not followed, arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.variation import ANYTHING, EVERYWHERE, Variation

if TYPE_CHECKING:
    from meshlens.axes.domain.values import Value


class Site(NamedTuple):
    """A place in the workspace that survives edits elsewhere: a path, a block's key, a site number."""

    path: str
    block: str
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody wants of a site


@immutable
class Data:
    """A value that is not followed further.

    Attributes:
        labels: what is known of how it came about, such as "gradient" or "key"; see `labels.py`.
        shape: the sizes of an array's axes, None for an unknown size; None if not even the rank is known.
        made_by: dotted name of the library callable whose result it is, if that is known.
        array: true when it is certainly one array or number, no container of several.
        over: what is known over each axis: the same on all devices, a part of a sum; see `variation.py`.
    """

    labels: frozenset[Any] = frozenset()
    shape: tuple[int | None, ...] | None = None
    made_by: str | None = None
    array: bool = False
    over: Variation = ANYTHING


UNKNOWN = Data()
STATIC = Data(over=EVERYWHERE)
"""A size or a type, which are the same on all devices."""


@immutable
class Arg:
    """One argument of a call.

    Attributes:
        label: None for a positional one, the keyword, "*" or "**" for a splat that could not be opened.
        value: its value.
        whole: the site of the whole argument, keyword included.
        site: the site of the expression.
    """

    label: str | None
    value: Value
    whole: Site | None
    site: Site | None
