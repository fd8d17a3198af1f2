"""Fixes for removed or deprecated JAX names: another name, possibly with another signature."""

from __future__ import annotations

import re
from collections.abc import Sequence

from meshlens.checking.model import Finding, Fix
from meshlens.jaxapi.history import change, spell_version
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import import_from_elsewhere, local_name, name_of_module
from meshlens.rules.helpers.history import Dated, DatedKeyword
from meshlens.rules.helpers.renames import renamed, respelled
from meshlens.rules.helpers.uses_of_names import UseOfName, UsesOfNames, with_keywords
from meshlens.text import Edit, FileEdit, Span

_PJIT = "jax.experimental.pjit.pjit"
_SHARDINGS = frozenset({"in_shardings", "out_shardings"})
_OLD_SHARD_MAP = (("mesh", "in_specs", "out_specs", "check_vma"), {"check_rep": "check_vma"})
_SIGNATURES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "jax.experimental.shard_map.shard_map": _OLD_SHARD_MAP,
    _PJIT: (
        ("in_shardings", "out_shardings", "static_argnums", "static_argnames", "donate_argnums", "donate_argnames"),
        {},
    ),
}
_FUNCTION_BY_NAME = re.compile(rb"\bfun\b[\"']?\s*[=:]")
"""Matches an argument called `fun`, which `pjit` accepts by name and `jit` does not."""
_COPIES = {
    "jax.device_put_replicated": ("{tree}.map(lambda leaf: {np}.stack([leaf] * len({second})), {first})", 2),
    "jax.device_put_sharded": ("{tree}.map(lambda *leaves: {np}.stack(leaves), *{first})", 2),
}


def wording(dated: Dated, version: tuple[int, ...]) -> str:
    """Returns the end of a message, with the replacement or other advice, such as `; use "jax.tree.map"`."""
    row = dated.change
    if row.replacement is not None and replaced_by(dated, version) is not None and (row.rewrite or not row.note):
        return f'; use "{row.replacement}"'
    return f"; {row.note}" if row.note else ""


def replaced_by(dated: Dated, version: tuple[int, ...]) -> str | None:
    """Returns the replacement of a name in a JAX version; None if none exists there yet."""
    to = dated.change.replacement
    if to is None:
        return None
    row = change(to)
    since = dated.change.replacement_since or (row.since if row is not None and row.dotted == to else None)
    return None if since is not None and since > version else to


def history_fixes(view: FileView, dated: Dated, names: UsesOfNames) -> tuple[Fix, ...]:
    """Returns the fixes for one place.

    Args:
        view: the file.
        dated: the place.
        names: the uses of names in the file.
    """
    to = replaced_by(dated, view.jax_version)
    row = dated.change
    if to is None:
        return ()
    if row.dotted in _SIGNATURES:
        return _with_signature(view, dated, to, names)
    if row.rewrite == "pvary":
        return _pcast(view, dated, to, names)
    if row.rewrite in ("rename", "tree"):
        return renamed(view, dated, to)
    if row.dotted in _COPIES:
        return _copies(view, dated, names)
    return ()


def keyword_finding(view: FileView, dated: DatedKeyword, message: str) -> Finding:
    """Returns the finding at a keyword argument, with a fix that renames it if it has a replacement."""
    row, start = dated.change, dated.span.start
    span = Span(start, start + len(row.keyword.encode()))
    if row.replacement is None or view.source[span.start : span.end].decode() != row.keyword:
        return Finding(dated.span, f"{message}; {row.note}" if row.note else message)
    fix = Fix(f'rename the argument to "{row.replacement}"', (FileEdit(view.path, Edit(span, row.replacement)),))
    return Finding(span, f'{message}; use "{row.replacement}"', (fix,))


def _uses(view: FileView, dated: Dated, names: UsesOfNames) -> Sequence[UseOfName] | None:
    if dated.mention.imported:
        local = local_name(view, dated.mention.site)
        return names.of(local) if local is not None else None
    use = names.at(dated.mention.site)
    return (use,) if use is not None else ()


