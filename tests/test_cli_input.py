"""Bad input: one clear line on stderr for each problem, and the rest is still checked."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CELL, CLEAN, TYPO, meshlens, start, write
from meshlens.cli.writing import CannotWrite, write_all


def _check(tmp_path, *arguments):
    return meshlens("check", "--output-format", "concise", "--no-cache", *arguments, cwd=tmp_path)


def test_a_path_that_does_not_exist(tmp_path):
    ran = _check(write(tmp_path, {"a.py": TYPO}), "a.py", "missing", "b/c.py")
    missing = os.path.join("b", "c.py")
    assert ran.err == f"meshlens: missing: no such file or folder\nmeshlens: {missing}: no such file or folder\n"
    assert ran.code == 2
    assert "AX101" in ran.out


def test_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "a.py").symlink_to("gone.py")
    ran = _check(tmp_path, "a.py")
    assert (ran.code, ran.err) == (2, "meshlens: a.py: a broken link\n")


def test_an_unreadable_file(tmp_path, monkeypatch):
    unguarded = os.open

    def guarded(path, *how, **more):
        if Path(path).name == "b.py":
            raise PermissionError(13, "Permission denied")
        return unguarded(path, *how, **more)

    monkeypatch.setattr(os, "open", guarded)
    ran = _check(write(tmp_path, {"a.py": TYPO, "b.py": CLEAN}))
    assert (ran.code, ran.err) == (2, "meshlens: b.py: cannot be read: Permission denied\n")
    assert "AX101" in ran.out


def test_a_file_that_is_not_utf8(tmp_path):
    ran = _check(write(tmp_path, {"a.py": TYPO, "b.py": b"x = 1\ny = '\xe9'\n"}))
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("meshlens: b.py: ")
    assert "UTF-8" in ran.err
    assert "AX101" in ran.out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not a notebook: Expecting property name enclosed in double quotes (line 1, column 2)"),
        ("[]", "not a notebook: it has no list of cells"),
        ('{"worksheets": []}', "not a notebook: it has no list of cells"),
        (b"\xff", "not UTF-8 at byte 0"),
        ("[" * 100_000, "not a notebook: nested too deeply"),
    ],
)
def test_a_broken_notebook(tmp_path, content, reason):
    ran = _check(write(tmp_path, {"a.py": TYPO, "b.ipynb": content}))
    assert ran.code == 2
    assert ran.err == f"meshlens: b.ipynb: {reason}\n"
    assert "AX101" in ran.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('selct = ["AX1"]', 'unknown key "selct"; did you mean "select"?'),
        ("extend_select = []", 'unknown key "extend_select"; did you mean "extend-select"?'),
        ("colour = 1", 'unknown key "colour"'),
        ('select = "AX1"', '"select": expected a list of strings, not "AX1"'),
        ("ignore = [1]", '"ignore": expected a list of strings, not [1]'),
        ("devices = 0", '"devices": expected a number of devices (8), a shape'),
        ("devices = true", '"devices": expected a number of devices (8), a shape'),
        ('devices = "2x"', '"devices": expected a number of devices (8), a shape'),
        ("jax-version = 0.4", '"jax-version": expected a version of JAX, such as "0.4.30", not 0.4'),
        ("interpreter = []", '"interpreter": expected a non-empty string, not []'),
        (
            "per-file-ignores = []",
            '"per-file-ignores": expected a table that maps file patterns to lists of rules, not []',
        ),
        ('select = ["AX999"]', '"select": unknown rule "AX999"'),
        ('ignore = ["unbound-axes"]', '"ignore": unknown rule "unbound-axes"; did you mean "unbound-axis"?'),
    ],
)
def test_bad_configuration(tmp_path, line, message):
    ran = _check(write(tmp_path, {"a.py": TYPO, "meshlens.toml": f"# settings\n{line}\n"}))
    assert ran.code == 2
    assert ran.err.startswith(f"meshlens: meshlens.toml:2: {message}")
    assert len(ran.err.splitlines()) == 1
    assert "AX101" not in ran.out


def test_configuration_that_is_not_toml(tmp_path):
    ran = _check(write(tmp_path, {"a.py": TYPO, "pyproject.toml": "[tool.meshlens]\nselect = [\n"}))
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("meshlens: pyproject.toml: ")


def test_bad_configuration_costs_only_its_own_part(tmp_path):
    files = {"a.py": TYPO, "inner/b.py": TYPO, "inner/meshlens.toml": "x = 1\n"}
    ran = _check(write(tmp_path, files))
    name = os.path.join("inner", "meshlens.toml")
    assert (ran.code, ran.err) == (2, f'meshlens: {name}:1: unknown key "x"\n')
    assert "a.py" in ran.out
    assert "b.py" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["check", "--select", "AX999"], 'unknown rule "AX999"'),
        (["check", "--ignore", "unbound_axis"], 'did you mean "unbound-axis"?'),
        (["check", "--devices", "many"], "expected a number of devices (8), a shape"),
        (["check", "--jax-version", "new"], 'expected a version of JAX, such as "0.4.30"'),
        (["check", "--output-format", "pdf"], "'pdf' is not one of"),
        (["check", "--no-such-option"], "no such option '--no-such-option'"),
        (["check", "--write-baseline"], "--write-baseline needs --baseline FILE"),
        (["check", "--stdin-filename", "a.py", "b.py"], "--stdin-filename cannot be combined with paths"),
        (["chekc"], 'unknown command "chekc"; did you mean "check"?'),
        (["explain", "AX999"], 'unknown rule "AX999"'),
        (["explain", "unbound-axes"], 'unknown rule "unbound-axes"; did you mean "unbound-axis"?'),
        (["config", "missing"], "missing: no such file or folder"),
        (["docs"], "docs: no such folder"),
    ],
)
def test_bad_usage(tmp_path, arguments, part):
    ran = meshlens(*arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert part in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("meshlens: ")


def test_a_rule_that_crashes_costs_only_its_findings(tmp_path, monkeypatch):
    from dataclasses import replace

    from meshlens.checking import check as checking
    from meshlens.checking.registry import all_rules

    def crash(view):
        raise ValueError("no luck")

    broken = replace(next(rule for rule in all_rules() if rule.code == "AX102"), run=crash)
    rules = tuple(broken if rule.code == "AX102" else rule for rule in all_rules())
    monkeypatch.setattr(checking, "selected_rules", lambda settings: rules)
    ran = _check(write(tmp_path, {"a.py": TYPO}))
    assert "AX101" in ran.out
    assert ran.code == 1
    assert [line for line in ran.err.splitlines() if "AX102" in line] == [
        "meshlens: a.py: rule AX102 failed (ValueError: no luck); everything else was checked; please report this"
    ]


def test_broken_syntax_is_not_an_error(tmp_path):
    ran = _check(write(tmp_path, {"a.py": TYPO, "b.py": "def f(:\n    return )\n", "c.py": b"\x00\x01", "d.py": ""}))
    assert (ran.code, ran.err) == (1, "")


def test_what_has_broken_syntax_is_named(tmp_path):
    write(tmp_path, {"a.py": CLEAN, "b.py": "def f(:\n    return )\n", "pyproject.toml": ""})
    for path in tmp_path.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    note = "b.py:1: syntax error (invalid syntax); the file was not checked in full"
    ran = meshlens("check", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (2, f"Nothing to report in 1 file.\n{note}.\n", "")
    assert meshlens("check", cwd=tmp_path) == ran, "also where the result was kept"
    assert meshlens("check", "a.py", cwd=tmp_path).out == "Nothing to report in 1 file.\n"
    write(tmp_path, {f"c{n}.py": "x = (\n" for n in range(4)})
    assert meshlens("check", "b.py", cwd=tmp_path).out.startswith(
        "Nothing was found, but no file was checked in full.\n"
    )
    ran = meshlens("check", "b.py", "--output-format", "json", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (2, "[]\n", f"meshlens: {note}\n")
    assert meshlens("check", "b.py", "--exit-zero", cwd=tmp_path).code == 0
    assert note in meshlens("check", "b.py", "--output-format", "sarif", cwd=tmp_path).out
    write(tmp_path, {f"c{n}.py": "x = (\n" for n in range(6)})
    said = meshlens("check", cwd=tmp_path).out.splitlines()
    assert said[-2:] == [
        "c3.py:1: syntax error ('(' was never closed); the file was not checked in full.",
        "2 more files have syntax errors.",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "def f():\n    pass\n\n  # x\n    class A:\n\n    def g(): pass\n",
            "a.py:7: syntax error (expected an indented block",
        ),
        ("def f(\n    a,\n):\n\nx = 1\n", "a.py:5: syntax error (expected an indented block"),
        ("x = 1\n    y = 2\n", "a.py:2: syntax error (unexpected indent)"),
        ('"""\ndef f():\n"""\n', ""),
    ],
)
def test_wrong_indentation_is_named(tmp_path, text, line):
    ran = _check(write(tmp_path, {"a.py": text}))
    assert ran.code == (2 if line else 0)
    assert (line or "Nothing to report in 1 file.\n") in ran.out


def test_what_only_the_grammar_cannot_read_is_not_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("meshlens.project.syntax_errors._python_says", lambda source: None)
    ran = _check(write(tmp_path, {"a.py": "x = 1\ndef f(:\n"}))
    assert ran.code == 0
    assert "a.py:2: syntax that MeshLens cannot read; the file was not checked in full.\n" in ran.out


def test_a_syntax_error_of_a_notebook_names_the_cell(tmp_path):
    cells = [
        {**CELL, "source": "x = 1"},
        {**CELL, "source": "if x:\n  !git clone a \\\n  b"},
        {**CELL, "source": "y = 1\nz = ("},
    ]
    ran = _check(
        write(tmp_path, {"a.ipynb": json.dumps({"cells": cells[:2]}), "b.ipynb": json.dumps({"cells": cells})})
    )
    note = "b.ipynb:cell 3:2: syntax error ('(' was never closed); the file was not checked in full."
    assert ran.out == f"Nothing to report in 1 file.\n{note}\n"
    assert ran.code == 2


def test_files_that_cannot_be_read_do_not_count_as_checked(tmp_path):
    write(tmp_path, {"a.py": b"y = '\xe9'\n", "b.ipynb": "{", "c.py": CLEAN})
    assert _check(tmp_path, "a.py", "b.ipynb").out == "Nothing was checked.\n"
    assert _check(tmp_path).out == "Nothing to report in 1 file.\n"


def test_findings_that_rest_on_an_assumed_version_say_so(tmp_path):
    old = "import jax\n\njax.tree_map(abs, [1])\n"
    said = meshlens("check", cwd=write(tmp_path / "old", {"a.py": old, "pyproject.toml": ""})).out.splitlines()[-1]
    assert re.fullmatch(r'No JAX version was found; 0\.\d+\.\d+ is assumed\. Set "jax-version" to change it\.', said)
    known = write(tmp_path / "known", {"a.py": old, "requirements.txt": "jax==0.7.0\n", "pyproject.toml": ""})
    assert "assumed" not in meshlens("check", cwd=known).out
    other = write(tmp_path / "other", {"a.py": TYPO, "pyproject.toml": ""})
    assert "assumed" not in meshlens("check", cwd=other).out


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_ctrl_c_leaves_every_file_whole(tmp_path):
    tree = write(tmp_path, {f"a{n}.py": TYPO for n in range(300)})
    run = start("check", "--fix", "--no-cache", cwd=tree, MESHLENS_DEBUG="1")
    assert run.stderr is not None
    assert b"files to check" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode in (130, 1, 0)
    assert b"Traceback" not in err
    assert {path.suffix for path in tmp_path.iterdir()} == {".py"}
    assert {path.read_text() for path in tmp_path.iterdir()} <= {TYPO, TYPO.replace("bacth", "batch")}


SWALLOWED = """\
import signal
import sys
import time

from meshlens.cli.main import strike_again


class Struck:
    def __del__(self):
        raise KeyboardInterrupt


# A process that a shell starts in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.unraisablehook = strike_again
try:
    Struck()
    for _ in range(3_000):
        time.sleep(0.01)
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_ctrl_c_in_a_callback_of_python_is_repeated():
    run = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, text=True, check=False, timeout=60)
    assert (run.stdout, run.stderr) == ("stopped\n", "")


def test_a_write_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch):
    write(tmp_path, {"a.py": "a", "b.py": "b"})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match=r"a\.py: cannot be written: No space left on device"):
        write_all({tmp_path / "a.py": b"1", tmp_path / "b.py": b"2"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]
    assert (tmp_path / "a.py").read_text() == "a"


def test_json_is_whole_also_when_something_is_wrong(tmp_path):
    ran = meshlens("check", "missing", "--output-format", "json", cwd=tmp_path)
    assert json.loads(ran.out) == []
