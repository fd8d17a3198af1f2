"""Reports that were made before, kept on disk by interpreter until it, its packages or its variables change.

What failed is not kept: whoever has put it right would be told the same again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import meshlens
from meshlens.caches.folder import Cache
from meshlens.caches.sealed import read_sealed, write_sealed
from meshlens.devices.child_environment import child_environment
from meshlens.devices.environments import environment_of, packages_of
from meshlens.devices.machine import device_files
from meshlens.devices.report import BadReport, Report, from_json, to_json
from meshlens.devices.runner import Question, never, run_probe

FILE = "devices-1.bin"

_MOST_BYTES = 1 << 22
_MOST_KEPT = 20
_BOOT = "proc/sys/kernel/random/boot_id"


def report_of(
    question: Question,
    cache: Cache | None,
    *,
    is_stopped: Callable[[], bool] = never,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Report:
    """The report that answers a question: the one that is kept, or a new one.

    Args:
        question: what is asked of whom.
        cache: the project's caches, None to keep nothing.  Of an untrusted workspace nothing is kept.
        is_stopped: asked a few times a second whether nobody waits for the answer any more.
        environ: the environment that the user's programs see.
        root: where the system's files are.

    Raises:
        ProbeStopped: `is_stopped` said so.
    """
    kept = kept_report(question, cache, environ=environ, root=root)
    return kept or new_report(question, cache, is_stopped=is_stopped, environ=environ, root=root)


def kept_report(
    question: Question,
    cache: Cache | None,
    *,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Report | None:
    """The report that is kept and still holds; starts nothing."""
    if cache is None or question.untrusted:
        return None
    entries, stamp = _entries(cache), _stamp(question, environ, root)
    # What a TPU said when a user asked for it goes before what was told without starting it.
    for wanted in dict.fromkeys((replace(question, may_start_tpu=True), question)):
        entry = entries.get(_key(wanted))
        if isinstance(entry, dict) and entry.get("stamp") == stamp:
            with suppress(BadReport):
                return from_json(entry.get("report"))
    return None


def new_report(
    question: Question,
    cache: Cache | None,
    *,
    is_stopped: Callable[[], bool] = never,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Report:
    """Asks again, whatever is kept, and keeps what comes.

    Raises:
        ProbeStopped: `is_stopped` said so.
    """
    report = run_probe(question, is_stopped=is_stopped, environ=environ, root=root)
    if cache is not None and report.failure is None and not question.untrusted:
        entries = _entries(cache)
        entries.pop(_key(question), None)
        entries[_key(question)] = {"stamp": _stamp(question, environ, root), "report": to_json(report)}
        newest = dict(list(entries.items())[-_MOST_KEPT:])
        write_sealed(cache, FILE, json.dumps(newest).encode("ascii"))
    return report


def _entries(cache: Cache) -> dict[str, object]:
    """Returns what the file holds; nothing where it is damaged."""
    content = read_sealed(cache, FILE, _MOST_BYTES)
    try:
        found = json.loads(content) if content is not None else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(question: Question) -> str:
    return f"{question.level}{' tpu' if question.may_start_tpu else ''} {question.interpreter}"


def _stamp(question: Question, environ: Mapping[str, str], root: Path) -> str:
    """Stands for everything that an answer hangs on, as far as it can be told without asking."""
    parts = [meshlens.__version__, *_times(question.interpreter), *device_files(root)]
    parts += [f"{name}={value}" for name, value in sorted(child_environment(environ).items())]
    with suppress(OSError):
        parts.append((root / _BOOT).read_text(encoding="ascii"))
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _times(interpreter: str) -> Iterator[str]:
    """When the interpreter changed, and the folders of its packages, in which each installation makes an entry."""
    environment = environment_of(interpreter)
    beside = environment_of(os.path.realpath(interpreter))
    places = [Path(interpreter), environment / "pyvenv.cfg", *packages_of(environment), *packages_of(beside)]
    for place in dict.fromkeys(places):
        with suppress(OSError):
            yield f"{place}:{place.stat().st_mtime_ns}"
