"""One editor for each recorded client, which the tests of a worker share; each test has a project of its own in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from command_line import write
from editor import Editor, editor
from recorded_clients import CLIENTS, claiming, first_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test in every client, or in those that claim what the mark `claims` names, as others never ask for it.

    All but the first are deep.  A test that is about some clients has `shared` as a parameter of its own.
    """
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "shared" not in metafunc.fixturenames or "shared" in named:
        return
    mark = metafunc.definition.get_closest_marker("claims")
    clients = claiming(*mark.args) if mark else CLIENTS
    metafunc.parametrize("shared", first_of(clients), indirect=True, scope="session")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    """An editor that has a folder open in which nothing lies."""
    async with editor(tmp_path_factory.mktemp("open"), request.param) as made:
        yield made


@pytest.fixture
def ed(shared: Editor, tmp_path: Path) -> Iterator[Editor]:
    """An editor with a project of the test's own; nothing may reach it that its client does not claim."""
    made = shared.moved(write(tmp_path, {"pyproject.toml": ""}))
    yield made
    for name in list(made.texts):
        made.close(name)
    unclaimed = "\n".join(shared.unclaimed)
    shared.unclaimed.clear()
    assert not unclaimed, unclaimed
