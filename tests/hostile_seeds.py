"""Reads `hostile_seeds.md`: small programs, each of which makes an abstract interpreter do a great deal of work."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P


def f(x):
    return lax.psum(x, "i")


"""

_PROGRAM = re.compile(r"^## ([^\n]*)\n\n```python( whole)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"«(.+?)»(\n?)")
_NUMBER = re.compile(r"\{([ip])(?:\+(\d+))?\}")


def chain(template: str, count: int, first: int = 1, around: int = 1 << 30) -> str:
    """Repeats lines, with `{i}` for the number of the copy, `{p}` for the one before it and `{i+2}` for a later one.

    Args:
        template: the lines.
        count: how many copies.
        first: the number of the first copy.
        around: the number at which counting restarts at 0.
    """
    return "".join(f"{_numbered(template, number, around)}\n" for number in range(first, first + count))


def row(template: str, count: int) -> str:
    """Repeats a part of a line, with `{i}` for the number of the copy."""
    return "".join(_numbered(template, number) for number in range(count))


def nested(opening: str, depth: int, inside: str) -> str:
    """Nests a compound statement in itself, and puts statements into the innermost one."""
    heads = "".join(f"{' ' * level}{_numbered(opening, level)}\n" for level in range(depth))
    return heads + indent(inside, " " * depth)


def unwound(after: str, depth: int, last: int = 0) -> str:
    """Writes what follows nested statements, from the innermost to the outermost."""
    return "".join(indent(_numbered(after, level), " " * level) for level in reversed(range(last, depth)))


def indent(text: str, by: str = "    ") -> str:
    """Indents lines."""
    return textwrap.indent(text.removesuffix("\n"), by) + "\n"


def counter(digits: int, used: int) -> str:
    """Writes the body of a function `g` that counts in binary; its arguments are the digits."""
    calls = (
        ", ".join(["0"] * digit + ["1"] + [f"b{later}" for later in range(digit + 1, digits)]) for digit in range(used)
    )
    return "".join(f"    if not b{digit}:\n        return g({call})\n" for digit, call in enumerate(calls))


def _numbered(template: str, number: int, around: int = 1 << 30) -> str:
    return _NUMBER.sub(lambda hole: str((number - (hole[1] == "p") + int(hole[2] or 0)) % around), template)


def _written_out(text: str) -> str:
    """Evaluates the Python between « and »; the lines that it returns replace the line that holds it."""

    def value(found: re.Match[str]) -> str:
        given: str = eval(found[1])
        return given if given.endswith("\n") else given + found[2]

    return _PYTHON.sub(value, text)


def _seeds() -> dict[str, str]:
    page = Path(__file__).with_suffix(".md").read_text("utf-8")
    return {name: ("" if whole else HEAD) + _written_out(text) for name, whole, text in _PROGRAM.findall(page)}


SEEDS = _seeds()
