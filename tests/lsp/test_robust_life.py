"""The server ends with its client and answers a thousand requests at once, and a crash costs one answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import depth
from command_line import write
from raw_client import PULLS, Failed, Server, served

pytestmark = pytest.mark.slow

CANCELLED = -32800
CLIENT = {**PULLS, "window": {"workDoneProgress": True}}
WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'
LINUX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def _children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _ended(process: int, seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not _lives(process):
            return True
        time.sleep(0.02)
    return False


def _code(server: Server, number: int) -> int:
    try:
        server.answer(number)
    except Failed as error:
        return int(error.code)
    return 0


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Writes a project so large that a process beside the server reads it."""
    return write(tmp_path, {f"part{number}.py": WRONG + "# " + "x" * 30_000 + "\n" for number in range(9)})


def _with_process_aside(server: Server, root: Path) -> int:
    server.open((root / "part1.py").as_uri(), WRONG)
    for _ in range(3000):
        server.settle(0.02)
        if found := _children(server.process.pid):
            return found[0]
    raise AssertionError("no process beside the server")


@LINUX
@pytest.mark.parametrize("how", depth.some(["stdin", "kill", "stdout"], 1))
def test_a_client_that_disappears(large: Path, how: str):
    server = Server(large)
    try:
        server.initialize(large, CLIENT)
        aside = _with_process_aside(server, large)
        assert server.process.stdin is not None and server.process.stdout is not None
        if how == "kill":
            server.process.kill()
        elif how == "stdin":
            server.process.stdin.close()
        else:
            server.process.stdout.close()
            server.ask("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {}})
        assert _ended(server.process.pid)
        # Python itself may still be starting in that process.
        assert _ended(aside)
    finally:
        server.close()


@pytest.mark.deep
@LINUX
@pytest.mark.parametrize("how", ["stdin", "kill"])
def test_those_that_share_the_reading_end_too(tmp_path: Path, how: str):
    many = "x = jax.numpy.ones((2, 3))\n" * 9_000
    root = write(tmp_path, {f"part{number}.py": f"import jax\n{many}# {number}\n" for number in range(12)})
    server = Server(root)
    try:
        server.initialize(root, CLIENT)
        aside = _with_process_aside(server, root)
        for _ in range(1500):
            if len(workers := _children(aside)) > 1:
                break
            server.settle(0.02)
        assert len(workers) > 1
        if how == "kill":
            server.process.kill()
        else:
            assert server.process.stdin is not None
            server.process.stdin.close()
        assert [process for process in (aside, *workers) if not _ended(process)] == []
    finally:
        server.close()


@pytest.mark.deep
@LINUX
def test_a_client_that_is_killed_while_something_else_holds_the_pipes(large: Path):
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    server = Server(large)
    try:
        server.initialize(large, CLIENT, processId=sleeper.pid)
        aside = _with_process_aside(server, large)
        sleeper.kill()
        sleeper.wait()
        assert _ended(server.process.pid)
        assert _ended(aside)
        assert f"the client's process {sleeper.pid} has ended" in server.log
    finally:
        sleeper.kill()
        server.close()


@pytest.mark.deep
@LINUX
def test_the_process_beside_the_server_may_die(large: Path):
    with served(large, CLIENT) as server:
        uri = (large / "part1.py").as_uri()
        os.kill(_with_process_aside(server, large), signal.SIGKILL)
        server.settle(0.2)
        assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        found = server.request("workspace/symbol", {"query": ""})
        assert len(found) == 9
        assert "Traceback" not in server.log


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yields one server for everything that a server has to survive."""
    with served(tmp_path_factory.mktemp("open"), CLIENT) as one:
        yield one


def test_1000_requests_at_once_with_cancellations(server: Server, tmp_path: Path):
    uri = (tmp_path / "many.py").as_uri()
    server.open(uri, WRONG * 20)
    numbers = []
    methods = ("textDocument/hover", "textDocument/references", "workspace/symbol", "textDocument/completion")
    for count in range(1000):
        params = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 45}, "query": "m"}
        numbers.append(server.ask(methods[count % 4], {**params, "context": {"includeDeclaration": True}}))
        if count % 2:
            server.notify("$/cancelRequest", {"id": numbers[-1]})
    codes = [_code(server, number) for number in numbers]
    assert set(codes) <= {0, CANCELLED}
    assert codes.count(0) >= 500
    server.notify("$/cancelRequest", {"id": 999_999})
    server.notify("$/cancelRequest", {"id": numbers[0]})
    assert {one["code"] for one in server.findings(uri)} == {"AX101"}


CRASHES = """
import sys
import meshlens.ide.hovering.hover, meshlens.rules.shadowed_axis as rule
from meshlens.checking.registry import all_rules
import meshlens.lsp.handlers.hover as handler

def crash(*arguments):
    print("noise on stdout")
    raise KeyError("planted")

handler.hover_at = crash
for one in all_rules():
    if one.name == "shadowed-axis":
        object.__setattr__(one, "run", crash)
import os
os.system("echo noise of a child")
from meshlens.cli.main import main
sys.argv = ["meshlens", "server"]
main()
"""


def test_a_crash_costs_one_answer_and_noise_does_not_disturb(tmp_path: Path):
    server = Server(tmp_path, ("-c", CRASHES.replace('import os\nos.system("echo noise of a child")\n', "")))
    try:
        server.initialize(tmp_path, CLIENT)
        uri = (tmp_path / "train.py").as_uri()
        server.open(uri, WRONG)
        for _ in range(3):
            params = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 30}}
            with pytest.raises(Failed, match="internal error: KeyError: 'planted'"):
                server.request("textDocument/hover", params)
        server.change(uri, 2, {"text": WRONG + "\n"})
        assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        server.change(uri, 3, {"text": WRONG})
        assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        assert server.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        assert server.log.count("textDocument/hover crashed: KeyError: 'planted'") == 1
        assert server.log.count("rule AX102 failed (KeyError: 'planted')") == 1
        assert "noise on stdout" in server.log
    finally:
        server.stop()
