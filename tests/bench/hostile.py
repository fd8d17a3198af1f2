"""Checks small programs that demand much work: each must take little time and memory, and hide no finding beside it.

    python tests/bench/hostile.py --count 5000 --seed 1 [--jobs 2] [--keep DIR] [--python PYTHON]

Program N of seed S is always the same.  Each is checked with a planted AX101 in another file, in a process with limits
(`tests/limited_checks.py`): more than 2 CPU seconds, more than 300 MiB, a traceback or internal error, an exit code
other than 1, or loss of the planted finding is a failure.  Prints the failures by kind and by the place where they
occur, with the smallest program of each; lines are removed from it as long as it fails in the same way.

    --seeds             only the seeds, unchanged
    --real 50           also checks this many programs with `python -m meshlens check --no-cache`, and compares
    --server 50         opens this many in a language server, types a character, and waits for the diagnostics
    --minimize 40       how often a program is checked again to make it smaller; 0 leaves it as it is
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from random import Random

# If this runs as a script, Python finds only the modules next to it.
sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile_grammar import program
from hostile_seeds import SEEDS
from limited_checks import ARGUMENTS, CPU_SECONDS, RESIDENT_MIB, TRAPPED, Checks, Limited, failure, limited_checks
from raw_client import PULLS, Server
from raw_client import Failed as RequestFailed
from small_programs import PLANTED, PLANTED_TEXT, checked, files_of, minimized, size, write_project

_FRAME = re.compile(r'File "[^"]*meshlens/([\w/]+)\.py", line \d+,? in (\w+)')
_MOST_SHOWN = 40


@dataclass(frozen=True)
class Tried:
    """A program that was checked.

    Attributes:
        name: the seed's name, or seed and number.
        text: the program.
        kind: what is wrong, or empty.
        place: the functions in which the check was, if known.
        ran: the check.
    """

    name: str
    text: str
    kind: str
    place: str
    ran: Limited

    @property
    def group(self) -> tuple[str, str]:
        """Returns what failures that are shown together have in common."""
        return self.kind, self.place


def place_of(ran: Limited) -> str:
    """Returns where a check was: the innermost function of the analysis and its caller, without repeats."""
    frames = [f"{module}.{name}" for module, name in _FRAME.findall(ran.err)]
    if "Traceback" in ran.err:
        frames.reverse()
    return " < ".join(list(dict.fromkeys(frames))[:2])


def _programs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    for number in range(count):
        name = f"{seed}:{number}"
        yield name, program(Random(name))


def _tried(name: str, text: str, checks: Checks) -> Tried:
    kind, ran = checked(text, checks)
    if kind == "time" and ran.status >= 0:
        # A busy machine inflates CPU times; a program that is really slow is slow twice.
        kind, ran = checked(text, checks)
    return Tried(name, text, kind, place_of(ran), ran)


def _run(named: Iterable[tuple[str, str]], jobs: int, python: str) -> list[Tried]:
    """Checks programs, several at a time."""
    began = time.monotonic()
    done: list[Tried] = []
    with ExitStack() as stack, ThreadPoolExecutor(jobs) as pool:
        free: SimpleQueue[Checks] = SimpleQueue()
        for _ in range(jobs):
            free.put(stack.enter_context(limited_checks(python, MESHLENS_DEBUG="1")))

        def one(pair: tuple[str, str]) -> Tried:
            checks = free.get()
            try:
                return _tried(*pair, checks)
            finally:
                free.put(checks)

        for tried in pool.map(one, named):
            done.append(tried)
            if len(done) % 250 == 0:
                failed = sum(bool(one.kind) for one in done)
                rate = len(done) / (time.monotonic() - began)
                print(f"{len(done)} checked, {failed} failed, {rate:.1f} a second", file=sys.stderr, flush=True)
    return done


def _grouped(failed: Sequence[Tried]) -> Mapping[tuple[str, str], list[Tried]]:
    groups: dict[tuple[str, str], list[Tried]] = defaultdict(list)
    for one in sorted(failed, key=lambda one: size(one.text)):
        groups[one.group].append(one)
    return dict(sorted(groups.items(), key=lambda pair: -len(pair[1])))


def _smaller(one: Tried, attempts: int, python: str) -> str:
    with limited_checks(python) as checks:
        return minimized(one.text, lambda text: checked(text, checks)[0] == one.kind, attempts)


def _report(failed: Sequence[Tried], options: argparse.Namespace) -> None:
    groups = _grouped(failed)
    print(f"\n{'count':>5}  {'failure':20} where")
    for (kind, place), members in groups.items():
        print(f"{len(members):5}  {kind:20} {place or '?'}")
    for (kind, place), members in list(groups.items())[:_MOST_SHOWN]:
        one = members[0]
        text = _smaller(one, options.minimize, options.python) if options.minimize else one.text
        print(f"\n## {kind}: {place or '?'} ({len(members)}; program {one.name})")
        print(f"exit {one.ran.status}, {one.ran.cpu:.1f} s, {one.ran.resident:.0f} MiB")
        print(text if text.endswith("\n") else f"{text}\n", end="", flush=True)
        if options.keep:
            _keep(Path(options.keep), one, text)


def _keep(folder: Path, one: Tried, text: str) -> None:
    kept = folder / re.sub(r"\W+", "-", f"{one.kind}-{one.name}")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    write_project(text, kept)
    (kept / "stderr.txt").write_text(one.ran.err)


def _compare_with_real(named: Iterable[tuple[str, str]], python: str) -> int:
    """Compares forked checks with `meshlens check` as a separate program; returns how many of them differ."""
    import subprocess

    different = 0
    with limited_checks(python) as checks:
        for name, text in named:
            folder = Path(tempfile.mkdtemp(prefix="hostile-"))
            write_project(text, folder)
            forked = checks.check(folder)
            limits = ["prlimit", f"--as={1 << 30}", "--cpu=6"]
            real = subprocess.run(
                [*limits, python, "-m", "meshlens", *ARGUMENTS], cwd=folder, capture_output=True, text=True
            )
            same = (forked.status, forked.out) == (real.returncode, real.stdout)
            if not same and not failure(forked, PLANTED):
                different += 1
                print(f"{name}: forked {forked.status}, real {real.returncode} {real.stderr[-300:]}")
            shutil.rmtree(folder)
    return different


def _in_server(text: str, python: str) -> str:
    """Opens a program in a language server, types into it, and returns what is wrong; empty if nothing is."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    write_project(text, folder)
    program_uri, planted_uri = (folder / "program.py").as_uri(), (folder / PLANTED).as_uri()
    limited = ("--as=2147483648", "--cpu=20", python, "-m", "meshlens", "server")
    server = Server(folder, code=limited, python="prlimit", PYTHONPATH="", MESHLENS_DETECT_DEVICES="0")
    try:
        server.initialize(folder, PULLS)
        before = _cpu(server)
        server.open(planted_uri, PLANTED_TEXT)
        server.open(program_uri, files_of(text)["program.py"].decode("utf-8", "replace"))
        for step in ("opened", "typed"):
            server.findings(program_uri)
            if [one["code"] for one in server.findings(planted_uri)] != ["AX101"]:
                return f"{step}: planted finding lost"
            used, before = _cpu(server) - before, _cpu(server)
            if used > CPU_SECONDS:
                return f"{step}: time ({used:.1f} s)"
            start = {"line": 0, "character": 0}
            server.change(program_uri, 2, {"range": {"start": start, "end": start}, "text": "x"})
        resident = int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())[0]) >> 10
        if resident > RESIDENT_MIB:
            return f"memory ({resident} MiB)"
        return "internal error" if TRAPPED.search(server.log) else ""
    except (EOFError, TimeoutError, RequestFailed) as error:
        return f"{type(error).__name__}: {str(error)[-300:]}"
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(folder)


