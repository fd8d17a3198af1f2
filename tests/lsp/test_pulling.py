"""A client that pulls asks about the text that it edits; the server tells it when an edit affects other texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import depth
from raw_client import served
from recorded_clients import recorded

pytestmark = pytest.mark.slow

SYNC = "import jax\n\n\ndef sync(x):\n    return jax.lax.pmean(x, 'bacth')\n"
TRAIN = "import jax\nfrom sync import sync\n\nstep = jax.pmap(sync, axis_name='bacth')\n"
CAPABILITIES = {**recorded("vscode")["capabilities"], "workspace": {"diagnostics": {"refreshSupport": True}}}
REFRESH = "workspace/diagnostic/refresh"


def _frame(**message: object) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize("asks", depth.some([True, False], 1))
def test_an_edit_and_the_question_for_it_in_one_breath(tmp_path: Path, asks: bool):
    uris = [(tmp_path / name).as_uri() for name in ("sync.py", "train.py")]
    with served(tmp_path, CAPABILITIES) as server:
        for uri, text in zip(uris, (SYNC, TRAIN), strict=True):
            server.open(uri, text)
        assert [server.findings(uri) for uri in uris] == [[], []]
        server.settle(0.5)
        before = server.asked.count(REFRESH)
        change = {
            "textDocument": {"uri": uris[1], "version": 2},
            "contentChanges": [{"text": TRAIN.replace("ct", "tc")}],
        }
        sent = _frame(method="textDocument/didChange", params=change)
        if asks:
            params = {"textDocument": {"uri": uris[1]}}
            sent += _frame(id="asked", method="textDocument/diagnostic", params=params)
        server.raw(sent)
        server.until(lambda: server.asked.count(REFRESH) > before)
        assert [one["code"] for one in server.findings(uris[0])] == ["AX101"]


def test_closing_a_text_changes_what_is_said_of_the_others(tmp_path: Path):
    (tmp_path / "train.py").write_text(TRAIN.replace("ct", "tc"))
    (sync, train) = ((tmp_path / name).as_uri() for name in ("sync.py", "train.py"))
    with served(tmp_path, CAPABILITIES) as server:
        server.open(sync, SYNC)
        server.open(train, TRAIN)
        assert server.findings(sync) == []
        server.settle(0.5)
        before = server.asked.count(REFRESH)
        server.notify("textDocument/didClose", {"textDocument": {"uri": train}})
        server.until(lambda: server.asked.count(REFRESH) > before)
        assert [one["code"] for one in server.findings(sync)] == ["AX101"]


def test_a_project_that_is_left_takes_its_findings_along(tmp_path: Path):
    (here := tmp_path / "here").mkdir()
    (other := tmp_path / "other").mkdir()
    (other / "pyproject.toml").write_text("")
    (other / "sync.py").write_text(SYNC)
    (other / "train.py").write_text(TRAIN.replace("ct", "tc"))
    sync, train = ((other / name).as_uri() for name in ("sync.py", "train.py"))
    with served(here, CAPABILITIES) as server:
        server.open(train, (other / "train.py").read_text())
        server.findings(train)
        known = _kept(server.request("workspace/diagnostic", {"previousResultIds": []}))
        assert list(known) == [sync]
        server.notify("textDocument/didClose", {"textDocument": {"uri": train}})
        ids = [{"uri": uri, "value": value} for uri, value in known.items()]
        (report,) = server.request("workspace/diagnostic", {"previousResultIds": ids})["items"]
        assert (report["uri"], report["kind"], report["items"]) == (sync, "full", [])


def _kept(result: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {report["uri"]: report["resultId"] for report in result["items"]}
