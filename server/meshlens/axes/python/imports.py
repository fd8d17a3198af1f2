"""Import statements: workspace modules become modules, all others dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Dict, Ext, Module, Site, Value
from meshlens.axes.python.tables_of_modules import as_seen, note_imported, take_over
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, numbered
from meshlens.axes.runs.records import ApiMention
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import scoped_variable
from meshlens.facts.nodes import Import, ImportFrom
from meshlens.jaxapi.history import change, changed_keywords


def import_modules(run: Run, node: Import, frame: Frame, ctx: Context) -> None:
    """Runs `import a.b as c, d`."""
    for dotted, alias, site in node.names:
        if not dotted:
            continue
        root = dotted.split(".")[0]
        if alias is not None:
            frame.home(alias).vars[alias] = _module(run, frame, dotted)
        else:
            frame.home(root).vars[root] = _module(run, frame, root)
            _load(run, run.world.locate(frame.path, 0, dotted) if dotted != root else None)
        _load_packages(run, frame, dotted)
        note_mention(run, dotted, numbered(frame, site), ctx, "import")


def import_names(run: Run, node: ImportFrom, frame: Frame, ctx: Context) -> None:
    """Runs `from a.b import c as d`; after a star import from JAX, unknown names count as names of JAX."""
    level, dotted, names = node.level, node.module, node.names
    module = run.world.locate(frame.path, level, dotted)
    if not level and module is not None:
        _load_packages(run, frame, dotted)
    for text, alias, site in names:
        if text == "*":
            _star(run, module, dotted, level, frame)
            continue
        home = frame.home(alias or text)
        if module is not None:
            value = home.vars[alias or text] = member(run, module, text)
            if type(value) is Dict and module.path is not None and home.parent is None:
                _note_table(run, home, alias or text, module.path, text)
        elif level:
            home.vars[alias or text] = UNKNOWN
        else:
            home.vars[alias or text] = Ext(f"{dotted}.{text}")
            note_mention(run, f"{dotted}.{text}", numbered(frame, site), ctx, "import")


def _note_table(run: Run, home: Frame, alias: str, path: str, name: str) -> None:
    state = run.world.module_state(path, run)
    if state is not None and name in state.frame.vars:
        note_imported(home, alias, state.frame, name)


def member(run: Run, module: Module, name: str) -> Value:
    """Returns a name of a workspace module: a variable of its top level, or else a submodule."""
    if module.path is not None:
        state = run.world.module_state(module.path, run)
        if state is not None:
            take_over(run, state)
            if run.scoped and (scoped := scoped_variable(run, name, state.frame)) is not None:
                return scoped
            value = state.frame.vars.get(name)
            if value is not None:
                return value if type(value) is not Dict else as_seen(run, value, name, state.frame)
    inner = run.world.submodule(module, name)
    if inner is None:
        return UNKNOWN
    _load(run, inner)
    return inner


def load_module(run: Run, args: tuple[Arg, ...], frame: Frame) -> Value:
    """Returns the workspace module that `importlib.import_module` loads, after its packages and the module have run."""
    given = [arg.value.value for arg in args if isinstance(arg.value, Const) and isinstance(arg.value.value, str)]
    if not 0 < len(given) == len(args) <= 2:
        return UNKNOWN
    dotted = given[0]
    if dotted.startswith("."):
        if len(given) == 1 or dotted.startswith(".."):
            return UNKNOWN
        dotted = given[1] + dotted
    found = run.world.locate(frame.path, 0, dotted)
    if found is None:
        return UNKNOWN
    for package in _packages(run, frame, dotted):
        _take(run, package)
    _take(run, found)
    return found


def _take(run: Run, module: Module | None) -> None:
    """Runs a module, unless it has run, and takes over what it adds to tables of other modules."""
    state = run.world.module_state(module.path, run) if module is not None and module.path is not None else None
    if state is not None:
        take_over(run, state)


def note_mention(run: Run, dotted: str, site: Site, ctx: Context, how: Literal["import", "attribute", "with"]) -> None:
    """Notes an external name that is imported, accessed as an attribute, or entered by a `with`."""
    if how == "with" or is_dated(dotted):
        guarded: bool | Literal["expected"] = run.api_guard > 0 or ("expected" if ctx.expected else False)
        certain = ctx.sure and not ctx.env.open and not ctx.conditional and not ctx.remote
        run.records.mentions.append(ApiMention(dotted, site, how == "import", guarded, certain))


@lru_cache(maxsize=2_000)
def is_dated(dotted: str) -> bool:
    """Returns whether the history of JAX's API has an entry for a name; mentions of other names are not recorded."""
    return change(dotted) is not None or dotted in changed_keywords()


def _module(run: Run, frame: Frame, dotted: str) -> Value:
    found = run.world.locate(frame.path, 0, dotted)
    if run.world.is_running(run.path):
        _take(run, found)
    return found if found is not None else Ext(dotted)


def _packages(run: Run, frame: Frame, dotted: str) -> Iterator[Module | None]:
    """Yields the parent packages of a module, outermost first, as Python imports them before it."""
    parts = dotted.split(".")
    for count in range(1, len(parts)):
        yield run.world.locate(frame.path, 0, ".".join(parts[:count]))


def _load_packages(run: Run, frame: Frame, dotted: str) -> None:
    """Runs the parent packages of a module that a file's top level imports."""
    for package in _packages(run, frame, dotted):
        _load(run, package)


def _load(run: Run, module: Module | None) -> None:
    """Runs a module that a file's top level imports, because it may add entries to tables of other modules."""
    if module is None or module.path is None or run.world.is_running(module.path):
        return
    if run.world.is_running(run.path):
        _take(run, module)


def _star(run: Run, module: Module | None, dotted: str, level: int, frame: Frame) -> None:
    if module is None or module.path is None:
        if not level and dotted.split(".")[0] in ("jax", "flax", "haiku"):
            frame.vars.setdefault("*", Ext(dotted))
        return
    state = run.world.module_state(module.path, run)
    if state is None:
        return
    take_over(run, state)
    for name, value in state.frame.vars.items():
        if not name.startswith("_"):
            frame.vars[name] = value
