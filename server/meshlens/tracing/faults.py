"""Error messages for tracing, each with a remedy."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from meshlens.devices import failures
from meshlens.foreign_files import read_bytes
from meshlens.tracing.model import Fault, Place
from meshlens.tracing.request import Limits, TraceRequest

NO_MESSAGE = "raised without a message"
OF_OURS = frozenset(
    {"NotTrusted", "TooOld", "NoJax", "NotStarted", "WorkerLost", "Timeout", "OutOfMemory", "Flood", "BadAnswer"}
    | {"Killed", "Ended", "NoArguments", "NoEntry", "NoCall", "NoPlugin", "BadEntry"}
)
"""Types of faults that are not exceptions; only programs need these types, because the messages say everything."""
_LONGEST = 2000
_FEW = 8
_INDIVISIBLE = re.compile(r"array axis (\d+) is partitioned (\d+) times, but the dimension size is (\d+)")
_UNKNOWN_FLAGS = re.compile(rb"Unknown flags? in XLA_FLAGS: (\S{1,200})")
_MOST_OUTPUT = 1 << 20
_STAGES = {
    "importing": "while it was being imported",
    "building the arguments": "while its entry built the arguments",
    "finding the arguments": "while the arguments of a call in the file were being computed",
    "running the program": "before it called the function",
    "tracing": "while it was being traced",
    "lowering": "while it was being lowered",
    "partitioning": "while XLA partitioned it",
}


def untrusted(request: TraceRequest) -> Fault:
    """Returns the fault for an untrusted workspace, in which nothing was run."""
    return Fault(f"{request.root} is not trusted, so nothing in it runs; trust it to trace this", "NotTrusted")


def without_jax(interpreter: str, failure: Mapping[str, Any]) -> Fault:
    """Returns the fault for an interpreter that cannot trace."""
    kind, message, missing = (failure.get(key) for key in ("type", "message", "missing"))
    if kind == "TooOld":
        return Fault(f"JAX {message} is too old for tracing; upgrade it to 0.4.35 or later", "TooOld")
    if missing == "jax":
        return Fault(failures.missing_jax(interpreter, ()), "NoJax")
    return Fault(f"{interpreter} cannot import JAX: {_line(message)}", _line(kind) or "NoJax")


def not_started(interpreter: str, error: OSError | ValueError) -> Fault:
    """Returns the fault for an interpreter that does not start."""
    return Fault(failures.not_started(interpreter, error), "NotStarted")


def lost(complaint: str) -> Fault:
    """Returns the fault for a warm process that no longer runs."""
    more = f": {_line(complaint)}" if complaint else ""
    return Fault(f"the tracing process has ended{more}; trace again to start another", "WorkerLost")


def stopped(why: str, stage: str, limits: Limits) -> Fault:
    """Returns the fault for a request that reached a limit."""
    where = _STAGES.get(stage, "")
    if why == "timeout":
        text = f"the program reached the time limit of {limits.seconds:g} s {where}".rstrip()
        remedy = 'put slow code under if __name__ == "__main__", or pass --timeout'
        if stage in ("lowering", "partitioning", "tracing"):
            remedy = "pass --timeout to wait longer"
        if stage == "finding the arguments":
            remedy = "write an entry, or pass --timeout to wait longer"
        return Fault(f"{text}; {remedy}", "Timeout")
    if why == "memory":
        text = f"the program reached the memory limit of {limits.memory / 2**30:g} GiB {where}".rstrip()
        return Fault(f"{text}; use jax.ShapeDtypeStruct for large arrays, or pass --memory", "OutOfMemory")
    return Fault(f"the program printed too much {where}".rstrip(), "Flood")


def unreadable(error: Exception) -> Fault:
    """Returns the fault for an invalid answer from a worker."""
    what = f"{type(error).__name__}: {error}"[:200]
    return Fault(f"the program's trace cannot be read ({what}); trace again", "BadAnswer")


def ended(status: int, stage: str, room: Path) -> Fault:
    """Returns the fault for a process that ended without writing an answer to its folder."""
    where = _STAGES.get(stage, "before tracing began")
    printed = read_bytes(room / "output", _MOST_OUTPUT)
    unknown = _UNKNOWN_FLAGS.search(printed) if isinstance(printed, bytes) else None
    if unknown:
        flags = unknown[1].decode("utf-8", "replace")
        return Fault(f"this version of XLA does not know {flags}; remove it from XLA_FLAGS", "Killed")
    number = status & 0x7F
    if number:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return Fault(f"the program was killed by {name} {where}", "Killed")
    return Fault(f"the program ended its process (exit code {status >> 8}) {where}", "Ended")


def raised(answer: Mapping[str, Any], request: TraceRequest) -> Fault:
    """Returns the fault for an exception from the user's code, JAX, XLA or the worker, with any known remedy."""
    stage, kind = str(answer.get("stage", "")), str(answer.get("kind", ""))
    message = str(answer.get("message", ""))[:_LONGEST]
    if stage == "jax":
        return without_jax(request.interpreter, answer)
    if kind != "raised":
        more = answer.get("more")
        of_ours = {"no-arguments": "NoArguments", "no-entry": "NoEntry", "no-call": "NoCall", "no-plugin": "NoPlugin"}
        place = place_of(more.get("place")) if isinstance(more, dict) else None
        return Fault(message + _nearest(more), of_ours.get(kind, "BadEntry"), place)
    name = str(answer.get("type", "Exception"))[:200]
    place = place_of(answer.get("place"))
    route = tuple(found for one in _list(answer.get("route")) if (found := place_of(one)) is not None)
    where = _STAGES.get(stage, "")
    if name == "SystemExit":
        code = answer.get("code")
        shown = f"sys.exit({code if code is not None else _line(message)})"
        message = f'the program called {shown} {where}; put that call under if __name__ == "__main__"'
    elif name == "EOFError" and "input" in message:
        message = (
            f'the program asked for input {where}, but none is available; put that call under if __name__ == "__main__"'
        )
    elif name in ("ModuleNotFoundError", "ImportError"):
        missing = answer.get("missing")
        install = (
            f"; install it with `{request.interpreter} -m pip install {missing}`"
            if _is_package(missing, request)
            else ""
        )
        message = f"{_line(message)}{install}"
    else:
        message = _with_remedy(_line(message), stage, name)
    return Fault(message, name, place, route)


