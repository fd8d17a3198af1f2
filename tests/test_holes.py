"""Classes in which something is being typed: one method changes, the rest stays as it was."""

from __future__ import annotations

import pytest

from meshlens.facts.broken.holes import finished
from meshlens.facts.editing.reading import read, read_again
from meshlens.facts.extract import extract
from meshlens.facts.mentioned import MAKES_FUNCTIONS, names_of
from meshlens.syntax.sections import section_of
from meshlens.text import Edit, Span

CLASS = """\
import jax


class Layer:
    \"\"\"Adds
    things.\"\"\"

    size: int = 3

    def first(self, x):
        return jax.lax.psum(x, "batch")

    @property
    def second(self):
        @@
        total = self.first(
            3,
        )
        return total

    async def third(self):
        pass

    other = 4


last = 1
"""
WHOLE = extract(CLASS.replace("        @@\n", "").encode())


@pytest.mark.parametrize(
    "typed",
    ["y = foo(", 'y = jax.lax.psum(x, "da', "y = [1, {", "y = foo(bar(1)", "y = = 3", "for x in (", "y = f(x))", "'"],
)
def test_a_broken_method_leaves_its_class_as_it_is(typed):
    facts = extract(CLASS.replace("@@", typed).encode())
    assert facts.top == WHOLE.top
    different = [key for key in WHOLE.blocks if facts.blocks[key].shape != WHOLE.blocks[key].shape]
    assert set(different) <= {"Layer.second"}
    assert len(facts.broken) >= 1


def test_places_behind_a_broken_method_are_right():
    text = CLASS.replace("@@", "y = foo(").encode()
    facts = extract(text)
    span = facts.span("Layer.third", 0)
    assert text[span.start : span.end] == b"async def third(self):\n        pass"
    assert facts.span("Layer", 0).end == text.index(b"other = 4") + len(b"other = 4")


def test_a_class_ends_with_the_comments_at_its_end_whether_its_last_method_can_be_read_or_not():
    text = (
        CLASS.replace("        @@\n", "")
        .replace("    other = 4\n", '    # "later"\n')
        .replace("pass\n", "pass\n        \n")
    )
    at = text.index("pass\n        \n") + len("pass\n        ")
    end = text.index('# "later"') + len('# "later"')
    reading = read(text.encode())
    for count, stroke in enumerate('x += ""', start=1):
        reading = read_again(reading, [Edit(Span(at, at), stroke)])
        at += 1
        assert reading.facts.span("Layer", 0).end == extract(reading.source).span("Layer", 0).end == end + count


@pytest.mark.parametrize("head", ["def", "def third(", "@", "x = (", "class", "def second(self, x", "lambda"])
def test_what_is_no_function_yet_leaves_the_other_methods(head):
    facts = extract(CLASS.replace("        @@\n", "").replace("    other = 4\n", f"    {head}\n").encode())
    assert {"Layer", "Layer.first", "Layer.second", "Layer.third"} <= facts.blocks.keys()


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("f(\nx = 1\n", "()\nx = 1\n"),
        ("f(\n  1,\n)\nx = 1\n", None),
        ('y = g("a\nx = 1\n', "y = (  )\nx = 1\n"),
        ("self.x, y = g(\nx = 1\n", "self.x, y = ()\nx = 1\n"),
        ("if = g(\nx = 1\n", "(     )\nx = 1\n"),
        ("return g(\nx = 1\n", "return ()\nx = 1\n"),
        ('y = """a\nb"""\nx = (1\n', 'y = """a\nb"""\nx = ()\n'),
        ("# f(\nx = 1\n", None),
        ("x = (  # (\n   1)\n", None),
        ("if f(x:\n    a = 1\nb = 2\n", "(      \n        )\nb = 2\n"),
        ("y = g(\n    'a,\n    b,\n)\nx = 1\n", "y = ( \n       \n      \n)\nx = 1\n"),
        ("x = 1 + \\\n  2\ny = = 3\nz = 4\n", "x = 1 + \\\n  2\ny = ( )\nz = 4\n"),
        ("for x in y\nz = 4\n", "(        )\nz = 4\n"),
        ("for x in y:\n  a = b.\n  c\nelse:\n  d\n", "for x in y:\n  a = ()\n  c\nelse:\n  d\n"),
        ("try:\n  x = 1\nexcept A:\n  f(1))\n", "try:\n  x = 1\nexcept A:\n  (   )\n"),
        ("x = 1\r\ny = f(\r\nz = 2\r\n", "x = 1\r\ny = ()\r\nz = 2\r\n"),
    ],
)
def test_statements_that_cannot_be_read_leave_holes(code, left):
    text = code.encode()
    without = finished(text, section_of(text, 0, len(text)))
    assert without.text.decode() == (code if left is None else left)
    assert not without.root.has_error
    assert (left is None) == (not without.holes)


FUNCTION = (
    CLASS[: CLASS.index("class")]
    + """\
def step(x):
    y = jax.lax.psum(x, "batch")
    @@
    if x:
        return y
    return jax.lax.pmean(y, "batch")


last = 1
"""
)


@pytest.mark.parametrize(
    "typed", ["z = f(", 'z = jax.lax.psum(x, "da', "z = f(x))", "z = = 3", "'", "for z in", "z = x.", "z = x if"]
)
def test_a_hole_in_a_function_leaves_the_rest_as_it_is(typed):
    facts = extract(FUNCTION.replace("@@", typed).encode())
    start = FUNCTION.index("@@")
    assert facts.broken == ((start, start + len(typed)),)
    first, hole, test, last = facts.blocks["step"].shape[2][4]
    assert (first[0], hole[-1][0], test[0], last[0]) == ("assign", "hole", "if", "return")


def test_a_hole_keeps_its_names():
    (hole,) = extract(b"y = jax.lax.psum(x, f(lambda: z, 'a'\n").blocks.values()
    assert hole.shape[3][2] == {"f", "jax", "lambda", "lax", "psum", "x", "z"}
    assert names_of(hole.shape) == {"y", "f", "jax", "lambda", "lax", "psum", "x", "z", MAKES_FUNCTIONS}


def test_a_declaration_is_typed_while_something_else_is_broken():
    text = "class Net:\n    def loss(self, x):\n        return (x - 1) * 2\n\n\nnet = Net()\nprint(net)\n("
    at = text.index("rn (x")
    typed = text[:at] + ":" + text[at:]
    assert read_again(read(text.encode()), [Edit(Span(at, at), ":")]).facts == extract(typed.encode())
