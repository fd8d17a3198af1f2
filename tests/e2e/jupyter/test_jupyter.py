"""JupyterLab with jupyterlab-lsp finds the server by itself; beside python-lsp-server our plugin answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import drive, notebook, wait_for
from ports import free_port
from real_editors import absent

pytestmark = pytest.mark.editors
CELLS = (
    "import jax\nimport os\n\n\ndef step(x):\n    return jax.lax.psum(x, 'bacth')\n",
    "rows = jax.numpy.ones((8, 3))\njax.pmap(step, axis_name='batch')(rows)\n",
)


def test_a_finding_is_shown_in_its_cell(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "steps.ipynb").write_text(notebook(*CELLS))
    beside = find_spec("pylsp") is not None
    wanted = ["is not bound here", *(["'os' imported but unused"] if beside else [])]
    shots = Path(os.environ.get("MESHLENS_SHOTS", tmp_path / "shots"))
    script = Path(__file__).parent / "lab.mjs"
    with _lab(tmp_path) as address:
        done, said = drive(script, shots, address=address, notebook="steps.ipynb", wanted=wanted)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{(tmp_path / 'log').read_text()[-3000:]}"
    assert 'axis "bacth" is not bound here (bound: "batch")' in said["tooltip"]
    assert said["started"] == ["pylsp" if beside else "meshlens"]


@contextmanager
def _lab(room: Path) -> Iterator[str]:
    """Runs JupyterLab with its state in a separate folder, and without its news."""
    program = Path(sys.executable).parent / "jupyter-lab"
    if not program.is_file():
        absent("JupyterLab")
    news = room / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text('{"fetchNews": "false", "checkForUpdates": false, "doNotDisturbMode": true}')
    port = free_port()
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", "")])
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    with (room / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, *options, "--IdentityProvider.token=", f"--ServerApp.root_dir={room / 'work'}"],
            env={**os.environ, **{name: str(room / place) for name, place in places.items()}, "PATH": path},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
