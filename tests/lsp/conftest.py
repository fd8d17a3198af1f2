"""One editor for each recorded client, shared by the tests of a worker; each test has a separate project in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from command_line import write
from editor import Editor, editor
from recorded_clients import CLIENTS, claiming, first_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test in every client, or in those that claim what the mark `claims` names, as the others never ask for it.

    All clients but the first are deep.  A test about particular clients parametrizes `shared` itself.
    """
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "shared" not in metafunc.fixturenames or "shared" in named:
        return
    mark = metafunc.definition.get_closest_marker("claims")
    clients = claiming(*mark.args) if mark else CLIENTS
    metafunc.parametrize("shared", first_of(clients), indirect=True, scope="session")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    """Yields an editor that has an empty folder open."""
    async with editor(tmp_path_factory.mktemp("open"), request.param) as made:
        yield made


@pytest.fixture
def ed(shared: Editor, tmp_path: Path) -> Iterator[Editor]:
    """Yields an editor with the test's own project; the server may send nothing that the client does not claim."""
    made = shared.moved(write(tmp_path, {"pyproject.toml": ""}))
    yield made
    for name in list(made.texts):
        made.close(name)
    unclaimed = "\n".join(shared.unclaimed)
    shared.unclaimed.clear()
    assert not unclaimed, unclaimed
