"""A session keeps what is open, not everything that was ever open."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from meshlens.axes.domain.values import Class
from meshlens.facts.nodes import Comparison
from meshlens.lsp.handlers.did_change import did_change
from meshlens.lsp.handlers.did_close import did_close
from meshlens.lsp.handlers.did_open import did_open
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import diagnostics
from meshlens.lsp.wire.client import Client
from meshlens.project.solving.sorting import Sorted
from meshlens.refactoring.reading.block_names import BlockNames
from meshlens.refactoring.reading.mentions import entries

pytestmark = pytest.mark.slow

WRONG = "import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, 'typo'), axis_name='data')\n"
FILES = 8


def _session(folder: Path, filler: int) -> tuple[Session, list[Path]]:
    paths = [folder / f"part{number}.py" for number in range(FILES)]
    for path in paths:
        path.write_text(f"{WRONG}# {'x' * filler}\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "kept"\n')
    return Session(lambda method, params: None, _nobody, Client(pulls=True), given=(folder,)), paths


def _nobody(method: str, params: Any) -> Any:
    raise AssertionError("nothing is asked")


def _type(session: Session, path: Path, version: int, text: str) -> None:
    place = {"line": 1, "character": 0}
    change = {"range": {"start": place, "end": place}, "text": text}
    did_change(session, {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": [change]})


def _replace_number(session: Session, path: Path, at: tuple[int, int], number: int) -> None:
    """Replaces the number before this one, which is the version of the text, at a line and column."""
    line, column = at
    place = {"line": line, "character": column}, {"line": line, "character": column + len(str(number - 1))}
    change = {"range": {"start": place[0], "end": place[1]}, "text": f"{number}"}
    did_change(session, {"textDocument": {"uri": path.as_uri(), "version": number}, "contentChanges": [change]})


def _open(session: Session, path: Path) -> None:
    did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": path.read_text()}})
    _type(session, path, 2, "y = 1\n")
    assert len(diagnostics(session, session.documents[path.as_uri()])) == 1


def _close(session: Session, path: Path) -> None:
    did_close(session, {"textDocument": {"uri": path.as_uri()}})


def test_only_a_broken_file_keeps_an_earlier_state(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 10)
    for path in paths:
        _open(session, path)
    assert not session.last_whole
    for path in paths:
        _type(session, path, 3, "(")
        assert list(session.last_whole) == [path]
    _type(session, paths[-1], 4, "#")
    assert not session.last_whole


def test_a_broken_file_keeps_no_state_of_another_set_of_files(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 90_000)
    _open(session, paths[0])
    _type(session, paths[0], 3, "(")
    assert list(session.last_whole) == [paths[0]]
    _open(session, paths[1])
    assert not session.last_whole


def test_open_files_do_not_keep_the_results_of_earlier_sets_of_files(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 90_000)
    for path in paths:
        _open(session, path)
    solution = session.folder_of(paths[-1]).workspace.solution
    states = {id(result) for one in solution.checked.values() for result in one.results.values()}
    assert states <= {id(result) for result in solution.results.values()}


def test_findings_of_open_files_do_not_keep_many_results_of_earlier_times(tmp_path: Path):
    session, (common, user, *_) = _session(tmp_path.resolve(), 10)
    common.write_text("def total(x):\n    return jax.lax.psum(x, 'typo')\n\nimport jax\n")
    mapped = "step_{0} = jax.pmap(lambda x: total(x) + {0}, axis_name='data')\n"
    head = "import jax\nfrom part0 import total\n\n"
    user.write_text(head + "".join(mapped.format(number) for number in range(60)))
    for path in (user, common):
        did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": path.read_text()}})
        diagnostics(session, session.documents[path.as_uri()])
    for version in range(2, 5):
        _type(session, common, version, f"    x += {version}\n")
        diagnostics(session, session.documents[common.as_uri()])
    solution = session.folder_of(common).workspace.solution
    now = {id(result) for result in solution.results.values()}
    assert len(now) > 60
    for one in solution.checked.values():
        assert sum(id(result) not in now for result in one.results.values()) <= 20


def test_what_was_computed_from_another_set_of_files_is_forgotten(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 90_000)
    _open(session, paths[0])
    first = session.folder_of(paths[0]).workspace.solution.once_of("kept", None, None, list)
    _type(session, paths[0], 3, "z = 1\n")
    edited = session.folder_of(paths[0]).workspace.solution
    assert edited.once_of("kept", None, None, list) is first
    _open(session, paths[1])
    opened = session.folder_of(paths[1]).workspace.solution
    assert opened.once_of("kept", None, None, list) is not first


def test_what_was_computed_from_earlier_texts_and_records_is_forgotten(tmp_path: Path):
    session, (path, *_) = _session(tmp_path.resolve(), 10)
    path.write_text("y = jax.lax.psum(1, 'typo')\n" + WRONG)
    did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": path.read_text()}})
    known = []
    for number in range(2, 60):
        _replace_number(session, path, (0, len("y = jax.lax.psum(")), number)
        solution = session.folder_of(path).workspace.solution
        diagnostics(session, session.documents[path.as_uri()])
        solution.once_of("records", solution.sorted, None, list)
        known.append(len(solution._by_source))
    assert known[-1] == known[1]
    sources = {id(one[0]) for one in solution._by_source.values() if isinstance(one[0], Sorted)}
    assert sources == {id(solution.sorted)}


def test_findings_of_closed_files_are_forgotten(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 10)
    for path in paths[:2]:
        _open(session, path)
    _close(session, paths[0])
    checked = session.folder_of(paths[1]).workspace.solution.checked
    assert {key[0] for key in checked} == {paths[1]}


def test_closed_files_of_a_large_project_leave_the_memory(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 90_000)
    for path in paths:
        _open(session, path)
        if path is not paths[-1]:
            _close(session, path)
    loaded = session.folder_of(paths[-1]).workspace.files
    assert str(paths[-1]) in loaded
    assert sum(len(file.raw) for file in loaded.values()) < 500_000


REPLACED = """
import asyncio
import gc

