"""Options of command lines and environment variables, for runs that assume that nobody passes any (`by_default`).

In every other run, their values are unknown unless the program gives them itself. A default that is a placeholder
(None, "", a switch, 1) is unknown in any run, because the program is not meant to be used with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from meshlens.axes.domain.classes import inner_of
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Made,
    Partial,
    Seq,
    Site,
    Value,
)
from meshlens.axes.jax.given_options import new_parser, note_option, parsed, words_of
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import DEFAULTS, ApiCall
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.command_lines import (
    CONFIGURATIONS,
    DECORATORS,
    ENTRIES,
    ENVIRONMENT,
    FLAG,
    FLAGS,
    GROUPS,
    PARAMETERS,
    PARSERS,
    PARSERS_OF_DATACLASSES,
    PARSES,
    PLACEHOLDERS,
)

_LIST_FLAGS = frozenset({f"{FLAG}list", f"{FLAG}spaceseplist"})
_SWITCHES = frozenset({f"{FLAG}boolean", f"{FLAG}bool", f"{FLAG}alias"})
_DEEPEST = 4

_NUMBER = Data(frozenset(), ())
"""The value of an option that is some number."""


def call_option(run: Run, name: str, call: Invocation) -> Value | None:
    """Returns the result of a library callable that defines or reads options; None for any other callable.

    Parsers are followed in every run, because the program itself may give them a command line.
    """
    args = call.args
    if name in PARSERS or name in PARSERS_OF_DATACLASSES:
        given = tuple([(arg.label or place, arg.value) for place, arg in enumerate(args)])
        return new_parser(run, Made(name, call.site, given))
    if name in ENVIRONMENT:
        found = by_parameter(("key", "default"), args)
        return _read(run, found.get("key"), found.get("default"), call)
    if name.startswith(FLAG) and name not in _SWITCHES:
        return _define_flag(run, name, call)
    if name in DECORATORS and args:
        default = next((arg for arg in args if arg.label == "default" and stated(arg.value) is not None), None)
        long = _long_name(args)
        if default is not None and long is not None:
            _note(run, [(str(long.value), default.value, default.site)], call.site, call.ctx)
        return Made(name, call.site, (("option", Seq("tuple", _option_of(run, args, call))),))
    if name in PARAMETERS:
        default = by_parameter(("default",), args).get("default")
        return _read(run, None, default, call) or UNKNOWN
    if name in ENTRIES or name in CONFIGURATIONS:
        return _started(run, call)
    return None


def call_parser(run: Run, parser: Made, name: str, call: Invocation) -> Value | None:
    """Returns the result of a parser's method; None if it is not followed."""
    if parser.dotted not in PARSERS and parser.dotted not in PARSERS_OF_DATACLASSES:
        return None
    if name in ("add_argument", "set_defaults") and parser.dotted in PARSERS:
        note_option(run, parser, name, call)
    elif name == "parse_args" and (words := words_of(call.args)) is not None:
        # In a run without options, an empty list may be that of the process.
        read = parsed(run, parser, words, call) if words or not run.world.by_default else None
        if read is not None:
            return read
    if not run.world.by_default:
        return parser if name in GROUPS and parser.dotted in PARSERS else None
    if parser.dotted in PARSERS_OF_DATACLASSES:
        return _dataclasses(run, parser, call) if name == "parse_args_into_dataclasses" and not call.args else None
    if name in GROUPS:
        return parser
    key, options = ("options", parser.site), run.heap_entry(("options", parser.site), parser.site.path)
    if name == "add_argument":
        own = _option_of(run, call.args, call)
        options = {**options, **{dest.value: value for dest, value in _pairs(own) if isinstance(dest, Const)}}
        long = _long_name(call.args)
        if own and isinstance(own[0], Const) and long is not None:
            spellings = run.heap_entry(("spelled", parser.site), parser.site.path)
            run.heap[("spelled", parser.site)] = {**spellings, own[0].value: long}
    elif name == "set_defaults":
        options = {**options, **{arg.label: stated(arg.value) or UNKNOWN for arg in call.args if arg.label}}
    elif name in PARSES and _may_be_empty(call.args):
        known = {name: value for name, value in options.items() if value is not UNKNOWN}
        spellings = run.heap_entry(("spelled", parser.site), parser.site.path)
        notes = [
            (_spelled(spellings, name), value, _origin(value) or _origin(spellings.get(name, UNKNOWN)))
            for name, value in known.items()
            if value is not _NUMBER
        ]
        _note(run, notes, call.site, call.ctx)
        table = Dict(tuple(known.items()), open=True, attributes=True)
        return table if name == "parse_args" else Seq("tuple", (table, UNKNOWN))
    else:
        return None
    # What is added under a condition may not be an option of the parser at all.
    run.heap[key] = options if not call.ctx.conditional else dict.fromkeys(options, UNKNOWN)
    return UNKNOWN


