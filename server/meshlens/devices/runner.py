"""Runs a probe of an interpreter in a separate process, and converts any outcome to a report.

A call blocks until the answer is available; a server makes the call in a thread, and stops it through `is_stopped`.
For an untrusted workspace, no process is started: the names of package metadata folders are read directly.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from meshlens.devices import failures
from meshlens.devices.child_environment import child_environment
from meshlens.devices.environments import environment_of, is_environment, packages_of
from meshlens.devices.machine import Machine, look_at_machine
from meshlens.devices.probe import versions
from meshlens.devices.processes import Ended, run_bounded
from meshlens.devices.report import CONTRACT, BadReport, Level, Report, from_json
from meshlens.devices.trust import interpreter_leads_into

PROGRAM = Path(__file__).with_name("probe.py")

_SECONDS: Mapping[Level, float] = {"installed": 20.0, "devices": 60.0}


class ProbeStopped(Exception):
    """Raised if a probe is stopped because its report is no longer wanted."""


@dataclass(frozen=True, slots=True)
class Question:
    """A probe request.

    Attributes:
        interpreter: the path of a Python.
        level: "installed" to read only package metadata, "devices" to start JAX.
        untrusted: folders from which nothing may be run; if there are any, no program is started.
        may_start_tpu: whether a user requested the probe; a TPU serves only one process, so it is not started unasked.
        seconds: the time limit; None for the default of the level.
    """

    interpreter: str
    level: Level = "devices"
    untrusted: tuple[Path, ...] = ()
    may_start_tpu: bool = False
    seconds: float | None = None


def never() -> bool:
    """Returns False, so that a probe is never stopped."""
    return False


def run_probe(
    question: Question,
    *,
    is_stopped: Callable[[], bool] = never,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Report:
    """Probes an interpreter, and returns the report.

    Args:
        question: the probe request.
        is_stopped: called many times a second; returns whether the caller no longer wants the answer.
        environ: the environment of the user's programs.
        root: the root of the system's files.

    Returns:
        The report, which states any failure. Its level is "installed" if JAX must not be started.

    Raises:
        ProbeStopped: `is_stopped` returned True.
    """
    begin = time.monotonic()
    if question.untrusted:
        return _read(question)
    environment = child_environment(environ)
    machine = look_at_machine(environment, is_stopped, root)
    level = _level(question, environment, machine)
    report = Report(question.interpreter, level, accelerators=machine.accelerators)
    seconds = question.seconds or _SECONDS[level]
    isolated = ["-I"] if level == "devices" else ["-I", "-S"]
    command = [question.interpreter, *isolated, str(PROGRAM), level, str(seconds)]
    try:
        ended = run_bounded(command, environment, seconds=seconds, is_stopped=is_stopped)
    except (OSError, ValueError) as error:
        report = replace(report, failure=failures.not_started(question.interpreter, error))
    else:
        if is_stopped():
            raise ProbeStopped
        report = _answered(report, ended, seconds, environment, machine)
        if report.version("jax") is None and report.failure is not None and _is_on_path("jax", environ):
            report = replace(report, failure=failures.only_on_path(question.interpreter))
    return replace(report, seconds=round(time.monotonic() - begin, 3))


def _read(question: Question) -> Report:
    """Returns a report based only on an interpreter's files."""
    python = question.interpreter
    report = Report(python, "installed", note=failures.NOT_ASKED)
    if interpreter_leads_into(python, question.untrusted):
        return replace(report, failure=failures.untrusted(python))
    if not os.access(python, os.X_OK) or os.path.isdir(python):
        return replace(report, failure=failures.not_started(python, FileNotFoundError(2, "", python)))
    environment = environment_of(python)
    beside = environment if is_environment(environment) else environment_of(os.path.realpath(python))
    folders = dict.fromkeys((*packages_of(environment), *packages_of(beside)))
    return replace(report, versions=tuple(sorted(versions([str(folder) for folder in folders]).items())))


def _level(question: Question, environment: Mapping[str, str], machine: Machine) -> Level:
    platforms = environment.get("JAX_PLATFORMS", "")
    has_tpu = any(device.platform == "tpu" for device in machine.accelerators)
    if has_tpu and not question.may_start_tpu and (not platforms or "tpu" in platforms):
        return "installed"
    return question.level


def _answered(report: Report, ended: Ended, seconds: float, environment: Mapping[str, str], machine: Machine) -> Report:
    interpreter = report.interpreter
    answer = _last_answer(ended.output)
    if answer is None:
        return replace(report, failure=failures.no_answer(interpreter, report.level, ended, seconds))
    if answer.get("contract") != CONTRACT:
        return replace(report, failure=failures.future_contract(interpreter, answer.get("contract")))
    try:
        said = from_json({**answer, "interpreter": interpreter, "level": report.level})
    except BadReport as bad:
        return replace(report, failure=failures.bad_answer(interpreter, str(bad)))
    devices = said.devices if report.level == "devices" else ()
    said = replace(said, devices=devices, accelerators=report.accelerators, failure=None, note=None)
    error, versions = answer.get("error"), dict(said.versions)
    if "jax" not in versions and _numbers(said.python) < (3, 8):
        return replace(said, failure=failures.too_old(interpreter, said.python))
    if isinstance(error, dict):
        failure = failures.raised(
            interpreter, error, versions=versions, environment=environment, accelerators=machine.accelerators
        )
        return replace(said, failure=failure, note=machine.trouble)
    if report.level == "installed" and "jax" not in versions:
        return replace(said, failure=failures.missing_jax(interpreter, machine.accelerators))
    return replace(said, note=_note(said, answer, environment, machine))


def _is_on_path(package: str, environ: Mapping[str, str]) -> bool:
    folders = filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))
    return any(os.path.isdir(os.path.join(folder, package, "_src")) for folder in folders)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _last_answer(output: bytes) -> dict[str, object] | None:
    """Returns the last JSON object in the output that has a contract, preferring one with the supported version."""
    strange: dict[str, object] | None = None
    for line in reversed(output.splitlines()):
        if not line.lstrip().startswith(b"{") or b'"contract"' not in line:
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found.get("contract") == CONTRACT:
            return found
        if strange is None and isinstance(found, dict) and "contract" in found:
            strange = found
    return strange


def _note(said: Report, answer: Mapping[str, object], environment: Mapping[str, str], machine: Machine) -> str | None:
    if machine.trouble is not None:
        return machine.trouble
    if said.level == "installed" or said.default_backend != "cpu" or not machine.accelerators:
        return None
    if environment.get("JAX_PLATFORMS") or environment.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return None
    errors = answer.get("backend_errors")
    return failures.passed_over(
        said.interpreter, machine.accelerators, dict(said.versions), errors if isinstance(errors, dict) else {}
    )
