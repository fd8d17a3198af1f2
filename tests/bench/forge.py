"""Puts hostile files in the place of every cache: no run may crash, and none may find anything else.

    python tests/bench/forge.py                     20,000 files
    python tests/bench/forge.py --files 500 --seed 7

A project is checked again and again in one process, each time with another file in the place of its facts, results,
devices or key: damaged files, those of other programs and of earlier versions, ones sealed with another key, and ones
that only the owner of the user's key could seal.  With all but the last, the findings must be those of a run without a
cache.  With the last, a run only must end normally; the seal is what keeps their content true.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
# If this runs as a script, Python finds only the modules next to it.
sys.path.insert(0, str(REPOSITORY / "tests"))

import forging
from meshlens.caches.folder import Cache, cache_of
from meshlens.caches.sealed import SEAL
from meshlens.cli.printing.progress import progress
from meshlens.cli.request import ask
from meshlens.cli.run import no_cache, run
from meshlens.devices.report import BadReport, Report
from meshlens.devices.reports import kept_report, new_report
from meshlens.devices.runner import Question

SOURCES = {
    "a.py": "import jax\nfrom b import AXIS, mean\n\n\n@jax.pmap\ndef step(x, *, k=1):\n    # meshlens: ignore[AX999]\n"
    '    y = [mean(z, AXIS) for z in (x, -x) if k]\n    return jax.lax.psum(y[0], "bacth")\n',
    "b.py": 'import jax\n\nAXIS = "i"\n\n\nclass K:\n    def m(self, x, n=AXIS):\n        try:\n            return x\n'
    "        except ValueError as e:\n            raise e\n\n\ndef mean(x, axis):\n    return jax.lax.pmean(x, axis)\n",
    "meshlens.toml": "",
}
OPTIONS = {"select": (), "extend_select": (), "ignore": (), "devices": None, "jax_version": None}
DAMAGED, FOREIGN, FORGED, SEALED = "damaged", "foreign", "forged", "sealed"
KINDS = ("facts", "results", "devices", "key")


class World:
    """A project and its caches, and what a run finds without them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.caches = folder / "caches"
        self.root.mkdir()
        for name, text in SOURCES.items():
            (self.root / name).write_text(text)
            os.utime(self.root / name, (1_000_000_000, 1_000_000_000))
        os.utime(self.root, (1_000_000_000, 1_000_000_000))
        self.request = ask([str(self.root)], OPTIONS)
        self.question = Question(sys.executable, level="installed")
        cache = cache_of(self.root, self.caches)
        assert cache is not None
        self.cache: Cache = cache
        self.truth = self.findings(no_cache)
        assert self.truth
        new_report(self.question, cache)
        assert self.findings() == self.truth
        self.good = {path.name.split("-")[0]: path.read_bytes() for path in cache.folder.iterdir()}
        self.good["key"] = (self.caches / "key").read_bytes()
        self.names = {path.name.split("-")[0]: path.name for path in cache.folder.iterdir()}
        self.others = {name: (self.root / name).read_bytes() for name in SOURCES}

    def findings(self, open_cache: Any = None) -> Any:
        """Returns what a run finds."""
        with progress() as bar:
            outcome = run(self.request, frozenset(), bar, open_cache or partial(cache_of, given=self.caches))
        assert not outcome.report.problems, outcome.report.problems
        return outcome.report.findings

    def report(self) -> Report | None:
        """Returns the report of the devices that is kept."""
        cache = cache_of(self.root, self.caches)
        return kept_report(self.question, cache)

    def restore(self) -> None:
        """Puts all files back."""
        for kind, name in self.names.items():
            self._put(self.cache.folder / name, self.good[kind])
        self._put(self.caches / "key", self.good["key"])

    def plant(self, kind: str, content: bytes) -> None:
        """Puts a file in the place of a cache; for facts and the key, removes the results, which come first."""
        self.restore()
        if kind in ("facts", "key"):
            (self.cache.folder / self.names["results"]).unlink()
        self._put(self.caches / "key" if kind == "key" else self.cache.folder / self.names[kind], content)

    def _put(self, path: Path, content: bytes) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)


def made(world: World, kind: str, how: str, chance: random.Random) -> bytes:
    """Makes a file to put in the place of a cache."""
    good = world.good[kind]
    if how == DAMAGED:
        return forging.damaged(good, chance)
    if how == FOREIGN or kind == "key":
        return forging.foreign(chance)
    # A forger without the user's key seals with another key.
    cache = world.cache if how == SEALED else Cache(world.cache.folder, chance.randbytes(32))
    if kind == "facts":
        blobs = forging.blobs_of(good)
        digest = chance.choice(list(blobs))
        blobs[digest] = chance.choice(list(blobs.values())) if chance.random() < 0.1 else blobs[digest]
        for _ in range(chance.choice((1, 1, 3))):
            blobs[digest] = forging.hostile_blob(blobs[digest], chance)
        return forging.facts_file(cache, world.names[kind], blobs, chance if chance.random() < 0.1 else None)
    said = forging.hostile_values(json.loads(good[SEAL:]), chance)
    content = json.dumps(said).encode() if chance.random() < 0.9 else forging.foreign(chance)
    return forging.sealed_anyway(cache, world.names[kind], content)


def tried(world: World, kind: str, how: str, content: bytes) -> str:
    """Runs with a file in the place of a cache; returns the result, or raises an exception if it is wrong."""
    world.plant(kind, content)
    if kind == "devices":
        try:
            report = world.report()
        except BadReport as bad:
            raise AssertionError("a bad report came through") from bad
        return "taken" if report is not None else "left out"
    found = world.findings()
    if found == world.truth:
        return "the same findings"
    assert how == SEALED, f"other findings: {found}"
    return "other findings"


class Listener(logging.Handler):
    """Counts the log messages about rules that crashed and runs that started again."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.seen: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if "crashed" in message:
            self.seen["a rule crashed"] += 1
        if "begins again" in message:
            self.seen["the run began again"] += 1


def main() -> None:
    """Prints the results of all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    listener = Listener()
    log = logging.getLogger("meshlens")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(listener)
    seen: Counter[tuple[str, str, str]] = Counter()
    failures = 0
    begin = time.process_time()
    with tempfile.TemporaryDirectory(prefix="meshlens-forge-") as folder:
        world = World(Path(folder))
        for number in range(options.files):
            chance = random.Random(f"{options.seed} {number}")
            kind = chance.choices(KINDS, (12, 4, 3, 1))[0]
            how = chance.choice((DAMAGED, FOREIGN, FORGED, SEALED, SEALED))
            try:
                seen[kind, how, tried(world, kind, how, made(world, kind, how, chance))] += 1
            except Exception as error:
                failures += 1
                print(f"{number}: {kind}, {how}: {type(error).__name__}: {error}")
        untouched = {name: (world.root / name).read_bytes() for name in SOURCES} == world.others
        left = sorted(path.name for path in world.root.iterdir())
    for (kind, how, result), count in sorted(seen.items()):
        print(f"{count:>7,}  {kind:8} {how:8} {result}")
    for text, count in sorted(listener.seen.items()):
        print(f"{count:>7,}  {text}")
    print(f"{options.files:,} files, {failures} failures, {time.process_time() - begin:.0f} s of CPU")
    print("the project is as it was" if untouched and left == sorted(SOURCES) else f"the project is changed: {left}")
    sys.exit(1 if failures or not untouched else 0)


if __name__ == "__main__":
    main()
