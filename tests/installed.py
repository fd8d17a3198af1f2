"""Looks up what is installed, for tests that compare the tables about JAX with it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import warnings
from typing import Any

import pytest

from meshlens.jaxapi.history import parse_version
from meshlens.jaxapi.keywords import VERSIONED, keywords


def jax_version() -> tuple[int, ...]:
    import jax

    version = parse_version(jax.__version__)
    assert version is not None
    return version


def resolve(dotted: str) -> Any:
    """Returns the object that a dotted name stands for.

    Skips the test if the library is not installed; in CI, a missing JAX fails it instead.
    """
    package = dotted.split(".", 1)[0]
    if importlib.util.find_spec(package) is None:
        if package == "jax" and os.environ.get("CI"):
            pytest.fail("JAX is not installed, and these tests are about it")
        pytest.skip(f"{package} is not installed")
    return lookup(dotted)


def lookup(dotted: str) -> Any:
    parts = dotted.split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for end in range(len(parts), 0, -1):
            try:
                found: Any = importlib.import_module(".".join(parts[:end]))
            except ModuleNotFoundError as error:
                if not dotted.startswith(error.name or dotted):
                    pytest.skip(f"{error.name} is not installed")
                continue
            for part in parts[end:]:
                found = getattr(found, part)
            return found
    raise ModuleNotFoundError(dotted)


def signature(found: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of the positional and the keyword-only parameters; skips the test if there is no signature."""
    if inspect.isclass(found) and type(found) is not type:
        parameters = list(inspect.signature(found.__init__).parameters.values())[1:]
        plain = list(inspect.signature(found).parameters.values())
        parameters = plain if not any(p.kind is p.VAR_POSITIONAL for p in plain) else parameters
    else:
        try:
            parameters = list(inspect.signature(found).parameters.values())
        except ValueError:
            pytest.skip("it has no signature")
    positional = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return positional, tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def gone(since: tuple[int, ...] | None, until: tuple[int, ...] | None) -> bool:
    version = jax_version()
    return (since is not None and version < since) or (until is not None and version >= until)


def skip_old_pallas(dotted: str) -> None:
    if dotted.startswith("jax.experimental.pallas") and jax_version() < (0, 10, 0):
        pytest.skip("Pallas changes too fast; its newest versions are known")


def needs_jax() -> None:
    resolve("jax")


def current(dotted: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns those of the parameters that the installed version has."""
    accepted = keywords(dotted, jax_version()) if dotted.startswith("jax.") else None
    if accepted is None:
        return names
    return tuple(n for n in names if n in accepted or VERSIONED.get((dotted, n)) == ((99,), None))


def rows(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("row", table.values(), ids=table.keys())
