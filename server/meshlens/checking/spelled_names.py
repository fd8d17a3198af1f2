"""JAX names in annotations and in code that no run has reached, if the imports make them certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import NamedTuple

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import ApiMention
from meshlens.axes.worth.words import mentions
from meshlens.facts.model import Block, Shape
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    Comprehension,
    Expression,
    For,
    Import,
    ImportFrom,
    Name,
    Parameter,
    TreePart,
    Try,
    Walrus,
    With,
)
from meshlens.facts.walking import nodes
from meshlens.jaxapi.history import changed_keywords, changed_names, functions_with_dated_keywords
from meshlens.project.view import FileView
from meshlens.text import Span

_GUARDS = frozenset({"hasattr", "getattr", "__version__", "__version_info__", "version", "TYPE_CHECKING"})
_LONGEST = 200
_ATTRIBUTE = re.compile(rb"\.(\w+)")
_CHAIN_BACKWARDS = re.compile(rb"\w+(?:[\s\\]*\.[\s\\]*\w+)*")


class Written(NamedTuple):
    """A statement: its shape and its text."""

    shape: Shape
    text: bytes


@cache
def _dated() -> frozenset[str]:
    return changed_names() | changed_keywords()


@cache
def _words() -> frozenset[bytes]:
    return frozenset(dotted.rsplit(".", 1)[-1].encode() for dotted in _dated())


def _dated_words(text: bytes) -> frozenset[bytes]:
    return _words().intersection(_ATTRIBUTE.findall(text))


def spelled_names(view: FileView) -> tuple[ApiMention, ...]:
    """Returns the removed or deprecated attributes of imported JAX modules that unguarded code mentions."""
    return view.solution.once(f"spelled-names {view.path}", lambda _: tuple(_spelled(view)))


def spells_alike(was: Written, now: Written) -> bool:
    """Returns whether a function mentions the same removed or deprecated names after one of its statements changed.

    Args:
        was: a simple statement.
        now: its replacement.
    """
    if _dated_words(was.text) or _dated_words(now.text):
        return False
    guarded = mentions(was.shape, _GUARDS) == mentions(now.shape, _GUARDS)
    return guarded and _bound(nodes(was.shape)) == _bound(nodes(now.shape))


def _spelled(view: FileView) -> Iterator[ApiMention]:
    if b"jax" not in view.source:
        return
    modules, lazy = _modules(view)
    if not modules:
        return
    path, source, functions = str(view.path), view.source, functions_with_dated_keywords(view.source)
    for key, block in view.facts.blocks.items():
        span = block.span(0)
        dated = partial(_has_dated, source, span, modules, functions)
        if view.solution.once_of(("spells", path, key), block.content, (modules, functions), dated):
            found = partial(_spelled_in, view, key, block, modules, lazy)
            yield from view.solution.once_of(("spelled", path, key), block.content, (modules, lazy), found)


def _spelled_in(view: FileView, key: str, block: Block, modules: dict[str, str], lazy: bool) -> tuple[ApiMention, ...]:
    every = list(nodes(block.shape))
    dotted = {node.site: _dotted(node, modules) for node in every if isinstance(node, Attribute)}
    found = {site: name for site, name in dotted.items() if name is not None and ".".join(name[1:]) in _dated()}
    if not found or mentions(block.shape, _GUARDS) or any(isinstance(node, Try) for node in every):
        return ()
    own = _bound(every)
    skipped = _annotations(every) if lazy else frozenset()
    return tuple(
        ApiMention(".".join(rest), Site(str(view.path), key, site), False, False, True)
        for site, (head, *rest) in found.items()
        if head not in own and site not in skipped
    )


def _has_dated(source: bytes, span: Span, modules: dict[str, str], functions: frozenset[str]) -> bool:
    """Returns whether part of a text may mention a removed or deprecated attribute, without searching its tree.

    Args:
        source: the whole text.
        span: the part.
        modules: the imported modules by name.
        functions: the functions with a removed or deprecated keyword that occurs somewhere in the text.
    """
    text = source[span.start : span.end]
    names, with_keywords = changed_names(), changed_keywords()
    for word in _dated_words(text):
        at = text.find(b"." + word)
        while at >= 0:
            end = at + 1 + len(word)
            if not text[end : end + 1].isalnum() and text[end : end + 1] != b"_":
                chain = _CHAIN_BACKWARDS.match(text[max(0, at - _LONGEST) : end][::-1])
                written = chain.group()[::-1].translate(None, b" \t\r\n\f\v\\") if chain is not None else b""
                head, _, rest = written.decode().partition(".")
                dotted = f"{modules[head]}.{rest}" if head in modules else ""
                if dotted in names or (dotted in with_keywords and dotted in functions):
                    return True
            at = text.find(b"." + word, end)
    return False


def _modules(view: FileView) -> tuple[dict[str, str], bool]:
    """Returns the top-level names of JAX modules, and whether annotations are left unevaluated."""
    found: dict[str, str] = {}
    lazy = False
    for key in view.facts.top:
        shape = view.facts.blocks[key].header
        if isinstance(shape, Import):
            for name, alias, _ in shape.names:
                if name.split(".")[0] == "jax":
                    found[alias or "jax"] = name if alias else "jax"
        elif isinstance(shape, ImportFrom) and shape.level == 0:
            lazy |= shape.module == "__future__" and any(name == "annotations" for name, _, _ in shape.names)
            for name, alias, _ in shape.names if shape.module.split(".")[0] == "jax" else ():
                found[alias or name] = f"{shape.module}.{name}"
    return found, lazy


def _bound(every: Iterable[TreePart]) -> frozenset[str]:
    """Returns the names that nodes bind: parameters, imported names and assignment targets."""
    found: set[str] = set()
    for node in every:
        if isinstance(node, Parameter):
            found.add(node.name)
        elif isinstance(node, (Import, ImportFrom)):
            found.update(name.alias or name.name.split(".")[0] for name in node.names)
        elif isinstance(node, Walrus):
            found.add(node.name)
        else:
            for part in _targets(node):
                found.update(inner.name for inner in nodes(part) if isinstance(inner, Name))
    return frozenset(found)


def _targets(node: TreePart) -> tuple[TreePart, ...]:
    """Returns the parts of a node that contain the targets that it sets, perhaps with other code."""
    if isinstance(node, Assign):
        return node.targets
    if isinstance(node, (For, AnnAssign, AugAssign)):
        return (node.target,)
    if isinstance(node, With):
        return node.items
    return node.clauses if isinstance(node, Comprehension) else ()


def _annotations(every: Iterable[TreePart]) -> frozenset[int]:
    """Returns the sites of the attributes in annotations."""
    found: set[int] = set()
    for node in every:
        annotation = None
        if isinstance(node, (AnnAssign, Parameter)):
            annotation = node.annotation
        if annotation is not None:
            found.update(inner.site for inner in nodes(annotation) if isinstance(inner, Attribute))
    return frozenset(found)


def _dotted(node: Expression, modules: dict[str, str]) -> tuple[str, ...] | None:
    """Returns the name that a chain of attributes begins with, the module that it refers to, and the attributes."""
    attributes: list[str] = []
    while isinstance(node, Attribute):
        attributes.append(node.name)
        node = node.object
    if not isinstance(node, Name) or node.name not in modules:
        return None
    return (node.name, modules[node.name], *reversed(attributes))
