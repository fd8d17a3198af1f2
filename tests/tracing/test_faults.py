"""Whatever a program does while it is traced is reported in one sentence, and none of its processes is left running."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from meshlens.devices.topology import parse_topology
from meshlens.tracing.request import Limits, TraceRequest
from meshlens.tracing.tracer import TraceStopped, trace
from meshlens.tracing.warm import WarmWorkers
from tracing.releases import SINCE, VERSION

GOOD = """
import jax, jax.numpy as jnp

def entry():
    return jax.jit(lambda x: x * 2), (jax.ShapeDtypeStruct((8,), jnp.float32),)
"""
STEP = """\
import jax
import jax.numpy as jnp
import numpy as np

def step(x, y):
    return x + y


def entry():
"""
NAP = "import time; time.sleep(600)"

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is left running on Linux alone"),
]


@pytest.fixture
def program(tmp_path):
    """Returns a function that writes a program and returns a request to trace it, with any interpreter."""

    def written(source, name="entry", interpreter=sys.executable, seconds=60.0, memory=2 << 30, **options):
        path = tmp_path / "program.py"
        path.write_text(source, "utf-8")
        limits = Limits(seconds, memory)
        target = parse_topology(2)
        return TraceRequest(interpreter, tmp_path, path, name, target, limits=limits, **options)

    return written


def sleepers(word):
    """Returns the running processes that have a word in their command line."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                line = Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line:
                found.append(int(entry.name))
    return found


def children():
    """Returns the warm processes of this process."""
    return {
        pid
        for pid in sleepers("worker/start.py")
        if Path(f"/proc/{pid}/stat").read_text().split()[3] == str(os.getpid())
    }


def one_fault(found):
    """Returns the first error of a trace, which must have no level and errors of one type only."""
    assert found.level == "none"
    assert [error.type for error in found.errors] == [found.errors[0].type]
    assert found.errors[0].message
    return found.errors[0]


