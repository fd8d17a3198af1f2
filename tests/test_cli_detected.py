"""`devices = "detected"` on the command line: the devices of the project's own JAX."""

from __future__ import annotations

from command_line import meshlens, write
from fake_interpreters import answer, says

MESH = 'import jax\n\nmesh = jax.make_mesh((4, 2), ("data", "model"))\n'


def test_the_devices_that_are_here_count(tmp_path):
    python = says(tmp_path / "elsewhere", answer())
    write(tmp_path / "p", {"meshlens.toml": f'devices = "detected"\ninterpreter = "{python}"\n', "main.py": MESH})
    ran = meshlens("check", "--output-format", "concise", cwd=tmp_path / "p")
    assert "AX301" in ran.out
    assert "a mesh of 8 devices, 1 device was detected" in ran.out
    assert ran.code == 1


def test_what_is_wrong_is_said(tmp_path):
    python = says(tmp_path / "elsewhere", "nothing")
    write(tmp_path / "p", {"meshlens.toml": f'interpreter = "{python}"\n', "main.py": MESH})
    ran = meshlens("check", "--devices", "detected", cwd=tmp_path / "p")
    assert ran.code == 2
    assert 'devices = "detected": ' in ran.err


def test_any_topology_on_the_command_line(tmp_path):
    write(tmp_path, {"main.py": MESH})
    ran = meshlens("check", "--devices", "v4-8", "--output-format", "concise", cwd=tmp_path)
    assert "a mesh of 8 devices, target v4-8 has 4 devices" in ran.out
    assert meshlens("check", "--devices", "8xH100", cwd=tmp_path).code == 0
