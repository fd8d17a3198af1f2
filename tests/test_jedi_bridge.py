"""Names from installed packages: where they are defined, found without running anything in the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import write
from meshlens.project.jedi_bridge import look_up, package_paths
from meshlens.settings import Settings

PACKAGE = {
    "somepkg/__init__.py": "from somepkg.constants import AXIS\nraise RuntimeError('this was run')\n",
    "somepkg/constants.py": """é = 1; AXIS = "batch"
BOTH = ("data", "model")
SAME = AXIS


def name():
    return AXIS
""",
    "somepkg/fast.so": "not a library",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    site = ".venv/lib/python3.11/site-packages"
    return write(tmp_path, {f"{site}/{name}": text for name, text in PACKAGE.items()} | {"train.py": ""})


@pytest.mark.parametrize(
    ("dotted", "line", "text", "names"),
    [
        ("somepkg.constants.AXIS", 1, "AXIS", ("batch",)),
        ("somepkg.AXIS", 1, "AXIS", ("batch",)),
        ("somepkg.constants.BOTH", 2, "BOTH", ("data", "model")),
        ("somepkg.constants.SAME", 3, "SAME", ()),
        ("somepkg.constants.name", 6, "name", ()),
    ],
)
def test_where_a_name_is_written(root: Path, dotted: str, line: int, text: str, names: tuple[str, ...]):
    found = look_up(dotted, root, package_paths(root, Settings()))
    assert found is not None
    assert (found.path.name, found.line, found.names) == ("constants.py", line, names)
    assert found.path.read_bytes()[found.span.start : found.span.end].decode() == text


@pytest.mark.filterwarnings("ignore:Module somepkg.fast not importable")
@pytest.mark.parametrize("dotted", ["somepkg.none", "nowhere.AXIS", "somepkg.fast.AXIS", "AXIS", "a b.c"])
def test_what_cannot_be_found(root: Path, dotted: str):
    assert look_up(dotted, root, package_paths(root, Settings())) is None
