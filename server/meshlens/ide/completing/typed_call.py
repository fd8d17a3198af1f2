"""The calls around a cursor, with their callees and the argument at the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Value
from meshlens.ide.completing.spelled import callable_of, value_of
from meshlens.ide.completing.tokens import Argument, arguments_at
from meshlens.ide.completing.typed import Typed
from meshlens.project.view import FileView

_PARTIALS = frozenset({"functools.partial", "jax.tree_util.Partial"})


@dataclass(frozen=True, slots=True)
class TypedCall:
    """A call that is open at the cursor.

    Attributes:
        dotted: the canonical name of the callee, "" if it is in the workspace.
        value: the callee, if known; for a `partial`, the function that it wraps.
        at: the offset of its bracket.
        arguments: its arguments; for a `partial`, those after the callable.
        current: the argument at the cursor.
        position: the number of positional arguments before `current`; None if `current` has a keyword or follows a
            keyword argument.
    """

    dotted: str
    value: Value | None
    at: int
    arguments: tuple[Argument, ...]
    current: Argument | None
    position: int | None

    def parameter(self, positional: tuple[str, ...]) -> str | None:
        """Returns the name of the parameter that the argument at the cursor is for; None if unknown.

        Args:
            positional: the positional parameters in order.
        """
        if self.current is None:
            return None
        if self.current.keyword is not None:
            return self.current.keyword
        known = self.position is not None and self.position < len(positional)
        return positional[self.position] if known and self.position is not None else None

    def argument(self, name: str, position: int | None) -> Argument | None:
        """Returns the argument that is passed for a parameter, by keyword or by position; None if there is none."""
        plain = [argument for argument in self.arguments if argument.keyword is None]
        named = next((argument for argument in self.arguments if argument.keyword == name), None)
        if named is not None or position is None or position >= len(plain):
            return named
        return plain[position]


def calls_at(view: FileView, typed: Typed) -> tuple[TypedCall, ...]:
    """Returns the calls that are open at the cursor, innermost first."""
    return tuple(_calls(view, typed))


def _calls(view: FileView, typed: Typed) -> Iterator[TypedCall]:
    for opening in typed.openings:
        if not opening.callee:
            continue
        if opening.bracket == "[":
            # The cursor is in an index, not directly in an argument, so the calls around the index do not matter.
            return
        arguments = arguments_at(view.source, opening.at)
        dotted, value = callable_of(view, opening.callee), value_of(view, opening.callee)
        inner = arguments[0] if arguments else None
        if dotted in _PARTIALS and inner is not None and not _holds(inner, typed.offset):
            text = view.source[inner.value.start : inner.value.end].decode("utf-8", "replace")
            dotted, value, arguments = callable_of(view, text), value_of(view, text), arguments[1:]
        current = next((argument for argument in arguments if _holds(argument, typed.offset)), None)
        position = None
        if current is not None and current.keyword is None:
            before = arguments[: arguments.index(current)]
            position = len(before) if all(one.keyword is None for one in before) else None
        yield TypedCall(dotted, value, opening.at, arguments, current, position)


def _holds(argument: Argument, offset: int) -> bool:
    return argument.text.start <= offset <= argument.text.end
