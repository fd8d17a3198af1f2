"""Converts real functions for several devices, runs their programs before and after, and compares what they print.

    python tests/bench/drive.py LIST CHECKOUTS [--recipes FOLDER] [--to jit pmap shard_map] [--only TEXT …] [--json OUT]

LIST is a tab-separated table with the columns library, repo, commit, path, function and kind; CHECKOUTS holds a
checkout of each repository under its name.
A notebook is measured as the script of its code cells.
FOLDER holds a recipe for each program that can be driven, called `repository--file.py` or
`repository--file--function.py`: it gets the path of the file as its argument, puts stand-ins in the place of what is
missing, runs the program on synthetic data, and prints its numbers.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from inprocess import found_in, open_folder

from meshlens.project.workspace import Workspace
from meshlens.refactoring.everywhere import Job, convert_everywhere
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.targets import assist_for, places_named
from programs_run import ENVIRONMENT, Printed, unequal

TARGETS = ("jit", "pmap", "shard_map")
_TOLERANCE = 1e-3
_SECONDS = 400


@dataclass(frozen=True)
class Row:
    """One function in the list."""

    library: str
    repo: str
    path: str
    function: str


@dataclass
class Result:
    """The result of converting a function for a target.

    Attributes:
        library: the library that the function uses.
        place: `repository/file::function`.
        target: the target.
        refused: the code and the sentence of the reason, or nothing.
        ran: whether its program ran before and after.
        wrong: what is wrong with the result.
    """

    library: str
    place: str
    target: str
    refused: str = ""
    ran: bool = False
    wrong: list[str] = field(default_factory=list)


def script(notebook: str) -> str:
    """Returns the code cells of a notebook as a program, without lines that only IPython can run."""
    cells = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells]
    kept = [
        "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(("!", "%")))
        for text in texts
        if not text.startswith("%%")
    ]
    return "\n\n\n".join(kept) + "\n"


def copied(row: Row, checkouts: Path, room: Path) -> Path:
    """Returns the file of a function in a copy of its package, or of the folder that contains it."""
    path = checkouts / row.repo.rpartition("/")[2] / row.path
    if path.suffix == ".ipynb":
        room.mkdir(parents=True)
        file = room / f"{path.stem}.py"
        file.write_text(script(path.read_text("utf-8")))
        return file
    top = path.parent
    if not (top / "__init__.py").exists():
        room.mkdir(parents=True)
        for one in top.glob("*.py"):
            shutil.copy(one, room / one.name)
        return room / path.name
    while (top.parent / "__init__.py").exists():
        top = top.parent
    shutil.copytree(top, room / top.name, ignore=lambda folder, names: [
        name for name in names if not (name.endswith(".py") or Path(folder, name).is_dir())
    ])  # fmt: skip
    return room / path.relative_to(top.parent)


def converted(file: Path, root: Path, row: Row, result: Result) -> Workspace | None:
    """Returns the converted program, or None if its function is refused."""
    before = open_folder(root)
    places = places_named(result.target, row.function)
    done = convert_everywhere(before, [Job(file, places)], assist_for(result.target), Wishes())
    outcomes = done.outcomes[0]
    reasons = [f"{one.refused.code}: {one.refused.message}" for one in outcomes if one.refused is not None]
    if not outcomes or len(reasons) == len(outcomes):
        result.refused = reasons[0] if reasons else "nothing: nothing is offered"
        return None
    for path, source in done.sources.items():
        try:
            ast.parse(source)
        except SyntaxError as error:
            result.wrong.append(f"{path.name} does not parse: {error}")
    paths = list(done.sources)
    fresh = _findings(done.workspace, paths) - _findings(before, paths)
    result.wrong += [f"finding: {code} {message}" for code, message in fresh.elements()]
    return done.workspace


def _findings(workspace: Workspace, paths: Iterable[Path]) -> Counter[tuple[str, str]]:
    return Counter((one.code, one.message) for one in found_in(workspace, paths))


def _recipe(row: Row, recipes: Path) -> Path | None:
    name = f"{row.repo.rpartition('/')[2]}--{Path(row.path).stem}"
    if Path(row.path).stem in ("train", "main", "learner", "agent"):
        name = f"{row.repo.rpartition('/')[2]}--{Path(row.path).parent.name}-{Path(row.path).stem}"
    found = [recipes / f"{name}--{row.function}.py", recipes / f"{name}.py"]
    return next((one for one in found if one.exists()), None)


@dataclass(eq=False)
class Drivers:
    """A process that has imported JAX and its libraries, and forks one for each program."""

    _process: subprocess.Popen[str] | None = None

    def run(self, recipe: Path, file: Path) -> Printed:
        """Runs the program of a file as a recipe says."""
        if self._process is None:
            self._process = subprocess.Popen(
                [os.environ.get("MESHLENS_JAX_PYTHON", sys.executable), str(Path(__file__).with_name("stand_ins.py"))],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, **ENVIRONMENT, "MPLBACKEND": "agg"},
            )  # fmt: skip
            atexit.register(self._process.kill)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(recipe), str(file), _SECONDS]) + "\n")
        self._process.stdin.flush()
        return Printed(*json.loads(self._process.stdout.readline()))


def measure(
    row: Row, targets: Iterable[str], checkouts: Path, recipes: Path | None, room: Path, drivers: Drivers
) -> list[Result]:
    """Returns the result of converting a function for each target."""
    before_root = room / "before"
    file = copied(row, checkouts, before_root)
    recipe = _recipe(row, recipes) if recipes is not None else None
    place = f"{row.repo.rpartition('/')[2]}/{row.path}::{row.function}"
    results = [Result(row.library, place, target) for target in targets]
    wanted = None
    for result in results:
        try:
            workspace = converted(file, before_root, row, result)
        except Exception as error:
            result.wrong.append(f"the conversion fails: {error!r}")
            continue
        if workspace is None:
            continue
        root = room / result.target
        shutil.copytree(before_root, root)
        for path in workspace.checked:
            (root / path.relative_to(before_root)).write_bytes(workspace.files[str(path)].source)
        if recipe is None:
            continue
        wanted = wanted or drivers.run(recipe, file)
        if wanted.error:
            result.wrong.append(f"the program itself fails: {wanted.error}")
            continue
        found = drivers.run(recipe, root / file.relative_to(before_root))
        result.ran = True
        if found.error:
            result.wrong.append(f"raises: {found.error}")
        elif difference := unequal(wanted.text, found.text, _TOLERANCE):
            result.wrong.append(difference)
        elif not any(letter.isdigit() for letter in wanted.text):
            result.wrong.append("prints no number")
    return results


def table(results: list[Result]) -> str:
    """Returns Markdown tables of the results by library and target, and of the refusals."""
    rows = [
        "| library | target | functions | converted | run | right | wrong | refused |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    libraries = [*sorted({one.library for one in results}), "all"]
    for library, target in ((library, target) for target in TARGETS for library in libraries):
        some = [one for one in results if one.target == target and library in (one.library, "all")]
        done = [one for one in some if not one.refused]
        right = sum(one.ran and not one.wrong for one in done)
        counts = (len(some), len(done), sum(one.ran for one in done), right, sum(bool(one.wrong) for one in some))
        if some:
            rows.append(f"| {library} | {target} | {' | '.join(map(str, counts))} | {len(some) - len(done)} |")
    return "\n".join([*rows, "", *(f"- {one.target} {one.place}: {one.refused}" for one in results if one.refused)])


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--recipes", type=Path)
    parser.add_argument("--to", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--only", nargs="*", default=[], help="parts of a place")
    parser.add_argument("--keep", type=Path, help="where the programs are to stay")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with arguments.list.open(newline="") as lines:
        rows = [
            Row(one["library"], one["repo"], one["path"], one["function"])
            for one in csv.DictReader(lines, delimiter="\t")
        ]
    results: list[Result] = []
    drivers = Drivers()
    with tempfile.TemporaryDirectory() as temporary:
        for number, row in enumerate(rows, 1):
            text = f"{row.repo}/{row.path}::{row.function}"
            if arguments.only and not any(one in text for one in arguments.only):
                continue
            room = (arguments.keep or Path(temporary)).resolve() / str(number)
            shutil.rmtree(room, ignore_errors=True)
            if not (arguments.checkouts / row.repo.rpartition("/")[2] / row.path).exists():
                print(f"not there: {text}", file=sys.stderr)
                continue
            for one in measure(row, arguments.to, arguments.checkouts.resolve(), arguments.recipes, room, drivers):
                results.append(one)
                print(
                    number, one.target, one.place, "ran" if one.ran else "-", one.refused, *one.wrong, file=sys.stderr
                )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    _main()
