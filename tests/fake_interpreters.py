"""Small programs that stand in for a user's Python, and a machine with devices made of plain files."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

ANSWER: dict[str, object] = {
    "contract": 1,
    "level": "devices",
    "interpreter": "somewhere",
    "python": "3.11.8",
    "versions": {"jax": "0.10.2", "jaxlib": "0.10.2"},
    "devices": [
        {
            "platform": "cpu",
            "kind": "cpu",
            "id": 0,
            "process_index": 0,
            "local": True,
            "coordinates": None,
            "core_on_chip": None,
            "memory_limit": None,
            "memory_in_use": None,
        }
    ],
    "default_backend": "cpu",
    "process_count": 1,
    "backend_errors": {},
    "error": None,
}


def answer(**changed: object) -> str:
    """Returns a line that a probe could have printed."""
    return json.dumps({**ANSWER, **changed})


def raised(kind: str, text: str = "", step: str = "devices", missing: str | None = None) -> str:
    """Returns the line of a probe in which JAX raised an exception."""
    return answer(devices=[], error={"step": step, "type": kind, "text": text, "missing": missing})


def fake(folder: Path, body: str, name: str = "python") -> str:
    """Writes a Python program that takes an interpreter's arguments and does what its body says."""
    return program(folder / name, f"#!{sys.executable} -IS\nimport os, signal, sys, time\n{body}\n")


def says(folder: Path, *lines: str) -> str:
    """Writes an interpreter that prints these lines."""
    return fake(folder, f"print({chr(10).join(lines)!r})")


def program(path: Path, text: str) -> str:
    """Writes an executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def gpu_machine(folder: Path, *lines: str, code: int = 0) -> tuple[Path, dict[str, str]]:
    """Makes the root of a machine with NVIDIA's files, and an environment whose `nvidia-smi` prints these lines."""
    (folder / "root" / "dev").mkdir(parents=True)
    (folder / "root" / "dev" / "nvidiactl").touch()
    program(
        folder / "bin" / "nvidia-smi",
        f"#!{sys.executable} -IS\nprint({chr(10).join(lines)!r})\nraise SystemExit({code})\n",
    )
    return folder / "root", {"PATH": str(folder / "bin")}


def tpu_machine(folder: Path, chip: str = "0x0063", count: int = 4) -> Path:
    """Makes the root of a machine with this many chips on its bus."""
    for number in range(count):
        device = folder / "root" / "sys" / "bus" / "pci" / "devices" / f"0000:00:0{number}.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x1ae0\n")
        (device / "device").write_text(f"{chip}\n")
    return folder / "root"


def outlives(number: int) -> bool:
    """Returns true if a process still runs long after it was killed; normally the system needs only a moment."""
    end = time.monotonic() + 60
    while is_alive(number) and time.monotonic() < end:
        time.sleep(0.01)
    return is_alive(number)


def is_alive(number: int) -> bool:
    """Returns true if a process still runs; a zombie does not."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{number}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
