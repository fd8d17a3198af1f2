"""Writes training programs, converts each for several devices, and compares what it prints before and after.

    python tests/bench/converted_programs.py --seeds 0:500 [--to jit pmap shard_map] [--keep FOLDER] [--json OUT]
        [--every-draw]

A result is wrong if it prints other numbers, raises an exception, does not parse, or has a new finding.  A result
that draws other random numbers is wrong if its numbers differ on average over several seeds; the averages are compared
if the numbers are far apart for one seed, or always with `--every-draw`.
JAX, flax, optax, equinox and dm-haiku must be installed; MESHLENS_JAX_PYTHON names another interpreter with them.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from inprocess import found_in, open_folder

from meshlens.project.workspace import Workspace
from meshlens.refactoring.everywhere import Job, convert_everywhere
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.targets import assist_for, places_named
from programs_run import Printed, Runner, numbers_in, unequal
from training_programs import Program, program

TARGETS = ("jit", "pmap", "shard_map")
_TOLERANCE = 3e-4
_NEW_DRAWS = 0.6
_SEEDS = 12
_ERRORS = 7.0
"""The largest mean difference of a number, in standard errors; chance exceeds it once in 40,000 comparisons."""
_SEED = re.compile(r"((?:PRNGKey|random\.key|jr\.key|Rngs)\()(\d+)\)")
_RAGGED = ("use a multiple of", "not evenly divisible")


@dataclass
class Result:
    """The result of converting a program for a target.

    Attributes:
        seed: the seed of the program.
        target: the target.
        kind: the library of its model.
        converted: the functions that were converted.
        refused: the others, each with the reason's code and sentence.
        wrong: what is wrong with the result.
        ragged: whether it raises an error that gives the reason, for a batch that does not divide evenly.
        new_draws: whether it draws new random numbers.
    """

    seed: int
    target: str
    kind: str
    converted: list[str] = field(default_factory=list)
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ragged: bool = False
    new_draws: bool = False


def converted(folder: Path, made: Program, target: str, result: Result) -> Workspace:
    """Converts the functions of a program, one after another, and returns the converted program."""
    workspace = before = open_folder(folder)
    for function in made.functions:
        name, _, function = function.partition("::")
        job = Job(folder / name, places_named(target, function))
        done = convert_everywhere(workspace, [job], assist_for(target), Wishes())
        outcomes = done.outcomes[0]
        workspace = done.workspace
        for outcome in outcomes:
            if outcome.refused is None:
                result.converted.append(function)
            else:
                result.refused.append((function, outcome.refused.code, outcome.refused.message))
        if not outcomes:
            result.refused.append((function, "nothing", "nothing is offered"))
    for name in made.files:
        try:
            ast.parse(workspace.files[str(folder / name)].source)
        except SyntaxError as error:
            result.wrong.append(f"{name} does not parse: {error}")
    paths = [folder / name for name in made.files]
    fresh = _findings(workspace, paths) - _findings(before, paths)
    result.wrong += [f"finding: {code} {message}" for code, message in fresh.elements()]
    return workspace


def _findings(workspace: Workspace, paths: Iterable[Path]) -> Counter[tuple[str, str]]:
    return Counter((one.code, one.message) for one in found_in(workspace, paths))


def measure(
    seed: int, targets: Iterable[str], room: Path, runner: Remembered, *, every_draw: bool = False
) -> list[Result]:
    """Returns the result of converting a program for each target.

    Args:
        seed: the seed of the program.
        targets: the targets.
        room: a folder to write the programs to.
        runner: runs the programs.
        every_draw: whether programs that draw other random numbers are always compared over several seeds.
    """
    made = program(seed)
    before = _write(room / str(seed) / "before", made.files)
    main = list(made.files)[-1]
    results = [Result(seed, target, made.choices.model) for target in targets]
    wanted = None
    for result in results:
        try:
            workspace = converted(before, made, result.target, result)
        except Exception as error:
            result.wrong.append(f"the conversion fails: {error!r}")
            continue
        if not result.converted:
            continue
        if wanted is None:
            wanted = runner.run(before / main, made.files)
        if wanted.error:
            result.wrong.append(f"the program itself fails: {wanted.error}")
            continue
        files = {name: workspace.files[str(before / name)].source.decode() for name in made.files}
        found = runner.run(_write(room / str(seed) / result.target, files) / main, files)
        result.ragged = any(text in found.error for text in _RAGGED) and made.choices.is_ragged
        if result.ragged:
            continue
        if found.error:
            result.wrong.append(f"raises: {found.error}")
            continue
        difference = unequal(wanted.text, found.text, _TOLERANCE)
        if difference and made.draws and result.target != "jit":
            result.new_draws = True
            difference = unequal(wanted.text, found.text, _NEW_DRAWS)
            if every_draw or difference:
                before_and_after = (before, made.files), (room / str(seed) / result.target, files)
                difference = _elsewhere(*before_and_after, main, runner)
        if difference:
            result.wrong.append(difference)
    return results


def _elsewhere(
    before: tuple[Path, Mapping[str, str]], after: tuple[Path, Mapping[str, str]], main: str, runner: Remembered
) -> str:
    """Returns which number of a program differs on average over the seeds of its random numbers; "" if none does."""
    pairs: list[tuple[list[float], list[float]]] = []
    for seed in range(_SEEDS):
        printed = []
        for folder, files in (before, after):
            drawn = {name: _SEED.sub(rf"\g<1>{seed + 1}\g<2>)", text) for name, text in files.items()}
            printed.append(runner.run(_write(folder / f"seed{seed}", drawn) / main, drawn))
        if printed[1].error:
            return f"raises: {printed[1].error}"
        pairs.append((numbers_in(printed[0].text), numbers_in(printed[1].text)))
    if len({len(numbers) for pair in pairs for numbers in pair}) > 1:
        return "another count of numbers"
    for place in range(len(pairs[0][0])):
        was, is_now = ([pair[side][place] for pair in pairs] for side in (0, 1))
        apart = [after - before for before, after in zip(was, is_now, strict=True)]
        mean, error = statistics.fmean(apart), statistics.stdev(apart) / math.sqrt(len(apart))
        if not abs(mean) <= _ERRORS * error + _TOLERANCE * max(1.0, abs(statistics.fmean(was))):
            return f"{statistics.fmean(was)} before, {statistics.fmean(is_now)} after, on average over {_SEEDS} seeds"
    return ""


@dataclass
class Remembered:
    """Remembers what programs printed, by their texts, including in earlier runs.

    Attributes:
        runner: runs the programs that are not known yet.
        path: the file that keeps the output; None to keep none.
    """

    runner: Runner
    path: Path | None
    known: dict[str, Printed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            for line in self.path.read_text().splitlines():
                key, text, error = json.loads(line)
                self.known[key] = Printed(text, error)

    def run(self, main: Path, files: Mapping[str, str]) -> Printed:
        """Returns what a program prints."""
        key = hashlib.sha256(json.dumps([main.name, files], sort_keys=True).encode()).hexdigest()
        if key not in self.known:
            self.known[key] = found = self.runner.run(main)
            if self.path is not None:
                with self.path.open("a") as out:
                    out.write(json.dumps([key, found.text, found.error]) + "\n")
        return self.known[key]


def _write(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def table(results: list[Result]) -> str:
    """Returns Markdown tables of the results by library and target, and of the reasons by target."""
    rows = ["| library | target | programs | functions converted | refused | run | ragged | new draws | wrong |"]
    rows.append("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    kinds = sorted({one.kind for one in results})
    for kind, target in [*((kind, target) for target in TARGETS for kind in kinds), *(("all", t) for t in TARGETS)]:
        some = [one for one in results if one.target == target and kind in (one.kind, "all")]
        counts = (
            len(some),
            sum(len(one.converted) for one in some),
            sum(len(one.refused) for one in some),
            sum(bool(one.converted) for one in some),
            sum(one.ragged for one in some),
            sum(one.new_draws for one in some),
            sum(bool(one.wrong) for one in some),
        )
        if some:
            rows.append(f"| {kind} | {target} | {' | '.join(map(str, counts))} |")
    rows += ["", "| target | reason | functions | for instance |", "|---|---|--:|---|"]
    reasons = Counter((one.target, code) for one in results for _, code, _ in one.refused)
    for (target, code), count in sorted(reasons.items(), key=lambda one: (one[0][0], -one[1])):
        seed, message = next(
            (one.seed, message)
            for one in results
            for _, other, message in one.refused
            if (one.target, other) == (target, code)
        )
        rows.append(f"| {target} | {code} | {count} | {seed}: {message} |")
    return "\n".join(rows)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:100", help="the first and the last but one, or seeds with commas")
    parser.add_argument("--to", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--every-draw", action="store_true", help="compare other random numbers over several seeds")
    parser.add_argument("--keep", type=Path, help="where the programs are to stay")
    parser.add_argument("--json", type=Path, help="every result, a line each, behind those that are there")
    parser.add_argument("--cache", type=Path, help="what programs print, by their texts, for the next run")
    arguments = parser.parse_args()
    first, colon, last = arguments.seeds.partition(":")
    seeds = range(int(first), int(last)) if colon else [int(one) for one in arguments.seeds.split(",")]
    results: list[Result] = []
    runner = Runner()
    remembered = Remembered(runner, arguments.cache)
    with tempfile.TemporaryDirectory() as temporary:
        room = (arguments.keep or Path(temporary)).resolve()
        for seed in seeds:
            for one in measure(seed, arguments.to, room, remembered, every_draw=arguments.every_draw):
                results.append(one)
                for text in one.wrong:
                    print(
                        one.seed,
                        one.target,
                        text.strip().split("\n")[0],
                        "…",
                        text.strip().split("\n")[-1][:300],
                        file=sys.stderr,
                        flush=True,
                    )
                if arguments.json is not None:
                    with arguments.json.open("a") as out:
                        out.write(json.dumps(asdict(one)) + "\n")
    runner.close()
    print(table(results))
    if any(one.wrong for one in results):
        sys.exit(1)


if __name__ == "__main__":
    _main()
