"""Converts every pmap of real projects to shard_map, or every jitted function to pmap, and checks the results.

    python tests/bench/convert.py DIR [--to shard_map|pmap] [--only NAME …] [--json OUT]

DIR holds one checkout per folder.  Each result must parse, must have no new finding, and must leave every line
unchanged, except imports, converted maps, and calls whose arguments change place; violations are listed for a person
to read.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from inprocess import found_in, open_folder, run_again

from meshlens.project.disk.discover import python_files
from meshlens.project.workspace import Workspace
from meshlens.refactoring.everywhere import Job, convert_everywhere
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.targets import assist_for, places_named

_KEYWORD = re.compile(r"(?<=[(, ])\w+=(?!=)")
_WORD = re.compile(r"\w+")
_HINTS = {"shard_map": b"pmap", "pmap": b"jit"}


@dataclass
class Score:
    """The result of converting one project.

    Attributes:
        name: the project.
        converted: `file:line: text` of every place that was converted.
        refused: the same for the others, preceded by the reason's code and sentence.
        broken: files that no longer parse.
        new: findings that did not exist before.
        touched: lines that changed although they are not in any converted place.
        crashed: the errors that ended the conversion.
    """

    name: str
    converted: list[str] = field(default_factory=list)
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    crashed: list[str] = field(default_factory=list)


def measure(root: Path, target: str) -> Score:
    """Converts a whole project, as `meshlens convert --all` does."""
    score = Score(root.name)
    if not any(_HINTS[target] in path.read_bytes() for path in python_files([root]) if path.suffix == ".py"):
        return score
    before = open_folder(root)
    files = [before.files[str(path)] for path in before.checked]
    paths = [file.path for file in files if file.notebook is None and _HINTS[target] in file.source]
    jobs = [Job(path, places_named(target, None)) for path in paths]
    try:
        done = convert_everywhere(before, jobs, assist_for(target), Wishes())
    except Exception as error:
        score.crashed.append(repr(error))
        return score
    lines: dict[Path, set[int]] = {}
    for path, outcomes in zip(paths, done.outcomes, strict=True):
        for outcome in outcomes:
            place = f"{path.relative_to(root)}:{outcome.line}: {outcome.text}"
            if outcome.refused is None:
                score.converted.append(place)
                lines.setdefault(path, set()).add(outcome.line)
            else:
                score.refused.append((outcome.refused.code, outcome.refused.message, place))
    _judge(before, done.workspace, lines, root, score)
    return score


def _judge(before: Workspace, after: Workspace, lines: Mapping[Path, set[int]], root: Path, score: Score) -> None:
    for path in _changed(before, after):
        old, new = before.files[str(path)].source, after.files[str(path)].source
        name = path.relative_to(root)
        error = _error(new)
        if error is not None and _error(old) is None:
            score.broken.append(f"{name}:{error.lineno}: {error.msg}")
        score.touched += [f"{name}:{line}" for line in _touched(old, new, lines.get(path, set()))]
    paths = sorted({*_changed(before, after), *run_again(before, after)})
    fresh = _findings(after, paths) - _findings(before, paths)
    score.new += [f"{path.relative_to(root)}: {code} {message}" for (path, code, message) in fresh.elements()]


def _error(source: bytes) -> SyntaxError | None:
    try:
        ast.parse(source)
    except SyntaxError as error:
        return error
    return None


def _changed(before: Workspace, after: Workspace) -> list[Path]:
    return [path for path in before.checked if before.files[str(path)] is not after.files[str(path)]]


def _findings(workspace: Workspace, paths: Iterable[Path]) -> Counter[tuple[Path, str, str]]:
    return Counter((one.path, one.code, one.message) for one in found_in(workspace, paths) if one.code != "AX901")


def _touched(old: bytes, new: bytes, converted: set[int]) -> Iterator[str]:
    """Yields the lines of a file that are gone and were not in anything that was converted, with their text."""
    texts = old.decode("utf-8", "replace").splitlines()
    try:
        allowed = _allowed(ast.parse(old), converted)
    except SyntaxError:
        return  # Such a file did not run before, either; it cannot be determined which lines belong to what.
    others = new.decode("utf-8", "replace").splitlines()
    for kind, start, end, first, last in difflib.SequenceMatcher(None, texts, others, autojunk=False).get_opcodes():
        for line in range(start, end) if kind in ("replace", "delete") else ():
            by_position = sorted(_WORD.findall(_KEYWORD.sub("", texts[line])))
            known = [sorted(_WORD.findall(other)) for other in others[first:last]]
            if line + 1 not in allowed and texts[line].strip() and by_position not in known:
                yield f"{line + 1}: {texts[line].strip()}"


def _allowed(module: ast.Module, converted: set[int]) -> set[int]:
    """Returns the lines of imports, and of the statements that begin on these lines or contain them.

    Of a definition, these are only the decorator lines; if the definition itself is converted, they are all its lines
    and those of the calls of the function.
    """
    found: set[int] = set()
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno in converted:
            names.add(node.name)
            found.update(range(min([node, *node.decorator_list], key=_line).lineno, (node.end_lineno or 0) + 1))
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            found.update(_lines(node))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(_lines(node))
        parts: Iterable[ast.stmt | ast.expr] = ()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            parts = node.decorator_list
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            parts = [node]
        elif isinstance(node, (ast.For, ast.With, ast.If, ast.While)):
            parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        for part in parts:
            if converted.intersection(_lines(part)):
                found.update(_lines(part))
    return found


def _line(node: ast.stmt | ast.expr) -> int:
    return node.lineno


def _lines(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def table(scores: list[Score]) -> str:
    """Returns the Markdown table of all projects, with the reasons."""
    rows = ["| project | converted | refused | broken | new findings | other lines | crashed | by reason |"]
    rows.append("|---|--:|--:|--:|--:|--:|--:|---|")
    for one in [*scores, _sum(scores)]:
        numbers = (one.converted, one.refused, one.broken, one.new, one.touched, one.crashed)
        reasons = Counter(code for code, _, _ in one.refused)
        by_reason = ", ".join(f"{code} {count}" for code, count in reasons.most_common())
        rows.append(f"| {one.name} | {' | '.join(str(len(some)) for some in numbers)} | {by_reason} |")
    return "\n".join(rows)


def _sum(scores: list[Score]) -> Score:
    total = Score("all")
    for one in scores:
        for name in ("converted", "refused", "broken", "new", "touched", "crashed"):
            getattr(total, name).extend(getattr(one, name))
    return total


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", choices=sorted(_HINTS), default="shard_map")
    parser.add_argument("--only", nargs="*", default=[], help="names of projects")
    parser.add_argument("--json", type=Path, help="everything that is counted, place by place")
    arguments = parser.parse_args()
    scores = []
    for root in sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir()):
        if not arguments.only or root.name in arguments.only:
            scores.append(measure(root, arguments.to))
            print(table(scores[-1:]).split("\n")[2], file=sys.stderr, flush=True)
            if arguments.json is not None:
                arguments.json.write_text(json.dumps([asdict(score) for score in scores], indent=1) + "\n")
    print(table(scores))
    if any(one.broken or one.new or one.crashed for one in scores):
        sys.exit(1)


if __name__ == "__main__":
    _main()
