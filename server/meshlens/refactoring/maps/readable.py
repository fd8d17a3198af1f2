"""The conditions under which a pmap can be rewritten at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import Binding
from meshlens.facts.nodes import Assign, Attribute, Call, ClassDef, Name
from meshlens.project.trees import names_bound, path_to, walk
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, decorated, rows
from meshlens.text import Span

_FAKED = re.compile(
    rb"""\bfake_pmap\w*\(|\bjax\.pmap\s*=(?!=)|(?:patch|setattr)\(\s*["']jax\.pmap["']"""
    rb"""|(?:object|setattr)\(\s*jax\s*,\s*["']pmap["']"""
)
_UNWRAPPED = re.compile(rb"__wrapped__")
_SOME_DEVICES = re.compile(rb"(?:\b|_)devices\([^()\n]*\)\[[^\]\n]*:|\bmin\([^)\n]*(?:devices|device_count)")
_ONE_ROW = re.compile(
    r"\bexpand_dims\([^()]*,\s*(?:axis=)?0\)|\blambda (\w+):\s*\1\[(?:None|\w+\.newaxis)(?:\]|, *\.\.\.\])"
)
_OF_A_MAP = re.compile(rb"(?:[Mm]esh|array)\([^()\n]*devices\(|\bdevices=(?:\w+\.)*\w*devices\(")


def must_be_spelled_here(view: FileView, binding: Binding) -> None:
    """Checks that an application of `jax.pmap` or `jax.vmap` can be rewritten where it is.

    Raises:
        Obstacle: the map is applied through another name, or a splat hides its arguments.
    """
    kind, site = binding.binder.kind, binding.binder.site
    path = path_to(view, site)
    node = path[-1] if path else None
    if node is not None and isinstance(node, Call) and any(label in ("*", "**") for label, _, _ in node.arguments):
        raise Obstacle("splat", f"a splat hides the arguments of this {kind}")
    if decorated(view, binding) is not None:
        return
    callee = node.callee if node is not None and isinstance(node, Call) else None
    if callee is None or not _spells(view, Site(site.path, site.block, callee.site), kind):
        raise Obstacle("applied-elsewhere", f"{kind} is applied here under another name")


def must_run_in_one_process(view: FileView, pmap: Pmap, message: str) -> None:
    """Checks that no program that applies or calls a pmap joins several processes.

    Raises:
        Obstacle: a program does; the message explains the consequence.
    """
    if any(b"distributed.initialize" in view.texts[path] for path in paths_of(view, pmap)):
        raise Obstacle("several-processes", message)


def must_be_the_real_pmap(view: FileView, pmap: Pmap) -> None:
    """Checks that no program that applies or calls a pmap replaces `jax.pmap` with another function.

    Raises:
        Obstacle: a program does, as tests do with `chex.fake_pmap` or a patch.
    """
    for path in sorted(paths_of(view, pmap)):
        found = _FAKED.search(view.texts[path])
        if found is not None:
            where = f"line {_line(view.texts[path], found.start())} of {_name(path)}"
            raise Obstacle("faked", f"{where} replaces jax.pmap with another function")


def must_use_all_devices(view: FileView, pmap: Pmap) -> None:
    """Checks that a pmap does not seem to use only some devices; a pmap uses one device per row, but a mesh uses all.

    Raises:
        Obstacle: a program that applies or calls the pmap uses only some devices, and the number of rows is unknown.
    """
    if pmap.given("devices") is not None or pmap.given("axis_size") is not None or rows(pmap):
        return
    for path, span in _code_around(view, pmap):
        text = view.texts[path]
        for found in _SOME_DEVICES.finditer(text, *span):
            if not _OF_A_MAP.search(text, text.rfind(b"\n", 0, found.start()) + 1, found.end()):
                where = f"line {_line(text, found.start())} of {_name(path)}"
                raise Obstacle("some-devices", f"{where} selects some of the devices; pass devices= to this pmap")
    for call in pmap.calls:
        for statement in _one_row(view, call.call):
            line = _line(view.texts[statement.path], view.span(statement).start)
            message = (
                f"line {line} gives an argument only one row, so this pmap may use one device; pass devices= to it"
            )
            raise Obstacle("some-devices", message)


def _code_around(view: FileView, pmap: Pmap) -> Iterator[tuple[str, Span]]:
    """Yields the functions that apply, call or lead to a pmap, and the top-level code of their files."""
    contexts = [pmap.binding.context, *(call.context for call in pmap.calls)]
    steps = [step.site for context in contexts for step in context.route]
    for path, key in sorted(
        {(site.path, site.block) for site in (pmap.binder.site, *(c.call for c in pmap.calls), *steps)}
    ):
        blocks = view.solution.facts[path].blocks
        while (above := blocks.get(key.rpartition(".")[0])) is not None and not isinstance(above.shape, ClassDef):
            key = above.key
        yield path, blocks[key].span(0)
    for path in sorted(paths_of(view, pmap)):
        facts = view.solution.facts[path]
        for key in facts.top:
            if key.startswith("="):
                yield path, facts.blocks[key].span(0)


def _one_row(view: FileView, call: Site) -> Iterator[Site]:
    """Yields the assignments around a call that give one of its arguments a single row."""
    path = path_to(view, call)
    node = path[-1] if path and isinstance(path[-1], Call) else None
    names = {value.name for _, _, value in node.arguments if isinstance(value, Name)} if node is not None else set()
    for one in walk(path[0]) if names else ():
        if isinstance(one, Assign) and names & names_bound([one]):
            site = Site(call.path, call.block, one.site)
            if _ONE_ROW.search(view.text(site)):
                yield site


def must_not_be_unwrapped(view: FileView, binding: Binding) -> None:
    """Checks that no code in a file bypasses a map through `__wrapped__`.

    Raises:
        Obstacle: code in the file does.
    """
    site = binding.binder.site
    names = {site.block.split("~", 1)[0].rsplit(".", 1)[-1]}
    for node in path_to(view, site):
        for target in node.targets if isinstance(node, Assign) else ():
            names |= {inner.name for inner in walk(target) if isinstance(inner, (Name, Attribute))} - {"self"}
    for found in _UNWRAPPED.finditer(view.source):
        blocks = [(key, one) for key, one in view.facts.blocks.items() if one.holds(Span(*found.span()))]
        key, block = min(blocks, key=lambda one: one[1].span(0).end - one[1].span(0).start, default=("", None))
        if block is None or key == site.block or not names.isdisjoint(block.names):
            raise Obstacle("wrapped", "this file bypasses a map through __wrapped__")


def paths_of(view: FileView, pmap: Pmap) -> set[str]:
    """Returns the files in which a pmap is applied or called, and the files on the routes to those places."""
    contexts: list[Context] = [pmap.binding.context, *(call.context for call in pmap.calls)]
    calls = {call.call.path for call in pmap.calls}
    return {pmap.binder.site.path, *calls, *(step.site.path for context in contexts for step in context.route)}


def _line(text: bytes, offset: int) -> int:
    return text.count(b"\n", 0, offset) + 1


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _spells(view: FileView, callee: Site, kind: str) -> bool:
    text = view.text(callee)
    return text.rsplit(".", 1)[-1] == kind or text == name_of_module(view, f"jax.{kind}")
