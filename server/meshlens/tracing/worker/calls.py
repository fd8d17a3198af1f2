"""Finds a function's arguments from a call in its file, or explains what to write if they cannot be found."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from . import refusing
from .entries import NoProgram, new_module, text_of
from .places import Inside, rows_of_error
from .reading import Site, Source, reads, runs_on_import, sliced
from .visible import Program, Shown, Unseen, shown

_MOST_SITES = 5


def read(file: str, name: str, inside: Inside) -> Calls | None:
    """Returns the visible calls to a function in its file; None if the file cannot be read as Python."""
    try:
        return Calls(file, name, inside)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


class Calls:
    """The visible calls to a function in its file.

    Attributes:
        name: the function's name, as requested.
        definition: its definition; None if a call created it.
    """

    def __init__(self, file: str, name: str, inside: Inside) -> None:
        """Reads the file without running it."""
        self.source = Source(file, text_of(file))
        self.name = name
        self._inside = inside
        self.definition = self.source.definition(name)
        found = self.source.sites(name.rpartition(".")[2])
        self.sites = [one for one in found if not one.hands_on and self.definition not in one.owners][:_MOST_SITES]

    @property
    def run_on_import(self) -> bool:
        """Returns whether importing the file runs the calls, as in a script without `if __name__ == "__main__"`."""
        return any(self._begins_on_import(one, 0) for one in self.sites)

    def is_local(self, module: Any) -> bool:
        """Returns whether the function exists only in a frame: another function defines it, and something calls it."""
        found = module
        for part in self.name.split("."):
            found = getattr(found, part, None)
        return found is None and bool(self.sites)

    def _begins_on_import(self, site: Site, depth: int) -> bool:
        if site.owner is None:
            return runs_on_import(site)
        callers = self.source.sites(site.owner.name, aliases=False) if depth < len(self.sites) + _MOST_SITES else []
        return any(self._begins_on_import(one, depth + 1) for one in callers if site.owner not in one.owners)

    def first(self, module: Any, argv: list[str]) -> tuple[Shown, Callable[[], Shown], int]:
        """Returns the first call with computable arguments, a function that repeats it with real arrays, and its row.

        Args:
            module: the imported module of the file; None if importing it would run the calls.
            argv: the command line of the program.

        Raises:
            NoProgram: there is no such call.
        """
        sys.argv = argv
        _parse_absl(argv)
        failures: list[NoProgram] = []
        for site in self.sites:
            program = Program(self.source, module or new_module(self.source.file), argv)
            try:
                return self._shown(program, site), lambda: self._real(program, site), site.call.lineno  # noqa: B023
            except NoProgram as error:
                failures.append(error)
        raise failures[0]

    def _shown(self, program: Program, site: Site) -> Shown:
        try:
            found = shown(program, site, for_shapes=True)
        except (refusing.NotRun, Unseen) as error:
            raise self._unknown(site, error) from None
        except (Exception, SystemExit):  # such as a condition on values; real arrays may work
            return self._real(program, site)
        self._check(found.function, site)
        return found

    def _real(self, program: Program, site: Site) -> Shown:
        try:
            found = shown(program, site, for_shapes=False)
        except (Exception, SystemExit) as error:
            raise self._unknown(site, error) from None
        self._check(found.function, site)
        return found

    def _check(self, function: Any, site: Site) -> None:
        """Raises an error if the call is to another function of the same name."""
        plain = inspect.unwrap(function)
        code = getattr(plain, "__code__", None)
        if "<locals>" in getattr(plain, "__qualname__", "") and getattr(self.definition, "decorator_list", None):
            # A decorator created the function, and gave it another name.
            return
        of_file = code is not None and os.path.realpath(code.co_filename) == os.path.realpath(self.source.file)
        if code is not None and self.definition is not None and of_file and code.co_name != self.definition.name:
            raise NoProgram("no-arguments", f'line {site.call.lineno} calls a different function named "{self.name}"')

    def _unknown(self, site: Site, error: BaseException) -> NoProgram:
        """Returns an error that says why the arguments are unknown and, if possible, what comment to add."""
        rows = [row for path, row in rows_of_error(error, self._inside) if path == self._inside.file]
        row = rows[0] if rows else site.call.lineno
        refused = refusing.first_refused() if _is_refusal(error) else ""
        if isinstance(error, Unseen):
            why = str(error)
        elif refused:
            why = f"line {row} {refused}, which a trace does not allow"
        elif isinstance(error, SystemExit):
            why = f"line {row}: the program exits here; pass its command-line arguments after `--`"
        else:
            why = f"line {row}: {type(error).__name__}: {' '.join(str(error).split())[:300]}".rstrip(": ")
        is_outside = bool(refused) or isinstance(error, (OSError, ImportError))
        comment = self._comment(site, rows) if is_outside else None
        remedy = f"; add to line {comment[0]}: {comment[1]}" if comment else ""
        return NoProgram("no-arguments", f"{self._begin(site)}: {why}{remedy}", {"place": [self._inside.file, row]})

    def _begin(self, site: Site) -> str:
        return f'cannot determine the arguments of "{self.name}" in the call on line {site.call.lineno}'

    def _comment(self, site: Site, rows: list[int]) -> tuple[int, str] | None:
        """Returns a comment that would supply the unknown arguments, and the line for it; None if no comment would."""
        steps = self.source.steps(site)
        wanted = {name for one in (*site.call.args, *site.call.keywords) for name in reads(one)}
        for index in range(len(steps) - 1, -1, -1):
            names = sorted(steps[index].binds & wanted)
            before = sliced(steps[: index + 1], set(names), self.source.modules) if names else []
            if any(_holds(one.node, row) for one in before for row in rows):
                values = ", ".join(self._shape(name, site) for name in names)
                return steps[index].node.lineno, f"# meshlens: assume {', '.join(names)} = {values}"
        return None

    def _shape(self, name: str, site: Site) -> str:
        """Returns the form of an argument, inferred from its uses in the function: `{"image": f32[...]}`."""
        parameter = next(
            (
                one.arg
                for one, given in zip(getattr(getattr(self.definition, "args", None), "args", ()), site.call.args)  # noqa: B905
                if isinstance(given, ast.Name) and given.id == name
            ),
            None,
        )
        keys = {}
        for node in ast.walk(self.definition) if self.definition is not None and parameter else ():
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name)
                and node.value.id == parameter
                and isinstance(node.slice, ast.Constant)
                and isinstance(node.slice.value, str)
            ):
                keys[node.slice.value] = "f32[...]"
            if isinstance(node, ast.Assign) and getattr(node.value, "id", None) == parameter:
                target = node.targets[0]
                if isinstance(target, ast.Tuple):
                    return f"({', '.join('f32[...]' for _ in target.elts)})"
        return "{" + ", ".join(f'"{key}": {value}' for key, value in keys.items()) + "}" if keys else "f32[...]"


def _is_refusal(error: BaseException | None) -> bool:
    """Returns whether an error was caused by a refused action."""
    while error is not None:
        if isinstance(error, refusing.NotRun):
            return True
        error = error.__cause__ or error.__context__
    return False


def _holds(node: ast.AST, row: int) -> bool:
    return int(getattr(node, "lineno", 0)) <= row <= int(getattr(node, "end_lineno", None) or 0)


def _parse_absl(argv: list[str]) -> None:
    """Parses absl's flags, as `app.run` does before it calls the program."""
    flags = sys.modules.get("absl.flags")
    if flags is not None and not flags.FLAGS.is_parsed():
        try:
            flags.FLAGS(argv)
        except Exception:  # A required flag is missing; the program's own error says so when the flag is read.
            flags.FLAGS.mark_as_parsed()
