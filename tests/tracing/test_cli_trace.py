"""`meshlens cost` and `meshlens trace` as people run them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tracing.releases import SINCE, VERSION

PROGRAMS = Path(__file__).with_name("programs")
STEP = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def step(w, x):
    y = x @ w
    return y.sum(0)


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    w = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=NamedSharding(mesh, P()))
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return jax.jit(step), (w, x)
"""

MAIN = """

if __name__ == "__main__":
    run, (w, x) = entry()
    data = jax.device_put(jnp.ones(x.shape), x.sharding)
    for _ in range(3):
        print(run(jnp.ones(w.shape), data))
"""

pytestmark = pytest.mark.jax


def meshlens(*arguments, cwd=PROGRAMS):
    """Runs the command line with the interpreter of the tests, which has JAX."""
    return subprocess.run(
        [sys.executable, "-m", "meshlens", *arguments, "--interpreter", sys.executable, "--timeout", "120"],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def test_a_table_by_line():
    run = meshlens("cost", "data_parallel.py::entry", "--devices", "8xH100")
    assert run.returncode == 0, run.stderr
    assert "data_parallel.py::entry on 8xH100: 8 devices, mesh data=8, JAX " in run.stdout
    backward = r"\(backward\)" if SINCE["gradients marked *backward* outside of loops and maps"] <= VERSION else ""
    row = rf"data_parallel\.py:14\s+all-reduce {backward}\s+data\s+8\s+\d+\s+5\.0 MiB\s+█+\s+[\d.]+ µs"
    assert re.search(row, run.stdout)
    assert re.search(r"at least [\d.]+ µs of communication and [\d.]+ [µn]s of computation", run.stdout)


def test_what_is_wrong_is_said_without_a_name_for_it(tmp_path):
    (tmp_path / "step.py").write_text("def step(x):\n    return x\n")
    run = meshlens("cost", "step.py::step", "--machine", "h100", cwd=tmp_path)
    assert 'error: "step" needs 1 argument (x); name an entry' in run.stdout


MISSPELT = """\
import jax
import jax.numpy as jnp


def rows(x):
    return jax.lax.psum(x, "rows")


def entry():
    mapped = jax.pmap(rows, axis_name="batch")
    mapped(jnp.ones((8, 4)))
    return mapped, (jax.ShapeDtypeStruct((8, 4), jnp.float32),)
"""


def test_an_error_confirms_the_finding_on_its_line(tmp_path):
    (tmp_path / "step.py").write_text(MISSPELT)
    run = meshlens("trace", "step.py::entry", cwd=tmp_path)
    assert run.returncode == 2
    finding = r'step\.py:6: AX101: axis "rows" is not bound.* \(confirmed by JAX [.\d]+: NameError: .*rows.*\)'
    assert re.search(finding, run.stdout), run.stdout
    assert run.stdout.count("NameError") == 1
    run = meshlens("trace", "step.py::entry", "--output-format", "json", cwd=tmp_path)
    (error,) = json.loads(run.stdout)["errors"]
    assert (error["type"], error["row"], error["finding"]["code"]) == ("NameError", 6, "AX101")


def test_an_error_without_a_finding_stays_as_it_is(tmp_path):
    (tmp_path / "step.py").write_text(STEP.replace("x @ w", "x @ w.T"))
    run = meshlens("trace", "step.py::entry", "--output-format", "json", cwd=tmp_path)
    (error,) = json.loads(run.stdout)["errors"]
    assert (error["row"], "finding" in error) == (9, False)


@pytest.mark.deep
def test_json():
    run = meshlens("cost", "fsdp.py::entry", "--devices", "8", "--output-format", "json")
    found = json.loads(run.stdout)
    assert (found["level"], found["devices"], found["mesh"]) == ("partitioned", 8, {"fsdp": 8})
    assert {"all-gather", "all-reduce"} <= set(found["totals"])
    assert found["totals"]["all-gather"]["bytes"] == sum(
        one["bytes"] for one in found["collectives"] if one["kind"] == "all-gather"
    )
    assert found["compute_seconds"] is None


@pytest.mark.deep
def test_several_targets_in_one_table():
    run = meshlens("cost", "data_parallel.py::entry", "--devices", "1,8,v5e-16,7")
    assert run.returncode == 2
    table = run.stdout[run.stdout.rindex("devices   mesh") :].splitlines()[2:]
    rows = {line.split()[0]: line for line in table if not line.startswith(" ")}
    assert list(rows) == ["1", "8", "v5e-16", "7"]
    assert rows["8"].rstrip().endswith("runs")
    assert "runs" not in rows["7"]
    assert "divisible" in run.stdout


@pytest.mark.deep
def test_what_each_line_computes():
    run = meshlens("trace", "tensor_parallel.py::two_axes", "--devices", "2x4")
    row = next(line for line in run.stdout.splitlines() if "bfloat16[8,128,8,64]" in line)
    assert "P('data', None, 'model')" in row
    assert "all-reduce" in row


@pytest.mark.deep
def test_an_entry_of_the_configuration(tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    (tmp_path / "meshlens.toml").write_text('devices = 4\nentries = { small = "step.py::entry" }\n')
    run = meshlens("cost", "small", cwd=tmp_path)
    assert "step.py::entry on 4 devices" in run.stdout
    assert "step.py:10   all-reduce" in run.stdout
    assert (
        'expected FILE::NAME, such as train.py::entry or one of "entries": small'
        in meshlens("cost", "large", cwd=tmp_path).stderr
    )


@pytest.mark.deep
def test_a_machine_of_the_configuration(tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    (tmp_path / "meshlens.toml").write_text("machines.lab = { flops = 1e12, bandwidth = 1e9, link = 'wire' }\n")
    run = meshlens("cost", "step.py::entry", "--machine", "lab", "--output-format", "json", cwd=tmp_path)
    (one,) = json.loads(run.stdout)["collectives"]
    assert one["seconds"] == {"lower_bound": pytest.approx(2 * 1024 * 7 / 8 / 1e9), "link": "wire"}
    assert "expected a machine (v4, " in meshlens("cost", "step.py::entry", "--machine", "x", cwd=tmp_path).stderr


def test_a_limit(tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    assert (
        meshlens("cost", "step.py::entry", "--fail-on", "all-gather", "--fail-on", "any>1KiB", cwd=tmp_path).returncode
        == 0
    )
    run = meshlens("cost", "step.py::entry", "--fail-on", "all-reduce>1000", cwd=tmp_path)
    assert run.returncode == 1
    assert 'step.py:10: all-reduce of 1,024 bytes on each device exceeds the limit "all-reduce>1000"' in run.stderr
    assert "expected a kind" in meshlens("cost", "step.py::entry", "--fail-on", "gather", cwd=tmp_path).stderr


@pytest.mark.deep
def test_a_baseline(tmp_path):
    program, arguments = tmp_path / "step.py", ("cost", "step.py::entry", "--devices", "4", "--baseline", "costs.json")
    program.write_text(STEP)
    assert meshlens(*arguments, cwd=tmp_path).returncode == 2
    assert "Wrote 1 collective" in meshlens(*arguments, "--write-baseline", cwd=tmp_path).stderr
    program.write_text("# A line above moves the others.\n" + STEP)
    assert meshlens(*arguments, cwd=tmp_path).returncode == 0
    program.write_text(STEP.replace("(128, 256)", "(128, 512)"))
    grown = meshlens(*arguments, cwd=tmp_path)
    assert grown.returncode == 1
    assert "step.py:10: all-reduce over data has grown from 1,024 to 2,048 bytes" in grown.stderr
    program.write_text(STEP.replace("y.sum(0)", "y.sum(0) + jnp.sort(y, axis=0)[0]"))
    new = meshlens(*arguments, cwd=tmp_path)
    assert new.returncode == 1
    assert re.search(r"step\.py:10: new all-(gather|to-all) over data", new.stderr)


@pytest.mark.deep
def test_an_entry_to_paste(tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    run = meshlens("trace", "step.py::step", cwd=tmp_path)
    assert run.returncode == 2
    assert '"step" needs 2 arguments (w, x); name an entry' in run.stdout
    start = run.stdout.index("def entry():")
    entry = run.stdout[start:]
    (tmp_path / "pasted.py").write_text(STEP.partition("def entry")[0] + entry.replace("(...)", "(8, 8)"))
    assert meshlens("trace", "pasted.py::entry", cwd=tmp_path).returncode == 0


@pytest.mark.deep
def test_the_arguments_of_the_first_call(tmp_path):
    (tmp_path / "step.py").write_text(STEP + MAIN)
    run = meshlens("cost", "step.py::step", "--run-main", "--devices", "4", cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    assert "step.py:10   all-reduce" in run.stdout
    assert "without calling" in meshlens("cost", "step.py::other", "--run-main", cwd=tmp_path).stdout


CALLS_JITTED = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@jax.jit
def mean(x):
    return jnp.where(x > 0, x, 0.0).mean()


def main():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    print(mean(jax.device_put(np.ones((16, 4), np.float32), NamedSharding(mesh, P("data")))))


if __name__ == "__main__":
    main()
"""


def test_jitted_functions_that_a_function_calls_are_named(tmp_path):
    (tmp_path / "step.py").write_text(CALLS_JITTED)
    run = meshlens("cost", "step.py::main", "--run-main", "--devices", "4", cwd=tmp_path)
    note = 'note: "main" calls jitted functions, which JAX compiles one by one; measure step.py::mean\n'
    assert (note in run.stdout, "shards nothing" in run.stdout) == (True, False), run.stdout
    assert "all-reduce" in meshlens("cost", "step.py::mean", "--devices", "4", cwd=tmp_path).stdout


@pytest.mark.skipif(shutil.which("unshare") is None, reason="Linux alone has network namespaces")
def test_no_network_is_needed(tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    command = ["cost", "step.py::entry", "--devices", "4", "--interpreter", sys.executable, "--timeout", "120"]
    # In a namespace of its own, whose only network interface is a loopback that is down.
    run = subprocess.run(
        ["unshare", "--net", "--map-root-user", sys.executable, "-m", "meshlens", *command],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert "step.py:10   all-reduce" in run.stdout


def test_an_untrusted_folder_runs_nothing(tmp_path):
    (tmp_path / "step.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + STEP)
    run = meshlens("cost", "step.py::entry", "--untrusted", cwd=tmp_path)
    assert run.returncode == 2
    assert "is not trusted" in run.stdout
    assert not (tmp_path / "ran").exists()