@pytest.mark.parametrize(
    ("source", "kind", "said", "row"),
    [
        ("import jax\n\nx = 1 / 0\n", "ZeroDivisionError", "division by zero", 3),
        ("import no_such_module\n", "ModuleNotFoundError", "pip install no_such_module", 1),
        ("def entry(:\n", "SyntaxError", "", 1),
        ("import sys\n\nsys.exit(3)\n", "SystemExit", "sys.exit(3)", 3),
        ("answer = input('? ')\n", "EOFError", "asked for input", 1),
        ("import sys\nanswer = sys.stdin.read()\nassert answer\n", "AssertionError", "", 3),
        ("import os\nos._exit(4)\n", "Ended", "exit code 4", None),
        ("import os\nos.kill(os.getpid(), 11)\n", "Killed", "SIGSEGV", None),
        ("x = 1\n", "NoEntry", 'no function "entry"', None),
        ("entry = 1\n", "NoEntry", "is not a function", None),
        ("def entri():\n    return 3\n", "NoEntry", 'did you mean "entri"?', None),
        ("def step(x):\n    return x\n", "NoEntry", 'no function "entry"; it has step', None),
        ("from functools import cache\ndef step(x): pass\n", "NoEntry", "it has step", None),
        (f"{STEP}    return step(jnp.ones(2), 1)\n", "BadEntry", "returned an array; an entry must return", None),
        (f"{STEP}    return jax.jit(step), (1.0,)\n", "TypeError", "; check the arguments of the entry", None),
        (f"{STEP}    return step, (jnp.ones(2), jnp.ones(3))\n", "TypeError", "; check the entry's shapes", 6),
        (
            f"{STEP}    np.array(jax.devices()).reshape(4, 4)\n",
            "ValueError",
            "; build the mesh from jax.device_count()",
            10,
        ),
        ("def entry():\n    return 3\n", "BadEntry", "returned an int; an entry must return (function, args)", None),
        ("def entry():\n    return print, 3\n", "BadEntry", "put them in a tuple", None),
        ("def entry(x):\n    return print, (x,)\n", "NoArguments", "needs 1 argument", None),
        (
            "import jax\n\ndef entry():\n    return jax.jit(lambda x: x.T @ x @ x), (1 / 0,)\n",
            "ZeroDivisionError",
            "",
            4,
        ),
        (
            "import jax\nimport jax.numpy as jnp\n\n\ndef step(x):\n    return x @ jnp.ones((3, 3))\n\n\n"
            "def entry():\n    return jax.jit(step), (jax.ShapeDtypeStruct((2, 2), jnp.float32),)\n",
            "TypeError",
            "dot_general",
            6,
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else str(value),
)
def test_a_fault_of_the_program(program, workers, source, kind, said, row):
    fault = one_fault(trace(program(source), workers))
    assert fault.type == kind
    assert said in fault.message
    assert (fault.place and fault.place.row) == row


@pytest.mark.skipif(SINCE["explicit axes"] > VERSION, reason="no explicit axes")
def test_a_product_that_explicit_axes_leave_open(program, workers):
    source = (
        f"{STEP}    kind = (jax.sharding.AxisType.Explicit,)\n"
        "    rows = jax.NamedSharding(jax.make_mesh((2,), ('x',), axis_types=kind), jax.P(None, 'x'))\n"
        "    x = jax.ShapeDtypeStruct((4, 4), jnp.float32, sharding=rows)\n"
        "    return lambda x: x @ x.T, (x,)\n"
    )
    fault = one_fault(trace(program(source), workers))
    assert fault.type == "ShardingTypeError"
    assert fault.message.endswith(
        "; the mesh has explicit axes; pass axis_types=(jax.sharding.AxisType.Auto, …) to make_mesh "
        "to leave this to XLA"
    )


def test_an_argument_that_the_devices_cannot_share(program, workers):
    source = (
        f"{STEP}    mesh = jax.sharding.Mesh(np.array(jax.devices()), 'x')\n"
        "    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('x'))\n"
        "    return jax.jit(step), (jax.ShapeDtypeStruct((3,), jnp.float32, sharding=split), 1.0)\n"
    )
    (fault,) = trace(program(source), workers).errors
    # Before 0.10 JAX words it differently, and its wording is kept.
    assert "divisible by" in fault.message


def test_what_it_prints_disturbs_nobody(program, workers):
    noise = "import sys, os\nprint('noise' * 1000)\nprint('noise', file=sys.stderr)\nos.system('echo noise')\n"
    assert trace(program(noise + GOOD), workers).level == "partitioned"


def test_what_takes_too_long_is_ended(program, workers):
    begin = time.monotonic()
    fault = one_fault(trace(program("import time\ntime.sleep(600)\n", seconds=2.0), workers))
    assert fault.type == "Timeout"
    assert "time limit of 2 s while it was being imported" in fault.message
    assert time.monotonic() - begin < 30


def test_what_takes_too_much_memory_is_ended(program, workers):
    hog = "import numpy, time\nheld = numpy.ones(60_000_000)\ntime.sleep(600)\n"
    fault = one_fault(trace(program(hog, memory=400 << 20), workers))
    assert fault.type == "OutOfMemory"


def test_what_prints_without_end_is_ended(program, workers):
    fault = one_fault(trace(program("while True:\n    print('x' * 100_000)\n"), workers))
    assert fault.type == "Flood"


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.Popen([sys.executable, '-c', NAP, WORD])",
        "subprocess.Popen([sys.executable, '-c', NAP, WORD], start_new_session=True, env={})",
        "os.fork() or os.setsid() or os.fork() or os.execv(sys.executable, [sys.executable, '-c', NAP, WORD])",
    ],
    ids=["a child", "a child of another session", "a daemon"],
)
def test_what_it_starts_does_not_outlive_it(program, workers, start, tmp_path):
    word = f"left-{os.getpid()}-{tmp_path.name}"
    source = f"import os, subprocess, sys\nNAP, WORD = {NAP!r}, {word!r}\n{start}\n"
    found = trace(program(source + GOOD), workers)
    assert found.level == "partitioned"
    assert sleepers(word) == []
    assert trace(program(GOOD), workers).level == "partitioned"


@pytest.mark.parametrize("in_the_fork", ["x = 1 / 0", "raise SystemExit(5)", "pass"])
def test_a_fork_that_goes_on_with_the_program_answers_nothing(program, workers, in_the_fork):
    """Lets the program wait for its fork, which would have answered by then."""
    fork = f"import os\n\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\nelse:\n    {in_the_fork}\n"
    found = trace(program(fork + GOOD), workers)
    assert (found.level, found.errors) == ("partitioned", ())


def test_a_trace_that_is_cancelled_leaves_nothing(program, workers, tmp_path):
    word = f"cancelled-{os.getpid()}-{tmp_path.name}"
    source = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {NAP!r}, {word!r}])\n"
    with pytest.raises(TraceStopped):
        trace(program(source), workers, is_stopped=lambda: bool(sleepers(word)))
    assert sleepers(word) == []


