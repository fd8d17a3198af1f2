"""Prints the public names of the JAX that is importable, as JSON; `releases.py` runs it once for each release."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import pkgutil
import sys
import types
import warnings
from typing import Any

GONE, HERE, GOING, FOREIGN = "gone", "here", "going", "foreign"
_SKIPPED = ("jax.experimental.jax2tf", "jax.collect_profile", "jax.tools", "jax.experimental.mosaic.gpu.examples")


def modules(package: Any) -> tuple[dict[str, Any], list[str]]:
    """Returns the public modules that can be imported, and the names of those that cannot."""
    found, failed = {package.__name__: package}, []
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=failed.append):
        if any(part.startswith("_") for part in info.name.split(".")) or info.name.startswith(_SKIPPED):
            continue
        try:
            found[info.name] = importlib.import_module(info.name)
        except BaseException as error:
            # A module that says that it was removed is not one that lacks a dependency.
            if "removed" not in str(error) and "deprecated" not in str(error):
                failed.append(info.name)
    return found, failed


def deprecations(module: Any) -> set[str]:
    """Returns the names in the deprecation tables of a module's `__getattr__`."""
    hook = vars(module).get("__getattr__")
    tables = [value for name, value in vars(module).items() if "deprecat" in name and isinstance(value, dict)]
    for cell in getattr(hook, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            tables += [cell.cell_contents] if isinstance(cell.cell_contents, dict) else []
    return {name for table in tables for name in table if isinstance(name, str) and not name.startswith("_")}


def parameters(value: Any) -> list[str] | None:
    """Returns what a function or class takes by keyword, `*` for anything; None if it does not say."""
    if not callable(value):
        return None
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in found):
        return ["*"]
    taken = [one for one in found if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return [f"{one.name}!" if "Deprecat" in type(one.default).__name__ else one.name for one in taken]


def of_jax(value: Any, dotted: str) -> bool:
    """Returns true if a value belongs to the module that offers it; a value that it merely imports does not count."""
    if isinstance(value, types.ModuleType):
        return value.__name__ == dotted or dotted.startswith("jax.lib.")
    home = getattr(value, "__module__", None)
    return not isinstance(home, str) or home.split(".")[0] in ("jax", "jaxlib", "builtins", "numpy", "ml_dtypes")


def state(module: Any, name: str) -> tuple[str, Any, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = getattr(module, name)
        except BaseException as error:
            return GONE, None, str(error)
    said = [str(one.message) for one in caught if issubclass(one.category, (DeprecationWarning, FutureWarning))]
    said = [text for text in said if name in text]
    return (GOING, value, said[0]) if said else (HERE, value, "")


def names_of(package: Any) -> dict[str, Any]:
    read: dict[str, Any] = {}
    found, failed = modules(package)
    for dotted, module in found.items():
        of_module = {}
        for name in sorted({name for name in dir(module) if not name.startswith("_")} | deprecations(module)):
            what, value, said = state(module, name)
            if what == HERE and not of_jax(value, f"{dotted}.{name}"):
                of_module[name] = [FOREIGN, None, ""]
            else:
                of_module[name] = [what, parameters(value) if what != GONE else None, said[:300]]
        read[dotted] = of_module
    return {"modules": read, "failed": failed}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        told = names_of(importlib.import_module(sys.argv[1]))
    json.dump(told, sys.stdout)
