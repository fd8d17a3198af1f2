"""The program that a user's Python runs: `python -I start.py serve` or `python -I start.py once ROOM`.

`serve` imports JAX without creating a backend. Each line of stdin is a JSON request, for which it forks a process that
runs `perform`. `serve` answers on stdout, one JSON object per line:

    {"ready": true, "jax": "0.10.2"}      it is waiting for requests
    {"ready": false, "failure": {...}}    JAX cannot be imported; it exits
    {"started": ROOM, "pid": 123}         the request with this room runs in this process
    {"ended": 123, "status": 0}           answer to {"reap": 123}

`once` performs the request in `ROOM/request.json` in this process, on systems without fork.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
from types import ModuleType

OURS = "_meshlens_worker"
_SET_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def main(how: str, room: str = "") -> None:
    """Serves requests until stdin ends, or performs one."""
    _see_user_packages()
    performing = _load()
    _see_user_path()
    if how == "once":
        with open(os.path.join(room, "request.json"), encoding="utf-8") as file:
            request = json.load(file)
        performing.perform(request)
        return
    if sys.platform == "win32":
        raise NotImplementedError("there is no fork on Windows: `once` performs a request there")
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    _prctl(_SET_CHILD_SUBREAPER, 1)
    failure = performing.import_jax()
    if failure is not None:
        _say(answers, {"ready": False, "failure": failure})
        return
    # A collection would visit all of JAX's objects, and write to the memory pages that forks share.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    _say(answers, {"ready": True, "jax": sys.modules["jax"].__version__})
    running: set[int] = set()
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return
        asked = json.loads(line)
        if "reap" in asked:
            running.discard(asked["reap"])
            _say(answers, {"ended": asked["reap"], "status": _reaped(asked["reap"], running)})
            continue
        pid = os.fork()
        if pid == 0:
            answers.close()
            _become_a_session()
            performing.perform(asked)
            os._exit(0)
        running.add(pid)
        _say(answers, {"started": asked["room"], "pid": pid})


def _become_a_session() -> None:
    """Leaves the server's process group, so that the whole request can be ended, but still ends with the server."""
    if sys.platform != "win32":
        os.setsid()
    _prctl(_SET_DEATH_SIGNAL, 9)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _reaped(pid: int, running: set[int]) -> int:
    """Returns the exit status of a request, after ending the processes that it left in separate sessions."""
    try:
        status = os.waitpid(pid, 0)[1]
    except ChildProcessError:
        status = 0
    for _ in range(100):
        left = [child for child in _children() if child not in running]
        for child in left:
            try:
                os.kill(child, 9)
                os.waitpid(child, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
        if not left:
            break
    return status


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(number) for number in file.read().split()]
    except OSError:
        return []


def _say(answers: object, answer: dict) -> None:  # type: ignore[type-arg]  # Python 3.8 has only plain dict
    print(json.dumps(answer), file=answers, flush=True)  # type: ignore[call-overload]


def _prctl(what: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def _see_user_packages() -> None:
    """Adds the packages installed with `pip install --user`, which `-I` excludes."""
    if sys.prefix != sys.base_prefix:
        return
    import site

    folder = site.getusersitepackages()
    if os.path.isdir(folder) and folder not in sys.path:
        sys.path.append(folder)


def _see_user_path() -> None:
    """Adds the folders of `PYTHONPATH`, which `-I` excludes, after the folders of Python's own modules."""
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(folder)]
    found = (index for index, path in enumerate(sys.path) if "site-packages" in path or "dist-packages" in path)
    place = next(found, len(sys.path))
    sys.path[place:place] = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]


def _load() -> ModuleType:
    """Loads this folder as a package under a name that no program uses."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        OURS, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[OURS] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{OURS}.performing")


if __name__ == "__main__":
    main(*sys.argv[1:3])