def call_decorator(made: Made, call: Invocation) -> Value | None:
    """Returns a function with an option's default as its argument; None if the call does not decorate a function."""
    function = call.args[0].value if len(call.args) == 1 else None
    option = dict(made.arguments).get("option")
    if function is None or inner_of(function) is None or not isinstance(option, Seq):
        return None
    given = tuple(
        [
            Arg(str(dest.value), value, made.site, made.site)
            for dest, value in _pairs(option.items)
            if isinstance(dest, Const)
        ]
    )
    return Partial(function, given, made.site) if given else function


def flag(run: Run, name: str, site: Site) -> Value | None:
    """Returns the default of a flag that the file of a site, or of the root, defines; None if there is none."""
    return run.heap_entry(FLAGS, site.path).get(name)


def stated(value: Value | None) -> Value | None:
    """Returns a default that a program is meant to be used with; None for a placeholder or an unknown value."""
    if isinstance(value, Seq):
        return value if value.items else None
    if isinstance(value, Instance):
        return value
    if not isinstance(value, Const) or isinstance(value.value, bool):
        return None
    if isinstance(value.value, str):
        return value if value.value.lower() not in PLACEHOLDERS else None
    return value if isinstance(value.value, int | float) and value.value > 1 else None


def _read(run: Run, name: Arg | None, default: Arg | None, call: Invocation) -> Value | None:
    value = stated(default.value) if default is not None else None
    if value is not None and default is not None:
        text = name.value.value if name is not None and isinstance(name.value, Const) else ""
        _note(run, [(str(text), value, default.site)], call.site, call.ctx)
    return value


def _define_flag(run: Run, name: str, call: Invocation) -> Value:
    found = by_parameter(("name", "default"), call.args)
    key, default = found.get("name"), found.get("default")
    value = stated(default.value) if default is not None else None
    if name in _LIST_FLAGS and isinstance(value, Const) and isinstance(value.value, str):
        parts = value.value.split("," if name.endswith("DEFINE_list") else None)
        value = Seq("list", tuple([replace(value, value=part.strip()) for part in parts]))
    if value is None or key is None or not isinstance(key.value, Const):
        return UNKNOWN
    run.heap[FLAGS] = {**run.heap_entry(FLAGS, call.site.path), str(key.value.value): value}
    _note(run, [(f"--{key.value.value}", value, None)], call.site, call.ctx)
    return Dict((("value", value),), open=True, attributes=True)


def _option_of(run: Run, args: tuple[Arg, ...], call: Invocation) -> tuple[Value, ...]:
    """Returns the parameter that an option sets, and its default: unknown for a switch or a placeholder."""
    names = [arg.value.value for arg in args if arg.label is None and isinstance(arg.value, Const)]
    labelled = {arg.label: arg for arg in args if arg.label is not None}
    dest = labelled["dest"].value if "dest" in labelled else None
    texts = [one for one in names if isinstance(one, str)]
    plain = [one for one in texts if not one.startswith("-")]
    long = [one[2:] for one in texts if one.startswith("--")]
    name = next(iter((*plain, *long)), None)
    if not isinstance(dest, Const):
        dest = Const(name.split("/")[0].replace("-", "_")) if name else None
    if dest is None:
        return ()
    default = labelled.get("default")
    if "action" in labelled or "is_flag" in labelled or "required" in labelled or default is None:
        return dest, UNKNOWN
    value: Value | None = stated(default.value)
    kind = labelled["type"].value if "type" in labelled else None
    if isinstance(value, Const) and isinstance(value.value, str) and isinstance(kind, (Function, Class, Partial, Ext)):
        value = run.invoke(call.inside(kind, (Arg(None, value, default.site, default.site),), call.ctx, "call"))
    if value is not None and call.ctx.conditional:
        value = None
    if value is None and isinstance(kind, Ext) and kind.dotted in ("int", "float") and "nargs" not in labelled:
        value = _NUMBER
    return dest, value if value is not None else UNKNOWN


