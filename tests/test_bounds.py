"""Code that demands too much costs only its own findings: nothing beside it is hidden, and the run ends.

Each project holds a planted fault in a separate file, and is checked in a separate process with limits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import depth
from meshlens.checking.check import check
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings
from meshlens.text import Edit, Span

pytestmark = pytest.mark.slow

if sys.platform != "win32":
    import resource

PLANTED = """\
import jax


def total(x):
    return jax.lax.psum(x, "bacth")


jax.pmap(total, axis_name="batch")
"""
HEAD = """\
import functools
import jax
from jax.sharding import PartitionSpec as P
from elsewhere import unknown


def total(x):
    return jax.lax.psum(x, "i")


"""
USED = "jax.pmap(total, axis_name='i', in_axes=last)(last)\njax.vmap(total, axis_name=last)(last)\n"
MOST_MEMORY = 1_500 * 2**20
HANGS = 120


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def checked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Checks a folder with limits."""
    command = [sys.executable, "-m", "meshlens", "check", "--no-cache", *arguments]
    limit = _limited if sys.platform == "linux" else None
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANGS, preexec_fn=limit)


def assert_planted_is_found(folder: Path, planted: str = "planted.py") -> None:
    """Checks a project in which the planted fault must be found and nothing may fail."""
    (folder / planted).write_text(PLANTED)
    ran = checked(folder, "--output-format", "json")
    assert ran.stderr == ""
    assert ran.returncode == 1
    found = [(Path(one["filename"]).name, one["code"]) for one in json.loads(ran.stdout)]
    assert (planted, "AX101") in found


def doubled(line: str, first: str, times: int = 40) -> str:
    """Returns a program that computes each value from the one before, written as `{0}`, and uses the last one."""
    lines = [f"a{number + 1} = {line.format(f'a{number}')}\n" for number in range(times)]
    return f"a0 = {first}\n{''.join(lines)}last = a{times}\n{USED}"


def nested(heads: list[str], body: str) -> str:
    """Returns nested statements."""
    lines = ["    " * depth + head for depth, head in enumerate(heads)]
    return "\n".join([*lines, "    " * len(heads) + body]) + "\n"


