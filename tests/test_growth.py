"""Twice the text takes twice the work and twice the memory, whatever the text contains."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tree_sitter import Parser

import depth
from bench.growth_of import SHAPES, weigh
from browser import notebook
from meshlens.checking.check import check
from meshlens.checking.fixes import SAFE, plan
from meshlens.cli.formats.frames import Mark, frame
from meshlens.cli.printing.report import Place
from meshlens.cli.printing.sources import line_reader
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings
from meshlens.syntax.parse import LANGUAGE, Node, parse_again

pytestmark = pytest.mark.slow

ROOT = Path("/growing")
DOUBLED = 2.7
"""The most work that twice the text may take: a little more than twice, as sorting and large tables cost something."""


class _Counter:
    """Counts the lines of Python that run, which no other process on the machine influences."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.lines += event == "line"
        return self

    def __enter__(self) -> _Counter:
        self._before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


def _work(name: str, count: int) -> int:
    texts = {
        ROOT / file: text if isinstance(text, bytes) else text.encode()
        for file, text in SHAPES[name].make(count).items()
    }
    with _Counter() as counter:
        workspace = open_workspace([ROOT], files=list(texts), overlay=texts)
        for path in texts:
            plan(check(workspace.view(path), Settings()), SAFE, list(texts))
    return counter.lines


@pytest.mark.parametrize(
    ("name", "count"),
    depth.some(
        [
            ("noqa with codes", 500),
            ("ignore with codes", 500),
            ("file ignores", 500),
            ("keywords of pmap", 1_000),
            ("arguments of a mapped call", 1_000),
            ("cells", 1_000),
            ("psum at the top", 300),
            ("classes in diamonds", 300),
            ("configurations in each other", 500),
            ("decorators", 200),
            ("imports to repair", 300),
            ("uses to repair", 300),
        ],
        3,
    ),
)
def test_twice_the_text_is_twice_the_work(name: str, count: int):
    _work(name, 20)
    once, twice = _work(name, count), _work(name, 2 * count)
    assert twice <= DOUBLED * once


def test_twice_the_files_are_twice_the_work():
    def work(count: int) -> int:
        texts = {ROOT / f"m{number}.py": b"import jax\n\n\ndef f(x):\n    return x\n" for number in range(count)}
        workspace = open_workspace([ROOT], files=list(texts), overlay=texts)
        assert len(workspace.solution.results) >= count
        with _Counter() as counter:
            for path in texts:
                check(workspace.view(path), Settings())
        return counter.lines

    work(20)
    assert work(400) <= DOUBLED * work(200)


def test_a_frame_costs_what_it_shows_and_not_what_the_line_holds():
    def work(length: int) -> int:
        mark = Mark(Place("a.py", None, (1, length // 2), (1, length // 2 + 3)), "^", "")
        with _Counter() as counter:
            assert "^^^" in "".join(text for line in frame(["x, " * (length // 3)], [mark], 1, 80) for text, _ in line)
        return counter.lines

    assert work(40_000) <= work(4_000)


def test_frames_of_a_notebook_read_it_once():
    def work(cells: int) -> int:
        texts = {ROOT / "a.ipynb": notebook(*(f"x = {number}" for number in range(cells))).encode()}
        with _Counter() as counter:
            lines = line_reader(texts)
            assert [lines(str(ROOT / "a.ipynb"), cell) for cell in (1, cells)] == [["x = 0"], [f"x = {cells - 1}"]]
            for cell in range(1, cells):
                lines(str(ROOT / "a.ipynb"), cell)
        return counter.lines

    assert work(200) <= DOUBLED * work(100)


@pytest.mark.deep
@pytest.mark.parametrize(("name", "count", "code"), [("psum at the top", 4_000, 1), ("broken: def (:", 12_000, 2)])
def test_memory_grows_with_the_text(name: str, count: int, code: int, tmp_path: Path):
    cost = weigh(sys.executable, tmp_path, SHAPES[name], count)
    assert cost.code == code
    assert cost.memory <= 100 * 2**20 + 20 * cost.size


COMMENTS = {
    "at the top": (b"import jax\n", b"# pmap\n", b"x = 1\n"),
    "in a function": (b"def f():\n    x = 1\n", b"    # pmap\n", b"    y = 1\nz = 2\n"),
    "before else": (b"if x:\n    pass\n", b"# pmap\n", b"else:\n    y = 1\n"),
    "in brackets": (b"f(a,\n", b"  # pmap\n\n", b"  b)\n"),
    "with carriage returns": (b"x = [\r\n", b"# pmap\r\n", b"]\r\n"),
    "at the end of a class": (b"class A:\n  x = 1\n", b"  # pmap\n", b"\n  def f(self): pass\n"),
    "after a decorator": (b"@f\n", b"# pmap\n", b"def g(): pass\n"),
    "in a string that one of them ends": (b"s = '''\n" + b"# pmap\n" * 60 + b"# '''\n", b"# pmap\n", b"x = 1\n"),
    "in a string": (b"s = '''\n", b"# pmap\n", b"'''\nx = 1\n"),
}


@pytest.mark.parametrize("around", COMMENTS.values(), ids=COMMENTS)
def test_a_long_run_of_comments_changes_nothing_around_it(around: tuple[bytes, bytes, bytes]):
    before, comment, after = around
    text = before + comment * 120 + after
    tree = parse_again(text)
    assert _nodes(tree.root_node) == _nodes(Parser(LANGUAGE).parse(text).root_node)
    # The grammar sees a string whole, but only the first and the last of the comments.
    assert len(tree.included_ranges) == (1 if b"'''" in before else 2)


def _nodes(root: Node) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type != "comment":
            found.append((node.type, *node.byte_range, *node.start_point, *node.end_point))
        waiting += node.children
    return found


def test_a_long_run_of_comments_is_read_in_linear_time():
    once, four_times = (_seconds(b"import jax\n" + b"# pmap is mentioned here\n" * count) for count in (2_000, 8_000))
    assert four_times <= 8 * once + 0.2


def _seconds(text: bytes) -> float:
    started = time.process_time()
    parse_again(text)
    return time.process_time() - started
