"""The layout of the source: small files with docstrings, one rule per file, nothing specific to one machine."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from command_line import write

ROOT = Path(__file__).parents[1]
SERVER = ROOT / "server" / "meshlens"
SOURCES = sorted(SERVER.rglob("*.py"))
CLIENT = sorted((ROOT / "client" / "src").rglob("*.ts")) + sorted((ROOT / "client" / "test").rglob("*.ts"))
RULES = sorted(path for path in (SERVER / "rules").glob("*.py") if not path.name.startswith("_"))

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|work|tmp|Users)/\w+")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_a_file_says_what_it_is(path):
    text = path.read_text("utf-8")
    if path.name == "__init__.py":
        assert text.count("\n") <= 20, "an __init__ is a table of contents"
        return
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "no module docstring"
    first = docstring.split("\n")[0]
    assert first.endswith((".", "?")), f"the first line is a sentence: {first}"


@pytest.mark.parametrize("path", CLIENT, ids=_name)
def test_a_file_of_the_client_says_what_it_is(path):
    lines = path.read_text("utf-8").splitlines()
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
    from meshlens.checking.registry import all_rules

    codes = [rule.code for rule in all_rules()]
    assert len(codes) == len(RULES)
    assert sorted(set(codes)) == codes


def test_nothing_of_one_machine_is_in_the_tree():
    found = []
    for name in _tree(ROOT) or [_name(path) for path in SOURCES]:
        path = ROOT / name
        if name.startswith("tests/oracle/programs/") or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").split("\n"), start=1):
            if MACHINE_PATH.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found


def test_a_virtual_environment_of_any_name_is_not_of_the_tree(tmp_path: Path):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    files = {"a.py": "", "b/c.py": "", "my tools/pyvenv.cfg": "home = x\n", "my tools/lib/d.py": ""}
    assert _tree(write(tmp_path, files)) == ["a.py", "b/c.py"]


def _tree(root: Path) -> list[str]:
    """Returns the files that git tracks or would add, except those of virtual environments; none outside of git."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=False)
    names = [name for name in listed.stdout.split("\0") if (root / name).is_file()]
    environments = tuple(name.removesuffix("pyvenv.cfg") for name in names if Path(name).name == "pyvenv.cfg")
    return [name for name in names if not name.startswith(environments or "\0")]


def test_the_pattern_for_machine_paths_can_match():
    home = "/" + "home/someone/project"
    assert MACHINE_PATH.search(f'PATH = "{home}"')
    assert not MACHINE_PATH.search("https://example.org/home/page")


def test_snippets_are_python():
    snippets = json.loads((ROOT / "snippets" / "meshlens.code-snippets").read_text("utf-8"))
    for snippet in snippets.values():
        assert snippet["prefix"]
        assert snippet["description"]
        assert snippet["scope"] == "python"
        ast.parse(expanded(snippet["body"]))


def expanded(body: str | list[str]) -> str:
    """Returns what remains of a snippet if every placeholder keeps its default."""
    text = body if isinstance(body, str) else "\n".join(body)
    while (simpler := re.sub(r"\$\{\d+:([^${}]*)\}", r"\1", text)) != text:
        text = simpler
    return re.sub(r"\$\d+", "", text)
