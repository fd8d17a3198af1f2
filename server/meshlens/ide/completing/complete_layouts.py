"""Completes `in_axes=`, `in_specs=` and `out_specs=` with a skeleton that has an entry for each parameter or result."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Ext
from meshlens.ide.completing.complete_mesh_axes import mesh_in_reach
from meshlens.ide.completing.completing import Completion, Place
from meshlens.ide.completing.known_names import meshes_of
from meshlens.ide.completing.tokens import arguments_at
from meshlens.ide.completing.typed_operand import Operand, operand_at
from meshlens.ide.shown.devices import mesh_sizes
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.binding import Binder
from meshlens.jaxapi.meshes import PARTITION_SPEC
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.text import Span

_SHARED = re.compile(
    r"(?:\w+_)?(?:params?|state|states|rng|rngs|key|keys|model|variables|weights|w|b|bias|scale|cfg|config|optimizer"
    r"|opt|step|lr|learning_rate)"
)
_REDUCED = re.compile(r"\b(?:psum|pmean|pmax|pmin|all_gather)\(")
_RETURN = re.compile(rb"\n[ \t]*return[ \t]+")
_LAMBDA = re.compile(rb"\s*lambda\b[^:]*:\s*")


def layouts(place: Place) -> tuple[Completion, ...] | None:
    """Returns a skeleton for the layout argument at the cursor; None if no layout argument is expected there."""
    call = place.calls[0] if place.calls else None
    row = BINDERS.get(call.dotted) if call is not None else None
    if call is None or row is None or call.current is None or place.typed.string is not None:
        return None
    keyword, view = call.current.keyword, place.view
    if keyword is None or (keyword != row.in_axes and keyword != "out_specs"):
        return None
    start, offset = call.current.value.start, place.typed.offset
    start = min(start, offset)
    if not _is_free(view.source, start, offset):
        return ()
    operand = operand_at(place, call, row)
    if operand is None:
        return ()
    entries = _entries(place, row, operand, keyword)
    if not entries:
        return ()
    end = offset + 1 if start < offset and view.source[offset : offset + 1] == b")" else offset
    return (_skeleton(place, entries, operand, keyword, Span(start, end)),)


def _is_free(source: bytes, start: int, offset: int) -> bool:
    """Returns whether nothing, or only a just-opened bracket, is between the keyword and the next argument."""
    line_end = source.find(b"\n", offset)
    rest = source[offset : line_end if line_end >= 0 else len(source)].strip()
    if source[start:offset] == b"(":
        return rest[:1] in (b"", b")")
    return start == offset and rest[:1] in (b"", b")", b",", b"#")


def _entries(place: Place, row: Binder, operand: Operand, keyword: str) -> tuple[str, ...]:
    if keyword == "out_specs":
        results = _results(place.view.source, operand.text)
        split = [_SHARED.fullmatch(result) is None and _REDUCED.search(result) is None for result in results]
    else:
        parameters = [name for name in operand.parameters or () if name not in ("self", "cls")]
        split = [_SHARED.fullmatch(name) is None for name in parameters]
    if keyword not in ("in_specs", "out_specs"):
        return tuple("0" if is_split else "None" for is_split in split)
    spec, axis = _spelling(place.view), _axis(place)
    return tuple(f'{spec}("{axis}")' if is_split else f"{spec}()" for is_split in split)


def _skeleton(place: Place, entries: tuple[str, ...], operand: Operand, keyword: str, span: Span) -> Completion:
    bare = len(entries) == 1 and keyword == "out_specs" and span.start == place.typed.offset
    plain = entries[0] if bare else _tuple(entries)
    holes = tuple(f"${{{number}:{entry}}}" for number, entry in enumerate(entries, 1))
    snippet = holes[0] if bare else _tuple(holes)
    of = f" of {operand.name}" if operand.name else ""
    return Completion(
        plain,
        snippet if place.wants.placeholders else plain,
        span,
        "skeleton",
        f"{'results' if keyword == 'out_specs' else 'parameters'}{of}",
        is_snippet=place.wants.placeholders,
        sort="000",
        filter=plain,
    )


def _tuple(entries: tuple[str, ...]) -> str:
    return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"


def _results(source: bytes, text: Span | None) -> tuple[str, ...]:
    """Returns the results of a function as written in its last return statement."""
    if text is None:
        return ()
    found = _LAMBDA.match(source, text.start, text.end)
    if found is None:
        found = max(_RETURN.finditer(source, text.start, text.end), key=re.Match.start, default=None)
    if found is None:
        return ()
    start = found.end()
    line_end = source.find(b"\n", start, text.end)
    line = source[start : line_end if line_end >= 0 else text.end]
    written = line.strip()
    if written.startswith(b"(") and (written == b"(" or written.endswith(b")")):
        items, base = arguments_at(source, start + line.index(b"(")), source
    else:
        base = b"(" + line.partition(b"#")[0] + b")"
        items = arguments_at(base, 0)
    texts = (base[item.text.start : item.text.end].decode("utf-8", "replace").strip() for item in items)
    return tuple(text for text in texts if text)


def _spelling(view: FileView) -> str:
    """Returns this file's spelling of `jax.sharding.PartitionSpec`."""
    state = view.solution.modules.get(str(view.path))
    for name, value in state.frame.vars.items() if state is not None else ():
        if isinstance(value, Ext) and canonical(value.dotted) == PARTITION_SPEC:
            return name
    return "jax.sharding.PartitionSpec" if b"jax.sharding.PartitionSpec" in view.source else "P"


def _axis(place: Place) -> str:
    """Returns the first axis of the mesh used here; "data" if unknown."""
    known = mesh_in_reach(place) or tuple(mesh for view in place.views for mesh in meshes_of(view))
    return next((name for made in known for name in mesh_sizes(made.mesh)), "data")