PROGRAMS: dict[str, str] = {
    "strings": doubled("{0} + {0}", "'data'"),
    "formatted strings": doubled("f'{{{0}}}{{{0}}}{{{0}}}'", "'data'"),
    "strings of format": doubled("'{{}}{{}}{{}}'.format({0}, {0}, {0})", "'data'"),
    "replaced strings": doubled("{0}.replace('a', {0})", "'aaaa'"),
    "a wide field": "last = '{:>1000000000}'.format('i')\n" + USED,
    "tuples": doubled("{0} + {0}", "(0, 0)"),
    "pairs": doubled("({0}, {0})", "(0,)"),
    "tables": doubled("{{'l': {0}, 'r': {0}}}", "{'l': 0}"),
    "keywords": doubled("dict(l={0}, r={0})", "{'l': 0}"),
    "pairs of partials": doubled("functools.partial({0}, {0}, k={0})", "total"),
    "pairs of maps": doubled("jax.vmap({0}, in_axes=({0}, {0}))", "total"),
    "pairs of specs": doubled("P({0}, {0})", "P('i')"),
    "unions of pairs": doubled("({0}, {0}) if unknown[{0}] else [{0}, {0}]", "0"),
    "arguments": f"{doubled('(*{0}, *{0})', '(0, 0)')}total(*last)\nfunctools.partial(total, *last)(*last)\n",
    "numbers": doubled("{0} * {0}", "3"),
    "long numbers": f"last = {'9' * 5_000}\nmore = 0x{'f' * 9_000}\n{USED}"
    "text = f'{more}'\njax.make_mesh((more,), ('i',))\n",
    "infinite numbers": "import numpy as np\nlast = 1e999\nnp.arange(last)\nnp.arange(last - last)\nrange(10**30)\n"
    + USED,
    "empty slices": "import jax.numpy as jnp\nlast = jnp.zeros((8,))[::0]\nmore = [1, 2][::0]\n" + USED,
    "partials in a row": "last = total\n" + "last = functools.partial(last)\n" * 5_000 + USED,
    "maps in a row": "last = total\n" + "last = jax.vmap(last)\n" * 2_000 + USED,
    "jits in a row": "last = total\n" + "last = jax.jit(last)\n" * 2_000 + USED,
    "gradients in a row": "last = total\n" + "last = jax.grad(last)\n" * 2_000 + USED,
    "unions of maps": "last = total\n"
    + "".join(
        f"if unknown({n}):\n    last = jax.vmap(last, axis_name='v{n}')\nelse:\n    last = jax.pmap(last, 'p{n}')\n"
        for n in range(18)
    )
    + "last(1)\n",
    "loops": nested([f"for i{n} in unknown:" for n in range(20)], "jax.pmap(total, axis_name='i')(unknown)"),
    "exact loops": nested([f"for i{n} in (1, 2, 3, 4, 5, 6, 7, 8):" for n in range(12)], "last = total(i0)"),
    "while loops": nested([f"while unknown[{n}]:" for n in range(20)], "last = (total(1), last)"),
    "comprehensions": f"a = (1, 2, 3, 4, 5, 6, 7, 8)\nlast = {'[' * 12}y{' for y in a]' * 12}\n{USED}",
    "functions that call each other": "".join(
        f"def f{n}(x):\n    y = f{(7 * n + 1) % 500}(x)\n    return f{(n + 1) % 500}(jax.lax.psum(x, 'i')) + y\n"
        for n in range(500)
    )
    + "jax.pmap(f0, axis_name='i')(1)\n",
    "deep calls of deep code": "".join(
        f"def f{n}(x):\n    return {'[' * 100}f{n + 1}(x){']' * 100}\n" for n in range(40)
    )
    + "jax.pmap(f0, axis_name='i')(1)\n",
    "deep trees in deep calls": doubled("[{0}]", "unknown")
    + "".join(f"def f{n}(x):\n    return jax.tree.map(f{n + 1}, last)\n" for n in range(40))
    + "jax.pmap(f0, axis_name='i')(1)\n",
    "deep classes and methods": nested(
        [f"{'def f(self):' if n % 2 else f'class C{n}:'}" for n in range(1_000)], "total(1)"
    ),
    "deep expressions": f"a = {'total(' * 3_000}1{')' * 3_000}\nb = {'-' * 3_000}1\n"
    f"c = {'+'.join('1' * 3_000)}\nd = a{'.b' * 3_000}\n",
    "long chains of elif": "if unknown == 0:\n    last = 1\n"
    + "".join(f"elif unknown == {n}:\n    last = total\n" for n in range(1_000))
    + USED,
    "objects in objects": "class N:\n    def __init__(self, n):\n        self.n = n\n"
    "    def m(self, x):\n        return self.n.m(x)\n"
    + "last = N(None)\n"
    + "last = N(last)\n" * 2_000
    + "jax.pmap(last.m, axis_name='i')(1)\n",
    "command lines with many lists": "import argparse\nparser = argparse.ArgumentParser()\n"
    + "".join(f"parser.add_argument('x{n}', nargs='*')\n" for n in range(100))
    + "parser.add_argument('y', nargs=60)\nparser.add_argument('--z', nargs=10**9)\n"
    + "last = parser.parse_args(['a'] * 50)\n"
    + USED,
    "many command lines": "import argparse\nparser = argparse.ArgumentParser()\n"
    + "".join(f"parser.add_argument('--x{n}', type=int, default='1')\n" for n in range(100))
    + "last = [parser.parse_args(['--x1', str(n)]) for n in range(1_000)]\n" * 100
    + USED,
    "many texts in YAML": "import yaml\n"
    + "".join(f"last = yaml.safe_load({'[' * 100 + ']' * 100 + ' # ' + str(n)!r})\n" for n in range(300))
    + USED,
    "brackets in YAML": "import yaml\n"
    + "".join(f"last = yaml.safe_load({'[' * (1_900 + n)!r} + {'[' * 2_000!r})\n" for n in range(50))
    + USED,
    "classes that inherit in a circle": "class A(B): pass\nclass B(A): pass\nclass A(B):\n    m = total\nlast = A().m\n"
    + USED,
}


