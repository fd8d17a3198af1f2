"""Times the core from one keystroke to the findings of the file, without an editor or a protocol around it.

    python tests/bench/keystroke.py                          generated modules of 200, 1,000 and 5,000 lines
    python tests/bench/keystroke.py FILE …                   files as they are
    python tests/bench/keystroke.py FILE --with FOLDER       among the files of a folder

Prints median and 95th-percentile CPU milliseconds by phase, over a script of edits as people make them:
a new line, a statement typed character by character, a bracket opened and closed, a comment, lines shifted.
"""

from __future__ import annotations

import argparse
import gc
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from generate import module

from meshlens.checking.check import check
from meshlens.facts.editing import reading, windows
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings
from meshlens.syntax import sections
from meshlens.text import Edit, Span

TYPED = 'y_p = lax.psum(x, "data")'
_STATEMENT = re.compile(r"^(?: {4}|\t)\s*[a-z_]\w* = [^#\"']*[\w)\]]$")
_INDENT = re.compile(r"\s*")


class _Text:
    """A text that is being typed in, as lines."""

    def __init__(self, source: str) -> None:
        self.lines = source.split("\n")

    def change(self, begin: tuple[int, int], end: tuple[int, int], new: str) -> Edit:
        """Replaces what is between two places and returns the edit in bytes."""
        start = len("\n".join(self.lines[: begin[0]]).encode()) + (begin[0] > 0)
        start += len(self.lines[begin[0]][: begin[1]].encode())
        head, tail = self.lines[begin[0]][: begin[1]], self.lines[end[0]][end[1] :]
        old = "\n".join(self.lines[begin[0] : end[0] + 1])
        length = len(old.encode()) - len(head.encode()) - len(tail.encode())
        self.lines[begin[0] : end[0] + 1] = (head + new + tail).split("\n")
        return Edit(Span(start, start + length), new)

    def statement(self, where: float) -> int:
        """Returns a line near a fraction of the text that is a simple statement followed by another."""
        count = len(self.lines)
        for number in sorted(range(count - 1), key=lambda line: abs(line - int(count * where))):
            line, after = self.lines[number], self.lines[number + 1]
            balanced = all(line.count(left) == line.count(right) for left, right in ("()", "[]", "{}"))
            same = _INDENT.match(line), _INDENT.match(after)
            if _STATEMENT.match(line) and balanced and after.strip() and same[0].group() == same[1].group():
                return number
        raise SystemExit("no simple statement in this file")


def _script(text: _Text) -> Iterator[tuple[str, Edit]]:
    for where in (0.1, 0.5, 0.9):
        at = text.statement(where)
        indent = _INDENT.match(text.lines[at]).group()
        row = at + 1
        end = at, len(text.lines[at])
        yield "newline", text.change(end, end, "\n" + indent)
        for character in TYPED:
            end = row, len(text.lines[row])
            yield "type", text.change(end, end, character)
        for _ in range(4):
            end = row, len(text.lines[row])
            yield "break", text.change(end, end, "(")
            yield "fix", text.change(end, (row, end[1] + 1), "")
        for character in "  # ":
            end = row, len(text.lines[row])
            yield "comment", text.change(end, end, character)
        yield "delete", text.change((row, 0), (row + 1, 0), "")
    for _ in range(3):
        yield "shift", text.change((0, 0), (0, 0), "\n")
        yield "shift", text.change((0, 0), (1, 0), "")
    count = len(text.lines)
    row = min(
        (line for line in range(count) if re.match(r"\s*(async )?def \w+\(", text.lines[line])),
        key=lambda line: abs(line - count // 2),
    )
    for _ in range(2):
        column = text.lines[row].index("(")
        yield "defname", text.change((row, column), (row, column), "q")
        yield "defname", text.change((row, column), (row, column + 1), "")


def _measure(workspace: Workspace, path: Path, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    text = _Text(workspace.files[str(path)].source.decode())
    now = time.process_time
    parsing = 0.0
    parsers = (reading, "parse_again"), (windows, "section_of"), (sections, "section_of")

    def timed(parse):
        def parsed(*args):
            nonlocal parsing
            begun = now()
            found = parse(*args)
            parsing += now() - begun
            return found

        return parsed

    parses = [getattr(*where) for where in parsers]
    for where, parse in zip(parsers, parses, strict=True):
        setattr(*where, timed(parse))
    settings = Settings()
    workspace = workspace.with_edits(path, [Edit(Span(0, 0), "\n")]).with_edits(path, [Edit(Span(0, 1), "")])
    check(workspace.view(path), settings)
    gc.collect()
    gc.freeze()
    gc.disable()
    for _ in range(rounds):
        for kind, edit in _script(text):
            parsing = 0.0
            first = now()
            workspace = workspace.with_edits(path, [edit])
            read = now()
            # As in an editor, whose files are unsaved while they are typed in.
            view = replace(workspace.view(path), defaults=None)
            solved = now()
            check(view, settings)
            done = now()
            phases = {
                "parse": parsing, "extract": read - first - parsing, "solve": solved - read, "check": done - solved,
                "all": done - first, f"all:{kind}": done - first,
            }  # fmt: skip
            for phase, seconds in phases.items():
                times[phase].append(seconds * 1e3)
        gc.collect(0)
    for where, parse in zip(parsers, parses, strict=True):
        setattr(*where, parse)
    gc.enable()
    return times


def _row(name: str, values: list[float]) -> str:
    ordered = sorted(values)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    return f"  {name:12} {middle:8.2f} {late:8.2f}   ({len(ordered)})"


def main() -> None:
    """Reads the command line and prints one table for each file."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("files", nargs="*", type=Path)
    arguments.add_argument("--with", dest="folder", type=Path)
    arguments.add_argument("--rounds", type=int, default=1)
    chosen = arguments.parse_args()
    for name, path, raw in _cases(chosen.files):
        others = sorted(one.absolute() for one in chosen.folder.rglob("*.py")) if chosen.folder else []
        files = [*[one for one in others if one != path], path]
        root = chosen.folder.absolute() if chosen.folder else path.parent
        workspace = open_workspace([root], files=files, devices=8, overlay={path: raw})
        begun = time.process_time()
        check(workspace.view(path), Settings())
        cold = time.process_time() - begun
        print(f"{name}: {raw.count(10)} lines, {len(workspace.files)} files, cold {cold:.2f} s; p50, p95 in ms")
        times = _measure(workspace, path, chosen.rounds)
        for phase, values in times.items():
            print(_row(phase, values))


def _cases(files: list[Path]) -> Iterator[tuple[str, Path, bytes]]:
    for path in files:
        yield str(path), path.absolute(), path.read_bytes()
    if not files:
        for lines in (200, 1000, 5000):
            path = Path("/generated/module.py")
            yield f"generated, {lines} lines", path, module(lines, seed=7).encode()


if __name__ == "__main__":
    main()
