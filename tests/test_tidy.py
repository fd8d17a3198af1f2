"""How the source looks: small files that say what they are, one rule to a file, nothing of one machine."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SERVER = ROOT / "server" / "meshlens"
SOURCES = sorted(SERVER.rglob("*.py"))
CLIENT = sorted((ROOT / "client" / "src").rglob("*.ts")) + sorted((ROOT / "client" / "test").rglob("*.ts"))
RULES = sorted(path for path in (SERVER / "rules").glob("*.py") if not path.name.startswith("_"))

RELEASED = SERVER / "jaxapi" / "released.py"
"""A table that tests/bench/releases.py writes."""

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|work|tmp|Users)/\w+")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_a_file_is_small_and_says_what_it_is(path):
    text = path.read_text("utf-8")
    lines = text.count("\n")
    if path.name == "__init__.py":
        assert lines <= 20, "an __init__ is a table of contents"
        return
    assert lines <= 400 or path == RELEASED, "split it by noun"
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "no module docstring"
    first = docstring.split("\n")[0]
    assert first.endswith((".", "?")), f"the first line is a sentence: {first}"


@pytest.mark.parametrize("path", CLIENT, ids=_name)
def test_a_file_of_the_client_is_small_and_says_what_it_is(path):
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= 300, "split it by noun"
    assert re.fullmatch(r"// .*\.", lines[0]) or path.name.endswith(".test.ts"), f"no sentence: {lines[0]}"


@pytest.mark.parametrize("path", RULES, ids=_name)
def test_a_rule_file_holds_one_rule_of_its_name(path):
    tree = ast.parse(path.read_text("utf-8"))
    public = [
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
    ]
    assert public == [path.stem]
    docstring = ast.get_docstring(tree) or ""
    assert "```python" in docstring, "the page of a rule has an example"


def test_codes_and_names_are_unique():
    from meshlens.rules._registry import all_rules

    codes = [rule.code for rule in all_rules()]
    assert len(codes) == len(RULES)
    assert sorted(set(codes)) == codes


def test_nothing_of_one_machine_is_in_the_tree():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    names = listed.stdout.split("\n") if listed.returncode == 0 else [_name(path) for path in SOURCES]
    found = []
    for name in names:
        path = ROOT / name
        if not path.is_file() or name.startswith("tests/oracle/programs/") or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").split("\n"), start=1):
            if MACHINE_PATH.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found


def test_the_pattern_for_machine_paths_can_match():
    home = "/" + "home/someone/project"
    assert MACHINE_PATH.search(f'PATH = "{home}"')
    assert not MACHINE_PATH.search("https://example.org/home/page")


def test_snippets_are_python():
    manifest = json.loads((ROOT / "package.json").read_text("utf-8"))
    for entry in manifest["contributes"]["snippets"]:
        snippets = json.loads((ROOT / entry["path"]).read_text("utf-8"))
        for snippet in snippets.values():
            assert snippet["prefix"]
            assert snippet["description"]
            assert snippet["scope"] == "python"
            ast.parse(expanded(snippet["body"]))


def expanded(body: str | list[str]) -> str:
    """What a snippet leaves when every placeholder keeps its default."""
    text = body if isinstance(body, str) else "\n".join(body)
    while (simpler := re.sub(r"\$\{\d+:([^${}]*)\}", r"\1", text)) != text:
        text = simpler
    return re.sub(r"\$\d+", "", text)
