"""A fault of ours costs only what it happened in: one line names it, the rest is reported, the exit code shows it."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import meshlens
from meshlens.axes.python import statements
from meshlens.checking.check import check
from meshlens.checking.registry import all_rules
from meshlens.facts import extract
from meshlens.facts.model import FileFacts
from meshlens.project.disk import pool
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings
from meshlens.text import Edit, Span

PLANTED = """\
import jax


def total(x):
    return jax.lax.psum(x, "bacth")


jax.pmap(total, axis_name="batch")
"""
STUMBLES = PLANTED.replace("bacth", "typo") + "\n\nif stumble:\n    pass\n"
SILENT = "import jax\n\nif stumble:\n    jax.devices()\n"


def _fails(*_: Any) -> Any:
    raise RuntimeError("a planted fault\nof two lines")


@pytest.fixture
def fault_in_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the interpreter fail in an `if` on `stumble`."""
    runs = statements._STATEMENTS["if"]

    def run_if(run: Any, node: Any, frame: Any, ctx: Any) -> Any:
        return _fails() if node[2][2] == "stumble" else runs(run, node, frame, ctx)

    monkeypatch.setitem(statements._STATEMENTS, "if", run_if)


@pytest.mark.usefixtures("fault_in_a_statement")
@pytest.mark.parametrize("how", ["json", "sarif", "concise"])
def test_a_fault_in_one_module_leaves_the_findings_of_others(tmp_path: Path, how: str) -> None:
    (tmp_path / "a.py").write_text(STUMBLES)
    (tmp_path / "b.py").write_text(PLANTED)
    ran = meshlens("check", ".", "--no-cache", "--output-format", how, cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "meshlens: a.py: following axis names failed (RuntimeError: a planted fault of two lines); "
        "everything else was checked; please report this"
    ]
    assert ran.out.count("AX101") == 1 if how != "sarif" else "bacth" in ran.out
    if how != "concise":
        read = json.loads(ran.out)
        assert how == "json" or not read["runs"][0]["invocations"][0]["executionSuccessful"]


@pytest.mark.usefixtures("fault_in_a_statement")
@pytest.mark.parametrize("more", [(), ("--exit-zero",), ("--diff",)])
def test_a_fault_where_nothing_is_found_is_told_by_the_exit_code(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "a.py").write_text(SILENT)
    assert meshlens("check", ".", "--no-cache", *more, cwd=tmp_path).code == 2


@pytest.mark.usefixtures("fault_in_a_statement")
def test_a_fault_in_a_function_leaves_the_findings_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{PLANTED}\n\ndef more(x):\n    if stumble:\n        return jax.pmap(total)(x)\n")
    ran = meshlens("check", ".", "--no-cache", "--output-format", "concise", cwd=tmp_path)
    assert (ran.code, ran.out.count("AX101")) == (1, 1)
    assert ran.err.startswith("meshlens: a.py: following axis names from more failed (RuntimeError: ")


@pytest.mark.usefixtures("fault_in_a_statement")
def test_what_failed_is_not_kept_in_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meshlens.toml").write_text("")
    (tmp_path / "a.py").write_text(STUMBLES)
    assert meshlens("check", ".", cwd=tmp_path).code == 2
    monkeypatch.undo()
    assert meshlens("check", ".", cwd=tmp_path).code == 1


def test_a_fault_in_a_rule_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text(PLANTED + "jax.pmap(total)(1)\n")
    rule = next(one for one in all_rules() if one.code == "AX302")
    monkeypatch.setattr("meshlens.checking.check.selected_rules", lambda _: [_broken(rule), *_without(rule)])
    ran = meshlens("check", ".", "--no-cache", "--output-format", "concise", cwd=tmp_path)
    assert ran.code == 1
    assert "AX101" in ran.out
    assert ran.err.startswith("meshlens: a.py: rule AX302 failed (RuntimeError: a planted fault of two lines); ")


def _broken(rule: Any) -> Any:
    return replace(rule, run=_fails)


def _without(rule: Any) -> list[Any]:
    return [one for one in all_rules() if one is not rule]


def test_a_file_that_cannot_be_read_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text(STUMBLES)
    (tmp_path / "b.py").write_text(PLANTED)
    whole = extract.facts_of

    def facts_of(text: bytes, *rest: Any) -> Any:
        return _fails() if b"stumble" in text else whole(text, *rest)

    monkeypatch.setattr(extract, "facts_of", facts_of)
    ran = meshlens("check", ".", "--no-cache", "--output-format", "concise", cwd=tmp_path)
    assert (ran.code, ran.out.count("AX101")) == (1, 1)
    assert ran.err.startswith("meshlens: a.py: reading it failed (RuntimeError: a planted fault of two lines); ")


@pytest.mark.skipif(os.name != "posix", reason="workers are forked")
def test_a_file_that_ends_its_worker_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"import jax\nx{number} = {number}\n".encode() for number in range(40)]
    texts[7], texts[20] = b"ends\n", b"ends too\n"
    whole = pool.extract

    def extracted(source: bytes, memo: Any = None) -> FileFacts:
        if source.startswith(b"ends"):
            os._exit(1)
        return whole(source, memo)

    monkeypatch.setattr(pool, "extract", extracted)
    monkeypatch.setattr(pool, "_WORTH_A_POOL", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = [one.facts for one in pool.extract_all(texts, is_stored=False)]
    assert [place for place, facts in enumerate(found) if facts.failure] == [7, 20]
    assert all(facts.top for place, facts in enumerate(found) if place not in (7, 20))


@pytest.mark.usefixtures("fault_in_a_statement")
def test_the_editor_keeps_its_other_findings(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    overlay = {paths[0]: SILENT.encode(), paths[1]: PLANTED.encode()}
    workspace = open_workspace([tmp_path], files=paths, overlay=overlay)
    with caplog.at_level(logging.WARNING):
        assert [one.code for one in check(workspace.view(paths[1]), Settings())] == ["AX101"]
        workspace = workspace.with_edits(paths[0], [Edit(Span(0, 0), "# typed\n")])
        assert [one.code for one in check(workspace.view(paths[1]), Settings())] == ["AX101"]
        assert len(workspace.solution.failures) == 1
        at = workspace.files[str(paths[0])].source.index(b"stumble")
        workspace = workspace.with_edits(paths[0], [Edit(Span(at, at + 7), "False")])
    assert not workspace.solution.failures
    assert not caplog.records


def test_specs_of_a_call_with_a_keyword_argument_end_no_rule():
    program = b"""\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((8,), ("i",))
jax.shard_map(lambda x, y: x, mesh=mesh, in_specs=(P("i"),), out_specs=P("i"))(jnp.ones(8), y=jnp.ones(8))
"""
    path = Path("/a/main.py")
    workspace = open_workspace([Path("/a")], files=[path], overlay={path: program})
    assert [one.code for one in check(workspace.view(path), Settings())] == ["AX208"]
    assert not workspace.solution.failures
