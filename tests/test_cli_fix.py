"""`--fix`, `--unsafe-fixes`, `--diff`: what changes, and that nothing else changes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from command_line import CELL, CLEAN, FIXED, TYPO, meshlens, write
from meshlens.checking.check import Diagnosed
from meshlens.checking.fixes import SAFE, SAFE_AND_UNSAFE, plan
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.text import Edit, FileEdit, Span, applied


def _fix(tmp_path, *arguments):
    return meshlens(
        "check", "--fix", "--output-format", "concise", "--select", "AX101", "--no-cache", *arguments, cwd=tmp_path
    )


def test_a_safe_fix(tmp_path):
    ran = _fix(write(tmp_path, {"a.py": TYPO, "b.py": CLEAN}))
    assert (ran.code, ran.out, ran.err) == (0, "Fixed 1 finding.\nNothing to report in 2 files.\n", "")
    assert (tmp_path / "a.py").read_text() == FIXED


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"# -*- coding: utf-8 -*-\n" + text,
        lambda text: "# naïve 数据 🎉\n".encode() + text,
        lambda text: text.rstrip(b"\n"),
        lambda text: text.replace(b"    ", b"\t"),
        lambda text: text + b"\x0c\n\n\n",
    ],
)
def test_nothing_but_the_fix_changes(tmp_path, change):
    write(tmp_path, {"a.py": change(TYPO.encode())})
    assert _fix(tmp_path).code == 0
    assert (tmp_path / "a.py").read_bytes() == change(FIXED.encode())


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_permissions_stay(tmp_path):
    write(tmp_path, {"a.py": TYPO})
    (tmp_path / "a.py").chmod(0o754)
    _fix(tmp_path)
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o754


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_links_stay_links(tmp_path):
    write(tmp_path, {"real/a.py": TYPO})
    (tmp_path / "link.py").symlink_to("real/a.py")
    assert _fix(tmp_path, "link.py").code == 0
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real" / "a.py").read_text() == FIXED


def test_a_read_only_file(tmp_path, monkeypatch):
    write(tmp_path, {"a.py": TYPO})
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    ran = _fix(tmp_path)
    assert ran.code == 2
    assert ran.err.endswith("a.py: cannot be written: it is read-only\n")


def test_diff_writes_nothing_and_applies_with_patch(tmp_path):
    write(tmp_path, {"pkg/a.py": TYPO.rstrip("\n"), "b.py": CLEAN})
    ran = meshlens("check", "--diff", "--no-cache", cwd=tmp_path)
    assert ran.code == 1
    assert ran.err == "Would fix 1 finding.\n"
    assert '-    return jax.lax.pmean(x, "bacth")\n\\ No newline at end of file\n' in ran.out
    assert (tmp_path / "pkg" / "a.py").read_text() == TYPO.rstrip("\n")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=ran.out.encode(), check=True)
    assert (tmp_path / "pkg" / "a.py").read_text() == FIXED.rstrip("\n")


def test_diff_of_nothing(tmp_path):
    ran = meshlens("check", "--diff", cwd=write(tmp_path, {"a.py": CLEAN}))
    assert (ran.code, ran.out, ran.err) == (0, "", "Would fix 0 findings.\n")


def test_stdin_is_a_filter(tmp_path):
    ran = meshlens("check", "--fix", "-", cwd=tmp_path, stdin=TYPO.replace("\n", "\r\n").encode())
    assert ran.out.encode() == FIXED.replace("\n", "\r\n").encode()
    assert ran.err.startswith("Fixed 1 finding.\n")
    assert list(tmp_path.iterdir()) == []


def test_only_files_that_were_asked_for_change(tmp_path):
    files = {
        "sync.py": 'import jax\n\n\ndef average(x):\n    return jax.lax.pmean(x, "bacth")\n',
        "train.py": 'import jax\nfrom sync import average\n\nprint(jax.pmap(average, axis_name="batch")(1))\n',
    }
    write(tmp_path, files)
    _fix(tmp_path, "train.py")
    assert {name: (tmp_path / name).read_text() for name in files} == files


@pytest.mark.parametrize("indent", [None, 1, 2, "\t"])
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_notebooks_keep_their_layout(tmp_path, indent, as_list, end, ascii_only):
    def notebook(name):
        lines = [
            "%time import jax\n",
            "# é 数据\n",
            f'f = jax.pmap(lambda x: jax.lax.psum(x, "{name}"), axis_name="index")\n',
            "f(1)",
        ]
        cells = [
            {"cell_type": "markdown", "metadata": {}, "source": ["# tïtle\n", "x"]},
            {**CELL, "source": lines if as_list else "".join(lines)},
            {**CELL, "source": []},
        ]
        data = {"cells": cells, "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
        return (json.dumps(data, indent=indent, ensure_ascii=ascii_only) + end).encode()

    write(tmp_path, {"a.ipynb": notebook("indx")})
    assert _fix(tmp_path).code == 0
    assert (tmp_path / "a.ipynb").read_bytes() == notebook("index")


def test_a_notebook_with_odd_spaces_keeps_them(tmp_path):
    source = r"""{ "nbformat" : 4 ,"cells":[ {"source" : [ "import jax\n" ,
      "f = jax.pmap(lambda x: jax.lax.psum(x, 'indx'), axis_name='index')\n","f(1)" ]
    , "cell_type":"code" , "outputs": [{"text": ["\u00e9", {"source": ["indx"]}]}]}  ], "metadata": {}}"""
    write(tmp_path, {"a.ipynb": source})
    assert _fix(tmp_path).code == 0
    after = (tmp_path / "a.ipynb").read_text()
    assert after == source.replace("'indx'", "'index'")


A, B = Path("/a.py"), Path("/b.py")


def _diagnosed(*edits, safety="safe", title="t"):
    fix = Fix(title, tuple(FileEdit(path, Edit(Span(start, end), text)) for path, start, end, text in edits), safety)
    return Diagnosed(A, "AX101", "unbound-axis", Severity.ERROR, Finding(Span(0, 1), "m", (fix,)))


def test_edits_that_touch_wait_for_the_next_round():
    first, second = _diagnosed((A, 0, 4, "x")), _diagnosed((A, 3, 6, "y"))
    assert plan([first, second], SAFE, {A}).fixed == (first,)


def test_edits_that_meet_do_not_touch():
    first, second = _diagnosed((A, 0, 4, "x")), _diagnosed((A, 4, 6, "y"))
    assert plan([first, second], SAFE, {A}).edits == {A: (Edit(Span(0, 4), "x"), Edit(Span(4, 6), "y"))}


def test_the_same_edit_of_two_fixes_is_made_once():
    first, second = (
        _diagnosed((A, 0, 0, "import x\n"), (A, 5, 6, "y")),
        _diagnosed((A, 0, 0, "import x\n"), (A, 8, 9, "z")),
    )
    step = plan([first, second], SAFE, {A})
    assert len(step.fixed) == 2
    assert len(step.edits[A]) == 3


def test_two_insertions_at_one_place_wait_for_each_other():
    first, second = _diagnosed((A, 3, 3, "x")), _diagnosed((A, 3, 3, "y"))
    assert plan([first, second], SAFE, {A}).fixed == (first,)


def test_a_fix_in_two_files_is_applied_in_both_or_in_none():
    first, second = _diagnosed((B, 0, 4, "x")), _diagnosed((A, 0, 1, "y"), (B, 2, 3, "z"))
    assert plan([first, second], SAFE, {A, B}).edits == {B: (Edit(Span(0, 4), "x"),)}
    assert plan([second], SAFE, {A}).edits == {}


def test_only_fixes_that_are_safe_enough():
    unsafe, suggestion = _diagnosed((A, 0, 1, "x"), safety="unsafe"), _diagnosed((A, 4, 5, "x"), safety="suggestion")
    assert plan([unsafe, suggestion], SAFE, {A}).fixed == ()
    assert plan([unsafe, suggestion], SAFE_AND_UNSAFE, {A}).fixed == (unsafe,)


def test_inserted_lines_end_as_the_file_ends_its_lines():
    edit = Edit(Span(3, 3), "b\nc\n")
    assert applied(b"a\r\nd\r\n", [edit]) == b"a\r\nb\r\nc\r\nd\r\n"
    assert applied(b"aa\nd\n", [edit]) == b"aa\nb\nc\nd\n"


def test_unsafe_fixes_alone_are_refused(tmp_path):
    ran = meshlens("check", "--unsafe-fixes", cwd=write(tmp_path, {"a.py": CLEAN}))
    assert (ran.code, ran.out) == (2, "")
    assert "--unsafe-fixes needs --fix or --diff" in ran.err


@pytest.mark.parametrize(
    ("call", "is_safe"),
    [
        ("pjit(f)", True),
        ("pjit(f, static_argnums=0)", True),
        ("partial(pjit, static_argnums=0)(f)", True),
        ('pjit(f, P("data"))', False),
        ('pjit(f, in_shardings=P("data"))', False),
        ("partial(pjit, out_shardings=P())(f)", False),
        ("partial(pjit, f, P())()", False),
    ],
)
def test_specs_of_a_pjit_may_depend_on_the_mesh_entered_by_with(tmp_path, call, is_safe):
    head = "from functools import partial\n\nfrom jax.experimental.pjit import pjit\n"
    head += "from jax.sharding import PartitionSpec as P\n"
    write(tmp_path, {"a.py": f"{head}\n\ndef f(x):\n    return x * 2\n\n\ng = {call}\n"})
    arguments = ("check", "--select", "AX502", "--no-cache", "--fix")
    meshlens(*arguments, cwd=tmp_path)
    assert ("from jax import jit as pjit" in (tmp_path / "a.py").read_text()) is is_safe
    meshlens(*arguments, "--unsafe-fixes", cwd=tmp_path)
    assert "from jax import jit as pjit" in (tmp_path / "a.py").read_text()
