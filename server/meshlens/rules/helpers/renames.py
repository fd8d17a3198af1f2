"""Replaces a removed JAX name with another one."""

from __future__ import annotations

import re

from meshlens.checking.model import Fix
from meshlens.facts.model import Shape
from meshlens.facts.nodes import Import, ImportFrom
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import import_from_elsewhere, name_of_module
from meshlens.rules.helpers.history import Dated
from meshlens.text import Edit, FileEdit, Span

_NOT_WITH_JAX = (
    "jax.extend",
    "jax.experimental",
    "jax.example_libraries",
    "jax.export",
    "jax.scipy",
    "jax.interpreters",
)
_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def renamed(view: FileView, dated: Dated, to: str) -> tuple[Fix, ...]:
    """Returns the fix that uses another name in an import or attribute; () if more changes are needed.

    Args:
        view: the file.
        dated: the place.
        to: dotted name of the replacement.
    """
    to += dated.mention.dotted[len(dated.change.dotted) :]
    if dated.mention.imported:
        edits = import_from_elsewhere(view, dated.mention.site, to)
    else:
        text = respelled(view, view.text(dated.mention.site), dated.mention.dotted, to)
        if text is not None:
            edits = (FileEdit(view.path, Edit(dated.span, text)),)
        else:
            edits = _with_import(view, dated, to)
    return (Fix(f'use "{to}"', edits),) if edits else ()


def _imports_jax(shape: Shape) -> bool:
    if isinstance(shape, Import):
        return any(name.split(".")[0] == "jax" for name, _, _ in shape.names)
    return isinstance(shape, ImportFrom) and shape.level == 0 and shape.module.split(".")[0] == "jax"


def _with_import(view: FileView, dated: Dated, to: str) -> tuple[FileEdit, ...]:
    """Returns edits that replace a name and import its new module after the last import of JAX; () if impossible."""
    top = (view.facts.blocks[key] for key in view.facts.top)
    imports = [block.span(0).end for block in top if _imports_jax(block.header)]
    if not imports or _PLAIN.fullmatch(view.text(dated.mention.site)) is None:
        return ()
    at = Span(imports[-1], imports[-1])
    module = to.rpartition(".")[0]
    line = "" if name_of_module(view, module) == module else f"\nimport {module}"
    added = (FileEdit(view.path, Edit(at, line)),) if line else ()
    return (*added, FileEdit(view.path, Edit(dated.span, to)))


def respelled(view: FileView, text: str, dotted: str, to: str) -> str | None:
    """Returns a file's spelling of one JAX name, given its spelling of another.

    Args:
        view: the file.
        text: the expression as written, such as `jnp.trapz`.
        dotted: its dotted name, such as "jax.numpy.trapz".
        to: the wanted dotted name, such as "jax.numpy.trapezoid".

    Returns:
        The expression, or None if the file would need another import.
    """
    if _PLAIN.fullmatch(text) is None:
        return None
    root, *attributes = text.split(".")
    parts = dotted.split(".")
    of_root = ".".join(parts[: len(parts) - len(attributes)])
    if attributes and to.startswith(f"{of_root}.") and (of_root != "jax" or not to.startswith(_NOT_WITH_JAX)):
        return f"{root}{to[len(of_root) :]}"
    return spelled(view, to)


def spelled(view: FileView, dotted: str) -> str | None:
    """Returns a JAX name spelled with the file's imports; None if they do not provide it."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:length])
        name = name_of_module(view, module)
        if name is not None and (length > 1 or not dotted.startswith(_NOT_WITH_JAX)):
            return ".".join((name, *parts[length:]))
    return None