from meshlens.lsp.collector import Collector


class Cyclic:
    def __init__(self):
        self.itself = self


Collector(asyncio.new_event_loop())
most = 0
for turn in range(32):
    state = [Cyclic() for _ in range(100_000)]
    if turn % 4 == 0:
        most = max(most, sum(type(one) is Cyclic for one in gc.get_objects()))
print(most)
"""


def test_replaced_states_are_collected_although_nobody_pauses():
    # In a process of its own, like a server: Python collects garbage less often if it already holds many objects.
    ran = subprocess.run([sys.executable, "-c", REPLACED], capture_output=True, text=True, check=True)
    assert int(ran.stdout) <= 1_000_000


FROZEN = """
import gc
from types import SimpleNamespace

from meshlens.lsp.collector import Collector


class Cyclic:
    def __init__(self):
        self.itself = self


def call_later(seconds, call):
    due.append(call)
    return SimpleNamespace(cancel=due.clear)


due = []
collector = Collector(SimpleNamespace(call_later=call_later))
state = [Cyclic() for _ in range(100_000)]
collector.worked()
due.pop()()
due.pop()()
assert gc.get_freeze_count() > 100_000
state = [Cyclic() for _ in range(100_000)]
collector.worked()
due.pop()()
gc.unfreeze()
print(sum(type(one) is Cyclic for one in gc.get_objects()))
"""


def test_a_short_pause_collects_what_was_frozen_at_a_long_one():
    ran = subprocess.run([sys.executable, "-c", FROZEN], capture_output=True, text=True, check=True)
    assert int(ran.stdout) == 100_000


def test_the_state_before_a_file_was_broken_keeps_no_results_of_other_files(tmp_path: Path):
    session, (common, user, *_) = _session(tmp_path.resolve(), 10)
    user.write_text(f"import {common.stem}\n\n{WRONG}")
    _open(session, common)
    _open(session, user)
    _type(session, common, 3, "(")
    kept, now = session.last_whole[common].solution, session.folder_of(common).workspace.solution
    assert {path for path, _ in kept.results} == {str(common)} < {path for path, _ in now.results}


CHOOSES = """import jax

@jax.pmap
def choose(x, y):
    if y > 1:
        x = x + 1
    return x
"""


def test_texts_that_are_gone_leave_few_nodes(tmp_path: Path):
    session, (path, *_) = _session(tmp_path.resolve(), 10)
    path.write_text(CHOOSES)
    did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": CHOOSES}})
    for number in range(2, 600):
        _replace_number(session, path, (4, len("    if y > ")), number)
        diagnostics(session, session.documents[path.as_uri()])
    assert b"y > 599:" in session.documents[path.as_uri()].text
    gc.collect()
    assert sum(type(one) is Comparison for one in gc.get_objects()) < 450


MODEL = """import flax.linen as nn
import jax

class Model(nn.Module):
    size: int = 1

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size)(x)

variables = Model().init(jax.random.PRNGKey(0), jax.numpy.ones((2, 3)))
step = jax.pmap(lambda x: jax.tree.map(lambda v: v.T + x, variables), axis_name="data")
"""


MODEL_IN_A_FUNCTION = "import flax.linen as nn\nimport jax\n\ndef main():\n" + indent(MODEL.split("\n\n", 1)[1], "    ")


@pytest.mark.parametrize(("text", "place"), [(MODEL, (4, 16)), (MODEL_IN_A_FUNCTION, (5, 20))])
def test_labels_of_models_do_not_keep_the_variables_of_earlier_texts(text: str, place: tuple[int, int], tmp_path: Path):
    session, (path, *_) = _session(tmp_path.resolve(), 10)
    path.write_text(text)
    did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": text}})
    for number in range(2, 60):
        _replace_number(session, path, place, number)
        diagnostics(session, session.documents[path.as_uri()])
    assert b"    size: int = 59\n" in session.documents[path.as_uri()].text
    gc.collect()
    assert sum(type(one) is Class and one.name == "Model" for one in gc.get_objects()) < 10


def test_names_in_earlier_texts_of_a_block_are_forgotten(tmp_path: Path):
    session, (path, *_) = _session(tmp_path.resolve(), 10)
    path.write_text(CHOOSES)
    did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": CHOOSES}})
    for number in range(2, 60):
        _replace_number(session, path, (4, len("    if y > ")), number)
        view = session.view(path)
        assert view is not None
        assert [one.key for one in entries(view)] == list(view.facts.blocks)
    gc.collect()
    assert sum(type(one) is BlockNames for one in gc.get_objects()) < 10
