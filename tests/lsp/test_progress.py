"""A large project is read beside the server: with progress in clients that show it, and canceled on request."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from command_line import write
from editor import Editor, editor
from recorded_clients import claiming, first_of, silent_about

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]

WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'
SHOWN = "window.workDoneProgress"
CREATE = "window/workDoneProgress/create"


def _large(root: Path) -> Path:
    return write(root, {f"part{number}.py": WRONG + "# " + "x" * 30_000 + "\n" for number in range(9)})


def _kinds(ed: Editor) -> list[str]:
    return [one.kind for reports in ed.client.progress_reports.values() for one in reports]


async def _everywhere(ed: Editor) -> set[str]:
    """Returns the files of the open projects in which there are maps."""
    found = await ed.client.workspace_symbol_async(types.WorkspaceSymbolParams(query=""))
    return {Path(one.location.uri).name for one in found or ()}


@pytest.mark.parametrize("client", first_of(claiming(SHOWN)))
async def test_it_begins_says_how_far_it_is_and_ends(tmp_path: Path, client: str):
    async with editor(_large(tmp_path), client) as ed:
        ed.open("part1.py")
        await ed.until(lambda: "end" in _kinds(ed))
        kinds = _kinds(ed)
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        assert set(kinds[1:-1]) == {"report"}
        ((begin, *_),) = ed.client.progress_reports.values()
        assert (begin.title, begin.cancellable) == (f"Indexing {tmp_path.name}", True)
        assert await _everywhere(ed) == {f"part{number}.py" for number in range(9)}


@pytest.mark.deep
async def test_processes_that_share_the_reading_do_not_wait_for_each_other(tmp_path: Path):
    """Opens so much new text that several processes read it: nothing of it is in the cache."""
    filler = "x = 1  # " + "filler " * 35_000 + "\n"
    write(tmp_path, {f"part{number}.py": f"{WRONG}{filler}# {number}\n" for number in range(12)})
    async with editor(tmp_path) as ed:
        ed.open("part1.py", WRONG)
        found = await asyncio.wait_for(_everywhere(ed), 120)
        assert found == {f"part{number}.py" for number in range(12)}


@pytest.mark.parametrize("client", first_of(silent_about(SHOWN)))
async def test_it_is_read_without_a_word_where_progress_is_not_shown(tmp_path: Path, client: str):
    async with editor(_large(tmp_path), client) as ed:
        ed.open("part1.py")
        assert await _everywhere(ed) == {f"part{number}.py" for number in range(9)}
        assert CREATE not in ed.asked
        assert not _kinds(ed)


@pytest.mark.deep
@pytest.mark.parametrize("client", first_of(claiming(SHOWN)))
async def test_it_is_cancelled_and_what_is_open_stays_right(tmp_path: Path, client: str):
    async with editor(_large(tmp_path), client) as ed:
        ed.open("part1.py")
        await ed.until(lambda: "begin" in _kinds(ed))
        (token,) = ed.client.progress_reports
        ed.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        await ed.until(lambda: "end" in _kinds(ed))
        assert len(await ed.diagnostics("part1.py")) == 1
        ed.replace("part1.py", "bacth", "batch")
        assert not await ed.diagnostics("part1.py")
        # A request about the whole project still gets all of it.
        assert len(await _everywhere(ed)) == 9
