"""Edits projects at random in a real server: after each edit its answers must be those of a newly started server.

    python tests/bench/edits.py                              20,000 edits in docs/tour, oracle programs and notebooks
    python tests/bench/edits.py --edits 500 --seed 7 FILE …  and in these files

After each edit, the diagnostics of everything open, and hover, definition and references at a random place, are
compared with those of a session that opens the same texts cold.  Prints what differs, with the edits that led there;
suspicious log lines; and the memory after the first tenth and at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
# If this runs as a script, Python finds only the modules next to it.
sys.path.insert(0, str(REPOSITORY / "tests"))

from bench.edit_world import ENCODING, World, item, notebook_json
from meshlens.lsp.folders import Folder, open_folder
from meshlens.lsp.handlers.definition import definition
from meshlens.lsp.handlers.did_open import did_open
from meshlens.lsp.handlers.document_highlight import document_highlight
from meshlens.lsp.handlers.hover import hover
from meshlens.lsp.handlers.notebook_did_open import notebook_did_open
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import diagnostics
from meshlens.lsp.wire.client import Client
from oracle.rerun import programs
from raw_client import Failed, Server

CAPABILITIES = {
    "general": {"positionEncodings": [ENCODING]},
    "workspace": {"diagnostics": {"refreshSupport": True}},
    "textDocument": {
        "diagnostic": {},
        "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}},
        "hover": {"contentFormat": ["markdown"]},
        "completion": {"completionItem": {"snippetSupport": True}},
    },
}
COLD_CLIENT = Client(encoding=ENCODING, pulls=True, related=True, tags=True, markdown=True, snippets=True)
COMPARED = {
    "textDocument/hover": hover,
    "textDocument/definition": definition,
    "textDocument/documentHighlight": document_highlight,
}
ONLY_ASKED = ("textDocument/completion", "textDocument/signatureHelp", "textDocument/prepareRename")
IN_ONE_PROJECT = 100
MOST_UNEQUAL = 20
MAGICS = ("%matplotlib inline\n", "%time x = 1\n", "!nvidia-smi\n", "%%bash\nls\n", "# текст 🙂\n")


@dataclass
class Outcome:
    """The results of a run.

    Attributes:
        edits: how many were made.
        unequal: one text for each answer that differed from a cold session's.
        states: for each unequal answer, the texts of the project after every edit.
        log: lines of the server's log that no edit may cause.
        memory: MiB of the server after each tenth of the run.
        seconds: how long the run took.
        warm: the seconds that the server took for each edit and its diagnostics.
    """

    edits: int = 0
    unequal: list[str] = field(default_factory=list)
    states: list[list[dict[str, str]]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    seconds: float = 0.0
    warm: list[float] = field(default_factory=list)


def run(edits: int, seed: int, given: Sequence[Path] = ()) -> Outcome:
    """Makes a number of edits, and returns the results."""
    dice, outcome, started = random.Random(seed), Outcome(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        server = Server(top)
        try:
            server.initialize(None, CAPABILITIES)
            while outcome.edits < edits and len(outcome.unequal) <= MOST_UNEQUAL:
                root = top / f"project{outcome.edits}"
                _edit_project(server, _furnished(root, dice, given), dice, outcome, edits)
                shutil.rmtree(root)
            outcome.log = [line for line in server.log.splitlines() if line.strip()]
        finally:
            server.stop()
    outcome.seconds = time.monotonic() - started
    return outcome


def _furnished(root: Path, dice: random.Random, given: Sequence[Path]) -> Path:
    """Makes a project with a few files: a lesson, some programs, or a real file."""
    root.mkdir()
    tour = sorted((REPOSITORY / "docs" / "tour").glob("*.py"))
    kind = dice.choice(("tour", "packages", "programs", "real") if given else ("tour", "packages", "programs"))
    if kind == "tour":
        shutil.copytree(REPOSITORY / "docs" / "tour" / "01_two_files_one_axis", root, dirs_exist_ok=True)
        chosen = dice.sample(tour, 2)
    elif kind == "packages":
        package = dice.choice([program for program in programs() if program.is_package])
        shutil.copytree(package.main.parent, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.json"))
        chosen = []
    elif kind == "programs":
        chosen = [program.main for program in dice.sample([one for one in programs() if not one.is_package], 3)]
    else:
        chosen = [dice.choice(given)]
    for path in chosen:
        shutil.copy(path, root / path.name.lstrip("0123456789_"))
    (root / "pyproject.toml").write_text('[project]\nname = "edited"\n')
    return root


def _edit_project(server: Server, root: Path, dice: random.Random, outcome: Outcome, edits: int) -> None:
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    world = World(server, root, dice, names=names)
    texts = [(root / name).read_text("utf-8") for name in names]
    if dice.random() < 0.3:
        cells = [dice.choice((*MAGICS, "")) + dice.choice(texts) for _ in range(dice.randint(1, 3))]
        (root / "book.ipynb").write_bytes(notebook_json(cells))
        world.open_book("book.ipynb", cells)
    for name in dice.sample(names, min(len(names), 3)):
        world.open(name)
    cold_folder = None
    happened: list[str] = []
    states = [world.state()]
    for _ in range(IN_ONE_PROJECT):
        if outcome.edits >= edits or len(outcome.unequal) > MOST_UNEQUAL:
            break
        before = time.perf_counter()
        happened.append(world.step(texts))
        outcome.edits += 1
        states.append(world.state())
        asked = {text.uri: server.ask("textDocument/diagnostic", _named(text.uri)) for text in world.texts()}
        warm = {uri: server.answer(number)["items"] for uri, number in asked.items()}
        outcome.warm.append(time.perf_counter() - before)
        cold, cold_folder = _cold(world, cold_folder)
        different = _differences(world, cold, warm)
        if different:
            story = "\n".join(happened[-6:])
            outcome.unequal.append(f"edit {outcome.edits}, {root.name}:\n{different}\nafter\n{story}")
            outcome.states.append(states)
            break
        if outcome.edits % max(1, edits // 10) == 0:
            outcome.memory.append(_memory(server))
    world.close()


def _differences(world: World, cold: Session, warm: dict[str, Any]) -> str:
    lines = []
    for uri, items in warm.items():
        expected = diagnostics(cold, cold.documents[uri])
        if items != expected:
            lines.append(f"{uri}\n  warm {[one for one in items if one not in expected]}")
            lines.append(f"  cold {[one for one in expected if one not in items]}")
    text, position = world.place()
    params = {**_named(text.uri), "position": position}
    for method, handler in COMPARED.items():
        said, expected = world.server.request(method, params), handler(cold, params)
        if said != expected:
            lines.append(f"{method} {text.uri} {position}\n  warm {said}\n  cold {expected}")
    for method in ONLY_ASKED:
        try:
            world.server.request(method, params)
        except Failed as error:
            if error.code == -32603:
                lines.append(f"{method}: {error}")
    return "\n".join(lines)


def _cold(world: World, folder: Folder | None) -> tuple[Session, Folder]:
    """Returns a session that has just opened what is open, and its project as it was before anything was loaded."""
    session = Session(lambda method, params: None, _nobody, COLD_CLIENT)
    if folder is None:
        folder, _ = open_folder(world.root, {})
    session.folders[world.root] = folder
    if world.book is not None:
        cells = [item(cell) for cell in world.cells]
        notebook_did_open(session, {"notebookDocument": world.notebook(), "cellTextDocuments": cells})
    for text in world.files.values():
        did_open(session, {"textDocument": item(text)})
    return session, folder


def _nobody(method: str, params: Any) -> Any:
    raise AssertionError("a cold session asks nothing")


def _named(uri: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}}


def _memory(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status")
    if not status.exists():
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmRSS"))


def summary(outcome: Outcome, seed: int) -> Iterator[str]:
    """Yields the lines of a run's report."""
    yield from outcome.unequal
    yield from outcome.log[:20]
    warm = sorted(outcome.warm)
    first, last = (outcome.memory[0], outcome.memory[-1]) if outcome.memory else (0.0, 0.0)
    yield f"seed {seed}: {outcome.edits:,} edits in {outcome.seconds:.0f} s, {len(outcome.unequal)} unequal"
    yield f"edit to diagnostics of all open: p50 {warm[len(warm) // 2] * 1e3:.1f} ms, most {warm[-1] * 1e3:.0f} ms"
    yield f"memory {first:.1f} MiB after a tenth, {last:.1f} at the end: {last - first:+.1f}"
    yield f"by tenths: {', '.join(f'{each:.1f}' for each in outcome.memory)}; {len(outcome.log)} log lines"


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--edits", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--keep", type=Path, help="where to write the texts that led to each difference")
    given = parser.parse_args()
    # The results of a device probe may come later in one of the two sessions than in the other.
    os.environ["MESHLENS_DETECT_DEVICES"] = "0"
    outcome = run(given.edits, given.seed, given.files)
    for number, states in enumerate(outcome.states if given.keep else ()):
        (given.keep / f"states-{given.seed}-{number}.json").write_text(json.dumps(states))
    print("\n".join(summary(outcome, given.seed)))
    return 1 if outcome.unequal or outcome.log else 0


if __name__ == "__main__":
    sys.exit(main())