@pytest.mark.parametrize("name", depth.some([*PROGRAMS], 3))
def test_a_program_that_asks_for_much_hides_nothing_beside_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "much.py").write_text(HEAD + PROGRAMS[name])
    assert_planted_is_found(tmp_path)


def _chain(folder: Path, count: int, ends: str) -> None:
    for number in range(count):
        (folder / f"m{number}.py").write_text(f"from m{number + 1} import f as g\n\n\ndef f(x):\n    return g(x)\n")
    (folder / f"m{count}.py").write_text(ends)


def _chain_to_its_end(folder: Path) -> None:
    _chain(folder, 5_000, "def f(x):\n    return x\n")
    (folder / "a.py").write_text("import jax\nfrom m0 import f\n\njax.pmap(f, axis_name='i')(1)\n")


def _chain_in_a_circle(folder: Path) -> None:
    _chain(folder, 1_000, "from m0 import f\n")
    (folder / "a.py").write_text("import jax\nfrom m0 import f\n\njax.pmap(f, axis_name='i')(1)\n")


def _chain_of_maps(folder: Path) -> None:
    for number in range(1_000):
        (folder / f"m{number}.py").write_text(f"import jax\nimport m{number + 1}\n\nf = jax.vmap(m{number + 1}.f)\n")
    (folder / "m1000.py").write_text("import jax\n\n\ndef f(x):\n    return jax.lax.psum(x, 'i')\n")


