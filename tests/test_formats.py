"""Output formats: valid by their schemas, right about places whatever characters a line holds."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from command_line import CELL, CLEAN, TYPO, meshlens, write
from meshlens.cli.formats import NAMES, as_full, render
from meshlens.cli.formats.frames import visible, width
from meshlens.cli.report import Place, Report, Reported, ReportedFix, packed, unpacked

SCHEMAS = Path(__file__).parent / "schemas"

WIDE = 'import jax\n\nf = jax.pmap(lambda x: ("数据 🎉 é", jax.lax.psum(x, "bacth")), axis_name="batch")\nf(1)\n'
ODD = 'import jax\n\nf = jax.pmap(lambda x: jax.lax.psum(x, "50%, a:b <&>\'"), axis_name="batch")\nf(1)\n'
NOTEBOOK = json.dumps(
    {
        "cells": [{**CELL, "source": "x = 1"}, {**CELL, "source": WIDE}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
PROJECT = {"a b/wide é.py": WIDE, "odd.py": ODD, "typo.py": TYPO, "clean.py": CLEAN, "note.ipynb": NOTEBOOK}


def _schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))


@pytest.fixture
def project(tmp_path):
    return write(tmp_path, PROJECT)


@pytest.fixture
def clean(tmp_path):
    return write(tmp_path, {"clean.py": CLEAN})


def _out(folder, name):
    return meshlens("check", "--select", "AX101", "--output-format", name, cwd=folder).out


def _element(element):
    children = [_element(child) for child in element]
    return {"tag": element.tag, "attributes": dict(element.attrib), "children": children, "text": element.text or ""}


@pytest.mark.parametrize("folder", ["project", "clean"])
def test_schemas(folder, request):
    folder = request.getfixturevalue(folder)
    jsonschema.validate(json.loads(_out(folder, "json")), _schema("meshlens"))
    jsonschema.validate(json.loads(_out(folder, "sarif")), _schema("sarif-2.1.0"))
    jsonschema.validate(json.loads(_out(folder, "gitlab")), _schema("gitlab-code-quality"))
    jsonschema.validate(_element(ElementTree.fromstring(_out(folder, "junit"))), _schema("junit"))


@pytest.mark.parametrize("name", ["json", "sarif", "gitlab"])
def test_the_schemas_can_fail(project, name):
    data = json.loads(_out(project, name))
    rows = data["runs"][0]["results"] if name == "sarif" else data
    rows[0].pop({"json": "code", "sarif": "message", "gitlab": "fingerprint"}[name])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(
            data, _schema({"json": "meshlens", "sarif": "sarif-2.1.0"}.get(name, "gitlab-code-quality"))
        )


def test_json_places_are_characters(project):
    found = {Path(one["filename"]).name: one for one in json.loads(_out(project, "json"))}
    wide = found["wide é.py"]
    line = WIDE.splitlines()[2]
    start = line.index('"bacth"')
    assert wide["filename"] == str(project / "a b" / "wide é.py")
    assert wide["location"] == {"row": 3, "column": start + 1}
    assert wide["end_location"] == {"row": 3, "column": start + 1 + len('"bacth"')}
    assert wide["fix"]["edits"][0]["content"] == '"batch"'
    assert wide["cell"] is None
    assert (found["note.ipynb"]["cell"], found["note.ipynb"]["location"]) == (2, {"row": 3, "column": start + 1})


COMMAND = re.compile(r"::(?P<command>error|warning|notice) (?P<properties>[^:]*)::(?P<message>.*)")


def _annotations(text):
    """The workflow commands as GitHub's runner reads them."""
    for line in text.splitlines():
        found = COMMAND.fullmatch(line)
        assert found, line
        properties = dict(part.split("=", 1) for part in found["properties"].split(","))
        yield (
            found["command"],
            {key: _unescaped(value) for key, value in properties.items()},
            _unescaped(found["message"]),
        )


