"""Patterns of `.gitignore` mean what git says, and take no longer than the product of pattern and path lengths."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

import depth
from command_line import TYPO, start, write
from meshlens.project.disk.patterns import matches

SECONDS = 60

STARS = ["*a" * 30 + "b", "*[ab]" * 30 + "c", "**/*a" * 15 + "/b", "*?" * 30 + "c", "*a" * 2000 + "b"]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", depth.some([*STARS], 1), ids=lambda pattern: f"{pattern[:8]} × {len(pattern)}")
@pytest.mark.parametrize("file", ["meshlens.toml", ".gitignore", "per file"])
def test_a_pattern_of_many_stars_is_matched_at_once(tmp_path, file, pattern):
    name = f"{'a' * 200}.py"
    write(tmp_path, {name: TYPO, ".git/HEAD": ""})
    table = {"meshlens.toml": f'exclude = ["{pattern}"]', "per file": f'per-file-ignores = {{ "{pattern}" = ["AX1"] }}'}
    write(tmp_path, {"meshlens.toml": table.get(file, ""), ".gitignore": pattern if file == ".gitignore" else ""})
    process = start("check", "--output-format", "concise", "--no-cache", cwd=tmp_path)
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert (process.returncode, err) == (1, b"")
    assert b"AX101" in out


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_patterns_mean_what_git_says(tmp_path):
    """Checks random patterns, each in a separate folder, so that one call of git answers all of them."""
    chosen = random.Random(20)
    # No `*` beside other characters is followed by a slash and more: git 2.40 takes `a**/b` for `a` and `**/b`.
    parts = ["a", "b", "ab", "*", "?", "a*", "*b", "a?*", "[ab]", "[!a]*", "[^a]", "\\*", "\\a", "**", "***", "*a*b*"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    asked: dict[str, bool] = {}
    for number in range(300):
        folder = tmp_path / f"f{number}"
        folder.mkdir()
        inner = "/".join(chosen.choice(parts) for _ in range(chosen.randint(1, 4)))
        line = chosen.choice(["", "", "/", "!"]) + inner + chosen.choice(["", "", "/"])
        (folder / ".gitignore").write_text(line + "\n")
        for _ in range(12):
            path = "".join(chosen.choice("aabb/*") for _ in range(chosen.randint(1, 8))).strip("/")
            if path and "//" not in path:
                asked[f"f{number}/{path}"] = matches((line,), path)
    given_paths = "\0".join(asked)
    ran = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=tmp_path,
        input=given_paths.encode(),
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    ignored = set(ran.stdout.decode().split("\0")) - {""}
    wrong = [
        ((tmp_path / name.split("/")[0] / ".gitignore").read_text(), name, ours)
        for name, ours in asked.items()
        if ours != (name in ignored)
    ]
    assert len(asked) > 1000
    assert len(ignored) > 100
    assert not wrong
