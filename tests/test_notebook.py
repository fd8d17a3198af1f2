"""Notebooks as modules: cells in order, with magics made harmless without moving any text."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import CELL
from meshlens.project.notebooks.magics import without_magics
from meshlens.project.notebooks.notebook import read_notebook
from meshlens.text import Edit, Span


def _raw(*sources, **more):
    return json.dumps({"cells": [{**CELL, "source": source} for source in sources], **more}).encode()


def test_cells_in_order():
    notebook = read_notebook(_raw("x = 1", ["y = 2\n", "z = 3\n"], [], "w = 'é'"))
    assert notebook.source.decode() == "x = 1\ny = 2\nz = 3\n\n\nw = 'é'\n"
    assert [notebook.source[cell.span.start : cell.span.end].decode() for cell in notebook.cells] == [
        "x = 1",
        "y = 2\nz = 3\n",
        "",
        "w = 'é'",
    ]


def test_other_kinds_of_cells_count_but_are_not_read():
    raw = json.dumps({"cells": [{"cell_type": "markdown", "source": "x"}, {**CELL, "source": "y"}, 3, {}]}).encode()
    assert [(cell.index, cell.text) for cell in read_notebook(raw).cells] == [(1, "y")]


def test_notebooks_before_format_4():
    raw = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y"]}]}]}).encode()
    notebook = read_notebook(raw)
    assert notebook.source == b"x = 1\ny\n"
    assert json.loads(notebook.with_edits([Edit(Span(0, 1), "z")]))["worksheets"][0]["cells"][0]["input"] == [
        "z = 1\n",
        "y",
    ]


def test_another_language_is_not_read():
    assert read_notebook(_raw("x <- 1", metadata={"language_info": {"name": "R"}})).cells == ()


def test_a_byte_order_mark():
    notebook = read_notebook(b"\xef\xbb\xbf" + _raw("x"))
    assert notebook.source == b"x\n"
    assert notebook.with_edits([Edit(Span(0, 1), "y")]) == b"\xef\xbb\xbf" + _raw("y")


def test_an_edit_may_take_the_last_line_but_not_the_next_cell():
    notebook = read_notebook(_raw("x", "y"))
    assert notebook.with_edits([Edit(Span(0, 2), "")]) == _raw("", "y")
    with pytest.raises(ValueError, match="crosses a cell boundary"):
        notebook.with_edits([Edit(Span(0, 3), "")])


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx", "#matplotlib inline\nx"),
        ("%%time\nx", "#%time\nx"),
        ("%%bash\nls | wc\n\necho", "#%bash\n#s | wc\n\n#cho"),
        ("!pip install jax\nx", "#pip install jax\nx"),
        ("  !ls", "  0#s"),
        ("if x:\n  !git clone a \\\n    b \\\n  c\ny", "if x:\n  0#it clone a \\\n    # \\\n  #\ny"),
        ("%time f(\\\n1)", "0;    f(\\\n1)"),
        ("files = !ls *.py", "files = 0#s *.py"),
        ("y = %time f(x)", "y =       f(x)"),
        ("%time y = f(x)", "0;    y = f(x)"),
        ("%timeit -n 10 f(x)", "0;            f(x)"),
        ("?jax.pmap", "#jax.pmap"),
        ("jax.pmap?", "#ax.pmap?"),
        ("jax.pmap??", "#ax.pmap??"),
        ("x = 5 % 3", "x = 5 % 3"),
        ("x = (5\n%3)", "x = (5\n%3)"),
        ('s = """\n%time\n!x\n"""\n!y', 's = """\n%time\n!x\n"""\n#y'),
        ("s = '''# '''\n%time f()", "s = '''# '''\n0;    f()"),
        ("x != y", "x != y"),
        ("é = !ls", "é = 0#s"),
        ("%é", "%é"),
    ],
)
def test_magics(cell, python):
    assert without_magics(cell) == python


@pytest.mark.parametrize(
    "cell",
    ["%time y = f(x)", "y = %time f(x)", "files = !ls", "?x\n!y\n%z\nx = 1", "%timeit f(x)", "if x:\n  !a \\\n  b"],
)
def test_what_is_left_is_python(cell):
    ast.parse(without_magics(cell))


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        (["x\n", "y\n", "z"], [4, 5, 6]),
        (["x\ny\n", "z"], [4, 4, 5]),
        ("x\ny\nz", [3, 3, 3]),
        (["x\n", "y\n"], [4, 5, 5]),
    ],
)
def test_rows_of_the_file(source, rows):
    cells = json.dumps([{"cell_type": "markdown", "source": ""}, {"cell_type": "code", "source": source}], indent=0)
    notebook = read_notebook(f'{{"cells": {cells}}}'.encode())
    lines = notebook.raw.split("\n")
    begun = next(number for number, line in enumerate(lines) if '"source": ' in line and line != '"source": ""')
    assert [notebook.row_in_file(1, row) - begun + 2 for row in (1, 2, 3)] == rows


@given(st.lists(st.text(alphabet="ab=%!?()'\"\n #é数\t\\0"), max_size=5))
def test_nothing_moves(cells):
    for cell in cells:
        blank = without_magics(cell)
        assert [len(line.encode()) for line in blank.split("\n")] == [len(line.encode()) for line in cell.split("\n")]
    notebook = read_notebook(_raw(*cells))
    assert len(notebook.source) == sum(len(cell.encode()) + 1 for cell in cells)
    assert notebook.with_edits([]) == _raw(*cells)


@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,cells0', max_size=40).map(str.encode))
def test_no_bytes_raise_anything_else(raw):
    try:
        read_notebook(raw)
    except ValueError:
        return
