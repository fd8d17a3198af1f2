"""Hover and definition of a name outside the workspace read sources; they import nothing and read nothing untrusted."""

from __future__ import annotations

import py_compile
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import meshlens
from command_line import write
from launched import EXTENSION
from raw_client import Server

MODULE = ("-I", "-m", "meshlens", "server")
SOURCE = """import jax
from userpkg._c import AXIS
from userpkg._d import AXIS as OTHER
from userpkg.plain import AXIS as PLAIN
import planted


def step(x):
    return jax.lax.psum(x, AXIS) + jax.lax.pmean(x, OTHER) + jax.lax.pmin(x, PLAIN) + jax.lax.pmax(x, planted._c.AXIS)


parallel = jax.pmap(step, axis_name=AXIS)
"""


def mark(caught: Path, name: str) -> str:
    return f"open({str(caught)!r}, 'a').write({name + chr(10)!r})\n"


def compiled(path: Path, text: str) -> None:
    """Makes a module that has no source: only a `.pyc`, which Python imports and nobody can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".txt")
    source.write_text(text)
    py_compile.compile(str(source), str(path), doraise=True)
    source.unlink()


def installed(room: Path, caught: Path, root: Path) -> Path:
    """Makes a Python that has the server and the package in one environment, as with `pip install meshlens userpkg`."""
    environment = room / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = next(environment.glob("lib/python3*/site-packages"))
    write(
        site,
        {
            "dependencies.pth": f"{sysconfig.get_paths()['purelib']}\n{Path(meshlens.__file__).parents[1]}\n",
            # An editable installation of the workspace.
            "workspace.pth": str(root),
            "userpkg/__init__.py": mark(caught, "userpkg"),
            "userpkg/_c.abi3.so": "not a library",
            "userpkg/plain.py": mark(caught, "userpkg.plain") + 'AXIS = "batch"\n',
        },
    )
    compiled(site / "userpkg" / "_d.pyc", mark(caught, "userpkg._d") + 'AXIS = "batch"\n')
    compiled(root / "planted" / "_c.pyc", mark(caught, "planted._c"))
    write(root, {"planted/__init__.py": mark(caught, "planted"), "train.py": SOURCE, "pyproject.toml": ""})
    for name in ("zlib", "jedi", "parso", "json", "token"):
        (root / f"{name}.py").write_text(mark(caught, name))
    return environment / "bin" / "python"


def asked(server: Server, root: Path, text: str) -> tuple[Any, Any]:
    """Returns the answers of hover and definition at the place where a text ends."""
    before = SOURCE[: SOURCE.index(text) + len(text) - 1]
    position = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
    place = {"textDocument": {"uri": (root / "train.py").as_uri()}, "position": position}
    return server.request("textDocument/hover", place), server.request("textDocument/definition", place)


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="the layout is that of other systems")
@pytest.mark.parametrize(("line", "trusted"), [(MODULE, True), (MODULE, False), (EXTENSION, False)])
def test_nothing_is_imported(tmp_path: Path, line: tuple[str, ...], *, trusted: bool):
    caught, root = tmp_path / "caught", tmp_path / "workspace"
    python = installed(tmp_path, caught, root)
    server = Server(root, line, str(python), MESHLENS_DETECT_DEVICES="0")
    try:
        server.initialize(root, {}, initializationOptions={"trusted": trusted})
        server.open((root / "train.py").as_uri(), SOURCE)
        for text in ("psum(x, AXIS", "pmean(x, OTHER", "planted._c.AXIS", "axis_name=AXIS"):
            assert asked(server, root, text) == (None, None)
        shown, places = asked(server, root, "pmin(x, PLAIN")
        if trusted:
            assert shown["contents"]["value"] == 'Axis name "batch".\n\nDefined on line 2 of plain.py in userpkg.'
            assert places[0]["uri"].endswith("/site-packages/userpkg/plain.py")
        else:
            assert (shown, places) == (None, None)
        assert not caught.exists(), caught.read_text()
    finally:
        server.stop()


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="the layout is that of other systems")
def test_the_traps_would_catch_an_import(tmp_path: Path):
    caught, root = tmp_path / "caught", tmp_path / "workspace"
    python = installed(tmp_path, caught, root)
    subprocess.run([python, "-c", "import userpkg._d, planted._c, token"], cwd=root, check=True)
    assert set(caught.read_text().split()) >= {"userpkg", "userpkg._d", "planted", "planted._c"}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("import planted", "ImportError: planted must not be imported here"),
        ("import userpkg", "ImportError: userpkg must not be imported here"),
        ("sys.path = [{root!r}]; import nobodys", "ImportError: nobodys must not be imported here"),
        ("sys.path = [{root!r}]; import zipfile", "ImportError: zipfile must not be imported here"),
        ("import subprocess; subprocess.run([sys.executable, '-V'])", "PermissionError: subprocess.Popen"),
        ("import os; os.system('true')", "PermissionError: os.system"),
    ],
)
def test_the_process_that_asks_jedi_imports_and_starts_nothing(tmp_path: Path, code: str, refused: str):
    caught, own, root = tmp_path / "caught", tmp_path / "own", tmp_path / "root"
    write(own, {f"{name}.py": mark(caught, name) for name in ("planted", "userpkg")})
    write(root, {f"{name}.py": mark(caught, name) for name in ("nobodys", "zipfile")})
    closing = "from meshlens.project.jedi_bridge import import_nothing_else; import_nothing_else()"
    told = f"import sys; sys.path.insert(0, {str(own)!r}); {closing}; sys.modules.pop('zipfile', None)\n"
    told += code.format(root=str(root))
    done = subprocess.run([sys.executable, "-I", "-c", told], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == refused
    assert not caught.exists()
