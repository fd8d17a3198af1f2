"""In twenty files without JAX, every request gets an empty answer, wherever it is made."""

from __future__ import annotations

import random
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import depth
from launched import SERVER
from wire import Wire, wire

pytestmark = pytest.mark.slow

FILES = """
argparse ast bisect calendar configparser contextlib csv dataclasses difflib enum
functools heapq inspect json/decoder logging/__init__ pathlib shutil statistics textwrap zipfile
""".split()
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
PLACES = 40

AT_A_PLACE = (
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/documentHighlight",
)
ANSWERED_ASIDE = ("textDocument/references", "textDocument/prepareRename", "textDocument/prepareCallHierarchy")
"""In a project of this size the process beside the server answers these, which takes longer, so tests send fewer."""
OF_A_FILE = ("textDocument/documentSymbol", "textDocument/codeLens")
OF_A_RANGE = ("textDocument/inlayHint", "textDocument/codeAction")
SETTINGS = {"settings": {"codeLens": True, "inlayHints": {"axes": True, "sizes": True}, "devices": 8}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("plain")
    for name in FILES:
        # `pathlib` and other modules became packages in newer Pythons.
        source = next(path for path in (LIBRARY / f"{name}.py", LIBRARY / name / "__init__.py") if path.is_file())
        path = root / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(source.read_bytes())
    with wire([sys.executable, *SERVER], root, SETTINGS) as made:
        yield made


@pytest.mark.parametrize("name", depth.some([*FILES], 1))
def test_nothing_is_answered(server: Wire, name: str):
    name = f"{name}.py"
    document = {"textDocument": {"uri": server.open(name)}}
    answers: list[tuple[str, Any]] = []
    for number, at in enumerate(_places(server, name)):
        for method in AT_A_PLACE + (ANSWERED_ASIDE if number % 10 == 0 else ()):
            context = {"context": {"includeDeclaration": True}} if method.endswith("references") else {}
            answers.append((f"{method} {at['position']}", server.ask(method, {**at, **context})))
    lines = server.texts[server.uri(name)].count("\n")
    whole = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}}}
    answers += [(method, server.ask(method, document)) for method in OF_A_FILE]
    answers += [
        (method, server.ask(method, {**document, **whole, "context": {"diagnostics": []}})) for method in OF_A_RANGE
    ]
    assert [one for one in answers if one[1]] == []
    assert server.findings(name, "meshlens", 0) == []


def test_the_workspace_has_no_symbols(server: Wire):
    assert not server.ask("workspace/symbol", {"query": ""})


def _places(server: Wire, name: str) -> list[dict[str, Any]]:
    """Returns places all over a file: in names, strings, calls, between words; the same ones in every run."""
    lines = server.texts[server.uri(name)].split("\n")
    chance = random.Random(name)
    full = [number for number, line in enumerate(lines) if line.strip()]
    made = []
    for number in sorted(chance.sample(full, min(PLACES, len(full)))):
        line = lines[number]
        marks = [index + 1 for index, letter in enumerate(line) if letter in "(.,'\"="]
        column = chance.choice(marks) if marks and chance.random() < 0.5 else chance.randrange(len(line) + 1)
        made.append({"textDocument": {"uri": server.uri(name)}, "position": {"line": number, "character": column}})
    return made
