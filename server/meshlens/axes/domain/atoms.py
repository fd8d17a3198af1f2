"""The building blocks of values: sites, data that is not followed, arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.variation import ANYTHING, EVERYWHERE, Variation

if TYPE_CHECKING:
    from meshlens.axes.domain.values import Value


class Site(NamedTuple):
    """A place in the workspace, which edits elsewhere do not change: a path, a block's key and a site number."""

    path: str
    block: str
    index: int  # type: ignore[assignment]  # hides tuple.index, which a site does not need


@immutable
class Data:
    """A value that is not followed further.

    Attributes:
        labels: facts about its origin, such as "gradient" or "key"; see `labels.py`.
        shape: the sizes of an array's axes, None for an unknown size; None if not even the rank is known.
        made_by: dotted name of the library callable that returned it, if known.
        array: whether it is certainly one array or number, not a container.
        over: its variation over each axis, such as "same on all devices" or "part of a sum"; see `variation.py`.
    """

    labels: frozenset[Any] = frozenset()
    shape: tuple[int | None, ...] | None = None
    made_by: str | None = None
    array: bool = False
    over: Variation = ANYTHING


UNKNOWN = Data()
STATIC = Data(over=EVERYWHERE)
"""A size or a type, which is the same on all devices."""


@immutable
class Arg:
    """One argument of a call.

    Attributes:
        label: the keyword; None for a positional argument, "*" or "**" for a splat with unknown contents.
        value: its value.
        whole: the site of the whole argument, keyword included.
        site: the site of the expression.
    """

    label: str | None
    value: Value
    whole: Site | None
    site: Site | None
