"""Checks every project in a folder and reports the findings, the time it took, and what a person has to read.

    python tests/bench/corpora.py DIR [--only NAME …] [--json OUT] [-- arguments for `meshlens check`]

DIR holds one checkout per folder.  Prints a Markdown table; `--json OUT` saves all findings, and writes the errors
and warnings among them, with their source lines, to OUT with the ending `.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import MESHLENS, timed

_SKIPPED = {".git", ".venv", "node_modules", "__pycache__"}
_AROUND = 3


@dataclass(frozen=True)
class Scan:
    """One project: its size, the seconds of a run without a cache and of one with a cache, its findings."""

    name: str
    files: int
    lines: int
    cold: float
    warm: float
    findings: tuple[dict[str, Any], ...]
    trouble: str

    def count(self, severity: str) -> int:
        """Returns how many findings have a severity."""
        return sum(found["severity"] == severity for found in self.findings)


def scan(folder: Path, more: list[str]) -> Scan:
    """Checks one project."""
    sources = [
        path
        for path in folder.rglob("*")
        if path.suffix in (".py", ".ipynb") and path.is_file() and not _SKIPPED.intersection(path.parts)
    ]
    lines = sum(path.read_bytes().count(b"\n") for path in sources if path.suffix == ".py")
    command = (*MESHLENS, "check", "--output-format", "json", "--exit-zero", *more, ".")
    cold = timed((*command[:-1], "--no-cache", "."), folder)
    timed(command, folder)
    warm = timed(command, folder)
    trouble = "" if cold.code == 0 else f"exit status {cold.code}"
    if cold.output != warm.output:
        trouble += " the warm run says something else"
    if b"Traceback" in cold.errors + warm.errors:
        trouble += " traceback"
    try:
        findings = tuple(json.loads(cold.output.decode().replace(f"{folder}/", "")))
    except ValueError:
        findings = ()
        trouble += f" no JSON: {cold.errors[-300:].decode(errors='replace')}"
    return Scan(folder.name, len(sources), lines, cold.seconds, warm.seconds, findings, trouble.strip())


def table(scans: list[Scan]) -> str:
    """Returns the Markdown table of all projects."""
    rows = ["| project | files | lines | cold s | warm s | errors | warnings | hints | by code |"]
    rows.append("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for one in scans:
        codes = Counter(found["code"] for found in one.findings)
        by_code = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
        cells = [one.name, str(one.files), f"{one.lines:,}", f"{one.cold:.2f}", f"{one.warm:.2f}"]
        cells += [str(one.count(severity)) for severity in ("error", "warning", "hint")]
        rows.append(f"| {' | '.join(cells)} | {by_code} {f'**{one.trouble}**' if one.trouble else ''} |")
    total = [f"{sum(one.files for one in scans):,}", f"{sum(one.lines for one in scans):,}"]
    total += [f"{sum(one.cold for one in scans):.1f}", f"{sum(one.warm for one in scans):.1f}"]
    total += [str(sum(one.count(severity) for one in scans)) for severity in ("error", "warning", "hint")]
    rows.append(f"| all | {' | '.join(total)} | |")
    return "\n".join(rows)


def reading(root: Path, scans: list[Scan]) -> str:
    """Returns the errors and warnings with the lines around them, by code."""
    parts: list[str] = []
    serious = [
        (found["code"], one.name, found) for one in scans for found in one.findings if found["severity"] != "hint"
    ]
    previous = ""
    for code, project, found in sorted(serious, key=lambda item: (item[0], item[1], _place(item[2]))):
        if code != previous:
            parts.append(f"# {code}\n")
            previous = code
        path = _path(root / project, found["filename"])
        parts.append(f"## {project}: {_place(found)}\n\n{found['severity']}: {found['message']}\n")
        parts.append(_excerpt(path, found.get("cell"), found["location"]["row"]))
        for related in found.get("related") or ():
            where = _path(root / project, related["filename"])
            shown = where.relative_to(root / project) if where.is_relative_to(root / project) else where
            line = _lines(where, related.get("cell"))[related["location"]["row"] - 1 : related["location"]["row"]]
            text = line[0].strip() if line else ""
            parts.append(f"- {related['message']}: {shown}:{related['location']['row']} `{text}`")
        parts.append("")
    return "\n".join(parts)


def _place(found: dict[str, Any]) -> str:
    cell = f" cell {found['cell']}" if found.get("cell") else ""
    return f"{found['filename']}{cell}:{found['location']['row']}"


def _path(folder: Path, name: str) -> Path:
    return Path(name) if Path(name).is_absolute() else folder / name


def _excerpt(path: Path, cell: int | None, row: int) -> str:
    lines = _lines(path, cell)
    first = max(0, row - 1 - _AROUND)
    shown = [
        f"{'>' if number == row else ' '} {number:5d} {text}"
        for number, text in enumerate(lines[first : row + _AROUND], first + 1)
    ]
    return "\n".join(["```text", *shown, "```", ""])


def _lines(path: Path, cell: int | None) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    if not cell or path.suffix != ".ipynb":
        return text.splitlines()
    cells = json.loads(text).get("cells", [])
    return "".join(cells[cell - 1]["source"]).splitlines() if cell <= len(cells) else []


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of projects")
    parser.add_argument("--json", type=Path)
    parser.add_argument("more", nargs="*", help="behind `--`: arguments for `meshlens check`")
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir())
    scans = []
    for folder in folders:
        if not arguments.only or folder.name in arguments.only:
            scans.append(scan(folder, arguments.more))
            print(f"{folder.name}: {scans[-1].cold:.2f} s, {len(scans[-1].findings)} findings", file=sys.stderr)
    print(table(scans))
    if arguments.json is not None:
        everything = [{"project": one.name, **found} for one in scans for found in one.findings]
        arguments.json.write_text(json.dumps(everything, indent=1) + "\n")
        arguments.json.with_suffix(".md").write_text(reading(arguments.folder.resolve(), scans) + "\n")


if __name__ == "__main__":
    _main()
