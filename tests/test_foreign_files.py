"""Unusable files: a device, a pipe or a folder with a name that MeshLens reads costs a message, never the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import depth
import meshlens as meshlens_package
from command_line import TYPO, meshlens, write
from meshlens.foreign_files import NOTE, SOURCE, Unread, read_bytes, read_text

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="devices and pipes have no names in a folder there"),
    pytest.mark.slow,
]

PACKAGE = str(Path(meshlens_package.__file__).parents[1])
SECONDS = 120
MEMORY = 3 << 30

LOOKED_FOR = (
    ".gitignore .pdm-python .python-version .venv/pyvenv.cfg Pipfile.lock environment.yml jax/version.py meshlens.toml "
    "pdm.lock pixi.lock poetry.lock pylock.toml pyproject.toml requirements.txt requirements/gpu.txt setup.cfg "
    "setup.py uv.lock venv/pyvenv.cfg known.json environment.yaml other.py book.ipynb"
).split()

EVERYTHING = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from pathlib import Path
from meshlens.cli.main import main
from meshlens.devices.interpreters import find_interpreters
from meshlens.devices.trust import interpreter_leads_into
from meshlens.project.jedi_bridge import package_paths
from meshlens.settings import Settings
here = Path.cwd()
list(find_interpreters(here))
interpreter_leads_into(str(here / ".venv" / "bin" / "python"), (here / "elsewhere",))
package_paths(here, Settings())
main(["check", "--output-format", "concise", "--no-cache", "--baseline", "known.json", "a.py", "."])
"""


def _everything(root: Path) -> subprocess.CompletedProcess[str]:
    """Reads all that MeshLens reads in a folder, with bounded memory and time."""
    return subprocess.run(
        [sys.executable, "-c", EVERYTHING, str(MEMORY)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": PACKAGE, "HOME": str(root)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def _project(root: Path) -> Path:
    files = {"a.py": TYPO, ".git/HEAD": "", "jax/lax/__init__.py": "", ".venv/bin/python": "", "venv/bin/python": ""}
    return write(root, {**files, "known.json": '{"version": 1, "findings": {}}'})


def _placed(root: Path, name: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


@pytest.mark.parametrize("name", depth.some([*LOOKED_FOR], 4))
def test_a_link_to_an_endless_device(tmp_path, name):
    _placed(_project(tmp_path), name).symlink_to("/dev/zero")
    ran = _everything(tmp_path)
    assert "AX101" in ran.stdout, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "nternal error" not in ran.stderr


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "terabyte"])
def test_nothing_that_is_no_file_of_its_size_is_waited_for(tmp_path, kind):
    _project(tmp_path)
    for name in LOOKED_FOR:
        path = _placed(tmp_path, name)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "loop":
            path.symlink_to(path.name)
        else:
            with path.open("wb") as file:
                file.truncate(1 << 40)
    if kind == "terabyte":
        # The project's own configuration would stop the run if it were a terabyte long.
        (tmp_path / "meshlens.toml").unlink()
    ran = _everything(tmp_path)
    assert "AX101" in ran.stdout, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "nternal error" not in ran.stderr


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("device", "cannot be read: it is a device or a pipe; replace it with a regular file"),
        ("pipe", "cannot be read: it is a device or a pipe; replace it with a regular file"),
        ("folder", "cannot be read: it is a folder, not a file"),
        ("gone", "cannot be read: No such file or directory"),
        ("loop", "cannot be read: Too many levels of symbolic links"),
        ("long name", "cannot be read: File name too long"),
        ("NUL", "cannot be read: its name contains characters that are not allowed in file names"),
        ("large", "larger than 10,000,000 bytes, the most that MeshLens reads; exclude it or make it smaller"),
    ],
)
def test_each_is_one_sentence(tmp_path, kind, said):
    path = tmp_path / {"long name": "n" * 400, "NUL": "a\0b"}.get(kind, "file")
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to("file")
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(SOURCE + 1)
    assert read_bytes(path, SOURCE) == Unread(said)
    assert read_text(path, SOURCE) == ""


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_must_not_be_read(tmp_path):
    path = tmp_path / "secret.py"
    path.write_text("x = 1\n")
    path.chmod(0)
    assert read_bytes(path, SOURCE) == Unread("cannot be read: Permission denied")


def test_all_of_a_file_is_read_up_to_the_last_byte_that_is_allowed(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 5_000_000)
    assert read_bytes(tmp_path / "file", 5_000_000) == b"x" * 5_000_000
    assert isinstance(read_bytes(tmp_path / "file", 4_999_999), Unread)
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link", 5_000_000) == b"x" * 5_000_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has files without a size")
def test_a_file_without_a_size_is_read():
    assert read_text("/proc/self/status", NOTE).startswith("Name:")


def test_no_descriptor_is_left_open(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for _ in range(20):
        for name in ("pipe", "file", "gone", "."):
            read_bytes(tmp_path / name, 0)
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)


def test_a_source_that_is_a_device_is_named_and_the_rest_is_checked(tmp_path):
    write(tmp_path, {"a.py": TYPO, "main.py": "import huge\n"})
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(SOURCE + 1)
    ran = meshlens("check", "--output-format", "concise", "--no-cache", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("meshlens: huge.py: larger than 10,000,000 bytes, ")
    assert len(ran.err.splitlines()) == 1
    assert "AX101" in ran.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 100_000, "not a baseline: nested too deeply"),
        (b"\xff", "not a baseline: "),
        (
            b'{"version": 1, "findings": {"a.py": [{"code": "A", "message": "", "line": "", "count": 1e999}]}}',
            "an entry",
        ),
        (b'{"version": 1, "findings": {"a.py": 3}}', "an entry"),
    ],
)
def test_a_baseline_that_others_wrote(tmp_path, content, said):
    ran = meshlens("check", "--baseline", "known.json", cwd=write(tmp_path, {"a.py": TYPO, "known.json": content}))
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
