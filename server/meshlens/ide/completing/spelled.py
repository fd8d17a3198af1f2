"""Resolves dotted names in source text to values, or to the canonical names of library callables."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Ext, Module, Value
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView

_IMPORTS = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+(\([^()]*\)?|[^\n;#]+)", re.MULTILINE)
_JAX = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+[^\n]*\b(?:jax|flax|haiku|optax|chex|equinox|kfac_jax|haliax)\b", re.MULTILINE
)
_ALIASED = re.compile(r"\s*([\w.]+)(?:\s+as\s+(\w+))?\s*")


def uses_jax(source: bytes) -> bool:
    """Returns whether a file imports JAX or a library built on it."""
    return _JAX.search(source) is not None


def value_of(view: FileView, dotted: str) -> Value | None:
    """Returns the value that a dotted name has at the end of the module; None if unknown."""
    state = view.solution.modules.get(str(view.path))
    head, *rest = dotted.split(".")
    value = state.frame.vars.get(head) if state is not None else None
    for part in rest:
        if isinstance(value, Ext):
            value = Ext(f"{value.dotted}.{part}")
        elif isinstance(value, Module) and value.path is not None:
            inner = view.solution.modules.get(value.path)
            value = inner.frame.vars.get(part) if inner is not None else None
        else:
            return None
    return value


def callable_of(view: FileView, dotted: str) -> str:
    """Returns the canonical name of the callable that a dotted name refers to; "" if unknown or in the workspace.

    Falls back to the import statements in the text if the module could not be analyzed or the name is local.
    """
    if not dotted:
        return ""
    value = value_of(view, dotted)
    if value is not None:
        return canonical(value.dotted) if isinstance(value, Ext) else ""
    head, _, rest = dotted.partition(".")
    if head.encode() not in view.source:
        return ""
    for found in _IMPORTS.finditer(view.source):
        if head.encode() not in found[2]:
            continue
        origin = (found[1] or b"").decode("utf-8", "replace")
        for part in found[2].decode("utf-8", "replace").strip("()").split(","):
            alias = _ALIASED.match(part.replace("\\", " "))
            if alias is None:
                continue
            name, short = alias[1], alias[2]
            if head != (short or (name if origin else name.partition(".")[0])):
                continue
            whole = f"{origin}.{name}" if origin else (name if short else head)
            return canonical(f"{whole}.{rest}" if rest else whole)
    return ""
