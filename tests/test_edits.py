"""Edits as an editor sends them: whatever is typed, facts, records and findings are those of a cold start."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.generate import module
from cold_start import ROOT, opened
from depth import examples
from facts_alike import are_alike
from meshlens.checking.check import check
from meshlens.facts.editing.reading import read, read_again, whole_edit
from meshlens.facts.extract import extract
from meshlens.project.workspace import Workspace
from meshlens.settings import Settings
from meshlens.text import Edit, Span
from oracle.rerun import programs
from test_incremental import PIECES

PROGRAMS = {program.name: program for program in programs()}
MORE = [
    "x",
    "    y_p = lax.psum(x, 'data')\n",
    "@partial(jax.pmap, axis_name='i')\n",
    "\n\n",
    "  # noqa\n",
    "q",
    "(x)",
    "(",
    '"',
    '"""',
]
LINES = module(120, seed=3)
METHODS = (Path(__file__).parents[1] / "server" / "meshlens" / "facts" / "extract.py").read_text("utf-8")

pieces = st.sampled_from([*PIECES, *MORE])
typed = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.integers(0, 30), pieces, st.booleans()), max_size=5)
quiet = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _sources(name: str) -> dict[Path, bytes]:
    program = PROGRAMS[name]
    return {ROOT / path.relative_to(program.main.parent): path.read_bytes() for path in program.files}


def _edit(text: str, where: float, length: int, new: str) -> tuple[Edit, str]:
    at = int(where * len(text))
    if length > 20:
        at = text.rfind("\n", 0, at) + 1
    start = len(text[:at].encode())
    old = text[at : at + (length if length < 12 else 0)]
    return Edit(Span(start, start + len(old.encode())), new), text[:at] + new + text[at + len(old) :]


def _compare(workspace: Workspace, sources: dict[Path, bytes]) -> None:
    cold = opened(sources)
    for path in sources:
        if are_alike(extract(sources[path]), workspace.files[str(path)].facts):
            assert check(workspace.view(path), Settings()) == check(cold.view(path), Settings())


@quiet
@given(name=st.sampled_from(sorted(PROGRAMS)), edits=typed)
def test_edits_give_the_findings_of_a_cold_start(name, edits):
    sources = _sources(name)
    workspace = opened(sources)
    for path in sources:
        check(workspace.view(path), Settings())
    for which, where, length, new, undo in edits:
        path = list(sources)[which % len(sources)]
        text = sources[path].decode()
        edit, after = _edit(text, where, length, new)
        workspace = workspace.with_edits(path, [edit])
        check(workspace.view(path), Settings())
        if undo:
            old = text.encode()[edit.span.start : edit.span.end].decode()
            back = Edit(Span(edit.span.start, edit.span.start + len(new.encode())), old)
            workspace = workspace.with_edits(path, [back])
        else:
            sources[path] = after.encode()
        check(workspace.view(path), Settings())
        _compare(workspace, sources)


@quiet
@given(edits=typed, windows=st.booleans(), lines=st.sampled_from((LINES, METHODS)))
def test_a_text_is_read_as_if_for_the_first_time(edits, windows, lines):
    text = lines.replace("\n", "\r\n") if windows else lines
    reading = read(text.encode())
    for _, where, length, new, undo in edits:
        edit, after = _edit(text, where, length, new)
        reading = read_again(reading, [edit])
        assert reading.source == after.encode()
        if undo:
            old = text.encode()[edit.span.start : edit.span.end].decode()
            reading = read_again(reading, [Edit(Span(edit.span.start, edit.span.start + len(new.encode())), old)])
        else:
            text = after
        assert are_alike(reading.facts, extract(reading.source))


PLACES = [at for at, character in enumerate(METHODS) if character in "(=.,)"]


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(
    start=st.sampled_from(PLACES),
    strokes=st.lists(
        st.tuples(st.integers(-4, 6), st.integers(0, 2), st.sampled_from(["", *'y_ =(),.0#"x', "é", "max(", ", y)"])),
        max_size=12,
    ),
)
def test_a_statement_that_is_typed_in_is_read_as_if_for_the_first_time(start, strokes):
    text, reading, at = METHODS, read(METHODS.encode()), start
    for by, length, new in strokes:
        at = max(0, min(at + by, len(text) - length))
        begin = len(text[:at].encode())
        edit = Edit(Span(begin, begin + len(text[at : at + length].encode())), new)
        text = text[:at] + new + text[at + length :]
        reading = read_again(reading, [edit])
        assert are_alike(reading.facts, extract(text.encode()))


@given(before=st.text("aé𝒳\n", max_size=12), after=st.text("aé𝒳\n", max_size=12))
def test_one_edit_makes_one_text_of_another(before, after):
    edit = whole_edit(before.encode(), after.encode())
    assert edit is not None
    old = before.encode()
    assert old[: edit.span.start] + edit.text.encode() + old[edit.span.end :] == after.encode()


def test_edits_count_in_the_text_that_the_edits_before_made():
    path = ROOT / "main.py"
    workspace = opened({path: b"import jax\nx = 1\n"})
    after = workspace.with_edits(path, [Edit(Span(11, 12), "yy"), Edit(Span(16, 17), "3")])
    assert after.files[str(path)].source == b"import jax\nyy = 3\n"
    assert workspace.files[str(path)].source == b"import jax\nx = 1\n"
    assert after.with_closed(path).files[str(path)].reading is None
    assert str(path) not in after.without_file(path).files


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_line_that_runs_on_does_not_end_its_statement(ends):
    text = "def f(x):\n    \\\nreturn x\n\n\ndef g(x):\n    return f(x, 1)\n\n\ny = g(1)\n".replace("\n", ends)
    reading = read(text.encode())
    for new in (":", "("):
        at = text.index(", 1") + 1
        reading = read_again(reading, [Edit(Span(at, at), new)])
        assert reading.facts == read((text[:at] + new + text[at:]).encode()).facts
        reading = read_again(reading, [Edit(Span(at, at + 1), "")])
        assert reading.facts == read(text.encode()).facts


def test_a_comment_in_a_text_with_an_error_speaks_for_its_line():
    text = "x = 1\n\n\ny = 2  # noqa\n"
    reading = read_again(read(text.encode()), [Edit(Span(0, 0), "(")])
    assert [one.lines for one in reading.facts.suppressions] == [(3, 3)]
    assert reading.facts == extract(reading.source)
