"""The maps of the seed examples, reduced to `vmap` on one device, convert to what the examples show, and run.

Their training steps are reduced further, to a jitted function without a map: see
`cases/assists/convert-to-pmap--seeds.md`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dsl
import numbers_of_programs
import projects
from dsl import Case
from meshlens.refactoring.model import Proposal, Wishes
from meshlens.refactoring.registry import assist_named
from meshlens.text import Span, applied

SEEDS = Path(__file__).parent / "cases" / "seeds"
DEVICES = re.compile(r"jax\.devices\(\)\[:(\d+)\]")


def _shown(case: Case) -> str:
    """Returns an example in the form that works: the one on its page, with the fix applied if JAX rejects it."""
    text = (case.after or case.before)[0].text
    # A vmap has no devices, so the converted map has them as the request spells them.
    found = DEVICES.search(text)
    return text.replace("devices=devices", f"devices={found[0]}") if found is not None else text


EXAMPLES = {
    f"{path.stem}: {case.name.rpartition(' / ')[2]}": _shown(case)
    for path in sorted(SEEDS.glob("*.md"))
    for case in dsl.parse(path.read_text("utf-8"))
    if "jax.pmap" in (case.after or case.before)[0].text
}


def _single(shown: str) -> str:
    return re.sub(r", devices=jax\.devices\(\)\[:\d+\]", "", shown).replace("jax.pmap", "jax.vmap")


def _converted(shown: str, number: int, root: Path) -> str:
    """Returns the example on one device after one of its maps was converted."""
    single = _single(shown)
    project = projects.write(dsl.Case("seed", (dsl.File("main.py", single),), settings=(("devices", "8"),)), root)
    offset = [found.start() for found in re.finditer(r"jax\.vmap", single)][number]
    asked = DEVICES.search(_applications(shown)[number])
    wishes = Wishes(devices=(int(asked[1]) if asked is not None else 8,))
    workspace = project.open()
    view = workspace.view(project.path("main.py"))
    at = len(single[: offset + len("jax.")].encode())
    answer = assist_named("vmap-to-pmap").propose(view, Span(at, at), wishes)
    assert isinstance(answer, Proposal), answer
    return applied(view.source, [edit for _, edit in answer.edits()]).decode()


def _applications(text: str) -> list[str]:
    """Returns the calls or decorators that apply a map, in order, each with the rest of its line."""
    return [text[found.start() :].split("\n")[0] for found in re.finditer(r"jax\.[pv]map", text)]


def _with_one_map(shown: str, number: int) -> str:
    """Returns the example on one device, except for one map, which stays as shown."""
    lines = zip(shown.split("\n"), _single(shown).split("\n"), strict=True)
    found = -1
    kept = []
    for line, single in lines:
        found += "jax.pmap" in line
        kept.append(line if "jax.pmap" in line and found == number else single)
    return "\n".join(kept)


MAPS = [(name, number) for name, text in EXAMPLES.items() for number in range(text.count("jax.pmap"))]


def test_the_seeds_are_there() -> None:
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize(("name", "number"), MAPS)
def test_it_converts_to_what_the_seed_shows(name: str, number: int, tmp_path: Path) -> None:
    converted = _converted(EXAMPLES[name], number, tmp_path)
    assert ast.dump(ast.parse(converted)) == ast.dump(ast.parse(_with_one_map(EXAMPLES[name], number)))


@pytest.mark.jax
@pytest.mark.parametrize(("name", "number"), MAPS)
def test_it_runs_with_the_same_numbers(name: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "single.py").write_text(_single(EXAMPLES[name]), "utf-8")
    (tmp_path / "converted.py").write_text(_converted(EXAMPLES[name], number, tmp_path / "project"), "utf-8")
    assert numbers_of_programs.differences(tmp_path / "single.py", tmp_path / "converted.py") == []
