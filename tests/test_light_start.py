"""The server's process leaves parts out of the packages that it imports; what needs those parts still works."""

from __future__ import annotations

import subprocess
import sys

import pytest

import depth

ASKED = {
    "TLS is not loaded, and can be": """
from meshlens.lsp.wire.without_tls import import_asyncio
import_asyncio()
import sys, meshlens.lsp.server
assert "ssl" not in sys.modules and "_ssl" not in sys.modules
import asyncio, ssl
asyncio.run(asyncio.sleep(0))
assert ssl.OPENSSL_VERSION
""",
    "the client has its answer before the server is loaded": """
import sys, meshlens.start, meshlens.lsp.wire.first_message
assert not {"asyncio", "attrs", "click", "logging", "lsprotocol", "pygls"} & set(sys.modules), sys.modules
""",
    "what reads requirements is loaded where there are some": """
import os, pathlib, sys, tempfile
os.chdir(tempfile.mkdtemp())
pathlib.Path("pyproject.toml").write_text("[project]\\nname = 'x'\\n")
pathlib.Path("a.py").write_text("import jax\\n")
from meshlens.cli.main import main
try:
    main(["check", "--no-cache", "a.py"])
except SystemExit as ended:
    assert not ended.code
assert not {"packaging", "tomllib", "tomli", "configparser"} & set(sys.modules), sys.modules
pathlib.Path("requirements.txt").write_text("jax~=0.4.30\\n")
from meshlens.project.settings.jax_version import find_jax_version
from meshlens.settings import Settings
assert find_jax_version(pathlib.Path.cwd(), Settings()) == (0, 4, 38)
assert "packaging.specifiers" in sys.modules
""",
    "objects of the protocol are made with what they are given": """
from meshlens.lsp.wire.light_types import import_light_types
import_light_types()
from lsprotocol import converters, types
given = types.Range(types.Position(1, 2), end=types.Position(3, 4))
assert (given.start.line, given.end.character) == (1, 4)
assert types.CompletionItem("psum").label == "psum" and types.CompletionItem("psum").detail is None
plain = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}
converter = converters.get_converter()
assert converter.unstructure(converter.structure(plain, types.Range)) == plain
try:
    types.Position(-1, 0)
except ValueError:
    pass
else:
    raise AssertionError("a position takes what is no number of a line")
assert len(types.Range.__init__.__globals__) < 20
""",
}


@pytest.mark.parametrize("asked", depth.some([*ASKED.values()], 1), ids=ASKED)
def test_a_server_without(asked):
    ran = subprocess.run([sys.executable, "-c", asked], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
