"""`meshlens devices`: what is printed for people, for programs and for shells."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import meshlens, write
from fake_interpreters import ANSWER, answer, fake, raised, tpu_machine
from meshlens.caches.folder import cache_of
from meshlens.devices.picture import picture
from meshlens.devices.report import Device

MEMORY = {"memory_limit": 80 << 30, "memory_in_use": 1 << 29}
GPUS = [{**ANSWER["devices"][0], **MEMORY, "platform": "gpu", "kind": "NVIDIA H100", "id": number} for number in (0, 1)]


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch, tmp_path):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "XLA_FLAGS", "JAX_PLATFORMS", "JAX_NUM_CPU_DEVICES", "PYENV_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("meshlens.devices.machine._NVIDIA_PLACES", ())


def project(tmp_path: Path, line: str, settings: str = "") -> Path:
    """Writes a project with an environment whose Python prints this line."""
    root = write(tmp_path / "project", {"meshlens.toml": settings, ".venv/pyvenv.cfg": ""})
    fake(root / ".venv" / "bin", f"open({str(tmp_path / 'log')!r}, 'a').write('x')\nprint({line!r})")
    return root


def asked(tmp_path: Path) -> int:
    return len((tmp_path / "log").read_text())


def test_a_table_and_a_picture(tmp_path):
    versions = {"jax": "0.10.2", "jaxlib": "0.10.2", "flax": "0.12.8", "optax": "0.2.8"}
    root = project(tmp_path, answer(devices=GPUS, default_backend="gpu", versions=versions), 'devices = "2x4"\n')
    ran = meshlens("devices", cwd=root)
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == f"""\
interpreter  {root}/.venv/bin/python (.venv)
python       3.11.8
jax          0.10.2
jaxlib       0.10.2
packages     flax 0.12.8, optax 0.2.8
devices      2 × NVIDIA H100 (backend gpu)
target       2x4: 8 devices (2 × 4)

id   platform   kind          memory in use
{"─" * 45}
 0   gpu        NVIDIA H100   0.5 of 80.0 GiB
 1   gpu        NVIDIA H100   0.5 of 80.0 GiB

