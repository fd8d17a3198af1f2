"""Random edits as people make them, and as nobody should: typing, pastes, broken brackets, emoji, line ends."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CHARACTERS = "abcxyz_ \n\t()[]{}\"'#:,.=\\@*%!é𝛼🙂"
AXES = ('"batch"', "'i'", '"data"', '"model"', '"bacth"', "AXIS", "None", '("data", "model")', 'f"{x}"')
PIECES = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        '"""',
        "'''",
        "#",
        "\\\n",
        "\x00",
        "\x0c",
        "\ufeff",
        "\u2028",
        "\r\n",
        "\r",
    ),
    *("import jax\n", "from jax import lax\n", "axis_name=", ", in_axes=(None, 0)", "lambda x: ", "return ", "async "),
    *('jax.lax.psum(x, "batch")', 'lax.pmean(grads, axis_name="i")', "jax.pmap(step, axis_name='batch')", "yield "),
    *('@partial(jax.pmap, axis_name="batch")\n', "@jax.jit\n", "def helper(x):\n", "class Model:\n", "if x:\n    "),
    *("# meshlens: ignore[unbound-axis]", "# meshlens: ignore", "# noqa: AX101", "# meshlens: devices=4\n", "    "),
    *('P("data", None)', 'Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))', "for i in range(3):\n    "),
    *(
        "🙂",
        "é",
        "𝛼𝛽",
        "变量 = 1\n",
        "match x:\n    case 1:\n        pass\n",
        "try:\n",
        "except NameError:\n    pass\n",
    ),
    *("%time ", "!ls\n", "%%bash\n", "x?\n", "x = %timeit f()\n", "global x\n", "del step\n", "step = None\n", "*args"),
)
_WORD = re.compile(r"[^\W\d]\w*")
_LITERAL = re.compile(r"\"[a-z]+\"|'[a-z]+'")


@dataclass(frozen=True)
class Change:
    """Replaces the characters from start to end."""

    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        """Returns the text after the change."""
        return text[: self.start] + self.new + text[self.end :]

    def undone(self, text: str) -> Change:
        """Returns the change that undoes this one, given the text before it."""
        return Change(self.start, self.start + len(self.new), text[self.start : self.end])


Make = Callable[[random.Random, str, Sequence[str]], "list[Change]"]


def random_edit(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    """Returns changes of a text, to be made one after another.

    Args:
        dice: makes the choices.
        text: the text.
        others: texts to paste from.
    """
    make = dice.choices(_MAKERS, _WEIGHTS)[0]
    return make(dice, text, others)


def whole(before: str, after: str) -> list[Change]:
    """Returns the change that replaces the whole text."""
    return [Change(0, len(before), after)]


def _place(dice: random.Random, text: str) -> int:
    return dice.randint(0, len(text))


def _type(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    at = _place(dice, text)
    return [Change(at, at, dice.choice(CHARACTERS))]


def _type_word(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    """Returns the changes that type a word letter by letter, all of them in one message."""
    at, word = _place(dice, text), dice.choice(PIECES)[:8]
    return [Change(at + number, at + number, letter) for number, letter in enumerate(word)]


def _insert(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    at = _place(dice, text)
    return [Change(at, at, dice.choice(PIECES))]


def _delete(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    at = _place(dice, text)
    return [Change(at, min(len(text), at + dice.choice((1, 1, 2, 5, 30, 200))), "")]


def _replace_word(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    words = list(_WORD.finditer(text))
    if not words:
        return _type(dice, text, others)
    old, new = dice.choice(words), dice.choice(words)
    return [Change(old.start(), old.end(), new[0])]


def _replace_axis(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    literals = list(_LITERAL.finditer(text))
    if not literals:
        return _insert(dice, text, others)
    old = dice.choice(literals)
    return [Change(old.start(), old.end(), dice.choice(AXES))]


def _line_span(dice: random.Random, text: str) -> tuple[int, int]:
    at = _place(dice, text)
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return start, len(text) if end < 0 else end + 1


def _delete_line(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    return [Change(*_line_span(dice, text), "")]


def _double_line(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    start, end = _line_span(dice, text)
    return [Change(start, start, text[start:end])]


def _indent(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    start, _ = _line_span(dice, text)
    return [Change(start, start, "    ")] if dice.random() < 0.5 else [Change(start, min(start + 4, len(text)), "")]


def _paste(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    lines = dice.choice(others).splitlines(keepends=True) or [""]
    first = dice.randrange(len(lines))
    start, _ = _line_span(dice, text)
    return [Change(start, start, "".join(lines[first : first + dice.randint(1, 20)]))]


def _comment(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    start, _ = _line_span(dice, text)
    return [Change(start, start, "# ")]


def _break_bracket(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    places = [number for number, letter in enumerate(text) if letter in "()[]{}\"':"]
    if not places:
        return _type(dice, text, others)
    at = dice.choice(places)
    return [Change(at, at + 1, "")]


def _several(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    """Returns changes in several places, as with multiple cursors: the last place first, as editors send them."""
    places = sorted({_place(dice, text) for _ in range(3)}, reverse=True)
    return [Change(at, at, dice.choice(CHARACTERS)) for at in places]


def _other_ends(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    lines = text.replace("\r\n", "\n")
    return whole(text, lines if "\r\n" in text else lines.replace("\n", "\r\n"))


def _new_text(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    return whole(text, dice.choice(others))


def _empty(dice: random.Random, text: str, others: Sequence[str]) -> list[Change]:
    return whole(text, "")


_TABLE: dict[Make, int] = {
    _type: 20,
    _type_word: 6,
    _insert: 16,
    _delete: 12,
    _replace_word: 8,
    _replace_axis: 12,
    _delete_line: 6,
    _double_line: 4,
    _indent: 4,
    _paste: 8,
    _comment: 3,
    _break_bracket: 8,
    _several: 3,
    _other_ends: 1,
    _new_text: 1,
    _empty: 1,
}
_MAKERS, _WEIGHTS = list(_TABLE), list(_TABLE.values())
