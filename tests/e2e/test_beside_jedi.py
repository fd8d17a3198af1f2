"""Beside jedi-language-server, on the wire and in Neovim: it handles plain Python, and nothing appears twice."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import write
from launched import SERVER
from real_editors import absent, documented, neovim, run, said
from wire import Wire, wire

pytestmark = pytest.mark.editors
HERE = Path(__file__).parent

SOURCE = '''"""Trains."""
import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp

AXIS = "batch"


class Reader:
    """Reads lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[str]:
        """All lines."""
        return self.path.read_text().splitlines()


def parse(line: str) -> dict:
    """One line as JSON."""
    return json.loads(line)


def step(params, x):
    return jax.lax.pmean(x * params, AXIS)


parallel = jax.pmap(step, axis_name=AXIS, in_axes=(None, 0))
reader = Reader(Path("data"))
rows = [parse(line) for line in reader.lines()]
total = functools.reduce(lambda a, b: a + b, range(10))
text = "a text".upper()
'''

PLAIN = (
    ("class Reader", 7),
    ("self.path = path", 7),
    ("read_text", 2),
    ("splitlines", 2),
    ("json.loads", 6),
    ("json.loads", 1),
    ("Reader(Path", 2),
    ("reader.lines", 8),
    ("parse(line) for", 2),
    ("functools.reduce", 11),
    ("range(10)", 2),
    ("upper()", 2),
    ("def parse", 5),
    ("import json", 8),
)
SIGNATURES = (("json.loads(", 11), ("Reader(Path(", 12), ("range(", 6))
MEMBERS = (("json.loads", 7), ("reader.lines", 9), ("functools.reduce", 13), (".upper", 2), ("self.path.read", 12))
OURS = (("pmean", 2), ("jax.pmap", 5))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, Wire]]:
    if importlib.util.find_spec("jedi_language_server") is None:
        absent("jedi-language-server")
    root = write(tmp_path_factory.mktemp("both"), {"train.py": SOURCE})
    theirs = wire([sys.executable, "-c", "from jedi_language_server.cli import cli; cli()"], root)
    with wire([sys.executable, *SERVER], root) as mine, theirs as jedi:
        mine.open("train.py")
        jedi.open("train.py")
        yield mine, jedi


def _asked(servers: tuple[Wire, Wire], method: str, text: str, shift: int) -> tuple[object, object]:
    mine, jedi = servers
    return tuple(one.ask(f"textDocument/{method}", one.place("train.py", text, shift)) or None for one in (mine, jedi))


@pytest.mark.parametrize(("text", "shift"), PLAIN)
@pytest.mark.parametrize("method", ["hover", "definition"])
def test_one_answer_on_plain_python(servers: tuple[Wire, Wire], method: str, text: str, shift: int):
    mine, jedi = _asked(servers, method, text, shift)
    assert jedi is not None
    assert mine is None


@pytest.mark.parametrize(("text", "shift"), MEMBERS)
def test_one_list_of_completions(servers: tuple[Wire, Wire], text: str, shift: int):
    mine, jedi = _asked(servers, "completion", text, shift)
    assert jedi is not None
    assert mine is None


@pytest.mark.parametrize(("text", "shift"), SIGNATURES)
def test_one_signature(servers: tuple[Wire, Wire], text: str, shift: int):
    mine, jedi = _asked(servers, "signatureHelp", text, shift)
    assert jedi is not None
    assert mine is None


@pytest.mark.parametrize(("text", "shift"), OURS)
def test_we_speak_of_maps_and_collectives(servers: tuple[Wire, Wire], text: str, shift: int):
    assert _asked(servers, "hover", text, shift)[0] is not None


def test_neovim_shows_nothing_twice(tmp_path: Path):
    jedi = Path(sys.executable).with_name("jedi-language-server")
    if not jedi.is_file():
        absent("jedi-language-server")
    root = write(tmp_path / "project", {"train.py": SOURCE, "pyproject.toml": ""})
    init = tmp_path / "init.lua"
    init.write_text(documented("Neovim", "lua")[0])
    plain = [
        *((text, shift, method) for method in ("hover", "definition") for text, shift in PLAIN),
        *((text, shift, "completion") for text, shift in MEMBERS),
        *((text, shift, "signatureHelp") for text, shift in SIGNATURES),
    ]
    ours = [(text, shift, "hover") for text, shift in OURS]
    scripts = ["-c", f"luafile {init}", "-c", f"luafile {HERE / 'nvim' / 'beside.lua'}"]
    command = [neovim((0, 11)), "--clean", "--headless", *scripts, "train.py"]
    seen = said(run(command, root, JEDI=str(jedi), PLACES=json.dumps([*plain, *ours])).stdout)
    assert seen["servers"] == ["jedi", "meshlens"]
    answered = seen["answered"]
    assert dict(zip(plain, answered, strict=False)) == {place: ["jedi"] for place in plain}
    assert all("meshlens" in servers for servers in answered[len(plain) :])
