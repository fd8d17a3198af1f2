"""The program that the user's interpreter runs to report its devices, and the contract of its answer.

It needs only the standard library of Python 3.8, and is started as `python -I probe.py LEVEL SECONDS` in an empty
folder; at level "installed", also with `-S`, so that not even the environment's `.pth` files run.

The answer is the last line of stdout that is a JSON object with `"contract": 1`; other output is ignored:

    contract         1
    level            "installed": only package metadata was read; "devices": JAX was started
    interpreter      sys.executable
    python           "3.11.8"
    versions         {"jax": "0.10.2", ...}
    devices          [{platform, kind, id, process_index, local,
                       coordinates, core_on_chip, memory_limit, memory_in_use}]
    default_backend  such as "cpu"; null if JAX was not started
    process_count    such as 1; null if JAX was not started
    backend_errors   {"cuda": "..."}: why JAX skipped a backend without an exception
    error            null, or {step, type, text, missing}: the exception at step "import" or "devices", and the name of
                     a missing module
"""

from __future__ import annotations

import json
import os
import re
import sys

NAMED = frozenset(
    "brax chex distrax dm-haiku dm-pix diffrax e3nn-jax equinox evosax flax flaxformer grain jaxlib jaxtyping jraph "
    "libtpu libtpu-nightly lineax ml-dtypes numpy numpyro optax optimistix orbax orbax-checkpoint penzai rlax scipy "
    "tensorstore tokamax torchax transformer-engine intel-extension-for-openxla".split()
)
"""Packages listed in addition to those whose names begin with "jax"."""

_METADATA = re.compile(r"([^-]+)-([^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info$")


def main(level: str, seconds: str) -> None:
    """Prints the answer; other output goes to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    _end_after(int(float(seconds)) + 10)
    if level == "devices":
        _see_user_packages()
    answer: dict[str, object] = {
        "contract": 1,
        "level": level,
        "interpreter": sys.executable,
        "python": ".".join(map(str, sys.version_info[:3])),
        "versions": versions(package_folders()),
        "devices": [],
        "default_backend": None,
        "process_count": None,
        "backend_errors": {},
        "error": None,
    }
    if level == "devices":
        answer.update(_asked_of_jax())
    sys.stdout.flush()
    os.write(answers, b"\n" + json.dumps(answer).encode("ascii") + b"\n")


def versions(folders: list[str]) -> dict[str, str]:
    """Returns the relevant packages in these folders with their versions, judging by the names of metadata folders."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            match = _METADATA.match(name)
            package = re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""
            if match and (package.startswith("jax") or package in NAMED):
                found.setdefault(package, match.group(2))
    return dict(sorted(found.items()))


def package_folders() -> list[str]:
    """Returns the package folders of this interpreter, computed without running `site`."""
    if not sys.flags.no_site:
        return [folder for folder in sys.path if os.path.isdir(folder)]
    environment, shares_base = _virtual_environment(sys.executable)
    bases = [sys.base_prefix, sys.base_exec_prefix] if shares_base else []
    without_gil = "t" if "t" in getattr(sys, "abiflags", "") else ""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}{without_gil}"
    tails = [
        ("lib", python, "site-packages"),
        ("lib64", python, "site-packages"),
        ("Lib", "site-packages"),
        ("local", "lib", python, "dist-packages"),
        ("lib", "python3", "dist-packages"),
    ]
    user = [_user_folder()] if shares_base else []
    prefixes = [*([environment] if environment else []), *bases]
    folders = [os.path.join(prefix, *tail) for prefix in prefixes for tail in tails]
    return [folder for folder in dict.fromkeys([*user, *folders]) if os.path.isdir(folder)]


def _virtual_environment(executable: str) -> tuple[str | None, bool]:
    """Returns the folder of the virtual environment, if any, and whether the base Python's packages are visible too."""
    beside = os.path.dirname(os.path.abspath(executable))
    for folder in (beside, os.path.dirname(beside)):
        try:
            with open(os.path.join(folder, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
                text = file.read(65536)
        except OSError:
            continue
        return folder, re.search(r"(?im)^[ \t]*include-system-site-packages[ \t]*=[ \t]*true[ \t]*$", text) is not None
    return None, True


def _user_folder() -> str:
    import site

    return site.getusersitepackages()


def _asked_of_jax() -> dict[str, object]:
    step = "import"
    try:
        import jax

        step = "devices"
        here = jax.process_index()
        return {
            "devices": [_described(device, here) for device in jax.devices()],
            "default_backend": jax.default_backend(),
            "process_count": jax.process_count(),
            "backend_errors": _backend_errors(),
        }
    except BaseException as error:  # Any exception is reported in the answer.
        missing = error.name if isinstance(error, ImportError) else None
        text = str(error)[:2000]
        return {"error": {"step": step, "type": type(error).__name__, "text": text, "missing": missing}}


def _backend_errors() -> dict[str, str]:
    """Returns errors that JAX only logs, from a private name that some releases may lack (0.4.30 to 0.10.2 have it)."""
    found = getattr(sys.modules.get("jax._src.xla_bridge"), "_backend_errors", None)
    return {str(key): str(text)[:2000] for key, text in found.items()} if isinstance(found, dict) else {}


def _see_user_packages() -> None:
    """Adds the packages installed with `pip install --user`, which `-I` excludes."""
    shares_base = _virtual_environment(sys.executable)[1]
    folder = _user_folder() if shares_base else ""
    if os.path.isdir(folder) and folder not in sys.path:
        sys.path.append(folder)


def _described(device: object, here: int) -> dict[str, object]:
    process = getattr(device, "process_index", 0)
    memory = _memory(device) if process == here else {}
    coordinates = getattr(device, "coords", None)
    return {
        "platform": str(getattr(device, "platform", "")).lower(),
        "kind": str(getattr(device, "device_kind", "")),
        "id": int(getattr(device, "id", 0)),
        "process_index": process,
        "local": process == here,
        "coordinates": [int(number) for number in coordinates] if coordinates is not None else None,
        "core_on_chip": getattr(device, "core_on_chip", None),
        "memory_limit": memory.get("bytes_limit"),
        "memory_in_use": memory.get("bytes_in_use"),
    }


def _memory(device: object) -> dict[str, int]:
    try:
        return getattr(device, "memory_stats")() or {}  # noqa: B009 - a JAX device; JAX is not imported here
    except Exception:  # Some backends lack this, and each reports that in its own way.
        return {}


def _end_after(seconds: int) -> None:
    """Ends this process after some time, even if its parent is gone and a C function never returns."""
    import signal

    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


if __name__ == "__main__":
    main(*sys.argv[1:3])
