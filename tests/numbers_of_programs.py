"""Runs two programs under JAX with eight virtual CPU devices, and tells where their output and final variables differ.

JAX and its libraries are imported once, by a process that forks a child for every run and never starts a backend.
Run with a program and a file, this module runs the program and writes its numbers to the file.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import json
import os
import pickle
import re
import runpy
import signal
import subprocess
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import virtual_devices

_NUMBER = re.compile(r"-?\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
SECONDS = 120
TOLERANCE = 1e-6
LIBRARIES = ("jax.numpy", "jax.experimental.mesh_utils", "flax.linen", "flax.nnx", "optax", "equinox", "haiku")
"""The libraries imported before the fork, so that no child has to; one that is not installed is left out."""


def differences(before: Path, after: Path) -> list[str]:
    """Returns where two programs differ; an empty list if they do not.

    Args:
        before: a program that runs.
        after: another one.
    """
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps([str(before), str(after)]) + "\n")
    server.stdin.flush()
    return list(json.loads(server.stdout.readline()))


@cache
def _server() -> subprocess.Popen[str]:
    python = os.environ.get("MESHLENS_JAX_PYTHON", sys.executable)
    server = subprocess.Popen(
        [python, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **virtual_devices.environment()},
    )
    atexit.register(server.kill)
    return server


def _serve() -> None:
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        before, after = json.loads(line)
        print(json.dumps(list(_compared(Path(before), Path(after)))), flush=True)


def _in_a_child(main: Path) -> tuple[dict[str, Any], str]:
    """Returns what a program ends with, or why it failed, from a child process: no program finds a backend started."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            signal.alarm(SECONDS)
            try:
                found = (numbers(main), "")
            except BaseException:
                found = ({}, traceback.format_exc(limit=-3))
            with os.fdopen(write_end, "wb") as pipe:
                pickle.dump(found, pipe)
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(answer) if answer else ({}, "the run was killed")


def _compared(before: Path, after: Path) -> Iterator[str]:
    wanted, error = _in_a_child(before)
    if error:
        yield f"the program does not run: {error}"
        return
    if not wanted:
        yield "the program ends without a number to compare"
        return
    found, error = _in_a_child(after)
    if error:
        yield f"the result does not run: {error}"
        return
    yield from unequal(wanted, found)


def unequal(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yields where the numbers of two programs differ.

    Args:
        wanted: what one program ends with; see `numbers`.
        found: what the other program ends with; it may have more.
    """
    for name, value in wanted.items():
        if name not in found:
            yield f"{name} is missing"
        else:
            yield from (f"{name}: {text}" for text in _unequal(value, found[name]))


def numbers(main: Path) -> dict[str, Any]:
    """Returns the arrays, numbers and trees of them among the globals that a program ends with, and what it prints."""
    sys.dont_write_bytecode = True
    known = set(sys.modules)
    sys.path.insert(0, str(main.parent))
    os.chdir(main.parent)
    sys.argv = [str(main)]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            names = runpy.run_path(str(main), run_name="__main__")
    finally:
        sys.path.remove(str(main.parent))
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(main.parent)):
                del sys.modules[name]
    return _plain(names) | _said(printed.getvalue())


def _said(text: str) -> dict[str, Any]:
    """Returns the numbers that a program prints, and the text around them."""
    import numpy as np

    numbers = _NUMBER.findall(text)
    if not numbers:
        return {}
    return {
        "what it prints": [np.array(numbers, float), np.array([crc32("".join(_NUMBER.sub("", text).split()).encode())])]
    }


def _plain(names: Mapping[str, Any]) -> dict[str, Any]:
    import jax
    import numpy as np

    found = {}
    for name, value in names.items():
        if name.startswith("_") or isinstance(value, (types.ModuleType, type, str)) or callable(value):
            continue
        leaves = [
            jax.random.key_data(leaf)
            if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            else leaf
            for leaf in jax.tree_util.tree_leaves(value)
        ]
        if leaves and all(isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float)) for leaf in leaves):
            found[name] = [np.asarray(leaf) for leaf in leaves]
    return found


def _unequal(wanted: list[Any], found: list[Any]) -> Iterator[str]:
    import numpy as np

    if len(wanted) != len(found):
        yield f"{len(wanted)} arrays before, {len(found)} after"
        return
    for one, other in zip(wanted, found, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            yield f"{one.dtype}{one.shape} before, {other.dtype}{other.shape} after"
        elif not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            yield f"{one} before, {other} after"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        program, answer = sys.argv[1:]
        Path(answer).write_bytes(pickle.dumps(numbers(Path(program))))
    else:
        _serve()