def _long_name(args: tuple[Arg, ...]) -> Const | None:
    """Returns the first name of an option that begins with two dashes."""
    names = (arg.value for arg in args if arg.label is None)
    return next((one for one in names if isinstance(one, Const) and str(one.value).startswith("--")), None)


def _spelled(spellings: dict[str, Value], name: str) -> str:
    spelled = spellings.get(name)
    return str(spelled.value) if isinstance(spelled, Const) else name


def _pairs(items: tuple[Value, ...]) -> Iterator[tuple[Value, Value]]:
    yield from zip(items[::2], items[1::2], strict=True)


def _may_be_empty(args: tuple[Arg, ...]) -> bool:
    """Returns whether a parser may be given an empty command line, as by `parse_args()` or `parse_args(argv)`."""
    if len(args) > 1 or any(arg.label not in (None, "args") for arg in args):
        return False
    return not any(isinstance(arg.value, Seq) and arg.value.items for arg in args)


def _started(run: Run, call: Invocation) -> Value | None:
    """Calls a function, or creates a dataclass, with the defaults of its parameters; None for anything else."""
    found = by_parameter(("component",), call.args)
    labelled = {arg.label: arg.value for arg in call.args}
    given = found.get("component")
    begun = given.value if given is not None else labelled.get("config_class") or labelled.get("f")
    own = labelled.get("default")
    if isinstance(own, Instance):
        return _without_placeholders(run, own, call)
    if isinstance(begun, Class):
        made = run.invoke(call.inside(begun, (), call.ctx, "call"))
        return _without_placeholders(run, made, call) if isinstance(made, Instance) else None
    if isinstance(begun, Function):
        unknown = [Arg(name, UNKNOWN, None, None) for name, value in begun.defaults if stated(value) is None]
        return run.invoke(call.inside(begun, tuple(unknown), call.ctx, "call"))
    return None


def _dataclasses(run: Run, parser: Made, call: Invocation) -> Value | None:
    kinds = next((value for key, value in parser.arguments if key in (0, "dataclass_types")), None)
    classes = kinds.items if isinstance(kinds, Seq) else (kinds,)
    made = [run.invoke(call.inside(one, (), call.ctx, "call")) for one in classes if isinstance(one, Class)]
    if len(made) < len(classes):
        return None
    for one in made:
        if isinstance(one, Instance):
            _without_placeholders(run, one, call)
    return Seq("tuple", tuple(made))


def _without_placeholders(run: Run, instance: Instance, call: Invocation, depth: int = 0) -> Instance:
    """Forgets the fields of a new object, and of objects in it, whose defaults are placeholders; records the others."""
    held = run.heap.get(instance.number)
    for name, value in list(held.items()) if held is not None and depth < _DEEPEST else ():
        if isinstance(value, Instance):
            _without_placeholders(run, value, call, depth + 1)
        elif isinstance(value, (Const, Seq)) and stated(value) is None and held is not None:
            held[name] = UNKNOWN
        else:
            _note(run, [(name, value, None)], call.site, call.ctx)
    return instance


def _note(run: Run, options: list[tuple[str, Value, Site | None]], site: Site, ctx: Context) -> None:
    """Records options that have their defaults."""
    if not options:
        return
    args = tuple([Arg(name, value, None, place or _origin(value)) for name, value, place in options])
    run.records.calls.append(ApiCall(DEFAULTS, site, site, args, UNKNOWN, ctx))


def _origin(value: Value) -> Site | None:
    if isinstance(value, Seq):
        return next((_origin(item) for item in value.items), None)
    return value.origin if isinstance(value, Const) else None
