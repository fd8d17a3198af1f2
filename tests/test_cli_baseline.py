"""The baseline: known findings stay silent when lines move, new ones are reported."""

from __future__ import annotations

import json

import pytest

from command_line import CLEAN, TYPO, meshlens, write
from meshlens.cli.baseline import BadBaseline
from meshlens.cli.cost_baseline import against


def _check(folder, *arguments):
    return meshlens("check", "--output-format", "concise", "--baseline", "known.json", *arguments, cwd=folder)


@pytest.fixture
def project(tmp_path):
    write(tmp_path, {"pkg/a.py": TYPO, "b.py": CLEAN})
    ran = _check(tmp_path, "--write-baseline")
    assert (ran.code, ran.out, ran.err) == (0, "", "Wrote 1 finding to known.json.\n")
    return tmp_path


def test_what_is_written(project):
    assert json.loads((project / "known.json").read_text()) == {
        "version": 1,
        "findings": {
            "pkg/a.py": [
                {
                    "code": "AX101",
                    "message": 'axis "bacth" is not bound here (bound: "batch"); did you mean "batch"?',
                    "line": 'return jax.lax.pmean(x, "bacth")',
                    "count": 1,
                }
            ]
        },
    }


def test_known_findings_are_silent(project):
    ran = _check(project)
    assert (ran.code, ran.out) == (0, "Nothing to report in 2 files.\n1 finding is in the baseline.\n")


def test_lines_may_move_and_be_indented(project):
    moved = "# one\n\n# two\n" + TYPO.replace("    return", "        return").replace("(x):\n", "(x):\n    if True:\n")
    assert _check(write(project, {"pkg/a.py": moved})).code == 0


def test_from_another_folder(project):
    assert meshlens("check", "a.py", "--baseline", "../known.json", cwd=project / "pkg").code == 0


def test_a_new_finding_on_a_new_line(project):
    ran = _check(write(project, {"b.py": TYPO}))
    assert ran.code == 1
    assert ran.out.startswith("b.py:7:29: AX101")
    assert len(ran.out.splitlines()) == 3


def test_one_more_of_the_same(project):
    ran = _check(write(project, {"pkg/a.py": TYPO + "\n\n" + TYPO.replace("import jax\n", "")}))
    assert ran.code == 1
    assert ran.out.count("AX101") == 1


def test_a_changed_line_is_no_longer_known(project):
    assert _check(write(project, {"pkg/a.py": TYPO.replace("pmean", "psum")})).code == 1


def test_writing_again_changes_nothing(project):
    before = (project / "known.json").read_bytes()
    _check(project, "--write-baseline")
    assert (project / "known.json").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not a baseline: "),
        ("[]", "this version of MeshLens cannot read it; rewrite it with --write-baseline"),
        (
            '{"version": 1, "findings": {"a.py": [{}]}}',
            'not a baseline: an entry lacks a valid "code", "message", "line" or "count"',
        ),
    ],
)
def test_a_bad_baseline(project, content, reason):
    (project / "known.json").write_text(content)
    ran = _check(project)
    assert ran.code == 2
    assert ran.err.startswith(f"meshlens: known.json: {reason}")
    assert len(ran.err.splitlines()) == 1
    assert "AX101" in ran.out


def test_a_missing_baseline(tmp_path):
    ran = _check(write(tmp_path, {"a.py": CLEAN}))
    assert (ran.code, ran.err) == (2, "meshlens: known.json: no such file; create it with --write-baseline\n")


def test_a_missing_baseline_of_costs_says_how_to_write_it(tmp_path):
    with pytest.raises(BadBaseline, match="no such file; create it with --write-baseline"):
        against((), tmp_path / "costs.json")
