"""The probe that an interpreter runs: what it reports about packages and about JAX's devices."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from meshlens.devices import probe
from meshlens.devices.report import Report, summary
from meshlens.devices.runner import PROGRAM, Question, run_probe

NO_DEVICES = Path("/nonexistent")
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}


def asked(level: str, **environ: str) -> Report:
    return run_probe(Question(sys.executable, level), environ={**PLAIN, **environ}, root=NO_DEVICES)


def test_it_is_python_3_8_and_needs_nothing_else():
    tree = ast.parse(PROGRAM.read_text("utf-8"), feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "jax", "json", "os", "re", "signal", "site", "sys"}


def test_packages_are_told_by_the_names_of_their_metadata(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    names = [
        "jax-0.4.30.dist-info",
        "jax_cuda12_plugin-0.4.30.dist-info",
        "jaxlib-0.4.30-py3.11.egg-info",
        "ml_dtypes-0.4.0.dist-info",
        "orbax.checkpoint-0.5.0.dist-info",
        "dm_haiku-0.0.12.dev0+g1.dist-info",
        "requests-2.0.dist-info",
        "jax",
    ]
    for name in names:
        (first / name).mkdir(parents=True)
    (second / "jax-0.3.0.dist-info").mkdir(parents=True)
    (second / "flax-0.8.5.dist-info").mkdir()
    assert probe.versions([str(first), str(second), str(tmp_path / "gone")]) == {
        "dm-haiku": "0.0.12.dev0+g1",
        "flax": "0.8.5",
        "jax": "0.4.30",
        "jax-cuda12-plugin": "0.4.30",
        "jaxlib": "0.4.30",
        "ml-dtypes": "0.4.0",
        "orbax-checkpoint": "0.5.0",
    }


def test_packages_are_read_without_running_what_the_environment_would_run_at_the_start(tmp_path):
    environment, ran = tmp_path / "environment", tmp_path / "ran"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = next(environment.glob("lib/python3*/site-packages"), None) or environment / "Lib" / "site-packages"
    (packages / "jax-0.4.30.dist-info").mkdir()
    (packages / "trick.pth").write_text(f"import os; open({str(ran)!r}, 'a').close()\n")
    (packages / "sitecustomize.py").write_text(f"open({str(ran)!r}, 'a').close()\n")
    (packages / "jax.py").write_text(f"open({str(ran)!r}, 'a').close()\n")
    python = str(environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    report = run_probe(Question(python, "installed"), environ=PLAIN, root=NO_DEVICES)
    assert (report.versions, report.failure) == ((("jax", "0.4.30"),), None)
    assert not ran.exists()
    subprocess.run([python, "-c", ""], check=True)
    assert ran.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a folder of another name there")
def test_packages_of_the_user_are_seen(tmp_path):
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = tmp_path / ".local" / "lib" / f"python{version}" / "site-packages"
    if sys.platform == "darwin":
        folder = tmp_path / "Library" / "Python" / version / "lib" / "python" / "site-packages"
    (folder / "jax-0.4.30.dist-info").mkdir(parents=True)
    base = os.path.realpath(sys.executable)
    report = run_probe(Question(base, "installed"), environ={"HOME": str(tmp_path)}, root=NO_DEVICES)
    assert report.version("jax") == "0.4.30"


@pytest.mark.jax
def test_the_devices_of_jax():
    import jax

    report = asked("devices")
    assert summary(report) == "1 CPU device"
    assert (report.failure, report.note, report.default_backend, report.process_count) == (None, None, "cpu", 1)
    assert report.version("jax") == jax.__version__
    assert report.python == ".".join(map(str, sys.version_info[:3]))
    assert report.interpreter == sys.executable


@pytest.mark.jax
@pytest.mark.parametrize(
    "environ",
    [{"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}, {"JAX_NUM_CPU_DEVICES": "8"}],
    ids=["XLA_FLAGS", "JAX_NUM_CPU_DEVICES"],
)
def test_virtual_devices(environ):
    report = asked("devices", **environ)
    assert summary(report) == "8 CPU devices"
    assert [device.id for device in report.devices] == list(range(8))


@pytest.mark.jax
@pytest.mark.parametrize("platforms", ["cuda", "tpu", "gpu", "nonsense"])
def test_a_platform_that_is_not_there(platforms):
    failure = asked("devices", JAX_PLATFORMS=platforms).failure
    assert failure is not None
    assert failure.startswith(f'JAX_PLATFORMS is "{platforms}", which cannot be started here')
    assert "; unset it, or install " in failure
