"""The seed examples under JAX: correct ones run, faulty ones fail, and after their fixes the faulty ones run too."""

from __future__ import annotations

from pathlib import Path

import pytest

import dsl
from oracle.rerun import observe

SEEDS = Path(__file__).parent / "cases" / "seeds"
CASES = {
    f"{path.stem}: {case.name}": case
    for path in sorted(SEEDS.glob("*.md"))
    for case in dsl.parse(path.read_text("utf-8"))
}


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, object]]:
    room = tmp_path_factory.mktemp("seeds")
    keys, todo = [], []
    for number, (name, case) in enumerate(CASES.items()):
        for when, files in (("before", case.before), ("after", case.after or ())):
            for file in files:
                path = room / f"{number}_{when}" / Path(file.name).with_suffix(".py")
                path.parent.mkdir()
                path.write_text(file.text, "utf-8")
                keys.append((name, when))
                todo.append((path, None))
    return dict(zip(keys, observe(todo), strict=True))


@pytest.mark.jax
@pytest.mark.parametrize("name", CASES)
def test_jax_refuses_what_is_reported(name: str, outcomes: dict[tuple[str, str], dict[str, object]]) -> None:
    case = CASES[name]
    reported = any(file.marks for file in case.before)
    before = outcomes[name, "before"]
    assert before["runs"] is not reported, before["message"]
    if case.after is not None:
        after = outcomes[name, "after"]
        assert after["runs"], after["message"]
