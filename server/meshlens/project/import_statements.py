"""Import statements as they are written: which names a file has for a module, and how one imported name is changed."""

from __future__ import annotations

import re
from typing import Any

from meshlens.axes.values import Site
from meshlens.facts.walking import nodes
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span


def name_of_module(view: FileView, dotted: str, before: int | None = None) -> str | None:
    """How the top level of a file calls a module: "jnp" for "jax.numpy"; None if it does not import it.

    Args:
        view: the file.
        dotted: the module, or a name in one.
        before: an offset; imports that begin at it or after it do not count.
    """
    parent, _, last = dotted.rpartition(".")
    for key in view.facts.top:
        shape = view.facts.blocks[key].shape
        if before is not None and view.facts.blocks[key].span(0).start >= before:
            break
        if shape[0] == "import":
            for name, alias, _ in shape[2]:
                if name == dotted and alias is not None:
                    return str(alias)
                if alias is None and (name == dotted or ("." not in dotted and name.startswith(f"{dotted}."))):
                    return dotted
        elif shape[0] == "from" and shape[2] == 0 and shape[3] == parent:
            for name, alias, _ in shape[4]:
                if name == last:
                    return str(alias or name)
    return view.draft.name_of(dotted, before)


def local_name(view: FileView, site: Site) -> str | None:
    """The name that an import binds, given the place of the imported name; None for `import a.b`."""
    found = _statement(view, site)
    if found is None:
        return None
    text, alias = found[1][:2]
    return alias or (text if "." not in text else None)


def import_from_elsewhere(view: FileView, site: Site, to: str) -> tuple[FileEdit, ...]:
    """Edits after which the name imported at a site comes from another place, under the name that it has here.

    Args:
        view: the file.
        site: the imported name.
        to: dotted name of what is to be imported instead.

    Returns:
        No edits where the statement is written in a way that is better changed by hand.
    """
    found = _statement(view, site)
    if found is None:
        return ()
    statement, (text, alias, _) = found
    here = view.span(Site(site.path, site.block, statement[1]))
    source = view.source[here.start : here.end]
    path = view.path_of(site)
    if statement[0] == "import":
        return (FileEdit(path, Edit(view.span(site), to)),) if alias is not None else ()
    module, _, last = to.rpartition(".")
    local = alias or text
    new = f"from {module} import {last}" if last == local else f"from {module} import {last} as {local}"
    if not module or b"#" in source:
        return ()
    if len(statement[4]) == 1:
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


def _without_name(view: FileView, site: Site, statement: Any, local: str) -> Span:
    """The text to take out of `from a import b, c` so that one name goes, with one of the commas around it."""
    sites = [index for _, _, index in statement[4]]
    place = sites.index(site.index)
    start = view.span(site).start
    if place + 1 < len(sites):
        return Span(start, view.span(Site(site.path, site.block, sites[place + 1])).start)
    before = view.span(Site(site.path, site.block, sites[place - 1])).end
    comma = view.source.index(b",", before)
    end = view.span(site).end
    renamed = re.match(rb"\s+as\s+" + re.escape(local.encode()), view.source[end:])
    return Span(comma, end + (renamed.end() if renamed else 0))


def _statement(view: FileView, site: Site) -> tuple[Any, Any] | None:
    block = view.facts.blocks.get(site.block)
    for node in nodes(block.shape) if block is not None else ():
        if node[0] in ("import", "from") and len(node) in (3, 5) and isinstance(node[-1], tuple):
            for name in node[-1]:
                if isinstance(name, tuple) and len(name) == 3 and name[2] == site.index:
                    return node, name
    return None
