"""Command lines that the program itself gives to a parser, as in `parser.parse_args(["--axis", "data"])`.

The standard library's own parser reads them, so every option has exactly the value that it has when the program runs.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Dict, Ext, Made, Seq, Value
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run

_MOST_WORDS, _MOST_OPTIONS = 64, 128
_WORK_OF_AN_OPTION = 10
_PLAIN = frozenset({"required", "dest"})
_ANY_NUMBER = frozenset({"?", "*", "+"})
_COUNTS = frozenset({None, *_ANY_NUMBER, *range(1, _MOST_WORDS)})
"""The values of `nargs` that are followed."""
_ACTIONS = frozenset({"store", "store_true", "store_false", "append", "extend", "count"})
_SAY_NOTHING = frozenset({"help", "metavar", "choices", "description", "prog", "epilog", "usage", "formatter_class"})


class _Unclear(Exception):
    """Raised if the standard library's parser rejects the options, or if they are not known well enough to try."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Unclear(message)


@dataclass(frozen=True)
class _Held:
    """The default of an option, which no parser converts."""

    value: Value


def words_of(args: tuple[Arg, ...]) -> tuple[Const, ...] | None:
    """Returns the command line that is passed to a parser; None if it is unknown, or that of the process."""
    given = args[0].value if len(args) == 1 and args[0].label in (None, "args") else None
    if not isinstance(given, Seq) or given.open or len(given.items) > _MOST_WORDS:
        return None
    words = [item for item in given.items if isinstance(item, Const) and isinstance(item.value, str)]
    return tuple(words) if len(words) == len(given.items) else None


def new_parser(run: Run, parser: Made) -> Made:
    """Returns a new parser, which has no options even if the same call has made another one before."""
    run.heap[_key(parser)] = {}
    return parser


def note_option(run: Run, parser: Made, name: str, call: Invocation) -> None:
    """Keeps an option that `add_argument`, or defaults that `set_defaults`, give to a parser."""
    key = _key(parser)
    options = run.heap_entry(key, parser.site.path)
    given = tuple([(arg.label or place, arg.value) for place, arg in enumerate(call.args)])
    # What is added under a condition may not be an option of the parser at all.
    option = Made(f"argparse.{name}", call.site, given) if not call.ctx.conditional else UNKNOWN
    run.heap[key] = {**options, str(len(options)): option}


def parsed(run: Run, parser: Made, words: tuple[Const, ...], call: Invocation) -> Dict | None:
    """Returns the table of options that a parser reads from a known command line; None if it cannot be told."""
    options = run.heap_entry(_key(parser), parser.site.path)
    is_plain = all(name in _SAY_NOTHING for name, _ in parser.arguments if isinstance(name, str))
    if not options or len(options) > _MOST_OPTIONS or not is_plain:
        return None
    run.work += _WORK_OF_AN_OPTION * len(options)
    try:
        found, kinds = _read(list(options.values()), words)
        written = {str(word.value): word for word in words}
        items = [(name, _value(run, value, kinds.get(name), written, call)) for name, value in vars(found).items()]
    except _Unclear:
        return None
    return Dict(tuple(items), attributes=True)


def _key(parser: Made) -> tuple[str, object]:
    return ("arguments", parser.site)


def _read(options: list[Value], words: tuple[Const, ...]) -> tuple[argparse.Namespace, dict[str, Value]]:
    """Returns what the standard library's parser finds, and the type of each option that has one."""
    parser, kinds = _Parser(add_help=False, exit_on_error=False), {}
    is_ambiguous = False
    try:
        for option in options:
            if not isinstance(option, Made):
                raise _Unclear
            if option.dotted == "argparse.set_defaults":
                parser.set_defaults(**{str(name): _Held(value) for name, value in option.arguments})
                continue
            spelled = [_text(value) for name, value in option.arguments if isinstance(name, int)]
            keywords = _keywords({name: value for name, value in option.arguments if isinstance(name, str)})
            kind = dict(option.arguments).get("type")
            if keywords.get("nargs") in _ANY_NUMBER and spelled and not spelled[0].startswith("-"):
                # With several of these, the parser may try very many ways to share out the words.
                if is_ambiguous:
                    raise _Unclear
                is_ambiguous = True
            dest = parser.add_argument(*spelled, **keywords).dest
            if kind is not None:
                kinds[dest] = kind
        return parser.parse_args([one.value for one in words]), kinds
    except (ValueError, TypeError, argparse.ArgumentError, argparse.ArgumentTypeError) as error:
        raise _Unclear from error


def _keywords(given: dict[str, Value]) -> dict[str, Any]:
    """Returns the keyword arguments of `add_argument` for the standard library's parser."""
    action = given.get("action", Const("store"))
    is_switch = action == Ext("argparse.BooleanOptionalAction")
    how = argparse.BooleanOptionalAction if is_switch else _text(action)
    if not is_switch and how not in _ACTIONS:
        raise _Unclear
    found: dict[str, Any] = {"action": how}
    for name, value in given.items():
        if name == "default":
            found["default"] = _Held(value)
        elif isinstance(value, Const) and (name in _PLAIN or (name == "nargs" and value.value in _COUNTS)):
            found[name] = value.value
        elif name not in _SAY_NOTHING and name not in ("action", "type"):
            raise _Unclear
    if how in ("append", "extend", "count") and "default" in found and given["default"] != Const(None):
        # The parser would add to a default that it does not know.
        raise _Unclear
    if how in ("append", "extend", "count"):
        found.pop("default", None)
    return found


def _text(value: Value) -> str:
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    raise _Unclear


def _value(run: Run, found: object, kind: Value | None, written: dict[str, Const], call: Invocation) -> Value:
    """Returns what an option holds.

    Args:
        run: the run.
        found: what the standard library's parser found.
        kind: the type of the option, if it has one.
        written: the words of the command line, by their texts.
        call: the call of the parser.
    """
    if isinstance(found, list):
        return Seq("list", tuple([_value(run, item, kind, written, call) for item in found]))
    if isinstance(found, _Held):
        is_text = isinstance(found.value, Const) and isinstance(found.value.value, str)
        return _converted(run, found.value, kind, call) if is_text else found.value
    if isinstance(found, str):
        return _converted(run, written.get(found, Const(found, call.site)), kind, call)
    return Const(found)


def _converted(run: Run, text: Value, kind: Value | None, call: Invocation) -> Value:
    if kind is None or kind == Ext("str"):
        return text
    arg = Arg(None, replace(text, via=None) if isinstance(text, Const) else text, call.site, call.site)
    return run.invoke(call.inside(kind, (arg,), call.ctx, "call"))
