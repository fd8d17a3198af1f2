"""Converts each failure of a probe to one sentence with a remedy."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Mapping

from meshlens.devices.processes import Ended
from meshlens.devices.report import Device, Level, devices_in_words

# The extras of JAX 0.10.2 to install for a platform; "cuda13" is not used, because it needs driver 580 or newer.
_EXTRAS = {"gpu": "[cuda12]", "cuda": "[cuda12]", "tpu": "[tpu]"}
_ANOTHER = 'set "interpreter" to the Python that runs your code'
_TOO_OLD = re.compile(
    r"Unknown option: -I|future feature annotations is not defined|No module named '?importlib.metadata"
)
_IN_USE = re.compile(
    r"TPU is already in use by process with pid (\d+)|(already in use by another process|libtpu_lockfile)"
)
_DRIVER = re.compile(
    r"driver version is insufficient|SYSTEM_DRIVER_MISMATCH|does not match DSO version|library version mismatch"
    r"|unsupported display driver|COMPAT_NOT_SUPPORTED_ON_DEVICE",
    re.IGNORECASE,
)
_TOO_OLD_LIBRARY = re.compile(r"Outdated (\w+) installation|Found (\w+) version \d+, but JAX was built against")
_NO_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|out of memory", re.IGNORECASE)
_BACKEND = re.compile(r"Unable to initialize backend '(\w+)': *(.*)", re.DOTALL)
_UNKNOWN_BACKEND = re.compile(r"Unknown backend:? '?(\w+)|unknown backend (\w+)|No visible (\w+)", re.IGNORECASE)
_MISFIT = re.compile(r"jaxlib is version |jaxlib version \S+ is newer|requires jaxlib version")


NOT_ASKED = "JAX was not started, because the workspace is not trusted"
"""The note in a report if JAX was not started because the workspace is untrusted."""


def untrusted(interpreter: str) -> str:
    """Returns the message for an interpreter in a folder from which nothing may be run."""
    return f'"{interpreter}" is in an untrusted workspace; trust it, or {_ANOTHER}'


def not_started(interpreter: str, error: OSError | ValueError) -> str:
    """Returns the message for an interpreter that could not be started."""
    if isinstance(error, ValueError):
        return f"{interpreter!r} is not a path; {_ANOTHER}"
    if error.filename != interpreter:
        return f"no temporary files can be written ({error.strerror or error}); free some space, or set TMPDIR"
    if not os.path.lexists(interpreter):
        return f'"{interpreter}" does not exist; {_ANOTHER}'
    if not os.path.exists(interpreter):
        return f'"{interpreter}" is a link to a Python that no longer exists; recreate its environment'
    if os.path.isdir(interpreter):
        return f'"{interpreter}" is a folder without a Python in it; {_ANOTHER}'
    if isinstance(error, FileNotFoundError):
        return f'"{interpreter}" is a script whose interpreter no longer exists; recreate its environment'
    if isinstance(error, PermissionError):
        return f'"{interpreter}" cannot be executed; change its permissions, or {_ANOTHER}'
    return f'"{interpreter}" is not a program for this machine ({error.strerror}); {_ANOTHER}'


def too_old(interpreter: str, python: str) -> str:
    """Returns the message for an interpreter that is too old for JAX."""
    named = f"Python {python} at" if python else "the Python at"
    return f'{named} "{interpreter}" is too old; JAX needs 3.8 or newer, so {_ANOTHER}'


def future_contract(interpreter: str, contract: object) -> str:
    """Returns the message for an answer in a format that this version cannot read."""
    return f'"{interpreter}" answered in format {contract}, which this version of MeshLens cannot read; update MeshLens'


def bad_answer(interpreter: str, where: str) -> str:
    """Returns the message for an answer that has the right contract version but is malformed."""
    return f'"{interpreter}" gave an unreadable answer ({where}); {_ANOTHER}'


def no_answer(interpreter: str, level: Level, ended: Ended, seconds: float) -> str:
    """Returns the message for a probe that gave no usable answer."""
    see = f"run {_command(interpreter, 'import jax; jax.devices()' if level == 'devices' else 'print()')}"
    while_ = "JAX was starting" if level == "devices" else "it was starting"
    if ended.how == "timeout":
        return f'"{interpreter}" did not answer within {seconds:g} seconds; {see} in a terminal to see where it waits'
    if ended.how == "flood":
        return f'"{interpreter}" printed too much; {see} in a terminal to see what it prints'
    if _TOO_OLD.search(ended.errors):
        return too_old(interpreter, "")
    if ended.how == "ended" and ended.code < 0:
        killed = ", perhaps because memory ran out" if ended.code == -9 else ""
        return f'"{interpreter}" was killed by {_signal_name(-ended.code)} while {while_}{killed}; {see} to see why'
    if last := _last_line(ended.errors):
        return f'"{interpreter}" gave no readable answer and printed "{last}"; {see} to see why'
    return f'"{interpreter}" gave no readable answer; check that it is a Python, or {_ANOTHER}'


def raised(
    interpreter: str,
    error: Mapping[str, object],
    *,
    versions: Mapping[str, str],
    environment: Mapping[str, str],
    accelerators: tuple[Device, ...],
) -> str:
    """Returns the message for an exception from JAX.

    Args:
        interpreter: its path.
        error: the `error` in the probe's answer.
        versions: the versions of the interpreter's packages.
        environment: the environment variables of the probe.
        accelerators: the machine's accelerators.
    """
    kind, text = str(error.get("type")), str(error.get("text"))
    if kind == "ModuleNotFoundError" and error.get("missing") == "jax":
        return missing_jax(interpreter, accelerators)
    if error.get("missing") == "jaxlib" or "requires jaxlib to be installed" in text:
        return f"jax is installed without jaxlib; install it with {_pip(interpreter, 'jax', accelerators)}"
    if error.get("step") == "import":
        if "jaxlib" in versions and _MISFIT.search(text):
            both = f"jax {versions.get('jax', '')} and jaxlib {versions['jaxlib']}"
            return f"{both} do not match; install them together with {_pip(interpreter, '-U jax', accelerators)}"
        said = _shortened(f"{kind}: {text}" if text else kind)
        return f"jax cannot be imported ({said}); run {_command(interpreter, 'import jax')} to see where it fails"
    return _not_initialized(interpreter, kind, text, environment.get("JAX_PLATFORMS", ""), accelerators)


def missing_jax(interpreter: str, accelerators: tuple[Device, ...]) -> str:
    """Returns the message for an interpreter without JAX."""
    install = _pip(interpreter, "jax", accelerators)
    return f'jax is not installed for "{interpreter}"; install it with {install}, or {_ANOTHER}'


def only_on_path(interpreter: str) -> str:
    """Returns the message for a JAX found only through PYTHONPATH, as with environment modules on clusters."""
    return f'jax is only on PYTHONPATH, which MeshLens ignores; install it for "{interpreter}", or {_ANOTHER}'


def passed_over(
    interpreter: str, accelerators: tuple[Device, ...], versions: Mapping[str, str], errors: Mapping[str, object]
) -> str:
    """Returns the message for a JAX that runs on the CPU although the machine has accelerators."""
    have = f"this machine has {devices_in_words(accelerators)}, but JAX runs on the CPU"
    platform = accelerators[0].platform
    names = ("tpu",) if platform == "tpu" else ("cuda", "rocm", "gpu")
    why = " ".join(str(text) for name, text in errors.items() if name in names)
    if known := _known_trouble(why):
        return f"{have}: {known}"
    plugins = "libtpu" if platform == "tpu" else ("jax-cuda", "jax-rocm")
    if not any(name.startswith(plugins) for name in versions):
        return f"{have}; install JAX's plugin with {_pip(interpreter, '-U jax', accelerators)}"
    return f"{have} ({_shortened(why)})" if why else f"{have}; set JAX_LOGGING_LEVEL=DEBUG to see what JAX logs"


def _not_initialized(interpreter: str, kind: str, text: str, platforms: str, accelerators: tuple[Device, ...]) -> str:
    if known := _known_trouble(text):
        return known
    found = _BACKEND.search(text)
    unknown = _UNKNOWN_BACKEND.search(text)
    backend = found[1] if found else next(filter(None, unknown.groups()), "") if unknown else ""
    if platforms and (backend or (kind == "AssertionError" and not text)):
        why = _shortened(found[2].split("(set JAX_PLATFORMS")[0]) if found else ""
        said = f" ({why})" if why else ""
        named = next((name for name in platforms.lower().split(",") if name in _EXTRAS), "")
        install = f"its plugin with {_pip_for(interpreter, 'jax', named)}" if named else "a plugin for it"
        return f'JAX_PLATFORMS is "{platforms}", which cannot be started here{said}; unset it, or install {install}'
    if backend:
        said = _shortened(found[2].split("(you may need")[0]) if found else text
        return f'JAX could not start "{backend}" ({said}); set JAX_PLATFORMS=cpu, or reinstall its plugin'
    said = _shortened(f"{kind}: {text}" if text else kind)
    look = _command(interpreter, "import jax; jax.devices()")
    return f"JAX could not list its devices ({said}); run {look} to see where it fails"


def _known_trouble(text: str) -> str | None:
    if found := _IN_USE.search(text):
        holder = f"process {found[1]}" if found[1] else "another process"
        return f"the TPU is in use by {holder}; end that process, or try again when it has ended"
    if _DRIVER.search(text):
        return "NVIDIA's driver does not match JAX's CUDA version; update the driver, or reboot if you just did"
    if found := _TOO_OLD_LIBRARY.search(text):
        library = found[1] or found[2]
        return f"the installed {library} is older than JAX needs; update it, or remove its folder from LD_LIBRARY_PATH"
    if _NO_MEMORY.search(text):
        return "the device is out of memory; use `nvidia-smi` to find the process that uses it, and end that process"
    return None


def _pip(interpreter: str, packages: str, accelerators: tuple[Device, ...]) -> str:
    return _pip_for(interpreter, packages, accelerators[0].platform if accelerators else "")


def _pip_for(interpreter: str, packages: str, platform: str) -> str:
    extra = _EXTRAS.get(platform, "")
    spelled = packages.replace("jax", f'"jax{extra}"') if extra else packages
    return f"`{shlex.quote(interpreter)} -m pip install {spelled}`"


def _command(interpreter: str, code: str) -> str:
    return f'`{shlex.quote(interpreter)} -c "{code}"`'


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _shortened(lines[-1]) if lines else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= 160 else f"{line[:159]}…"
