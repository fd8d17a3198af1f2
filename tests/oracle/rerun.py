"""Runs the oracle programs under JAX with eight virtual CPU devices, and lists contradictions to their labels.

A process of its own imports JAX once, starts no backend, and forks for every program. A fork of the test process would
hang after any test that has run JAX in it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import runpy
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import virtual_devices

PROGRAMS = Path(__file__).parent / "programs"
MUST_RUN = {"ok", "silent-bug", "deprecated-api"}
EXCEPTIONS = {
    "unbound-axis": "NameError AssertionError NotImplementedError ValueError JaxRuntimeError KeyError",
    "in-axes-arity": "ValueError",
    "static-argnums": "ValueError TypeError IndexError",
    "decorator-form": "TypeError",
    "spec-axis-not-in-mesh": "ValueError",
    "spec-arity": "ValueError",
    "device-count": "ValueError",
    "removed-api": "AttributeError ImportError ModuleNotFoundError TypeError ValueError",
    "leading-dim": "ValueError TypeError IndivisibleError",
}
SECONDS = 120

Observation = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """One oracle program.

    Attributes:
        name: its number and name.
        main: the file to run.
        label_file: the path of its label.
        label: the label's content.
    """

    name: str
    main: Path
    label_file: Path
    label: dict[str, Any]

    @property
    def is_package(self) -> bool:
        """Returns true if the program has several files."""
        return self.label_file.name == "label.json"

    @property
    def files(self) -> tuple[Path, ...]:
        """Returns all Python files of the program."""
        return tuple(sorted(self.main.parent.rglob("*.py"))) if self.is_package else (self.main,)


def programs() -> Iterator[Program]:
    """Yields every program of the folder."""
    for path in sorted(PROGRAMS.iterdir()):
        label = path / "label.json" if path.is_dir() else path.with_suffix(".json")
        main = path / "main.py" if path.is_dir() else path
        if main.suffix == ".py" and label.exists():
            yield Program(path.stem, main, label, json.loads(label.read_text("utf-8")))


def observe(todo: Iterable[tuple[Path, str | None]], jobs: int = 2) -> list[Observation]:
    """Returns what JAX does with each program.

    Args:
        todo: pairs of a file to run and a witness expression or None.
        jobs: how many run at the same time.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_observe, [*todo], jobs).result()


def contradictions(program: Program, seen: Mapping[str, Any]) -> Iterator[str]:
    """Yields where an observation and a label disagree."""
    kind = program.label["kind"]
    what = f"{seen['exception']}: {seen['message']}"
    if (kind in MUST_RUN) != seen["runs"]:
        yield f"{kind}, but " + ("it runs" if seen["runs"] else what)
    elif not seen["runs"] and seen["exception"] not in EXCEPTIONS[kind].split():
        yield f"unexpected for {kind}: {what}"
    if seen["runs"] and kind == "silent-bug" and seen.get("witness") is not True:
        yield f"the witness is {seen.get('witness')!r}"
    if kind == "deprecated-api" and not seen["warnings"]:
        yield "no deprecation warning came"
    if kind == "ok" and seen["warnings"]:
        yield f"ok, but it warns: {seen['warnings']}"


def repaired(program: Program, room: Path) -> Path:
    """Makes a copy of a program with its label's fix applied; returns the file to run."""
    folder = room / program.name
    folder.mkdir(parents=True)
    if program.is_package:
        shutil.copytree(program.main.parent, folder, dirs_exist_ok=True)
    else:
        shutil.copy(program.main, folder / "main.py")
    for edit in program.label["fix"]:
        target = folder / edit.get("file", "main.py")
        text = target.read_text("utf-8")
        assert edit["old"] in text, f"{program.name}: {edit['old']!r} is not there"
        target.write_text(text.replace(edit["old"], edit["new"], 1), "utf-8")
    return folder / "main.py"