def _unescaped(text):
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_github(project, monkeypatch):
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    found = {
        properties["file"]: (command, properties, text)
        for command, properties, text in _annotations(_out(project, "github"))
    }
    start = WIDE.splitlines()[2].index('"bacth"') + 1
    command, properties, text = found["a b/wide é.py"]
    assert command == "error"
    assert properties == {
        "file": "a b/wide é.py",
        "line": "3",
        "col": str(start),
        "endLine": "3",
        "endColumn": str(start + len('"bacth"')),
        "title": "MeshLens (AX101 unbound-axis)",
    }
    assert text == 'axis "bacth" is not bound here (bound: "batch"); did you mean "batch"?'
    assert found["odd.py"][2].startswith('axis "50%, a:b <&>\'" is not bound here')
    assert found["note.ipynb"][1]["line"] == "1"
    assert found["note.ipynb"][2].startswith(f"cell 2, row 3, column {start}: ")


def test_github_names_files_from_the_top_of_the_repository(project, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project))
    assert "::error file=a b/wide é.py," in _out(project / "a b", "github")


def test_github_takes_columns_only_within_one_line():
    text = render("github", _report(_reported(end=(4, 2))))
    assert text == "::error file=/p/a.py,line=3,endLine=4,title=MeshLens (AX101 unbound-axis)::m\n"


def test_gitlab_fingerprints_survive_moves_and_differ(tmp_path):
    write(tmp_path, {"a.py": TYPO + TYPO.replace("step", "leap")})
    before = [one["fingerprint"] for one in json.loads(_out(tmp_path, "gitlab"))]
    write(tmp_path, {"a.py": "\n# moved\n" + TYPO + TYPO.replace("step", "leap")})
    after = [one["fingerprint"] for one in json.loads(_out(tmp_path, "gitlab"))]
    assert before == after
    assert len(set(before)) == 2


def test_sarif(project):
    run = json.loads(_out(project, "sarif"))["runs"][0]
    places = {
        unquote(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]): result
        for result in run["results"]
    }
    wide = places["a b/wide é.py"]
    start = WIDE.splitlines()[2].index('"bacth"') + 1
    assert wide["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 3,
        "startColumn": start,
        "endLine": 3,
        "endColumn": start + len('"bacth"'),
    }
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["rules"][wide["ruleIndex"]]["id"] == wide["ruleId"] == "AX101"
    assert wide["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": '"batch"'}


def test_junit_of_a_clean_run_is_one_test_that_passed(clean):
    tree = ElementTree.fromstring(_out(clean, "junit"))
    assert tree.attrib["failures"] == "0"
    assert [case.attrib["name"] for case in tree.iter("testcase")] == ["no findings"]


def test_junit_takes_every_character(tmp_path):
    text = render("junit", _report(_reported(message='a \x00 \x1b[31m <&> " \ud800')))
    failure = next(ElementTree.fromstring(text.encode("utf-8", "replace")).iter("failure"))
    assert failure.attrib["message"] == 'a \ufffd \ufffd[31m <&> " \ufffd'


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("full", "concise")])
def test_machines_read_findings_only(project, name):
    out = _out(project, name)
    assert "Found 4 errors" not in out
    assert "\x1b" not in out


def _reported(message="m", start=(3, 5), end=(3, 9), related=(), fix=None, severity="error"):
    return Reported("AX101", "unbound-axis", severity, message, Place("/p/a.py", None, start, end), fix, related)


def _report(*findings, text=""):
    return Report(findings, 1, lambda path, cell: text.split("\n"))


def _full(text, *findings):
    return as_full.render(_report(*findings, text=text)).splitlines()


