"""Correct programs and their twins with one fault each: how they are written down, made and scored.

A folder of `twins` holds a correct program, which sets `agrees` to True if its numbers are those of one device, and
`faults.txt`. A fault there is a heading, `## name · kind · file` (or several files, one for each edit); the lines to
replace, after `-` (`&` begins another edit); their replacement, after `+`; and, after `@`, texts that identify the
lines on which a finding may lie, with the file before a colon if it is not the first one.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from meshlens.checking.check import check
from meshlens.checking.model import Severity
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings

TWINS = Path(__file__).parent / "twins"
OBSERVED = TWINS / "observed.json"
MISSED = TWINS / "missed.txt"
FAULTS = "faults.txt"
WRONG = "wrong"
"""The entry of `OBSERVED` for a program that runs, but with other numbers than on one device."""
LOUD = {Severity.ERROR, Severity.WARNING}


class Edit(NamedTuple):
    """One replacement in a file."""

    file: str
    old: str
    new: str


class Fault(NamedTuple):
    """One change that makes a correct program wrong.

    Attributes:
        name: its name, unique in its program.
        kind: the kind of fault.
        edits: the replacements.
        marks: pairs of a file and a text; a finding may lie on any line of the file that contains the text.
    """

    name: str
    kind: str
    edits: tuple[Edit, ...]
    marks: tuple[tuple[str, str], ...]


class Reported(NamedTuple):
    """A finding: the file, the lines that it touches, its severity, and its code and message."""

    file: str
    lines: tuple[str, ...]
    severity: Severity
    text: str


def faults(folder: Path) -> Iterator[Fault]:
    """Yields the faults of a program."""
    for section in re.split(r"^## ", (folder / FAULTS).read_text("utf-8"), flags=re.MULTILINE)[1:]:
        heading, *lines = section.rstrip("\n").split("\n")
        name, kind, names = heading.split(" · ")
        files = names.split(", ")
        old: list[list[str]] = []
        new: list[list[str]] = []
        marks = []
        for line in lines:
            sign, rest = line[:1], line[1:]
            if sign == "&" or (sign == "-" and not old):
                old.append([])
                new.append([])
            if sign in "-&":
                old[-1].append(rest)
            elif sign == "+":
                new[-1].append(rest)
            elif sign == "@":
                marks.append(_mark(rest.strip(), files[0]))
        edits = [
            Edit(files[min(at, len(files) - 1)], "\n".join(before), "\n".join(after))
            for at, (before, after) in enumerate(zip(old, new, strict=True))
        ]
        yield Fault(name, kind, tuple(edits), tuple(marks))


def made(folder: Path, fault: Fault | None, room: Path) -> Path:
    """Returns a folder below `room` with a copy of a program, with a fault if one is given."""
    target = room / folder.name / (fault.name if fault else "right")
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns(FAULTS, "__pycache__"))
    for edit in fault.edits if fault else ():
        path = target / edit.file
        if path.suffix == ".ipynb":
            _edit_notebook(path, edit)
            continue
        text = path.read_text("utf-8")
        assert text.count(edit.old) == 1, f"{folder.name}: {edit.old!r} stands there {text.count(edit.old)} times"
        path.write_text(text.replace(edit.old, edit.new), "utf-8")
    return target


def runnable(folder: Path) -> Path:
    """Returns the program to run; the code of a notebook is written into one."""
    for notebook in folder.glob("*.ipynb"):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        (folder / "main.py").write_text(re.sub(r"^[%!].*$", "", code, flags=re.MULTILINE), "utf-8")
    return folder / "main.py"


def reported(folder: Path) -> list[Reported]:
    """Returns all findings in a program that is meant for eight devices and JAX 0.10.2."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".ipynb"))
    workspace = open_workspace([folder], files=tuple(files), jax_version=(0, 10, 2), devices=8)
    result = []
    for path in files:
        view = workspace.view(path)
        lines = view.texts[str(path)].decode("utf-8").split("\n")
        for one in check(view, Settings()):
            span = one.finding.span
            first, last = view.lines.position(span.start)[0], view.lines.position(span.end)[0]
            text = f"{path.name}:{first + 1} {one.code} {one.finding.message}"
            name = path.relative_to(folder).as_posix()
            result.append(Reported(name, tuple(lines[first : last + 1]), one.severity, text))
    return result


def is_found(fault: Fault, findings: list[Reported], runs: bool) -> bool:
    """Returns true if a finding is where the fault is; if the faulty program runs, a hint is enough."""
    return any(_is_marked(one, fault) for one in findings if runs or one.severity in LOUD)


def _is_marked(one: Reported, fault: Fault) -> bool:
    return any(one.file == file and any(text in line for line in one.lines) for file, text in fault.marks)


def _mark(text: str, default: str) -> tuple[str, str]:
    file, colon, rest = text.partition(": ")
    return (file, rest) if colon and re.fullmatch(r"[\w/]+\.(py|ipynb)", file) else (default, text)


def _edit_notebook(path: Path, edit: Edit) -> None:
    content = json.loads(path.read_text("utf-8"))
    cells = [cell for cell in content["cells"] if edit.old in "".join(cell["source"])]
    assert len(cells) == 1, f"{path.name}: {edit.old!r} stands in {len(cells)} cells"
    cells[0]["source"] = "".join(cells[0]["source"]).replace(edit.old, edit.new).splitlines(keepends=True)
    path.write_text(json.dumps(content, indent=1), "utf-8")