def _with_remedy(message: str, stage: str, name: str) -> str:
    """Adds a remedy to a JAX message that has none."""
    if found := _INDIVISIBLE.search(message):
        axis, number, size = found.groups()
        return (
            f"axis {axis} of an argument has size {size}, which is not divisible by the {number} devices that share "
            f"it; make the size a multiple of {number}, change the spec, or trace with a different --devices"
        )
    remedies = (
        (stage == "tracing" and name == "TypeError" and "argument" in message, "check the arguments of the entry"),
        (stage == "tracing" and "shape" in message and name in ("TypeError", "ValueError"), "check the entry's shapes"),
        (
            message.startswith(("cannot reshape array of size", "Number of devices")),
            "build the mesh from jax.device_count(), or trace with a different --devices",
        ),
        (
            name == "ShardingTypeError",
            "the mesh has explicit axes; pass axis_types=(jax.sharding.AxisType.Auto, …) to make_mesh "
            "to leave this to XLA",
        ),
        ("interpret mode is supported on CPU" in message, "pass --level traced, or interpret=True to pallas_call"),
        (message == NO_MESSAGE, "run `meshlens check`, which may say why"),
    )
    remedy = next((f"; {text}" for applies, text in remedies if applies), "")
    return message.rstrip(".") + remedy if remedy else message


def _nearest(more: object) -> str:
    """Returns a hint that names the functions of a file that lacks the requested one."""
    if not isinstance(more, dict) or not isinstance(more.get("functions"), list):
        return ""
    functions = [name for name in more["functions"] if isinstance(name, str)]
    close = get_close_matches(str(more.get("wanted")), functions, n=1)
    if close:
        return f'; did you mean "{close[0]}"?'
    listed = ", ".join(functions[:_FEW]) + (", …" if len(functions) > _FEW else "")
    return f"; it has {listed}" if functions else ""


def _is_package(missing: object, request: TraceRequest) -> bool:
    if not isinstance(missing, str) or not re.fullmatch(r"[A-Za-z_]\w*", missing):
        return False
    return not (request.root / missing).exists()


def place_of(value: object) -> Place | None:
    """Returns the place for a pair of a path and a row."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
        return Place(value[0], value[1])
    return None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _line(text: object) -> str:
    return " ".join(str(text or "").split())[:_LONGEST]
