"""Output formats: valid by their schemas, and with correct positions whatever characters a line holds."""

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
from meshlens.cli.formats import NAMES, render
from meshlens.cli.printing.report import Place, ReportedFix, packed, unpacked
from reports import report_of, reported

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
    """Yields the workflow commands as GitHub's runner reads them."""
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
    text = render("github", report_of(reported(end=(4, 2))))
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
    text = render("junit", report_of(reported(message='a \x00 \x1b[31m <&> " \ud800')))
    failure = next(ElementTree.fromstring(text.encode("utf-8", "replace")).iter("failure"))
    assert failure.attrib["message"] == 'a \ufffd \ufffd[31m <&> " \ufffd'


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("full", "concise")])
def test_machines_read_findings_only(project, name):
    out = _out(project, name)
    assert "Found 4 errors" not in out
    assert "\x1b" not in out


def test_findings_can_be_kept_and_read_back():
    place = Place("/p/a.py", 3, (1, 2), (3, 4))
    fix = ReportedFix("t", "unsafe", "why", ((place, "x"),))
    findings = (reported(related=(("m", place),), fix=fix), reported())
    assert unpacked(json.loads(json.dumps(packed(findings)))) == findings
