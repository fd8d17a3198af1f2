"""The process beside the server ends when its memory has grown much, and the next request starts another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command_line import write
from meshlens.lsp.beside.index import Index
from meshlens.settings import Settings

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process its memory"),
    pytest.mark.slow,
]

FUNCTION = "def f{0}(x):\n    return jax.lax.psum(x + {0}, 'i')\n\n\n"


@pytest.mark.asyncio
async def test_one_that_has_grown_gives_way(tmp_path: Path):
    path = write(tmp_path, {"a.py": "import jax\n"}) / "a.py"
    much = "".join(map(FUNCTION.format, range(2_500)))
    aside = Index(tmp_path, Settings(), (0, 10, 2))
    try:
        await aside.ask("neighbours", overlay={})
        first = aside.process_id
        await aside.ask("neighbours", overlay={})
        assert aside.process_id == first
        await aside.ask("neighbours", overlay={path: f"import jax\n{much}".encode()})
        assert aside.process_id is None
        await aside.ask("neighbours", overlay={})
        assert aside.process_id not in (None, first)
    finally:
        aside.stop()
