"""Classes that are written out for the compiler behave as their decorators would make them behave."""

from __future__ import annotations

import runpy
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from meshlens.axes.domain import immutable

COMPILED = Path(__file__).parents[1] / "compiled"
SOURCE = '''
from __future__ import annotations

from dataclasses import dataclass, field
from meshlens.axes.domain.immutable import immutable


LIMIT = 2
_TABLE: dict[str, int] = {
    "a": LIMIT,
}
Alias = dict[str, int]


@immutable
class Point:
    """A place."""

    x: int
    y: int = 2
    note: str | None = field(default=None, compare=False)

    @property
    def sum(self) -> int:
        """Both."""
        return self.x + self.y


@immutable
class Loose:
    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose)

    def __hash__(self) -> int:
        return 1


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    name: str


@immutable
class Weighed:
    parts: tuple[int, ...]
    weight: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.weight = sum(self.parts)


@dataclass(slots=True)
class Kept:
    items: list[int] = field(default_factory=list)
    table: dict[str, int] = field(default_factory=lambda: {"a": 1})
'''


@pytest.fixture(params=["decorated", "written out"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Returns the names of the module, as Python makes them and as they are written out."""
    runtime = ModuleType("meshlens._written_out")
    runtime.__dict__.update(runpy.run_path(str(COMPILED / "runtime.py")))
    monkeypatch.setitem(sys.modules, "meshlens._written_out", runtime)
    written_out = runpy.run_path(str(COMPILED / "written_out.py"))["written_out"]
    source = written_out(SOURCE) if request.param == "written out" else SOURCE
    assert ("@immutable" in source) == (request.param == "decorated")
    names = {"immutable": immutable, "__name__": "meshlens.sample"}
    monkeypatch.setitem(sys.modules, "meshlens.sample", ModuleType("meshlens.sample"))
    exec(compile(source, "sample", "exec"), names)
    return names


def test_values_are_compared_by_their_fields(made):
    point = made["Point"]
    assert point(1) == point(1, 2, "a note") == point(x=1, y=2)
    assert point(1) != point(2)
    assert point(1) != (1, 2)
    assert hash(point(1)) == hash(point(1, 2, "another"))
    assert made["Loose"](1) == made["Loose"](2)
    assert made["Named"]("a") != made["Named"]("a")
    assert made["Kept"].__hash__ is None


def test_fields_and_methods_stay(made):
    point = made["Point"]
    assert point(1).sum == 3
    assert [one.name for one in fields(point)] == ["x", "y", "note"]
    assert replace(point(1, 2, "a"), y=5) == point(1, 5)
    assert repr(point(1)).endswith("Point(x=1, y=2, note=None)")
    assert point.__match_args__ == ("x", "y", "note")


def test_what_is_worked_out_when_a_value_is_made_is_no_part_of_it(made):
    weighed = made["Weighed"]
    assert (weighed((1, 2)).weight, weighed(parts=(3,)).weight) == (3, 3)
    assert weighed((1, 2)) == weighed((1, 2)) != weighed((3,))
    assert replace(weighed((1, 2)), parts=(5,)).weight == 5
    assert weighed.__match_args__ == ("parts",)


def test_constants_stay(made):
    assert (made["LIMIT"], made["_TABLE"]) == (2, {"a": 2})


def test_names_in_capitals_are_final():
    written_out = runpy.run_path(str(COMPILED / "written_out.py"))["written_out"]
    lines = written_out(SOURCE).split("\n")
    assert "LIMIT: Final = 2" in lines
    assert "_TABLE: Final[dict[str, int]] = {" in lines
    assert "Alias = dict[str, int]" in lines


def test_what_a_field_begins_as_is_made_anew(made):
    kept = made["Kept"]
    first, second = kept(), kept([1])
    first.items.append(2)
    assert (kept().items, second.items, kept().table) == ([], [1], {"a": 1})
    assert kept() == kept([])
