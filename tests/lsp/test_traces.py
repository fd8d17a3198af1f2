"""Traces in a real session: lenses, hints, hovers, diagnostics; what an edit makes stale; what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from raw_client import Failed, Server

pytestmark = pytest.mark.slow

CAPABILITIES: dict[str, Any] = {
    "textDocument": {
        "hover": {"contentFormat": ["plaintext"]},
        "publishDiagnostics": {"relatedInformation": True},
        "diagnostic": {},
    }
}
PROGRAM = """\
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

WIDTH = 256


def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.mean(h * h)


def unrelated():
    return 1


def entry():
    mesh = jax.make_mesh((8,), ("data",))
    w = jax.ShapeDtypeStruct((128, WIDTH), jnp.float32, sharding=NamedSharding(mesh, P()))
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return jax.jit(jax.grad(loss)), (w, x)
"""
BROKEN = """\
import jax
import jax.numpy as jnp


def step(w, x):
    return x @ w


def entry():
    return jax.jit(step), (jnp.ones((3, 4)), jnp.ones((8, 5)))
"""
MISSPELT = """\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def rows(x):
    return jax.lax.psum(x, "rows")


def entry():
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    mapped = jax.shard_map(rows, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    mapped(jnp.ones(8))
    return jax.jit(mapped), (jnp.ones(8),)
"""
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


@contextmanager
def session(root: Path, source: str, **options: Any) -> Iterator[tuple[Server, str]]:
    """Yields a server with a saved file open, and the file's URI."""
    file = root / "train.py"
    file.write_text(source)
    (root / "meshlens.toml").write_text('devices = "8xH100"\n')
    server = Server(root)
    try:
        server.initialize(root, CAPABILITIES, initializationOptions={"interpreter": sys.executable, **options})
        server.open(file.as_uri(), source)
        yield server, file.as_uri()
    finally:
        server.stop()


def lenses(server: Server, uri: str) -> list[dict[str, Any]]:
    """Returns the commands of the lenses."""
    return [one["command"] for one in server.request("textDocument/codeLens", {"textDocument": {"uri": uri}})]


def hints(server: Server, uri: str) -> dict[int, str]:
    """Returns the hints by line, from 0."""
    found = server.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": WHOLE})
    return {one["position"]["line"]: one["label"] for one in found}


def click(server: Server, lens: dict[str, Any]) -> Any:
    """Runs the command of a lens, as a click does."""
    asked = {"command": lens["command"], "arguments": lens["arguments"]}
    return server.request("workspace/executeCommand", asked)


def edit(server: Server, uri: str, version: int, line: int, text: str) -> None:
    """Inserts a text at the start of a line."""
    place = {"line": line, "character": 0}
    changes = [{"range": {"start": place, "end": place}, "text": text}]
    document = {"uri": uri, "version": version}
    server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})


@pytest.mark.jax
def test_a_lens_traces_and_the_lines_tell_what_they_cost(tmp_path: Path):
    with session(tmp_path, PROGRAM) as (server, uri):
        (lens,) = lenses(server, uri)
        assert lens["title"] == "Trace on 8xH100"
        assert hints(server, uri) == {}
        made = click(server, lens)
        (reduced,) = made["trace"]["collectives"]
        assert (reduced["kind"], reduced["bytes"], reduced["axes"]) == ("all-reduce", 128 * 256 * 4, ["data"])
        assert made["collectives"][0]["location"]["range"]["start"]["line"] == 8
        again, told = lenses(server, uri)
        assert again["title"] == "Trace again on 8xH100"
        assert told["title"].startswith("1 collective · 128.0 KiB per device · at least ")
        assert hints(server, uri)[8] == "all-reduce 128.0 KiB · f32[64,256] P('data', None)"
        place = {"line": 8, "character": 6}
        hover = server.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
        assert "all-reduce (backward) over data: 128.0 KiB on each device; at least" in hover["contents"]["value"]
        assert server.wait("window/showMessage")["message"].startswith("train.py::entry on 8xH100: 1 collective")

        # Comments, and functions that the trace did not read, move the trace's lines but do not make it stale.
        edit(server, uri, 2, 0, "# A comment.\n")
        edit(server, uri, 3, 13, "def another():\n    return 2\n\n\n")
        assert hints(server, uri)[9] == "all-reduce 128.0 KiB · f32[64,256] P('data', None)"
        assert not lenses(server, uri)[1]["title"].startswith("stale")
        edit(server, uri, 4, 10, "    h = 2 * h\n")
        assert hints(server, uri)[9].startswith("stale · ")
        assert lenses(server, uri)[1]["title"].startswith("stale · 1 collective")
        with pytest.raises(Failed, match=r"save train\.py first"):
            click(server, lenses(server, uri)[0])
        server.request("workspace/executeCommand", {"command": "meshlens.forgetTraces"})
        assert hints(server, uri) == {}


@pytest.mark.jax
def test_the_error_of_jax_stands_at_its_line_until_the_code_changes(tmp_path: Path):
    with session(tmp_path, BROKEN, tracesDidChange=True) as (server, uri):
        click(server, lenses(server, uri)[0])
        assert server.wait("meshlens/tracesDidChange") == {"uri": uri}
        found = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]
        (error,) = (one for one in found if one["source"] == "meshlens trace")
        assert (error["range"]["start"]["line"], error["code"], error["severity"]) == (5, "TypeError", 1)
        assert "dot_general requires contracting dimensions" in error["message"]
        (listed,) = server.request("meshlens/traces", {"uri": uri})
        assert (listed["stale"], listed["summary"].split(":")[0]) == (False, "TypeError")
        edit(server, uri, 2, 5, "    w = w.T\n")
        assert server.request("meshlens/traces", {"uri": uri})[0]["stale"]
        assert not server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]


@pytest.mark.jax
def test_an_error_of_ours_is_confirmed_and_not_said_twice(tmp_path: Path):
    with session(tmp_path, MISSPELT) as (server, uri):
        click(server, lenses(server, uri)[0])
        (error,) = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})["items"]
        assert (error["code"], error["range"]["start"]["line"]) == ("AX101", 6)
        assert [one["message"] for one in error["relatedInformation"]][-1].startswith("confirmed by JAX ")


def test_an_untrusted_workspace_has_no_lens_and_starts_nothing(tmp_path: Path):
    with session(tmp_path, PROGRAM.replace("import jax\n", 'import jax\nopen("ran", "w")\n', 1), trusted=False) as (
        server,
        uri,
    ):
        assert lenses(server, uri) == []
        asked = {"command": "meshlens.trace", "arguments": [uri, "entry"]}
        with pytest.raises(Failed, match="the workspace is not trusted"):
            server.request("workspace/executeCommand", asked)
        assert not (tmp_path / "ran").exists()


def test_what_cannot_be_traced_is_said(tmp_path: Path):
    with session(tmp_path, PROGRAM) as (server, uri):
        with pytest.raises(Failed, match="takes the URI of a file"):
            server.request("workspace/executeCommand", {"command": "meshlens.trace", "arguments": []})
        with pytest.raises(Failed, match="expected"):
            server.request("workspace/executeCommand", {"command": "meshlens.trace", "arguments": [uri, "entry", "x9"]})
        place = {"line": 0, "character": 0}
        with pytest.raises(Failed, match="there is no function at the cursor"):
            server.request("meshlens/trace", {"textDocument": {"uri": uri}, "position": place})
        assert server.request("meshlens/traces", {"uri": uri}) == []
