"""The nouns of refactoring: what a user asked for, an offer, and a refusal with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from meshlens.project.writing.drafts import Import
from meshlens.text import FileEdit

Strategy = Literal["data", "fsdp"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """The user's wishes for the result; whatever is None is worked out from the code.

    Attributes:
        axis_name: the axis name for a new map.
        in_axes: the `in_axes` for a new map, as Python text.
        devices: how many devices a new map is for, or the sizes of its mesh.
        usual_axis_name: the axis name for a new map whose collectives name none, unless one was said.
        sees_all: whether every file that may use what is rewritten is loaded.
        strategy: "data" copies the state to every device, "fsdp" splits it over them.
        batch: the arguments that hold the batch, with the axis of the rows; empty to find them in the code.
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
    """The parts of an offer that can be taken together with others for the same state of the files.

    Attributes:
        imports: what its file has to import.
        edits: everything else, in order.
    """

    imports: tuple[Import, ...]
    edits: tuple[FileEdit, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """An offer.

    Attributes:
        title: what it does, in the imperative, lower case.
        edits: works out all edits, of any file; they do not overlap, and those that insert at one place come in order.
        parts: the same in parts; None where what it says of other places may not hold once it is taken.
    """

    title: str
    edits: Callable[[], tuple[FileEdit, ...]]
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a refactoring that the user would expect here does not apply.

    Attributes:
        title: what the offer would have been.
        code: names the reason, stable: "nested-map".
        message: one short sentence, lower case, without a full stop.
    """

    title: str
    code: str
    message: str


Answer = Proposal | Refused | None
