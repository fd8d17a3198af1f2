"""A machine's devices are found without JAX: from NVIDIA's driver and from device files."""

from __future__ import annotations

import pytest

from fake_interpreters import gpu_machine, tpu_machine
from meshlens.devices.machine import Machine, look_at_machine
from meshlens.devices.report import Device, devices_in_words

H100 = "NVIDIA H100 80GB HBM3"


def look(environ, root):
    return look_at_machine(environ, lambda: False, root)


def test_gpus_with_their_memory(tmp_path):
    root, environ = gpu_machine(
        tmp_path, f"0, {H100}, 81559, 4", f"1, {H100}, 81559, 70000", "2, NVIDIA GH200, [N/A], [N/A]"
    )
    assert look(environ, root).accelerators == (
        Device("gpu", H100, 0, memory_limit=81559 << 20, memory_in_use=4 << 20),
        Device("gpu", H100, 1, memory_limit=81559 << 20, memory_in_use=70000 << 20),
        Device("gpu", "NVIDIA GH200", 2),
    )


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch",
            "NVIDIA's driver and its library have different versions; restart the machine to load the new driver",
        ),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "NVIDIA's driver does not respond; run `nvidia-smi` to check that it is installed and loaded",
        ),
        ("No devices were found", None),
    ],
)
def test_a_driver_that_does_not_work(tmp_path, said, trouble):
    root, environ = gpu_machine(tmp_path, said, code=9)
    assert look(environ, root) == Machine((), trouble)


def test_nothing_is_started_where_the_driver_has_no_files(tmp_path):
    _, environ = gpu_machine(tmp_path, f"0, {H100}, 81559, 4")
    assert look(environ, tmp_path) == Machine()


def test_a_machine_without_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr("meshlens.devices.machine._NVIDIA_PLACES", ())
    root, _ = gpu_machine(tmp_path, f"0, {H100}, 81559, 4")
    assert look({"PATH": str(tmp_path)}, root) == Machine()
    assert look({"PATH": "bin:."}, root) == Machine()


@pytest.mark.parametrize(
    ("chip", "count", "words"),
    [
        ("0x0027", 4, "8 × TPU v3"),
        ("0x005e", 4, "4 × TPU v4"),
        ("0x0063", 8, "8 × TPU v5 lite"),
        ("0x0076", 4, "8 × TPU7x"),
        ("0x9999", 4, "no devices"),
    ],
)
def test_tpus_on_the_bus(tmp_path, chip, count, words):
    assert devices_in_words(look({}, tpu_machine(tmp_path, chip, count)).accelerators) == words


def test_tpus_by_their_device_files(tmp_path):
    for name in ("accel0", "accel1", "accelerator"):
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).touch()
    assert devices_in_words(look({}, tmp_path).accelerators) == "2 × TPU"


def test_virtual_functions_are_tpus_only_where_the_environment_speaks_of_them(tmp_path):
    (tmp_path / "dev" / "vfio").mkdir(parents=True)
    (tmp_path / "dev" / "vfio" / "0").touch()
    (tmp_path / "dev" / "vfio" / "vfio").touch()
    assert look({}, tmp_path) == Machine()
    assert devices_in_words(look({"TPU_ACCELERATOR_TYPE": "v5litepod-1"}, tmp_path).accelerators) == "1 × TPU"
