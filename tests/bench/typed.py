"""Types into functions of real files, key by key: after each key the facts must be those of a cold reading.

    python tests/bench/typed.py FOLDER … [--edits 3000] [--seed 7]

A statement is typed on a new line, or a line is broken and mended at random: brackets, quotes, dots.  Prints each
file in which the facts differ, with the last edits, and how many statements were read alone.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# If this runs as a script, Python finds only the modules next to it.
sys.path.insert(0, str(Path(__file__).parents[1]))

from facts_alike import are_alike
from meshlens.facts.editing.reading import Reading, read, read_again
from meshlens.facts.editing.spots import leaves_a_hole
from meshlens.text import Edit, Span

STATEMENTS = (
    *('y = lax.psum(x, "data")', 'x = foo(a, [1, {2: "b"}])', "return x", "for i in range(3):", "if x == (1, 2):"),
    *(
        'a.b["c"] = d(e=f)',
        "s = f'{x[0]} {y!r}'",
        "z = lambda q: q + 1",
        "with foo(bar) as b:",
        "print(x)",
        'x += """a',
    ),
    *(
        'assert x, "m"',
        "del x",
        "q = (",
        "# comment (",
        ")",
        "y = x if",
        "@",
        "def f(",
        "class A",
        "import jax",
        '"',
        "'",
    ),
    *(
        "y: int = ",
        "yield x",
        "await x",
        "x\\",
        "\tx",
        "é = 1",
        "match x:",
        "case 1:",
        "else:",
        "except",
        "lax.",
        "x =",
    ),
)
_BREAKS = "()[]{}\"'=.,x #:\\"
_SMALLEST, _LARGEST = 300, 60_000
_MOST_SHOWN = 8


@dataclass
class Typist:
    """A file that is being typed in.

    Attributes:
        reading: the reading that each keystroke updates.
        edits: the edits so far.
        read_how: how often a statement was read alone, a hole was read alone, or more was read.
        is_equal: whether the facts are those of a cold reading.
    """

    reading: Reading
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    read_how: Counter[str] = field(default_factory=Counter)
    is_equal: bool = True

    def type(self, start: int, end: int, new: str) -> bool:
        """Replaces some bytes; returns true if the facts are those of a cold reading."""
        before = self.reading.facts
        self.edits.append((start, end, new))
        self.reading = read_again(self.reading, [Edit(Span(start, end), new)])
        facts = self.reading.facts
        alone = facts.spot is not None and before.spot is not None and facts.spot.place is before.spot.place
        self.read_how["a hole alone" if alone and leaves_a_hole(facts) else "alone" if alone else "with more"] += 1
        self.is_equal = are_alike(facts, read(self.reading.source).facts)
        return self.is_equal


def type_statement(typist: Typist, dice: random.Random, at: int, indent: str) -> None:
    """Types a statement on a new line after a place, and undoes part of it."""
    line = f"\n{indent}"
    strokes = [line, *dice.choice(STATEMENTS), *dice.choice(("", "", "(", '"', ")"))]
    begin = at
    for stroke in strokes:
        if not typist.type(at, at, stroke):
            return
        at += len(stroke.encode())
    for _ in range(dice.randrange(6)):
        if at <= begin + len(line) or not typist.reading.source[at - 1 : at].isascii():
            return
        if not typist.type(at - 1, at, ""):
            return
        at -= 1


def break_line(typist: Typist, dice: random.Random, start: int, end: int) -> None:
    """Breaks a line and mends it."""
    for _ in range(12):
        source = typist.reading.source
        at = dice.randrange(start, max(start + 1, min(end, len(source) - 1)))
        if not source[at : at + 2].isascii():
            continue
        kind = dice.random()
        if kind < 0.4:
            typist.type(at, at, dice.choice(_BREAKS))
        elif kind < 0.7:
            typist.type(at, at + 1, "")
        else:
            strokes = dice.choice("(\"'[=.") + "ab, "
            if all(typist.type(at + number, at + number, stroke) for number, stroke in enumerate(strokes)):
                typist.type(at, at + len(strokes), "")
        if not typist.is_equal:
            return


def run(files: Sequence[Path], edits: int, seed: int) -> Iterator[tuple[Path, Typist]]:
    """Types into one file after another until all edits are made; yields each file and its typist."""
    dice, made = random.Random(seed), 0
    while made < edits:
        path = dice.choice(files)
        source = path.read_bytes()
        lines = source.split(b"\n")
        inner = [number for number, line in enumerate(lines) if line[:1] in (b" ", b"\t") and line.strip()]
        if not inner:
            continue
        number = dice.choice(inner)
        end = sum(len(line) + 1 for line in lines[: number + 1]) - 1
        indent = len(lines[number]) - len(lines[number].lstrip())
        typist = Typist(read(source))
        if dice.random() < 0.5:
            type_statement(typist, dice, end, lines[number][:indent].decode())
        else:
            break_line(typist, dice, end - len(lines[number]) + indent, end)
        made += len(typist.edits)
        yield path, typist


def files_in(folders: Iterable[Path]) -> list[Path]:
    """Returns the Python files of some folders that are neither tiny nor huge, and are UTF-8."""
    found = sorted(path for folder in folders for path in folder.rglob("*.py") if path.is_file())
    return [path for path in found if _SMALLEST < path.stat().st_size < _LARGEST and _is_text(path.read_bytes())]


def _is_text(source: bytes) -> bool:
    try:
        source.decode()
    except UnicodeDecodeError:
        return False
    return True


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--edits", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    given = parser.parse_args()
    edits, unequal, read_how = 0, 0, Counter[str]()
    for path, typist in run(files_in(given.folders), given.edits, given.seed):
        edits += len(typist.edits)
        read_how += typist.read_how
        if not typist.is_equal:
            unequal += 1
            print(f"{path}: after {typist.edits[-_MOST_SHOWN:]}")
    ways = ", ".join(f"{count:,} {way}" for way, count in read_how.most_common())
    print(f"seed {given.seed}: {edits:,} edits, {unequal} unequal; read {ways}")
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())
