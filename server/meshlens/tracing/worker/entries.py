"""Finds the function to trace and its arguments."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import types
from typing import Any


class NoProgram(Exception):
    """Raised if there is nothing to trace; the message gives the reason and the remedy.

    Attributes:
        kind: a code for programs: "no-entry", "bad-entry", "no-arguments", "no-call" or "no-plugin".
        more: further facts, such as the parameters that lack an argument.
    """

    def __init__(self, kind: str, message: str, more: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.more = more or {}


def import_file(file: str, root: str) -> Any:
    """Returns the module of a file, imported as the user's programs would import it."""
    dotted = find_imports(file, root)
    name = dotted[-1] if dotted else "__init__"
    if len(dotted) > 1:
        return importlib.import_module(".".join(dotted))
    return _loaded(file, name if name not in sys.modules else f"{name}__traced")


def new_module(file: str) -> Any:
    """Returns an empty module in which parts of a script's code run; call `find_imports` first."""
    name = os.path.splitext(os.path.basename(file))[0]
    module = types.ModuleType(name if name not in sys.modules else f"{name}__traced")
    module.__file__ = file
    sys.modules[module.__name__] = module
    return module


def find_imports(file: str, root: str) -> list[str]:
    """Lets a file import everything that its program could, and returns the parts of the file's module name."""
    folder, name = os.path.dirname(file), os.path.splitext(os.path.basename(file))[0]
    top, dotted = folder, [] if name == "__init__" else [name]
    while os.path.isfile(os.path.join(top, "__init__.py")) and os.path.dirname(top) != top:
        dotted.insert(0, os.path.basename(top))
        top = os.path.dirname(top)
    paths = [top] if len(dotted) > 1 else [folder]
    paths += [path for path in (root, os.path.join(root, "src")) if os.path.isdir(path)]
    sys.path[:0] = [path for path in dict.fromkeys(paths) if path not in sys.path]
    return dotted


def _loaded(file: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def text_of(file: str) -> str:
    """Returns the text of the user's file, which the user's Python is about to run."""
    with open(file, encoding="utf-8", errors="replace") as opened:
        return opened.read()


def find(module: Any, dotted: str) -> Any:
    """Returns the value of a dotted name in a module."""
    found = module
    for part in dotted.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            known = {name: one for name, one in sorted(vars(module).items()) if callable(one) and name[0] != "_"}
            own = [name for name, one in known.items() if getattr(one, "__module__", None) == module.__name__]
            more = {"functions": (own or list(known))[:200], "wanted": dotted}
            raise NoProgram("no-entry", f'the file has no function "{dotted}"', more) from None
    if not callable(found):
        raise NoProgram("no-entry", f'"{dotted}" is not a function but {_described(found)}')
    return found


def missing_parameters(function: Any) -> list[inspect.Parameter]:
    """Returns the parameters that a function cannot be called without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        one for one in parameters if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]


_ENTERED: list[Any] = []
"""Entries that yielded, kept so that the contexts that they entered stay open."""


def program_of(entry: Any, name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Returns the function and the arguments that an entry returns or yields."""
    found = entry()
    if inspect.isgenerator(found):
        _ENTERED.append(found)
        found = next(found, None)
    return checked(found, name)


def checked(found: Any, name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Returns an entry's result, after checking that it is a function with its arguments."""
    expected = "an entry must return (function, args) or (function, args, kwargs), without calling the function"
    if not isinstance(found, tuple) or len(found) not in (2, 3):
        raise NoProgram("bad-entry", f'"{name}" returned {_described(found)}; {expected}')
    function, args, kwargs = (*found, {}) if len(found) == 2 else found
    if not callable(function):
        raise NoProgram("bad-entry", f'"{name}" returned {_described(function)} instead of a function; {expected}')
    if isinstance(args, list):
        args = tuple(args)
    if not isinstance(args, tuple):
        raise NoProgram(
            "bad-entry", f'"{name}" returned {_described(args)} as the arguments; put them in a tuple: (function, (x,))'
        )
    if not isinstance(kwargs, dict):
        raise NoProgram("bad-entry", f'"{name}" returned {_described(kwargs)} as kwargs; {expected}')
    return function, args, kwargs


def _described(value: Any) -> str:
    if isinstance(value, tuple):
        return f"a tuple of length {len(value)}"
    kind = type(value).__name__.replace("ArrayImpl", "array")
    return "None" if value is None else f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
