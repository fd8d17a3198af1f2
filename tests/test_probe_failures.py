"""Whatever an interpreter does to a probe, the report has one sentence that says what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fake_interpreters import answer, fake, gpu_machine, program, raised, says, tpu_machine
from meshlens.devices.report import Device, Report, summary
from meshlens.devices.runner import ProbeStopped, Question, run_probe

SET = 'set "interpreter" to the Python that runs your code'
PLUGIN = 'unset it, or install its plugin with `{python} -m pip install "jax[cuda12]"`'
SEE = f"check that it is a Python, or {SET}"
LOOK = '`{python} -c "import jax; jax.devices()"`'
IN_USE = (
    "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with pid 2718466. Not "
    "attempting to load libtpu.so in this process. (set JAX_PLATFORMS='' to automatically choose an available backend)"
)
OUTDATED = (
    "Unable to initialize backend 'cuda': Unable to use CUDA because of the following issues with CUDA components:\n"
    "Outdated cuDNN installation found.\nVersion JAX was built against: 8907"
)


def probed(interpreter: str, tmp_path: Path, **environ: str) -> Report:
    return run_probe(Question(interpreter, seconds=30), environ={"PATH": "", **environ}, root=tmp_path / "root")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            raised("ModuleNotFoundError", "No module named 'jax'", "import", "jax"),
            f'jax is not installed for "{{python}}"; install it with `{{python}} -m pip install jax`, or {SET}',
        ),
        (
            raised("ModuleNotFoundError", "jax requires jaxlib to be installed. See", "import"),
            "jax is installed without jaxlib; install it with `{python} -m pip install jax`",
        ),
        (
            raised("RuntimeError", "jaxlib is version 0.4.30, but this version of jax requires version >=", "import"),
            "jax 0.10.2 and jaxlib 0.10.2 do not match; install them together with `{python} -m pip install -U jax`",
        ),
        (
            raised("ImportError", "numpy.core.multiarray failed to import", "import"),
            "jax cannot be imported (ImportError: numpy.core.multiarray failed to import); "
            'run `{python} -c "import jax"` to see where it fails',
        ),
        (
            raised("RuntimeError", IN_USE),
            "the TPU is in use by process 2718466; end that process, or try again when it has ended",
        ),
        (
            raised("RuntimeError", "libtpu.so already in use by another process probably owned by another user."),
            "the TPU is in use by another process; end that process, or try again when it has ended",
        ),
        (
            raised("RuntimeError", "failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported"),
            "NVIDIA's driver does not match JAX's CUDA version; update the driver, or reboot if you just did",
        ),
        (
            raised("XlaRuntimeError", "CUDA driver version is insufficient for CUDA runtime version"),
            "NVIDIA's driver does not match JAX's CUDA version; update the driver, or reboot if you just did",
        ),
        (
            raised("RuntimeError", OUTDATED),
            "the installed cuDNN is older than JAX needs; update it, or remove its folder from LD_LIBRARY_PATH",
        ),
        (
            raised("XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"),
            "the device is out of memory; use `nvidia-smi` to find the process that uses it, and end that process",
        ),
        (
            raised("RuntimeError", "Unable to initialize backend 'cuda': no plugin (you may need to uninstall the …"),
            'JAX could not start "cuda" (no plugin); set JAX_PLATFORMS=cpu, or reinstall its plugin',
        ),
        (
            raised("AttributeError", "module 'jax' has no attribute 'process_index'"),
            "JAX could not list its devices (AttributeError: module 'jax' has no attribute 'process_index'); "
            f"run {LOOK} to see where it fails",
        ),
        (
            answer(contract=2),
            '"{python}" answered in format 2, which this version of MeshLens cannot read; update MeshLens',
        ),
        (
            answer(devices=3),
            f'"{{python}}" gave an unreadable answer ("devices" is not a list); {SET}',
        ),
        ('{"contract": 1, "devices"', f'"{{python}}" gave no readable answer; {SEE}'),
        ("hello", f'"{{python}}" gave no readable answer; {SEE}'),
        (
            answer(python="3.7.16", versions={}),
            f'Python 3.7.16 at "{{python}}" is too old; JAX needs 3.8 or newer, so {SET}',
        ),
    ],
)  # fmt: skip
def test_what_is_said(tmp_path, line, sentence):
    python = says(tmp_path, line)
    assert probed(python, tmp_path).failure == sentence.replace("{python}", python)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            raised("AssertionError"),
            'JAX_PLATFORMS is "cuda", which cannot be started here; ' + PLUGIN,
        ),
        (
            raised("RuntimeError", "Unable to initialize backend 'cuda':  (set JAX_PLATFORMS='' to automatically …"),
            'JAX_PLATFORMS is "cuda", which cannot be started here; ' + PLUGIN,
        ),
        (
            raised("RuntimeError", "Unable to initialize backend 'cuda': not in the list (set JAX_PLATFORMS='')"),
            'JAX_PLATFORMS is "cuda", which cannot be started here (not in the list); ' + PLUGIN,
        ),
        (
            raised("RuntimeError", "Unknown backend: 'gpu' requested, but no platforms"),
            'JAX_PLATFORMS is "cuda", which cannot be started here; ' + PLUGIN,
        ),
    ],
)  # fmt: skip
def test_a_platform_that_is_not_there(tmp_path, line, sentence):
    python = says(tmp_path, line)
    assert probed(python, tmp_path, JAX_PLATFORMS="cuda").failure == sentence.replace("{python}", python)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            f'"{{python}}" was killed by SIGSEGV while JAX was starting; run {LOOK} to see why',
        ),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            '"{python}" was killed by SIGKILL while JAX was starting, perhaps because memory ran out; '
            f"run {LOOK} to see why",
        ),
        (
            "sys.exit('Fatal Python error: init_fs_encoding\\n')",
            f'"{{python}}" gave no readable answer and printed "Fatal Python error: init_fs_encoding"; '
            f"run {LOOK} to see why",
        ),
        (
            "sys.exit('Unknown option: -I\\nusage: python [option]')",
            f'the Python at "{{python}}" is too old; JAX needs 3.8 or newer, so {SET}',
        ),
        (
            "sys.exit('SyntaxError: future feature annotations is not defined')",
            f'the Python at "{{python}}" is too old; JAX needs 3.8 or newer, so {SET}',
        ),
        (
            "while True: print('x' * 100000)",
            f'"{{python}}" printed too much; run {LOOK} in a terminal to see what it prints',
        ),
    ],
)
def test_how_it_ends(tmp_path, body, sentence):
    python = fake(tmp_path, body)
    assert probed(python, tmp_path).failure == sentence.replace("{python}", python)


def test_jax_on_the_path_of_a_cluster(tmp_path):
    (tmp_path / "modules" / "jax" / "_src").mkdir(parents=True)
    missing = {"step": "import", "type": "ModuleNotFoundError", "text": "No module named 'jax'", "missing": "jax"}
    python = says(tmp_path, answer(devices=[], versions={}, error=missing))
    assert probed(python, tmp_path, PYTHONPATH=f"{tmp_path}:{tmp_path / 'modules'}").failure == (
        f'jax is only on PYTHONPATH, which MeshLens ignores; install it for "{python}", or {SET}'
    )


def test_an_interpreter_that_hangs(tmp_path):
    python = fake(tmp_path, "time.sleep(600)")
    report = run_probe(Question(python, seconds=0.3), environ={}, root=tmp_path)
    assert report.failure == (
        f'"{python}" did not answer within 0.3 seconds; run {LOOK} in a terminal to see where it waits'
    ).replace("{python}", python)


def test_a_probe_that_nobody_waits_for(tmp_path):
    with pytest.raises(ProbeStopped):
        run_probe(Question(fake(tmp_path, "time.sleep(600)")), is_stopped=lambda: True, environ={}, root=tmp_path)


def test_what_cannot_be_started(tmp_path):
    plain, broken, script = tmp_path / "plain", tmp_path / "broken", tmp_path / "script"
    plain.write_text("hello")
    broken.symlink_to(tmp_path / "gone")
    program(script, "#!/nowhere/python\n")
    program(tmp_path / "binary", "\x00\x01\x02")
    sentences = {path: probed(str(path), tmp_path).failure for path in (plain, broken, script, tmp_path / "binary")}
    assert sentences == {
        plain: f'"{plain}" cannot be executed; change its permissions, or {SET}',
        broken: f'"{broken}" is a link to a Python that no longer exists; recreate its environment',
        script: f'"{script}" is a script whose interpreter no longer exists; recreate its environment',
        tmp_path / "binary": f'"{tmp_path / "binary"}" is not a program for this machine (Exec format error); {SET}',
    }
    assert probed(str(tmp_path / "nothing"), tmp_path).failure == f'"{tmp_path / "nothing"}" does not exist; {SET}'
    assert probed(str(tmp_path), tmp_path).failure == f'"{tmp_path}" is a folder without a Python in it; {SET}'
    assert probed("a\0b", tmp_path).failure == f"'a\\x00b' is not a path; {SET}"


def test_no_room_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert probed(says(tmp_path, answer()), tmp_path).failure == (
        "no temporary files can be written (No such file or directory); free some space, or set TMPDIR"
    )


def test_noise_is_no_failure(tmp_path):
    noise = "print('x' * 3_000_000); print('{\"contract\": 2}'); print('{\"a\":')"
    python = fake(tmp_path, f"{noise}\nprint({answer()!r})\nprint('[]'); print('{{}}'); print('bye', end='')")
    report = probed(python, tmp_path)
    assert report.failure is None
    assert report.devices == (Device("cpu", "cpu", 0),)
    assert report.interpreter == python


@pytest.mark.slow
def test_an_answer_counts_even_if_the_interpreter_hangs_afterwards(tmp_path):
    python = fake(tmp_path, f"print({answer()!r}, flush=True)\ntime.sleep(600)")
    report = run_probe(Question(python, seconds=4), environ={}, root=tmp_path)
    assert (report.failure, summary(report)) == (None, "1 CPU device")


@pytest.mark.parametrize(
    ("errors", "versions", "note"),
    [
        ({}, {}, "; install JAX's plugin with `{python} -m pip install -U \"jax[cuda12]\"`"),
        (
            {"cuda": "CUDA driver version is insufficient"},
            {"jax-cuda12-plugin": "0.10.2"},
            ": NVIDIA's driver does not match JAX's CUDA version; update the driver, or reboot if you just did",
        ),
        ({"cuda": "no luck."}, {"jax-cuda12-plugin": "0.10.2"}, " (no luck)"),
        ({}, {"jax-cuda12-plugin": "0.10.2"}, "; set JAX_LOGGING_LEVEL=DEBUG to see what JAX logs"),
    ],
)  # fmt: skip
def test_a_gpu_that_jax_passes_over(tmp_path, errors, versions, note):
    root, environ = gpu_machine(tmp_path, "0, NVIDIA H100 80GB HBM3, 81559, 4")
    python = says(tmp_path, answer(backend_errors=errors, versions={"jax": "0.10.2", **versions}))
    report = run_probe(Question(python), environ=environ, root=root)
    assert report.failure is None
    assert report.note == (
        "this machine has 1 × NVIDIA H100 80GB HBM3, but JAX runs on the CPU" + note.replace("{python}", python)
    )
    assert run_probe(Question(python), environ={**environ, "JAX_PLATFORMS": "cpu"}, root=root).note is None


def test_a_tpu_is_started_only_when_a_user_asks(tmp_path):
    root, started = tpu_machine(tmp_path), tmp_path / "started"
    python = fake(tmp_path, f"if 'devices' in sys.argv: open({str(started)!r}, 'w')\nprint({answer(devices=[])!r})")
    report = run_probe(Question(python), environ={}, root=root)
    assert (report.level, report.failure, summary(report)) == ("installed", None, "4 × TPU v5 lite")
    assert not started.exists()
    assert run_probe(Question(python), environ={"JAX_PLATFORMS": "cpu"}, root=root).level == "devices"
    os.unlink(started)
    assert run_probe(Question(python, may_start_tpu=True), environ={}, root=root).level == "devices"
    assert started.exists()
