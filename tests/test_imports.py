"""The files of a project that an import statement refers to."""

from __future__ import annotations

import pytest

from command_line import meshlens, write
from meshlens.project.imports import imported_files
from meshlens.project.modules import ModuleIndex

FILES = (
    "main.py", "sync.py", "pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/sub/__init__.py", "pkg/sub/c.py",
    "space/d.py", "src/lib/__init__.py", "src/lib/e.py", "scripts/run.py", "scripts/beside.py", "jax/numpy.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("main.py", "import sync", ["sync.py"]),
        ("main.py", "import os, sync as s", ["sync.py"]),
        ("main.py", "import pkg.a", ["pkg/__init__.py", "pkg/a.py"]),
        ("main.py", "from pkg import a, b as c", ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"]),
        ("main.py", "from pkg import (\n    a,  # first\n    b,\n)", ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"]),
        ("main.py", "from pkg.sub.c import f", ["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/c.py"]),
        ("main.py", "from space import d", ["space/d.py"]),
        ("main.py", "from lib.e import x", ["src/lib/__init__.py", "src/lib/e.py"]),
        ("main.py", "if True:\n    from sync import *", ["sync.py"]),
        ("main.py", "import jax.numpy\nimport nothing\nfrom os import path", []),
        ("main.py", "text = 'import'\n# import sync\nimportant = sync", []),
        ("pkg/a.py", "from . import b", ["pkg/__init__.py", "pkg/b.py"]),
        ("pkg/a.py", "from .sub.c import x", ["pkg/sub/__init__.py", "pkg/sub/c.py"]),
        ("pkg/sub/c.py", "from ..b import x", ["pkg/b.py"]),
        ("pkg/sub/c.py", "import sync", ["sync.py"]),
        ("scripts/run.py", "import beside, sync", ["scripts/beside.py", "sync.py"]),
    ],
)
def test_found(tmp_path, name, line, found):
    write(tmp_path, {**dict.fromkeys(FILES, ""), name: f"{line}\n"})
    names = [path.relative_to(tmp_path).as_posix() for path in imported_files([tmp_path / name], [tmp_path])]
    assert set(found) <= set(names)
    assert set(names) <= {*found, "pkg/__init__.py"}


def test_imports_of_imports_and_cycles(tmp_path):
    write(tmp_path, {"a.py": "import b\n", "b.py": "import c\n", "c.py": "import a\n"})
    assert imported_files([tmp_path / "a.py"], [tmp_path]) == [tmp_path / "b.py", tmp_path / "c.py"]


def test_nothing_above_the_root(tmp_path):
    write(tmp_path, {"sync.py": "", "project/a.py": "import sync\n"})
    assert imported_files([tmp_path / "project" / "a.py"], [tmp_path / "project"]) == []


@pytest.mark.parametrize("clone", ["flax", "clone"])
def test_the_name_of_the_folder_of_a_library_says_nothing(tmp_path, clone):
    root = tmp_path / clone
    root.mkdir()
    write(root, {"flax/__init__.py": "", "flax/core.py": "", "flax/nnx/a.py": "", "examples/b.py": ""})
    index = ModuleIndex([str(path) for path in root.rglob("*.py")], [str(root)])
    assert index.locate(str(root / "examples" / "b.py"), 0, "flax.core") is None
    found = index.locate(str(root / "flax" / "nnx" / "a.py"), 0, "flax.core")
    assert found is not None
    assert found.path == str(root / "flax" / "core.py")


def test_a_file_that_is_checked_alone_sees_what_it_imports(tmp_path):
    files = {
        "names.py": 'AXIS = "bacth"\n',
        "train.py": "import jax\nfrom names import AXIS\n\n"
        'print(jax.pmap(lambda x: jax.lax.psum(x, AXIS), axis_name="batch")([1]))\n',
    }
    ran = meshlens("check", "train.py", "--select", "AX101", "--output-format", "concise", cwd=write(tmp_path, files))
    assert ran.out.startswith("train.py:4:42: AX101")
    assert "names.py" not in ran.out
