"""The disk may change under the server, fail, or hold more files than anybody reads."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import depth
from command_line import write
from raw_client import PULLS, served

pytestmark = pytest.mark.slow

WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'


@pytest.mark.deep
def test_a_workspace_folder_that_is_deleted(tmp_path: Path):
    root = write(tmp_path / "project", {"names.py": 'AXIS = "batch"\n', "pyproject.toml": "[project]\nname='x'\n"})
    text = WRONG.replace('"bacth"', "AXIS").replace("import jax\n", "import jax\nfrom names import AXIS\n")
    with served(root, PULLS) as server:
        uri = (root / "train.py").as_uri()
        server.open(uri, text)
        assert server.findings(uri) == []
        shutil.rmtree(root)
        changes = [{"uri": (root / name).as_uri(), "type": 3} for name in ("names.py", "pyproject.toml")]
        server.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        server.change(uri, 2, {"text": WRONG})
        assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        server.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        server.open((root / "new.py").as_uri(), WRONG)
        assert len(server.findings((root / "new.py").as_uri())) == 1
        server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        server.request("workspace/symbol", {"query": ""})
        assert server.log.count(f"the folder {root} is gone") == 1
        assert "Traceback" not in server.log


ROOT_MAY_WRITE = pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")


@pytest.mark.parametrize("kind", depth.some(["a file", "nowhere", pytest.param("not ours", marks=ROOT_MAY_WRITE)], 1))
def test_a_cache_that_cannot_be_written(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "caches"
    monkeypatch.setenv("MESHLENS_CACHE_DIR", str(folder))
    root = write(tmp_path / "project", {f"part{number}.py": WRONG + "# " + "x" * 30_000 + "\n" for number in range(9)})
    if kind == "a file":
        folder.write_text("")
    elif kind == "nowhere":
        folder.symlink_to(tmp_path / "gone" / "away")
    else:
        folder.mkdir(mode=0o500)
    with served(root, PULLS) as server:
        uri = (root / "part1.py").as_uri()
        server.open(uri, WRONG)
        assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        assert len(server.request("workspace/symbol", {"query": ""})) == 9
        assert f"cannot use a cache in {folder}: " in server.log
        assert "Traceback" not in server.log


@pytest.mark.deep
def test_typing_is_answered_in_a_workspace_of_20000_files(tmp_path: Path):
    for number in range(200):
        folder = tmp_path / f"package{number}"
        folder.mkdir()
        for other in range(100):
            (folder / f"module{other}.py").write_text(f"import os\n\nx{other} = {number}\n")
    far = tmp_path / "package7" / "far.py"
    far.write_text(WRONG)
    with served(tmp_path, PULLS) as server:
        uri = (tmp_path / "train.py").as_uri()
        server.open(uri, WRONG)
        everything = server.ask("workspace/symbol", {"query": ""})
        for version in range(2, 300):
            assert [one["code"] for one in server.findings(uri)] == ["AX101"]
            server.change(uri, version, {"text": WRONG + "#" * version})
        # The process beside the server has read them all by now, or is still reading them.
        found = {one["location"]["uri"] for one in server.answer(everything, 300)}
        assert found == {uri, far.as_uri()}
        server.change(uri, 300, {"text": WRONG.replace("bacth", "batch")})
        assert server.findings(uri) == []