def _observe(pending: list[tuple[Path, str | None]], jobs: int) -> list[Observation]:
    os.environ.update(virtual_devices.environment())
    import jax
    import jax.experimental.mesh_utils  # before the fork, so that no child has to

    jax.config.update("jax_platforms", "cpu")
    running: list[tuple[int, int]] = []
    seen = []
    while pending or running:
        while pending and len(running) < jobs:
            running.append(_fork(*pending.pop(0)))
        seen.append(_collect(*running.pop(0)))
    return seen


def _fork(main: Path, witness: str | None) -> tuple[int, int]:
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write_end)
        return pid, read_end
    try:
        os.close(read_end)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        signal.alarm(SECONDS)
        with os.fdopen(write_end, "w") as pipe:
            json.dump(_run(main, witness), pipe)
    finally:
        os._exit(0)


def _collect(pid: int, read_end: int) -> Observation:
    with os.fdopen(read_end) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    if answer:
        return dict(json.loads(answer))
    return {"runs": False, "exception": "killed", "message": None, "frames": [], "warnings": []}


def _run(main: Path, witness: str | None) -> Observation:
    folder = main.parent
    sys.path.insert(0, str(folder))
    sys.argv = [str(main)]
    sys.dont_write_bytecode = True
    os.chdir(folder)
    seen: Observation = {"runs": True, "exception": None, "message": None, "frames": [], "warnings": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                names = runpy.run_path(str(main), run_name="__main__")
                import jax

                jax.effects_barrier()
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            seen |= {"runs": False, "exception": type(error).__name__, "message": str(error).split("\n")[0][:240]}
            seen["frames"] = [
                [str(Path(frame.filename).relative_to(folder)), frame.lineno]
                for frame in frames
                if folder in Path(frame.filename).parents
            ]
        else:
            if witness:
                seen["witness"] = _evaluate(witness, names)
    said = {f"{w.category.__name__}: {str(w.message).splitlines()[0][:160]}" for w in caught if _is_deprecation(w)}
    seen["warnings"] = sorted(said)
    return seen


def _evaluate(witness: str, names: Mapping[str, Any]) -> bool | str:
    import numpy as np

    try:
        return bool(eval(witness, {"np": np, **names}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _is_deprecation(warning: warnings.WarningMessage) -> bool:
    if "mesh:" in str(warning.message):
        return True
    is_deprecation = issubclass(warning.category, (DeprecationWarning, FutureWarning))
    return is_deprecation and "jax" in f"{warning.message}{warning.filename}".lower()


def _write(program: Program, seen: Observation) -> None:
    import jax

    label = program.label | {"runs": seen["runs"], "exception": seen["exception"]}
    kept = {key: seen[key] for key in ("message", "frames", "warnings", "witness") if key in seen}
    label["observed"] = {"jax": jax.__version__, **kept}
    program.label_file.write_text(json.dumps(label, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> int:
    """Runs all programs, or those whose names contain one of the words, and reports contradictions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("words", nargs="*", help="only programs whose names hold one of these")
    parser.add_argument("--write", action="store_true", help="rewrite the observed fields of the labels")
    parser.add_argument("--fixes", action="store_true", help="run each faulty program with its label's fix instead")
    options = parser.parse_args()
    chosen = [p for p in programs() if not options.words or any(word in p.name for word in options.words)]
    complaints = []
    if options.fixes:
        chosen = [p for p in chosen if p.label["kind"] != "ok"]
        with tempfile.TemporaryDirectory() as room:
            seen = observe([(repaired(p, Path(room)), p.label.get("witness")) for p in chosen])
        complaints = [
            f"{p.name}: the fix does not work: {s}"
            for p, s in zip(chosen, seen, strict=True)
            if not s["runs"] or s["warnings"] or s.get("witness") is True
        ]
    else:
        seen = observe([(p.main, p.label.get("witness")) for p in chosen])
        for program, observation in zip(chosen, seen, strict=True):
            complaints += [f"{program.name}: {text}" for text in contradictions(program, observation)]
            if options.write:
                _write(program, observation)
    print(*complaints, f"{len(chosen)} programs, {len(complaints)} contradictions", sep="\n")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
