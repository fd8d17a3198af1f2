"""python-lsp-server with our plugin: its own answers stay, and ours are added."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from real_editors import FIXED, absent, project
from wire import Wire, wire

pytestmark = pytest.mark.editors


@pytest.fixture
def pylsp(tmp_path: Path) -> Iterator[Wire]:
    if importlib.util.find_spec("pylsp") is None:
        absent("python-lsp-server")
    with wire([sys.executable, "-m", "pylsp"], project(tmp_path)) as made:
        made.open("names.py")
        made.open("train.py")
        yield made


def _names(places: list[dict[str, Any]]) -> list[str]:
    return sorted({Path(one["uri"]).name for one in places})


def test_findings_and_fixes(pylsp: Wire):
    (found,) = pylsp.findings("train.py", "meshlens", 1)
    assert found["code"] == "AX101"
    asked = {
        "textDocument": {"uri": pylsp.uri("train.py")},
        "range": found["range"],
        "context": {"diagnostics": [found]},
    }
    best = next(one for one in pylsp.ask("textDocument/codeAction", asked) if one.get("isPreferred"))
    ((edit,),) = (best["edit"].get("changes") or {"": best["edit"]["documentChanges"][0]["edits"]}).values()
    assert (edit["range"], edit["newText"]) == (found["range"], '"batch"')
    pylsp.change("train.py", FIXED, 2)
    assert not pylsp.findings("train.py", "meshlens", 0)


def test_hover_is_ours_for_axes_and_theirs_for_the_rest(pylsp: Wire):
    def said(name: str, text: str, shift: int) -> str:
        return str(pylsp.ask("textDocument/hover", pylsp.place(name, text, shift))["contents"])

    assert "batch" in said("train.py", "pmean", 2)
    pylsp.open("plain.py", "def twice(x):\n    return 2 * x\n\n\ntwice(1)\n")
    assert "twice(x)" in said("plain.py", "twice(1", 2)
    assert not pylsp.findings("plain.py", "meshlens", 0)


def test_completion_is_of_both(pylsp: Wire):
    def offered(name: str, text: str, shift: int) -> list[str]:
        found = pylsp.ask("textDocument/completion", pylsp.place(name, text, shift))
        return [one["label"] for one in found["items"]]

    assert "batch" in offered("train.py", "bacth", 0)
    pylsp.open("plain.py", "from names import AXIS\n\nAX")
    assert offered("plain.py", "\nAX", 3) == ["AXIS"]


def test_an_axis_is_followed_and_renamed_from_its_string(pylsp: Wire):
    at = pylsp.place("train.py", '"batch"', 2)
    assert _names(pylsp.ask("textDocument/definition", at)) == ["train.py"]
    of_name = pylsp.place("train.py", "axis_name=AXIS", 12)
    assert len(pylsp.ask("textDocument/definition", of_name)) == 1
    context = {"context": {"includeDeclaration": True}}
    assert _names(pylsp.ask("textDocument/references", {**at, **context})) == ["names.py", "train.py"]
    edit = pylsp.ask("textDocument/rename", {**at, "newName": "rows"})
    assert {Path(uri).name for uri in edit["changes"]} == {"names.py", "train.py"}


def test_findings_in_the_cells_of_a_notebook(pylsp: Wire):
    texts = [
        "%matplotlib inline\nimport jax\n",
        'x = "é𝛼"; jax.pmap(lambda x: jax.lax.psum(x, "modle"), axis_name="model")',
    ]
    cells = [{"uri": f"vscode-notebook-cell:/n.ipynb#{number}", "text": text} for number, text in enumerate(texts)]
    book = {"uri": pylsp.uri("n.ipynb"), "notebookType": "jupyter-notebook", "version": 1}
    book["cells"] = [{"kind": 2, "document": cell["uri"]} for cell in cells]
    items = [{**cell, "languageId": "python", "version": 1} for cell in cells]
    pylsp.tell("notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": items})
    (found,) = pylsp.findings(cells[1]["uri"], "meshlens", 1)
    column = len(texts[1][: texts[1].index('"modle"')].encode("utf-16-le")) // 2
    assert found["range"]["start"] == {"line": 0, "character": column}
    assert not pylsp.findings(cells[0]["uri"], "meshlens", 0)


def test_it_ends_when_it_is_told_to(pylsp: Wire):
    assert pylsp.close() == 0