device →
0  1
"""
    )


def test_colours_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    ran = meshlens("devices", cwd=project(tmp_path, answer()), terminal=True)
    assert "\x1b[1minterpreter" in ran.out


def test_json(tmp_path):
    root = project(tmp_path, answer(), "devices = 8\n")
    ran = meshlens("devices", "--json", cwd=root)
    said = json.loads(ran.out)
    assert ran.code == 0
    assert said["contract"] == 1
    assert (said["interpreter"], said["origin"]) == (f"{root}/.venv/bin/python", ".venv")
    assert (said["summary"], said["target"]) == ("1 CPU device", "8")
    assert said["devices"] == ANSWER["devices"]
    assert said["versions"] == ANSWER["versions"]


def test_a_failure(tmp_path):
    root = project(tmp_path, raised("RuntimeError", "The TPU is already in use by process with pid 7"))
    ran = meshlens("devices", cwd=root)
    assert ran.code == 2
    assert ran.err == "meshlens: the TPU is in use by process 7; end that process, or try again when it has ended\n"
    assert "devices      not known\n" in ran.out
    assert json.loads(meshlens("devices", "--json", cwd=root).out)["failure"] in ran.err


def test_no_python_at_all(tmp_path):
    ran = meshlens("devices", cwd=write(tmp_path / "project", {"meshlens.toml": ""}))
    assert ran.code == 2
    assert ran.err == (
        "meshlens: found no Python for this folder; "
        'use --interpreter or set "interpreter" to name the one that has JAX\n'
    )


def test_a_report_is_kept_until_it_is_asked_for_again(tmp_path):
    root = project(tmp_path, answer())
    first = meshlens("devices", cwd=root)
    assert meshlens("devices", cwd=root).out == first.out
    assert asked(tmp_path) == 1
    meshlens("devices", "--refresh", cwd=root)
    assert asked(tmp_path) == 2


def test_versions_only(tmp_path):
    root = project(tmp_path, answer(level="installed", devices=[], default_backend=None, process_count=None))
    ran = meshlens("devices", "--installed", cwd=root)
    assert (ran.code, ran.err) == (0, "")
    assert "devices      not detected; JAX was not started\n" in ran.out
    assert json.loads(meshlens("devices", "--installed", "--json", cwd=root).out)["level"] == "installed"


@pytest.mark.parametrize("named", ["other", "other/bin/python"])
def test_another_interpreter(tmp_path, named):
    root = project(tmp_path, answer())
    fake(root / "other" / "bin", f"print({answer(python='3.12.0')!r})")
    ran = meshlens("devices", "--interpreter", named, cwd=root)
    assert f"interpreter  {root}/other/bin/python (given)\npython       3.12.0\n" in ran.out


def test_a_project_that_is_not_trusted(tmp_path, monkeypatch):
    root = project(tmp_path, answer())
    fake(tmp_path / "outside", f"print({answer(devices=[])!r})", "python3")
    monkeypatch.setenv("PATH", f"{root}/.venv/bin:{tmp_path}/outside")
    ran = meshlens("devices", "--untrusted", cwd=root)
    assert f"interpreter  {tmp_path}/outside/python3 (PATH)" in ran.out
    assert not (tmp_path / "log").exists()
    kept = cache_of(root)
    assert kept is not None and not kept.folder.exists()
    named = meshlens("devices", "--untrusted", "--interpreter", ".venv", cwd=root)
    assert (named.code, named.out, named.err) == (
        2,
        "",
        'meshlens: ".venv" is in an untrusted workspace; trust it, or set "interpreter" to the Python '
        "that runs your code\n",
    )
    assert not (tmp_path / "log").exists()


MESH = "import jax\n\nmesh = jax.make_mesh((4, 2), ('data', 'model'))\n"


def test_check_counts_the_devices_that_are_there_only_if_it_is_told_to(tmp_path):
    root = project(tmp_path, answer(), 'devices = "detected"\n')
    write(root, {"main.py": MESH})
    assert meshlens("check", cwd=root).code == 0
    assert not (tmp_path / "log").exists()
    ran = meshlens("check", "--devices", "detected", cwd=root)
    assert (ran.code, asked(tmp_path)) == (1, 1)
    assert "AX301" in ran.out
    assert meshlens("check", "--no-cache", cwd=root).out == ran.out
    assert asked(tmp_path) == 1


def test_check_says_why_no_devices_were_detected(tmp_path):
    root = project(tmp_path, raised("RuntimeError", "The TPU is already in use by process with pid 7"))
    write(root, {"main.py": MESH})
    ran = meshlens("check", "--devices", "detected", cwd=root)
    assert ran.code == 2
    assert ran.err == (
        "meshlens: devices were not detected: the TPU is in use by process 7; end that process, "
        "or try again when it has ended\n"
    )


@pytest.fixture
def tpus(tmp_path, monkeypatch):
    from meshlens.devices import runner

    root, look = tpu_machine(tmp_path / "machine"), runner.look_at_machine
    monkeypatch.setattr(runner, "look_at_machine", lambda environment, stopped, _: look(environment, stopped, root))


def test_a_tpu_is_told_by_its_chips_until_it_is_asked_for(tmp_path, tpus):
    started = answer(
        devices=[{**ANSWER["devices"][0], "platform": "tpu", "kind": "TPU v5 lite"}], default_backend="tpu"
    )
    root = project(tmp_path, started)
    ran = meshlens("devices", cwd=root)
    assert (ran.code, ran.err) == (
        0,
        "meshlens: the TPU was not started, because it serves one process at a time; pass --refresh to start it\n",
    )
    assert "devices      4 × TPU v5 lite (found without starting JAX)\n" in ran.out
    assert meshlens("devices", "--installed", cwd=root).err == ""
    again = meshlens("devices", "--refresh", cwd=root)
    assert "devices      1 × TPU v5 lite (backend tpu)\n" in again.out
    assert meshlens("devices", cwd=root) == again


@pytest.mark.parametrize(
    ("arguments", "flags", "count"),
    [
        (["8"], None, 8),
        (["2x4"], None, 8),
        (["16"], "--xla_dump_to=a --xla_force_host_platform_device_count=2 --xla_b='c d'", 16),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the lines are for another shell there")
def test_the_environment_of_virtual_devices(tmp_path, monkeypatch, arguments, flags, count):
    if flags is not None:
        monkeypatch.setenv("XLA_FLAGS", flags)
    ran = meshlens("devices", "--env", *arguments, cwd=tmp_path)
    assert ran.code == 0
    shown = f'{ran.out}printf \'%s|\' "$XLA_FLAGS" "$JAX_PLATFORMS"'
    out = subprocess.run(["/bin/sh", "-c", shown], capture_output=True, text=True, check=True).stdout.split("|")
    others = "--xla_dump_to=a --xla_b='c d' " if flags else ""
    assert out[:2] == [f"{others}--xla_force_host_platform_device_count={count}", "cpu"]
    assert all(line.startswith("export ") and len(shlex.split(line)) == 2 for line in ran.out.splitlines())
    as_json = json.loads(meshlens("devices", "--env", *arguments, "--json", cwd=tmp_path).out)
    assert as_json["XLA_FLAGS"] == out[0]


def test_an_environment_for_nothing(tmp_path):
    ran = meshlens("devices", "--env", "many", cwd=tmp_path)
    assert ran.code == 2
    assert 'not "many"' in ran.err


TPU = Device("tpu", "TPU v4", 0)


@pytest.mark.parametrize(
    ("devices", "drawn"),
    [
        (tuple(Device("gpu", "A", number) for number in range(4)), "device →\n0  1  2  3"),
        (
            tuple(Device("cpu", "cpu", number) for number in range(12)),
            "device →\n 0   1   2   3   4   5   6   7  …",
        ),
        (
            tuple(Device("gpu", "A", number, process_index=number // 2) for number in (0, 1, 2, 3, 4)),
            "process ↓  device →\n           0  1\n           2  3\n           4  ·",
        ),
        (
            tuple(replace(TPU, id=2 * y + x, coordinates=(x, y, 0), core_on_chip=0) for y in (0, 1) for x in (0, 1)),
            "y ↓  x →\n     0  1\n     2  3",
        ),
        (
            tuple(replace(TPU, id=number, coordinates=(number // 2, 0, 0)) for number in range(4)),
            "y ↓  x →\n     0,1  2,3",
        ),
        (
            tuple(replace(TPU, id=4 * z + x, coordinates=(x, 0, z)) for z in (0, 1) for x in (0, 1)),
            "y ↓  x →\n     0  1\n\nz = 1\ny ↓  x →\n     4  5",
        ),
    ],
)  # fmt: skip
def test_pictures(devices, drawn):
    assert picture(devices) == drawn


@pytest.mark.jax
def test_with_jax(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    ran = meshlens("devices", "--interpreter", sys.executable, cwd=write(tmp_path / "project", {"meshlens.toml": ""}))
    assert ran.code == 0
    assert "devices      8 CPU devices (backend cpu)\n" in ran.out
    assert ran.out.endswith("device →\n0  1  2  3  4  5  6  7\n")
