"""Classes in which something is being typed: one method is not what it was, the rest is."""

from __future__ import annotations

import pytest

from meshlens.facts.extract import extract
from meshlens.facts.unfinished import without_unfinished

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


@pytest.mark.parametrize("head", ["def", "def third(", "@", "x = (", "class", "def second(self, x", "lambda"])
def test_what_is_no_function_yet_leaves_the_other_methods(head):
    facts = extract(CLASS.replace("        @@\n", "").replace("    other = 4\n", f"    {head}\n").encode())
    assert {"Layer", "Layer.first", "Layer.second", "Layer.third"} <= facts.blocks.keys()


@pytest.mark.parametrize(
    ("code", "left"),
    [
        (b"f(\nx = 1\n", b"0 \nx = 1\n"),
        (b"f(\n  1,\n)\nx = 1\n", None),
        (b'y = g("a\nx = 1\n', b"0       \nx = 1\n"),
        (b'y = """a\nb"""\nx = (1\n', b'y = """a\nb"""\n0     \n'),
        (b"# f(\nx = 1\n", None),
        (b"x = (  # (\n   1)\n", None),
        (b"if f(x:\n    a = 1\nb = 2\n", b"0      \n         \nb = 2\n"),
    ],
)
def test_unfinished_statements_become_zeros(code, left):
    assert without_unfinished(code, 0) == left
