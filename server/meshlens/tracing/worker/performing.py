"""Performs one request: imports the user's file, traces its entry, passes it to XLA, and writes the results.

The request is an object with these keys:

    room        an empty folder for the answers
    file, name  the entry
    root        the folder of the project
    devices     the number of virtual devices
    level       1: trace; 2: also partition
    plugin      the number of GPUs per host, to partition with the plugin's compiler; else null
    run_main    whether to run the file as a program until it calls the function
    argv        the command-line arguments of the program

It writes these files into the room, each atomically:

    stage         the current stage: "importing", "tracing", "lowering", "partitioning"
    traced.json   the results of `jaxprs.read`, and the files that were read
    lowered.json  the name of XLA's module, and the dumps that existed before
    failed.json   {stage, kind, message, type, place, more}
    whole.json    {replicas}, only if XLA has nothing to partition
    lowered.txt   in that case, the module that XLA would compile
    compiled.txt  otherwise, the compiled module, unless this process was ended earlier
    done          an empty file: everything is done
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import sys
from contextlib import suppress
from typing import Any

from . import arguments, calls, entries, jaxprs, plugin, tracing
from .places import LIBRARIES, Inside, rows_of_error

_LONGEST = 4000
_OURS = ("jax_num_cpu_devices", "jax_platforms", "jax_platform_name", "jax_enable_compilation_cache")


def import_jax() -> dict[str, Any] | None:
    """Imports JAX and modules that nearly every program needs; returns the failure, if any."""
    try:
        import jax
        import jax.numpy
    except BaseException as error:
        missing = error.name if isinstance(error, ImportError) else None
        return {"type": type(error).__name__, "message": str(error)[:_LONGEST], "missing": missing}
    if not hasattr(jax, "ShapeDtypeStruct") or _version(jax.__version__) < (0, 4, 35):
        return {"type": "TooOld", "message": jax.__version__, "missing": None}
    return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


class _Room:
    """Writes answers, each atomically under its name, but only from the process that created this object."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.process = os.getpid()

    def write(self, name: str, text: str) -> None:
        """Writes a file atomically; a child process that the user's code forked ends here instead."""
        if os.getpid() != self.process:
            os._exit(0)
        partial = os.path.join(self.folder, f".{name}")
        with open(partial, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(partial, os.path.join(self.folder, name))

    def say(self, name: str, answer: dict[str, Any]) -> None:
        """Writes an answer as JSON."""
        self.write(f"{name}.json", json.dumps(answer))


def perform(request: dict[str, Any]) -> None:
    """Performs a request and writes the results, whatever the user's code does."""
    room = _Room(request["room"])
    inside = Inside(request["root"], request["file"])
    _redirect(request["room"])
    stage = ["importing"]

    def begin(what: str) -> None:
        stage[0] = what
        room.write("stage", what)

    try:
        begin("importing")
        failure = import_jax()
        if failure is not None:
            room.say("failed", {"stage": "jax", "kind": failure["type"], **failure})
            return
        per_host = request.get("plugin")
        if per_host is not None and not plugin.is_there(_version(sys.modules["jax"].__version__)):
            raise entries.NoProgram("no-plugin", "the plugin for NVIDIA GPUs is not installed")
        notes = _hold(request)
        if per_host is not None:
            plugin.present(plugin.devices(request["devices"], per_host))
        _perform(request, inside, room, begin, notes)
        room.write("done", "")
    except entries.NoProgram as error:
        room.say("failed", {"stage": stage[0], "kind": error.kind, "message": str(error), "more": error.more})
    except BaseException as error:  # The answer reports whatever the user's code raises.
        room.say("failed", {**_told(error, stage[0], inside), "jax": _jax_version(), "files": _files(inside)})


def _perform(request: dict[str, Any], inside: Inside, room: _Room, begin: Any, notes: list[str]) -> None:
    import jax

    os.chdir(request["root"])
    function, args, kwargs, real = _program(request, inside, begin, notes)
    begin("tracing")
    try:
        traced = tracing.trace(function, args, kwargs)
    except Exception as error:
        if real is None or not _holds_abstract(error):
            raise
        # The function itself holds abstract arrays, which were created only for their shapes.
        begin("finding the arguments")
        function, args, kwargs = real()
        begin("tracing")
        traced = tracing.trace(function, args, kwargs)
    reading = jaxprs.read(traced.jaxpr, inside)
    for leaf in jax.tree_util.tree_leaves((args, kwargs)):
        jaxprs.keep_mesh(getattr(getattr(leaf, "sharding", None), "mesh", None), reading.meshes)
    for sharding in jax.tree_util.tree_leaves(traced.shardings):
        jaxprs.keep_mesh(getattr(sharding, "mesh", None), reading.meshes)
    is_plain = getattr(function, "__name__", "") == request["name"].rpartition(".")[2]
    is_plain = is_plain and not tracing.is_transformed(function)
    jitted = jaxprs.jitted_in(traced.jaxpr, entries.text_of(request["file"])) if is_plain else []
    about = {"jax": jax.__version__, "files": _files(inside), "notes": notes, "jitted": jitted}
    room.say("traced", {**_of(reading), **about})
    if request["level"] < 2:
        return
    begin("lowering")
    _keep_lines_inside(reading)
    lowered = traced.lower()
    replicas, partitions = _copies(lowered)
    if partitions == 1:
        # XLA has nothing to partition: the program runs whole, on one device or as a replica on each.
        room.say("whole", {"replicas": replicas})
        room.write("lowered.txt", lowered.as_text("hlo"))
        return
    begin("partitioning")
    room.say("lowered", {"module": _module_name(lowered), "dumps": _dumps(request)})
    text = lowered.compile().as_text()
    room.write("compiled.txt", text if isinstance(text, str) else "")


def _keep_lines_inside(reading: jaxprs.Reading) -> None:
    """Makes JAX keep the source lines of code inside a `cond`, a loop or a `checkpoint`.

    JAX 0.7.0 to 0.9.0 lowers such code once for all calls, and then attributes all of it to the line of the call.
    """
    from jax._src.interpreters import mlir

    if _version(sys.modules["jax"].__version__) < (0, 9, 1):
        getattr(mlir, "_uncacheable_primitives", set()).update(reading.callers)


def _program(
    request: dict[str, Any], inside: Inside, begin: Any, notes: list[str]
) -> tuple[Any, tuple[Any, ...], dict[str, Any], Any]:
    """Returns the function to trace, its arguments, and a function that makes both again with real arrays, or None."""
    name, file, root = request["name"], request["file"], request["root"]
    argv = [file, *request.get("argv", ())]
    if request.get("run_main"):
        begin("running the program")
        return (*arguments.by_running(file, name, root, argv), None)
    visible = calls.read(file, name, inside)
    if visible is not None and visible.run_on_import:
        entries.find_imports(file, root)
        return _visible(visible, None, argv, begin, notes)
    module = entries.import_file(file, root)
    if visible is not None and visible.is_local(module):
        return _visible(visible, module, argv, begin, notes)
    found = entries.find(module, name)
    begin("building the arguments")
    lacking = entries.missing_parameters(found)
    if not lacking:
        return (*entries.program_of(found, name), None)
    failure = None
    if visible is not None and visible.sites:
        try:
            return _visible(visible, module, argv, begin, notes)
        except entries.NoProgram as error:
            failure = error
    annotated = arguments.by_annotations(found, request["devices"])
    if annotated is not None:
        notes.append("shapes come from the annotations; MeshLens chose sizes for the named dimensions")
        return (found, *annotated, None)
    parameters = arguments.described(found, request["devices"])
    if failure is not None:
        raise entries.NoProgram(failure.kind, str(failure), {**failure.more, "parameters": parameters})
    raise entries.NoProgram(
        "no-arguments",
        f'"{name}" needs {_counted(len(lacking), "argument")} ({", ".join(one.name for one in lacking)}); '
        "name an entry that returns (function, args), or pass --run-main to run the program until it calls the "
        "function",
        {"parameters": parameters},
    )


def _visible(
    visible: calls.Calls, module: Any, argv: list[str], begin: Any, notes: list[str]
) -> tuple[Any, tuple[Any, ...], dict[str, Any], Any]:
    """Returns the same as `_program`, from a visible call in the file."""
    begin("finding the arguments")
    found, again, row = visible.first(module, argv)
    notes.append(f"the arguments are those of the call on line {row}")
    notes += found.notes

    def real() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        one = again()
        return one.function, one.args, one.kwargs

    return found.function, found.args, found.kwargs, real


def _holds_abstract(error: BaseException) -> bool:
    """Returns whether an error reports that this trace uses an array of an earlier trace."""
    return any(one.__name__ in ("UnexpectedTracerError", "TraceContextError") for one in type(error).__mro__)


def _hold(request: dict[str, Any]) -> list[str]:
    """Fixes the devices and platform to those of the request, whatever the user's code sets."""
    import jax

    count = int(request["devices"])
    flags = [*os.environ.get("XLA_FLAGS", "").split(), f"--xla_force_host_platform_device_count={count}"]
    if request["level"] > 1:
        flags += [
            f"--xla_dump_to={_dump_folder(request)}",
            "--xla_dump_hlo_pass_re=spmd-partitioning",
            "--xla_dump_hlo_as_text",
        ]
    os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS=" ".join(flags), JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1")
    # XLA reads its flags only once.
    from jax._src.lib import xla_client

    xla_client.CompileOptions()
    notes: list[str] = []
    update = jax.config.update

    def guarded(name: str, value: Any) -> None:
        if name not in _OURS:
            update(name, value)
        elif name == "jax_num_cpu_devices" and value != count:
            notes.append(f"the program requests {value} CPU devices; it was traced with {count}")

    for name, value in (
        ("jax_platforms", "cpu"),
        ("jax_num_cpu_devices", count),
        ("jax_enable_compilation_cache", False),
        ("jax_traceback_in_locations_limit", 40),
        ("jax_include_full_tracebacks_in_locations", True),
    ):
        if name in getattr(jax.config, "values", {name: None}):
            # A JAX release may lack one of these options.
            with suppress(AttributeError, ValueError, RuntimeError):
                update(name, value)
    # The line of an operation is the user's line, not a line of a library that it calls.
    from jax._src import source_info_util

    for folder in LIBRARIES:
        source_info_util.register_exclusion(folder)
    type(jax.config).update = staticmethod(guarded)
    jax.distributed.initialize = lambda *_args, **_kwargs: None
    builtins.input = _no_input
    return notes


def _no_input(prompt: object = "") -> str:
    raise EOFError("the program requests input, which a trace cannot provide")


def _redirect(folder: str) -> None:
    """Redirects the output of the user's code to a file."""
    output = os.open(os.path.join(folder, "output"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def _of(reading: jaxprs.Reading) -> dict[str, Any]:
    return {
        "lines": [[*place, jaxprs.written_type(aval)] for place, aval in reading.lines.items()],
        "collectives": reading.collectives,
        "rows": sorted(reading.rows),
        "equations": reading.equations,
        "flops": reading.flops,
        "unknown_loops": sorted(reading.unknown_loops),
        "unequal_branches": sorted(reading.unequal_branches),
        "kernels": sorted(reading.kernels),
        "meshes": list(reading.meshes.values()),
    }


def _files(inside: Inside) -> list[dict[str, str]]:
    """Returns the user's files that were imported, each with a digest of its contents."""
    found: dict[str, str] = {}
    for module in list(sys.modules.values()):
        path = inside.path(getattr(module, "__file__", None) or "<none>")
        if path and path not in found:
            try:
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                continue
    return [{"path": path, "sha256": digest} for path, digest in sorted(found.items())]


def _jax_version() -> str:
    return str(getattr(sys.modules.get("jax"), "__version__", ""))


def _told(error: BaseException, stage: str, inside: Inside) -> dict[str, Any]:
    places = rows_of_error(error, inside)
    message = str(error).split("\n--------------------\n")[0]
    return {
        "stage": stage,
        "kind": "raised",
        "type": type(error).__name__,
        "message": (message.strip() or "raised without a message")[:_LONGEST],
        "code": error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else None,
        "missing": error.name if isinstance(error, ModuleNotFoundError) else None,
        "place": places[0] if places else None,
        "route": places[:50],
    }


def _copies(lowered: Any) -> tuple[int, int]:
    """Returns the numbers of replicas and partitions of a module; 0 for both if they are unknown."""
    try:
        attributes = lowered.compiler_ir().operation.attributes
        return tuple(int(attributes[f"mhlo.num_{name}"].value) for name in ("replicas", "partitions"))  # type: ignore[return-value]
    except Exception:  # A private form that may change.
        return 0, 0


def _module_name(lowered: Any) -> str:
    try:
        return str(lowered.compiler_ir().operation.attributes["sym_name"]).strip('"')
    except Exception:  # A private form that may change; the newest dump is used then.
        return ""


def _dump_folder(request: dict[str, Any]) -> str:
    return os.path.join(request["room"], "dumps")


def _dumps(request: dict[str, Any]) -> list[str]:
    try:
        return sorted(os.listdir(_dump_folder(request)))
    except OSError:
        return []


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
