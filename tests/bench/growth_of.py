# ruff: noqa: E501  # the shapes are a table
"""Checks texts of many shapes at three sizes: the CPU and the memory of each must grow no faster than the text.

    python tests/bench/growth_of.py                          every shape at n, 2n and 4n
    python tests/bench/growth_of.py --shapes noqa 'psum.*'   shapes whose whole name matches a pattern
    python tests/bench/growth_of.py --python OTHER/bin/python  the same with another installation

Each size runs in a separate process.  Prints user CPU and peak memory beyond those of an empty file, the exponents
with which they grew from size to size (1 is linear), and the memory for each byte of text.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HEAD = "import functools\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom jax.sharding import PartitionSpec as P\n"
SEVERAL = (1, 2, 4)
MOST_SECONDS = 15
MOST_MEMORY = 4 << 30


class Shape(NamedTuple):
    """A family of projects, each with its files.

    Attributes:
        count: how often the largest project repeats the thing that is repeated.
        make: returns the texts of a project by file name, for a count.
        arguments: more arguments for `meshlens check`.
    """

    count: int
    make: Callable[[int], Mapping[str, str | bytes]]
    arguments: tuple[str, ...] = ()


class Cost(NamedTuple):
    """The cost of one check: seconds of user CPU, bytes of peak memory, bytes of text, the exit code."""

    seconds: float
    memory: int
    size: int
    code: int


def _one(make: Callable[[int], str | bytes]) -> Callable[[int], Mapping[str, str | bytes]]:
    return lambda count: {"a.py": make(count)}


def _lines(line: str, head: str = HEAD, tail: str = "") -> Callable[[int], Mapping[str, str | bytes]]:
    """Repeats a line, with its number for `{}`."""
    return _one(lambda count: head + "".join(line.replace("{}", str(at)) + "\n" for at in range(count)) + tail)


def _joined(before: str, piece: str, after: str, between: str = ", ") -> Callable[[int], Mapping[str, str | bytes]]:
    """Repeats a piece in one expression, with its number for `{}`."""
    return _one(lambda count: HEAD + before + between.join(piece.replace("{}", str(at)) for at in range(count)) + after)


def _random_text(count: int) -> str:
    dice = random.Random(1)
    return "".join(chr(dice.randrange(32, 127)) if dice.random() > 0.03 else "\n" for _ in range(count))


def _random_bytes(count: int) -> bytes:
    return random.Random(2).randbytes(count)


def _tokens(count: int) -> str:
    dice = random.Random(3)
    words = "def class ( ) [ ] { } : , = if else for in lambda x y pmap 'a' \"\"\" f' return \n \n    \\ @ * ** import from".split(
        " "
    )
    return " ".join(dice.choice(words) for _ in range(count))


def _notebook(count: int) -> Mapping[str, str | bytes]:
    cells = [
        {
            "cell_type": "code",
            "id": f"c{at}",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["import jax\n", "y = jax.pmap(lambda x: x)(x)"],
        }
        for at in range(count)
    ]
    return {"a.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})}


PSUM = "x = lax.psum(x, 'i')"
STEP = f"{HEAD}def step(x):\n    return lax.psum(x, 'i')\n"
MANY_ARGUMENTS = ", ".join
SHAPES: Mapping[str, Shape] = {
    "empty lines": Shape(400_000, _lines("", "")),
    "noqa": Shape(20_000, _lines("x = 1  # noqa")),
    "noqa with codes": Shape(20_000, _lines("x = 1  # noqa: AX101, E501")),
    "noqa alone": Shape(20_000, _lines("# noqa")),
    "ignores alone": Shape(20_000, _lines("# meshlens: ignore[AX101]")),
    "ignore with codes": Shape(20_000, _lines("x = 1  # meshlens: ignore[AX101]")),
    "ignore on psum": Shape(5_000, _lines("lax.psum(x, 'i')  # meshlens: ignore[AX101]")),
    "file ignores": Shape(20_000, _lines("# meshlens: ignore-file[AX101]")),
    "devices comments": Shape(20_000, _lines("# meshlens: devices=8 {}")),
    "comments that mention pmap": Shape(10_000, _lines("# pmap is old; psum(x, 'i') too")),
    "comments": Shape(40_000, _lines("# nothing at all")),
    "strings that mention pmap": Shape(10_000, _lines("s = 'jax.pmap(f)'")),
    "keywords of pmap": Shape(20_000, _joined("jax.pmap(f, ", "k{}=1", ")\n")),
    "keywords of psum": Shape(20_000, _joined("lax.psum(x, 'i', ", "k{}=1", ")\n")),
    "keywords of dict": Shape(20_000, _joined("d = dict(", "k{}=1", ")\njax.pmap(f, **d)\n")),
    "arguments of a mapped call": Shape(20_000, _joined("jax.pmap(f)(", "x", ")\n")),
    "arguments of a mapped lambda": Shape(20_000, _joined("jax.pmap(lambda *a: lax.psum(a, 'i'), axis_name='i')(", "x", ")\n")),
    "arguments of a call": Shape(20_000, _joined("f(", "x{}", ")\n")),
    "arguments of a function": Shape(20_000, _one(lambda count: f"{HEAD}def step({', '.join(f'a{at}' for at in range(count))}):\n    return lax.psum(a0, 'i')\njax.pmap(step, axis_name='i')({', '.join('1' for _ in range(count))})\n")),
    "cells": Shape(10_000, _notebook),
    "psum at the top": Shape(20_000, _lines(PSUM)),
    "psum in a function": Shape(20_000, _one(lambda count: f"{HEAD}def step(x):\n" + f"    {PSUM}\n" * count + "    return x\njax.pmap(step, axis_name='i')(x)\n")),
    "psum in a function without map": Shape(20_000, _one(lambda count: f"{HEAD}def step(x):\n" + f"    {PSUM}\n" * count + "    return x\n")),
    "psum unbound": Shape(10_000, _one(lambda count: f"{HEAD}def step(x):\n" + "    x = lax.psum(x, 'j')\n" * count + "    return x\njax.pmap(step, axis_name='i')(x)\n")),
    "psum statement": Shape(20_000, _lines("lax.psum(x, 'i')")),
    "functions with psum": Shape(5_000, _lines("def f{}(x):\n    return lax.psum(x, 'i')")),
    "mapped functions": Shape(5_000, _lines("@functools.partial(jax.pmap, axis_name='i')\ndef f{}(x):\n    return lax.psum(x, 'i')\nf{}(x)")),
    "pmap": Shape(10_000, _lines("y = jax.pmap(lambda x: lax.psum(x, 'i'), axis_name='i')(x)")),
    "pmap that fail": Shape(5_000, _lines("y = jax.pmap(lambda x: lax.psum(x, 'j'), axis_name='i')(x)")),
    "calls of a mapped function": Shape(10_000, _lines("y = mapped(x, {})", f"{STEP}mapped = jax.pmap(step, axis_name='i')\n")),
    "calls of a helper": Shape(10_000, _lines("    x = step(x)", f"{STEP}def main(x):\n", "jax.pmap(main, axis_name='i')(x)\n")),
    "constants": Shape(20_000, _lines("a{} = {}")),
    "names of one another": Shape(5_000, _lines("a{}1 = a{}", HEAD + "a0 = 'i'\n")),
    "imports": Shape(20_000, _lines("import jax.lax as m{}")),
    "imports to repair": Shape(10_000, _lines("from jax.experimental.shard_map import shard_map as s{}"), ("--fix", "--diff")),
    "uses to repair": Shape(10_000, _lines("a{} = pjit.pjit(f)", "from jax.experimental import pjit\n"), ("--fix", "--diff")),
    "unknown imports": Shape(10_000, _lines("import a{}.b")),
    "imported names": Shape(20_000, _joined("from jax.lax import (", "psum as p{}", ")\n")),
    "star imports": Shape(5_000, _lines("from jax.lax import *")),
    "decorators": Shape(10_000, _lines("@jax.jit", tail="def f(x):\n    return lax.psum(x, 'i')\n")),
    "partials in a decorator": Shape(5_000, _lines("@functools.partial(jax.jit, static_argnums={})", tail="def f(x):\n    return lax.psum(x, 'i')\n")),
    "string concatenation": Shape(5_000, _joined("a = ", "'i'", "\nlax.psum(x, a)\n", " + ")),
    "implicit concatenation": Shape(20_000, _joined("a = (", "'i'", ")\nlax.psum(x, a)\n", " ")),
    "string grows": Shape(10_000, _lines("a += 'i'", f"{HEAD}a = 'i'\n", "lax.psum(x, a)\n")),
    "tuple grows": Shape(5_000, _lines("a += ('i',)", f"{HEAD}a = ()\n", "lax.psum(x, a)\n")),
    "list grows": Shape(5_000, _lines("a.append('i')", f"{HEAD}a = []\n", "lax.psum(x, a)\n")),
    "dictionary grows": Shape(5_000, _lines("a['{}'] = step", f"{STEP}a = {{}}\n", "jax.pmap(a['0'], axis_name='i')(x)\n")),
    "dictionary": Shape(20_000, _joined("d = {", "'k{}': step", "}\njax.pmap(d['k0'], axis_name='i')(x)\n")),
    "dictionary of functions, unknown key": Shape(2_000, _one(lambda count: HEAD + "".join(f"def f{at}(x):\n    return lax.psum(x, 'i')\n" for at in range(count)) + "d = {" + ", ".join(f"'k{at}': f{at}" for at in range(count)) + "}\njax.pmap(d[key], axis_name='j')(x)\n")),
    "list": Shape(20_000, _joined("d = [", "'i'", "]\nlax.psum(x, d)\n")),
    "tuple of axes": Shape(20_000, _joined("lax.psum(x, (", "'a{}'", "))\n")),
    "in_axes": Shape(20_000, _joined("jax.pmap(f, in_axes=(", "0", "))(x)\n")),
    "P entries": Shape(20_000, _joined("P(", "'i'", ")\n")),
    "P in shard_map": Shape(5_000, _one(lambda count: f"{HEAD}mesh = jax.make_mesh((8,), ('i',))\njax.shard_map(lambda x: lax.psum(x, 'i'), mesh=mesh, in_specs=P({', '.join(['None'] * count)}), out_specs=P())(x)\n")),
    "in_specs": Shape(5_000, _one(lambda count: f"{HEAD}mesh = jax.make_mesh((8,), ('i',))\njax.shard_map(lambda *x: lax.psum(x, 'i'), mesh=mesh, in_specs=({', '.join(['P()'] * count)}), out_specs=P())({', '.join(['x'] * count)})\n")),
    "mesh axes": Shape(5_000, _one(lambda count: f"{HEAD}mesh = jax.make_mesh(({', '.join(['1'] * count)},), ({', '.join(repr(f'a{at}') for at in range(count))},))\njax.shard_map(lambda x: lax.psum(x, 'a0'), mesh=mesh, in_specs=P(), out_specs=P())(x)\n")),
    "class attributes": Shape(20_000, _lines("    a{} = 'i'", HEAD + "class A:\n", "lax.psum(x, A.a0)\n")),
    "attributes of self": Shape(5_000, _one(lambda count: HEAD + "class A:\n    def __init__(self):\n" + "".join(f"        self.a{at} = 'i'\n" for at in range(count)) + "    def f(self, x):\n        return lax.psum(x, self.a0)\n\nA().f(x)\n")),
    "methods": Shape(10_000, _lines("    def m{}(self, x):\n        return x", HEAD + "class A:\n")),
    "methods with psum": Shape(3_000, _lines("    def m{}(self, x):\n        return lax.psum(x, 'i')", HEAD + "class A:\n")),
    "classes": Shape(5_000, _lines("class A{}:\n    def f(self, x):\n        return lax.psum(x, 'i')")),
    "classes in diamonds": Shape(2_000, _one(lambda count: f"{HEAD}class A0: pass\nclass A1(A0): pass\n" + "".join(f"class A{at + 2}(A{at + 1}, A{at}): pass\n" for at in range(count)) + f"jax.pmap(A{count}().f, axis_name='i')(1)\n")),
    "configurations in each other": Shape(1_500, _one(lambda count: f"{HEAD}from ml_collections import ConfigDict\ndef f(x):\n" + "".join(f"    c{at + 1} = ConfigDict()\n" for at in range(count)) + "    c0 = ConfigDict()\n" + "".join(f"    c{at + 1}.a = c{at}\n" for at in range(count)) + "    return lax.psum(x, 'i')\njax.pmap(f, axis_name='i')(1)\n")),
    "inner functions": Shape(5_000, _lines("    def f{}(x):\n        return lax.psum(x, 'i')", HEAD + "def outer():\n")),
    "functions of one name": Shape(5_000, _lines("def f(x):\n    return lax.psum(x, 'i')")),
    "f-strings": Shape(10_000, _lines("s = f'{a} {b!r} {c:>{d}}'")),
    "pieces of an f-string": Shape(20_000, _joined("s = f'", "{a}", "'\n", " ")),
    "one long line": Shape(100_000, _joined("a = [", "x", "]\n")),
    "statements in one line": Shape(20_000, _joined("", "x = 1", "\n", "; ")),
    "findings in one line": Shape(10_000, _joined("", "lax.psum(x, 'i', k=1)", "\n", "; "), ("--output-format", "concise")),
    "findings in one line, sarif": Shape(5_000, _joined("", "lax.psum(x, 'i', k=1)", "\n", "; "), ("--output-format", "sarif")),
    "findings in one line, full": Shape(2_000, _joined("", "lax.psum(x, 'i', k=1)", "\n", "; "), ("--output-format", "full")),
    "findings after emoji in one line": Shape(5_000, _one(lambda count: HEAD + "s = '" + "🙂" * count + "'; " + "; ".join(["lax.psum(x, 'i', k=1)"] * count) + "\n"), ("--output-format", "sarif")),
    "findings": Shape(20_000, _lines("lax.psum(x, 'i', k=1)")),
    "findings, full": Shape(10_000, _lines("lax.psum(x, 'i', k=1)"), ("--output-format", "full")),
    "findings, json": Shape(10_000, _lines("lax.psum(x, 'i', k=1)"), ("--output-format", "json")),
    "findings, github": Shape(10_000, _lines("lax.psum(x, 'i', k=1)"), ("--output-format", "github")),
    "findings, sarif": Shape(10_000, _lines("lax.psum(x, 'i', k=1)"), ("--output-format", "sarif")),
    "findings, baseline": Shape(10_000, _lines("lax.psum(x, 'i', k=1)"), ("--write-baseline", "--baseline", "b.json")),
    "findings of history": Shape(10_000, _lines("jax.tree_map(f, x)"), ("--output-format", "concise")),
    "fixes": Shape(10_000, _lines("jax.tree_map(f, x)"), ("--fix",)),
    "fixes as a patch": Shape(5_000, _lines("jax.tree_map(f, x)"), ("--diff",)),
    "CRLF": Shape(20_000, _lines("x = lax.psum(x, 'i', k=1)\r")),
    "emoji on every line": Shape(10_000, _lines("lax.psum(x, '🙂')  # 🙂🙂"), ("--output-format", "sarif")),
    "no line end": Shape(100_000, _one(lambda count: "x" * count)),
    "huge string": Shape(1_000_000, _one(lambda count: f"{HEAD}x = '{'y' * count}'\n")),
    "huge docstring": Shape(40_000, _one(lambda count: '"""' + "a line with pmap in it\n" * count + '"""\n')),
    "huge comment": Shape(1_000_000, _one(lambda count: f"{HEAD}# {'pmap ' * (count // 5)}\n")),
    "binary operators": Shape(5_000, _joined("a = ", "x", "\n", " + ")),
    "boolean operators": Shape(5_000, _joined("a = ", "x", "\n", " and ")),
    "comparisons": Shape(5_000, _joined("a = ", "x", "\n", " < ")),
    "attribute chain": Shape(5_000, _joined("a = x.", "y", "\n", ".")),
    "call chain": Shape(5_000, _joined("a = x.", "y()", "\n", ".")),
    "brackets": Shape(3_000, _one(lambda count: f"{HEAD}a = {'(' * count}{')' * count}\n")),
    "elif": Shape(5_000, _lines("elif x == {}:\n    lax.psum(x, 'i')", HEAD + "if x:\n    pass\n")),
    "ifs": Shape(5_000, _lines("if x:\n    y = 1")),
    "ifs in a function": Shape(3_000, _lines("    if x:\n        y{} = lax.psum(x, 'i')", HEAD + "def f(x):\n")),
    "ifs that return": Shape(2_000, _lines("    if x == {}:\n        return lax.psum(x, 'i')", HEAD + "def f(x):\n")),
    "loops": Shape(3_000, _lines("for i in range(3):\n    lax.psum(x, 'i')")),
    "maps in loops": Shape(3_000, _lines("for i in range(3):\n    jax.pmap(lambda x: x)(x)")),
    "tries": Shape(3_000, _lines("try:\n    lax.psum(x, 'i')\nexcept NameError:\n    pass")),
    "withs": Shape(3_000, _lines("with mesh:\n    lax.psum(x, 'i')")),
    "match": Shape(3_000, _lines("    case {}:\n        lax.psum(x, 'i')", HEAD + "match x:\n")),
    "lambdas": Shape(5_000, _lines("f{} = lambda x: lax.psum(x, 'i')")),
    "comprehensions": Shape(5_000, _lines("f{} = [lax.psum(x, 'i') for x in y]")),
    "globals": Shape(5_000, _lines("def f{}():\n    global a{}\n    a{} = 1")),
    "assignments to many": Shape(10_000, _joined("", "a{}", " = lax.psum(x, 'i')\n", " = ")),
    "unpacking": Shape(10_000, _joined("", "a{}", " = x\n")),
    "deletions": Shape(5_000, _lines("del a{}")),
    "jit of pmap": Shape(5_000, _lines("jax.jit(jax.pmap(f))")),
    "static arguments": Shape(10_000, _joined("jax.jit(f, static_argnums=(", "{}", "))\n")),
    "permutations": Shape(10_000, _joined("lax.ppermute(x, 'i', [", "({}, 1)", "])\n")),
    "repeated keys": Shape(5_000, _lines("key = jax.random.PRNGKey(0)\ny = jax.random.normal(key)")),
    "splits": Shape(5_000, _lines("    key, k{} = jax.random.split(key)\n    x = jax.random.normal(k{})", HEAD + "def f(key):\n")),
    "gradients": Shape(2_000, _lines("    g{} = jax.grad(f)(x)\n    g{} = lax.pmean(g{}, 'i')", HEAD + "def f(x):\n")),
    "broken: def (:": Shape(20_000, _lines("def (:", "")),
    "broken: (": Shape(20_000, _lines("(", "")),
    "broken: one line of (": Shape(20_000, _one(lambda count: "(" * count)),
    "broken: f(": Shape(10_000, _lines("x = f(", "")),
    "broken: class A(": Shape(5_000, _lines("class A(", "")),
    "broken: @": Shape(10_000, _lines("@", "")),
    "broken: indented": Shape(10_000, _lines("    x = (", "def f():\n")),
    "broken: in methods": Shape(3_000, _lines("    def m{}(self):\n        x = (", "class A:\n")),
    "broken: in functions": Shape(3_000, _lines("def f{}(x):\n    y = lax.psum(x,\n    return y")),
    "broken: quotes": Shape(20_000, _lines("'", "")),
    "broken: three quotes": Shape(10_001, _lines('x = """', "")),
    "broken: if": Shape(10_000, _lines("if", "")),
    "broken: else": Shape(10_000, _lines("else:", "")),
    "broken: =": Shape(10_000, _lines("x =", "")),
    "broken: ?": Shape(20_000, _lines("x ? y", "")),
    "broken: once": Shape(20_000, _lines("x = 1", "def f(:\n")),
    "broken: once at the end": Shape(20_000, _lines("x = 1", "", "def f(:\n")),
    "broken: in a long function": Shape(10_000, _lines("    x = 1", "def f(x):\n    y = (\n")),
    "broken: random text": Shape(400_000, _one(_random_text)),
    "broken: random bytes": Shape(400_000, _one(_random_bytes)),
    "broken: random tokens": Shape(60_000, _one(_tokens)),
    "broken: prose": Shape(10_000, _lines("This is a sentence, and it isn't Python; is it?", "")),
    "broken: zeros": Shape(400_000, _one(lambda count: b"\0" * count)),
    "broken: closing brackets": Shape(20_000, _lines(")", "")),
    "broken: diff": Shape(10_000, _lines("+ x = 1\n- y = 2\n@@ -1,2 +3,4 @@", "")),
    "broken: conflict": Shape(3_000, _lines("<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs", "")),
    "broken: json": Shape(10_000, _lines('  {"a": [true, null, 1]},', "[\n", "]\n")),
    "broken: python 2": Shape(10_000, _lines("print 'a', x; exec 'b'", "")),
    "files": Shape(2_000, lambda count: {f"m{at}.py": "import jax\nx = jax.pmap(f)\n" for at in range(count)}),
    "packages": Shape(1_000, lambda count: {f"p{at}/{name}.py": "import jax\nfrom . import *\n" for at in range(count) for name in ("__init__", "a")}),
    "a deep package": Shape(60, lambda count: {"/".join(["p"] * depth) + "/__init__.py": "import jax\nx = jax.pmap(f)\n" for depth in range(1, count + 1)}),
    "files of one helper": Shape(1_000, lambda count: {"h.py": f"{STEP}", **{f"m{at}.py": "import jax\nfrom h import step\njax.pmap(step, axis_name='i')(1)\n" for at in range(count)}}),
    "files that fail in one helper": Shape(500, lambda count: {"h.py": f"{STEP}", **{f"m{at}.py": "import jax\nfrom h import step\njax.pmap(step, axis_name='j')(1)\n" for at in range(count)}}),
}  # fmt: skip


