"""No command line that starts the server imports anything from the folder that it is started in."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import depth
import meshlens
from command_line import CLEAN, TYPO, write
from launched import SERVER
from raw_client import Server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUN = ROOT / "bundled" / "run.py"

# Modules that Python, its `-m`, our own packages and their children import; some are imported only while a server runs.
NAMES = (
    "meshlens runpy pkgutil importlib json asyncio logging platform tree_sitter tree_sitter_python pygls lsprotocol "
    "attrs cattrs click jedi parso site sitecustomize usercustomize encodings codecs pickle struct multiprocessing "
    "concurrent ctypes typing_extensions tomllib zlib resource"
).split()


def planted(room: Path) -> tuple[Path, Path]:
    """Makes a workspace that holds every module that Python could import, and the file that shows whether one was."""
    caught, root = room / "caught", room / "workspace"
    trap = f"import io\nio.open({str(caught)!r}, 'a').write(__name__ + chr(10))\n"
    files = {f"{name}.py": trap for name in NAMES}
    # Enough files for the server to start a process beside it.
    files |= {f"big/file_{number}.py": f"A = {'x' * 4000!r}\n" for number in range(60)}
    return caught, write(root, files | {"train.py": TYPO, "pyproject.toml": ""})


def worked(server: Server, root: Path) -> None:
    """Runs a short session in which the server starts all the processes that it runs beside it."""
    options = {"trusted": False, "settings": {"workspaceDiagnostics": True}}
    server.initialize(root, {}, initializationOptions=options)
    uri = (root / "train.py").as_uri()
    server.open(uri, TYPO)
    assert [one["code"] for one in server.findings(uri)] == ["AX101"]
    server.request("workspace/diagnostic", {"previousResultIds": []})
    server.request("workspace/symbol", {"query": ""})


def in_the_documentation() -> list[str]:
    """Returns every command line in the documentation that starts MeshLens with Python."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("walkthrough/*.md"), ROOT / "action.yml"]
    pages += [ROOT / ".pre-commit-hooks.yaml", *ROOT.glob("snippets/*"), *ROOT.glob("server/meshlens/**/*.py")]
    found = [re.findall(r"python\S*(?: -\w)* -m meshlens[^`\n\"]*", page.read_text("utf-8")) for page in pages]
    return [line for lines in found for line in lines]


def test_every_documented_line_isolates_python():
    lines = in_the_documentation()
    assert lines
    assert [line for line in lines if shlex.split(line)[1] != "-I"] == []


STARTED = (("-I", "-m", "meshlens", "server"), SERVER, ("-I", str(RUN), "--tell", "server"))


@pytest.mark.parametrize(
    "code",
    depth.some(
        [
            pytest.param(("-I", "-m", "meshlens", "server")),
            pytest.param(SERVER),
            pytest.param(("-I", str(RUN), "--tell", "server")),
        ],
        1,
    ),
    ids=["module", "tests", "extension"],
)
def test_a_server_imports_nothing_of_its_folder(tmp_path: Path, code: tuple[str, ...]):
    caught, root = planted(tmp_path)
    server = Server(root, code, PYTHONPATH=str(root), MESHLENS_DETECT_DEVICES="1")
    try:
        worked(server, root)
    finally:
        server.stop()
    assert not caught.exists(), caught.read_text()


@pytest.mark.deep
def test_the_extension_runs_nothing_of_the_environment_either(tmp_path: Path):
    """Tests the packaged extension, with its dependencies in `libs` and the workspace on the environment's path."""
    caught, root = planted(tmp_path)
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = next(environment.glob("lib/python3*/site-packages"))
    trap = f"open({str(caught)!r}, 'a').write('site' + chr(10))"
    write(site, {"workspace.pth": f"{root}\n", "trap.pth": f"import os; {trap}\n", "sitecustomize.py": f"{trap}\n"})
    bundled = tmp_path / "extension" / "bundled"
    (bundled / "libs").mkdir(parents=True)
    shutil.copy(RUN, bundled)
    for place in (Path(meshlens.__file__).parents[1], Path(sysconfig.get_paths()["purelib"])):
        for entry in place.iterdir():
            if not (bundled / "libs" / entry.name).exists():
                (bundled / "libs" / entry.name).symlink_to(entry)
    line = ("-I", "-S", str(bundled / "run.py"), "--tell", "server")
    server = Server(root, line, str(environment / "bin" / "python"), PYTHONPATH=str(root), MESHLENS_DETECT_DEVICES="1")
    try:
        worked(server, root)
        assert json.loads(server.log.splitlines()[0])["origin"] == "bundled"
    finally:
        server.stop()
    assert not caught.exists(), caught.read_text()


@pytest.mark.deep
def test_the_traps_would_catch_a_python_that_is_not_isolated(tmp_path: Path):
    caught, root = planted(tmp_path)
    subprocess.run([sys.executable, "-m", "meshlens", "--version"], cwd=root, check=False, capture_output=True)
    assert caught.exists()


@pytest.mark.deep
def test_a_module_line_without_isolation_imports_nothing_after_our_own_first_lines(tmp_path: Path):
    """Tests the guard in `__main__` for users who leave out `-I` and have the working directory in PYTHONPATH."""
    caught, root = tmp_path / "caught", tmp_path / "workspace"
    trap = f"open({str(caught)!r}, 'a').write(__name__ + chr(10))\n"
    write(root, {"click.py": trap, "tree_sitter.py": trap, "train.py": CLEAN})
    package = str(Path(meshlens.__file__).parents[1])
    for path in (f":{package}", f"{root}:{package}", f".:{package}"):
        command = [sys.executable, "-m", "meshlens", "check", "train.py"]
        environment = {"PYTHONPATH": path, "HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=root, env=environment, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert not caught.exists(), caught.read_text()
