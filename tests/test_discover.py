"""The files that are found, and the files that are left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command_line import write
from meshlens.project.disk.discover import files_below, python_files
from meshlens.project.disk.patterns import matches


def _found(root, *exclude):
    return [path.relative_to(root).as_posix() for path in python_files([root], exclude)]


def _write(root, *names, **more):
    return write(root, {**dict.fromkeys(names, ""), **more})


def test_python_files_and_notebooks_in_order(tmp_path):
    _write(tmp_path, "b.py", "a/z.py", "a.py", "n.ipynb", "c.pyi", "d.txt", "e.pyc", "a/b/c/d.py")
    assert _found(tmp_path) == ["a/b/c/d.py", "a/z.py", "a.py", "b.py", "n.ipynb"]


def test_what_is_always_left_out(tmp_path):
    _write(
        tmp_path, "a.py", ".git/h.py", ".venv/x.py", "node_modules/p/x.py", "build/x.py", "dist/x.py", "env/pyvenv.cfg"
    )
    _write(tmp_path, "env/lib/x.py", "__pycache__/x.py", ".hidden/x.py", "lib/site-packages/x.py", "builder/x.py")
    assert _found(tmp_path) == [".hidden/x.py", "a.py", "builder/x.py"]


def test_files_that_are_named_are_always_found(tmp_path):
    _write(tmp_path, "build/x.py", "script")
    named = [tmp_path / "build" / "x.py", tmp_path / "script"]
    assert python_files(named, ["build", "script"]) == sorted(named)


def test_a_folder_that_is_named_is_searched_even_where_it_would_be_left_out(tmp_path):
    _write(tmp_path, "build/x.py")
    assert python_files([tmp_path / "build"]) == [tmp_path / "build" / "x.py"]


def test_excluding(tmp_path):
    _write(tmp_path, "a.py", "gen/b.py", "pkg/gen/c.py", "pkg/d_pb2.py", "pkg/e.py")
    assert _found(tmp_path, "gen") == ["a.py", "pkg/d_pb2.py", "pkg/e.py"]
    assert _found(tmp_path, "/gen") == ["a.py", "pkg/d_pb2.py", "pkg/e.py", "pkg/gen/c.py"]
    assert _found(tmp_path, "*_pb2.py", "pkg/gen/**") == ["a.py", "gen/b.py", "pkg/e.py"]


def test_gitignore_in_a_repository(tmp_path):
    _write(tmp_path, ".git/HEAD", "a.py", "out/b.py", "pkg/c.py", "pkg/keep.py", "pkg/out.py", "deep/er/tmp/x.py")
    write(tmp_path, {".gitignore": "out/\n# comment\n/pkg/*.py\n!keep.py\n", "deep/.gitignore": "tmp\n"})
    assert _found(tmp_path) == ["a.py", "pkg/keep.py"]
    assert python_files([tmp_path / "pkg"]) == [tmp_path / "pkg" / "keep.py"]


def test_gitignore_outside_a_repository_says_nothing(tmp_path):
    write(tmp_path, {".gitignore": "a.py\n", "a.py": ""})
    assert _found(tmp_path) == ["a.py"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_links_are_not_followed(tmp_path):
    _write(tmp_path, "pkg/a.py")
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "same.py").symlink_to("pkg/a.py")
    assert _found(tmp_path) == ["pkg/a.py"]
    assert python_files([tmp_path / "same.py"]) == [tmp_path / "same.py"]


def test_the_innermost_configuration_below_a_path(tmp_path):
    _write(tmp_path, "a.py", "x/b.py", "x/y/c.py", "z/d.py")
    write(tmp_path, {"meshlens.toml": "", "x/meshlens.toml": "", "x/y/pyproject.toml": "[tool.meshlens]\n"})
    write(tmp_path, {"z/pyproject.toml": "[project]\nname = 'meshlens-user'\n"})
    found = {path.relative_to(tmp_path).as_posix(): home for path, home in files_below(tmp_path, [])}
    assert found == {
        "a.py": None,
        "x/b.py": tmp_path / "x" / "meshlens.toml",
        "x/y/c.py": tmp_path / "x" / "y" / "pyproject.toml",
        "z/d.py": None,
    }


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a", ["a", "x/a", "a/b", "x/a/b"], ["ab", "x/ab"]),
        ("a/", ["a/b", "x/a/b"], ["a", "x/a"]),
        ("/a", ["a", "a/b"], ["x/a"]),
        ("a/b", ["a/b", "a/b/c"], ["x/a/b"]),
        ("*.py", ["a.py", "x/a.py"], ["a.pyx"]),
        ("a*b", ["ab", "axb"], ["a/b"]),
        ("**/a", ["a", "x/a", "x/y/a"], ["xa"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[ab].py", ["a.py", "b.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("./a", ["a"], ["x/b"]),
        ("\\!a", ["!a"], ["a"]),
        ("[", [], ["a"]),
        ("", [], ["a"]),
        ("#a", [], ["#a"]),
        ("a(b)+c", ["a(b)+c"], ["abc"]),
    ],
)
def test_patterns(pattern, yes, no):
    assert [path for path in yes if not matches((pattern,), path)] == []
    assert [path for path in no if matches((pattern,), path)] == []


def test_a_folder_that_is_not_there():
    assert python_files([Path("/nowhere/at/all")]) == []
