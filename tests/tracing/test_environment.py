"""The user's environment variables that a traced program sees, with real processes."""

import os
import sys

import pytest

from meshlens.devices.topology import parse_topology
from meshlens.tracing.environment import environment_of_worker
from meshlens.tracing.request import Limits, TraceRequest
from meshlens.tracing.tracer import trace
from meshlens.tracing.warm import WarmWorkers

GOOD = """
import jax, jax.numpy as jnp

def entry():
    return jax.jit(lambda x: x * 2), (jax.ShapeDtypeStruct((8,), jnp.float32),)
"""


def test_what_a_program_may_need_is_kept_and_secrets_are_not():
    environ = {
        "HOME": "/opt/me",
        "DATA_DIR": "/opt/data",
        "HF_HOME": "/opt/models",
        "JAX_ENABLE_X64": "1",
        "JAX_PLATFORMS": "cuda",
        "JAX_NUM_CPU_DEVICES": "4",
        "XLA_FLAGS": "--xla_cpu_enable_fast_math=true --xla_dump_to=/x --xla_tpu_x=1 "
        "--xla_force_host_platform_device_count=4 stray",
        "PYTHONPATH": os.pathsep.join(["/opt/lib", "src", ""]),
        "PYTHONSTARTUP": "x.py",
        "PYTHONHOME": "/opt",
        "LD_PRELOAD": "x.so",
        "LD_LIBRARY_PATH": "/opt/cuda",
        "MONKEY": "1",
        "KEYBOARD": "1",
        "HF_TOKEN": "x",
        "WANDB_API_KEY": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "DB_PASSWORD": "x",
        "PATH": os.pathsep.join(["/usr/bin", ".", "bin"]),
    }
    assert environment_of_worker(environ) == {
        "HOME": "/opt/me",
        "DATA_DIR": "/opt/data",
        "HF_HOME": "/opt/models",
        "JAX_ENABLE_X64": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
        "PYTHONPATH": "/opt/lib",
        "LD_LIBRARY_PATH": "/opt/cuda",
        "MONKEY": "1",
        "KEYBOARD": "1",
        "PATH": "/usr/bin",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


@pytest.fixture(params=["a fork", "a process of its own"])
def traced(request, tmp_path):
    """Returns a function that traces a program in an environment, in a fork of a warm process and in a new process."""

    def run(source, **variables):
        environ = {**os.environ, **variables}
        (tmp_path / "program.py").write_text(source)
        limits = Limits(60.0, 4 << 30)
        asked = TraceRequest(
            sys.executable, tmp_path, tmp_path / "program.py", "entry", parse_topology(2), limits=limits
        )
        workers = WarmWorkers(environ) if request.param == "a fork" else None
        try:
            return trace(asked, workers, environ=environ)
        finally:
            if workers is not None:
                workers.end_all()

    return run


@pytest.mark.jax
def test_a_program_sees_its_variables_and_modules(traced, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "shared_sizes.py").write_text("WIDTH = 8\n")
    # A module that is named like one of Python's own shadows nothing.
    (tmp_path / "elsewhere" / "json.py").write_text("raise SystemExit(5)\n")
    source = (
        "import json, os, shared_sizes\nimport jax\n"
        "assert os.environ['DATA_DIR'] == '/opt/data'\nassert 'HF_TOKEN' not in os.environ\n"
        "assert jax.config.jax_enable_x64\nassert jax.device_count() == 2\n"
    )
    found = traced(
        source + GOOD,
        DATA_DIR="/opt/data",
        HF_TOKEN="x",
        JAX_ENABLE_X64="1",
        JAX_PLATFORMS="cuda",
        PYTHONPATH=str(tmp_path / "elsewhere"),
        XLA_FLAGS="--xla_force_host_platform_device_count=64 --xla_cpu_enable_fast_math=false",
    )
    assert (found.errors, found.level) == ((), "partitioned")


@pytest.mark.jax
def test_a_flag_that_xla_does_not_know_is_named(traced):
    (fault,) = traced(GOOD, XLA_FLAGS="--xla_no_such_flag=1").errors
    assert "does not know --xla_no_such_flag=1; remove it from XLA_FLAGS" in fault.message