def _imports_itself(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("import package\nfrom package import package\nfrom . import *\n")
    (folder / "package" / "jax.py").write_text("from package import jax\nfrom .jax import *\nimport jax\n")


@pytest.mark.deep
@pytest.mark.parametrize(
    "made", depth.some([_chain_to_its_end, _chain_in_a_circle, _chain_of_maps, _imports_itself], 1)
)
def test_modules_that_import_each_other_hide_nothing(tmp_path: Path, made: Callable[[Path], None]) -> None:
    made(tmp_path)
    assert_planted_is_found(tmp_path)


@pytest.mark.deep
def test_what_the_last_of_a_hundred_modules_defines_is_followed(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"m{number}.py").write_text(f"from m{number + 1} import f\n")
    (tmp_path / "m100.py").write_text('import jax\n\n\ndef f(x):\n    return jax.lax.psum(x, "bacth")\n')
    (tmp_path / "a.py").write_text("import jax\nfrom m0 import f\n\njax.pmap(f, axis_name='batch')(1)\n")
    ran = checked(tmp_path, "--output-format", "concise")
    assert 'm100.py:5:28: AX101 [*] axis "bacth" is not bound here (bound: "batch")' in ran.stdout


@pytest.fixture(params=depth.some([500, 1_100], 1))
def deep_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Yields a folder nested in many others; they are made and removed step by step, as Python itself would recurse."""
    folder = tmp_path
    for _ in range(request.param):
        folder = folder / "d"
        folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="paths are short there")
def test_a_file_in_a_very_deep_folder_is_checked(tmp_path: Path, deep_folder: Path) -> None:
    (deep_folder / "planted.py").write_text(PLANTED)
    ran = checked(tmp_path, "--output-format", "concise")
    assert ran.stderr == ""
    assert ran.returncode == 1
    assert 'AX101 [*] axis "bacth" is not bound here (bound: "batch")' in ran.stdout


PATH = Path("/bounds/program.py")
LOOPS = """\
import jax
from elsewhere import unknown


def total(x, name):
    return jax.lax.psum(x, name)


def main(x):
    name = "other"
{0}
    return jax.pmap(lambda y: total(y, name), axis_name="data")(x)
"""


def _workspace(text: str) -> Workspace:
    return open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})


def _found(workspace: Workspace) -> list[tuple[str, Span]]:
    return [(one.code, one.finding.span) for one in check(workspace.view(PATH), Settings()) if one.code == "AX101"]


def _loops(depth: int, body: str) -> str:
    heads = ["    " * (number + 1) + f"for i{number} in (1, 2, 3, 4, 5, 6, 7, 8):\n" for number in range(depth)]
    indent = "    " * (depth + 1)
    return "".join(heads) + "".join(f"{indent}{line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("depth", [1, 12])
def test_what_a_loop_may_have_set_is_not_known_where_it_was_cut_short(depth: int) -> None:
    last = " and ".join(f"i{number} == 8" for number in range(depth))
    assert not _found(_workspace(LOOPS.format(_loops(depth, f'if {last}:\n    name = "data"'))))


def test_what_a_loop_does_not_set_stays_known_where_it_was_cut_short() -> None:
    assert _found(_workspace(LOOPS.format(_loops(12, "other = (i0, i11)"))))


@pytest.mark.parametrize("typed", ["total(x, name)", "unknown(1)", '[total(x, "typo") for j in unknown]'])
def test_an_edit_in_loops_that_are_cut_short_gives_what_a_cold_start_gives(typed: str) -> None:
    text = LOOPS.format(_loops(6, "last = 1") + '    jax.pmap(lambda y: total(y, "typo"), axis_name="i")(x)')
    workspace = _workspace(text)
    _found(workspace)
    at = text.index("last = 1") + len("last = ")
    workspace = workspace.with_edits(PATH, [Edit(Span(at, at + 1), typed)])
    cold = _workspace(text[:at] + typed + text[at + 1 :])
    assert _found(workspace) == _found(cold)
    assert _found(cold)


BAD = 'jax.lax.psum(x, "typo")'
CALLED = "jax.pmap(f0, axis_name='i')(unknown)\n"


def _circle(count: int, planted: int = -1) -> str:
    """Returns functions each of which calls two others, so that all of them are reached from the first one."""
    return "".join(
        f"def f{n}(x):\n    y = f{(7 * n + 1) % count}(x)\n"
        f"    return f{(n + 1) % count}({BAD if n == planted else 'x'}) + y\n"
        for n in range(count)
    )


def _row(count: int) -> str:
    """Returns functions each of which calls the next one."""
    calls = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(count))
    return f"{calls}def f{count}(x):\n    return {BAD}\n"


ELSEWHERE = f"def other(x):\n    return {BAD}\n\n\n"
MAPPED = "jax.pmap(other, axis_name='i')(unknown)\n"
PLACES: dict[str, str] = {
    "before": ELSEWHERE + MAPPED + _circle(500) + CALLED,
    "after": ELSEWHERE + _circle(500) + CALLED + MAPPED,
    "after thousands": ELSEWHERE + _circle(2_000) + CALLED + MAPPED,
    "after many": ELSEWHERE
    + "".join(_circle(300).replace("f", f"g{n}f").replace(f"deg{n}f", "def") for n in range(12))
    + "".join(f"jax.pmap(g{n}f0, axis_name='i')(unknown)\n" for n in range(12))
    + MAPPED,
    "after them in a function": f"{ELSEWHERE}{_circle(500)}def main():\n    {CALLED}    {MAPPED}main()\n",
    "after loops": ELSEWHERE + _circle(500) + f"for i in range(1000):\n    {CALLED}" * 3 + MAPPED,
    "after calls": ELSEWHERE + "unknown(1)\n" * 21_000 + MAPPED,
    "among them": _circle(500, 3) + CALLED,
    "the last of them": _circle(500, 499) + CALLED,
    "at the end of a row": _row(30) + CALLED,
    "at the end of a long row": _row(500) + CALLED,
}


@pytest.mark.parametrize("place", depth.some([*PLACES], 6))
def test_functions_that_call_each_other_hide_no_fault(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.py").write_text(f"import jax\nfrom elsewhere import unknown\n\n\n{PLACES[place]}")
    ran = checked(tmp_path, "--output-format", "concise")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.count('AX101 axis "typo" is not bound here') == 1


@pytest.mark.parametrize("count", depth.some([300, 5_000], 1))
def test_what_the_last_of_a_row_of_modules_calls_is_followed(tmp_path: Path, count: int) -> None:
    _chain(tmp_path, count, f"import jax\n\n\ndef f(x):\n    return {BAD}\n")
    (tmp_path / "a.py").write_text("import jax\nfrom m0 import f\n\njax.pmap(f, axis_name='i')(f)\n")
    ran = checked(tmp_path, "--output-format", "concise")
    assert f'm{count}.py:5:28: AX101 axis "typo" is not bound here' in ran.stdout