def test_a_frame():
    related = (
        ("mapped here", Place("/p/a.py", None, (1, 1), (1, 2))),
        ("bound here", Place("/p/b.py", None, (2, 1), (2, 4))),
    )
    fix = ReportedFix('use "batch"', "safe", "", ())
    assert _full("a\n    b\n    cccc d\n", _reported(related=related, fix=fix)) == [
        "error[AX101] unbound-axis: m",
        " --> /p/a.py:3:5",
        "  │",
        "1 │ a",
        "  │ - mapped here",
        "2 │     b",
        "3 │     cccc d",
        "  │     ^^^^",
        " ::: /p/b.py:2:1",
        "  │",
        "2 │     b",
        "  │ --- bound here",
        '  = help: use "batch"  (--fix)',
        "",
        "Found 1 error. 1 fixable with --fix.",
    ]


@pytest.mark.parametrize(
    ("safety", "how"), [("safe", "--fix"), ("unsafe", "--unsafe-fixes"), ("suggestion", "in the editor")]
)
def test_a_fix_says_who_makes_it(safety, how):
    fix = ReportedFix('use "batch"', safety, "", ())
    assert f'  = help: use "batch"  ({how})' in _full("\n\n    cccc\n", _reported(fix=fix))


@pytest.mark.parametrize(
    ("line", "start", "end", "shown", "carets"),
    [
        ("\tab = c", 7, 8, "    ab = c", "         ^"),
        ("a\tb", 3, 4, "a   b", "    ^"),
        ('s = "数据", x', 11, 12, 's = "数据", x', "            ^"),
        ('s = "数据"', 6, 8, 's = "数据"', "     ^^^^"),
        ("é = x", 5, 6, "é = x", "    ^"),
        ("e\u0301 = x", 6, 7, "e\u0301 = x", "    ^"),
        ("🎉 = x", 5, 6, "🎉 = x", "     ^"),
        ("a\x1b[31m = x", 9, 10, "a␛[31m = x", "        ^"),
        ("x", 2, 2, "x", " ^"),
    ],
)
def test_carets_stand_under_what_they_mean(line, start, end, shown, carets):
    lines = _full(line, _reported(start=(1, start), end=(1, end)))
    assert lines[3:5] == [f"1 │ {shown}", f"  │ {carets}"]


def test_many_lines():
    lines = _full("a = f(\n    1,\n    2,\n)\n", _reported(start=(1, 5), end=(4, 2)))
    assert lines[2:9] == [
        "  │",
        "1 │   a = f(",
        "  │ ┌─────^",
        "2 │ │     1,",
        "3 │ │     2,",
        "4 │ │ )",
        "  │ └─^",
    ]


def test_very_many_lines_are_left_out():
    text = "\n".join(["f("] + [f"    {number}," for number in range(100)] + [")"])
    lines = _full(text, _reported(start=(1, 1), end=(102, 2)))
    assert len(lines) < 16
    assert any(line.endswith("⋮") for line in lines)


def test_long_lines_are_cut_around_what_is_meant():
    line = "x = [" + "1, " * 500 + "here, " + "2, " * 500 + "]"
    start = line.index("here") + 1
    shown = _full(line, _reported(start=(1, start), end=(1, start + 4)))
    code, carets = shown[3], shown[4]
    assert len(code) < 170
    assert code[carets.index("^") :].startswith("here")
    assert code[4] == code[-1] == "…"
    assert carets.count("^") == 4


def test_places_past_the_end_of_a_file_do_no_harm():
    assert _full("", _reported(start=(9, 9), end=(9, 12)))


def test_what_is_shown_cannot_command_a_terminal():
    assert visible("\x1b]0;x\x07\u202e") == "␛]0;x␇\ufffd"
    assert width("数a🎉é") == 6


def test_findings_can_be_kept_and_read_back():
    place = Place("/p/a.py", 3, (1, 2), (3, 4))
    fix = ReportedFix("t", "unsafe", "why", ((place, "x"),))
    findings = (_reported(related=(("m", place),), fix=fix), _reported())
    assert unpacked(packed(findings)) == findings
