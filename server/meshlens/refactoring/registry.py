"""The registry of assists: each file in the folder `assists` is one assist."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from meshlens.project.view import FileView
from meshlens.refactoring.model import Answer, Wishes
from meshlens.text import Span

AssistFunction = Callable[[FileView, Span, Wishes], Answer]


@dataclass(frozen=True, slots=True)
class Assist:
    """An assist.

    Attributes:
        name: its name, such as "pmap-to-shard-map".
        propose: returns its answer for a cursor or selection in a file.
        page: the module's docstring, which is the assist's page in Markdown.
    """

    name: str
    propose: AssistFunction
    page: str


@cache
def all_assists() -> tuple[Assist, ...]:
    """Returns every assist in the folder, sorted by name."""
    return tuple(_load())


def assist_named(name: str) -> Assist:
    """Returns the assist with the given name.

    Raises:
        KeyError: no assist has this name.
    """
    return {assist.name: assist for assist in all_assists()}[name]


def _load() -> Iterator[Assist]:
    package = importlib.import_module("meshlens.assists")
    for module_info in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        function = getattr(module, module_info.name)
        yield Assist(module_info.name.replace("_", "-"), function, module.__doc__ or "")
