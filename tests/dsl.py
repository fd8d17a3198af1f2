"""The case language: tests as Markdown, in `tests/cases/**/*.md` and in the docstring of every rule.

A section that holds code is one test; the headings above the code, joined, are the test's name.
A second fence without a name begins another test, "… (2)".
The fences of a section are the files of a small project, which is checked as `meshlens check` would check it.

    # psum

    ## a name that nothing binds

    `jax-version: 0.10.2`, `devices: 8`

    `sync.py`:

    ```python
    import jax

    def sync(grads):  # axes: batch
        return jax.lax.pmean(grads, "bacth")
        #                           ^^^^^^^ AX101: axis "bacth" is not bound here; did you mean "batch"?
    ```

    becomes

    `sync.py`:

    ```python
    …
    ```

Marks, each of them a comment or a line of its own:

`` `train.py`: ``
    Names the file of the next fence.  Without it a `python` fence is `main.py` and a `toml` fence is
    `meshlens.toml`.  A `python` fence named `*.ipynb` becomes a notebook whose cells begin at `# %%` lines
    (`# %% [markdown]` begins a Markdown cell).  Fences in other languages are prose unless they are named.

`` `devices: 8`, `jax-version: 0.10.2` ``
    Settings, one or more on their own line; they hold for the section and those below it.

`#  ^^^ AX101: text`
    Exactly this finding under exactly these characters of the line above.  The match is one to one: a finding
    without a mark fails the test, and so does a mark without a finding.  Mark lines are taken out before the
    file is read; several may stand under one line.  In `#<^^` the `#` counts as the first caret, for a finding
    that begins in column 0.  `^^^...` marks a finding that continues on the lines below; its carets reach to
    the end of its first line.  A text that ends in a backslash continues on the next comment line.

`# axes: batch, model`
    On the line of a `def`, or on a line below it: the axis environments in which its body runs, outermost
    name first; `none` for an empty one, `?` last for an open one, `|` between several.

`$0`
    The cursor, in the code of a fence; there may be several.  It is taken out before columns are counted.

`` ```hover `` and the other languages of `features.py`
    The feature's answers at the cursors of the section, in order, with a line of `---` between two answers
    and `nothing` for no answer.

`becomes`
    The fences below it are the files after the first fix of every finding is applied, with marks for the
    findings that remain.  Files that are not repeated stay as they are.
    In `cases/assists` and on an assist's page: the files after that assist's edits, the same at every cursor.

`stays`, `` ```refused ``
    The assist is not offered at any cursor, or it is refused there: the fence holds the code and the sentence.

The runner always checks that every single fix leaves a file that parses, that its edits do not overlap,
and that its finding is gone and no new one appears; and that the findings are the same from a cold start,
after opening the files one by one, and after typing them.  `pytest --update` rewrites the marks and the
features' answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from features import FEATURES
from fences import Axes, File, Mark, read_marks, render

__all__ = ["REFUSED", "Axes", "Case", "File", "Mark", "Output", "parse", "read_marks", "render", "replaced"]

_FENCE = re.compile(r"^(`{3,}|~{3,})\s*([\w.+-]*)\s*$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_NAME = re.compile(r"^`([^`\s]+\.\w+)`:$")
_SETTING = re.compile(r"^`([a-z][a-z-]*): ([^`]+)`$")

REFUSED = "refused"
DEFAULT_NAMES = {"python": "main.py", "py": "main.py", "toml": "meshlens.toml"}


@dataclass(frozen=True)
class Output:
    """The expected answers of a feature at the cursors of a case.

    Attributes:
        feature: the fence's language.
        text: the content of the fence.
        lines: as in `File`.
    """

    feature: str
    text: str
    lines: tuple[int, int]


@dataclass(frozen=True)
class Case:
    """One test.

    Attributes:
        name: the headings above it, joined.
        before: the project.
        after: the files that the fixes change; None if the case does not say.
        settings: the configuration keys that hold for the case.
        outputs: the expected answers of features at the cursors.
        stays: true if the assist must be offered at none of the cursors.
    """

    name: str
    before: tuple[File, ...]
    after: tuple[File, ...] | None = None
    settings: tuple[tuple[str, str], ...] = ()
    outputs: tuple[Output, ...] = ()
    stays: bool = False


@dataclass
class _Section:
    titles: list[str]
    settings: dict[str, str]
    before: list[File] = field(default_factory=list)
    after: list[File] | None = None
    number: int = 1
    outputs: list[Output] = field(default_factory=list)
    stays: bool = False

    def holds(self, name: str | None) -> bool:
        """Returns true if the part that is being read has a file of this name."""
        return any(file.name == name for file in (self.before if self.after is None else self.after))

    def sibling(self) -> _Section:
        """Returns an empty section below the same headings."""
        return _Section(self.titles, dict(self.settings), number=self.number + 1)

    def case(self) -> Case:
        name = " / ".join(self.titles) or "page"
        name = name if self.number == 1 else f"{name} ({self.number})"
        after = None if self.after is None else tuple(self.after)
        return Case(name, tuple(self.before), after, tuple(self.settings.items()), tuple(self.outputs), self.stays)


def parse(text: str, where: str = "case") -> tuple[Case, ...]:
    """Returns the tests in one Markdown text.

    Args:
        text: the Markdown.
        where: the name of the text in error messages.

    Raises:
        ValueError: two fences with the same name, an unclosed fence, a `becomes` without code.
    """
    cases = []
    for section in _sections(text.split("\n"), where):
        if section.after is not None and not section.after:
            raise ValueError(f'{where}: nothing follows "becomes" in "{" / ".join(section.titles)}"')
        if section.outputs and not any(file.cursors for file in section.before):
            raise ValueError(f'{where}: no "$0" in "{" / ".join(section.titles)}"')
        if section.before:
            cases.append(section.case())
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f'{where}: two sections are called "{name}"')
    return tuple(cases)


def _sections(lines: list[str], where: str) -> Iterator[_Section]:
    section = _Section([], {})
    above: dict[int, tuple[str, dict[str, str]]] = {}
    name: str | None = None
    number = 0
    while number < len(lines):
        line = lines[number].rstrip()
        number += 1
        if fence := _FENCE.match(line):
            end = _closing(lines, number, fence[1], where)
            if name is None and section.holds(DEFAULT_NAMES.get(fence[2])):
                yield section
                section = section.sibling()
            _add(section, fence[2], name, lines[number:end], (number, end), where)
            name, number = None, end + 1
        elif heading := _HEADING.match(line):
            yield section
            level = len(heading[1])
            above = {depth: entry for depth, entry in above.items() if depth < level}
            inherited = {key: value for _, settings in above.values() for key, value in settings.items()}
            section = _Section([title for title, _ in above.values()] + [heading[2]], inherited)
            above[level] = (heading[2], section.settings)
        elif named := _NAME.match(line):
            name = named[1]
        elif line == "becomes":
            section.after = []
        elif line == "stays":
            section.stays = True
        elif settings := [_SETTING.match(part) for part in re.split(r",\s+", line)]:
            section.settings.update({found[1]: found[2] for found in settings if found})
    yield section


def _closing(lines: list[str], start: int, ticks: str, where: str) -> int:
    for number in range(start, len(lines)):
        if lines[number].rstrip() == ticks:
            return number
    raise ValueError(f"{where}:{start}: the fence is not closed")


def _add(
    section: _Section, language: str, name: str | None, content: list[str], lines: tuple[int, int], where: str
) -> None:
    if name is None and (language in FEATURES or language == REFUSED):
        section.outputs.append(Output(language, "\n".join(content), lines))
    name = name or DEFAULT_NAMES.get(language)
    if name is None:
        return
    if section.holds(name):
        raise ValueError(f'{where}:{lines[0]}: a second "{name}" in one section')
    files = section.before if section.after is None else section.after
    files.append(replace(read_marks(content, name), lines=lines))


def replaced(text: str, contents: Iterable[tuple[tuple[int, int], list[str]]]) -> str:
    """Returns the Markdown text with new lines in some of its fences, each identified by its `lines`."""
    lines = text.split("\n")
    for (first, end), content in sorted(contents, reverse=True):
        lines[first:end] = content
    return "\n".join(lines)
