"""A process beside the server that a signal halts is given up, and the next request starts another."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from command_line import write
from meshlens.lsp.beside import index
from meshlens.lsp.beside.index import Index, IndexFailed
from meshlens.settings import Settings

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells that a process is halted"),
    pytest.mark.slow,
]


@pytest.mark.asyncio
async def test_it_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(index, "STOPPED_SECONDS", 1.0, raising=False)
    aside = Index(write(tmp_path, {"a.py": "import jax\n"}), Settings(), (0, 10, 2))
    assert list(await aside.ask("findings", overlay={})) == [tmp_path / "a.py"]
    halted = aside.process_id
    assert halted is not None
    os.kill(halted, signal.SIGSTOP)
    try:
        with pytest.raises(IndexFailed, match="suspended by a signal"):
            await asyncio.wait_for(aside.ask("findings", overlay={}), 60)
        assert list(await aside.ask("findings", overlay={})) == [tmp_path / "a.py"]
        assert aside.process_id != halted
    finally:
        aside.stop()
