"""The neighborhood of a file: with it alone, the file's findings are those of the whole workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import write
from meshlens.checking.check import check
from meshlens.project.solving.neighbours import neighbourhoods
from meshlens.project.solving.solution import Focus
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings

TOUR = Path(__file__).parents[1] / "docs" / "tour"

FILES = {
    "sync.py": "import jax\n\ndef sync(x, axis):\n    return jax.lax.pmean(x, axis)\n",
    "loss.py": "from sync import sync\n\ndef loss(x):\n    return sync(x, 'bacth')\n",
    "train.py": "import jax\nfrom loss import loss\n\ndef main(xs):\n    jax.pmap(loss, axis_name='batch')(xs)\n",
    "other.py": "import jax\n\ndef main(xs):\n    return jax.pmap(lambda x: jax.lax.psum(x, 'a'), axis_name='b')(xs)\n",
}


def _focused(root: Path, name: str) -> list[str]:
    whole = open_workspace([root], files=sorted(root.rglob("*.py")))
    near = neighbourhoods(whole.solution).get(str(root / name))
    if near is None:
        return [str(found) for found in check(whole.view(root / name), Settings())]
    alone = open_workspace([root], files=[root / name])
    files = {Path(path): Path(path).read_bytes() for path in near.files}
    focused = alone.with_files(files).with_focus(Focus(frozenset({str(root / name)}), frozenset(near.roots)))
    assert [found.finding for found in check(focused.view(root / name), Settings())] == [
        found.finding for found in check(whole.view(root / name), Settings())
    ]
    return [found.code for found in check(focused.view(root / name), Settings())]


@pytest.mark.parametrize(("name", "codes"), [("loss.py", ["AX101"]), ("sync.py", []), ("other.py", ["AX101"])])
def test_callers_in_other_files_count(tmp_path: Path, name: str, codes: list[str]):
    write(tmp_path, FILES)
    assert _focused(tmp_path, name) == codes


def test_a_neighbourhood_leaves_out_what_does_not_matter(tmp_path: Path):
    write(tmp_path, FILES)
    near = neighbourhoods(open_workspace([tmp_path], files=sorted(tmp_path.glob("*.py"))).solution)
    assert [Path(path).name for path in near[str(tmp_path / "loss.py")].files] == ["loss.py", "sync.py", "train.py"]
    assert near[str(tmp_path / "sync.py")].roots == ((str(tmp_path / "train.py"), "main"),)


@pytest.mark.parametrize("name", sorted(path.name for path in TOUR.glob("*.py")))
def test_the_tour(name: str):
    _focused(TOUR, name)
