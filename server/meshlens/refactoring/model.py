"""The data model of refactoring: the user's wishes, an offer, and a refusal with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from meshlens.project.writing.drafts import Import
from meshlens.text import FileEdit

Strategy = Literal["data", "fsdp"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """The user's wishes for the result; a field that is None or empty is inferred from the code.

    Attributes:
        axis_name: the axis name for a new map.
        in_axes: the `in_axes` for a new map, as Python text.
        devices: the number of devices for a new map, or the axis sizes of its mesh.
        usual_axis_name: the axis name for a new map whose collectives do not name one.
        sees_all: whether every file that may use the rewritten code is loaded.
        strategy: "data" copies the state to every device; "fsdp" splits it over the devices.
        batch: the arguments that hold the batch, each with the axis of its rows.
    """

    axis_name: str | None = None
    in_axes: str | None = None
    devices: tuple[int, ...] = ()
    usual_axis_name: str | None = None
    sees_all: bool = True
    strategy: Strategy = "data"
    batch: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an offer, used to combine it with other offers for the same state of the files.

    Attributes:
        imports: the imports that the offer's file needs.
        edits: all other edits, in order.
    """

    imports: tuple[Import, ...]
    edits: tuple[FileEdit, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """An offer.

    Attributes:
        title: what it does, in the imperative and lower case.
        edits: computes all edits, in any file; they do not overlap, and insertions at one place are in order.
        parts: the edits as parts; None if the offer affects other places and so cannot be combined with other offers.
        note: why the numerical results change, also in parentheses in the title; empty if they do not.
        caveat: an assumption of the result that the code does not show; empty if there is none.
    """

    title: str
    edits: Callable[[], tuple[FileEdit, ...]]
    parts: Parts | None = None
    note: str = ""
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A refactoring that applies here in principle but not to this code.

    Attributes:
        title: the title of the offer.
        code: the stable name of the reason, such as "nested-map".
        message: one short sentence, in lower case, without a period.
    """

    title: str
    code: str
    message: str


Answer = Proposal | Refused | None
