"""Axis names from an installed package are followed into the package."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import write
from launched import SERVER
from meshlens.lsp.beside import indexing
from meshlens.lsp.beside.index import Index
from meshlens.lsp.folders import open_folder
from meshlens.lsp.session import Session
from wire import wire

pytestmark = pytest.mark.slow

SITE = ".venv/lib/python3.11/site-packages"
FILES = {
    f"{SITE}/somepkg/__init__.py": "raise RuntimeError('this was run')\n",
    f"{SITE}/somepkg/constants.py": '"""Names."""\n\nAXIS = "batch"\n',
    "train.py": """import jax
from somepkg.constants import AXIS
from somepkg import constants, missing


def step(x):
    return jax.lax.psum(x, AXIS) + jax.lax.pmean(x, constants.AXIS) + jax.lax.pmax(x, missing.AXIS)


parallel = jax.pmap(step, axis_name=AXIS)
other = AXIS.upper()
""",
}


# A busy machine may need longer than the five seconds that a user waits.
PATIENT = "from meshlens.lsp.beside import indexing; indexing.OUTSIDE_SECONDS = 60.0; from meshlens.cli"


def test_definition_and_hover(tmp_path: Path):
    write(tmp_path, FILES)
    patient = [part.replace("from meshlens.cli", PATIENT) for part in SERVER]
    with wire([sys.executable, *patient], tmp_path) as server:
        server.open("train.py")
        for text, shift in (("psum(x, AXIS", 9), ("constants.AXIS)", 12), ("axis_name=AXIS", 12)):
            at = server.place("train.py", text, shift)
            (place,) = server.ask("textDocument/definition", at)
            assert place["uri"].endswith("site-packages/somepkg/constants.py")
            assert place["range"] == {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 4}}
            shown = server.ask("textDocument/hover", at)["contents"]["value"]
            assert shown == 'Axis name "batch".\n\nDefined on line 3 of constants.py in somepkg.'
        for text, shift in (("missing.AXIS)", 9), ("AXIS.upper", 1), ("import AXIS", 8)):
            at = server.place("train.py", text, shift)
            assert server.ask("textDocument/definition", at) is None
        assert server.close() == 0


@pytest.mark.asyncio
async def test_an_answer_that_takes_too_long_is_none_and_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    ended: list[str] = []

    async def never(self: Index, what: str, *arguments: Any, **more: Any) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(what)
            raise

    monkeypatch.setattr(Index, "ask", never)
    monkeypatch.setattr(indexing, "OUTSIDE_SECONDS", 0.05)
    session = Session(lambda method, params: None, lambda method, params: asyncio.Future())
    session.folders[tmp_path] = open_folder(tmp_path, {})[0]
    assert await indexing.Indexing(session).look_up(tmp_path, "somepkg.constants.AXIS") is None
    assert ended == ["outside"]
    assert "somepkg.constants.AXIS could not be looked up: it took too long" in caplog.text