def weigh(python: str, folder: Path, shape: Shape, count: int) -> Cost:
    """Checks a shape at one size in a separate process."""
    texts = {name: text if isinstance(text, bytes) else text.encode() for name, text in shape.make(count).items()}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    paths = list(texts) if len(texts) == 1 else ["."]
    arguments = ("check", "--no-cache", "--output-format", "concise", *shape.arguments, *paths)
    limits = str(MOST_SECONDS), str(MOST_MEMORY)
    # Linux counts what a process held before `exec` as its own, so a small process starts it.
    between = (sys.executable, "-I", "-c", _BETWEEN, *limits, python, "-m", "meshlens", *arguments)
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "MESHLENS_DETECT_DEVICES": "0"}
    said = subprocess.run(between, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True).stdout
    seconds, kibibytes, code = json.loads(said)
    return Cost(seconds, kibibytes * 1024, sum(map(len, texts.values())), code)


_BETWEEN = """
import json, os, resource, sys
seconds, memory, *command = sys.argv[1:]
child = os.fork()
if child == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.execv(command[0], command)
_, status, used = os.wait4(child, 0)
print(json.dumps([used.ru_utime, used.ru_maxrss, os.waitstatus_to_exitcode(status)]))
"""


def measured(python: str, shape: Shape) -> list[Cost]:
    """Returns the costs of a shape at its sizes, smallest first."""
    costs = []
    for part in SEVERAL:
        with tempfile.TemporaryDirectory() as name:
            costs.append(weigh(python, Path(name).resolve(), shape, shape.count * part // SEVERAL[-1]))
        if costs[-1].code not in (0, 1):
            break
    return costs


def row(name: str, costs: Sequence[Cost], empty: Cost) -> str:
    """Returns a line of the table."""
    seconds = [cost.seconds - empty.seconds for cost in costs]
    memory = [(cost.memory - empty.memory) / 2**20 for cost in costs]
    last = costs[-1]
    over = last.memory - empty.memory - 20 * last.size
    wrong = "" if last.code in (0, 1) else f"  exit code {last.code}"
    return (
        f"{name:38} {last.size / 1024:7.0f} "
        + " ".join(f"{each:7.2f}" for each in seconds + [0.0] * (len(SEVERAL) - len(seconds)))
        + f" {_exponent(seconds, 0.1):>5} "
        + " ".join(f"{each:7.0f}" for each in memory + [0.0] * (len(SEVERAL) - len(memory)))
        + f" {_exponent(memory, 4):>5} {(last.memory - empty.memory) / max(last.size, 1):7.0f}"
        + (f"  over by {(over >> 20) - 100} MiB" if over > 100 << 20 else "")
        + wrong
    )


def _exponent(costs: Sequence[float], least: float) -> str:
    """Returns the power of the size with which a cost grew between the last two sizes; "-" if too small to tell."""
    if len(costs) < 2 or costs[-2] < least or costs[-1] <= 0:
        return "-"
    return f"{math.log2(costs[-1] / costs[-2]):.1f}"


def rows(python: str, patterns: Sequence[str]) -> Iterator[str]:
    """Yields the rows of the table."""
    empty = measured(python, Shape(0, lambda count: {"a.py": ""}))[-1]
    yield f"an empty file: {empty.seconds:.2f} s, {empty.memory / 2**20:.0f} MiB"
    yield f"{'shape':38} {'KiB':>7} {'s':>7} {'':7} {'':7} {'n^':>5} {'MiB':>7} {'':7} {'':7} {'n^':>5} {'B/byte':>7}"
    for name, shape in SHAPES.items():
        if not patterns or any(re.fullmatch(pattern, name) for pattern in patterns):
            yield row(name, measured(python, shape), empty)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="*", default=())
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    for line in rows(given.python, given.shapes):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