def _name_edits(view: FileView, dated: Dated, to: str) -> tuple[FileEdit, ...]:
    if dated.mention.imported:
        return import_from_elsewhere(view, dated.mention.site, to)
    text = respelled(view, view.text(dated.mention.site), dated.mention.dotted, to)
    return (FileEdit(view.path, Edit(dated.span, text)),) if text is not None else ()


def _with_signature(view: FileView, dated: Dated, to: str, names: UsesOfNames) -> tuple[Fix, ...]:
    parameters, other = _SIGNATURES[dated.change.dotted]
    uses = _uses(view, dated, names)
    edits = list(_name_edits(view, dated, to))
    if uses is None or not edits:
        return ()
    for use in uses:
        changed = with_keywords(view, use, parameters, other)
        # A partial may receive its function by name wherever it is called.
        if changed is None or (use.partial and _FUNCTION_BY_NAME.search(view.source) is not None):
            return ()
        edits.extend(changed)
    if dated.change.dotted == _PJIT and any(map(_passes_shardings, uses)):
        why = "jit accepts specs under jax.set_mesh, not under `with mesh:`"
        return (Fix(f'use "{to}"', tuple(edits), "unsafe", why),)
    return (Fix(f'use "{to}"', tuple(edits)),)


def _passes_shardings(use: UseOfName) -> bool:
    """Returns whether a call of `pjit` passes shardings, which may be specs."""
    labels = [label for label, _, _ in use.call.arguments] if use.call is not None else []
    return not _SHARDINGS.isdisjoint(labels) or labels.count(None) > (2 if use.partial else 1)


def _pcast(view: FileView, dated: Dated, to: str, names: UsesOfNames) -> tuple[Fix, ...]:
    uses = _uses(view, dated, names)
    name = to
    if dated.mention.imported and local_name(view, dated.mention.site) != "pvary":
        return ()
    edits = list(_name_edits(view, dated, name))
    if not edits or not uses:
        return ()
    if dated.mention.imported:
        text = edits[0].edit.text.replace("pcast as pvary", "pcast")
        edits[0] = FileEdit(edits[0].path, edits[0].edit._replace(text=text))
        edits.extend(FileEdit(view.path, Edit(view.span(use.site), "pcast")) for use in uses)
    for use in uses:
        if use.call is None or use.partial or not use.call.arguments:
            return ()
        if any(label in ("*", "**") for label, _, _ in use.call.arguments):
            return ()
        last = view.span(use.site._replace(index=use.call.arguments[-1].site)).end
        edits.append(FileEdit(view.path, Edit(Span(last, last), ', to="varying"')))
    return (Fix(f'use "{to}"', tuple(edits)),)


def _copies(view: FileView, dated: Dated, names: UsesOfNames) -> tuple[Fix, ...]:
    template, count = _COPIES[dated.change.dotted]
    jax = name_of_module(view, "jax")
    uses = _uses(view, dated, names)
    if dated.mention.imported or jax is None or not uses or uses[0].call is None or uses[0].partial:
        return ()
    call = uses[0].call
    if len(call.arguments) != count or any(label is not None for label, _, _ in call.arguments):
        return ()
    site = dated.mention.site
    first, second = (view.text(site._replace(index=value.site)) for _, _, value in call.arguments)
    numpy = name_of_module(view, "jax.numpy") or f"{jax}.numpy"
    text = template.format(tree=f"{jax}.tree", np=numpy, first=first, second=second)
    edit = FileEdit(view.path, Edit(view.span(site._replace(index=call.site)), text))
    why = "the copies stay on one device until the mapped function is called"
    return (Fix("stack one copy per device", (edit,), "unsafe", why),)


def version_words(version: tuple[int, ...]) -> str:
    """Returns a version as messages write it: "JAX 0.10.0"."""
    return f"JAX {spell_version(version)}"
