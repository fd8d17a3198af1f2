"""Import statements in files: the local names of modules, and edits to one imported name."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Import, Imported, ImportFrom
from meshlens.facts.walking import nodes
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span


def name_of_module(view: FileView, dotted: str, before: int | None = None) -> str | None:
    """Returns the local name of a module at the top level, such as "jnp" for "jax.numpy"; None without an import.

    Args:
        view: the file.
        dotted: the module, or a name in one.
        before: an offset; imports that begin at it or after it do not count.
    """
    parent, _, last = dotted.rpartition(".")
    for key, shape in view.solution.once(f"imports {view.path}", lambda _: _imports(view)):
        if before is not None and view.facts.blocks[key].span(0).start >= before:
            break
        if isinstance(shape, Import):
            for name, alias, _ in shape.names:
                if name == dotted and alias is not None:
                    return str(alias)
                if alias is None and (name == dotted or ("." not in dotted and name.startswith(f"{dotted}."))):
                    return dotted
        elif isinstance(shape, ImportFrom) and shape.level == 0 and shape.module == parent:
            for name, alias, _ in shape.names:
                if name == last:
                    return str(alias or name)
    return view.draft.name_of(dotted, before)


def _imports(view: FileView) -> list[tuple[str, Import | ImportFrom]]:
    """Returns the top-level import statements, each with the key of its block."""
    shapes = ((key, view.facts.blocks[key].header) for key in view.facts.top)
    return [(key, shape) for key, shape in shapes if isinstance(shape, (Import, ImportFrom))]


def local_name(view: FileView, site: Site) -> str | None:
    """Returns the name that an import binds, given the site of the imported name; None for `import a.b`."""
    found = _statement(view, site)
    if found is None:
        return None
    _, imported = found
    return imported.alias or (imported.name if "." not in imported.name else None)


def import_from_elsewhere(view: FileView, site: Site, to: str) -> tuple[FileEdit, ...]:
    """Returns edits that import a name from another place under its current local name.

    Args:
        view: the file.
        site: the imported name.
        to: the new dotted name.

    Returns:
        The edits; none if the statement is better changed by hand.
    """
    found = _statement(view, site)
    if found is None:
        return ()
    statement, (text, alias, _) = found
    here = view.span(Site(site.path, site.block, statement.site))
    source = view.source[here.start : here.end]
    path = view.path_of(site)
    if isinstance(statement, Import):
        return (FileEdit(path, Edit(view.span(site), to)),) if alias is not None else ()
    module, _, last = to.rpartition(".")
    local = alias or text
    new = f"from {module} import {last}" if last == local else f"from {module} import {last} as {local}"
    if not module or b"#" in source:
        return ()
    if len(statement.names) == 1:
        return (FileEdit(path, Edit(here, new)),)
    line = view.source.rfind(b"\n", 0, here.start) + 1
    lead = view.source[line : here.start]
    if lead.strip():
        return ()
    gap = _without_name(view, site, statement, local)
    return (
        FileEdit(path, Edit(Span(here.start, here.start), f"{new}\n{lead.decode()}")),
        FileEdit(path, Edit(gap, "")),
    )


def _without_name(view: FileView, site: Site, statement: ImportFrom, local: str) -> Span:
    """Returns the span to remove from `from a import b, c` to delete one name and one comma."""
    sites = [index for _, _, index in statement.names]
    place = sites.index(site.index)
    start = view.span(site).start
    if place + 1 < len(sites):
        return Span(start, view.span(Site(site.path, site.block, sites[place + 1])).start)
    before = view.span(Site(site.path, site.block, sites[place - 1])).end
    comma = view.source.index(b",", before)
    end = view.span(site).end
    renamed = re.match(rb"\s+as\s+" + re.escape(local.encode()), view.source[end:])
    return Span(comma, end + (renamed.end() if renamed else 0))


def _statement(view: FileView, site: Site) -> tuple[Import | ImportFrom, Imported] | None:
    block = view.facts.blocks.get(site.block)
    for node in nodes(block.shape) if block is not None else ():
        if isinstance(node, (Import, ImportFrom)):
            for name in node.names:
                if name.site == site.index:
                    return node, name
    return None