def test_a_worker_that_is_killed_is_replaced(program):
    workers = WarmWorkers()
    try:
        killing = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(600)\n"
        fault = one_fault(trace(program(killing), workers))
        assert fault.type == "WorkerLost"
        assert "trace again" in fault.message
        assert trace(program(GOOD), workers).level == "partitioned"
    finally:
        workers.end_all()


@pytest.mark.deep
def test_a_worker_that_is_halted_is_given_up(program, monkeypatch):
    monkeypatch.setattr("meshlens.tracing.warm._ANSWERING", 1.0)
    workers = WarmWorkers()
    try:
        halting = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n"
        assert one_fault(trace(program(halting), workers)).type == "WorkerLost"
        assert trace(program(GOOD), workers).level == "partitioned"
    finally:
        workers.end_all()


def test_two_requests_at_once(program, workers, tmp_path):
    found = {}

    def run(name, source):
        path = tmp_path / f"{name}.py"
        path.write_text(source, "utf-8")
        request = TraceRequest(sys.executable, tmp_path, path, "entry", parse_topology(2), limits=Limits(60.0))
        found[name] = trace(request, workers)

    slow = "import time\ntime.sleep(1)\n" + GOOD
    threads = [
        threading.Thread(target=run, args=one) for one in (("one", slow), ("two", slow), ("three", "1 / 0\n" + GOOD))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert {name: one.level for name, one in found.items()} == {
        "one": "partitioned",
        "two": "partitioned",
        "three": "none",
    }


def test_the_warm_process_ends_with_whoever_keeps_it(program):
    workers = WarmWorkers()
    trace(program(GOOD), workers)
    before = children()
    workers.end_idle(3600)
    assert children() == before
    workers.end_idle(0)
    assert children() < before


@pytest.mark.deep
def test_without_a_warm_process_the_answer_is_the_same(program, workers):
    source = GOOD
    warm, alone = trace(program(source), workers), trace(program(source), None)
    assert (alone.level, alone.lines, alone.totals) == (warm.level, warm.lines, warm.totals)
    assert one_fault(trace(program("1 / 0\n"), None)).type == "ZeroDivisionError"
    assert one_fault(trace(program("import os\nos._exit(4)\n"), None)).type == "Ended"


def test_a_python_without_jax(program, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    workers = WarmWorkers()
    fault = one_fault(trace(program(GOOD, interpreter=str(tmp_path / "bare" / "bin" / "python")), workers))
    assert fault.type == "NoJax"
    assert "pip install" in fault.message


def test_a_jax_that_is_too_old(program, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "old"], check=True)
    (packages,) = (tmp_path / "old" / "lib").glob("python*/site-packages")
    (packages / "jax").mkdir()
    (packages / "jax" / "__init__.py").write_text("__version__ = '0.3.25'\n")
    (packages / "jax" / "numpy.py").write_text("")
    workers = WarmWorkers()
    fault = one_fault(trace(program(GOOD, interpreter=str(tmp_path / "old" / "bin" / "python")), workers))
    assert (fault.type, "0.4.35 or later" in fault.message) == ("TooOld", True)


def test_no_python_at_all(program, tmp_path, workers):
    fault = one_fault(trace(program(GOOD, interpreter=str(tmp_path / "none")), workers))
    assert fault.type == "NotStarted"


def test_nothing_of_an_untrusted_folder_runs(program, tmp_path, workers):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    fault = one_fault(trace(program(trap + GOOD, untrusted=(tmp_path,)), workers))
    assert fault.type == "NotTrusted"
    assert not (tmp_path / "ran").exists()
    assert trace(program(trap + GOOD), workers).level == "partitioned"
    assert (tmp_path / "ran").exists()


def test_flags_and_options_of_the_program_do_not_change_the_devices(program, workers):
    source = (
        "import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=64'\nimport jax\n"
        "jax.config.update('jax_num_cpu_devices', 32)\njax.distributed.initialize()\nassert jax.device_count() == 2\n"
    )
    found = trace(program(source + GOOD), workers)
    assert found.level == "partitioned"
    assert any("requests 32 CPU devices; it was traced with 2" in note for note in found.notes)


def test_a_signal_to_the_group_of_this_process_is_not_sent(program, workers):
    """Checks that the program is in a session of its own: what it sends to its group reaches no other process."""
    fault = one_fault(trace(program("import os, signal\nos.killpg(0, signal.SIGTERM)\n"), workers))
    assert fault.type == "Killed"
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