def _cpu(server: Server) -> float:
    """Returns the CPU seconds that a server has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Runs the benchmark; returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seeds", action="store_true")
    parser.add_argument("--real", type=int, default=0)
    parser.add_argument("--server", type=int, default=0)
    parser.add_argument("--minimize", type=int, default=40)
    options = parser.parse_args()
    if options.real:
        different = _compare_with_real(_programs(options.real, options.seed), options.python)
        print(f"{options.real} programs, {different} different")
        return min(different, 1)
    if options.server:
        wrong = 0
        chosen = SEEDS.items() if options.seeds else _programs(options.server, options.seed)
        for number, (name, text) in enumerate(islice(chosen, options.server)):
            if number % 25 == 0:
                print(f"{number} opened, {wrong} failed", file=sys.stderr, flush=True)
            if said := _in_server(text, options.python):
                wrong += 1
                print(f"{name}: {said}", flush=True)
        print(f"{options.server} programs in the server, {wrong} failed")
        return min(wrong, 1)
    named = SEEDS.items() if options.seeds else _programs(options.count, options.seed)
    began = time.monotonic()
    done = _run(named, options.jobs, options.python)
    seconds = time.monotonic() - began
    failed = [one for one in done if one.kind]
    cpu = sorted(one.ran.cpu for one in done)
    print(f"{len(done)} programs in {seconds:.0f} s, {len(done) / seconds:.1f} a second; {len(failed)} failed")
    print(f"CPU seconds of a check: median {cpu[len(cpu) // 2]:.2f}, {cpu[-1]:.2f} at most, {sum(cpu):.0f} in all")
    print(f"memory of a check: {max(one.ran.resident for one in done):.0f} MiB at most")
    if failed:
        _report(failed, options)
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
