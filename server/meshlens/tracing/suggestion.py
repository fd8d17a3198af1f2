"""Writes an entry to paste for a function with unknown arguments, filled in as far as possible."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any


def suggested_entry(name: str, parameters: Sequence[Mapping[str, Any]]) -> str:
    """Returns the source of an entry.

    Args:
        name: the name of the function that the entry returns.
        parameters: the known facts about each parameter: its name, annotation, shape and dtype.
    """
    lines = ["def entry():"]
    for one in parameters:
        note = f"  # {one['annotation']}" if one.get("annotation") else ""
        if one.get("shape") is not None:
            shape = ", ".join(map(str, one["shape"])) + ("," if len(one["shape"]) == 1 else "")
            value = f"jax.ShapeDtypeStruct(({shape}), jnp.{one['dtype']})"
        else:
            value = "jax.ShapeDtypeStruct((...), jnp.float32)"
            note = note or "  # fill in the shape; add sharding=NamedSharding(mesh, P(...)) if it is sharded"
        lines.append(f"    {_variable(one)} = {value}{note}")
    args = "".join(f"{_variable(one)}, " for one in parameters if not one.get("keyword")).strip()
    kwargs = ", ".join(f"{one['name']!r}: {_variable(one)}" for one in parameters if one.get("keyword"))
    args = args if args.count(",") == 1 else args.rstrip(",")
    lines.append(f"    return {name}, ({args})" + (f", {{{kwargs}}}" if kwargs else ""))
    return "\n".join(lines) + "\n"


def _variable(parameter: Mapping[str, Any]) -> str:
    name = str(parameter.get("name", "x"))
    return name if name.isidentifier() and not keyword.iskeyword(name) else "x"
