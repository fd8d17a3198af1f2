"""Every snippet expands to code that runs under JAX and has no findings, in the places where it claims to work."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

import dsl
import projects
from installed import jax_version
from meshlens.jaxapi.history import NEWEST
from meshlens.project.snippets import Snippet, read_snippets
from oracle.rerun import observe
from ports import free_port

PROGRAMS = {
    case.name: case for case in dsl.parse((Path(__file__).parent / "programs_of_snippets.md").read_text("utf-8"))
}
SNIPPETS = {snippet.prefix: snippet for snippet in read_snippets()}
OLDEST = (0, 4, 30)
EVERY = pytest.mark.parametrize("prefix", SNIPPETS)

_PLACE = re.compile(r"^( *)\$snippet$", re.MULTILINE)


def program(snippet: Snippet) -> str:
    """Returns the program around a snippet, with the snippet inserted."""
    [file] = PROGRAMS[snippet.prefix].before
    [place] = _PLACE.finditer(file.text)
    return file.text[: place.start()] + textwrap.indent(snippet.plain, place[1]) + file.text[place.end() :]


def test_there_is_a_program_for_every_snippet() -> None:
    assert list(PROGRAMS) == list(SNIPPETS)


@EVERY
def test_it_says_what_it_needs(prefix: str) -> None:
    text = SNIPPETS[prefix].plain
    ast.parse(text)
    assert max(map(len, text.split("\n"))) <= 120
    assert any(SNIPPETS[prefix].works_with(version) for version in (OLDEST, NEWEST))
    assert SNIPPETS[prefix].works_with(OLDEST) is not ("jax.shard_map" in text)


@EVERY
@pytest.mark.parametrize("version", [OLDEST, NEWEST], ids=lambda version: ".".join(map(str, version)))
def test_nothing_is_found_where_it_claims_to_work(prefix: str, version: tuple[int, ...], tmp_path: Path) -> None:
    if not SNIPPETS[prefix].works_with(version):
        return
    settings = (("devices", "8"), ("jax-version", ".".join(map(str, version))))
    for number, text in enumerate((SNIPPETS[prefix].plain, program(SNIPPETS[prefix]))):
        case = dsl.Case(prefix, (dsl.File("main.py", text + "\n"),), settings=settings)
        project = projects.write(case, tmp_path / str(number))
        assert [f"{one.mark.code}: {one.mark.message}" for one in project.found(project.open())] == []


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    room = tmp_path_factory.mktemp("snippets")
    port = str(free_port())
    todo = []
    for prefix, snippet in SNIPPETS.items():
        path = room / f"{prefix.replace('-', '_')}.py"
        path.write_text(program(snippet).replace("12345", port), "utf-8")
        todo.append((path, None))
    return dict(zip(SNIPPETS, observe(todo), strict=True))


@pytest.mark.jax
@EVERY
def test_it_runs(prefix: str, outcomes: dict[str, dict[str, object]]) -> None:
    if SNIPPETS[prefix].works_with(jax_version()):
        assert outcomes[prefix]["runs"], outcomes[prefix]["message"]
