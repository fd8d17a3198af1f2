"""Names that others chose cannot control a terminal or a log: files, folders, devices, settings, packages."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import CLEAN, TYPO, Ran, meshlens, write
from fake_interpreters import ANSWER, program
from launched import PROGRAM
from meshlens.cli.printing.device_table import render
from meshlens.devices.interpreters import Interpreter
from meshlens.devices.report import Device, Report

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="names of files that it cannot have"),
    pytest.mark.slow,
]

# Clears the screen, sets the title, writes to the clipboard, reverses the text direction, and ends a line.
ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\x7f\r"
NAME = f"a{ESCAPES}\n::error::planted.py"


def plain(text: str) -> bool:
    """Returns true if all characters of a text are printable, except line ends."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = f"f{ESCAPES}"
    files = {NAME: TYPO, f"{folder}/b.py": TYPO, "broken.py": "def (\x1b[2J:\n", "::warning::c.py": TYPO}
    return write(tmp_path, files | {"meshlens.toml": f'ignore = ["{ESCAPES.encode("unicode_escape").decode()}"]\n'})


@pytest.mark.parametrize("form", ["full", "concise", "github"])
def test_names_of_files(root: Path, form: str):
    (root / "meshlens.toml").unlink()
    ran = meshlens("check", "--output-format", form, cwd=root)
    assert "bacth" in ran.out
    assert plain(ran.out), ran.out
    assert plain(ran.err), ran.err
    lines = ran.out.splitlines()
    assert len([line for line in lines if line.startswith("::")]) == (3 if form == "github" else 0)


def test_a_report_of_json_has_the_names_as_they_are(root: Path):
    (root / "meshlens.toml").unlink()
    ran = meshlens("check", "--output-format", "json", cwd=root)
    assert str(root / NAME) in {one["filename"] for one in json.loads(ran.out)}
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("config",),
        ("check", "--select", ESCAPES),
        ("check", f"missing{ESCAPES}"),
        (f"command{ESCAPES}",),
        ("check", f"--option{ESCAPES}"),
        ("check", "--devices", ESCAPES),
        ("explain", ESCAPES),
        ("devices", f"missing{ESCAPES}"),
        ("devices", "--interpreter", f"missing{ESCAPES}"),
        ("check", "--baseline", f"missing{ESCAPES}"),
    ],
    ids=lambda arguments: " ".join(arguments).encode("unicode_escape").decode(),
)
def test_messages(root: Path, arguments: tuple[str, ...]):
    ran: Ran = meshlens(*arguments, cwd=root)
    assert plain(ran.out), ran.out
    assert plain(ran.err), ran.err


def test_what_an_interpreter_says(tmp_path: Path):
    device = {**ANSWER["devices"][0], "kind": f"kind{ESCAPES}", "platform": f"platform{ESCAPES}"}  # type: ignore[index]
    answer = {
        **ANSWER,
        "python": ESCAPES,
        "devices": [device, {**device, "id": 1}],
        "versions": {"jax": f"0.10.2{ESCAPES}"},
        "default_backend": ESCAPES,
    }
    python = program(tmp_path / "python", f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    ran = meshlens("devices", "--interpreter", python, cwd=tmp_path)
    assert "kind" in ran.out
    assert plain(ran.out), ran.out
    report = Report(ESCAPES, "devices", ESCAPES, devices=(Device(ESCAPES, ESCAPES, 0), Device("gpu", "H100", 1)))
    assert plain(render(Interpreter(ESCAPES, ESCAPES), replace(report, versions=((ESCAPES, ESCAPES),)), None))


def on_a_terminal(root: Path, *arguments: str) -> str:
    """Returns what is sent to a terminal, without our own colors."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, *PROGRAM, *arguments], cwd=root, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        said += piece
    done.wait(60)
    os.close(ours)
    return said.decode("utf-8", "replace")


def test_on_a_terminal(tmp_path: Path):
    """Checks output with colors, whose escape codes are our own, and patches, which are shown to people there."""
    root = write(tmp_path, {"a\x1b[2J\x1b]0;title\x07.py": TYPO.replace("def", "# \x1b]52;c;eA==\x07\ndef")})
    for arguments in (("check",), ("check", "--diff", "--fix"), ("check", "--statistics")):
        said = on_a_terminal(root, *arguments)
        assert "meshlens" not in said or "internal error" not in said
        assert "\x1b[2J" not in said
        assert "\x1b]" not in said
        assert "\x07" not in said
    patched = subprocess.run(
        [sys.executable, *PROGRAM, "check", "--diff", "--fix"], cwd=root, capture_output=True, check=False
    )
    assert b"\x1b]52" in patched.stdout, "whoever applies a patch needs the text as it is"


def test_a_name_in_brackets_is_not_markup(tmp_path: Path):
    """Checks the progress bar, which a library with its own markup draws."""
    from meshlens.cli.printing.progress import Progress

    bar = Progress()
    bar.stage("Asking [/nobody] [bold", None)
    bar.start()
    bar.stage(f"Asking {ESCAPES}", None)
    bar.stop()
    assert plain(bar.text)


def test_ordinary_names_stay_as_they_are(tmp_path: Path):
    ran = meshlens("check", cwd=write(tmp_path, {"größe – 測試 é.py": TYPO, "clean.py": CLEAN}))
    assert "größe – 測試 é.py:7:" in ran.out
