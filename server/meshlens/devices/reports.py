"""Earlier reports, cached on disk for each interpreter until it, its packages or its environment variables change.

Failures are not cached, so that a user who has fixed the problem does not see them again.
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
    """Returns the report for a question, cached or new.

    Args:
        question: the probe request.
        cache: the project's caches; None for no caching. Nothing is cached for an untrusted workspace.
        is_stopped: called many times a second; returns whether the caller no longer wants the answer.
        environ: the environment of the user's programs.
        root: the root of the system's files.

    Raises:
        ProbeStopped: `is_stopped` returned True.
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
    """Returns the cached report if it is still valid; starts nothing."""
    if cache is None or question.untrusted:
        return None
    entries, stamp = _entries(cache), _stamp(question, environ, root)
    # An answer with the TPU, started at a user's request, takes precedence over an answer without it.
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
    """Returns a new report, ignoring the cache, and caches it.

    Raises:
        ProbeStopped: `is_stopped` returned True.
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
    """Returns the contents of the cache file; empty if the file is damaged."""
    content = read_sealed(cache, FILE, _MOST_BYTES)
    try:
        found = json.loads(content) if content is not None else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(question: Question) -> str:
    return f"{question.level}{' tpu' if question.may_start_tpu else ''} {question.interpreter}"


def _stamp(question: Question, environ: Mapping[str, str], root: Path) -> str:
    """Returns a hash of everything that an answer depends on and that is known without a probe."""
    parts = [meshlens.__version__, *_times(question.interpreter), *device_files(root)]
    parts += [f"{name}={value}" for name, value in sorted(child_environment(environ).items())]
    with suppress(OSError):
        parts.append((root / _BOOT).read_text(encoding="ascii"))
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _times(interpreter: str) -> Iterator[str]:
    """Yields the modification times of the interpreter and its package folders; every installation changes these."""
    environment = environment_of(interpreter)
    beside = environment_of(os.path.realpath(interpreter))
    places = [Path(interpreter), environment / "pyvenv.cfg", *packages_of(environment), *packages_of(beside)]
    for place in dict.fromkeys(places):
        with suppress(OSError):
            yield f"{place}:{place.stat().st_mtime_ns}"
